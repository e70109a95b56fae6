"""Cases of a test: which belong to the quick set, and which of them failed."""

from contextlib import contextmanager

import pytest


def slow_but_first(cases):
    """Cases of a parametrized test, of which all but the first are slow."""
    first, *others = cases
    return [first, *(pytest.param(case, marks=pytest.mark.slow) for case in others)]


@contextmanager
def case(*names, **values):
    """Name the case of a loop in the message of an error that is raised within."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {', '.join([*map(str, names), *map(repr_of, values.items())])}")
        raise


def repr_of(item):
    return f"{item[0]}={item[1]!r}"
