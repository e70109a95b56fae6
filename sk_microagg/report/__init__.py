"""A report on a release, for those who have to approve it.

Facts are measured in `_facts.py` and plots are drawn in `_figures.py`; the files in `templates` lay
them out. `look.css` and `report.css` there are the look of the page, and each section has its own
template. `_page.py` has the same facts as JSON, whose schema is `schema.json`.
"""

from sk_microagg.report._report import Report, make_report
from sk_microagg.report._scenario import Scenario

__all__ = ["Report", "Scenario", "make_report"]
