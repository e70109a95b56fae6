"""A report on a release, for those who are to approve it."""

from sk_microagg.report._report import make_report

__all__ = ["make_report"]
