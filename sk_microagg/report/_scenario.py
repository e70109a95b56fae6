"""Who gets a release, which risk is acceptable, and whether the release stays below it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

from sk_microagg._utils._validation import check_number, check_option
from sk_microagg.report._sections import ScenarioFacts

RELEASE_MODELS = {
    "public": "public: anybody can get the release, without a contract",
    "controlled": "controlled: known recipients get it under a contract, or see it in a safe place",
    "internal": "internal: the release stays in the organization that has the original",
}

# Of policy 0070 of the European Medicines Agency, and of Health Canada.
THRESHOLD = 0.09

# Whom each kind of intruder looks for.
INTRUDERS = {
    "prosecutor": "knows that a certain person is in the table, and looks for the row",
    "journalist": "has a register of the population, and looks for any row that can be identified",
    "marketer": "links all rows to such a register, and counts those that are right",
}


@dataclass(frozen=True)
class Scenario:
    """Who gets a release, and which risk of re-identification is acceptable.

    A report states risks before and after against the threshold, and names the reasons.

    Parameters
    ----------
    recipient : str or None, default=None
        Who gets the release.

    release_model : {"public", "controlled", "internal"}, default="public"
        How it is released.

    threshold : float, default=0.09
        Largest acceptable risk that a person is re-identified, above 0 and at most 1. 0.09 is what
        guidance on policy 0070 of the European Medicines Agency and Health Canada recommend; it
        needs groups of at least 12.

    justification : str or None, default=None
        Why this threshold.

    reasons : dict, default={}
        Why columns have their roles, by their names.

    reviewed_by : str or None, default=None
        Who reviewed the release.

    review_date : str, date or None, default=None
        When it has to be reviewed again, as 2027-06-30.

    See Also
    --------
    make_report : Takes it as `scenario`.

    Examples
    --------
    >>> from sk_microagg.report import Scenario
    >>> Scenario(recipient="University of Bonn", release_model="controlled", threshold=0.2)
    ... # doctest: +ELLIPSIS
    Scenario(recipient='University of Bonn', release_model='controlled', threshold=0.2, ...)
    """

    recipient: str | None = None
    release_model: str = "public"
    threshold: float = THRESHOLD
    justification: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    reviewed_by: str | None = None
    review_date: str | date | None = None

    def __post_init__(self) -> None:
        check_option("release_model", self.release_model, RELEASE_MODELS)
        check_number("threshold", self.threshold, above=0, at_most=1)
        for name in ("recipient", "justification", "reviewed_by"):
            if not isinstance(getattr(self, name), str | None):
                raise TypeError(f"{name}={getattr(self, name)!r} must be text or None.")
        if not isinstance(self.reasons, Mapping) or not all(
            isinstance(text, str) for text in self.reasons.values()
        ):
            raise TypeError(f"reasons={self.reasons!r} must be a dict from columns to text.")
        if isinstance(self.review_date, str):
            try:
                date.fromisoformat(self.review_date)
            except ValueError:
                raise ValueError(
                    f"review_date={self.review_date!r} must be a date, as 2027-06-30."
                ) from None

    @classmethod
    def read(cls, given: Any) -> Scenario:
        """Make a scenario from another, a dict, JSON or the path of a file.

        Parameters
        ----------
        given : Scenario, dict, str or path-like
            The scenario, its parameters by their names, these as JSON text in braces, or a .toml
            or .json file of these.

        Returns
        -------
        scenario : Scenario
            The scenario.
        """
        if isinstance(given, Scenario):
            return given
        if not isinstance(given, Mapping) and str(given).startswith("{"):
            given = json.loads(str(given))
        elif not isinstance(given, Mapping):
            path, suffix = given, Path(given).suffix.lower()
            check_option("suffix", suffix, (".toml", ".json"))
            text = Path(path).read_text(encoding="utf-8")
            try:
                given = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
            except ValueError as error:
                raise ValueError(f"{path} is not {suffix[1:].upper()}: {error}.") from error
        names = [parameter.name for parameter in fields(cls)]
        if not isinstance(given, Mapping):
            raise TypeError(f"A scenario must name its parameters: {', '.join(names)}.")
        for name in given:
            check_option("scenario", name, names)
        return cls(**given)

    def facts(self) -> ScenarioFacts:
        """What a report says of it, apart from the reasons, which it says by column."""
        why = self.justification
        if why is None and self.threshold == THRESHOLD:
            why = "recommended for public releases by EMA (policy 0070) and Health Canada"
        return ScenarioFacts(
            recipient=self.recipient,
            release_model=RELEASE_MODELS[self.release_model],
            threshold=float(self.threshold),
            justification=why,
            reviewed_by=self.reviewed_by,
            review_date=None if self.review_date is None else str(self.review_date),
        )
