"""Reports in a browser: self-contained, and no wider than the screen."""

import json
import re
from html import escape

import numpy as np
import pandas as pd
import pytest
from browsers import IN_A_BROWSER, WIDTHS, browse, run_browser
from example_tables.patients import draw
from marks import case, in_one_case

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.privacy import LDiversity
from sk_microagg.refiners import IteratedLocalSearch
from sk_microagg.report import make_report

pytestmark = IN_A_BROWSER

# What is left of an A4 page between margins of 16 mm, at 96 pixels an inch.
PAGE_WIDTH, PAGE_HEIGHT = 672, 1001

# Heights of pages, so that pages end everywhere in a section.
HEIGHTS = range(620, PAGE_HEIGHT, 20)

NAMES = ["numbers", "generalized", "sensitive", "mixed"]
ON_PAPER = ["printed", "on pages"]

# A frame can be as narrow as needed; a window has a minimum width. Browsers start slowly, so all
# frames are in one page. Its title says what was measured in each.
FRAMES = """<!doctype html><title>not measured</title>
<script>
const seen = {{}};
document.addEventListener("load", ({{target: frame}}) => {{
  if (frame.tagName !== "IFRAME") return;
  const measure = frame.name.endsWith(" on pages") ? onPages : onScreen;
  seen[frame.name] = measure(frame.contentDocument, frame.clientWidth);
  if (Object.keys(seen).length === {n_frames}) document.title = JSON.stringify(seen);
}}, true);
{functions}
</script>
{frames}"""
FRAME = """<iframe name="{name}" width="{width}" height="800" style="border: 0"
srcdoc="{page}"></iframe>"""

ON_A_SCREEN = """function onScreen(page, width) {
  const right = element => element.getBoundingClientRect().right;
  const beyond = [...page.body.querySelectorAll("*")].filter(e => right(e) > width + 0.5);
  const names = beyond.map(e => e.tagName + " " + e.textContent.slice(0, 40));
  const text = getComputedStyle(page.querySelector("figure text"));
  return {
    width: page.documentElement.scrollWidth,
    beyond: names,
    isWhole: page.body.textContent.includes("How to reproduce it"),
    pictures: page.querySelectorAll("svg").length,
    firstPage: page.querySelector(".first-page")?.getBoundingClientRect().bottom,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    paper: getComputedStyle(page.body).backgroundColor,
    ink: text.fill,
    inks: [...new Set([...page.querySelectorAll("svg *")].flatMap(e => {
      const style = getComputedStyle(e);
      return [style.fill, style.stroke];
    }))],
  };
}"""

# Columns of text break as pages do, but a script can see where.
ON_PAGES = """function onPages(page, width) {
  const main = page.querySelector("main");
  const pageOf = rect => Math.floor((rect.left + 1 - main.getBoundingClientRect().left) / width);
  const pagesOf = element => [...element.getClientRects()].map(pageOf);
  const follows = "h2 + *, h3 + *, p + h3, p + table, p + ul, p + .plots, p + p:has(+ .plots)";
  const torn = [];
  main.style.cssText = `columns: ${width}px; column-gap: 0; column-fill: auto; max-width: none`;
  for (const height of HEIGHTS) {
    main.style.height = height + "px";
    for (const next of page.querySelectorAll(`section > :is(${follows})`)) {
      const before = next.previousElementSibling;
      if (pagesOf(before).at(-1) !== pagesOf(next)[0]) torn.push(before.textContent.slice(0, 40));
    }
    for (const text of page.querySelectorAll("p, li, tr")) {
      if (new Set(pagesOf(text)).size > 1) torn.push(text.textContent.slice(0, 40));
    }
  }
  const nPages = Math.round(main.scrollWidth / width);
  return { torn: [...new Set(torn)], pages: nPages };
}""".replace("HEIGHTS", json.dumps([*HEIGHTS]))


def measure(pages, folder, *options):
    """Open pages in frames, given the path and width of each by name.

    Return what is measured of each, the messages logged and the addresses requested elsewhere.
    """
    frames = [
        FRAME.format(name=name, width=width, page=escape(path.read_text(encoding="utf-8")))
        for name, (path, width) in pages.items()
    ]
    window = folder / "frames.html"
    functions = ON_A_SCREEN + ON_PAGES
    window.write_text(
        FRAMES.format(n_frames=len(pages), frames="\n".join(frames), functions=functions),
        encoding="utf-8",
    )
    dom, messages, asked = browse(window.as_uri(), folder, *options)
    title = re.search(r"<title>(.*?)</title>", dom, flags=re.DOTALL)[1]
    return json.loads(title), messages, {one for one in asked if not one.startswith("file:")}


def measure_reports(*arguments):
    """Measure pages that must be self-contained, and log nothing."""
    seen, messages, asked = measure(*arguments)
    assert messages == []
    assert asked == set()
    return seen


@pytest.fixture(scope="module")
def reports(tmp_path_factory, small_attacks):
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
    formula = f"Q('cost in $ or $') ~ {long_name} + Q('<script>throw 1</script>')"
    title = f"Report on {long_name}"
    report = make_report(aggregator, table, release, title=title, analysis=formula)
    numbers = report.save(folder / "numbers.html")
    table = pd.DataFrame(
        {
            "age": rng.randint(90, size=60),
            "ward": rng.choice(["A", "a ward with quite a long name, for a ward"], size=60),
        }
    )
    kaim = KAIM(k=3, hierarchies={"ward": {"*": ["A", table["ward"].max()]}}, random_state=0)
    generalized = make_report(kaim, table, kaim.fit_transform(table)).save(folder / "kaim.html")
    return {
        "numbers": numbers,
        "generalized": generalized,
        "sensitive": _on_sensitive(long_name, folder),
        "mixed": _on_a_table(folder),
    }


def _on_a_table(folder):
    table = draw()
    aggregator = TableAggregator(
        k=4, drop="name", sensitive="diagnosis", categorical=["code"], privacy=LDiversity(2)
    )
    release = aggregator.fit_transform(table)
    settings = {"certificate": 0.1, "analysis": "income ~ age * C(ward) + smoker"}
    scenario = {"recipient": "University of Bonn", "reasons": {"age": "known to neighbors"}}
    long = make_report(aggregator, table, release, **settings, scenario=scenario)
    long.save(folder / "long.html")
    long.card().save(folder / "card.html")
    return make_report(aggregator, table, release, **settings).save(folder / "mixed.html")


def _on_sensitive(long_name, folder):
    rng = np.random.RandomState(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["age", "weight"])
    sensitive = pd.DataFrame({long_name: rng.randint(3, size=60), "<script>": range(60)})
    aggregator = MicroAggregator(k=3, privacy=LDiversity(2, column=long_name))
    release = aggregator.fit_transform(table, sensitive=sensitive)
    roles = {"sensitive": sensitive, "unit": rng.randint(30, size=60)}
    return make_report(aggregator, table, release, **roles).save(folder / "sensitive.html")


@pytest.fixture(scope="module")
def printed(reports, tmp_path_factory):
    """The pages with their style for paper also on a screen."""
    folder, pages = tmp_path_factory.mktemp("printed"), {}
    for name, page in reports.items():
        html = page.read_text(encoding="utf-8")
        assert "@media print" in html
        pages[name] = folder / page.name
        pages[name].write_text(html.replace("@media print", "@media all"), encoding="utf-8")
    return pages


@pytest.fixture(scope="module")
def seen(reports, printed, tmp_path_factory):
    """What is measured of each report at all widths and on paper, in light colors."""
    pages = {f"{name} {width}": (reports[name], width) for name in NAMES for width in WIDTHS}
    pages |= {f"{n} {how}": (printed[n], PAGE_WIDTH) for n in NAMES for how in ON_PAPER}
    return measure_reports(pages, tmp_path_factory.mktemp("seen"), in_colors(is_dark=False))


def in_colors(is_dark):
    return f"--blink-settings=preferredColorScheme={int(not is_dark)}"


def test_page_is_self_contained(seen):
    """Nothing was logged or requested when they were measured."""
    assert all(page["isWhole"] for name, page in seen.items() if not name.endswith(" on pages"))


@in_one_case("width", WIDTHS)
@in_one_case("name", NAMES)
def test_no_wider_than_the_screen(seen, name, width):
    page = seen[f"{name} {width}"]
    assert page["width"] == width
    assert page["beyond"] == []
    # Columns, at most three of them on the first page again, groups, search and certificate.
    n_pictures = {"numbers": 3 + 3 + 2, "generalized": 2 + 2 + 1, "sensitive": 2 + 2 + 1}
    assert page["pictures"] == (n_pictures | {"mixed": 6 + 3 + 2})[name]


@in_one_case("name", NAMES)
def test_first_page_is_one_page(seen, name):
    assert seen[f"{name} printed"]["firstPage"] <= PAGE_HEIGHT


def test_what_introduces_a_table_is_on_its_page(seen):
    on_pages = {name: seen[f"{name} on pages"] for name in NAMES}
    assert min(page["pages"] for page in on_pages.values()) >= 3
    assert {name: page["torn"] for name, page in on_pages.items()} == {name: [] for name in NAMES}


def n_pages(paper):
    return len(re.findall(rb"/Type /Page\b", paper.read_bytes()))


def test_six_columns_take_seven_pages_at_most_and_a_card_takes_one(reports, tmp_path):
    for name, most in (("long", 7), ("card", 1)):
        page = reports["mixed"].with_name(f"{name}.html")
        paper = tmp_path / f"{page.stem}.pdf"
        run_browser(tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={paper}", page.as_uri())
        assert 1 <= n_pages(paper) <= most


def test_paper_is_a4(reports, tmp_path):
    paper = tmp_path / "report.pdf"
    run_browser(tmp_path, f"--print-to-pdf={paper}", reports["numbers"].as_uri())
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", paper.read_bytes())
    assert len(boxes) > 3
    assert {(round(float(width)), round(float(height))) for width, height in boxes} == {(595, 842)}


@pytest.mark.parametrize("is_dark", [False, True])
def test_pictures_have_the_colors_of_the_page(reports, seen, tmp_path, is_dark):
    pages = {name: (page, 1280) for name, page in reports.items()}
    if is_dark:
        seen = measure_reports(pages, tmp_path, in_colors(is_dark))
    else:
        seen = {name: seen[f"{name} 1280"] for name in NAMES}
    for name, page in seen.items():
        if page["dark"] != is_dark:
            pytest.skip("this browser does not take the color scheme from its command line")
        with case(name):
            lightness = {key: np.mean(_channels(page[key])) for key in ("paper", "ink")}
            assert (lightness["paper"] < lightness["ink"]) == is_dark
            # No element kept the black of Matplotlib.
            assert "rgb(0, 0, 0)" not in page["inks"]


def _channels(color):
    return [int(channel) for channel in re.findall(r"\d+", color)[:3]]


def test_errors_requests_and_overflow_are_detected(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><script>console.error('boom')</script>"
        "<img src='https://example.invalid/x.png'>"
        "<figure><svg><text>x</text></svg></figure><p style='width: 500px'>wide",
        encoding="utf-8",
    )
    seen, messages, asked = measure({"bad": (page, 360), "good": (page, 600)}, tmp_path)
    assert any("boom" in message for message in messages)
    assert asked == {"https://example.invalid/x.png"}
    assert {name: page["beyond"] for name, page in seen.items()} == {"bad": ["P wide"], "good": []}
