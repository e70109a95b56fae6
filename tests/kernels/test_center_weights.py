import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from oracles import center_weights as oracle
from scipy.sparse import csr_array

from sk_microagg._kernels import center_weights


def some_walls(rng, n_groups, share, width):
    """Weights, and walls around them that leave some of them little room."""
    weights = rng.normal(size=n_groups)
    pairs = np.argwhere(np.triu(rng.random((n_groups, n_groups)) < share, 1))
    if not len(pairs) and n_groups > 1:
        pairs = np.array([[0, n_groups - 1]])
    walls = {}
    for a, b in [*map(tuple, pairs.tolist()), *((b, a) for a, b in pairs.tolist())]:
        walls[a, b] = weights[b] - weights[a] + width(rng)
    return walls, weights


def centered(walls, weights, n_rounds):
    n_groups = len(weights)
    sources, targets = np.array(sorted(walls), dtype=np.int32).reshape(-1, 2).T
    values = np.array([walls[pair] for pair in sorted(walls)])
    leaving = csr_array((values, (sources, targets)), shape=(n_groups, n_groups))
    entering = leaving.T.tocsr()
    starts, targets = (part.astype(np.int32) for part in (leaving.indptr, leaving.indices))
    return center_weights(starts, targets, leaving.data, entering.data, weights, n_rounds)


def slacks(walls, weights):
    return np.array([most - (weights[b] - weights[a]) for (a, b), most in walls.items()])


WIDTHS = {
    "plain": lambda rng: rng.exponential(),
    "many magnitudes": lambda rng: 10.0 ** rng.uniform(-9, 3),
    "tight": lambda rng: rng.choice([0.0, 1.0]),
    "equal": lambda rng: 1.0,
}


@pytest.mark.slow
@in_one_case("width", WIDTHS)
@in_one_case("n_groups", [1, 2, 3, 4, 5, 17])
@in_one_case("n_rounds", [0, 1, 4])
def test_kernel_and_oracle_agree(width, n_groups, n_rounds):
    for seed in range(5):
        rng = np.random.default_rng([seed, n_groups])
        walls, weights = some_walls(rng, n_groups, rng.random(), WIDTHS[width])
        expected = oracle.center_weights(walls, weights, n_rounds)
        # The shortest number may change if an end of its interval is rounded differently.
        found = centered(walls, weights, n_rounds)
        assert np.mean(np.isclose(found, expected, rtol=1e-6, atol=1e-9)) > 0.9
        if n_rounds == 0:
            assert found.tolist() == expected


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_groups=st.integers(2, 40), n_rounds=st.integers(0, 6))
def test_weights_stay_clear_of_all_walls(seed, n_groups, n_rounds):
    rng = np.random.default_rng(seed)
    walls, weights = some_walls(rng, n_groups, 0.3, WIDTHS["many magnitudes"])
    assert slacks(walls, centered(walls, weights, n_rounds)).min() > 0


def test_along_a_line_walls_end_near_their_middle():
    # The weights of neighbors may differ by 0 to a width of their own; they start tight.
    rng = np.random.default_rng(0)
    widths = 10.0 ** rng.uniform(-3, 0, size=299)
    walls = {}
    for group, width in enumerate(widths):
        walls[group, group + 1], walls[group + 1, group] = width, 0.0
    places = np.diff(centered(walls, np.zeros(300), 5)) / widths
    assert places.min() > 0.05
    assert places.max() < 0.95
    assert np.mean(np.abs(places - 0.5) < 0.3) > 0.9


def test_between_the_smallest_floats_weights_stay():
    smallest = 5e-324
    walls = {(0, 1): smallest, (1, 0): 0.0, (1, 2): 2 * smallest, (2, 1): smallest}
    weights = centered(walls, np.zeros(3), 5)
    assert slacks(walls, weights).min() >= 0  # and none is NaN


def test_weights_have_few_digits():
    rng = np.random.default_rng(1)
    walls, weights = some_walls(rng, 50, 0.2, lambda rng: rng.uniform(0.5, 1.0))
    # An interval of at least 0.5 has a multiple of 1/4 in its middle half.
    assert np.all(4 * centered(walls, weights, 5) % 1 == 0)
    assert np.any(4 * weights % 1 != 0)


@in_one_case(
    ("low", "high", "shortest"),
    [(0.3, 0.4, 0.375), (-0.4, -0.3, -0.375), (-1.0, 2.0, 0.0), (3.0, 100.0, 64.0)],
)
def test_the_shortest_number_is_a_multiple_of_the_largest_power_of_two(low, high, shortest):
    assert oracle.shortest_between(low, high) == shortest
    # With the other weight 0, the middle half of what the first may be is from low to high.
    beyond = (high - low) / 2
    walls = {(1, 0): high + beyond, (0, 1): beyond - low}
    assert centered(walls, [(low + high) / 2, 0.0], 0).tolist() == [shortest, 0.0]
