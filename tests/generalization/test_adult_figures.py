"""Losses on Adult with the hierarchies of ARX, compared with published or known ones."""

import numpy as np
import pytest

from sk_microagg import KAIM
from sk_microagg.datasets import fetch_adult
from sk_microagg.generalization import KMember

pytestmark = pytest.mark.slow

SIZES = (2, 5, 10)


@pytest.fixture(scope="module", name="adult")
def adult_with_hierarchies(data_folder):
    if not (data_folder / "adult.csv").exists():
        pytest.skip("needs adult.csv in the folder that SK_MICROAGG_DATA names")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SK_MICROAGG_DATA", str(data_folder))
        data = fetch_adult(as_frame=True).data.drop(columns="salary-class")
    files = {path.stem: path for path in (data_folder / "adult_hierarchies").glob("*.csv")}
    if not files:
        pytest.skip("needs the folder adult_hierarchies next to adult.csv")
    del files["age"]  # released as intervals
    return data, files


def losses(method, adult, **parameters):
    X, hierarchies = adult
    fitted = [
        method(k, hierarchies=hierarchies, random_state=0, **parameters).fit(X) for k in SIZES
    ]
    assert all(f.group_sizes_.min() >= k for f, k in zip(fitted, SIZES, strict=True))
    return 100 * np.array([f.information_loss_ for f in fitted])


@pytest.fixture(scope="module", name="baseline")
def k_member(adult):
    return losses(KMember, adult)


def test_k_member(baseline):
    np.testing.assert_allclose(baseline, [8.96, 11.85, 15.09], rtol=0.05)


def test_entropy_as_published(adult):
    found = losses(KAIM, adult, distance="entropy", refiner=None)
    np.testing.assert_allclose(found, [4.31, 10.12, 14.39], rtol=0.05)


def test_the_loss_itself_as_distance(adult):
    assert np.all(losses(KAIM, adult, refiner=None) <= [2.75, 6.45, 9.5])


@pytest.fixture(scope="module", name="default")
def kaim(adult):
    return losses(KAIM, adult)


def test_headline_of_the_paper(default, baseline):
    assert np.mean(default / baseline) <= 0.438


def test_ends_that_reveal_nobody_cost_little(default):
    published = [1.58, 4.37, 7.17]  # with grid=None
    assert np.all(default <= np.multiply(published, 1.05))


def test_no_record_of_adult_is_dropped(adult):
    X, hierarchies = adult
    kaim = KAIM(5, hierarchies=hierarchies, refiner=None, random_state=0).fit(X)
    assert kaim.group_sizes_.sum() == 48_842
    assert 100 * kaim.value_missing_rate_ == pytest.approx(1.65, abs=0.005)
    assert 100 * kaim.record_missing_rate_ == pytest.approx(7.41, abs=0.005)
