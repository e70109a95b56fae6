"""Ctrl-C during the search for a bound."""

import signal
from math import inf

import numpy as np
import pytest

from sk_microagg._bound._repair import Repair
from sk_microagg._bound._scheme import Scheme
from sk_microagg.metrics import information_loss, loss_bound, optimality_gap

X = np.random.default_rng(0).normal(size=(60, 2))
WARNING = "interrupted by Ctrl-C: the bound is what was proven until then."


def press_in(monkeypatch, cls, method, call, n_times=1):
    """Press Ctrl-C at the beginning of one call of a method."""
    original, n_calls = getattr(cls, method), [0]

    def pressed(self, *args, **kwargs):
        n_calls[0] += 1
        if n_calls[0] == call:
            for _ in range(n_times):
                signal.raise_signal(signal.SIGINT)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(cls, method, pressed)


@pytest.mark.parametrize(
    ("cls", "method", "n_complete"),
    [(Scheme, "__init__", 0), (Scheme, "_ascend", 2), (Repair, "run", 2), (Repair, "_lower", 2)],
)
def test_the_first_one_ends_it_with_what_was_proven(monkeypatch, cls, method, n_complete):
    press_in(monkeypatch, cls, method, 3 if n_complete else 1)
    with pytest.warns(UserWarning, match=WARNING):
        bound = loss_bound(X, 3, time_limit=inf, max_iter=1000)
    monkeypatch.undo()
    expected = loss_bound(X, 3, time_limit=inf, max_iter=n_complete) if n_complete else 0.0
    assert bound == expected


def test_the_second_one_raises(monkeypatch):
    press_in(monkeypatch, Scheme, "_ascend", 2, n_times=2)
    with pytest.raises(KeyboardInterrupt):
        loss_bound(X, 3, time_limit=inf, max_iter=1000)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_gap_is_that_of_what_was_proven(monkeypatch):
    labels = np.arange(60) // 3
    press_in(monkeypatch, Scheme, "_ascend", 2)
    with pytest.warns(UserWarning, match=WARNING):
        gap = optimality_gap(X, labels, 3, time_limit=inf, max_iter=1000)
    monkeypatch.undo()
    bound = loss_bound(X, 3, time_limit=inf, max_iter=1)
    assert gap == information_loss(X, labels) / bound - 1
