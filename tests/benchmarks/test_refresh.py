"""Figures of the pages come from the kept results of benchmarks, and `refresh` keeps it so."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest
import refresh
from _refresh import jobs, pages
from _refresh.formats import rounded_down, rounded_up
from _refresh.jobs import JOBS, NOT_RUN
from _refresh.pages import Quote, Table
from _refresh.quotes import QUOTES
from _refresh.tables import TABLES
from marks import in_one_case

BENCHMARKS = Path(refresh.__file__).parent
KEPT = refresh.kept_results()

# What the pages say.


def test_pages_have_the_figures_of_the_kept_results():
    for path, text in refresh.rewritten_pages().items():
        assert path.read_text(encoding="utf-8") == text, f"run {BENCHMARKS.name}/refresh"


def test_every_marker_has_a_producer_and_every_table_a_marker():
    used = {
        name
        for path in pages.pages().values()
        for name in pages.markers(path.read_text(encoding="utf-8"), path.suffix)
    }
    assert used == set(TABLES)


def test_every_figure_names_its_script():
    for page, path in pages.pages().items():
        text = path.read_text(encoding="utf-8")
        names = pages.markers(text, path.suffix)
        of_tables = [TABLES[name][0] for name in names]
        of_quotes = [quote.job for quote in QUOTES if quote.page == page]
        for job in of_tables + of_quotes:
            assert f"benchmarks/{JOBS[job].script}" in text, page


def test_every_figure_of_a_job_is_drawn_in_a_page():
    texts = [path.read_text(encoding="utf-8") for path in pages.pages().values()]
    for job in JOBS.values():
        assert job.plot is None or any(f"image:: {job.plot}\n" in text for text in texts)


# What is kept.


def test_every_job_was_run_and_is_used():
    assert set(KEPT) == set(JOBS)
    assert {job for job, _ in TABLES.values()} | {quote.job for quote in QUOTES} == set(JOBS)


def test_kept_results_say_how_they_were_measured_and_nothing_of_the_machine():
    for name, kept in KEPT.items():
        assert kept["command"].startswith(f"python benchmarks/{JOBS[name].script}")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", kept["date"])
        assert kept["machine"] or kept["transcribed"]
        assert not re.search(r'"/|/home|/tmp|/Users', json.dumps(kept))


def test_every_benchmark_is_run_or_says_why_not():
    scripts = {path.name for path in BENCHMARKS.glob("[!_]*.py")}
    run = {job.script for job in JOBS.values()}
    assert run <= scripts <= run | set(NOT_RUN)
    assert not run & set(NOT_RUN)


def test_all_jobs_together_take_about_an_hour():
    assert 45 <= sum(job.minutes or 0 for job in JOBS.values()) <= 70


@pytest.mark.slow
@in_one_case("name", JOBS)
def test_scripts_know_the_options_of_their_jobs(name, monkeypatch, capsys):
    for long in (False, True):
        words = [*JOBS[name].arguments(long), "--json", "results.json", "--help"]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            runpy.run_path(words[0], run_name="__main__")
        assert end.value.code == 0, capsys.readouterr().err


# How it is written.

RST = "Text.\n\n.. refresh: one\n\nold\n\nold\n\n.. refresh end\n\nMore text.\n"
MARKDOWN = "Text.\n<!-- refresh: one -->\nold\n\nold\n<!-- refresh end -->\nMore text.\n"
TABLE = Table(["``a``", "b"], [["x", "1"], ["long", "22"]], "By ``it``.")


def test_table_in_rst():
    text = pages.rewrite_blocks(RST, ".rst", {"one": TABLE})
    rows = "=====  ==\n``a``  b\n=====  ==\nx      1\nlong   22\n=====  =="
    assert text == RST.replace("old\n\nold", f"{rows}\n\nBy ``it``.")
    assert pages.rewrite_blocks(text, ".rst", {"one": TABLE}) == text


def test_table_in_markdown():
    text = pages.rewrite_blocks(MARKDOWN, ".md", {"one": TABLE})
    rows = "| `a` | b |\n| --- | ---: |\n| x | 1 |\n| long | 22 |"
    assert text == MARKDOWN.replace("old\n\nold", f"{rows}\n\nBy `it`.")


def test_table_without_results_stays_as_it_is():
    assert pages.rewrite_blocks(RST, ".rst", {}) == RST


def test_markers_must_alternate():
    assert pages.markers(RST, ".rst") == pages.markers(MARKDOWN, ".md") == ["one"]
    for text in (RST.replace(".. refresh end", ""), RST + ".. refresh end\n"):
        with pytest.raises(ValueError, match="do not alternate"):
            pages.markers(text, ".rst")


def quote(words):
    return Quote("a page", "a job", words, lambda results: (results["low"], results["high"]))


def test_numbers_of_a_sentence_are_rewritten_over_line_breaks():
    text = "At k = 5 it loses 4.37%, and\n  others 11.84%. At k = 10 more.\n"
    words = "it loses {:.2f}%, and others {:.1f}%"
    assert pages.rewrite_quote(text, quote(words), {"low": 5.125, "high": -12.0}) == (
        "At k = 5 it loses 5.12%, and\n  others −12.0%. At k = 10 more.\n"
    )


@pytest.mark.parametrize("text", ["It gains 1% to 2%.", "It loses 1% to 2%. It loses 3% to 4%."])
def test_sentence_that_was_changed_or_repeated_is_pointed_out(text):
    with pytest.raises(ValueError, match=r"a page has this sentence \d times: loses"):
        pages.rewrite_quote(text, quote("loses {:.0f}% to {:.0f}%"), {"low": 1, "high": 2})


def test_bounds_are_rounded_to_the_safe_side():
    assert (rounded_up(0.0801, 2), rounded_down(14.46649, 4)) == ("0.09", "14.4664")
    assert (rounded_up(0.08, 2), rounded_down(14.4664, 4)) == ("0.08", "14.4664")


# How it is run.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Results in a temporary folder; no page is written."""
    monkeypatch.setattr(refresh, "RESULTS", tmp_path)
    monkeypatch.setattr(refresh, "RAW", tmp_path / "raw")
    monkeypatch.setattr(refresh, "LEFT", tmp_path / "raw" / "left.json")
    monkeypatch.setattr(refresh, "write_pages", lambda: None)
    monkeypatch.setattr(refresh, "check", lambda job: None)
    return tmp_path


def write_raw(folder, **results):
    path = folder / "raw.json"
    path.write_text(json.dumps({"machine": {"cpus": 2}} | results))
    return path


def test_results_are_kept_with_command_date_and_machine(folder):
    cells = [{"method": "KAIM", "hierarchies": "/a/path", "loss_percent": 1.23456789012}]
    refresh.keep("mixed", write_raw(folder, cells=cells), "python it", minutes=2.5)
    kept = refresh.kept_results()["mixed"]
    assert (kept["command"], kept["minutes"], kept["machine"]) == ("python it", 2.5, {"cpus": 2})
    assert kept["results"] == {"cells": [{"method": "KAIM", "loss_percent": 1.2345679}]}


def test_results_with_failed_cells_are_not_kept(folder):
    cells = [{"method": "KAIM", "loss_percent": 1.0}, {"method": "KAIM", "error": "why"}]
    with pytest.raises(ValueError, match=r"^1 cells failed, the first one: why$"):
        refresh.keep("mixed", write_raw(folder, cells=cells), "python it")
    assert refresh.kept_results() == {}


def test_interrupted_run_goes_on_and_a_failing_job_does_not_stop_others(folder, monkeypatch):
    ran = []

    def run(name, long, goes_on):
        ran.append((name, goes_on))
        if name == "kaim" and not goes_on:
            raise KeyboardInterrupt
        if name == "mixed":
            raise ValueError("why")

    monkeypatch.setattr(refresh, "run", run)
    with pytest.raises(KeyboardInterrupt):
        refresh.run_all(["mixed", "kaim", "cuts"], long=False, goes_on=False)
    assert refresh.left_of_last_run(long=True) == []
    left = refresh.left_of_last_run(long=False)
    assert refresh.run_all(left, long=False, goes_on=True) == {}
    assert ran == [("mixed", False), ("kaim", False), ("kaim", True), ("cuts", False)]
    assert refresh.left_of_last_run(long=False) == []
    assert refresh.run_all(["mixed"], long=False, goes_on=False) == {"mixed": "why"}


def test_job_runs_its_script_and_keeps_what_it_writes(folder, monkeypatch):
    def pretend(words, cwd, check):
        assert words[0] == sys.executable
        assert words[1].endswith("benchmarks/pipelines.py")
        Path(words[-1]).write_text(json.dumps({"machine": {"cpus": 2}, "r2": {"boosting": 0.5}}))

    (folder / "raw").mkdir()
    monkeypatch.setattr(refresh.subprocess, "run", pretend)
    refresh.run("pipelines", long=False, goes_on=False)
    kept = refresh.kept_results()["pipelines"]
    assert kept["results"] == {"r2": {"boosting": 0.5}}
    assert kept["command"] == "python benchmarks/pipelines.py"


def test_results_of_a_run_by_hand_are_taken_over(folder, monkeypatch):
    path = write_raw(folder, r2={"boosting": 0.5})
    monkeypatch.setattr(sys, "argv", ["refresh", "pipelines", "--from", str(path)])
    refresh.main()
    kept = refresh.kept_results()["pipelines"]
    assert (kept["command"], kept["results"]) == (
        "python benchmarks/pipelines.py",
        {"r2": {"boosting": 0.5}},
    )


def test_nothing_is_run_if_a_sentence_is_missing(folder, monkeypatch):
    lost = Quote("README.md", "pipelines", "never written: {:.1f}", lambda results: (1.0,))
    refresh.keep("pipelines", write_raw(folder, r2={}), "python it")
    monkeypatch.setattr(refresh, "QUOTES", [lost])
    monkeypatch.setattr(refresh, "TABLES", {})
    monkeypatch.setattr(refresh, "run_all", None)
    monkeypatch.setattr(sys, "argv", ["refresh"])
    with pytest.raises(SystemExit, match=r"README.md has this sentence 0 times: never written"):
        refresh.main()


def test_job_that_lacks_a_package_or_the_data_says_so(monkeypatch):
    monkeypatch.delenv("SK_MICROAGG_DATA", raising=False)
    with pytest.raises(ValueError, match="SK_MICROAGG_DATA does not name"):
        refresh.check(JOBS["kaim"])
    with pytest.raises(ValueError, match=r"^not installed: no_such_package$"):
        refresh.check(JOBS["kaim"]._replace(packages=("no_such_package",)))


def test_folder_of_the_data_is_filled_in_where_a_job_runs_only(monkeypatch):
    monkeypatch.setenv("SK_MICROAGG_DATA", "/somewhere")
    assert "/somewhere/adult_hierarchies" in JOBS["mixed"].arguments()
    assert f"{jobs.DATA}/adult_hierarchies" in JOBS["mixed"].command()


def test_jobs_and_reasons_are_listed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["refresh", "--list"])
    refresh.main()
    printed = capsys.readouterr().out
    assert all(f"\n{name} " in printed for name in JOBS)
    assert all(f"not run: {script}: " in printed for script in NOT_RUN)


def test_unknown_job_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["refresh", "no-such-job"])
    with pytest.raises(SystemExit):
        refresh.main()
    assert "no such job: no-such-job; choose from refiners" in capsys.readouterr().err
