import numpy as np
from marks import in_one_case
from numpy.testing import assert_array_equal

from sk_microagg._kernels import CutFinder
from sk_microagg._utils._deadline import Deadline


def columns_with_use(k, seed):
    """Random columns of k records, as a finder takes them, and how much each is used."""
    rng = np.random.default_rng(seed)
    members = np.array([rng.choice(4 * k, k, replace=False) for _ in range(60)])
    use = rng.uniform(0.0, 1.0, len(members))
    start = np.arange(0, members.size + 1, k).astype(np.int32)
    return members, use, CutFinder(start, members.ravel().astype(np.int32), use, 4 * k, k)


@in_one_case("k", [2, 3, 4])
def test_grown_sets_are_violated_as_cuts(k):
    n_grown = 0
    for seed in range(8):
        members, use, finder = columns_with_use(k, seed)
        grown = finder.grow(np.arange(len(use)), 3 * k - 1, 0.1)
        for cut in grown:
            assert k < len(set(cut.tolist())) == len(cut) < 3 * k
            inside = np.isin(members, cut).all(axis=1)
            assert use[inside].sum() > len(cut) // k + 0.1
        n_grown += len(grown)
    assert n_grown > 0


def test_a_set_that_three_columns_overuse_is_found():
    # Each pair of records is a column used by half: in a partition, one pair at most.
    members = np.array([[0, 1], [1, 2], [0, 2], [3, 4]])
    start = np.arange(0, 9, 2).astype(np.int32)
    finder = CutFinder(start, members.ravel().astype(np.int32), np.full(4, 0.5), 5, 2)
    for column in range(3):
        (cut,) = finder.grow(np.array([column]), 3, 0.1)
        assert_array_equal(np.sort(cut), [0, 1, 2])
    assert finder.grow(np.array([3]), 3, 0.1) == []


def test_it_stops_at_the_deadline():
    _, use, finder = columns_with_use(3, 0)
    everything = finder.grow(np.arange(len(use)), 8, 0.0)
    assert len(finder.grow(np.arange(len(use)), 8, 0.0, deadline=Deadline(0.0))) <= len(everything)
