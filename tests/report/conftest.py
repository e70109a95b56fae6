import pytest

from sk_microagg.metrics import _attribute_inference
from sk_microagg.report import _figures, _utility


@pytest.fixture(scope="module")
def small_attacks():
    """Attack and compare with few trees, in tests of something else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_attribute_inference, "N_TREES", 3)
        patch.setattr(_utility, "N_NULLS", 1)
        yield


@pytest.fixture
def no_pictures(request, monkeypatch):
    """Draw nothing, but for tests that ask for `drawn`: pictures have labels only."""

    def label_only(draw, size, label, id=None):
        return _figures.Picture(label, "0 0 1 1", "", id)

    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(_figures, "_as_svg", label_only)


@pytest.fixture
def drawn():
    """Pictures are drawn in this test, in a module that draws none."""


@pytest.fixture
def facts_only(small_attacks, no_pictures):
    """A report takes a tenth of its time."""
