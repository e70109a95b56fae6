"""Sampling weights, amounts and intervals on tables of Dask: samples, models and errors."""

import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="Dask is an extra")
from example_tables.on_dask import assert_fit_fails, every_shuffle, from_pandas

from sk_microagg import TableAggregator
from sk_microagg.metrics import anonymity_level, dominance
from sk_microagg.privacy import Dominance, PopulationSize, PPercent
from sk_microagg.scale import DaskTableAggregator

# Dask itself causes this warning with newer versions of pandas.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The inplace keyword in DataFrame",
    "ignore:Most weights",
    "ignore:With a weight, groups",
)

NAMES = ["age", "sales", "day", "grade", "town"]
AMOUNTS = [Dominance(0.5, column="sales"), PPercent(10, column="sales"), PopulationSize(90)]
INTERVALS = {"numbers": "interval", "categories": "generalize"}
TOWNS = {"west": ["Bonn", "Köln"], "south": ["Ulm", "Aalen"]}


def draw(n=300, seed=0):
    """A survey with weights, companies with several rows, and values of any kind."""
    rng = np.random.default_rng(seed)
    grades = pd.CategoricalDtype(list("ABCDE"), ordered=True)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sales": np.round(rng.lognormal(4, 1.3, n), 1),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "grade": pd.Series(rng.choice(list("ABCDE"), n, p=[0.4, 0.3, 0.27, 0.02, 0.01])).astype(
                grades
            ),
            "town": pd.Categorical(rng.choice(["Bonn", "Ulm", None], n, p=[0.6, 0.35, 0.05])),
            "size": rng.integers(1, 5, n),
            "w": np.round(rng.lognormal(3, 0.6, n), 1),
            "company": rng.integers(0, n // 2, n),
            "region": rng.choice(["north", "south"], n),
            "ill": rng.choice(["flu", "gout"], n),
        }
    )


@pytest.mark.slow
@every_shuffle
def test_a_sample_of_a_larger_table(tmp_path, shuffle, small_bundles):
    table = draw(1500)
    table.to_parquet(tmp_path / "table.parquet", row_group_size=400)
    model = DaskTableAggregator(
        4,
        quasi_identifiers=NAMES,
        weight="w",
        weight_release="mean",
        privacy=AMOUNTS,
        sample_size=1000,
        block_size=250,
        refiner=None,
        shuffle=shuffle,
        folder=tmp_path / "model",
    )
    release = model.fit_transform(tmp_path / "table.parquet", path=tmp_path / "release").compute()
    assert model.n_blocks_ > 2
    assert release["w"].sum() == pytest.approx(table["w"].sum(), rel=5e-4)
    step = 10.0 ** -model.rounding_["sales"].decimals
    error = abs(release["w"] @ release["sales"] - table["w"] @ table["sales"])
    assert error <= table["w"].sum() * step / 2 + 5e-4 * (table["w"] @ table["sales"])
    classes = release[NAMES]
    assert anonymity_level(classes) >= 4
    assert dominance(classes, table["sales"], weight=table["w"]) <= 0.5
    groups = classes.groupby(NAMES, dropna=False, observed=True).ngroup()
    assert table["w"].groupby(groups).sum().min() >= 90
    without = from_pandas(table[:50].drop(columns="w"), npartitions=1)
    assert "w" not in model.transform(without).compute()


@pytest.mark.slow
@pytest.mark.parametrize("privacy", [AMOUNTS, AMOUNTS[:1]])
def test_figures_of_the_worst_group_are_coarse(privacy):
    """With the means, an exact share would be the sales of one company."""
    table = draw(100)
    model = DaskTableAggregator(3, quasi_identifiers=NAMES, privacy=privacy, weight="w")
    model.fit(from_pandas(table, npartitions=2))
    memory = TableAggregator(3, quasi_identifiers=NAMES, privacy=privacy, weight="w").fit(table)
    exact = dominance(memory.labels_, table["sales"], weight=table["w"])
    assert exact < model._figures[0, 1] == 0.5
    for constraint, figures in zip(privacy, model._figures, strict=True):
        assert [*map(constraint.told, figures)] == figures.tolist()


@pytest.mark.slow
def test_a_model_of_intervals_holds_what_it_releases(tmp_path):
    table = draw(400)
    table["sales"] += 0.0123  # in no round number
    model = DaskTableAggregator(4, quasi_identifiers=NAMES, folder=tmp_path, **INTERVALS)
    release = model.fit_transform(from_pandas(table, npartitions=3)).compute()
    assert anonymity_level(release[NAMES]) >= 4
    held = pickle.dumps(model) + b"".join(file.read_bytes() for file in tmp_path.rglob("*.*"))
    counts = table["sales"].value_counts()
    rare = counts.index[counts < 4]
    assert len(rare) > 200
    assert not any(np.float64(value).tobytes() in held for value in rare)


@pytest.mark.slow_but_first
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"weight": "W"}, ValueError, "^weight names 'W'"),
        ({"weight": "w", "weight_release": "drop"}, ValueError, "^weight_release='drop'"),
        ({"weight": "town"}, ValueError, "^weight='town': some cells are no numbers"),
        ({"numbers": "median", "weight": "w"}, ValueError, "^numbers='median'"),
        ({"categories": "shares", "weight": "w"}, ValueError, "^categories='shares'"),
        ({"intervals": "disjoint"}, ValueError, "^intervals='disjoint' .* use TableAggregator"),
        ({"hierarchies": {"town": TOWNS}}, ValueError, "^hierarchies names 'town', but"),
        ({"hierarchies": {"age": {"old": [80]}}}, ValueError, "^Column 'age': some cells are no"),
        ({"hierarchies": {"age": TOWNS}, "ordinal": ["age"]}, ValueError, "both hierarchies and"),
        ({"privacy": PopulationSize(90)}, ValueError, "^weight=None of PopulationSize.* must be"),
        ({"privacy": Dominance()}, ValueError, "^column=None of Dominance.* must be one of"),
        ({"privacy": Dominance(column="Sales")}, ValueError, "^column='Sales' of Dominance"),
        ({"privacy": Dominance(column="change")}, ValueError, "^column='change' of Dominance"),
        ({"privacy": Dominance(column="town")}, ValueError, "^column='town' of a constraint"),
        (
            {"privacy": Dominance(0.5, column="one")},
            ValueError,
            r"^share=0\.5 must be at least 1: one contributor has up to that much of the sum of "
            "the column 'one'",
        ),
        (
            {"privacy": Dominance(0.5, column="one"), "unit": "company"},
            ValueError,
            r"^share=0\.5 must be at least 1: one contributor",
        ),
        (
            {"privacy": Dominance(0.5, column="one"), "strata": "region"},
            ValueError,
            "^strata: a stratum violates Dominance.share=0.5. of the column 'one'",
        ),
        ({"privacy": PPercent(1e9, column="age")}, ValueError, r"^p=1000000000\.0 must be at most"),
        (
            {"privacy": PopulationSize(1e6), "weight": "w"},
            ValueError,
            r"^at_least=1000000\.0 must be at most the sum of the weights of the column 'w', about",
        ),
    ],
    ids=str,
)
def test_bad_parameters(parameters, error, message):
    table = draw().assign(change=-1.0, one=0.0)
    table.loc[7, "one"] = 5.0
    X = from_pandas(table, npartitions=3)
    assert_fit_fails(
        DaskTableAggregator(3, quasi_identifiers=["age", "sales"], **parameters), X, error, message
    )


@pytest.mark.parametrize("value", [0.0, -2.5, np.inf, np.nan])
@pytest.mark.parametrize("kept", ["keep", "mean"])
def test_weights_are_positive_and_finite(value, kept):
    table = draw()
    table.loc[3, "w"] = value
    model = DaskTableAggregator(
        3, quasi_identifiers=["age", "sales"], weight="w", weight_release=kept
    )
    assert_fit_fails(
        model,
        from_pandas(table, npartitions=3),
        ValueError,
        "^weight='w': some cells are no numbers above 0",
    )


@pytest.mark.filterwarnings("error:Most weights", "error:With a weight, groups")
def test_weights_that_identify_and_small_groups_are_warnings():
    X = from_pandas(draw(), npartitions=2)
    with pytest.warns(UserWarning, match=r"^Most weights .* k=5"):
        DaskTableAggregator(5, quasi_identifiers=["age"], weight="w").fit(X)
    model = DaskTableAggregator(4, quasi_identifiers=["age"], weight="w", weight_release="mean")
    with pytest.warns(UserWarning, match=r"^With a weight, groups of k=4"):
        model.fit(X)


def test_mean_weights_of_identical_rows_make_transform_inexact():
    table = pd.DataFrame({"b": [True] * 4, "w": [7.0, 5.0, 8.0, 5.0]})
    parameters = {"weight": "w", "privacy": PopulationSize(5), "quasi_identifiers": ["b"]}
    X = from_pandas(table, npartitions=1)
    model = DaskTableAggregator(2, **parameters, weight_release="mean")
    release = model.fit_transform(X).compute()
    assert release["w"].nunique() == 2
    assert model.transform(X).compute()["w"].nunique() == 1
    assert not model.exact_transform_
    kept = DaskTableAggregator(2, **parameters).fit(X)
    assert kept.exact_transform_
