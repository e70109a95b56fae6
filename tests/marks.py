"""Which cases of a test belong to the quick set."""

import pytest


def slow_but_first(cases):
    """Cases of a parametrized test, of which all but the first are slow."""
    first, *others = cases
    return [first, *(pytest.param(case, marks=pytest.mark.slow) for case in others)]
