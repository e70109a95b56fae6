"""The documentation in a browser: no page is wider than the screen, and no code is cut."""

import json
import re
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest
from browsers import IN_A_BROWSER, WIDTHS, open_page

# For all pages, also on a busy machine.
SECONDS = 500

BUILT = Path(__file__).parents[1] / "doc" / "_build" / "html"

pytestmark = [
    *IN_A_BROWSER,
    pytest.mark.skipif(
        not (BUILT / "index.html").exists(),
        reason="needs the documentation: sphinx-build -W -j 2 doc doc/_build/html",
    ),
]

# Opens one page after the other, since each of them loads a theme, and measures it at all widths.
FRAME = """<!doctype html><iframe height="800"></iframe>
<script>
const frame = document.querySelector("iframe");
const pages = PAGES, widths = WIDTHS, seen = {};
for (const width of widths) seen[width] = {};
function open(number) {
  if (number === pages.length) {
    fetch("/seen", {method: "POST", body: JSON.stringify(seen)});
    return;
  }
  frame.onload = () => {
    const page = frame.contentDocument;
    const links = [...page.querySelectorAll(".bd-header .navbar-header-items .nav-item")];
    for (const width of widths) {
      frame.width = width;
      seen[width][pages[number]] = {
        width: page.documentElement.scrollWidth,
        // What is cut, and cannot be scrolled to either.
        cut: [...page.querySelectorAll("pre")].filter(e => e.scrollWidth > e.clientWidth + 1
          && !["auto", "scroll"].includes(frame.contentWindow.getComputedStyle(e).overflowX)
        ).length,
        scrolled: [...page.querySelectorAll("pre")]
          .filter(e => e.scrollWidth > e.clientWidth + 1).length,
        rows: new Set(links.map(e => Math.round(e.getBoundingClientRect().bottom / 20))).size,
        header: page.querySelector(".bd-header")?.getBoundingClientRect().height,
      };
    }
    open(number + 1);
  };
  frame.src = pages[number];
}
open(0);
</script>"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Measurements of all pages in a frame, by its width."""
    folder = tmp_path_factory.mktemp("documentation")
    pages = sorted(
        str(page.relative_to(BUILT))
        for page in [*BUILT.glob("*.html"), *BUILT.glob("auto_examples/*.html")]
    )
    # One page of the reference is like all others.
    pages += ["generated/sk_microagg.TableAggregator.html"]
    frame = FRAME.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))

    with _served(frame) as (address, answers), open_page(folder, address):
        by_width = json.loads(answers.get(timeout=SECONDS))
    return {int(width): by_page for width, by_page in by_width.items()}


@contextmanager
def _served(frame):
    """Serve the documentation and the frame; yield its address, and a queue of what it posts."""
    answers = Queue()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/frame":
                return super().do_GET()
            return self._answer(frame.encode())

        def do_POST(self):
            answers.put(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(b"")

        def _answer(self, content):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=BUILT)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/frame", answers
        finally:
            server.shutdown()


def test_no_page_is_wider_than_the_screen(seen):
    assert list(seen) == list(WIDTHS)
    for width, pages in seen.items():
        assert len(pages) > 20
        assert {name: page["width"] for name, page in pages.items() if page["width"] > width} == {}


def test_no_code_is_cut(seen):
    for width, pages in seen.items():
        assert [name for name, page in pages.items() if page["cut"]] == [], width
    pages = seen[max(WIDTHS)]
    assert [name for name, page in pages.items() if page["scrolled"]] == []


def test_navigation_is_one_row(seen):
    pages = seen[max(WIDTHS)]
    assert {page["rows"] for page in pages.values()} == {1}
    assert max(page["header"] for page in pages.values()) < 90


def test_a_first_release_comes_first():
    gallery = (BUILT / "auto_examples" / "index.html").read_text(encoding="utf-8")
    titles = re.findall(r'<div class="sphx-glr-thumbnail-title">([^<]*)</div>', gallery)
    assert titles[0] == "A first release"
    assert len(titles) > 10
