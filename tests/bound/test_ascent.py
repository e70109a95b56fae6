import numpy as np
import pytest
from marks import in_one_case
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from sk_microagg._kernels import Ascent
from sk_microagg._utils._deadline import Deadline


class Program:
    """Columns of random records and cuts, with random costs."""

    def __init__(self, seed, n_records=8, n_cuts=3, n_columns=40):
        rng = np.random.default_rng(seed)
        self.n_records, self.n_duals = n_records, n_records + n_cuts
        columns = [np.sort(rng.choice(self.n_duals, 4, replace=False)) for _ in range(n_columns)]
        columns += [np.array([record]) for record in range(n_records)]
        self.start = np.cumsum([0, *map(len, columns)]).astype(np.int32)
        self.entry = np.concatenate(columns).astype(np.int32)
        self.cost = rng.uniform(0.5, 2.0, len(columns))
        self.lowest = np.concatenate([np.full(n_records, -1.0), np.zeros(n_cuts)])
        self.highest = np.full(self.n_duals, 3.0)
        self.sign = np.where(np.arange(self.n_duals) < n_records, 1.0, -1.0)
        self.limit = rng.integers(1, 3, n_cuts).astype(np.float64)
        self.worth = np.concatenate([np.ones(n_records), -self.limit])
        self.rows = np.zeros((len(columns), self.n_duals))
        for row, column in zip(self.rows, columns, strict=True):
            row[column] = self.sign[column]

    def best(self):
        bounds = np.column_stack([self.lowest, self.highest])
        return -linprog(-self.worth, A_ub=self.rows, b_ub=self.cost, bounds=bounds).fun

    def ascent(self):
        scale = np.ones(self.n_duals)
        return Ascent(self.start, self.entry, self.cost, self.n_records, scale, self.limit)


@in_one_case("seed", range(10))
@in_one_case("n_cuts", [0, 3])
def test_it_converges_to_the_optimum(seed, n_cuts):
    case = Program(seed, n_cuts=n_cuts)
    duals, use = case.lowest.copy(), np.zeros(len(case.cost))
    mean, mean_use = case.ascent().run(
        duals, use, case.lowest, case.highest, weight=0.5, n_iter=20_000
    )
    assert_allclose(case.worth @ mean, case.best(), rtol=2e-3)
    assert np.all(case.rows @ mean <= case.cost + 5e-3)
    assert np.all((case.lowest <= mean) & (mean <= case.highest))
    assert np.all(mean_use >= 0)


def test_it_continues_from_the_last_iterate():
    case = Program(0)
    duals, use = case.lowest.copy(), np.zeros(len(case.cost))
    for _ in range(20):
        mean, _ = case.ascent().run(duals, use, case.lowest, case.highest, weight=0.5, n_iter=1000)
    assert_allclose(case.worth @ mean, case.best(), rtol=2e-3)


@pytest.mark.slow
def test_it_stops_at_the_deadline():
    case = Program(0, n_records=2000, n_columns=20_000)
    duals, use = case.lowest.copy(), np.zeros(len(case.cost))
    mean, _ = case.ascent().run(
        duals, use, case.lowest, case.highest, weight=0.5, n_iter=10**9, deadline=Deadline(0.0)
    )
    assert np.all(np.isfinite(mean))
