"""A notebook shows the report that was made."""

import copy
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

from sk_microagg import MicroAggregator
from sk_microagg.report import make_report

TITLE = "<b>\"'&amp;"  # hostile in HTML
X = np.random.default_rng(0).normal(size=(60, 2))


class Frames(HTMLParser):
    """All tags of a page, with their attributes."""

    def __init__(self, html):
        super().__init__()
        self.tags = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


@pytest.fixture(scope="module")
def report(small_attacks):
    aggregator = MicroAggregator(k=4)
    return make_report(aggregator, X, aggregator.fit_transform(X), title=TITLE)


@pytest.mark.slow
def test_the_report_is_shown_in_a_frame_of_its_own(report, tmp_path):
    ((tag, frame),) = Frames(report._repr_html_()).tags
    assert tag == "iframe"
    assert frame["srcdoc"] == report.to_html()
    assert frame["sandbox"] is None  # Nothing is allowed in it.
    assert frame["title"] == TITLE
    assert "src" not in frame
    assert report.save(tmp_path / "r.html").read_text(encoding="utf-8") == report.to_html()


@pytest.mark.slow
def test_a_report_holds_no_record_and_can_be_copied(report):
    stored = pickle.dumps(report)
    assert X[0].tobytes() not in stored
    for other in (pickle.loads(stored), copy.deepcopy(report)):
        assert other._repr_html_() == report._repr_html_()
        assert other.to_dict() == report.to_dict()


@pytest.mark.slow
def test_what_is_returned_can_be_changed(report):
    report.to_dict()["records"] = 0
    assert report.to_dict()["records"] == 60
