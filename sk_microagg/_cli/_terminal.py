"""What a command prints: the current step, warnings, and facts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any

from sk_microagg._cli._voice import SHELL
from sk_microagg._utils._deadline import ProgressLine
from sk_microagg.files._messages import Message
from sk_microagg.release._release import Progress
from sk_microagg.release._summary import ReleaseSummary, facts_in_lines

WARNING = "sk-microagg: warning: "


class CommandProgress(Progress):
    """A line on stderr, if that is a terminal; it is cleared when the command ends or fails."""

    def __init__(self, is_wanted: bool, is_json: bool = False):
        super().__init__()
        self.is_shown = is_wanted and sys.stderr.isatty()
        self._is_json = is_json
        self._line = ProgressLine(sys.stderr)

    def show(self, step: str) -> None:
        if self.is_shown:
            self._line.draw(step)

    def warn(self, message: Message) -> None:
        """Print a line that stays, also where no progress is shown."""
        super().warn(message)
        text = message.in_words(SHELL)
        if self._is_json:
            self._line.say(json.dumps({"type": "warning", "code": message.code, "text": text}))
        else:
            self._line.say(f"{WARNING}{text}")

    @contextmanager
    def of_search(self) -> Iterator[None]:
        """Let a search show its own progress here, since stdout is for results."""
        with redirect_stdout(sys.stderr):
            yield

    def __enter__(self) -> CommandProgress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_shown:
            with suppress(OSError):  # The terminal may be gone.
                self._line.clear()


def print_facts(facts: dict, file: Any = None) -> None:
    print(facts_in_lines(facts, SHELL), file=file or sys.stdout)


def print_as_json(summary: ReleaseSummary, file: Any = None) -> None:
    """Print one object per line: each item of "columns", then all other facts."""
    values = summary.to_dict()
    for column in values.pop("columns", []):
        _print_json({"type": "column", **column}, file)
    _print_json({"type": "release", **values}, file)


def _print_json(value: dict, file: Any) -> None:
    """Print an object in one line of ASCII, so that no text controls a terminal."""
    print(json.dumps(value), file=file or sys.stdout)
