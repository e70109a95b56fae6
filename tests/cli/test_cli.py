import os
import shlex
import subprocess
import sys

import pytest

import sk_microagg
from sk_microagg._cli import _commands
from sk_microagg.cli import main


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"sk-microagg {sk_microagg.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["anonymous"],
        ["demo", "table.csv"],
        ["anonymize", "in.csv"],
        ["anonymize", "in.csv", "out.csv", "-k", "2.5"],
        ["anonymize", "in.csv", "out.csv", "--builder", "mdavv"],
        ["anonymize", "in.csv", "out.csv", "--refiner", "None"],
        ["anonymize", "in.csv", "out.csv", "--engine", "spark"],
        ["anonymize", "in.csv", "out.csv", "--sep", "::"],
        ["anonymize", "in.csv", "out.csv", "--quasi", "a"],
        ["anonymize", "in.csv", "out.csv", "--categories", "median"],
        ["anonymize", "in.csv", "out.csv", "--decimal", "12"],
        ["anonymize", "in.csv", "out.csv", "--thousands", "5"],
        ["anonymize", "in.csv", "out.csv", "--encoding", "latin-99"],
        ["anonymize", "in.csv", "out.csv", "--l-kind", "x"],
        ["risk", "in.csv"],
    ],
)
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("sk-microagg")
    assert ": error: " in error
    # The hint is a command that works.
    shown = next(part for part in hint.split(" shows ") if part.endswith("--help"))
    with pytest.raises(SystemExit, match="0"):
        main(shlex.split(shown)[1:])
    assert capsys.readouterr().out.startswith(f"usage: {shown.removesuffix(' --help')} ")


def test_the_hint_names_the_help_of_the_command(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["anonymize", "in.csv", "out.csv", "-k", "2.5"])
    assert capsys.readouterr().err == (
        "sk-microagg anonymize: error: argument -k: '2.5' must be an integer of at least 1\n"
        "sk-microagg anonymize --help shows its options.\n"
    )


@pytest.mark.parametrize(
    ("option", "text", "allowed"),
    [
        ("-k", "2.5", "an integer of at least 1"),
        ("-k", "five", "an integer of at least 1"),
        ("-k", "0", "an integer of at least 1"),
        ("-k", "", "an integer of at least 1"),
        ("--seed", "-1", "an integer from 0 to 2**32 - 1"),
        ("--jobs", "0", "an integer other than 0"),
        ("--time-limit", "nan", "a number above 0"),
        ("--certificate", "soon", "a number above 0"),
        ("--certificate", "0", "a number above 0"),
        ("--certificate", "inf", "a number above 0"),
        ("--l", "0.5", "a number of at least 1"),
        ("--l", "x", "a number of at least 1"),
        ("--t", "1.5", "a number from 0 to 1"),
        ("--t", "-1", "a number from 0 to 1"),
        ("--c", "x", "a number above 0"),
        ("--c", "0", "a number above 0"),
        ("--unit-share", "0", "a number above 0 and at most 1"),
        ("--time-limit", "1e999", "a number above 0"),
    ],
)
def test_a_number_that_is_wrong_is_told_what_is_allowed(option, text, allowed, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["anonymize", "in.csv", "out.csv", option, text])
    line = capsys.readouterr().err.splitlines()[0]
    assert line.endswith(f"error: argument {option}: {text!r} must be {allowed}")


@pytest.mark.parametrize("arguments", [["anonymize", "--help-all"], ["risk", "--help"]])
def test_help_lists_missing_values(arguments, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    assert "NaN" in capsys.readouterr().out


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
@pytest.mark.parametrize("command", ["anonymize", "risk"])
def test_without_the_extra_for_tables(fails, monkeypatch, command, package):
    monkeypatch.setitem(sys.modules, package, None)
    line = fails(command, "in.csv", "out.csv")
    assert line == f"Reading tables needs {package}: install sk-microagg[table]."


@pytest.mark.slow
def test_other_commands_need_no_extra():
    code = """
import sys
from importlib.abc import MetaPathFinder

class NotInstalled(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("pandas", "pyarrow"):
            raise ImportError(name)

sys.meta_path.insert(0, NotInstalled())
from sk_microagg.cli import main
sys.exit(main(["methods"]) or main(["risk", "a.csv", "b.csv"]))
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "mdav" in done.stdout
    assert done.stderr.endswith("needs pandas: install sk-microagg[table].\n")


@pytest.mark.parametrize(
    ("error", "code", "printed"),
    [
        (KeyboardInterrupt(), 130, "sk-microagg: interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (OSError(28, "No space left"), 1, "sk-microagg: error: [Errno 28] No space left\n"),
        (
            MemoryError(),
            1,
            "sk-microagg: error: There is not enough memory; --engine dask takes larger Parquet "
            "tables.\n",
        ),
    ],
)
def test_what_stops_a_command(run, monkeypatch, error, code, printed):
    def stop(options):
        raise error

    monkeypatch.setattr(_commands, "methods", stop)
    outcome = run("methods")
    assert outcome.code == code
    assert outcome.err.startswith(printed)
    assert outcome.err.count("\n") == (printed != "")


def test_a_bug_is_not_hidden(run, monkeypatch):
    def fail(options):
        raise ZeroDivisionError

    monkeypatch.setattr(_commands, "methods", fail)
    with pytest.raises(ZeroDivisionError):
        run("methods")


@pytest.mark.slow
def test_as_a_process(command, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("mine")
    done = subprocess.run([*command, "demo", "--write", table], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"sk-microagg: error: {table} exists: choose another name, or overwrite it with --force.\n"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pipes break in another way")
def test_nobody_reads_what_is_printed(command):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*command, "methods"], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""
