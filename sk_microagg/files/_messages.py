"""What a user is told about a request: a code, the column and the facts, in the terms of a front.

Shell, page and Python name the same parameters in their own ways: `--categorical town`, "choose the
kind category", `categorical=['town']`. So a message is an object, and a voice puts it into words.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from sk_microagg._choices import FRONTS
from sk_microagg._utils._formatting import shown
from sk_microagg._utils._places import POSITIONS, CellsError, RowNames


class Option:
    """A parameter, or the name of another remedy, that a message names, maybe with a value."""

    def __init__(self, name: str, value: object = None, column: str | None = None):
        self.name, self.value, self.column = name, value, column

    def __repr__(self) -> str:
        return f"Option({self.name!r}, {self.value!r}, {self.column!r})"


def texts_of_column(option: Option) -> list[str]:
    """Texts that mean missing as a request names them: in all columns, or in one."""
    texts: Any = option.value
    return [text if option.column is None else f"{option.column}={text}" for text in texts]


class Voice:
    """How Python's users name parameters; the shell and the page have voices of their own."""

    verb = "pass "
    together = " and "

    # Other texts than those of messages, by their codes.
    texts: ClassVar[dict[str, str]] = {}

    # What to do where that is no parameter alone, by the name of an `Option`.
    phrases: ClassVar[dict[str, str]] = {
        "complete_order": "complete the order",
        "leave_out": "leave out {value}",
        "name_missing": "name texts that mean missing, as in {value}",
        "generalize": "Name it in drop, or generalize it: hierarchies, with "
        "categories='generalize'",
        "not_in_order": "pass their order, as in {value}",
        "drop_it": "name it in drop, or others in quasi_identifiers",
        "no_pattern": "pass {value}, or leave it out",
        "overwrite_it": "pass overwrite=True",
        "replace_by_null": "replace it by null",
        "write_alike": "write them alike",
        "write_order": "name different values, from the lowest to the highest",
        "say_pattern": "pass the pattern of its dates, as in {value}",
        "drop_or_anonymize": "name it in drop, or in quasi_identifiers",
        "drop_or_hide": "name them in drop, in quasi_identifiers, or in sensitive if no intruder "
        "can know them",
    }

    def option(self, option: Option) -> str:
        """The name of a parameter, maybe with a value."""
        name, value, column = option.name, option.value, option.column
        if name == "na" and value is not None:
            return f"na={texts_of_column(option)!r}"
        if column is not None:
            return f"{name}={[column] if value is None else {column: value}!r}"
        if name in FRONTS:
            # It imports what the command line does without.
            from sk_microagg.privacy._registry import CONSTRAINTS

            kind = CONSTRAINTS[name].__name__
            return kind if value is None else f"privacy={kind}({value!r})"
        return name if value is None else f"{name}={value!r}"

    def advice(self, options: tuple) -> str:
        """What to do: one of some options, or of tuples of options that are used together."""
        parts, is_after_verb = [], False
        for option in options:
            together = option if isinstance(option, tuple) else (option,)
            phrase = self.phrases.get(together[0].name)
            if phrase is not None:
                value = together[0].value
                if value is not None:
                    value = self.option(value if isinstance(value, Option) else Option(value))
                parts.append(phrase.format(value=value, column=together[0].column))
            else:
                words = self.together.join(map(self.option, together))
                parts.append(("" if is_after_verb else self.verb) + words)
            is_after_verb = phrase is None
        return ", or ".join(parts)


PYTHON = Voice()


class Message:
    """One thing to tell a user: a code for programs, and a text as for `str.format`.

    Its gaps are `{column}`, and one for each fact: a number or text as it is, an `Option` as the
    front names it, a tuple of some as advice, or a list of messages, each in a line of its own;
    `{Advice}` is `advice` with a capital letter.
    """

    def __init__(self, code: str, text: str, column: str | None = None, /, **facts: object):
        self.code, self.text, self.column, self.facts = code, text, column, facts

    def in_words(self, voice: Voice = PYTHON) -> str:
        """The whole text in the terms of a front."""
        words = {name: self._fact(fact, voice) for name, fact in self.facts.items()}
        # Advice that begins a sentence.
        words |= {
            name.capitalize(): word[:1].upper() + word[1:]
            for name, word in words.items()
            if isinstance(word, str)
        }
        column = None if self.column is None else shown(self.column)
        return voice.texts.get(self.code, self.text).format(column=column, **words)

    def in_lines(self, voice: Voice = PYTHON) -> list[str]:
        """The text in lines: one, and one for each message that it lists."""
        listed: Any = self.facts.get("listed", [])
        first = Message(self.code, self.text, self.column, **self.facts | {"listed": []})
        return [first.in_words(voice), *(f"  {each.in_words(voice)}" for each in listed)]

    @staticmethod
    def _fact(fact: object, voice: Voice) -> object:
        if isinstance(fact, Option):
            return voice.option(fact)
        if isinstance(fact, Message):
            return fact.in_words(voice)
        if isinstance(fact, list) and all(isinstance(each, Message) for each in fact):
            return "".join(f"\n  {each.in_words(voice)}" for each in fact)
        return voice.advice(fact) if isinstance(fact, tuple) else fact

    def __str__(self) -> str:
        return self.in_words()


class RequestError(Message, ValueError):
    """A request that cannot be fulfilled, or a file that cannot be read or written.

    Parameters
    ----------
    code : str
        What is wrong, for programs.

    text : str
        The message, with gaps for the facts.

    column : str or None, default=None
        The column that it is about.

    **facts : object
        What was found, and which parameters help.

    Examples
    --------
    >>> from sk_microagg.release import RequestError, release_file
    >>> try:
    ...     release_file("visits.csv", "release.csv", k=5)
    ... except RequestError as error:
    ...     print(error.code, "|", error)
    cannot_read | visits.csv cannot be read: No such file or directory.
    """

    def __init__(self, code: str, text: str, column: str | None = None, /, **facts: object):
        ValueError.__init__(self, code, text, column, facts)
        Message.__init__(self, code, text, column, **facts)

    def __reduce__(self) -> tuple:
        return partial(RequestError, self.code, self.text, self.column, **self.facts), ()


def one_line(error: BaseException) -> str:
    """The first line of an error message; further lines are advice to programmers."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def raise_together(errors: Sequence[RequestError]) -> None:
    """Raise what is wrong with several columns at once, if anything is."""
    if not errors:
        return
    if len(errors) == 1:
        raise errors[0]
    text = "{n_columns} columns are not clear:{listed}"
    raise RequestError("several", text, n_columns=len(errors), listed=[*errors])


@contextmanager
def bad_input_as_request_error(
    about: Option | str | None = None,
    errors: type[Exception] | tuple[type[Exception], ...] = ValueError,
    rows: RowNames = POSITIONS,
) -> Iterator[None]:
    """Report bad input in the words of the estimators, after the parameter that it is about."""
    try:
        yield
    except RequestError:
        raise
    except CellsError as error:
        column = None if error.column is None else str(error.column)
        text = "{about}: {cells}." if column is None or about is not None else "{column}: {cells}."
        if isinstance(about, str):
            text = "{about}, {column}: {cells}."
        facts = {"about": about or error.about, "cells": error.in_words(rows)}
        raise RequestError("bad_cells", text, column, **facts) from error
    except errors as error:
        text = "{why}" if about is None else "{about}: {why}"
        raise RequestError("bad_input", text, about=about, why=one_line(error)) from error


def reason(error: BaseException) -> str:
    """Why a file cannot be read or written, without the error number and the path."""
    while error.__cause__ is not None:
        error = error.__cause__
    return getattr(error, "strerror", None) or one_line(error)


def require(packages: tuple, extra: str, what: str | Option) -> None:
    """Raise unless some packages are installed, which an extra brings."""
    for package in packages:
        try:
            import_module(package)
        except ImportError as error:
            text = "{what} needs {package}: install sk-microagg[{extra}]."
            raise RequestError(
                "missing_extra", text, what=what, package=package.partition(".")[0], extra=extra
            ) from error
