"""Transcripts of shells in the documentation: replay them, or rewrite what the commands print.

Usage: python tests/transcripts.py doc/command_line.rst
"""

import io
import os
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from sk_microagg.cli import main

BLOCK = re.compile(r"(?<=^\.\. code-block:: console\n\n)(?: {4}.*\n|\n)+", re.MULTILINE)


def commands_of(block):
    """Pairs of a command and what it prints, of a block of a transcript."""
    text = re.sub("^ {4}", "", block, flags=re.MULTILINE).rstrip("\n") + "\n"
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def transcript(text):
    """Pairs of a command and what it prints, of a whole page."""
    for block in BLOCK.findall(text):
        yield from commands_of(block)


def replay(line, shown):
    """Run a command in the current folder; return what it prints.

    Of other programs than our own, `cat` and `head` are known, and `python -c` that prints nothing.
    A file that is shown before a command has made it is given: it is written as `shown`.
    """
    command, *arguments = shlex.split(line)
    if command == "sk-microagg":
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            main(arguments)
        return err.getvalue() + out.getvalue()
    if command == "python":
        exec(arguments[1], {})
        return ""
    path = Path(arguments[-1])
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown)
    lines = path.read_text().splitlines(keepends=True)
    return "".join(lines[: -int(arguments[0])] if command == "head" else lines)


def timeless(printed):
    """Remove what depends on the speed of the machine: seconds, and the figures of a proof."""
    printed = re.sub(r"(?m)^(seconds +)\d+\.\d$", r"\1-", printed)
    return re.sub(r"(?ms)^certificate .*?(?=^\S)", _without_figures, printed)


def _without_figures(certificate):
    return re.sub(r"[\d.]+%", "-%", " ".join(certificate[0].split())) + "\n"


def rewritten(text):
    """The text of a page, with what its commands print now where that has changed."""
    return BLOCK.sub(_rewritten_block, text)


def _rewritten_block(block):
    lines = []
    for line, shown in commands_of(block[0]):
        printed = replay(line, shown)
        lines += [
            f"$ {line}",
            *(shown if timeless(shown) == timeless(printed) else printed).splitlines(),
        ]
    return "".join(f"    {line}".rstrip() + "\n" for line in lines) + "\n"


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        text, home = page.read_text(), Path.cwd()
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            text = rewritten(text)
            os.chdir(home)
        page.write_text(text)
