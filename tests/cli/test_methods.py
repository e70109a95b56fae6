import inspect

import pytest

from sk_microagg.builders import BUILDERS
from sk_microagg.refiners import REFINERS


@pytest.mark.parametrize("methods", [BUILDERS, REFINERS])
def test_a_line_for_each_method(run, methods):
    code, printed, _ = run("methods")
    assert code == 0
    lines = [line.split(maxsplit=1) for line in printed.splitlines() if line.startswith("  ")]
    described = dict(lines)
    for name, method in methods.items():
        first_words = inspect.getdoc(method).split()[:3]
        assert described[name].split()[:3] == first_words
        assert "[1]_" not in described[name]


def test_none_is_a_refiner(run):
    assert "\n  none  " in run("methods").out
