"""A notebook shows the report that was made."""

import copy
import pickle
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from sk_microagg import MicroAggregator
from sk_microagg.report import make_report
from sk_microagg.report._report import ReportPath

# Hostile in HTML, as far as files can have such names.
NAME = "'&.html" if sys.platform == "win32" else "\"><b>'&.html"
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
def path(tmp_path_factory):
    aggregator = MicroAggregator(k=4)
    release = aggregator.fit_transform(X)
    path = tmp_path_factory.mktemp("reports") / NAME
    return make_report(X, release, aggregator, path, title="<b>\"'&amp;")


@pytest.mark.slow
def test_the_report_is_shown_in_a_frame_of_its_own(path):
    ((tag, frame),) = Frames(path._repr_html_()).tags
    assert tag == "iframe"
    assert frame["srcdoc"] == path.read_text(encoding="utf-8")
    assert frame["sandbox"] is None  # Nothing is allowed in it.
    assert frame["title"] == NAME
    assert "src" not in frame


def test_it_is_still_a_path(path):
    plain = Path(str(path))
    assert isinstance(path, Path)
    assert path == plain
    assert {path: 1}[plain] == 1
    assert path.with_suffix(".css").suffix == ".css"
    assert str(path.parent / "x") == str(plain.parent / "x")
    for other in (pickle.loads(pickle.dumps(path)), copy.deepcopy(path)):
        assert other == plain
        assert other._repr_html_() == path._repr_html_()


@pytest.mark.parametrize("content", [None, b"", b"a;b\n1;2\n", b"\xff\xfe\x00"])
def test_nothing_is_shown_of_what_is_no_report(content, tmp_path):
    path = ReportPath(tmp_path, "report.html")
    if content is not None:
        path.write_bytes(content)
    assert path._repr_html_() is None


def test_nothing_is_shown_of_a_folder(tmp_path):
    assert ReportPath(tmp_path)._repr_html_() is None
