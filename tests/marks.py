"""Cases of a test that are looped over in one."""

import inspect
from contextlib import contextmanager
from functools import wraps

import pytest


@contextmanager
def case(*names, **values):
    """Name the case of a loop in the message of an error that is raised within."""
    try:
        yield
    except BaseException as error:
        facts = [*map(str, names), *(f"{name}={value!r}" for name, value in values.items())]
        error.add_note(f"in the case {', '.join(facts)}")
        raise


def in_one_case(names, cases):
    """Like `pytest.mark.parametrize`, but as a loop: many quick cases count as one.

    An error names the case that failed. Fixtures are the same for all of them.
    """
    names = [names] if isinstance(names, str) else list(names)

    def decorate(test):
        @wraps(test)
        def looped(**fixtures):
            for values in cases:
                given = dict(zip(names, [values] if len(names) == 1 else values, strict=True))
                with case(**given):
                    test(**fixtures, **given)

        signature = inspect.signature(test)
        others = [p for p in signature.parameters.values() if p.name not in names]
        looped.__signature__ = signature.replace(parameters=others)
        return looped

    return decorate


# For tests that compare means to the last digit.
exact_means = pytest.mark.filterwarnings("ignore:Means of .* are finer than:UserWarning")
