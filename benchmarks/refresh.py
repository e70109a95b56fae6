"""Measure again what README.md and the pages of `doc/` say, and write it into them.

Each job is one run of one script. Its results are kept in `benchmarks/results/<job>.json`, with the
command, the date and facts about the machine, and all tables and sentences with figures are written
from these files. Examples::

    benchmarks/refresh --list
    benchmarks/refresh
    benchmarks/refresh kaim mixed
    benchmarks/refresh --long records train
    benchmarks/refresh --tables-only
    benchmarks/refresh train --from train.json

All jobs take about an hour on two quiet cores. A run that was interrupted goes on with the jobs
that it did not finish; `--restart` begins again. `--long` runs the longer versions of the jobs that
have one. Results in which a cell failed are not kept. With `--from`, results that the script wrote
elsewhere are taken over instead of a run; with `--long`, too, as those of the longer version.

The data are in the folder that `SK_MICROAGG_DATA` names. Some jobs need other packages:
`pip install anonypyx k-means-constrained microagg1d`. `tests/benchmarks/test_refresh.py` compares
the pages with the kept results, so that no figure is edited by hand.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from difflib import unified_diff
from importlib.util import find_spec
from pathlib import Path

from _refresh.jobs import JOBS, NOT_KEPT, NOT_RUN, RESULTS, errors, reduce
from _refresh.pages import ROOT, pages, rewrite_blocks, rewrite_quote
from _refresh.quotes import QUOTES
from _refresh.tables import TABLES

# Not part of the repository: what scripts write, and the jobs that are left of an interrupted run.
RAW = RESULTS / "raw"
LEFT = RAW / "left.json"


def kept_results():
    """Return what is kept of each job that was run, by its name."""
    return {name: json.loads(path.read_text()) for name in JOBS if (path := kept_at(name)).exists()}


def kept_at(name):
    return RESULTS / f"{name}.json"


def in_lines(value, indent=0):
    """Return a value as JSON in which each cell is a line of its own."""
    if isinstance(value, dict) and indent < 3:
        inner = [f"{json.dumps(key)}: {in_lines(of, indent + 1)}" for key, of in value.items()]
        opening, closing = "{}"
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        inner, (opening, closing) = [json.dumps(of, ensure_ascii=False) for of in value], "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    margin = " " * indent
    lines = ",\n".join(f"{margin} {line}" for line in inner)
    return f"{opening}\n{lines}\n{margin}{closing}" if inner else opening + closing


def keep(name, raw, command, **facts):
    """Keep what a script has written; raise ValueError if a cell failed."""
    results = json.loads(raw.read_text())
    if failed := errors(results):
        raise ValueError(f"{len(failed)} cells failed, the first one: {failed[0]}")
    kept = {"command": command, "date": f"{datetime.now(UTC):%Y-%m-%d}", **facts}
    kept["machine"] = results["machine"]
    kept["results"] = reduce(results, {*NOT_KEPT, *JOBS[name].drop})
    kept_at(name).write_text(in_lines(kept) + "\n")


def run(name, long, goes_on):
    """Run a job, and keep its results."""
    job, raw = JOBS[name], RAW / f"{name}.json"
    if not goes_on:
        raw.unlink(missing_ok=True)
    print(f"\n{name}: {job.command(long)}", flush=True)
    start = time.perf_counter()
    words = [sys.executable, *job.arguments(long), "--json", str(raw)]
    subprocess.run(words, cwd=ROOT, check=True)
    minutes = round((time.perf_counter() - start) / 60, 1)
    keep(name, raw, job.command(long), minutes=minutes)


def check(job):
    """Raise ValueError if a job lacks something."""
    missing = [name for name in job.packages if not find_spec(name)]
    if missing:
        raise ValueError(f"not installed: {', '.join(missing)}")
    if "SK_MICROAGG_DATA" not in os.environ:
        raise ValueError("SK_MICROAGG_DATA does not name the folder of the data")


def run_all(names, long, goes_on):
    """Run jobs one after the other, and write the pages after each; return those that failed."""
    RAW.mkdir(parents=True, exist_ok=True)
    failed = {}
    for position, name in enumerate(names):
        LEFT.write_text(json.dumps({"long": long, "names": names[position:]}))
        try:
            check(JOBS[name])
            run(name, long, goes_on=goes_on and position == 0)
        except (ValueError, subprocess.CalledProcessError) as error:
            failed[name] = str(error)
            print(f"{name}: {error}", flush=True)
        else:
            write_pages()
    LEFT.unlink(missing_ok=True)
    return failed


def left_of_last_run(long):
    """Return the jobs that an interrupted run has left, the one that it was in first."""
    if not LEFT.exists():
        return []
    left = json.loads(LEFT.read_text())
    return left["names"] if left["long"] == long else []


def rewritten_pages():
    """Return the new text of each page, by its path."""
    kept = kept_results()
    tables = {name: make(kept[job]) for name, (job, make) in TABLES.items() if job in kept}
    texts = {}
    for name, path in pages().items():
        text = rewrite_blocks(path.read_text(encoding="utf-8"), path.suffix, tables)
        for quote in QUOTES:
            if quote.page == name and quote.job in kept:
                text = rewrite_quote(text, quote, kept[quote.job]["results"])
        texts[path] = text
    return texts


def write_pages():
    """Write all figures into the pages, and print the lines that changed."""
    for path, text in rewritten_pages().items():
        old = path.read_text(encoding="utf-8")
        if text == old:
            continue
        path.write_text(text, encoding="utf-8")
        name = path.relative_to(ROOT).as_posix()
        lines = unified_diff(old.splitlines(), text.splitlines(), name, name, lineterm="", n=0)
        print("\n".join(lines), flush=True)


def print_jobs():
    kept = kept_results()
    print(f"{'job':<18}{'minutes':>8}{'--long':>8}  {'measured':<12}command")
    for name, job in JOBS.items():
        minutes = f"{job.minutes or '–':>8}{job.long_minutes or '':>8}"
        print(f"{name:<18}{minutes}  {kept.get(name, {}).get('date', 'never'):<12}{job.command()}")
    print(f"{'all':<18}{sum(job.minutes or 0 for job in JOBS.values()):>8}")
    for script, reason in NOT_RUN.items():
        print(f"not run: {script}: {reason}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("jobs", nargs="*", metavar="job", help="jobs to run; all by default")
    add("--list", action="store_true", help="print the jobs and their minutes")
    add("--long", action="store_true", help="run the longer versions of jobs that have one")
    add("--restart", action="store_true", help="do not go on with an interrupted run")
    add("--tables-only", action="store_true", help="write the pages from the kept results")
    add("--from", dest="source", type=Path, help="results of one job, instead of a run")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.jobs if name not in JOBS]
    if unknown:
        parser.error(f"no such job: {', '.join(unknown)}; choose from {', '.join(JOBS)}")
    if arguments.source and len(arguments.jobs) != 1:
        parser.error("--from is for the results of a single job")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.list:
        print_jobs()
        return
    failed = {}
    try:
        rewritten_pages()  # An hour of measurements must not end in a sentence that is not found.
    except ValueError as error:
        sys.exit(str(error))
    if arguments.source:
        (name,) = arguments.jobs
        job = JOBS[name]
        # The results do not tell with which options they were measured.
        command = job.command(long=True) if arguments.long else f"python benchmarks/{job.script}"
        keep(name, arguments.source, command)
    elif not arguments.tables_only:
        left = [] if arguments.jobs or arguments.restart else left_of_last_run(arguments.long)
        everything = [name for name, job in JOBS.items() if arguments.long or job.minutes]
        failed = run_all(arguments.jobs or left or everything, arguments.long, bool(left))
    write_pages()
    if failed:
        sys.exit("not measured: " + "; ".join(f"{name} ({why})" for name, why in failed.items()))


if __name__ == "__main__":
    main()
