"""The page in a real browser, as people use it."""

import csv
import shlex
import shutil

import pytest
from browsers import BROWSER, IN_A_BROWSER
from servers import PATIENT, serve

from sk_microagg.cli import main

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser")

pytestmark = IN_A_BROWSER

# Little memory may be shared between processes.
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
WIDTHS = (390, 768, 1280, 1600)
# Milliseconds: far more than anything takes here, even on a busy machine.
TIMEOUT = 120_000
HACK = "<img src=x onerror=document.title='hacked'>"
SCRIPT = "<script>document.title='hacked'</script>"
FILE, RELEASE, REPORT = (f"<b>hostile'&{end}" for end in (".csv", "_release.csv", "_report.html"))
NAMES = [HACK, SCRIPT, "long " * 100, "\u202eright to left", "😀 患者", "javascript:alert(1)"]

# Whether the characters of an element are seen in their order.
IN_ORDER = """element => {
  const range = document.createRange();
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let before = null;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let i = 0; i < node.length; i += 1) {
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const { left, bottom, width } = range.getBoundingClientRect();
      if (width === 0) continue;
      if (before && bottom < before.bottom + 5 && left < before.left) return false;
      before = { left, bottom };
    }
  }
  return true;
}"""

# Options of a command that are broken into several lines.
BROKEN_OPTIONS = """element => [...element.querySelectorAll(".word")]
  .filter(word => word.textContent.startsWith("--") && word.textContent.length < 30)
  .filter(word => {
    const lineHeight = 1.8 * parseFloat(getComputedStyle(word).fontSize);
    return word.getClientRects()[0].height > lineHeight;
  })
  .map(word => word.textContent)"""

# Names of controls without a label, as assistive technology sees them.
UNLABELED = """() => [...document.querySelectorAll("input, select, button, textarea, summary")]
  .filter(e => e.checkVisibility())
  .filter(e => !(e.labels?.length ? [...e.labels].some(l => l.textContent.trim()) : false)
    && !(e.getAttribute("aria-label") ?? "").trim() && !e.textContent.trim())
  .map(e => e.outerHTML)"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        yield browser
        browser.close()


class Tab:
    """A page of a browser, and all that went wrong on it."""

    def __init__(self, browser, address, **settings):
        # No time is spent on frames in between.
        self.context = browser.new_context(reduced_motion="reduce", **settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.problems, self.requested = [], set()
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else 0)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requested.add(request.url))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        self.page.goto(address)
        self.address = address

    def role(self, number):
        return self.page.locator(f'#columns [data-column="{number}"] select[name=role]')

    def figure(self, name):
        return self.page.locator(f"#figures [data-figure={name}] dd").first.inner_text()

    def wait_for_preview(self):
        self.page.wait_for_selector("#preview-state[data-state=up]")

    def wait_for_curve(self):
        self.page.wait_for_selector("#curve-cancel", state="hidden")

    def change(self, action):
        """Do something that makes the preview old, and wait for the new one."""
        action()
        self.page.wait_for_selector("#preview.stale")
        self.wait_for_preview()

    def close(self):
        """Close the tab; nothing must have gone wrong."""
        self.context.close()
        assert self.problems == []
        elsewhere = [u for u in self.requested if not u.startswith((self.address, "data:"))]
        assert elsewhere == []


@pytest.fixture
def open_tab(browser):
    tabs = []

    def open_tab(address, **settings):
        tabs.append(Tab(browser, address, **settings))
        return tabs[-1]

    yield open_tab
    for tab in tabs:
        tab.context.close()


@pytest.fixture
def here(tmp_path, visits):
    shutil.copy(visits, tmp_path)
    return tmp_path


# As soon as there is something to cancel: on a busy machine, the curve may be complete before a
# test sees it.
CANCEL_THE_NEXT_CURVE = """() => {
  const button = document.getElementById("curve-cancel");
  const watch = new MutationObserver(() => {
    if (button.hidden) return;
    watch.disconnect();
    button.click();
  });
  watch.observe(button, { attributes: true });
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of a table with a hostile name and content, which the last test here changes."""
    values = ["x" * 500, "\u202eabc", "😀"]
    rows = [[f"{i % 2}{HACK}", f"{i % 2}{SCRIPT}", *values, f"{i}"] for i in range(40)]
    folder = tmp_path_factory.mktemp("hostile")
    with open(folder / FILE, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows])
    with serve(FILE, code=PATIENT, cwd=folder) as server:
        server.folder = folder
        yield server


def test_hostile_names_and_values_are_text(open_tab, server):
    tab = open_tab(server.address)
    tab.wait_for_preview()
    roles = {0: "sensitive", 1: "stratum", 3: "drop"}
    tab.change(lambda: [tab.role(i).select_option(role) for i, role in roles.items()])
    tab.wait_for_curve()
    page = tab.page
    page.click("#export-start")
    page.wait_for_selector("#exported .verdict")
    shown = page.locator("body").inner_text()
    for text in (HACK, SCRIPT, "javascript:alert(1)"):
        assert text in shown
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == 1
    assert page.locator("[onerror], [onload], [onclick]").count() == 0
    assert page.title().startswith(FILE)
    assert page.evaluate(UNLABELED) == []
    assert overflow(page, 390) == []
    command = page.locator("#command")
    assert "\u202eright to left" in command.inner_text()
    for shown in (command, page.locator("#exported code")):
        assert shown.evaluate(IN_ORDER)
        assert shown.locator(".word", has_text="--report").count() == 1
        assert shown.evaluate(BROKEN_OPTIONS) == []
    assert (server.folder / REPORT).exists()
    with page.expect_popup() as opened:
        page.click("#open-report")
    for text in (FILE, HACK, "javascript:alert(1)"):
        assert text in opened.value.locator("body").inner_text()
    assert "hacked" not in opened.value.title()
    opened.value.close()
    tab.close()


def test_from_the_table_to_the_release(open_tab, server, visits, tmp_path, monkeypatch):
    here, there = server.folder, tmp_path
    for folder in (here, there):
        shutil.copy(visits, folder / FILE)
    (here / RELEASE).unlink(missing_ok=True)
    assert server.post("reload", {}).status == 200
    tab = open_tab(server.address)
    page = tab.page
    tab.wait_for_preview()
    assert page.locator("#columns > li").count() == 6
    assert page.locator("#rows-table").inner_text().count("P00") == 8
    tab.change(lambda: tab.role(5).select_option("sensitive"))
    assert "diagnosis" in page.locator("#sensitive").inner_text()
    before = tab.figure("groups"), tab.figure("loss"), tab.figure("expected_matches")
    tab.change(lambda: page.fill("#k", "10"))
    after = tab.figure("groups"), tab.figure("loss"), tab.figure("expected_matches")
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert int(after[0]) < int(before[0])
    assert int(tab.figure("smallest")) >= 10
    page.evaluate(CANCEL_THE_NEXT_CURVE)
    tab.change(lambda: [page.select_option("#l", "3"), page.select_option("#t", "0.4")])
    assert page.locator("#privacy li").count() >= 2
    page.wait_for_selector("#curve-start", state="visible")
    assert "Canceled" in page.locator("#curve-state").inner_text()
    page.uncheck("#report-wanted")
    # The command on the page, the release by the button, and the same in a terminal.
    shown = page.locator("#command")
    sync_api.expect(shown).not_to_contain_text("--report", timeout=TIMEOUT)
    command = shlex.split(shown.inner_text())
    assert command[0] == "sk-microagg"
    page.click("#export-start")
    page.wait_for_selector("#exported .verdict")
    assert RELEASE in page.locator("#exported").inner_text()
    monkeypatch.chdir(there)
    assert main(command[1:]) == 0
    release = (here / RELEASE).read_bytes()
    assert release == (there / RELEASE).read_bytes()
    # Loading the page again keeps what was chosen.
    page.reload()
    tab.wait_for_preview()
    assert (page.input_value("#k"), page.input_value("#l")) == ("10", "3")
    assert tab.role(5).input_value() == "sensitive"
    # The same once more: it asks first.
    page.wait_for_selector("#overwrite-part", state="visible")
    assert page.locator("#export-start").is_disabled()
    (here / RELEASE).write_text("mine")
    assert RELEASE in page.locator("#overwrite-words").inner_text()
    page.check("#overwrite")
    page.wait_for_selector("#export-start:enabled")
    page.click("#export-start")
    sync_api.expect(page.locator("#export-state")).to_have_text(
        "The release is written.", timeout=TIMEOUT
    )
    assert (here / RELEASE).read_bytes() == release
    # Another tab has its own choices.
    other = open_tab(server.address)
    other.wait_for_preview()
    assert other.page.input_value("#k") == "5"
    assert page.input_value("#k") == "10"
    # The server is ended in the terminal.
    server.process.send_signal(2)
    for one in (page, other.page):
        one.wait_for_selector("#connection [data-kind=error]")
        assert "ended in the terminal" in one.locator("#connection").inner_text()
        assert one.locator("#k").is_disabled()
    assert server.process.wait(30) == 0
    tab.close()
    other.close()


@pytest.mark.release
def test_names_of_people_have_a_hint(open_tab, tmp_path):
    with open(tmp_path / "visits.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["patient", "age"], *[[f"Anna {i % 40}", i % 9] for i in range(320)]]
        )
    with serve("visits.csv", "--no-preview", cwd=tmp_path) as server:
        tab = open_tab(server.address)
        tab.wait_for_preview()
        assert "Anna" not in tab.page.inner_text("body")
        assert "average of a group of similar records" in tab.page.inner_text("#preview-note")
        hint = tab.page.locator('[data-column="0"] .hint')
        assert "if they name people" in hint.inner_text()
        tab.role(0).select_option("unit")
        sync_api.expect(hint).to_be_hidden(timeout=TIMEOUT)
        tab.close()


def test_weights_in_the_release(open_tab, tmp_path):
    with open(tmp_path / "survey.csv", "w", encoding="utf-8", newline="") as file:
        rows = [[20 + i * 7 % 60, i % 5, [8.5, 20, 31][i % 3]] for i in range(120)]
        csv.writer(file).writerows([["age", "children", "weight"], *rows])
    with serve("survey.csv", "--no-preview", cwd=tmp_path) as server:
        tab = open_tab(server.address)
        chosen, command = tab.page.locator("#weight-release"), tab.page.locator("#command")
        sync_api.expect(chosen).to_be_disabled(timeout=TIMEOUT)
        reason = tab.page.locator("#weight-release-reason")
        sync_api.expect(reason).to_have_text(
            "Give a column the role Weight first.", timeout=TIMEOUT
        )
        tab.role(2).select_option("weight")
        sync_api.expect(chosen).to_be_enabled(timeout=TIMEOUT)
        sync_api.expect(command).to_contain_text("--weight=weight", timeout=TIMEOUT)
        assert "--weight-release" not in command.inner_text()
        chosen.select_option("mean")
        sync_api.expect(command).to_contain_text("--weight-release mean", timeout=TIMEOUT)
        tab.role(2).select_option("keep")  # What was chosen for a weight no longer matters.
        sync_api.expect(command).not_to_contain_text("--weight-release", timeout=TIMEOUT)
        tab.close()


@pytest.mark.release
def test_an_end_in_the_terminal_while_files_are_written(open_tab, here):
    with serve("visits.csv", cwd=here) as server:
        tab = open_tab(server.address)
        page = tab.page
        tab.wait_for_preview()
        page.select_option("#time-limit", "300")
        page.wait_for_selector("#export-start:enabled")
        page.click("#export-start")
        sync_api.expect(page.locator("#export-time")).to_contain_text("so far", timeout=TIMEOUT)
        server.process.send_signal(2)
        page.wait_for_selector("#connection [data-kind=error]")
        assert server.process.wait(30) == 0
        page.wait_for_timeout(1000)  # A change is checked after less.
        assert page.inner_text("#preview-state") == "ended in the terminal"
        assert page.inner_text("#export-state") == "Canceled. No file was written."
        assert page.inner_text("#export-time") == ""
        assert "does not answer" not in page.inner_text("body")
        tab.close()


@pytest.mark.release
def test_a_column_that_is_not_clear(open_tab, tmp_path):
    rows = [[i % 9, i % 7] for i in range(40)]
    with open(tmp_path / "odd.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["x", "odd"], ["1", "much"], *rows])
    with serve("odd.csv", cwd=tmp_path) as server:
        tab = open_tab(server.address)
        message = tab.page.locator("#messages")
        problem = tab.page.locator('[data-column="1"] .problem')
        for role in ("quasi_identifier", "sensitive"):
            tab.role(1).select_option(role)
            sync_api.expect(message).to_contain_text("It is not clear what odd is", timeout=TIMEOUT)
            assert problem.is_visible()
            tab.role(1).select_option("keep")
            tab.wait_for_preview()
            assert problem.is_hidden()
        tab.role(1).select_option("sensitive")
        tab.page.locator('[data-column="1"] select[name=kind]').select_option("category")
        tab.wait_for_preview()
        assert "odd" in tab.page.inner_text("#sensitive")
        tab.close()


def overflow(page, width):
    """What is wider than the window, if that can be moved sideways."""
    page.set_viewport_size({"width": width, "height": 800})
    # Pictures are drawn again in the next frame.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    is_wider = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    return [width] if page.evaluate(is_wider) else []


@pytest.mark.release
def test_keyboard_labels_widths_and_colors(open_tab, visits_server):
    tab = open_tab(visits_server.address, color_scheme="light")
    page = tab.page
    tab.wait_for_preview()
    assert page.evaluate(UNLABELED) == []

    def tab_to(selector):
        for _ in range(200):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({selector!r})"):
                return
        raise AssertionError(f"{selector} is not reached by the keyboard")

    page.evaluate("document.body.focus()")
    tab_to("[data-column='5'] select[name=role]")
    tab.change(lambda: page.keyboard.type("Sens"))
    assert tab.role(5).input_value() == "sensitive"
    tab_to("#k")

    def type_k():
        page.keyboard.press("Control+A")
        page.keyboard.type("7")

    tab.change(type_k)
    assert int(tab.figure("smallest")) >= 7
    tab_to("#export-start")
    # The focus is seen.
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) != "none"
    tab.wait_for_curve()
    backgrounds = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        backgrounds[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert [width for width in WIDTHS if overflow(page, width)] == []
    assert backgrounds["light"] != backgrounds["dark"]
    tab.close()


@pytest.mark.release
def test_a_closed_tab_ends_its_work(open_tab, here):
    psutil = pytest.importorskip("psutil")
    with serve("visits.csv", cwd=here) as server:
        tab = open_tab(server.address)
        page = tab.page
        tab.wait_for_preview()
        tab.wait_for_curve()
        page.select_option("#time-limit", "300")
        page.wait_for_selector("#export-start:enabled")
        page.click("#export-start")
        process = psutil.Process(server.process.pid)

        def workers():
            return [one for child in process.children() for one in child.children()]

        page.wait_for_selector("#export-cancel", state="visible")
        while not workers():
            pass
        working = workers()
        tab.close()
        assert psutil.wait_procs(working, timeout=60)[1] == []
        assert [path.name for path in here.iterdir()] == ["visits.csv"]


@pytest.mark.release
def test_a_table_that_changes(open_tab, here):
    table = here / "visits.csv"
    with serve("visits.csv", "--no-preview", cwd=here) as server:
        tab = open_tab(server.address)
        page = tab.page
        tab.wait_for_preview()
        assert page.locator("#rows-part").is_hidden()
        assert "P001" not in page.locator("body").inner_text()
        lines = table.read_text().splitlines()
        table.write_text("\n".join(lines[:101]) + "\n")
        page.fill("#k", "4")
        page.wait_for_selector("#reload")
        assert "has changed since it was read" in page.locator("#messages").inner_text()
        assert page.locator("#preview-state").inner_text() == "the file has changed"
        page.click("#reload")
        tab.wait_for_preview()
        assert "100 rows" in page.locator("#size").inner_text()
        # Another tab knows other columns than the file has now, at the same places.
        other = open_tab(server.address)
        other.wait_for_preview()
        rows = [",".join(line.split(",")[::-1]) for line in lines]
        table.write_text("\n".join(rows) + "\n")
        page.fill("#k", "6")
        page.wait_for_selector("#reload")
        page.click("#reload")
        sync_api.expect(page.locator("#columns > li").first).to_contain_text(
            "diagnosis", timeout=TIMEOUT
        )
        tab.wait_for_preview()
        other.page.fill("#k", "7")
        other.page.wait_for_selector("#reload")
        assert "The columns of visits.csv have changed" in other.page.inner_text("#messages")
        # The answers of refused requests are errors on the console.
        assert all("409" in problem for problem in tab.problems)
