"""An intruder who knows how numbers are rounded guesses them from the ends of intervals."""

import numpy as np
import pytest
from example_tables.mixed import ends_of
from marks import in_one_case

from sk_microagg import KAIM, TableAggregator

K = 5
UNITS = [digit * 10.0**power for power in range(5) for digit in (1, 2, 5)]


def heaped_incomes(share, seed):
    """Incomes, a share of which is rounded to thousands."""
    rng = np.random.default_rng(seed)
    incomes = rng.uniform(20_000, 120_000, size=300).round()
    is_round = rng.random(len(incomes)) < share
    incomes[is_round] = incomes[is_round].round(-3)
    return incomes


def fine_and_coarse(seed):
    """Numbers below 100 with two digits, and thousands."""
    rng = np.random.default_rng(seed)
    fine, coarse = rng.uniform(0, 100, size=280).round(2), 1000.0 * rng.integers(1, 200, size=120)
    return np.r_[fine, coarse]


def inches(seed):
    return np.round(2.54 * np.random.default_rng(seed).integers(20, 100, size=150), 2)


def logarithms(seed):
    return np.log(np.random.default_rng(seed).integers(18, 91, size=300))


COLUMNS = {
    f"{share} in 100 rounded": lambda seed, share=share: heaped_incomes(share / 100, seed)
    for share in (30, 50, 70, 85)
} | {"fine and coarse": fine_and_coarse, "inches": inches, "logarithms": logarithms}


def ends_and_extremes(release, labels, column):
    """Ends that fewer than k records have, and the extreme number of the group; upper ones negated.

    The extreme is NaN if at least k records share it: these may be shown.
    """
    numbers, counts = np.unique(column, return_counts=True)
    shared = {*numbers[counts >= K].tolist()}
    found = []
    for group in np.unique(labels):
        members = column[labels == group]
        low, high = ends_of(release[labels == group][0])
        for sign, end, extreme in ((1, low, members.min()), (-1, high, members.max())):
            if end not in shared:
                found.append((sign * end, np.nan if extreme in shared else sign * extreme))
    return np.array(found)


def best_guess(ends, extremes, column):
    """The share of right guesses at the first multiple of a unit beyond each end, the best one."""
    guesses = [unit * (np.floor(ends / unit + 1e-9) + 1) for unit in UNITS]
    gap = np.diff(np.unique(column)).min()
    guesses.append(gap * (np.floor(ends / gap + 1e-9) + 1))
    return max(np.isclose(guess, extremes, rtol=1e-9).mean() for guess in guesses)


MAKERS = {"KAIM": KAIM(K, random_state=0), "groups": TableAggregator(K, numbers="interval")}


@pytest.mark.slow
@in_one_case("model", MAKERS.values())
@in_one_case("column", COLUMNS.values())
def test_the_number_next_to_an_end_is_guessed_at_most_one_in_k_times(model, column):
    pairs = []
    for seed in range(3):
        numbers = column(seed)
        release = model.fit_transform(numbers[:, None])[:, 0]
        pairs.append(ends_and_extremes(release, model.labels_, numbers))
    ends, extremes = np.concatenate(pairs).T
    for is_tried in (np.abs(ends) >= 0, np.abs(ends) >= 1000):  # everywhere, or where coarse
        if is_tried.any():
            assert is_tried.sum() > 50
            assert best_guess(ends[is_tried], extremes[is_tried], numbers) <= 1 / K
