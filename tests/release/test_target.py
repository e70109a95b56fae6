"""`--target`: what a model is to predict, for the table of attacks in a report."""

import re

import numpy as np
import pytest
from tables.pages import Reader


@pytest.fixture
def visits(write):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 420)
    ill = np.where(age + rng.normal(0, 20, 420) > 50, "yes", "no")
    lines = [f"{a},2020-0{1 + a % 9}-11,{w},{i}" for a, w, i in zip(age, age % 3, ill, strict=True)]
    return write("visits.csv", "\n".join(["age,day,ward,ill", *lines, ""]))


COLUMNS = ("-q", "age,day,ward")


def test_the_report_has_membership(run, visits, tmp_path):
    report = tmp_path / "report.html"
    options = [*COLUMNS, "--report", report, "--target", "ill"]
    assert run("anonymize", visits, tmp_path / "out.csv", *options).code == 0
    page = Reader(report.read_text(encoding="utf-8"))
    assert "random forest for ill" in page.row("Membership, release")[2]
    assert page.row("Membership, original")[1] == "50%"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*COLUMNS, "--target", "ill"], "--target needs --report"),
        (
            [*COLUMNS, "--target", "age"],
            "--target age must be one of the columns that are released unch",
        ),
        (["--target", "ill"], "--target ill must be one of .*: there is none. --sensitive"),
        ([*COLUMNS, "--target", "ill", "--method", "kaim"], "--target is not for --method kaim"),
        ([*COLUMNS, "--target", "ill", "--engine", "dask"], "--target needs --engine memory"),
    ],
)
def test_targets_that_cannot_be(fails, visits, tmp_path, options, message):
    if "needs" not in message:
        options = [*options, "--report", tmp_path / "report.html"]
    outcome = fails("anonymize", visits, tmp_path / "out.csv", *options)
    assert re.match(message, outcome)
