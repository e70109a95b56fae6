"""Pages in a real browser, which must be installed: no test downloads one."""

import json
import shutil
import subprocess
from contextlib import contextmanager

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
IN_A_BROWSER = [
    pytest.mark.slow,
    pytest.mark.first,
    pytest.mark.skipif(BROWSER is None, reason=f"needs one of {', '.join(BROWSERS)} on the PATH"),
]

# A phone, a tablet and a laptop.
WIDTHS = (390, 768, 1280)


def _command(folder):
    """A browser without windows that reaches no other machine."""
    return [
        BROWSER,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={folder / 'profile'}",
    ]


def run_browser(folder, *options):
    """Run a browser to its end; return what it writes."""
    return subprocess.run(
        [*_command(folder), *options],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=True,
    )


@contextmanager
def open_page(folder, address):
    """Open a page in a browser, and close it at the end."""
    process = subprocess.Popen(
        [*_command(folder), address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def browse(address, folder, *options):
    """Open a page; return its DOM, the messages logged and the addresses requested."""
    net_log = folder / "net.json"
    done = run_browser(
        folder,
        "--enable-logging=stderr",
        "--v=0",
        f"--log-net-log={net_log}",
        "--virtual-time-budget=5000",
        *options,
        "--dump-dom",
        address,
    )
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    parameters = [event.get("params", {}) for event in json.loads(net_log.read_text())["events"]]
    # Requests of the browser itself do not count.
    asked = {
        parameter["url"]
        for parameter in parameters
        if parameter.get("initiator", "not an origin") != "not an origin"
    }
    return done.stdout, messages, asked
