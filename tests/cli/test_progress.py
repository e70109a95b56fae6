import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pandas as pd
import pytest
from terminals import Terminal

from sk_microagg._cli._terminal import CommandProgress

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudoterminal")


@pytest.fixture
def terminal():
    return Terminal()


@pytest.fixture
def stderr_on_terminal(terminal, monkeypatch):
    """Make the terminal stderr; after that its text ends with "end"."""

    @contextmanager
    def stderr_on_terminal():
        with os.fdopen(terminal.inner, "w") as file, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", file)
            yield
            file.write("end")
            file.flush()
            terminal.wait_for("end")

    return stderr_on_terminal


@pytest.fixture
def search(patients, tmp_path):
    """Arguments of a command that searches."""
    columns = ["-q", "age,town,height,weight", "--drop", "id", "--sensitive", "note"]
    return ["anonymize", patients, tmp_path / "out.csv", *columns, "--time-limit"]


@pytest.mark.usefixtures("fake_clock")
def test_silence_in_a_pipe(run, search):
    outcome = run(*search, 1)
    assert outcome.code == 0
    assert outcome.err == ""


@pytest.mark.usefixtures("fake_clock")
def test_a_line_on_a_terminal(run, search, terminal, stderr_on_terminal):
    with stderr_on_terminal():
        outcome = run(*search, 1)
    steps = ["\rreading", "\rgrouping 54 records", "\rinformation loss", "\rchecking", "\rwriting"]
    places = [terminal.text.index(step) for step in steps]
    assert places == sorted(places)
    assert terminal.text.endswith(f"\r{' ' * 78}\rend")  # The line is gone.
    assert outcome.out.startswith("records")
    assert "s left" not in outcome.out


@pytest.mark.usefixtures("fake_clock")
def test_quiet_on_a_terminal(run, search, terminal, stderr_on_terminal):
    with stderr_on_terminal():
        outcome = run(*search, 1, "--quiet")
    assert terminal.text == "end"
    assert outcome.out == ""


def test_the_line_is_gone_after_an_error(terminal, stderr_on_terminal):
    def fail():
        with CommandProgress(is_wanted=True) as progress:
            progress.show("x" * 200)
            raise ValueError("bad")

    with stderr_on_terminal(), pytest.raises(ValueError, match="bad"):
        fail()
    assert terminal.text == f"\r{'x' * 78}\r{' ' * 78}\rend"


@pytest.mark.slow
def test_ctrl_c_while_searching_for_a_pipe(command, search, patients, tmp_path, terminal):
    arguments = [*search[:1], "-", "-", *search[3:], "3600"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": terminal.inner}
    process = subprocess.Popen([*command, *arguments], **pipes)
    try:
        process.stdin.write(patients.read_bytes().replace(b"\n", b"\r\n"))
        process.stdin.close()
        terminal.wait_for("information loss")
        process.send_signal(signal.SIGINT)
        released = process.stdout.read()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert "Ctrl-C ended the search early" in terminal.text
    assert "Traceback" not in terminal.text
    # The table is alone on standard output, and its lines end as they did.
    assert released.startswith(b'"age","note","town","height","weight"\r\n')
    (tmp_path / "out.csv").write_bytes(released)
    release = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    table = pd.read_csv(patients, dtype=str, keep_default_na=False)
    assert release["note"].tolist() == table["note"].str.replace("\n", "\r\n").tolist()
    assert release.groupby(["age", "town", "height", "weight"]).size().min() >= 5
