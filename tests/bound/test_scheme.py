from dataclasses import replace
from math import inf

import numpy as np
import pytest
from example_tables.numbers import TABLES
from marks import in_one_case
from numpy.testing import assert_array_equal
from oracles.bound import admissible_groups, least_squared_errors, squared_errors_of
from oracles.partition import sst

from sk_microagg._bound._proof import Proof
from sk_microagg._bound._repair import Repair, near_records, scaled, sums_of_nearest
from sk_microagg._bound._scheme import Scheme
from sk_microagg._bound._sets import ColumnPool, Cuts, largest_cut, squared_errors
from sk_microagg._bound._settings import SETTINGS
from sk_microagg._utils._deadline import Deadline
from sk_microagg.metrics import loss_bound

SEARCHES = {
    "default": {},
    "short ascents": {"min_ascent_iter": 1, "max_ascent_iter": 4, "max_pricings": 2},
    "few nodes": {"max_nodes": 3},
    "medoids as roots": {"root_preference": 0.0},
    "no inertia": {"inertia": 0.0},
    "roots are not ranked": {"neighbors_before_ranks": -1.0},
    "many cuts": {"cut_when_below": inf, "min_cut_excess": 0.0, "max_new_cuts": 2.0},
    "focus": {
        "cut_when_below": inf,
        "min_cut_excess": 0.0,
        "focus_gain": 0.3,
        "max_focus": 1.0,
        "focus_overhead": 0.0,
    },
    "long steps": {"ascent_weight": 10.0, "initial_width": 5.0, "shrink_after_failure": 1.0},
}


def search(X, k, n_iter, settings=SETTINGS):
    records, _ = scaled(X)
    proof = Proof(1.0, 1.0, X.size, inf, 0, Deadline())
    scheme = Scheme(records, k, proof, n_jobs=1, settings=settings)
    for _ in range(n_iter):
        scheme.advance()
    return records, scheme


def violations(records, k, duals, cuts):
    """By how much the duals of all groups of k to 2k - 1 records exceed what is allowed."""
    n = len(records)
    cut_members = cuts.sets.incidence().toarray()
    worst = []
    for members in admissible_groups(n, k).values():
        inside = np.zeros((len(members), n))
        np.put_along_axis(inside, members, 1.0, axis=1)
        allowed = squared_errors_of(records[None], members)[0]
        allowed += (inside @ cut_members.T >= k) @ duals[n:]
        worst.append(inside @ duals[:n] - allowed)
    return np.concatenate(worst)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("changes", SEARCHES.values(), ids=SEARCHES)
def test_the_best_duals_satisfy_all_constraints(k, changes):
    n_active_cuts = 0
    for seed, name in enumerate(["normal", "grid", "heavy_tails"]):
        X = TABLES[name](np.random.default_rng(seed), 2 * k + 1, 2)
        records, scheme = search(X, k, 6, replace(SETTINGS, **changes))
        worst = violations(records, k, scheme.best, scheme.master.cuts)
        assert worst.max() <= 1e-12 * np.abs(scheme.best).max(), name
        assert np.all(scheme.best[len(X) :] >= 0), name
        n_active_cuts += np.count_nonzero(scheme.best[len(X) :])
    assert n_active_cuts > 0


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_constraints_hold_after_rounds_in_which_some_duals_were_free(k, seed):
    # Two clusters that do not interact: cuts in one of them leave the other as it was.
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(7, 2)), [20.0, 0.0] + 0.1 * rng.normal(size=(5, 2))])
    least = least_squared_errors(scaled(X)[0][None], k)[0]
    settings = replace(SETTINGS, **SEARCHES["focus"])
    n_focused = 0
    records, scheme = search(X, k, 0, settings)
    for n_more in (1, 1, 1, 2, 3):
        for _ in range(n_more):
            scheme.advance()
        n_focused += not scheme.master.focus.is_everywhere()
        worst = violations(records, k, scheme.best, scheme.master.cuts)
        assert worst.max() <= 1e-12 * np.abs(scheme.best).max()
        assert scheme.proof.squared_errors <= least
    assert n_focused > 0


def test_the_best_duals_are_tight():
    # Feasible duals could be low: some constraints have to hold with equality.
    records, scheme = search(TABLES["normal"](np.random.default_rng(0), 11, 2), 4, 12)
    worst = violations(records, 4, scheme.best, scheme.master.cuts)
    assert worst.max() >= -1e-6 * np.abs(scheme.best).max()


def test_the_first_bound_is_kept_where_columns_would_need_too_much_memory():
    X = np.random.default_rng(0).normal(size=(30, 2))
    changes = {"max_members_in_all": 30 * 4, "max_neighbors_in_all": 30 * 3}
    _, scheme = search(X, 5, 0, replace(SETTINGS, **changes))
    assert not scheme.may_rise(0.0)
    _, complete = search(X, 5, 0)
    # With three of the nearest records known, the fourth counts as far away as the third.
    assert np.all(scheme.best <= complete.best)
    assert 0 < scheme.best.sum() < complete.best.sum()


def test_records_whose_neighbors_are_not_known_have_duals_of_zero(set_clock):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    _, complete = search(X, 3, 0)
    set_clock(1.0)
    bound = loss_bound(X, 3, time_limit=4.0)
    assert 0 < bound < complete.proof.bound / np.ldexp(sst(X), -2 * scaled(X)[1])


@in_one_case(
    ("k", "largest"), [(2, 5), (3, 8), (7, 20), (10, 29), (11, 32), (15, 22), (20, 26), (40, 40)]
)
def test_cuts_hold_two_groups_or_have_few_subsets(k, largest):
    assert largest_cut(k, SETTINGS) == largest


class TestBudgetOfIterations:
    @pytest.mark.parametrize("max_iter", [1, 2, 7])
    def test_iterations_are_counted(self, counting_work, max_iter):
        X = np.random.default_rng(0).normal(size=(80, 2))
        with counting_work() as work:
            loss_bound(X, 4, time_limit=inf, max_iter=max_iter)
        assert work["iterations"] == work["repairs"] == max_iter

    @pytest.mark.slow
    def test_the_bound_does_not_depend_on_the_clock_or_on_threads(self, set_clock):
        X = np.random.default_rng(0).normal(size=(80, 3))
        expected = loss_bound(X, 4, time_limit=inf, max_iter=5)
        for n_jobs, seconds_per_reading in ((1, 1e-3), (2, 1.0), (1, 1e6), (2, 1e6)):
            clock = set_clock(seconds_per_reading)
            bound = loss_bound(X, 4, time_limit=inf, max_iter=5, n_jobs=n_jobs)
            assert bound == expected
            assert clock.n_readings > 0

    def test_more_iterations_never_lower_the_bound(self):
        X = np.random.default_rng(0).normal(size=(60, 2))
        bounds = [loss_bound(X, 3, time_limit=inf, max_iter=n) for n in (1, 2, 4, 8)]
        assert bounds == sorted(bounds)
        assert bounds[0] < bounds[-1]

    def test_whichever_budget_is_used_up_first_ends_the_search(self, set_clock, counting_work):
        X = np.random.default_rng(0).normal(size=(80, 2))
        set_clock(1.0)
        with counting_work() as work:
            loss_bound(X, 4, time_limit=30.0, max_iter=1000)
        assert 0 < work["iterations"] < 1000


class TestTimeLimit:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("n", "d", "k"), [(20_000, 2, 3), (3_000, 30, 40), (500, 2, 240), (9_000, 2, 4_500)]
    )
    def test_large_tables_and_groups_keep_to_it(self, set_clock, n, d, k):
        X = np.random.default_rng(0).normal(size=(n, d))
        clock = set_clock(0.05)
        start = clock.now
        bound, trace = loss_bound(X, k, time_limit=2.0, return_trace=True)
        assert 0 < bound < 1
        assert trace[-1, 1] == bound
        # At most ten readings of the clock after the deadline, by loops that then end.
        assert clock.now - start < 2.5

    @pytest.mark.slow
    def test_a_repair_that_takes_long_is_given_up_and_tried_with_a_shorter_step(
        self, set_clock, counting_work
    ):
        X = np.random.default_rng(0).normal(size=(1000, 8))
        set_clock(0.01)
        with counting_work() as work:
            bound, trace = loss_bound(X, 8, time_limit=6.0, return_trace=True)
        assert work["repairs given up"] > 0
        assert work["repairs"] > 0
        assert work["iterations"] == work["repairs"] + work["repairs given up"]
        assert trace[-1, 1] == bound > trace[0, 1]


@pytest.mark.slow
@in_one_case("k", [3, 6])
def test_a_repair_does_not_depend_on_the_number_of_threads(k):
    records = np.random.default_rng(0).normal(size=(120, 3))
    near, distances = near_records(records, k)
    sums = np.ascontiguousarray(sums_of_nearest(distances, k)[:, : k - 1])
    # Far too high, so that many constraints are violated.
    duals = 1.5 * squared_errors(records, near)
    expected = None
    for n_jobs in (None, 1, 2, 3, 200):
        pool, cuts = ColumnPool(records), Cuts(records, k)
        lowered, n_new = Repair(records, k, sums, n_jobs).run(
            np.zeros(len(records)), duals, cuts, pool, Deadline()
        )
        assert n_new > 0
        expected = expected or (lowered, n_new, pool.member)
        assert_array_equal(lowered, expected[0])
        assert n_new == expected[1]
        assert_array_equal(pool.member, expected[2])
