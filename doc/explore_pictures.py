"""Take the pictures of explore.rst again: `python doc/explore_pictures.py`.

It follows the tour on that page, in a browser, and writes doc/explore_*.png. It needs
sk-microagg[explore], Playwright, Pillow, and a browser on the PATH.
"""

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect, sync_playwright

DOC = Path(__file__).parent
sys.path.insert(0, str(DOC.parent / "tests"))
from browsers import BROWSER  # noqa: E402

WIDTH = 1024
SCALE = 1.5
N_COLORS = 128
MARGIN = 16  # above and below what is shown
SECONDS = 120

# Shown instead of the folder that the table is in while the pictures are taken.
FOLDER = "/home/ann/data"


def main():
    """Take the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        _sk_microagg(folder, "demo", "--write", "visits.csv").wait()
        with _served(folder) as address, _opened(address) as page:
            _take_tour(page)


def _take_tour(page):
    page.locator("[data-column='5'] select[name=role]").select_option("sensitive")
    _wait(page)
    _take(page, "columns", "#columns-title", "#weight-note")
    _take(page, "preview", "#results-title", "#curve", "#groups")
    page.locator("#l").select_option("3")
    _wait(page)
    _take(page, "settings", "#settings-title", "#time-limit-words")
    _take(page, "sensitive", "h3:has-text('Sensitive columns')", "#sensitive")
    _take(page, "before_after", "h3:has-text('Every column')", "#before-after")
    page.locator("#certificate-start").click()
    expect(page.locator("#certificate-start")).to_be_visible()
    page.wait_for_timeout(1000)
    _take(page, "certificate", "#certificate-title", "#certificate")
    _take(page, "export", "#export-title", "#export-start")


def _wait(page):
    """Wait until preview and curve are those of the settings."""
    page.wait_for_timeout(1000)  # A change is noticed after a moment.
    expect(page.locator("#preview-state")).to_have_text("up to date")
    expect(page.locator("#curve-progress")).to_contain_class("idle")


def _take(page, name, *places):
    """Take a picture of the page, from top to bottom of some elements."""
    page.evaluate("scrollTo(0, 0)")
    boxes = [page.locator(place).bounding_box() for place in places]
    top = min(box["y"] for box in boxes) - MARGIN
    height = max(box["y"] + box["height"] for box in boxes) + MARGIN - top
    clip = {"x": 0, "y": top, "width": WIDTH, "height": height}
    taken = Image.open(BytesIO(page.screenshot(clip=clip, full_page=True))).convert("RGB")
    taken.quantize(N_COLORS).save(DOC / f"explore_{name}.png", optimize=True)


def _sk_microagg(folder, *arguments):
    command = [sys.executable, "-m", "sk_microagg", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


@contextmanager
def _served(folder):
    """Serve the table; yield the address of the page."""
    server = _sk_microagg(folder, "explore", "visits.csv", "--no-browser")
    try:
        yield server.stdout.readline().split()[-1]
    finally:
        server.terminate()
        server.wait()


@contextmanager
def _opened(address):
    """Open the page in a browser; yield it when all of it is computed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": 900},
            device_scale_factor=SCALE,
            color_scheme="light",
            reduced_motion="reduce",
        )
        expect.set_options(timeout=1000 * SECONDS)
        page.goto(address)
        _wait(page)
        page.locator("#folder").evaluate(f"element => element.textContent = '{FOLDER}'")
        page.locator("#bar").evaluate("element => element.style.position = 'static'")
        yield page
        browser.close()


if __name__ == "__main__":
    main()
