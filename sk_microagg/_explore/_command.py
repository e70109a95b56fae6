"""The command `explore`."""

import sys
import webbrowser
from argparse import Namespace

from sk_microagg._cli._terminal import CommandProgress
from sk_microagg._utils._formatting import printable
from sk_microagg._utils._tables import check_report_extra
from sk_microagg.files._format import is_standard, suffix_of_input
from sk_microagg.files._messages import RequestError


def explore(options: Namespace) -> None:
    """Read a table, and serve the page until it is closed."""
    _check(options)
    from sk_microagg._explore._page_table import OpenTable
    from sk_microagg._explore._server import Server

    with CommandProgress(is_wanted=True) as progress:
        progress.show(f"reading {options.input}")
        table = OpenTable(options)

    def on_start(address: str, address_for_browser: str) -> None:
        print(f"{printable(options.input)} is open at {address}", flush=True)
        print("Only this machine can see it. Ctrl-C ends it, or closing the page.", flush=True)
        if not options.no_browser:
            webbrowser.open(address_for_browser)

    try:
        Server(table, on_start).serve_page()
    except KeyboardInterrupt:
        print(file=sys.stderr)


def _check(options: Namespace) -> None:
    """Raise for all that can be known before reading."""
    if is_standard(options.input):
        text = "explore reads a file, since release and report are written next to it."
        raise RequestError("no_file", text)
    suffix_of_input(options.input)
    try:
        check_report_extra()
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        text = "explore needs a server: install sk-microagg[explore]."
        raise RequestError("missing_extra", text) from error
