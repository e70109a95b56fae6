"""Exports are what the command line writes; work that is ended leaves nothing."""

import difflib
import os
import re
import shlex
import shutil
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest
from servers import LONG, ExploreServer, OpenPage, ends_by_a_signal, serve, wait_until, workers

from sk_microagg._explore import _jobs, _server
from sk_microagg._explore._workers import JOBS
from sk_microagg.cli import main
from sk_microagg.files._messages import RequestError
from sk_microagg.release import ReleaseRequest

# Lines of a report that differ: when it was made, and whether progress was shown.
OF_ITS_MAKING = re.compile(r"\d{4}-\d\d-\d\d|<code>verbose</code>|Groups refined by")

# Figures that are drawn anew for each report, by what stands before them, and the best attacker.
DRAWN = re.compile(
    r'(?P<label><th scope="row">Attribute, [^<]*</th><td data-label="Success">'
    r'|data-label="(?:By chance|In the table|Not in the table|Due to the release)">'
    r"|Guessed by an intruder: |; by chance: |value for everybody: "
    r'|<th scope="row">Guessed</th><td data-label="Figure">)[^<.;]+(\.\d)?'
    r"(<span.*?</span>)?|Best( of three)?: [a-z ]+|[\d.]+(?= times the squared deviation)"
)


@pytest.fixture
def here(visits):
    """A folder with the table of patients alone."""
    yield visits.parent
    for path in visits.parent.iterdir():
        if path != visits:
            path.unlink()


@pytest.fixture
def server(visits_server):
    """The server of the table in that folder, when it has no work."""
    wait_until(lambda: workers(visits_server) == [])
    return visits_server


@pytest.fixture
def names_in(here):
    """The files in the folder, also hidden ones."""
    return lambda: sorted(path.name for path in here.iterdir())


def differences_but_for_their_making(*reports):
    one, other = (DRAWN.sub(r"\g<label>", report).splitlines() for report in reports)
    differ = (line for line in difflib.ndiff(one, other) if line.startswith(("+ ", "- ")))
    return [line for line in differ if not OF_ITS_MAKING.search(line)]


@pytest.mark.slow
def test_a_table_that_changes_after_the_start_is_not_released(explored, tmp_path, visits):
    table = tmp_path / "visits.csv"
    shutil.copy(visits, table)
    page = explored(table)
    arguments = page.table.arguments_of_job("export", page.settings(report=None))
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:101]))
    with pytest.raises(RequestError, match="has changed"):
        JOBS["export"](page.messages.append, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]


@pytest.mark.slow
def test_an_export_is_what_the_command_line_writes(server, here, tmp_path, names_in, monkeypatch):
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    shutil.copy(here / "visits.csv", there)
    roles, without_report = {"diagnosis": "sensitive"}, {"release": "mixed.csv", "report": None}
    mixed = server.settings(roles, k=4, l=2, t=0.5, **without_report)
    mixed["columns"][1] |= {"kind": "ordinal"}
    mixed["columns"][4] |= {"weight": 2.5}
    kaim = server.settings({"town": "keep"}, method="kaim", release="kaim.csv", report=None)
    # What depends on categories is rounded differently in each report.
    numbers = server.settings(roles | {"sex": "drop", "town": "drop"}, k=4, l=2)
    with server.page() as page:
        for chosen in (kaim, mixed, numbers):
            answer = server.post("check", chosen).json()
            assert (answer["error"], answer["exists"]) == (None, [])
            assert page.run("export", chosen)["state"] == "done"
            report = server.get("report")
            assert report.status == (200 if chosen["report"] else 404)
            command = shlex.split(answer["command"])
            assert command[0] == "sk-microagg"
            assert main(command[1:]) == 0
            release = chosen["release"]
            assert (here / release).read_bytes() == (there / release).read_bytes()
    reports = [
        (folder / "visits_report.html").read_text(encoding="utf-8") for folder in (here, there)
    ]
    assert differences_but_for_their_making(*reports) == []
    # The server shows it as a page that runs nothing.
    assert report.body.decode() == reports[0]
    assert report.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "sk-microagg anonymize visits.csv" in reports[0]
    releases = ["kaim.csv", "mixed.csv", "visits_release.csv"]
    expected = sorted([*releases, "visits.csv", "visits_report.html"])
    assert names_in() == expected
    (here / "visits_report.html").unlink()
    assert server.get("report").status == 404


@pytest.mark.slow
def test_files_are_overwritten_only_if_asked_to(server, here):
    release, report = here / "visits_release.csv", here / "visits_report.html"
    release.write_text("mine")
    report.write_text("mine, too")
    settings = server.settings()
    assert server.post("check", settings).json()["exists"] == [release.name, report.name]
    with server.page() as page:
        message = page.run("export", settings)
        assert message["state"] == "failed"
        assert "visits_release.csv exists" in message["error"]
        message = page.run("export", settings | {"release": "new.csv"})
        assert message["state"] == "failed"
        assert "visits_report.html exists" in message["error"]
        assert not (here / "new.csv").exists()
        assert (release.read_text(), report.read_text()) == ("mine", "mine, too")
        settings |= {"report": None, "overwrite": True}
        assert page.run("export", settings)["state"] == "done"
        assert release.read_text().startswith("age,sex,town,income,diagnosis\n")
        message = page.run("export", settings | {"release": "visits.csv"})
        assert "is the same file as" in message["error"]


@pytest.mark.slow
def test_canceled_exports_leave_nothing(server, here, names_in):
    search = server.settings(time_limit=LONG)
    proof = server.settings(certificate=LONG)
    with server.page() as page:
        for settings, words in ((search, "grouping"), (proof, "proving")):
            assert page.start("export", settings).status == 200
            page.until_text(words)
            # Until all is complete, there are drafts that nobody else can read.
            (drafts,) = [path for path in here.iterdir() if path.is_dir()]
            assert drafts.name.startswith(".")
            assert stat.S_IMODE(drafts.stat().st_mode) == 0o700
            assert len(names_in()) == 2
            assert len(workers(server)) == 1
            assert page.cancel("export").status == 200
            assert page.until("export") == {"what": "export", "state": "canceled"}
            assert names_in() == ["visits.csv"]
            wait_until(lambda: workers(server) == [])
        # A new job takes the place of a running one of the same kind, also if both come at once.
        for _ in range(3):
            assert page.start("export", search).status == 200
        page.until_text("grouping")
        assert len(workers(server)) == 1
        assert page.run("export", server.settings(report=None))["state"] == "done"
        wait_until(lambda: workers(server) == [])
    assert names_in() == ["visits.csv", "visits_release.csv"]


@pytest.mark.slow
def test_an_export_that_does_not_succeed_overwrites_nothing(server, here, names_in):
    release = here / "visits_release.csv"
    release.write_text("mine")
    with server.page() as page:
        for end in (lambda: page.cancel("export"), lambda: workers(server)[0].kill()):
            assert (
                page.start("export", server.settings(certificate=LONG, overwrite=True)).status
                == 200
            )
            page.until_text("proving")
            end()
            assert page.until("export")["state"] in ("canceled", "failed")
            assert names_in() == ["visits.csv", "visits_release.csv"]
            assert release.read_text() == "mine"


@pytest.mark.slow
def test_a_closed_page_ends_its_work(server, here, names_in):
    page, other = OpenPage(server), OpenPage(server)
    settings = server.settings(time_limit=LONG)
    assert page.start("export", settings).status == 200
    assert page.start("certificate", server.settings(certificate=LONG)).status == 200
    page.until_text("grouping")
    assert other.start("certificate", server.settings(certificate=LONG)).status == 200
    other.until("certificate", "running")
    page.close()
    wait_until(lambda: len(workers(server)) == 1)
    assert names_in() == ["visits.csv"]
    assert server.process.poll() is None
    other.close()
    wait_until(lambda: workers(server) == [])


@pytest.mark.release
@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
def test_a_terminal_that_is_closed_ends_the_server_and_all_work(here, names_in):
    """Servers of other tests end by other signals."""
    with serve("visits.csv", cwd=here) as server:
        ends_by_a_signal(server, "SIGHUP", 129)
    assert names_in() == ["visits.csv"]


@pytest.mark.slow
def test_the_server_ends_after_its_last_page(explored, visits, monkeypatch):
    """Here in this process, where it prepares for no work."""
    monkeypatch.setattr(_server, "SECONDS_WITHOUT_PAGES", 1.0)
    monkeypatch.setattr(_server, "SECONDS_BETWEEN_SIGNS", 0.1)
    monkeypatch.setattr(_server, "warm_up", lambda: None)
    with ThreadPoolExecutor() as pool:
        started = Queue()
        end = pool.submit(
            _server.Server(explored(visits).table, lambda *given: started.put(given[0])).serve_page
        )
        server = ExploreServer(started.get(timeout=60))
        page = OpenPage(server)
        page.close()
        again = OpenPage(server)  # The page was loaded again.
        time.sleep(1.5)
        assert server.get("api/table").status == 200
        again.close()
        end.result(timeout=60)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-"], "explore reads a file"),
        (["nothing.csv"], "nothing.csv cannot be read"),
        (["table.txt"], "a table's name must end in"),
        (["."], "is a folder without a .parquet file"),
        (["numbers.csv", "--hierarchies", "nothing"], "--hierarchies nothing cannot be read"),
        (["numbers.csv", "--hierarchies", "."], "numbers.csv is a hierarchy for 'numbers', but"),
    ],
)
@pytest.mark.usefixtures("numbers")
def test_what_cannot_be_served(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", "--no-browser", *arguments]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("exists", [False, True])
def test_both_files_are_there_or_none(tmp_path, monkeypatch, exists):
    """If the second file cannot get its name, the first is what it was before."""
    request = ReleaseRequest(tmp_path / "t.csv", tmp_path / "o.csv", report=tmp_path / "r.html")
    if exists:
        (tmp_path / "o.csv").write_text("before")
        (tmp_path / "r.html").write_text("before")
    drafts = _jobs.Drafts(request, str(tmp_path / "drafts"))
    for name in ("o.csv", "r.html"):
        (tmp_path / "drafts" / name).write_text("after")
    replace = os.replace

    def fail(source, target):
        if target == tmp_path / "r.html" and Path(source).name == "r.html":
            raise OSError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="Permission denied"):
        drafts.publish()
    drafts.remove()
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == ({"o.csv": "before", "r.html": "before"} if exists else {})
