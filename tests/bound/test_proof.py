"""The line that shows what is proven so far."""

import math

import pytest

from sk_microagg._bound._proof import Proof
from sk_microagg._utils._deadline import Deadline


@pytest.mark.parametrize(("time_limit", "end"), [(30, "30 s left"), (math.inf, "0 s")])
def test_the_line_of_a_proof_says_what_time_is_left(
    capsys, monkeypatch, fake_clock, time_limit, end
):
    proof = Proof(2.0, 1.0, 10, time_limit, 1, Deadline(time_limit))
    monkeypatch.setattr(proof._line, "is_due", lambda: True)
    proof.note(0.5)
    proof.show(0.75)
    line = capsys.readouterr().out.strip()
    assert line.endswith(f"by this proof, {end}")
