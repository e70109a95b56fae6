"""MicroAggregator with strata, and errors of all three roles of records."""

import warnings
from copy import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest
from example_tables.numbers import in_units
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles.partition import canonical

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.metrics import anonymity_level
from sk_microagg.privacy import Constraint, LDiversity, TCloseness

pytestmark = pytest.mark.usefixtures("few_steps")

REGIONS = np.array(["north", "south"] * 150 + ["west"] * 100)
AGES = np.random.default_rng(0).integers(20, 90, 400)


def crosses(labels, strata):
    """Whether a group has records of two strata."""
    pairs = pd.DataFrame({"label": labels, "stratum": strata})
    return pairs.groupby("label")["stratum"].nunique(dropna=False).max() > 1


@pytest.mark.slow
@in_one_case("refiner", ["auto", "exchange", "local_search", None])
@in_one_case("block_size", ["auto", 40])
def test_no_group_crosses_strata(X, refiner, block_size):
    aggregator = MicroAggregator(4, refiner=refiner, block_size=block_size, random_state=0)
    labels = aggregator.fit_predict(X, strata=REGIONS)
    assert crosses(MicroAggregator(4, refiner=None).fit_predict(X), REGIONS)
    assert not crosses(labels, REGIONS)
    assert np.bincount(labels).min() >= 4
    assert aggregator.group_sizes_.tolist() == np.bincount(labels).tolist()
    assert aggregator.n_blocks_ == 3 if block_size == "auto" else aggregator.n_blocks_ > 6


def test_each_stratum_is_a_table_of_its_own(X):
    labels = microaggregate(X, 4, refiner="exchange", strata=REGIONS)
    for region in set(REGIONS):
        rows = region == REGIONS
        alone = microaggregate(X[rows], 4, refiner="exchange")
        assert_array_equal(canonical(labels[rows]), canonical(alone))


@pytest.mark.slow
def test_transform_is_exact_with_strata(X, new):
    aggregator = MicroAggregator(4)
    release = aggregator.fit_transform(X, strata=REGIONS)
    assert aggregator.exact_transform_
    assert_array_equal(aggregator.transform(X, strata=REGIONS), release)
    loss = aggregator.information_loss_
    assert aggregator.score(X, strata=REGIONS) == pytest.approx(-loss)
    # New records join groups of their stratum.
    regions = np.resize(["west", "north"], len(new))
    joined = aggregator.transform(new, strata=regions)
    assert anonymity_level(np.vstack([release, joined])) >= 4
    for region in ("west", "north"):
        own = {tuple(row) for row in release[region == REGIONS]}
        assert {tuple(row) for row in joined[regions == region]} <= own


@pytest.mark.slow
def test_a_record_is_transformed_by_its_stratum_alone(X):
    aggregator = MicroAggregator(4).fit(X, strata=REGIONS)
    one_by_one = [aggregator.transform(X[[i]], strata=REGIONS[[i]])[0] for i in range(350, 390)]
    assert_array_equal(one_by_one, aggregator.transform(X, strata=REGIONS)[350:390])


@pytest.mark.slow
def test_strata_of_several_columns(X):
    strata = pd.DataFrame({"region": REGIONS, "is_old": AGES > 50})
    labels = MicroAggregator(4).fit_predict(X, strata=strata)
    assert not crosses(labels, REGIONS)
    assert not crosses(labels, AGES > 50)


def test_all_missing_strata_are_one(X):
    strata = [None, np.nan] * 20 + ["north"] * 360
    aggregator = MicroAggregator(4)
    labels = aggregator.fit_predict(X, strata=strata)
    assert not {*labels[:40]} & {*labels[40:]}
    assert {*labels[0:40:2]} & {*labels[1:40:2]}
    release = aggregator.transform(X[:2], strata=[float("nan"), None])
    assert_array_equal(release, aggregator.centroids_[labels[:2]])


def test_one_stratum_is_like_none(X):
    with_one = MicroAggregator(4).fit(X, strata=["all"] * 400)
    assert not crosses(with_one.labels_, ["all"] * 400)
    loss = MicroAggregator(4).fit(X).information_loss_
    assert with_one.information_loss_ == pytest.approx(loss, rel=0.1)


@pytest.mark.slow
def test_equal_results_each_time(X):
    for seed in (None, 3):
        first, second = (
            MicroAggregator(4, random_state=seed).fit_predict(X, strata=REGIONS) for _ in range(2)
        )
        assert_array_equal(first, second)


def test_distributions_within_strata_are_those_of_the_whole_table(X):
    # Neither the young nor the others look like the table.
    message = (
        r"^strata: a stratum violates TCloseness\(t=0\.1\) of the sensitive column even as one "
        r"group\. Merge it with another one\.$"
    )
    with pytest.raises(ValueError, match=message):
        MicroAggregator(4, privacy=TCloseness(0.1)).fit(X, sensitive=AGES, strata=AGES < 40)


# Errors


SMALL_STRATUM = (
    r"^strata: \d+ of \d+ records are in strata of fewer than k=4 records, (first )?at positions .*"
    r"\. Merge smaller strata with others\.$"
)


@cache
def fitted_once():
    return MicroAggregator(4, refiner=None).fit(in_units(n=40))


def assert_fails(aggregator, X, error, message, **given):
    """Fitting raises, by any method, and leaves nothing behind, or what was there before."""
    for fit in (aggregator.fit, aggregator.fit_transform, aggregator.fit_predict):
        with pytest.raises(error, match=message):
            fit(X, **given)
    assert not [name for name in vars(aggregator) if name.endswith("_") or name.startswith("_")]
    fitted = copy(fitted_once())
    before = dict(vars(fitted))
    fitted.set_params(**aggregator.get_params(deep=False))
    with pytest.raises(error, match=message):
        fitted.fit(X, **given)
    parameters = {name: getattr(fitted, name) for name in fitted.get_params(deep=False)}
    after = {name: value for name, value in vars(fitted).items() if name not in parameters}
    assert after.keys() == before.keys() - parameters.keys()
    assert all(after[name] is before[name] for name in after)


class Unlucky(Constraint):
    def __init__(self, column=None):
        self.column = column

    def measure(self, values, table):
        if len(values) < 400:
            raise OSError("no luck")
        return 1.0

    def accepts(self, figure):
        return figure >= 1


FEW = np.array(["north"] * 398 + ["west"] * 2)
ANN = np.array(["Ann"] * 398 + ["Bob"] * 2)


@pytest.mark.slow
@in_one_case(
    ("privacy", "given", "message"),
    [
        (
            None,
            {"strata": FEW},
            SMALL_STRATUM,
        ),
        (
            None,
            {"strata": pd.DataFrame({"a": FEW, "b": 1})},
            SMALL_STRATUM,
        ),
        (None, {"strata": [None] * 3 + ["a"] * 397}, SMALL_STRATUM),
        (
            None,
            {"strata": REGIONS, "unit": np.r_[np.arange(300), np.arange(100) % 3]},
            r"^strata: a stratum violates k=4 different units \(unit column\) even as one group\.",
        ),
        (
            LDiversity(2),
            {"strata": REGIONS, "sensitive": REGIONS == "west"},
            r"^strata: a stratum violates LDiversity\(l=2\) of the sensitive column even as one "
            r"group\.",
        ),
        (None, {"strata": REGIONS[:9]}, r"^strata has 9 records: it must have those of X, 400\.$"),
        (None, {"unit": ANN}, r"^unit column: 2 different units, k=4 needs at least 4\.$"),
        (None, {"unit": ANN[:9]}, r"^unit has 9 records: it must have those of X, 400\.$"),
        (
            LDiversity(3),
            {"sensitive": ANN},
            r"^l=3 must be at most the number of different values in the sensitive column, 2\.$",
        ),
        (
            LDiversity(3, "entropy"),
            {"sensitive": ANN},
            r"^l=3 must be at most the exponential of the entropy of the sensitive column, 1\.03",
        ),
        (TCloseness(0.2), {"sensitive": AGES[:9]}, r"^sensitive has 9 records: "),
        (TCloseness(0.2), {}, r"^privacy=TCloseness\(\) needs sensitive values: pass sensitive="),
        (TCloseness(2), {"sensitive": AGES}, r"^t=2 must be a number at least 0 and at most 1\.$"),
        (
            TCloseness(0.2, column="age"),
            {"sensitive": pd.DataFrame({"Age": AGES})},
            r"^column='age' is not a column of sensitive: it must be 'Age'\.$",
        ),
    ],
)
def test_what_cannot_be_satisfied_is_an_error(X, privacy, given, message):
    assert_fails(MicroAggregator(4, privacy=privacy), X, ValueError, message, **given)


def test_other_errors_leave_nothing_behind_either(X):
    assert_fails(MicroAggregator(4, privacy="t"), X, TypeError, "^privacy='t' must be a Constraint")
    assert_fails(MicroAggregator(4, privacy=Unlucky()), X, OSError, "no luck", sensitive=AGES)


@pytest.mark.slow
@in_one_case(
    ("fitted", "given", "message"),
    [
        (REGIONS, None, r"^strata was not given"),
        (None, ["west"] * 3, r"^strata was given"),
        (
            REGIONS,
            ["east", "west", None],
            r"^strata: .* fit did not have, .*at position",
        ),
        (REGIONS, ["west"], r"^strata has 1 records"),
    ],
)
def test_transform_needs_the_strata_of_fit(X, fitted, given, message):
    aggregator = MicroAggregator(4).fit(X, strata=fitted)
    for method in (aggregator.transform, aggregator.score):
        with pytest.raises(ValueError, match=message):
            method(X[:3], strata=given)


# Warnings


def test_a_single_group_gets_a_warning(X):
    aggregator = MicroAggregator(4, privacy=TCloseness(0.0))
    # A prime number of records, all different: nothing smaller has the same distribution.
    with pytest.warns(UserWarning, match=r"^All records are in one group"):
        aggregator.fit(X[:397], sensitive=np.arange(397))
    assert aggregator.n_groups_ == 1
    assert aggregator.information_loss_ == pytest.approx(1)


def test_a_stratum_that_is_a_single_group_gets_a_warning(X):
    is_ill = np.arange(400) == 399
    strata = np.arange(400) >= 350
    with pytest.warns(UserWarning, match=r"^All records of a stratum are in one group"):
        aggregator = MicroAggregator(4, privacy=LDiversity(2)).fit(
            X, sensitive=np.where(strata, is_ill, AGES > 50), strata=strata
        )
    assert aggregator.group_sizes_[-1] == 50


def test_no_warning_if_k_alone_makes_a_single_group(X):
    aggregator = MicroAggregator(4, privacy=LDiversity(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert aggregator.fit(X[:7], sensitive=[0, 1] * 3 + [0]).n_groups_ == 1
        assert MicroAggregator(4).fit(X[:7], strata=["a"] * 7).n_groups_ == 1


@pytest.mark.slow
def test_transform_of_the_training_data_gets_a_warning_under_constraints(X):
    aggregator = MicroAggregator(4, privacy=TCloseness(0.1)).fit(X, sensitive=AGES)
    assert not aggregator.exact_transform_
    with pytest.warns(UserWarning, match=r"^transform was given the training data"):
        aggregator.transform(X)


def test_microaggregate_warns_of_a_single_group(X):
    with pytest.warns(UserWarning, match=r"^All records are in one group"):
        labels = microaggregate(X[:397], 4, privacy=TCloseness(0.0), sensitive=np.arange(397))
    assert labels.max() == 0
