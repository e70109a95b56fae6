"""The file of a report, which a notebook shows."""

import sys
from html import escape

if sys.platform == "win32":
    from pathlib import WindowsPath as SystemPath
else:
    from pathlib import PosixPath as SystemPath

# Nothing in a sandbox can run. Its style does not affect the notebook, nor the other way round.
FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox style="display: block; '
    "box-sizing: border-box; width: 100%; height: 42em; max-height: 85vh; "
    'border: 1px solid #8888; resize: vertical;"></iframe>'
)


class ReportPath(SystemPath):
    """The path of a report that was written: a path like any other, but notebooks show the report."""

    def _repr_html_(self) -> str | None:
        """The page in a frame; None if there is none, as with the folder of the report."""
        try:
            page = self.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        if not page.lower().startswith("<!doctype html>"):
            return None
        return FRAME.format(title=escape(self.name), page=escape(page))
