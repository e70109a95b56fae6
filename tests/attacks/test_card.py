"""Of the original, a card tells the loss and the proven gap, and nothing else."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case
from sklearn.base import clone

from sk_microagg import KAIM, MicroAggregator, ReleaseSeries, TableAggregator
from sk_microagg.metrics import Certificate
from sk_microagg.privacy import Dominance, LDiversity, UnitShare
from sk_microagg.release import ReleaseRequest, release_file
from sk_microagg.release._release import Progress
from sk_microagg.report import make_report
from sk_microagg.report._card import make_card
from sk_microagg.report._columns import RoleNames

pytestmark = [
    pytest.mark.usefixtures("few_steps", "facts_only"),
    pytest.mark.filterwarnings("ignore:Most weights", "ignore:With a weight, groups"),
    pytest.mark.filterwarnings("ignore:Means of"),
]

N = 120
FIGURES = "information_loss", "proven_gap"
ROLES = {
    "unit": "person",
    "strata": "region",
    "sensitive": ["illness", "cost"],
    "weight": "w",
    "drop": "note",
}


def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "person": np.repeat(np.arange(N // 2), 2),
            "age": rng.integers(20, 80, N),
            "income": np.where(rng.random(N) < 0.2, np.nan, rng.normal(30, 9, N).round(1)),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), "D"),
            "size": rng.choice(["small", "medium", "large"], N),
            "region": rng.choice(["north", "south"], N),
            "illness": rng.choice(["flu", "gout", "angina"], N),
            "cost": rng.uniform(50, 60, N).round(2),
            "w": rng.uniform(20, 60, N).round(1),
            "note": [f"Note {i}" for i in range(N)],
        }
    )


ESTIMATORS = [
    TableAggregator(4, drop=["note", "person"]),
    TableAggregator(
        4,
        **ROLES,
        weight_release="mean",
        privacy=[LDiversity(2, column="illness"), Dominance(0.5, column="cost"), UnitShare(0.4)],
    ),
    TableAggregator(4, **ROLES | {"weight": None}, numbers="interval", categories="generalize"),
    KAIM(4, random_state=0),
    TableAggregator(4, drop=["note"], ordinal={"size": ["small", "medium", "large"]}),
]


def bytes_of(card):
    return [card.to_html(), card.to_markdown(), json.dumps(card.to_dict())]


def without_figures(card):
    return {name: value for name, value in card.to_dict().items() if name not in FIGURES}


def number_in(words):
    """A figure of a card as those who have nothing else know it."""
    found = re.search(r"([\d.]+)%", words)
    return 0.0 if found is None else float(found[1]) / 100


def names(role):
    return [] if role is None else [role] if isinstance(role, str) else list(role)


def from_outside(estimator, released, card, dropped):
    """The card again, from the release, what was asked for, and the two figures as published."""
    given = {role: names(getattr(estimator, role, None)) for role in ROLES if role != "drop"}
    changed = {*dropped, *given["unit"]}
    if getattr(estimator, "weight_release", "keep") == "mean":
        changed |= {*given["weight"]}
    chosen = getattr(estimator, "quasi_identifiers", "auto")
    roles = {name for named in given.values() for name in named}
    anonymized = [
        name
        for name in released
        if (name in names(chosen) if chosen != "auto" else name not in roles)
    ]
    unchanged = [name for name in released if name not in {*anonymized, *changed}]
    roles = RoleNames(unchanged, dropped, **given)
    told = card.to_dict()
    gap = None if told["proven_gap"] == "not examined" else number_in(told["proven_gap"])
    loss = number_in(told["information_loss"])
    return make_card(clone(estimator), released[anonymized], roles, loss, gap)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=range(len(ESTIMATORS)))
def test_a_card_can_be_made_again_without_the_original(estimator):
    table = people()
    if isinstance(estimator, KAIM):
        table = table[["age", "size"]]
    fitted = clone(estimator)
    released = fitted.fit_transform(table)
    if not isinstance(released, pd.DataFrame):
        released = pd.DataFrame(released, columns=list(table))
    certificate = None
    if isinstance(estimator, TableAggregator) and estimator.numbers != "interval":
        loss = fitted.information_loss_
        certificate = Certificate(loss, loss / 1.0567, np.empty((0, 2)), estimator.k)
    report = make_report(fitted, table, released, certificate=certificate)
    dropped = [name for name in table if name not in released]
    again = from_outside(estimator, released, report.card(), dropped)
    assert bytes_of(again) == bytes_of(report.card())
    if certificate is not None:
        assert "5.7%" in report.card().to_dict()["proven_gap"]


@pytest.mark.slow
def test_numbers_of_an_array():
    X = np.random.default_rng(0).normal(size=(90, 3))
    aggregator = MicroAggregator(5)
    released = aggregator.fit_transform(X)
    card = make_report(aggregator, X, released).card()
    loss = number_in(card.to_dict()["information_loss"])
    nothing = RoleNames([], [], [], [], [], [])
    again = make_card(MicroAggregator(5), released, nothing, loss, None)
    assert bytes_of(again) == bytes_of(card)


def far_apart():
    """Groups of five that no change of one cell makes others."""
    place = np.repeat(np.arange(12), 5)
    table = pd.DataFrame({"age": 1000 * place + np.tile([10, 20, 30, 40, 50], 12)})
    table["size"] = np.tile(["small", "small", "small", "large", "medium"], 12)
    table["income"] = 500.0 * place + np.tile([10, 20, np.nan, 40, 30], 12)
    table["person"] = np.arange(60)
    table["note"] = [f"Note {i}" for i in range(60)]
    return table


@in_one_case(
    ("column", "value"),
    [
        ("size", "small"),
        ("size", "huge"),
        ("size", None),
        ("income", np.nan),
        ("income", 26.0),
        ("age", 38),
        ("person", 99),
        ("note", "a secret"),
    ],
)
def test_another_cell_with_the_same_release_makes_the_same_card(column, value):
    tables = far_apart(), far_apart()
    record = 3 if column != "income" else 4
    tables[1].loc[record, column] = value
    assert not tables[0].equals(tables[1])
    cards, released = [], []
    for table in tables:
        # Means are rounded so coarsely that one cell does not change them.
        aggregator = TableAggregator(
            5,
            unit="person",
            drop="note",
            column_weights={"age": 1e6},
            decimals={"age": -1, "income": -2},
            refiner=None,
        )
        released.append(aggregator.fit_transform(table))
        report = make_report(aggregator, table, released[-1], title="Made up")
        cards.append(without_figures(report.card()))
    pd.testing.assert_frame_equal(*released)
    assert cards[0] == cards[1]


def test_the_two_figures_are_rounded_up_to_two_digits():
    nothing = RoleNames([], [], [], [], [], [])
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 5, axis=0)
    for loss, gap, words in (
        (0.0754088, 0.0362, ("at most 7.6%", "at most 3.7%")),
        (0.1201, 1.234, ("at most 13%", "at most 130%")),
        (0.00012, 0.0, ("at most 0.012%", "the optimum")),
        (0.5, np.inf, ("at most 50%", "nothing was proven")),
        (0.5, None, ("at most 50%", "not examined")),
    ):
        told = make_card(MicroAggregator(5), X, nothing, loss, gap).to_dict()
        assert told["information_loss"].startswith(words[0])
        assert words[1] in told["proven_gap"]


@pytest.mark.slow
def test_the_card_of_the_command_line_is_that_of_the_report(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    scenario = {"reasons": {"age": "known to neighbors", "note": "free text"}}
    request = ReleaseRequest(
        tmp_path / "people.csv",
        tmp_path / "release.csv",
        k=4,
        unit="person",
        sensitive=["illness", "cost"],
        drop=["note"],
        strata=["region"],
        weight="w",
        privacy=[LDiversity(2)],
        card=tmp_path / "card.json",
        scenario=scenario,
        shuffle=True,
    )
    release_file(request, progress=Progress())
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    text = json.dumps(card)
    assert "known to neighbors" in text
    # No cell of columns that are not released, and none of one person.
    for cell in (*people()["note"], "Note "):
        assert cell not in text
    released = pd.read_csv(tmp_path / "release.csv")
    assert card["rows"] == len(released)
    known = released[["age", "income", "born", "size"]]
    assert card["groups"] == len(known.drop_duplicates())
    assert card["smallest_group"] == known.value_counts(dropna=False).min()
    roles = {column["name"]: column["role"] for column in card["columns"]}
    assert roles == {
        "age": "quasi-identifier",
        "income": "quasi-identifier",
        "born": "quasi-identifier",
        "size": "quasi-identifier",
        "region": "stratum",
        "illness": "sensitive",
        "cost": "sensitive",
        "w": "weight",
        "person": "person",
        "note": "dropped",
    }
    plain = request.replace(card=None, report=tmp_path / "report.json", overwrite=True)
    for other in (plain, request.replace(card=tmp_path / "again.json", overwrite=True)):
        release_file(other, progress=Progress())
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert {**again, "release": None} == {**card, "release": None}


@pytest.mark.slow
@in_one_case("name", ["<script>alert(1)</script>", "a | b", "**c**", "![x](http://y)", "{{ 7 }}"])
def test_whatever_a_user_names_is_text(name, tmp_path):
    table = people()[["age", "size"]].rename(columns={"age": name})
    aggregator = TableAggregator(4, refiner=None)
    released = aggregator.fit_transform(table)
    scenario = {"reasons": {name: f"reason {name}"}}
    card = make_report(aggregator, table, released, title=name, scenario=scenario).card()
    html = card.save(tmp_path / "card.html").read_text(encoding="utf-8")
    assert "<script" not in html
    lines = card.save(tmp_path / "card.md").read_text(encoding="utf-8").splitlines()
    [row] = [
        line for line in lines if line.startswith("| ") and "reason" in line and "mean" in line
    ]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert not any(re.search(r"(?<!\\)[<>*\[]", line.lstrip("- ")) for line in lines)


@in_one_case(
    ("what", "words"),
    [
        ("unit", "a group has records of 1 unit"),
        ("rows", "a row is shared by 1 record"),
        ("constraint", "diversity"),
    ],
)
def test_a_release_that_breaks_a_promise_has_no_card(what, words):
    X = np.repeat(np.arange(12.0), 5)[:, None] * [1.0, 1.0]
    aggregator = MicroAggregator(5).fit(X)
    released, about = X.copy(), {}
    if what == "unit":
        about = {"unit": np.repeat(np.arange(12), 5)}
    elif what == "rows":
        released[0] = -1.0
    else:
        aggregator = MicroAggregator(5, privacy=LDiversity(2))
        aggregator.fit(X, sensitive=np.arange(60) % 2)
        about = {"sensitive": np.repeat(np.arange(12), 5)}
    report = make_report(aggregator, X, released, **about)
    with pytest.raises(ValueError, match=f"^The release has no card, .*{words}"):
        report.card()


def test_a_series_has_no_card():
    table = pd.DataFrame({"person": range(60), "age": np.repeat(np.arange(12.0), 5)})
    series = ReleaseSeries(TableAggregator(5, unit="person"))
    report = make_report(series, table, series.release(table))
    with pytest.raises(ValueError, match=r"^A release of a series has no card"):
        report.card()


def test_names_of_files(tmp_path):
    nothing = RoleNames([], [], [], [], [], [])
    card = make_card(MicroAggregator(5), np.ones((10, 2)), nothing, 0.0, None)
    with pytest.raises(ValueError, match=r"card\.txt' must end in \.html, \.htm, \.md or \.json"):
        card.save(tmp_path / "card.txt")
    assert json.loads(card.save(tmp_path / "card.json").read_text()) == card.to_dict()
    assert card.save(str(tmp_path / "card.HTM")).read_text(encoding="utf-8") == card.to_html()
