"""A report states what groups disclose about sensitive columns."""

import re

import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader
from marks import in_one_case

from sk_microagg import KAIM, MicroAggregator, builders
from sk_microagg._utils._formatting import in_records, percent
from sk_microagg.metrics import (
    closeness,
    diversity,
    homogeneity,
    record_linkage,
    unit_share,
    units_per_group,
)
from sk_microagg.privacy import Constraint, LDiversity, TCloseness, UnitShare
from sk_microagg.report import _sections, make_report
from sk_microagg.report._sensitive import facts_beyond_k

K, N = 4, 120
GOOD, BAD = "\N{CHECK MARK}", "\N{BALLOT X}"
WARNING = "No sensitive column was examined."

rng = np.random.RandomState(0)
X = pd.DataFrame({"age": rng.randint(18, 90, size=N), "weight": rng.normal(75, 15, size=N)})
SENSITIVE = pd.DataFrame(
    {
        "diagnosis": rng.choice(["fluxion", "goutiness", "scurvy"], size=N, p=[0.7, 0.2, 0.1]),
        "salary": 71_000_000 + rng.permutation(N) * 1_117,
    }
)

pytestmark = pytest.mark.usefixtures("few_steps", "facts_only")
UNIT = pd.Series([f"patient-{number}" for number in rng.randint(40, size=N)], name="patient")
STRATA = pd.Series(np.where(rng.random_sample(N) < 0.5, "northland", "southland"), name="region")


@pytest.fixture
def report(tmp_path):
    def report(estimator, release, table=X, **parameters):
        path = make_report(estimator, table, release, **parameters).save(tmp_path / "report.html")
        return Reader(path.read_text(encoding="utf-8"))

    return report


@pytest.fixture(scope="module")
def plain():
    aggregator = MicroAggregator(K, refiner=None)
    return aggregator, aggregator.fit_transform(X)


def text_of(page):
    return " ".join("".join(page.text).split())


@pytest.mark.slow
def test_figures_of_each_column(report, plain):
    aggregator, release = plain
    page = report(aggregator, release, sensitive=SENSITIVE)
    for n, name in enumerate(SENSITIVE, 1):
        column = SENSITIVE[name]
        assert page.row("Homogeneous groups", n)[0] == in_records(homogeneity(release, column), N)
        assert page.row("Different values", n)[0] == str(diversity(release, column))
        entropy = diversity(release, column, kind="entropy")
        assert page.row("Entropy diversity", n)[0] == f"{entropy:.3g}"
        assert page.row("Distance from the table", n)[0] == f"{closeness(release, column):.3f}"
        assert f"Sensitive column '{name}'" in text_of(page)
    assert 0 < homogeneity(release, SENSITIVE["diagnosis"]) < 1
    assert text_of(page).count("No constraint was requested for this column") == 2
    assert WARNING not in text_of(page)


@pytest.mark.slow
def test_the_first_page_names_the_worst_columns(report, plain):
    aggregator, release = plain
    distinct = pd.DataFrame({f"fine {j}": np.arange(N) for j in range(3)})
    binary = pd.Series(np.arange(N) % 2, name="binary")
    page = report(aggregator, release, sensitive=distinct.assign(constant=1, binary=binary))
    [text] = page.row("Sensitive")
    assert homogeneity(release, binary) < 1
    places = [text.index(f"'{name}'") for name in ("constant", "binary", "fine 0")]
    assert places == sorted(places)
    assert "'constant', 120 of 120 records (100%) are in groups that share one value." in text
    assert text.endswith("And 2 more sensitive columns, no worse than these.")
    [text] = report(aggregator, release, sensitive=SENSITIVE).row("Sensitive")
    assert "more" not in text


@pytest.mark.slow
def test_no_sensitive_column_is_a_warning(report, plain):
    page = report(*plain)
    assert WARNING in text_of(page)
    assert "k-anonymity says nothing about what the records of a group share" in text_of(page)
    names = {row[0] for row in page.rows if row}
    assert not names & {"Homogeneous groups", "Constraints on groups", "Units", "Strata"}
    assert "fit_transform(X)" in text_of(page)


@pytest.mark.slow
def test_constraints_units_and_strata(report):
    privacy = [
        LDiversity(2, column="diagnosis"),
        UnitShare(0.25),
        TCloseness(0.4, column="salary"),
    ]
    aggregator = MicroAggregator(K, privacy=privacy, random_state=0)
    roles = {"sensitive": SENSITIVE, "unit": UNIT, "strata": STRATA}
    release = aggregator.fit_transform(X, **roles)
    page = report(aggregator, release, **roles)
    text = text_of(page)
    diverse = "sensitive column 'diagnosis'"
    close = "sensitive column 'salary'"
    assert page.row("Strata") == ["2; no group has records of two strata"]
    n_units = units_per_group(aggregator.labels_, UNIT)
    assert n_units >= K
    assert f"{GOOD}Every group has records of at least {n_units} different units." in text
    verdicts = {
        diverse: "every group has at least 2 different values; 2 demanded",
        close: "the distance of a group from the table is at most 0.",
        "unit column 'patient'": "of the rows of a group belong to one of them; 0.25 demanded",
    }
    for name, words in verdicts.items():
        assert re.search(rf"{GOOD}{name.capitalize()}: [a-z0-9.% ]*{words}", text)
    for title, name in (
        ("L-diversity (at least 2)", diverse),
        ("T-closeness (at most 0.4)", close),
    ):
        assert f"{title} of the {name} was requested, and holds in every group." in text
    assert "They count records, not units" in text
    assert "fit_transform(X, sensitive=sensitive, unit=unit, strata=strata)" in text
    assert BAD not in text


@pytest.mark.slow
def test_one_person_with_most_records_of_a_group(report):
    # Two of them have 40 records near each other.
    people = np.repeat(np.arange(42), [40, 40, *[1] * 40])
    table = X.assign(age=np.where(people < 2, 30 + 40 * people, X["age"]))
    aggregator = MicroAggregator(K)
    release = aggregator.fit_transform(table, unit=people)
    share = unit_share(release, people)
    assert share > 0.8
    page = report(aggregator, release, table, unit=people)
    text = text_of(page)
    most = percent(share)
    assert (
        f"{BAD}Up to {most} of the records of a group belong to one unit, more than 1 in 4" in text
    )
    assert page.row("Largest share of one unit")[0] == most
    linkage = record_linkage(table, release, unit=people)
    assert linkage.expected_if_linked > 0.4
    assert page.row("The same, if the row is known")[0] == percent(linkage.expected_if_linked)
    assert page.row("Expected re-identifications")[0] == percent(linkage.expected_matches)
    assert f"at most {most} (largest share of one unit in a group)" in text
    assert f"One unit has up to {most} of the records of a group." in text
    assert "It identifies nobody" not in text
    assert "at most 25.0%" not in text
    assert "at most 25.0% (1 in 4)" in text_of(report(aggregator, release, table))


@pytest.mark.slow
def test_one_known_value_apart_from_missing_ones(report, plain):
    aggregator, release = plain
    illness = pd.Series(np.where(np.arange(N) % 2, "fluxion", None), name="illness")
    share, known = (homogeneity(release, illness, missing=m) for m in ("value", "ignored"))
    assert share < 0.2 < 0.8 < known
    page = report(aggregator, release, sensitive=illness, unchanged=illness.to_frame())
    assert page.row("One known value")[0] == in_records(known, N)
    text = text_of(page)
    line = "in groups with a single known value, apart from missing ones"
    assert f", {in_records(known, N)} {line}" in text


@pytest.mark.slow
def test_a_constraint_on_units_that_are_not_given_is_not_checked(report):
    aggregator = MicroAggregator(K, privacy=UnitShare(0.25))
    release = aggregator.fit_transform(X, unit=UNIT)
    text = text_of(report(aggregator, release))
    assert f"{BAD}Not checked, for lack of units: unit share (at most 0.25) of the unit" in text
    people = np.repeat(np.arange(20), 6)
    text = text_of(report(aggregator, release, unit=people))
    assert (
        f"{BAD}A group violates what was demanded: unit share (at most 0.25) of the unit column."
        in text
    )


@pytest.mark.slow
def test_what_does_not_hold_is_marked(report, plain):
    _, release = plain
    # Fitted on other values, under which the constraint holds.
    aggregator = MicroAggregator(K, refiner=None, privacy=LDiversity(2))
    aggregator.fit(X, sensitive=np.arange(N))
    people = np.arange(N) // 60
    page = report(aggregator, release, sensitive=SENSITIVE["diagnosis"], unit=people)
    text = text_of(page)
    name = "l-diversity (at least 2) of the sensitive column 'diagnosis'"
    assert f"{BAD}A group violates what was demanded: {name}." in text
    assert f"L{name[1:]} was requested, but a group violates it." in text
    assert re.search(rf"{BAD}A group has records of only 1 different unit: k = {K} was", text)


@pytest.mark.slow
@pytest.mark.parametrize("privacy", [LDiversity(2), TCloseness(0.4)])
def test_the_builder_is_one_that_users_can_write(report, privacy):
    values = SENSITIVE["diagnosis"]
    aggregator = MicroAggregator(K, privacy=privacy)
    page = report(aggregator, aggregator.fit_transform(X, sensitive=values), sensitive=values)
    [shown] = page.row("Groups built by")
    builder = eval(shown, {**vars(builders)}) if "(" in shown else shown
    again = MicroAggregator(K, privacy=privacy, builder=builder)
    assert again.fit_predict(X, sensitive=values).tolist() == aggregator.labels_.tolist()


@pytest.mark.slow
def test_constraints_that_cannot_be_checked(report):
    aggregator = MicroAggregator(K, privacy=LDiversity(2, column="diagnosis"))
    release = aggregator.fit_transform(X, sensitive=SENSITIVE)
    page = report(aggregator, release)
    name = "l-diversity (at least 2) of the sensitive column 'diagnosis'"
    assert f"{BAD}Not checked, for lack of sensitive values: {name}." in text_of(page)
    assert WARNING in text_of(page)


class EvenSize(Constraint):
    def __init__(self, column=None):
        self.column = column

    def measure(self, values, table):
        return len(values)

    def accepts(self, figure):
        return figure % 2 == 0


class Pairs(EvenSize):
    title = "pairs"

    def in_words(self, figure):
        return "everybody has a partner"


@in_one_case(
    ("constraint", "size", "holds", "words"),
    [
        (EvenSize(), 4, True, "Sensitive column: every group satisfies even size."),
        (EvenSize(), 5, False, "A group violates what was demanded: even size of the sensitive "),
        (Pairs(), 4, True, "Sensitive column: everybody has a partner."),
        (Pairs(), 5, False, "A group violates what was demanded: pairs of the sensitive column."),
    ],
)
def test_a_constraint_of_a_user(constraint, size, holds, words):
    aggregator = MicroAggregator(K, privacy=constraint)
    beyond = facts_beyond_k(np.arange(60) // size, aggregator, np.zeros(60))
    (column,) = beyond.columns
    (demand,) = beyond.demands
    assert column.constraints == [_sections.Constraint(demand.name, holds)]
    assert demand.verdict.startswith(words)


def test_rows_of_two_strata_are_two_groups():
    groups, unit = np.array([0, 0, 0, 0, 1, 1]), ["a", "b", "c", "d", "e", "f"]
    values = ["flu", "flu", "gout", "gout", "flu", "gout"]
    whole = facts_beyond_k(groups, MicroAggregator(), values, unit)
    apart = facts_beyond_k(groups, MicroAggregator(), values, unit, ["n", "n", "s", "s", "n", "n"])
    assert [each.columns[0].homogeneous.value for each in (whole, apart)] == [0, 4 / 6]
    assert [each.columns[0].different_values for each in (whole, apart)] == [2, 1]


@in_one_case(("distance", "shown"), [("ordered", 0.3), ("equal", 0.5)])
def test_the_distance_that_was_requested(distance, shown):
    aggregator = MicroAggregator(privacy=TCloseness(0.9, distance))
    facts = facts_beyond_k(np.repeat([0, 1], 3), aggregator, np.arange(6))
    assert facts.columns[0].closeness == pytest.approx(shown)


@pytest.mark.slow
def test_few_records_in_homogeneous_groups(report, plain):
    aggregator, release = plain
    # A broken release: two records form a group of their own.
    broken = release.copy()
    broken[:2] += 1000
    page = report(aggregator, broken, sensitive=["same"] * 2 + [*range(N - 2)])
    assert page.row("Homogeneous groups")[0] == f"2 of {N} records (1.67%)"


@pytest.mark.slow
def test_generalized_tables(report):
    kaim = KAIM(K, random_state=0)
    release = kaim.fit_transform(X)
    page = report(kaim, release, sensitive=SENSITIVE["diagnosis"], unit=UNIT)
    share = homogeneity(release, SENSITIVE["diagnosis"])
    assert page.row("Homogeneous groups")[0] == in_records(share, N)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sensitive", "words"),
    [
        (SENSITIVE["diagnosis"].to_numpy(), ["Sensitive column Measure"]),
        (SENSITIVE.to_numpy().tolist(), ["Sensitive column 0 ", "Sensitive column 1 "]),
        (SENSITIVE.rename(columns={"salary": "<b>\x1b"}), ["Sensitive column '<b>\\\\x1b'"]),
    ],
    ids=["array", "list of rows", "odd name"],
)
def test_names_of_columns(report, plain, sensitive, words):
    text = text_of(report(*plain, sensitive=sensitive))
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sensitive": np.ones(N - 1)}, "sensitive has 119 records"),
        ({"unit": np.ones(N - 1)}, "unit has 119 records"),
        ({"unit": np.ones((N, 2))}, "unit has 2 columns"),
        ({"strata": np.ones(N - 1)}, "strata has 119 records"),
    ],
)
def test_bad_roles(report, plain, parameters, message):
    with pytest.raises(ValueError, match=message):
        report(*plain, **parameters)
