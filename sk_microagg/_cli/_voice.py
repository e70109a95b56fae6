"""How the shell names parameters."""

import shlex
from collections.abc import Sequence
from typing import Any, ClassVar

from sk_microagg.files._messages import Option, Voice, texts_of_column

# Parameters whose options have other names.
NAMES = {
    "column_weights": "--weights",
    "decimals": "--round",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "overwrite": "--force",
    "k": "-k",
}

MARKS = ("sep", "decimal", "thousands")


class ShellVoice(Voice):
    """Parameters as options of the command line."""

    verb = "use "
    together = " "
    phrases: ClassVar[dict[str, str]] = Voice.phrases | {
        "name_missing": "name texts that mean missing by {value}",
        "not_in_order": "write it, as in {value}",
        "say_pattern": "say which, as in {value}",
        "drop_it": "drop it with --drop, or choose others with --quasi-identifiers",
        "no_pattern": "write {value}, or leave it out",
        "overwrite_it": "overwrite it with --force",
        "write_order": "write different values from the lowest to the highest, with < between them",
        "generalize": "Use --drop, or generalize it: --hierarchies, with --categories generalize",
        "drop_or_anonymize": "use --drop, or name it in --quasi-identifiers",
        "drop_or_hide": "use --drop, or --quasi-identifiers, or --sensitive for what no intruder "
        "can know",
    }

    def option(self, option: Option) -> str:
        """An option as one types it, maybe with a value."""
        name, value, column = option.name, option.value, option.column
        if name == "header" and value is not None:
            return {"given": "--header", "none": "--no-header"}[str(value)]
        dashed = NAMES.get(name, f"--{name.replace('_', '-')}")
        if isinstance(value, bool):
            return dashed
        if name == "na" and value is not None:
            return in_option(dashed, listed(texts_of_column(option)))
        if column is not None:
            value = column if value is None else f"{column}={in_order(value)}"
            return f"{dashed} {in_shell(value)}"
        if value is None:
            return dashed
        if name in MARKS:
            return f"{dashed} '{value}'"
        return f"{dashed} {in_shell(as_text(value))}"


SHELL = ShellVoice()


def in_shell(text: str) -> str:
    """A name as one types it on the command line."""
    return shlex.quote(f'"{text}"' if "," in text else text)


def in_option(dashed: str, text: str) -> str:
    """An option with a text, which is joined to it if it begins with a dash."""
    return f"{dashed}{'=' if text.startswith('-') else ' '}{shlex.quote(text)}"


def in_order(value: Any) -> str:
    """What is said of a column: the order of its values, the pattern of its dates, or a number."""
    return "<".join(value) if isinstance(value, list | tuple) else as_text(value)


def listed(texts: Sequence[str]) -> str:
    return ",".join(f'"{text}"' if "," in text else text for text in texts)


def as_text(value: Any) -> str:
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return repr(value) if isinstance(value, float) and float(short) != value else short
