"""A report on a release, for those who have to approve it, and the card to publish with it.

`_sections.py` says what a report consists of, `_facts.py` measures it, and the files in `templates`
lay it out as a page; the document is made of the same sections. `look.css` and `report.css` there
are the look of the page.
"""

from sk_microagg.report._card import ReleaseCard
from sk_microagg.report._report import Report, make_report
from sk_microagg.report._scenario import Scenario
from sk_microagg.report._schema import report_schema

__all__ = ["ReleaseCard", "Report", "Scenario", "make_report", "report_schema"]
