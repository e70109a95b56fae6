"""Scenarios: who gets a release, and whether its risk is acceptable."""

import json

import numpy as np
import pytest
from marks import in_one_case

from sk_microagg import MicroAggregator
from sk_microagg.report import Scenario, make_report
from sk_microagg.report._risks import measure_identity_risks

pytestmark = pytest.mark.usefixtures("facts_only")

X = np.random.default_rng(0).normal(size=(120, 2))

TOML = """
recipient = "University of Bonn"
release_model = "controlled"
threshold = 0.2
reviewed_by = "A. Person"
review_date = 2027-06-30
[reasons]
age = "known to neighbors"
"""


@pytest.fixture(scope="module")
def by_k():
    found = {}
    for k in (11, 12):
        aggregator = MicroAggregator(k=k, refiner=None)
        found[k] = aggregator, aggregator.fit_transform(X)
    return found


def test_files(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(TOML, encoding="utf-8")
    scenario = Scenario.read(path)
    assert scenario.reasons == {"age": "known to neighbors"}
    assert scenario.facts().review_date == "2027-06-30"
    other = tmp_path / "scenario.JSON"
    given = {"recipient": "University of Bonn", "threshold": 0.2}
    other.write_text(json.dumps(given), encoding="utf-8")
    assert Scenario.read(str(other)) == Scenario.read(given) == Scenario.read(json.dumps(given))
    assert Scenario.read(scenario) is scenario


@in_one_case(
    ["given", "error", "message"],
    [
        ({"threshold": 0}, ValueError, "^threshold=0 "),
        ({"threshold": "low"}, TypeError, "^threshold='low' "),
        ({"release_model": "open"}, ValueError, "^release_model='open' .*'controlled'"),
        ({"recipients": "all"}, ValueError, "'recipients' .*'recipient'"),
        ({"recipient": 5}, TypeError, "^recipient=5 "),
        ({"reasons": ["age"]}, TypeError, "^reasons="),
        ({"review_date": "in June"}, ValueError, "^review_date='in June' "),
    ],
)
def test_what_a_scenario_must_be(given, error, message):
    with pytest.raises(error, match=message):
        Scenario.read(given)


def test_other_files(tmp_path):
    for name in ("scenario.yaml", "scenario.toml"):
        (tmp_path / name).write_text("= 1", encoding="utf-8")
        with pytest.raises(ValueError, match=r"\.toml|TOML"):
            Scenario.read(tmp_path / name)


@pytest.mark.slow
def test_twelve_people_are_enough_for_the_usual_threshold(by_k):
    for k, is_acceptable in ((11, False), (12, True)):
        aggregator, release = by_k[k]
        found = make_report(aggregator, X, release, scenario={"recipient": "all"}).to_dict()
        assert found["risk"]["is_acceptable"] is is_acceptable
        assert found["scenario"]["threshold"] == 0.09
        assert found["risk"]["after"]["prosecutor"]["largest"]["value"] == 1 / k
        state, text = found["verdicts"][-1].values()
        assert state == ("holds" if is_acceptable else "broken")
        assert "threshold of 9%" in text


def test_without_a_scenario(by_k):
    report = make_report(by_k[12][0], X, by_k[12][1])
    assert report.to_dict()["scenario"] is report.to_dict()["risk"]["is_acceptable"] is None
    assert "No threshold was set" in report.to_html()
    assert "at least 12 records" in report.to_html()


def test_columns_have_roles_techniques_and_reasons(by_k):
    scenario = Scenario(reasons={"x0": "in registers", "name": "identifies"})
    about = {"dropped": ["name"], "scenario": scenario}
    report = make_report(by_k[12][0], X, by_k[12][1], **about)
    columns = [tuple(column.values())[:4] for column in report.to_dict()["columns"]]
    assert columns == [
        ("x0", "quasi-identifier", "mean of the group", "in registers"),
        ("x1", "quasi-identifier", "mean of the group", ""),
        ("name", "dropped", "removed", "identifies"),
    ]
    assert "in registers" in report.to_html()


def test_risks_before_are_those_of_equal_records():
    classes = np.repeat([0, 1, 2], [2, 6, 8])
    risks = measure_identity_risks(classes, None, None)
    assert risks.prosecutor.largest.text == "50.0%"
    assert risks.marketer.mean.value == pytest.approx(3 / 16)


def test_a_register_of_the_population_lowers_risks_and_one_person_raises_them():
    classes = np.repeat([0, 1], 10)
    risks = measure_identity_risks(classes, np.full(20, 50.0), None)
    assert risks.journalist.largest.value < risks.prosecutor.largest.value == 0.1
    raised = measure_identity_risks(classes, None, np.arange(20), least=0.305)
    assert raised.journalist.largest.value == 0.305
    assert not raised.is_acceptable(0.3)
    assert raised.is_acceptable(0.305)
