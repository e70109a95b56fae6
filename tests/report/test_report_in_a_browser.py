"""Reports in a browser: self-contained, and no wider than the screen."""

import json
import re
import shutil
import subprocess
from html import escape

import numpy as np
import pandas as pd
import pytest

from sk_microagg import KAIM, MicroAggregator
from sk_microagg.privacy import LDiversity
from sk_microagg.refiners import IteratedLocalSearch
from sk_microagg.report import make_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason=f"needs one of {', '.join(BROWSERS)} on the PATH"),
]

# A frame can be as narrow as needed; a window has a minimum width.
FRAME = """<!doctype html><title>not measured</title>
<iframe width="{width}" height="800" style="border: 0" srcdoc="{page}"></iframe>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {{
  const page = frame.contentDocument;
  const right = element => element.getBoundingClientRect().right;
  const beyond = [...page.body.querySelectorAll("*")].filter(e => right(e) > {width} + 0.5);
  const names = beyond.map(e => e.tagName + " " + e.textContent.slice(0, 40));
  const text = getComputedStyle(page.querySelector("figure text"));
  document.title = JSON.stringify({{
    width: page.documentElement.scrollWidth,
    beyond: names,
    pictures: page.querySelectorAll("svg").length,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    paper: getComputedStyle(page.body).backgroundColor,
    ink: text.fill,
    inks: [...new Set([...page.querySelectorAll("svg *")].flatMap(e => {{
      const style = getComputedStyle(e);
      return [style.fill, style.stroke];
    }}))],
  }});
}});
</script>"""


def browse(path, folder, *options):
    """Open a page; return its DOM, the messages logged and the addresses requested."""
    net_log = folder / "net.json"
    done = subprocess.run(
        [
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
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            "--enable-logging=stderr",
            "--v=0",
            f"--log-net-log={net_log}",
            "--virtual-time-budget=5000",
            *options,
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
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


def measure(page, width, folder, *options):
    """Open a page in a frame of the given width; return the measurements."""
    frame = folder / "frame.html"
    html = page.read_text(encoding="utf-8")
    frame.write_text(FRAME.format(width=width, page=escape(html)), encoding="utf-8")
    dom, messages, _ = browse(frame, folder, *options)
    assert messages == []
    title = re.search(r"<title>(.*?)</title>", dom, flags=re.DOTALL)[1]
    return json.loads(title)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports on numbers and on a mixed table, with long and odd names."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.RandomState(0)
    long_name = "a_name_without_a_place_to_break_it_that_is_much_longer_than_a_phone_is_wide"
    table = pd.DataFrame(
        {
            long_name: rng.lognormal(8, 2, size=120),
            "<script>throw 1</script>": rng.randint(90, size=120),
            "cost in $ or $": rng.normal(size=120) * 1e9,
        }
    )
    search = IteratedLocalSearch(max_iter=30)
    aggregator = MicroAggregator(k=3, refiner=search, random_state=0)
    release = aggregator.fit_transform(table)
    numbers = make_report(
        table, release, aggregator, folder / "numbers.html", title=f"Report on {long_name}"
    )
    table = pd.DataFrame(
        {
            "age": rng.randint(90, size=60),
            "ward": rng.choice(["A", "a ward with quite a long name, for a ward"], size=60),
        }
    )
    kaim = KAIM(k=3, hierarchies={"ward": {"*": ["A", table["ward"].max()]}}, random_state=0)
    mixed = make_report(table, kaim.fit_transform(table), kaim, folder / "mixed.html")
    return {"numbers": numbers, "mixed": mixed, "sensitive": _on_sensitive(long_name, folder)}


def _on_sensitive(long_name, folder):
    rng = np.random.RandomState(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["age", "weight"])
    sensitive = pd.DataFrame({long_name: rng.randint(3, size=60), "<script>": range(60)})
    aggregator = MicroAggregator(k=3, privacy=LDiversity(2, column=long_name))
    release = aggregator.fit_transform(table, sensitive=sensitive)
    roles = {"sensitive": sensitive, "unit": rng.randint(30, size=60)}
    return make_report(table, release, aggregator, folder / "sensitive.html", **roles)


@pytest.mark.parametrize("name", ["numbers", "mixed", "sensitive"])
def test_page_is_self_contained(reports, tmp_path, name):
    dom, messages, asked = browse(reports[name], tmp_path)
    assert "How to reproduce it" in dom
    assert messages == []
    assert {address for address in asked if not address.startswith("file:")} == set()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["numbers", "mixed", "sensitive"])
def test_no_wider_than_the_screen(reports, tmp_path, name, width):
    seen = measure(reports[name], width, tmp_path)
    assert seen["width"] == width
    assert seen["beyond"] == []
    assert seen["pictures"] == {"numbers": 5, "mixed": 1, "sensitive": 3}[name]


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("name", ["numbers", "mixed"])
def test_pictures_have_the_colors_of_the_page(reports, tmp_path, name, is_dark):
    options = [f"--blink-settings=preferredColorScheme={int(not is_dark)}"]
    seen = measure(reports[name], 1280, tmp_path, *options)
    if seen["dark"] != is_dark:
        pytest.skip("this browser does not take the color scheme from its command line")
    lightness = {key: np.mean(_channels(seen[key])) for key in ("paper", "ink")}
    assert (lightness["paper"] < lightness["ink"]) == is_dark
    # No element kept the black of Matplotlib.
    assert "rgb(0, 0, 0)" not in seen["inks"]


def _channels(color):
    return [int(channel) for channel in re.findall(r"\d+", color)[:3]]


def test_errors_requests_and_overflow_are_detected(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><script>console.error('boom')</script>"
        "<img src='https://example.invalid/x.png'>",
        encoding="utf-8",
    )
    _, messages, asked = browse(page, tmp_path)
    assert any("boom" in message for message in messages)
    assert asked == {"https://example.invalid/x.png"}
    page.write_text("<figure><svg><text>x</text></svg></figure><p style='width: 500px'>wide")
    assert measure(page, 360, tmp_path)["beyond"] == ["P wide"]
