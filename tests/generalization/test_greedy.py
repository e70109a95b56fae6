import numpy as np
import pytest
from example_tables.mixed import SMALL, some_case, some_table
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from oracles import generalization as oracle
from oracles.partition import canonical
from sklearn.base import clone

from sk_microagg.generalization import KAIM, KMember
from sk_microagg.generalization._generalizer import Ranges
from sk_microagg.generalization._k_member import farthest_seeds, group_greedily
from sk_microagg.generalization._kaim import make_policy, refine
from sk_microagg.refiners import Decompose, Exchange, IteratedLocalSearch, LocalSearch

seeds = st.integers(0, 2**31 - 1)
few_columns = st.lists(st.sampled_from([*SMALL]), min_size=1, max_size=4)
METHODS = {
    "ncp": ("ncp", "own", "random"),
    "entropy": ("entropy", "own", "random"),
    "entropy, c": ("entropy", 0.2, "random"),
    "k-member": ("ncp", "own", "farthest"),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def ranges(case):
    return Ranges(case.columns, case.lo, case.hi)


def grouped(case, k, seed=0, **options):
    return group_greedily(ranges(case), k, np.random.RandomState(seed), **options)


def refined(case, labels, k, policy, seed=0):
    state = np.random.RandomState(seed)
    return refine(ranges(case), labels, k, case.total, policy, state)


def loss(case, labels):
    return oracle.loss_rate(case.plain, case.records, labels)


# Greedy groups


def assert_same_groups(rng, n, k, kinds, method, missing=0.15):
    distance, c, seeds = method
    case = some_case(rng, n, kinds, c, missing)
    options = {"seeds": farthest_seeds} if seeds == "farthest" else {}
    labels = grouped(case, k, seed=7, distance=distance, **options)
    order = np.random.RandomState(7).permutation(n)
    expected = oracle.greedy(case.plain, case.records, k, order, distance, seeds)
    assert labels.tolist() == expected.tolist()
    assert len(np.unique(labels)) == n // k
    assert np.bincount(labels).min() >= k


@pytest.mark.slow_but_first
@every_method
@settings(deadline=None, max_examples=40)
@given(seed=seeds, n=st.integers(1, 50), k=st.integers(1, 7), kinds=few_columns)
def test_groups_are_those_of_the_description(method, seed, n, k, kinds):
    assert_same_groups(np.random.default_rng(seed), n, min(k, n), kinds, method)


@pytest.mark.slow
@every_method
@pytest.mark.parametrize(
    ("kinds", "missing"),
    [
        (["many numbers"], 0.1),
        (["large tree", "decimals"], 0.1),
        (["many numbers", "large tree", "deep"], 0.0),
    ],
)
def test_groups_in_columns_with_many_leaves_are_those_of_the_description(kinds, missing, method):
    assert_same_groups(np.random.default_rng(0), 240, 4, kinds, method, missing)


@every_method
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("kinds", [["decimals"], ["deep"], ["integers", "uneven", "flat"]])
def test_the_fewest_possible_records(kinds, k, method):
    # One group with as many remaining records as possible, and two groups.
    for n in (k, 2 * k - 1, 2 * k):
        assert_same_groups(np.random.default_rng(n), n, k, kinds, method)


@pytest.mark.parametrize("k", [2, 5])
def test_records_with_identical_copies_lose_nothing(k):
    case = some_case(np.random.default_rng(0), 30, ["decimals", "deep"], missing=0)
    case.lo, case.hi = np.tile(case.lo, (k, 1)), np.tile(case.hi, (k, 1))
    case.records *= k
    for seed in range(5):
        assert loss(case, grouped(case, k, seed)) == 0


def test_equal_seeds_give_equal_groups_and_different_ones_mostly_do_not():
    case = some_case(np.random.default_rng(0), 100, ["decimals", "deep"])
    first, *others = (canonical(grouped(case, 3, seed)).tolist() for seed in (0, 0, 1, 2))
    assert [first == other for other in others] == [True, False, False]


@pytest.mark.parametrize("incomplete", ["drop", "keep"])
def test_k_member_drops_incomplete_records_and_counts_them_as_lost(incomplete):
    cells, trees = some_table(np.random.default_rng(0), 60, ["integers", "deep", "flat"])
    k_member = KMember(k=4, hierarchies={1: trees[1]}, incomplete=incomplete, random_state=3)
    labels = k_member.fit_predict(list(zip(*cells, strict=True)))
    # Shares and frequencies are those of the whole table.
    plain = [oracle.column_of(*column) for column in zip(cells, trees, strict=True)]
    records = oracle.records_of(plain, cells)
    kept = [incomplete == "keep" or oracle.ROOT not in record for record in records]
    records = [record for record, is_kept in zip(records, kept, strict=True) if is_kept]
    order = np.random.RandomState(3).permutation(len(records))
    expected = oracle.greedy(plain, records, 4, order, seeds="farthest")
    assert labels[kept].tolist() == expected.tolist()
    assert set(labels[np.invert(kept)]) == (set() if all(kept) else {-1})
    loss = oracle.loss_rate(plain, records, expected, n_dropped=60 - len(records))
    assert k_member.information_loss_ == pytest.approx(loss, rel=1e-12)


# Refined groups

POLICIES = [LocalSearch(), IteratedLocalSearch(max_iter=20)]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)


@pytest.fixture(name="case")
def a_table():
    return some_case(np.random.default_rng(0), 200, ["many numbers", "decimals", "deep"])


@pytest.fixture(name="labels")
def greedy_groups(case):
    return grouped(case, 4)


def assert_valid(case, labels, result, k=4):
    sizes = np.bincount(result)
    assert result.shape == labels.shape
    assert k <= sizes.min() <= sizes.max() < 2 * k
    # With groups in the same order: sums in another order may differ in the last digit.
    assert loss(case, canonical(result)) <= loss(case, canonical(labels))


@every_policy
@settings(deadline=None, max_examples=40)
@given(seed=seeds, n=st.integers(1, 60), k=st.integers(1, 6), kinds=few_columns)
def test_refining_keeps_groups_of_k_and_loses_no_more(policy, seed, n, k, kinds):
    rng, k = np.random.default_rng(seed), min(k, n)
    case = some_case(rng, n, kinds)
    # Groups of k to 2k - 1 records, greedy or arbitrary.
    n_groups = rng.integers(-(-n // (2 * k - 1)), n // k + 1)
    labels = grouped(case, k, seed) if seed % 2 else rng.permutation(np.arange(n) % n_groups)
    before = labels.copy()
    assert_valid(case, labels, refined(case, labels, k, clone(policy), seed), k)
    assert np.array_equal(labels, before)


def test_local_search_loses_less_and_the_iterated_one_even_less(case, labels):
    local = refined(case, labels, 4, LocalSearch())
    iterated = refined(case, labels, 4, IteratedLocalSearch(max_iter=500))
    for result in (local, iterated):
        assert_valid(case, labels, result)
    assert loss(case, iterated) < 0.98 * loss(case, local) < 0.96 * loss(case, labels)


@every_policy
def test_equal_seeds_give_equal_labels_and_different_ones_mostly_do_not(case, policy):
    labels = np.random.default_rng(0).permutation(np.arange(200) % 45)
    first, *others = (refined(case, labels, 4, clone(policy), seed) for seed in (0, 0, 1, 2))
    assert [np.array_equal(first, other) for other in others] == [True, False, False]


@every_policy
@pytest.mark.parametrize("exponent", [-40, 40])
def test_the_scale_of_the_weights_does_not_matter(policy, exponent):
    # Powers of two: nothing is rounded.
    cells, trees = some_table(np.random.default_rng(0), 200, ["decimals", "deep", "flat"])
    X, weights = list(zip(*cells, strict=True)), np.array([1.0, 0.7, 2.5])
    kaim = KAIM(k=4, refiner=policy, hierarchies={1: trees[1]}, random_state=0)
    one, other = (clone(kaim).set_params(weights=unit * weights) for unit in (1.0, 2.0**exponent))
    assert np.array_equal(one.fit_predict(X), other.fit_predict(X))
    assert other.information_loss_ == one.information_loss_


@pytest.mark.parametrize("max_iter", [1, 2])
def test_local_search_makes_no_more_sweeps_than_allowed(case, max_iter):
    labels = np.arange(case.n) % 50  # far from good
    limited, unlimited = LocalSearch(max_iter=max_iter), LocalSearch()
    cut_short, full = (refined(case, labels, 4, policy) for policy in (limited, unlimited))
    assert limited.n_iter_ == max_iter < unlimited.n_iter_
    assert loss(case, full) < loss(case, cut_short) < loss(case, labels)


@pytest.mark.parametrize("n_init", [1, 3])
def test_trace_shows_every_improvement_and_ends_at_the_result(case, labels, n_init):
    search = IteratedLocalSearch(max_iter=100, n_init=n_init)
    result = refined(case, labels, 4, search)
    iteration, seconds, cost = search.trace_.T
    assert iteration[0] == 0
    assert iteration[-1] <= 100
    assert np.all(np.diff(iteration) > 0)
    assert np.all(np.diff(seconds) >= 0)
    assert np.all(np.diff(cost) < 0)
    # Costs are multiples of that of the result.
    assert cost[-1] == 1
    assert loss(case, result) < loss(case, labels)
    assert search.n_iter_ == n_init * 100


def test_more_searches_give_the_best_of_them(case):
    labels = np.arange(case.n) % 50  # far from good
    losses = [
        loss(case, refined(case, labels, 4, IteratedLocalSearch(max_iter=5, n_init=n)))
        for n in (1, 2, 12)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_number_of_jobs_changes_nothing(case, labels):
    searches = [IteratedLocalSearch(max_iter=60, n_init=3, n_jobs=jobs) for jobs in (None, 1, 2)]
    first, *others = (refined(case, labels, 4, search) for search in searches)
    assert all(np.array_equal(first, other) for other in others)
    # Everything but the seconds.
    assert all(
        np.array_equal(searches[0].trace_[:, [0, 2]], search.trace_[:, [0, 2]])
        for search in searches
    )
    assert {search.n_iter_ for search in searches} == {180}


@pytest.mark.parametrize("n_init", [1, 3])
@pytest.mark.usefixtures("fake_clock")
def test_time_limit_ends_the_search_with_the_best_so_far(case, labels, n_init):
    search = IteratedLocalSearch(max_iter=10**8, time_limit=3, n_init=n_init)
    result = refined(case, labels, 4, search)
    assert_valid(case, labels, result)
    assert 0 < search.n_iter_ <= 300
    assert loss(case, result) < loss(case, labels)


@pytest.mark.usefixtures("fake_clock")
def test_a_time_limit_that_expires_at_once_still_gives_a_partition(case, labels):
    search = IteratedLocalSearch(time_limit=1e-9)
    assert_valid(case, labels, refined(case, labels, 4, search))
    assert search.n_iter_ == 0


@every_policy
def test_a_single_group_is_left_unchanged(policy):
    case = some_case(np.random.default_rng(0), 7, ["integers", "deep"])
    policy = clone(policy)
    assert refined(case, np.zeros(7, dtype=int), 4, policy).tolist() == [0] * 7
    assert policy.n_iter_ == 0


# Policies


def test_without_a_refiner_groups_are_unchanged(case, labels):
    assert make_policy(None) is None
    assert np.array_equal(refined(case, labels, 4, None), labels)


@in_one_case(
    ("refiner", "kind"),
    [
        ("local_search", LocalSearch),
        ("iterated_local_search", IteratedLocalSearch),
        (LocalSearch(max_iter=3), LocalSearch),
        (IteratedLocalSearch(max_iter=5, n_init=2), IteratedLocalSearch),
    ],
)
def test_refiners_by_name_or_as_objects_that_are_not_modified(case, labels, refiner, kind):
    policy = make_policy(refiner)
    assert type(policy) is kind
    if not isinstance(refiner, str):
        assert policy.get_params() == refiner.get_params()
        before = vars(refiner).copy()
        refined(case, labels, 4, policy)
        assert vars(refiner) == before


def test_jobs_and_verbosity_are_passed_on_if_they_have_their_defaults():
    policy = make_policy("iterated_local_search", n_jobs=2, verbose=1)
    assert (policy.n_jobs, policy.verbose) == (2, 1)
    own = make_policy(IteratedLocalSearch(n_jobs=3, verbose=2), n_jobs=2, verbose=1)
    assert (own.n_jobs, own.verbose) == (3, 2)


@pytest.mark.parametrize(
    "refiner",
    [Exchange(), Decompose(), "exchange", "decompose", "decompose_shrink", [LocalSearch()]],
    ids=str,
)
def test_refiners_of_squared_errors_are_refused(refiner):
    with pytest.raises(ValueError, match=r"must be None, 'local_search', 'iterated_l") as info:
        make_policy(refiner)
    assert str(info.value).startswith(f"refiner={refiner!r} must be")


@pytest.mark.parametrize("refiner", ["lokal_search", 3, LocalSearch], ids=["typo", "3", "class"])
def test_the_error_for_a_bad_refiner_names_the_allowed_ones(refiner):
    with pytest.raises((ValueError, TypeError), match=r"^refiner=.*'local_search'") as info:
        make_policy(refiner)
    for refused in ("exchange", "decompose"):
        assert f"'{refused}'" not in str(info.value)


@pytest.mark.parametrize(
    ("policy", "error", "message"),
    [
        (LocalSearch(max_iter=0), ValueError, "^max_iter=0 must be"),
        (LocalSearch(max_iter=2.0), TypeError, r"^max_iter=2\.0 must be"),
        (IteratedLocalSearch(max_iter=0), ValueError, "^max_iter=0 must be"),
        (IteratedLocalSearch(n_init=0), ValueError, "^n_init=0 must be"),
        (IteratedLocalSearch(time_limit=-1), ValueError, "^time_limit=-1 must be"),
        (IteratedLocalSearch(acceptance=2), ValueError, "^acceptance=2 must be"),
    ],
    ids=str,
)
def test_bad_parameters_of_refiners(case, labels, policy, error, message):
    with pytest.raises(error, match=message):
        refined(case, labels, 4, policy)
    assert not [name for name in vars(policy) if name.endswith("_")]
