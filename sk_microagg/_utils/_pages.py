"""Names of pages of HTML, which reports are."""

from pathlib import Path

from sk_microagg._utils._typing import FilePath

SUFFIXES_OF_PAGES = (".html", ".htm")


def check_page_name(path: FilePath, named: str) -> None:
    """Raise unless a report is named like the page of HTML that it is."""
    if Path(path).suffix.lower() not in SUFFIXES_OF_PAGES:
        raise ValueError(
            f"{named} must end in {' or '.join(SUFFIXES_OF_PAGES)}: reports are written as HTML. A "
            "browser prints them as PDF."
        )
