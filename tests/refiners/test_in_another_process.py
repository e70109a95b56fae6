"""What could stop the tests: late interrupts, endless searches, the end of a process.

One process does it all, because to import the package takes longer than most of it.
"""

import subprocess
import sys

import pytest

PROGRAM = """
import _thread, signal, threading, time, traceback, warnings

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
import numpy as np

from sk_microagg._model._power import power_weights
from sk_microagg._utils._deadline import interruptible
from sk_microagg._utils._statistics import group_means, twins_of
from sk_microagg.builders import MDAV
from sk_microagg.refiners import Annealing, Auto, Exchange, IteratedLocalSearch, Recombination
from sk_microagg.refiners._catalog import _until_interrupted


def section(name):
    print("section", name, flush=True)


def press_soon():
    threading.Timer(0.3, _thread.interrupt_main).start()


section("underflow")
for refiner in (Exchange(), Auto(), IteratedLocalSearch(max_iter=30)):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n, d, k = rng.integers(6, 80), rng.integers(1, 5), int(rng.integers(1, 5))
        X, labels = 1e-161 * rng.normal(size=(n, d)), rng.permutation(np.arange(n) % (n // k))
        refined = refiner.refine(X, labels, k, random_state=0)
        power_weights(X, refined, group_means(X, refined), twins_of(X))
        print(np.bincount(refined).min() >= k, "of", refiner, "with seed", seed, flush=True)

section("exchange")
X = np.random.default_rng(0).normal(size=(20_000, 8))
labels = np.arange(len(X)) // 5
refiner = Exchange()
try:
    press_soon()
    refiner.refine(X, labels, 5, random_state=0)
except KeyboardInterrupt as interrupt:
    print("interrupted")
    print([name for name in vars(refiner) if name.endswith("_")])
    print(traceback.extract_tb(interrupt.__traceback__)[-1].filename)

section("annealing")
X = np.random.default_rng(0).normal(size=(500, 4))
labels = MDAV().build(X, 5)
for refiner in (
    Annealing(max_iter=10**13),
    Annealing(max_iter=10**13, n_init=2, n_jobs=2),
    Recombination(annealing_max_iter=10**13, n_jobs=2),
):
    press_soon()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refined = refiner.refine(X, labels, 5, random_state=0)
    print(np.bincount(refined).min() >= 5, *[warning.message for warning in caught])

section("solver")


def solve():
    _thread.interrupt_main()
    time.sleep(0.2)
    print("solved")


with interruptible():
    assert _until_interrupted(solve) is None
print("left")
"""


@pytest.fixture(name="printed", scope="module")
def lines_of_each_section():
    command = [sys.executable, "-P", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    sections = {}
    for line in done.stdout.splitlines():
        if line.startswith("section "):
            lines = sections[line.removeprefix("section ")] = []
        else:
            lines.append(line)
    return sections


@pytest.mark.slow
def test_searches_terminate_if_squares_underflow(printed):
    assert len(printed["underflow"]) == 15
    assert all(line.startswith("True of") for line in printed["underflow"]), printed["underflow"]


@pytest.mark.slow
def test_exchange_is_interrupted_inside_its_kernels(printed):
    *outcome, place = printed["exchange"]
    assert outcome == ["interrupted", "[]"]
    assert place.endswith((".pxi", ".pxd"))


# Without the interrupt, these would take days.
@pytest.mark.slow
def test_an_interrupt_ends_long_work_with_what_there_is(printed):
    # On a busy machine the exchange after it may be cut short, which is said as well.
    begin = "True The search was interrupted by Ctrl-C"
    assert [line.startswith(begin) for line in printed["annealing"]] == [True] * 3


@pytest.mark.slow
def test_the_end_of_the_process_waits_for_an_abandoned_solver(printed):
    assert printed["solver"] == ["left", "solved"]
