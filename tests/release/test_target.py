"""`target`: what a model is to predict, for the table of attacks in a report."""

import numpy as np
import pytest
from tables.pages import Reader

pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture
def visits(write):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 420)
    ill = np.where(age + rng.normal(0, 20, 420) > 50, "yes", "no")
    lines = [f"{a},2020-0{1 + a % 9}-11,{w},{i}" for a, w, i in zip(age, age % 3, ill, strict=True)]
    return write("visits.csv", "\n".join(["age,day,ward,ill", *lines, ""]))


COLUMNS = ["age", "day", "ward"]


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_the_report_has_membership(release, visits, tmp_path):
    report = tmp_path / "report.html"
    settings = {"quasi_identifiers": COLUMNS, "report": report, "target": "ill"}
    release(visits, tmp_path / "out.csv", **settings)
    page = Reader(report.read_text(encoding="utf-8"))
    assert "random forest for ill" in page.row("Membership, release")[2]
    assert page.row("Membership, original")[1] == "50%"


@pytest.mark.parametrize(
    ("settings", "unchanged"),
    [
        ({"quasi_identifiers": COLUMNS, "target": "age"}, "'ill'"),
        ({"target": "ill"}, "there is none"),
    ],
)
def test_targets_that_are_not_released_unchanged(refused, visits, tmp_path, settings, unchanged):
    report = tmp_path / "report.html"
    error = refused(visits, tmp_path / "out.csv", report=report, **settings)
    assert (error.code, error.column) == ("target_not_unchanged", settings["target"])
    assert error.facts["columns"] == unchanged
