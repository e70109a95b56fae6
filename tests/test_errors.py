import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from marks import in_one_case
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.preprocessing import FunctionTransformer, RobustScaler
from sklearn.utils.validation import check_is_fitted

from sk_microagg import (
    KAIM,
    MicroAggregator,
    TableAggregator,
    TargetScaler,
    TrainOnRelease,
    metrics,
    microaggregate,
)
from sk_microagg._aggregation import Aggregation
from sk_microagg.builders import CBFS, DBFS, GSMS, MDAV, TFRP
from sk_microagg.generalization import KMember
from sk_microagg.privacy import LDiversity
from sk_microagg.refiners import Annealing, Exchange, IteratedLocalSearch, Recombination

BUILDERS = [MDAV(), CBFS(), TFRP(), GSMS(), DBFS()]
BUILDER_NAMES = (
    "'mdav', 'cbfs', 'tfrp', 'gsms', 'dbfs', 'path_optimal', 'optimal_1d', 'k_anonymity_first', "
    "'t_closeness_first'"
)
NO_BUILDER = f"^builder={{}} must be one of {BUILDER_NAMES} or an object with the method 'build'"
REFINER_NAMES = (
    "'auto', 'decompose', 'decompose_shrink', 'local_search', 'iterated_local_search', "
    "'annealing', 'recombination', 'exchange'"
)
NO_REFINER = (
    f"^refiner={{}} must be None, one of {REFINER_NAMES}, a list or an object with the method "
    "'refine'"
)
NO_SCALER = "^scaler={} must be 'standard', 'target', None or an object with the method"
TEXT = "^Column {} of X: .* no numbers?, .*position.* TableAggregator and KAIM take tables"


@pytest.fixture(name="X")
def records():
    return np.random.default_rng(0).normal(size=(20, 3))


def with_value(value):
    X = np.random.default_rng(1).normal(size=(20, 3))
    X[13, 1] = value
    return X


def with_text(value):
    X = with_value(0.0).astype(object)
    X[13, 1] = value
    return X


def assert_fit_fails(estimator, X, error, message):
    """Fitting raises, by any method, and leaves nothing behind."""
    for fit in (estimator.fit, estimator.fit_transform, estimator.fit_predict):
        with pytest.raises(error, match=message):
            fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    assert not [name for name in vars(estimator) if name.endswith("_") or name.startswith("_")]


def assert_all_fail(X, k, error, message):
    """The estimator, the function and every builder refuse the same."""
    assert_fit_fails(MicroAggregator(k=k), X, error, message)
    assert_fit_fails(MicroAggregator(k=k, scaler=None), X, error, message)
    assert_others_fail(X, k, error, message)


def assert_others_fail(X, k, error, message):
    """The function and every builder, which take numbers only, refuse the same."""
    with pytest.raises(error, match=message):
        microaggregate(X, k)
    for builder in BUILDERS:
        with pytest.raises(error, match=message):
            builder.build(X, k)


# Complete messages, as examples of style: what is wrong, and what is allowed. Elsewhere, tests look
# for the parameter and its value only.
@in_one_case(
    ("k", "error", "message"),
    [
        (0, ValueError, r"^k=0 must be at least 1\.$"),
        (-1, ValueError, r"^k=-1 must be at least 1\.$"),
        (21, ValueError, r"^k=21 must be at most the number of records, n_samples=20\.$"),
        (2.5, TypeError, r"^k=2\.5 must be an integer, got float\.$"),
        (5.0, TypeError, r"^k=5\.0 must be an integer, got float\.$"),
        (True, TypeError, r"^k=True must be an integer, got bool\.$"),
        (np.True_, TypeError, r"^k=np\.True_ must be an integer, got bool"),
        ("5", TypeError, r"^k='5' must be an integer, got str\.$"),
        (None, TypeError, r"^k=None must be an integer, got NoneType\.$"),
        ([5], TypeError, r"^k=\[5\] must be an integer, got list\.$"),
    ],
)
def test_bad_k(X, k, error, message):
    assert_all_fail(X, k, error, message)


@in_one_case(
    ("X", "error", "message"),
    [
        (with_value(np.inf), ValueError, "X: 1 of 20 cells is infinite or too large"),
        (with_value(-np.inf), ValueError, "X: 1 of 20 cells is infinite or too large"),
        ([["1.5", "Bonn"]] * 20, ValueError, TEXT.format(1)),
        (np.full((20, 2), "x", dtype=object), ValueError, TEXT.format(0)),
        (pl.DataFrame({"city": ["Ulm", None] * 10}), ValueError, TEXT.format("'city'")),
        ("text", ValueError, "^X holds text or infinite values, but must hold numbers"),
        ({"a": [1] * 20}, TypeError, r"^X of type dict\b"),
        (pd.DataFrame(np.eye(20)[:, :2], columns=["a", "a"]), ValueError, "^X has several columns"),
        (np.arange(20.0), ValueError, "two dimensions, rows and columns"),
        (np.zeros((20, 2, 2)), ValueError, "dim 3"),
        (np.empty((0, 2)), ValueError, r"0 sample\(s\)"),
        (np.empty((20, 0)), ValueError, r"0 feature\(s\)"),
        (np.ones((20, 2)) * 1j, ValueError, "Complex data not supported"),
        (csr_array(np.eye(20)), TypeError, "Sparse data was passed for X, but dense"),
    ],
)
def test_bad_records(X, error, message):
    assert_all_fail(X, 2, error, message)


def masked(n_hidden):
    X = np.ma.array(with_value(1000.0))
    X[13 : 13 + n_hidden, 1] = np.ma.masked
    return X


def test_missing_values_where_only_numbers_can_be_compared(X):
    hidden = with_value(np.nan)
    message = "^Input {} contains NaN: .* MicroAggregator, TableAggregator and KAIM take tables"
    assert_others_fail(hidden, 2, ValueError, message.format("X"))
    with pytest.raises(ValueError, match=message.format("X")):
        metrics.information_loss(hidden, np.repeat([0, 1], 10))
    with pytest.raises(ValueError, match=message.format("release")):
        metrics.correlation_change(X, hidden)


@in_one_case("make", [lambda X: X, list])
def test_masked_values_are_missing(X, make):
    hidden = make(masked(1))
    message = "^Input X contains masked values: they count as missing, as NaN does"
    assert_others_fail(hidden, 5, ValueError, message)
    labels = np.repeat([0, 1], 10)
    with pytest.raises(ValueError, match=message):
        metrics.information_loss(hidden, labels)
    with pytest.raises(ValueError, match=message):
        Exchange().refine(hidden, labels, 5)
    with pytest.raises(ValueError, match=r"^Input release contains masked values"):
        metrics.correlation_change(X, hidden)
    aggregator, same = MicroAggregator(), MicroAggregator()
    with_nan = masked(1).filled(np.nan)
    assert_array_equal(aggregator.fit_transform(hidden), same.fit_transform(with_nan))
    assert_array_equal(aggregator.transform(hidden), same.transform(with_nan))
    assert aggregator.score(hidden) == same.score(with_nan)
    release = KAIM(k=5, random_state=0).fit_transform(hidden)
    assert release[13, 1] == "*"
    assert not any("1000" in cell for cell in release.ravel())


@in_one_case("seed", range(5))
def test_no_more_than_all_is_lost(seed):
    X = np.random.default_rng(seed).normal(size=(5, 3))
    assert MicroAggregator(k=5).fit(X).information_loss_ <= 1.0


def test_nothing_is_masked_in_a_masked_array():
    X = masked(0)
    assert_array_equal(MicroAggregator().fit_transform(X), MicroAggregator().fit_transform(X.data))


def dates():
    frame = pd.DataFrame({"age": np.arange(20.0), "born": pd.date_range("2020", periods=20)})
    return {
        "pandas": frame,
        "dates alone": frame[["born"]],
        "times of the day": frame.assign(born=frame["born"].dt.time),
        "durations": frame.assign(born=frame["born"].diff()),
        "with a time zone": frame.assign(born=frame["born"].dt.tz_localize("UTC")),
        "objects": frame.assign(born=frame["born"].dt.date),
        "periods": frame.assign(born=frame["born"].dt.to_period("M")),
        "polars": pl.from_pandas(frame),
        "polars alone": pl.from_pandas(frame[["born"]]),
        "Arrow": pa.Table.from_pandas(frame),
        "Arrow alone": pa.Table.from_pandas(frame[["born"]]),
    }


@pytest.mark.slow
@in_one_case("kind", dates())
def test_dates(kind):
    frame = dates()[kind]
    message = r"^Column 'born' of X holds dates or times: .* TableAggregator takes tables with"
    assert_all_fail(frame, 5, TypeError, message)
    aggregator = MicroAggregator().fit(np.random.default_rng(0).normal(size=(20, frame.shape[1])))
    fit = TargetScaler().fit
    for method in (aggregator.transform, aggregator.score, lambda X: fit(X, np.arange(20))):
        with pytest.raises(TypeError, match=message):
            method(frame)


def test_dates_in_an_array_or_a_list():
    moments = dates()["dates alone"].to_numpy()
    rows = [[moment, 1.5] for (moment,) in moments]
    days = [(moment.item(), 1.5) for (moment,) in moments.astype("datetime64[D]")]
    for table in (moments, moments.astype("datetime64[D]").tolist(), rows, tuple(days)):
        with pytest.raises(TypeError, match=r"^Column 0 of X holds dates or times"):
            MicroAggregator().fit(table)


@pytest.mark.slow
@in_one_case("kind", dates())
def test_generalized_dates(kind):
    kaim = KAIM(refiner=None, random_state=0)
    if kind in ("times of the day", "durations"):
        with pytest.raises(TypeError, match=r"^Column 'born' of X holds times of day or durations"):
            kaim.fit(dates()[kind])
        return
    release = kaim.fit_transform(dates()[kind])
    assert "e+" not in "".join(release.ravel())
    assert metrics.anonymity_level(release) >= 5


@in_one_case("column", [pd.Series(np.arange(20.0)), dates()["pandas"]["born"]])
def test_a_column_is_no_table(column):
    message = "^Expected a 2-dimensional container but got"
    assert_all_fail(column, 5, ValueError, message)
    with pytest.raises(ValueError, match=message):
        MicroAggregator().fit(np.arange(20.0)[:, None]).transform(column)
    with pytest.raises(ValueError, match=message):
        metrics.anonymity_level(column)


@in_one_case("as_array", [np.asarray, list])
@in_one_case(
    "fail",
    [
        lambda values: MicroAggregator().fit(values),
        lambda values: MicroAggregator().fit(np.eye(20)).transform(values),
        lambda values: TableAggregator().fit(values),
        lambda values: TableAggregator().fit(np.eye(20)).transform(values),
        lambda values: TrainOnRelease(Ridge()).fit(np.eye(20), range(20)).predict(values),
        lambda values: TargetScaler().fit(values, range(20)),
        lambda values: KAIM().fit(values),
        lambda values: metrics.anonymity_level(values),
    ],
)
def test_messages_quote_no_records(fail, as_array):
    values = 1234.5 + np.arange(20.0)
    with pytest.raises(ValueError, match=r"must have two dimensions, rows and columns") as raised:
        fail(as_array(values))
    report = "".join(traceback.format_exception(raised.value))
    assert not any(str(value) in report for value in values)


every_huge_value = in_one_case("value", [1e160, -1e200, 1.7e308])


@every_huge_value
def test_values_whose_squares_overflow(value):
    X = with_value(value)
    message = "X: .* infinite or too large, .*at position.* must be finite and at most .* overflow"
    assert_fit_fails(MicroAggregator(scaler=None), X, ValueError, message)
    with pytest.raises(ValueError, match=message):
        microaggregate(X, 5)
    for builder in BUILDERS:
        with pytest.raises(ValueError, match=message):
            builder.build(X, 5)


@every_huge_value
def test_values_whose_squares_overflow_in_the_scaler(value):
    # Warnings are errors here, so this also says that none comes before the message.
    message = "X.*: .* infinite or too large, .*at position.* overflow"
    assert_fit_fails(MicroAggregator(), with_value(value), ValueError, message)


@in_one_case(
    ("value", "message"),
    [(np.nan, "contains NaN"), (np.inf, "infinite or too large"), (1e200, "infinite or too large")],
)
def test_scaler_whose_result_cannot_be_compared(X, value, message):
    scaler = FunctionTransformer(lambda X: X + value)
    message = f"X scaled by FunctionTransformer.*{message}"
    assert_fit_fails(MicroAggregator(scaler=scaler), X, ValueError, message)


def test_scaler_that_loses_values_of_records_without_missing_ones():
    scaler = FunctionTransformer(lambda X: np.where(X < -1, np.nan, X))
    message = "FunctionTransformer.* returned NaN for a record without missing values: it must"
    assert_fit_fails(MicroAggregator(scaler=scaler), with_value(np.nan), ValueError, message)


class Nothing:
    def __repr__(self):
        return f"{type(self).__name__}()"


class OnlyTransforms(Nothing):
    def transform(self, X):
        return X


@in_one_case(
    ("parameters", "error", "message"),
    [
        ({"builder": "mdv"}, ValueError, rf"^builder='mdv' must be one of {BUILDER_NAMES}\.$"),
        ({"builder": "MDAV"}, ValueError, rf"^builder='MDAV' must be one of {BUILDER_NAMES}\.$"),
        ({"builder": None}, TypeError, NO_BUILDER.format("None")),
        ({"builder": 7}, TypeError, NO_BUILDER.format("7")),
        ({"builder": Nothing()}, TypeError, NO_BUILDER.format(r"Nothing\(\)")),
        ({"builder": MDAV}, TypeError, NO_BUILDER.format("<class .*MDAV'>")),
        (
            {"refiner": "none"},
            ValueError,
            rf"^refiner=.none. must be one of {REFINER_NAMES}, None\.$",
        ),
        ({"refiner": ["none"]}, ValueError, f"^refiner='none' must be one of {REFINER_NAMES}"),
        (
            {"refiner": ["exchange", None]},
            TypeError,
            r"^refiner=\['exchange', None\] must hold names and refiners only: None stands for no",
        ),
        ({"refiner": []}, TypeError, NO_REFINER.format(r"\[\]")),
        ({"refiner": Nothing()}, TypeError, NO_REFINER.format(r"Nothing\(\)")),
        ({"refiner": MDAV()}, TypeError, NO_REFINER.format(r"MDAV\(\)")),
        ({"builder": MDAV(growth="n")}, ValueError, r"^growth='n' must be one of 'nn', 'nc'\.$"),
        ({"builder": CBFS(growth=None)}, ValueError, r"^growth=None must be one of 'nn', 'nc'\.$"),
        ({"builder": TFRP(growth=2)}, ValueError, r"^growth=2 must be one of 'nn', 'nc'\.$"),
        ({"builder": DBFS(growth="NC")}, ValueError, r"^growth='NC' must be one of 'nn', 'nc'\.$"),
        ({"builder": MDAV(ending="")}, ValueError, "^ending='' must be one of 'fixed', 'classic'"),
        ({"builder": TFRP(reference=0)}, ValueError, "^reference=0 must .* 'attribute', 'global'"),
    ],
)
def test_bad_builder_or_refiner(X, parameters, error, message):
    assert_fit_fails(MicroAggregator(**parameters), X, error, message)
    with pytest.raises(error, match=message):
        microaggregate(X, 5, **parameters)


@in_one_case(
    "builder",
    [MDAV(growth="n"), MDAV(ending="n"), CBFS(growth="n"), TFRP(reference="n"), DBFS("n")],
)
def test_bad_parameter_of_a_builder_on_its_own(X, builder):
    with pytest.raises(ValueError, match="='n'"):
        builder.build(X, 5)


@in_one_case(
    ("scaler", "error", "message"),
    [
        ("robust", ValueError, "^scaler='robust'"),
        (Nothing(), TypeError, NO_SCALER.format(r"Nothing\(\)")),
        (OnlyTransforms(), TypeError, NO_SCALER.format(r"OnlyTransforms\(\)")),
        (RobustScaler, TypeError, NO_SCALER.format("<class .*RobustScaler'>")),
        (False, TypeError, NO_SCALER.format("False")),
    ],
)
def test_bad_scaler(X, scaler, error, message):
    assert_fit_fails(MicroAggregator(scaler=scaler), X, error, message)


JOBS_AND_VERBOSITIES = [
    ({"n_jobs": 0}, ValueError, r"^n_jobs=0 must be None or an integer other than 0\.$"),
    ({"n_jobs": "2"}, TypeError, "^n_jobs='2' must be None or an integer other than 0, got str"),
    ({"n_jobs": 2.0}, TypeError, "^n_jobs=2.0 must be None or an integer other than 0, got float"),
    ({"n_jobs": True}, TypeError, "^n_jobs=True must be None or an integer .*, got bool"),
    ({"verbose": "x"}, TypeError, "^verbose='x' must be True, False or an integer of at least 0"),
    ({"verbose": None}, TypeError, "^verbose=None must be True, False or an integer .*, got None"),
    ({"verbose": -1}, ValueError, "^verbose=-1 must be True, False or an integer of at least 0"),
]


@in_one_case(("parameters", "error", "message"), JOBS_AND_VERBOSITIES)
def test_bad_jobs_and_verbosities(X, parameters, error, message):
    assert_fit_fails(MicroAggregator(**parameters), X, error, message)
    for search in (IteratedLocalSearch, Annealing, Recombination):
        refiner = search(**parameters)
        with pytest.raises(error, match=message):
            refiner.refine(X, np.repeat([0, 1], 10), 5)
        if parameters != {"verbose": None}:  # which MicroAggregator replaces by its own
            assert_fit_fails(MicroAggregator(refiner=refiner), X, error, message)
    with pytest.raises(error, match=message):
        metrics.loss_bound(X, 5, time_limit=0.01, **parameters)


@in_one_case(
    "measure",
    [
        lambda X, **jobs: metrics.optimality_gap(X, np.zeros(20, int), 20, **jobs),
        lambda X, **jobs: metrics.propensity_mse(X, X, **jobs),
        lambda X, **jobs: metrics.record_linkage(X, X, **jobs),
        lambda X, **jobs: metrics.risk_utility(X, [], **jobs),
        lambda X, **jobs: MicroAggregator().fit(X).set_params(**jobs).transform(X),
    ],
)
def test_bad_jobs_of_others(X, measure):
    with pytest.raises(ValueError, match=r"^n_jobs=0\b"):
        measure(X, n_jobs=0)


@in_one_case("parameters", [{"n_jobs": np.int64(-1)}, {"verbose": True}])
def test_good_jobs_and_verbosities(X, parameters):
    labels = MicroAggregator(**parameters).fit_predict(X)
    assert np.array_equal(labels, MicroAggregator().fit_predict(X))


def test_column_names_of_mixed_types(X):
    frame = pd.DataFrame(X, columns=["age", 1, 2])
    assert_fit_fails(MicroAggregator(), frame, TypeError, "all names must be str")


# What a builder or a refiner of one's own may return


class Returns:
    def __init__(self, labels):
        self.labels = labels

    def __repr__(self):
        return "Returns()"

    def build(self, X, k):
        return self.labels

    def refine(self, X, labels, k, random_state=None):
        return self.labels


@in_one_case("part", ["builder", "refiner"])
@in_one_case(
    ("labels", "message"),
    [
        (np.repeat([0, 1], [16, 4]), r"a group of 4 records: .*k=5\b"),
        (np.arange(20), r"a group of 1 records: .*k=5\b"),
        (np.zeros(19, dtype=int), r"shape \(19,\) and type int64\b"),
        (np.zeros((20, 1), dtype=int), r"shape \(20, 1\) and type int64\b"),
        (np.zeros(20), r"shape \(20,\) and type float64\b"),
        (np.full(20, "a"), r"shape \(20,\) and type <U1\b"),
        (None, r"shape \(\) and type object\b"),
    ],
)
def test_labels_that_are_no_k_partition(X, part, labels, message):
    message = rf"^{part}=Returns\(\) returned .*{message}"
    parameters = {part: Returns(labels)}
    assert_fit_fails(MicroAggregator(k=5, **parameters), X, ValueError, message)
    with pytest.raises(ValueError, match=message):
        microaggregate(X, 5, **parameters)


# After the fit


@in_one_case("method", ["transform", "score"])
def test_unfitted(X, method):
    with pytest.raises(NotFittedError, match="MicroAggregator instance is not fitted yet"):
        getattr(MicroAggregator(), method)(X)


@pytest.mark.slow
@in_one_case("method", ["transform", "score"])
@in_one_case(
    ("new", "error", "message"),
    [
        (np.ones((4, 2)), ValueError, "X has 2 features, but MicroAggregator is expecting 3"),
        (np.ones((4, 5)), ValueError, "X has 5 features, but MicroAggregator is expecting 3"),
        (with_value(np.inf), ValueError, "X: 1 of 20 cells is infinite or too large"),
        (with_text("Bonn"), ValueError, TEXT.format(1)),
        (np.ones(3), ValueError, "two dimensions, rows and columns"),
        (csr_array(np.eye(3)), TypeError, "Sparse data was passed for X"),
        (with_value(1e200), ValueError, "X.*: .* infinite or too large"),
    ],
)
def test_bad_new_records(X, method, new, error, message):
    aggregator = MicroAggregator().fit(X)
    with pytest.raises(error, match=message):
        getattr(aggregator, method)(new)


def test_columns_of_other_names(X):
    aggregator = MicroAggregator().fit(pd.DataFrame(X, columns=["age", "income", "share"]))
    with pytest.raises(ValueError, match="feature names should match"):
        aggregator.transform(pd.DataFrame(X, columns=["age", "share", "income"]))


def state(aggregator):
    parameters = aggregator.get_params()
    return {name: v for name, v in vars(aggregator).items() if name not in parameters}


@in_one_case(
    ("parameters", "second"),
    [
        ({}, pd.DataFrame(np.full((30, 2), np.inf), columns=["x", "y"])),
        ({"k": 31}, pd.DataFrame(np.ones((30, 2)), columns=["x", "y"])),
        ({}, pd.DataFrame(np.ones((30, 2)), columns=["x", 1])),
        ({"builder": "none"}, np.ones((30, 2))),
        ({"builder": MDAV(growth="none")}, np.ones((30, 2))),
        ({"refiner": Returns(np.arange(30))}, np.ones((30, 2))),
        ({"scaler": FunctionTransformer(lambda X: X + np.inf)}, np.ones((30, 2))),
    ],
)
def test_a_fit_that_fails_leaves_the_last_one_whole(X, parameters, second):
    frame = pd.DataFrame(X, columns=["age", "income", "share"])
    aggregator = MicroAggregator().fit(frame)
    moved = aggregator.transform(frame + 1)
    fitted = state(aggregator)
    aggregator.set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match=r"must|contains|names are only supported"):
        aggregator.fit(second)
    after = state(aggregator)
    assert after.keys() == fitted.keys()
    assert all(after[name] is fitted[name] for name in fitted)
    assert aggregator.n_features_in_ == 3
    assert_array_equal(aggregator.transform(frame + 1), moved)


@in_one_case("estimator", [MicroAggregator(1), TableAggregator(1), KAIM(1), KMember(1)])
def test_k_of_1_anonymizes_nothing(X, estimator):
    message = "^k=1: nothing is anonymized, .* k must be at least 2 to protect anybody"
    with pytest.warns(UserWarning, match=message) as warned:
        estimator.fit_transform(X)
    assert [warning.filename for warning in warned] == [__file__]


def test_k_of_1_with_a_constraint_is_no_reason_to_warn(X):
    aggregator = MicroAggregator(1, privacy=LDiversity(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aggregator.fit(X, sensitive=np.arange(20) % 2)
    assert aggregator.group_sizes_.min() >= 2


@pytest.mark.slow
@in_one_case("seed", ["x", 2.5, -1, 2**40, [1], np.random.default_rng(0)])
@in_one_case(
    "fit",
    [
        lambda X, seed: MicroAggregator(5, refiner=None, random_state=seed).fit(X),
        lambda X, seed: TableAggregator(5, random_state=seed).fit(X),
        lambda X, seed: KAIM(5, random_state=seed).fit(X),
        lambda X, seed: KMember(5, random_state=seed).fit(X),
        lambda X, seed: microaggregate(X, 5, random_state=seed),
        lambda X, seed: metrics.propensity_mse(X, X, random_state=seed),
    ],
)
def test_bad_seeds(X, fit, seed):
    with pytest.raises(ValueError, match=r"^random_state="):
        fit(X, seed)


@in_one_case(
    ("estimator", "error", "message"),
    [
        (MicroAggregator(stitch=np.ones(2)), ValueError, "^stitch=array.*"),
        (TableAggregator(categories=[]), ValueError, r"^categories=\[\]"),
        (
            TableAggregator(decimals=10**30),
            ValueError,
            "^decimals=1.*",
        ),
        (
            TableAggregator(ordinal={0: 1}),
            TypeError,
            r"^ordinal\[0\]=1 must be a list of all values",
        ),
        (TableAggregator(ordinal={0: "ab"}), TypeError, "must be a list of all values, lowest fir"),
        (KAIM(c=np.ones(2)), TypeError, "^c=array.*"),
        (MicroAggregator(refiner=Exchange(10**30)), ValueError, "^max_iter=1.*"),
        (TrainOnRelease("x"), TypeError, "^estimator='x'"),
        (TrainOnRelease(MDAV(), []), TypeError, "^estimator=MDAV.*"),
        (TrainOnRelease(Ridge(), {}), TypeError, "^anonymizer={}"),
        (TargetScaler([]), TypeError, r"^estimator=\[\]"),
        (IteratedLocalSearch(acceptance=[]), TypeError, r"^acceptance=\[\]"),
    ],
)
def test_parameters_of_odd_types(X, estimator, error, message):
    if not hasattr(estimator, "fit"):
        estimator = MicroAggregator(refiner=estimator)
    with pytest.raises(error, match=message):
        estimator.fit(X, np.arange(20.0))


def test_a_constraint_on_a_column_of_an_odd_type(X):
    aggregator = MicroAggregator(privacy=LDiversity(2, column=np.ones(2)))
    with pytest.raises(
        TypeError, match=r"^column=array\(.* must be the name or number of a column"
    ):
        aggregator.fit(X, sensitive=np.arange(20) % 2)


@pytest.mark.parametrize("estimator", [MicroAggregator(3), TableAggregator(3), KAIM(3)])
def test_names_of_columns_are_checked_before_the_fit(estimator, monkeypatch):
    """They must be str, or none may be: scikit-learn says so only after all work is done."""

    def work(*args, **kwargs):
        raise AssertionError("it has begun")

    monkeypatch.setattr(Aggregation, "run", work)
    monkeypatch.setattr(KAIM, "_group", work)
    X = pd.DataFrame({1: range(9), "a": range(9)})
    with pytest.raises(TypeError, match="X has columns whose names are str and others"):
        estimator.fit(X)
