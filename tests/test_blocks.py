"""Blocks in MicroAggregator: the promises of one block hold in many, on any number of jobs."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from example_tables.numbers import TABLES, in_units
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_allclose, assert_array_equal
from oracles.blocks import Blocks, nearest_in_block
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sk_microagg import MicroAggregator, microaggregate
from sk_microagg.metrics import anonymity_level, information_loss, sse
from sk_microagg.refiners import Exchange, IteratedLocalSearch

TRAINING_DATA = "transform was given the training data"

# Any number of steps of annealing ends with the same exchange, which makes transform exact.
pytestmark = pytest.mark.usefixtures("few_steps")
SEARCH = IteratedLocalSearch(max_iter=20)
# Annealing takes longer, and is exact by the same exchange: where no search is looked at.
QUICK = {"refiner": "exchange"}
every_builder = pytest.mark.parametrize(
    "builder", ["mdav", "cbfs", "tfrp", "gsms", "dbfs", "path_optimal"]
)


def assert_exact_release(aggregator, X):
    """The release is k-anonymous, and transform gives it again, to anybody and in any order."""
    release = aggregator.fit_transform(X)
    assert anonymity_level(release) >= aggregator.k
    assert aggregator.exact_transform_
    # Warnings are errors here, so this also says that there is none.
    assert_array_equal(aggregator.transform(X), release)
    loaded = pickle.loads(pickle.dumps(aggregator))
    order = np.random.default_rng(0).permutation(len(X))
    assert_array_equal(loaded.transform(X[order]), release[order])
    batches = [loaded.transform(X[start : start + 37]) for start in range(0, len(X), 37)]
    assert_array_equal(np.vstack(batches), release)


def sizes_of_blocks(aggregator):
    """Number of training records in each block."""
    return np.add.reduceat(aggregator.group_sizes_, aggregator._cells.starts[:-1])


# The release


@pytest.mark.slow
@every_builder
@pytest.mark.parametrize(("k", "block_size"), [(5, 1), (2, 50), (5, 390)])
def test_transform_of_the_training_data_is_the_release(X, builder, k, block_size):
    refiner = "auto" if builder == "mdav" else "exchange"
    aggregator = MicroAggregator(k=k, builder=builder, refiner=refiner, block_size=block_size)
    assert_exact_release(aggregator, X)
    assert aggregator.n_blocks_ > 1
    assert aggregator.group_sizes_.min() >= k


@in_one_case("refiner", [SEARCH, ["local_search", "exchange"]])
def test_other_refiners_are_as_exact_as_in_one_block(X, refiner):
    assert_exact_release(MicroAggregator(3, refiner=refiner, block_size=90, random_state=0), X)


@pytest.mark.slow
@in_one_case("d", [1, 2, 4])
def test_any_number_of_columns(d):
    assert_exact_release(MicroAggregator(k=3, block_size=30, **QUICK), in_units(d=d))


@pytest.mark.slow
def test_no_scaler():
    X = np.random.default_rng(0).standard_t(2, size=(400, 3))
    assert_exact_release(MicroAggregator(k=3, scaler=None, block_size=60, **QUICK), X)


@pytest.mark.slow
def test_labels_and_sizes_agree(X):
    aggregator = MicroAggregator(k=3, block_size=40, **QUICK).fit(X)
    groups, sizes = np.unique(aggregator.labels_, return_counts=True)
    assert_array_equal(groups, np.arange(aggregator.n_groups_))
    assert_array_equal(aggregator.group_sizes_, sizes)
    assert aggregator.weights_.shape == (aggregator.n_groups_,)
    assert_array_equal(clone(aggregator).fit_predict(X), aggregator.labels_)


@pytest.mark.slow
@in_one_case("stitch", [False, True])
def test_centroids_are_the_means_of_the_groups(X, stitch):
    aggregator = MicroAggregator(k=3, block_size=40, stitch=stitch, **QUICK)
    release = aggregator.fit_transform(X)
    means = pd.DataFrame(X).groupby(aggregator.labels_).mean()
    assert_allclose(aggregator.centroids_, means, rtol=1e-12)
    assert_array_equal(release, aggregator.centroids_[aggregator.labels_])


@in_one_case("stitch", [False, True])
@in_one_case("refiner", [None, "exchange"])
def test_losses_are_those_of_the_standardized_records(X, stitch, refiner):
    aggregator = MicroAggregator(k=3, block_size=40, stitch=stitch, refiner=refiner).fit(X)
    scaled = StandardScaler().fit_transform(X)
    assert_allclose(aggregator.sse_, sse(scaled, aggregator.labels_), rtol=1e-12)
    loss = information_loss(scaled, aggregator.labels_)
    assert_allclose(aggregator.information_loss_, loss, rtol=1e-12)
    if aggregator.exact_transform_:
        assert_allclose(aggregator.score(X), -loss, rtol=1e-12)


def test_each_block_is_microaggregated_on_its_own(X):
    aggregator = MicroAggregator(k=3, refiner="exchange", block_size=90).fit(X)
    scaled = StandardScaler().fit_transform(X)
    n_groups = 0
    for rows in Blocks(scaled, 90, 6, 3).rows:
        labels = microaggregate(scaled[rows], 3, refiner="exchange")
        assert_array_equal(aggregator.labels_[rows], labels + n_groups)
        n_groups += labels.max() + 1
    assert aggregator.n_groups_ == n_groups


def test_iterations_are_those_of_all_blocks(X):
    aggregator = MicroAggregator(k=3, block_size=90, refiner=SEARCH).fit(X)
    assert aggregator.n_iter_ == 20 * aggregator.n_blocks_


@pytest.mark.slow
@in_one_case("dtype", [np.float32, np.float64])
def test_float_type_is_kept(X, new, dtype):
    aggregator = MicroAggregator(k=3, block_size=40, **QUICK)
    assert_exact_release(aggregator, X.astype(dtype))
    assert aggregator.centroids_.dtype == dtype
    assert aggregator.transform(new).dtype == dtype
    assert aggregator.fit_transform(X.astype(dtype)).dtype == dtype


@pytest.mark.slow
def test_frames_keep_their_index_and_names(X):
    frame = pd.DataFrame(X, columns=["age", "income", "share"], index=np.arange(400) * 7 + 3)
    aggregator = MicroAggregator(k=3, block_size=40, **QUICK).set_output(transform="pandas")
    release = aggregator.fit_transform(frame)
    pd.testing.assert_index_equal(release.index, frame.index)
    pd.testing.assert_index_equal(release.columns, frame.columns)
    pd.testing.assert_frame_equal(aggregator.transform(frame), release)
    plain = MicroAggregator(k=3, block_size=40, **QUICK).fit_transform(X)
    assert_array_equal(release.to_numpy(), plain)


# How many blocks there are


@pytest.mark.slow
def test_auto_is_room_for_5000_groups():
    X = in_units(n=10_003, d=2)
    # Up to 2k - 2 more make no difference.
    assert MicroAggregator(k=2, refiner=None).fit(X[:10_002]).n_blocks_ == 1
    aggregator = MicroAggregator(k=2, **QUICK)
    assert_exact_release(aggregator, X)
    assert aggregator.n_blocks_ == 2


@in_one_case("n", [5, 7, 9, 19])
@in_one_case("block_size", [1, 6])
def test_fewer_than_4k_records_are_one_block(n, block_size):
    # 5 is k, and 9 is 2k - 1.
    aggregator = MicroAggregator(k=5, block_size=block_size)
    assert_exact_release(aggregator, in_units(n))
    assert aggregator.n_blocks_ == 1


@pytest.mark.slow
@in_one_case("k", [1, 2, 5])
@in_one_case("times", [6, 8, 31])
def test_every_block_has_2k_records(k, times):
    aggregator = MicroAggregator(k=k, block_size=1, **QUICK)
    assert_exact_release(aggregator, in_units(times * k))
    sizes = sizes_of_blocks(aggregator)
    assert len(sizes) == aggregator.n_blocks_ > 1
    assert sizes.min() >= 2 * k
    # A cut that is k - 1 records off the middle would leave enough of this many on both sides.
    assert sizes.max() < 6 * k - 2


@pytest.mark.slow
def test_no_block_is_larger_than_it_may_be(X):
    for block_size in (20, 100, 250):
        aggregator = MicroAggregator(k=5, block_size=block_size, **QUICK).fit(X)
        assert sizes_of_blocks(aggregator).max() <= block_size + 2 * 5 - 2
        assert sizes_of_blocks(aggregator).sum() == len(X)


def test_equal_records_are_one_block():
    X = np.full((60, 2), 0.1)
    aggregator = MicroAggregator(k=3, block_size=10)
    assert_array_equal(aggregator.fit_transform(X), X)
    assert aggregator.n_blocks_ == 1


def test_k_1_is_the_identity(X):
    aggregator = MicroAggregator(k=1, block_size=20)
    assert_array_equal(aggregator.fit_transform(X), X)
    assert_array_equal(aggregator.transform(X), X)


# New records


@pytest.mark.slow
@pytest.mark.parametrize("refiner", [None, "exchange", SEARCH])
@pytest.mark.parametrize("block_size", [1, 60, 400])
def test_new_records_go_to_the_cell_they_are_in_within_their_block(X, new, refiner, block_size):
    aggregator = MicroAggregator(k=3, refiner=refiner, block_size=block_size, random_state=0).fit(X)
    scaled = StandardScaler().fit(X)
    table, blocks = scaled.transform(X), Blocks(scaled.transform(X), block_size, 6, 3)
    assert aggregator.n_blocks_ == len(blocks.rows)
    groups = [
        nearest_in_block(table, aggregator.labels_, aggregator.weights_, blocks, record)
        for record in scaled.transform(new)
    ]
    assert_array_equal(aggregator.transform(new), aggregator.centroids_[groups])


@pytest.mark.slow
@in_one_case("stitch", [False, True])
def test_new_records_land_on_centroids_of_the_release(X, new, stitch):
    aggregator = MicroAggregator(k=3, block_size=40, stitch=stitch, **QUICK)
    release = aggregator.fit_transform(X)
    both = np.vstack([release, aggregator.transform(5 * new)])
    assert anonymity_level(both) >= 3
    assert len(np.unique(both, axis=0)) == aggregator.n_groups_


def test_new_records_do_not_depend_on_the_batch_or_on_threads(X):
    new = in_units(n=25_000, seed=2)  # each block has more than one thread looks up
    aggregator = MicroAggregator(k=3, block_size=200, **QUICK).fit(X)
    assert aggregator.n_blocks_ == 2
    moved = aggregator.set_params(n_jobs=2).transform(new)
    assert_array_equal(aggregator.set_params(n_jobs=1).transform(new), moved)
    batches = [aggregator.transform(part) for part in np.array_split(new, 3)]
    assert_array_equal(np.vstack(batches), moved)
    assert_array_equal(aggregator.transform(new[:1]), moved[:1])


def test_without_a_refiner_transform_is_not_exact_and_says_so(X, new):
    aggregator = MicroAggregator(k=3, refiner=None, block_size=90)
    release = aggregator.fit_transform(X)
    assert anonymity_level(release) >= 3
    assert not aggregator.exact_transform_
    with pytest.warns(UserWarning, match=TRAINING_DATA):
        assert not np.array_equal(aggregator.transform(X), release)
    aggregator.transform(new)


def test_weights_of_one_block_do_not_depend_on_another():
    # On the left groups that are no cells of a power diagram, on the right ones that are.
    rng = np.random.default_rng(0)
    left, right = np.zeros((2, 200, 2))
    left[:, 0], right[:, 0] = rng.normal(size=200) - 100, np.sort(rng.normal(size=200) + 100)
    aggregator = MicroAggregator(k=5, builder=Interleaved(), refiner=None, block_size=200)
    aggregator.fit(np.vstack([left, right]))
    assert aggregator.n_blocks_ == 2
    n_left = 200 // 5
    assert_array_equal(aggregator.weights_[:n_left], 0.0)
    assert aggregator.weights_[n_left:].any()
    assert not aggregator.exact_transform_
    with pytest.warns(UserWarning, match=TRAINING_DATA):
        moved = aggregator.transform(np.vstack([left, right]))
    assert_array_equal(moved[200:], aggregator.centroids_[aggregator.labels_[200:]])


class Interleaved:
    """Groups of k in the order of the records; sorted records thus make intervals."""

    def build(self, X, k):
        return np.arange(len(X)) // k


# Stitches


@pytest.mark.slow
@pytest.mark.parametrize("refiner", [None, "exchange", SEARCH])
@pytest.mark.parametrize("block_size", [1, 60])
def test_stitched_blocks_are_one_and_lose_no_more(X, refiner, block_size):
    parameters = {"k": 3, "refiner": refiner, "block_size": block_size, "random_state": 0}
    apart = MicroAggregator(**parameters).fit(X)
    stitched = MicroAggregator(stitch=True, **parameters)
    assert_exact_release(stitched, X)
    assert apart.n_blocks_ > 1
    assert stitched.n_blocks_ == 1
    assert stitched.group_sizes_.min() >= 3
    assert stitched.sse_ < apart.sse_
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(stitched.labels_, Exchange().refine(scaled, apart.labels_, 3))


@pytest.mark.slow
def test_stitched_groups_reach_across_cuts(X):
    aggregator = MicroAggregator(k=3, block_size=60, stitch=True, **QUICK).fit(X)
    scaled = StandardScaler().fit_transform(X)
    blocks = Blocks(scaled, 60, 6, 3)
    in_blocks = [set(aggregator.labels_[rows]) for rows in blocks.rows]
    assert sum(map(len, in_blocks)) > aggregator.n_groups_


# Errors


def assert_fit_fails(aggregator, X, error, message):
    for fit in (aggregator.fit, aggregator.fit_transform, aggregator.fit_predict):
        with pytest.raises(error, match=message):
            fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(aggregator)
    assert not [name for name in vars(aggregator) if name.endswith("_") or name.startswith("_")]


@in_one_case(
    ("block_size", "error", "end"),
    [
        (0, ValueError, r"\.$"),
        (-1, ValueError, r"\.$"),
        ("large", ValueError, r"\.$"),
        ("AUTO", ValueError, r"\.$"),
        (True, TypeError, r", got bool\.$"),
        (2.5, TypeError, r", got float\.$"),
        (100.0, TypeError, r", got float\.$"),
        ([100], TypeError, r", got list\.$"),
    ],
)
def test_bad_block_size(X, block_size, error, end):
    value = repr(block_size).replace("[", r"\[").replace("]", r"\]")
    message = f"^block_size={value} must be an integer of at least 1, 'auto' or None{end}"
    assert_fit_fails(MicroAggregator(block_size=block_size), X, error, message)


@in_one_case("stitch", [None, "no", 2])
@in_one_case("block_size", [None, 60])
def test_bad_stitch(X, stitch, block_size):
    message = rf"^stitch={stitch!r} must be one of False, True\.$"
    aggregator = MicroAggregator(stitch=stitch, block_size=block_size)
    assert_fit_fails(aggregator, X, ValueError, message)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_verbose_counts_the_blocks(X, n_jobs, capsys):
    aggregator = MicroAggregator(k=3, block_size=60, n_jobs=n_jobs, verbose=1, **QUICK).fit(X)
    out, err = capsys.readouterr()
    assert err == ""
    n = aggregator.n_blocks_
    assert re.search(rf"{n} of {n} blocks, \d+ s\n$", out)
    silent = MicroAggregator(k=3, block_size=60, n_jobs=n_jobs, **QUICK).fit(X)
    assert capsys.readouterr() == ("", "")
    assert_array_equal(silent.labels_, aggregator.labels_)


class LeavesOneOut:
    """All records in one group, but in some blocks one of them is alone."""

    def __repr__(self):
        return "LeavesOneOut()"

    def build(self, X, k):
        labels = np.zeros(len(X), dtype=int)
        if X[:, 1].min() > 0:
            labels[-1] = 1
        return labels


@in_one_case("n_jobs", [None, 2])
def test_a_small_group_in_one_of_the_blocks(X, n_jobs):
    message = r"^builder=LeavesOneOut\(\) returned labels with a group of 1 records: .* k=3\.$"
    parameters = {"k": 3, "builder": LeavesOneOut(), "refiner": None, "n_jobs": n_jobs}
    assert_fit_fails(MicroAggregator(block_size=60, **parameters), X, ValueError, message)
    # In one block there is nothing wrong.
    MicroAggregator(block_size=None, **parameters).fit(X)


def test_a_fit_that_fails_leaves_the_last_one_whole(X, new):
    aggregator = MicroAggregator(k=3, block_size=60, **QUICK).fit(X)
    moved = aggregator.transform(new)
    with pytest.raises(ValueError, match="labels with a group of 1 records"):
        aggregator.set_params(builder=LeavesOneOut(), refiner=None).fit(X[::2])
    assert len(aggregator.labels_) == len(X)
    assert_array_equal(aggregator.transform(new), moved)


# Anything


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(
    table=st.sampled_from(sorted(TABLES)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 90),
    d=st.integers(1, 3),
    k=st.integers(1, 6),
    block_size=st.integers(1, 50),
    stitch=st.booleans(),
)
def test_groups_of_k_and_an_honest_transform(table, seed, n, d, k, block_size, stitch):
    X = TABLES[table](np.random.default_rng(seed), max(n, k), d)
    aggregator = MicroAggregator(k=k, block_size=block_size, stitch=stitch)
    release = aggregator.fit_transform(X)
    assert anonymity_level(release) >= k
    assert np.bincount(aggregator.labels_).min() >= k
    assert sizes_of_blocks(aggregator).min() >= min(2 * k, len(X))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=TRAINING_DATA)
        moved = aggregator.transform(X)
    assert aggregator.exact_transform_ == np.array_equal(moved, release)
    # A record that moves stays in its block.
    scaled = aggregator.scaler_.transform(X)
    blocks = Blocks(scaled, np.inf if stitch or d == 1 else block_size, 2 * k, k)
    for rows in blocks.rows:
        assert {*map(tuple, moved[rows])} <= {*map(tuple, release[rows])}
