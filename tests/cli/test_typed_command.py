"""Commands are shown as the shells of this system want them."""

import shlex

import pytest

from sk_microagg._cli import _typed_command
from sk_microagg._cli._typed_command import command_line

ARGUMENTS = ["anonymize", "my table.csv", "out.csv", "--ordinal=size=S<M<L", "--drop", "a,b", ""]


def test_a_command_for_shells_of_posix(monkeypatch):
    monkeypatch.setattr(_typed_command, "IS_WINDOWS", False)
    assert shlex.split(command_line(ARGUMENTS)) == ["sk-microagg", *ARGUMENTS]
    assert "'my table.csv'" in command_line(ARGUMENTS)


@pytest.mark.parametrize(
    ("argument", "typed"),
    [
        (r"C:\data\table.csv", r"C:\data\table.csv"),
        ("my table.csv", '"my table.csv"'),
        ("--weights=age=2.5", "--weights=age=2.5"),
        # These would be a list, redirections and a variable.
        ("a,b", '"a,b"'),
        ("--ordinal=size=S<M<L", '"--ordinal=size=S<M<L"'),
        ("$x", '"$x"'),
        ("a;\\", '"a;\\\\"'),
        ('say "no"', r'"say \"no\""'),
        ("", '""'),
    ],
)
def test_a_command_for_shells_of_windows(monkeypatch, argument, typed):
    monkeypatch.setattr(_typed_command, "IS_WINDOWS", True)
    assert command_line([argument]) == f"sk-microagg {typed}"
