"""Several releases of the same people together."""

import numpy as np
import pandas as pd
import pytest
from oracles.series import joint_level

from sk_microagg.metrics import anonymity_level, joint_anonymity


def test_as_by_plain_loops():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n_people, n_releases = rng.integers(1, 12), rng.integers(1, 4)
        releases, people = [], []
        for _ in range(n_releases):
            n_rows = rng.integers(1, 15)
            releases.append(rng.integers(0, 2, (n_rows, rng.integers(1, 3))))
            people.append(rng.integers(0, n_people, n_rows))
        rows = [release.tolist() for release in releases]
        assert joint_anonymity(releases, people) == joint_level(rows, people)


def test_one_release_with_a_row_each_is_as_anonymous_as_its_rows():
    rows = np.random.default_rng(0).integers(0, 3, (40, 2))
    assert joint_anonymity([rows], [np.arange(40)]) == anonymity_level(rows)


def test_absence_is_a_value():
    rows = [[1]] * 5
    assert joint_anonymity([rows, rows], [list("abcde"), list("abcde")]) == 5
    assert joint_anonymity([rows, rows[1:]], [list("abcde"), list("bcde")]) == 1
    assert joint_anonymity([rows, rows], [list("abcde"), list("fghij")]) == 5


def test_text_dates_and_missing_values():
    release = pd.DataFrame({"town": ["Ulm", "Ulm", None, None], "age": [1.0, 1.0, np.nan, np.nan]})
    names = pd.Series(list("abcd"), dtype="category")
    assert joint_anonymity([release, release], [names, names]) == 2


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_people_count_as_one(missing):
    rows = [[1]] * 5
    assert joint_anonymity([rows], [pd.Series([missing] * 5, dtype=object)]) == 1
    assert joint_anonymity([rows], [pd.Series([1, 2, missing, None, missing], dtype=object)]) == 3
    assert joint_anonymity([rows], [np.array([1.0, 2.0, np.nan, np.nan, np.nan])]) == 3


def test_errors():
    with pytest.raises(ValueError, match=r"^unit of 1 columns must have one for each of 2"):
        joint_anonymity([[[1]], [[1]]], [["a"]])
    with pytest.raises(ValueError, match=r"^unit of 0 columns"):
        joint_anonymity([], [])
    with pytest.raises(ValueError, match="inconsistent"):
        joint_anonymity([[[1], [2]]], [["a"]])
