"""The documentation explains every section of a report, in its order."""

import re
from importlib.resources import files
from pathlib import Path

PAGE = Path(__file__).parents[2] / "doc" / "reading_the_report.rst"


def test_every_section_is_explained_in_its_order():
    templates = files("sk_microagg.report") / "templates"
    layout = (templates / "report.html").read_text(encoding="utf-8")
    parts = [
        (templates / name).read_text(encoding="utf-8")
        for name in re.findall(r'include "(\w+\.html)"', layout)
    ]
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", "".join(parts))
    explained = re.findall(r"^(.+)\n-{3,}$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(headings) > 5
    assert [title for title in explained if title in headings] == headings
