"""What a report says: a dataclass for each section, of which page and document are made alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sk_microagg._utils._formatting import in_a_list, in_records, percent, three_digits

State = Literal["holds", "open", "broken"]
Role = Literal["quasi-identifier", "sensitive", "stratum", "weight", "other", "person", "dropped"]

CONFIDENTIAL = (
    "Confidential. It contains exact figures of the original; publish the release card instead."
)


@dataclass(frozen=True)
class Share:
    """A share, and as it is written."""

    value: float
    text: str

    @classmethod
    def of(cls, value: Any) -> Share:
        """A share of anything."""
        return cls(float(value), percent(value))

    @classmethod
    def of_records(cls, value: Any, n_records: int) -> Share:
        """A share of the records, with their number."""
        return cls(float(value), in_records(value, n_records))


@dataclass(frozen=True)
class Change:
    """A number before and after, or None where there is none, and both as they are written."""

    before: float | None
    after: float | None
    text: str

    @classmethod
    def of(cls, before: Any, after: Any, write: Any = three_digits) -> Change:
        """Two numbers, of which NaN stands for none."""
        text = f"{write(before)} \N{RIGHTWARDS ARROW} {write(after)}"
        known = [None if each != each else float(each) for each in (before, after)]
        return cls(known[0], known[1], text)


@dataclass(frozen=True)
class Verdict:
    """A sentence at the top, and whether it is good news."""

    state: State
    text: str


@dataclass(frozen=True)
class ReleaseFile:
    """The file of the release, and whether its rows are in random order, where that is known."""

    file: str | None
    sha256: str | None
    shuffled: bool | None


@dataclass(frozen=True)
class Column:
    """A column of the table: its role, what was done to it, and the reason that was given."""

    name: str
    role: Role
    technique: str
    reason: str


@dataclass(frozen=True)
class Constraint:
    """A constraint that was demanded, and whether it holds; None if it was not checked."""

    name: str
    holds: bool | None


@dataclass(frozen=True)
class Joint:
    """How many people share their rows of all releases."""

    releases: int
    people: int


@dataclass(frozen=True)
class Protection:
    """What k means in the release."""

    k_requested: int
    k_achieved: int
    groups: int
    smallest_group: int
    distinct_rows: int
    units_per_group: int | None
    largest_unit_share: Share | None
    strata: int | None
    joint_anonymity: Joint | None
    constraints: list[Constraint]


@dataclass(frozen=True)
class ScenarioFacts:
    """Who gets the release, and which risk is acceptable."""

    recipient: str | None
    release_model: str
    threshold: float
    justification: str | None
    reviewed_by: str | None
    review_date: str | None


@dataclass(frozen=True)
class IntruderRisk:
    """The largest risk by an intruder, and its mean over the records."""

    largest: Share
    mean: Share


@dataclass(frozen=True)
class IdentityRisks:
    """Risks by three kinds of intruders."""

    prosecutor: IntruderRisk
    journalist: IntruderRisk
    marketer: IntruderRisk

    def is_acceptable(self, threshold: float) -> bool:
        """Whether no risk is above a threshold, but for rounding errors."""
        return self.largest <= threshold * (1 + 1e-9)

    @property
    def largest(self) -> float:
        """The largest of all risks."""
        return max(each.largest.value for each in vars(self).values())


@dataclass(frozen=True)
class Linkage:
    """How often an intruder who knows the original values finds a row, and a person in it."""

    linked: Share
    expected_re_identifications: Share
    if_row_is_known: Share


@dataclass(frozen=True)
class NearValues:
    """How many records of a column are released as a value close to the original one."""

    column: str
    in_interval: Share
    in_ranks: Share


@dataclass(frozen=True)
class Risk:
    """What an intruder who knows the original values of anonymized columns achieves."""

    before: IdentityRisks
    after: IdentityRisks
    is_acceptable: bool | None
    unique_before: Share
    unique_after: Share
    linkage: Linkage | None
    near: list[NearValues]


@dataclass(frozen=True)
class Combination:
    """The records that are unique by some columns, and by which most of them are."""

    size: int
    unique: Share
    columns: list[str]


@dataclass(frozen=True)
class Unchanged:
    """What columns that are released unchanged reveal; shares are None if none may be known."""

    columns: list[str]
    unique: Share | None
    unique_by: list[Combination]
    n_combined: int
    unique_with_release: Share | None
    if_row_is_known: Share | None
    determined: list[str]
    assumed_unknown: list[str]
    homogeneous: list[str]

    def is_risk_larger(self, risk: float) -> bool:
        """Whether an intruder who also knows these columns achieves more than this risk."""
        if self.unique_with_release is None or self.if_row_is_known is None:
            return False
        is_larger = self.if_row_is_known.value > (1 + 1e-9) * risk
        return self.unique_with_release.value > 0 or is_larger

    @property
    def in_a_list(self) -> str:
        """The names in a sentence."""
        return in_a_list(self.columns)


@dataclass(frozen=True)
class ColumnLoss:
    """What a column lost, of that where values are missing, and how many were and are missing."""

    column: str
    kind: str
    loss: Share
    of_missing: Share | None
    missing_before: Share
    missing_after: Share


@dataclass(frozen=True)
class Loss:
    """What was lost, in all and by column."""

    total: Share
    meaning: str
    columns: list[ColumnLoss]


@dataclass(frozen=True)
class CertificateFacts:
    """How far the loss is above the optimum, at most."""

    k: int
    loss: Share
    bound: Share
    gap: float | None
    verdict: str
    reason: str


@dataclass(frozen=True)
class Moments:
    """Mean, standard deviation and quartiles of a column."""

    column: str
    mean: Change
    deviation: Change
    lower_quartile: Change
    median: Change
    upper_quartile: Change


@dataclass(frozen=True)
class CategoryShare:
    """The share of a category among the known cells of its column."""

    column: str
    category: str
    share: Change


@dataclass(frozen=True)
class Correlation:
    """The correlation of two columns."""

    columns: list[str]
    correlation: Change


@dataclass(frozen=True)
class Utility:
    """What analysts find in the release."""

    propensity_ratio: float
    weighted_by: str | None
    moments: list[Moments]
    categories: list[CategoryShare]
    correlations: list[Correlation]
    mean_correlation_change: float
    largest_correlation_change: float


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its confidence interval, and as it is written."""

    estimate: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Term:
    """A coefficient before and after, and how far both intervals overlap."""

    term: str
    before: Coefficient | None
    after: Coefficient | None
    overlap: Share | None


@dataclass(frozen=True)
class Analysis:
    """A regression before and after; `why_not` says why there is none.

    `target` says what a logistic regression explains.
    """

    formula: str
    model: str
    target: str | None
    terms: list[Term]
    why_not: str | None = None


@dataclass(frozen=True)
class Estimate:
    """A share of draws, and its confidence interval."""

    value: float
    interval: tuple[float, float] | None
    text: str


@dataclass(frozen=True)
class Attack:
    """An attack on people of the table, and on others who are not in the release."""

    goal: Literal["singling out", "linkability", "inference"]
    column: str | None
    attacker: str | None
    success: Estimate
    others: Estimate | None
    by_chance: Estimate
    due_to_release: Estimate | None


@dataclass(frozen=True)
class Attacks:
    """What attacks achieve; sentences say what was not tried, and why."""

    identity: Share
    identity_one_to_one: Share | None
    identity_by_chance: Share
    guesses: list[Attack]
    n_asked: int
    compared: list[Attack]
    n_members: int
    n_others: int
    left_out: list[str]

    def guess_of(self, column: str) -> Attack | None:
        """The guesses at a column."""
        return next((guess for guess in self.guesses if guess.column == column), None)


@dataclass(frozen=True)
class Sensitive:
    """What the groups disclose about a sensitive column; figures are those of the worst group."""

    column: str
    homogeneous: Share
    one_known: Share
    different_values: int
    entropy: float
    closeness: float
    constraints: list[Constraint]


@dataclass(frozen=True)
class Reproduction:
    """How to make the same release again."""

    estimator: str
    code: str
    is_command: bool
    variables: list[str]
    seed: str
    has_time_limit: bool
    parameters: dict[str, str]


@dataclass(frozen=True)
class ReportDocument:
    """All that a report says, apart from pictures."""

    schema: Literal["sk-microagg report"]
    version: Literal[2]
    confidential: str
    title: str
    written: str
    software: dict[str, str]
    source: str | None
    release: ReleaseFile
    verdicts: list[Verdict]
    records: int
    columns: list[Column]
    method: dict[str, str]
    protection: Protection
    scenario: ScenarioFacts | None
    loss: Loss
    utility: Utility | None
    analyses: list[Analysis]
    certificate: CertificateFacts | None
    risk: Risk
    unchanged: Unchanged
    attacks: Attacks | None
    sensitive: list[Sensitive]
    reproduction: Reproduction

    @property
    def anonymized(self) -> list[str]:
        """The names of the columns that were anonymized, without those that are empty."""
        return [one.column for one in self.loss.columns]
