"""When searches end: time limits, and the first and the second Ctrl-C."""

import signal
import threading
import warnings

import pytest

from sk_microagg._utils import _deadline
from sk_microagg._utils._deadline import (
    Deadline,
    generation,
    interruptible,
    is_interrupted,
    run_in_generation,
    shared_interrupt,
    warn_if_interrupted,
)


def press():
    signal.raise_signal(signal.SIGINT)


def test_a_deadline_passes(set_clock):
    clock = set_clock(1e-6)
    deadline = Deadline(10.0)
    assert not deadline.is_over()
    assert deadline.seconds_left() == pytest.approx(10.0, abs=1e-3)
    clock.now += 9.0
    assert deadline.seconds_gone() == pytest.approx(9.0, abs=1e-3)
    assert deadline.within(5.0).seconds_left() == pytest.approx(1.0, abs=1e-3)
    assert deadline.within(0.5).seconds_left() == pytest.approx(0.5, abs=1e-3)
    clock.now += 2.0
    assert deadline.is_over()
    assert deadline.seconds_left() == 0.0


def test_the_first_interrupt_ends_searches_and_the_second_raises():
    deadline = Deadline()

    def search():
        with interruptible():
            press()
            assert deadline.is_over()
            assert deadline.seconds_left() == 0.0
            press()

    with pytest.raises(KeyboardInterrupt):
        search()
    assert not Deadline().is_over()
    # Another thread may still use it.
    assert deadline.is_over()
    assert deadline.within(10.0).seconds_left() == 0.0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blocks_of_other_threads_are_not_counted(monkeypatch):
    written = []

    class Recorded(type):
        def __setattr__(cls, name, value):
            written.append(name)
            super().__setattr__(name, value)

    class Requests(_deadline._Requests, metaclass=Recorded):
        pass

    def search():
        with interruptible():
            pass

    monkeypatch.setattr(_deadline, "_Requests", Requests)
    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    # Counting up and down by 0 would restore what the main thread has changed in between.
    assert set(written) <= {"has_search"}
    search()
    assert {"n_blocks", "made_at"} < set(written)
    assert Requests.n_blocks == 0


def test_an_interrupt_at_the_begin_of_a_block_leaves_no_block(monkeypatch):
    install = signal.signal

    def install_and_press(number, handler):
        install(number, handler)
        monkeypatch.setattr(signal, "signal", install)
        press()

    monkeypatch.setattr(signal, "signal", install_and_press)
    with pytest.raises(KeyboardInterrupt), shared_interrupt():
        pytest.fail("the block has begun")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert _deadline._Requests.n_blocks == 0


def test_outside_of_a_block_the_first_interrupt_raises():
    with interruptible():
        pass
    with pytest.raises(KeyboardInterrupt):
        press()


def test_nested_blocks_share_a_request():
    with interruptible():
        with interruptible():
            press()
        assert is_interrupted()
        with interruptible():
            assert is_interrupted()
    assert not is_interrupted()


def test_a_block_in_another_thread_sees_the_request_and_does_not_forget_it():
    seen = []

    def search():
        with interruptible():
            seen.append(is_interrupted())

    with interruptible():
        press()
        thread = threading.Thread(target=search)
        thread.start()
        thread.join()
        assert is_interrupted()
    assert seen == [True]


def test_a_handler_of_somebody_else_is_left_alone():
    presses = []
    before = signal.signal(signal.SIGINT, lambda *_: presses.append(1))
    try:
        with interruptible():
            press()
            assert not is_interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
    assert presses == [1]


# Searches that share a request


def test_until_a_search_begins_ctrl_c_raises():
    with pytest.raises(KeyboardInterrupt), shared_interrupt():
        press()
    with shared_interrupt():
        with interruptible():
            pass
        press()
        assert is_interrupted()
    assert not is_interrupted()
    with pytest.raises(KeyboardInterrupt), shared_interrupt():
        press()  # The search before belonged to another block.


def test_a_search_in_another_thread_counts():
    has_begun, may_end = threading.Event(), threading.Event()

    def search():
        with interruptible():
            has_begun.set()
            may_end.wait(60)

    thread = threading.Thread(target=search)
    with shared_interrupt():
        thread.start()
        assert has_begun.wait(60)
        press()
        assert Deadline().is_over()
        may_end.set()
        thread.join()


def test_what_threads_begin_after_the_main_thread_has_left_is_over():
    numbers = []

    def leave():
        with interruptible():
            numbers.append(generation())
            press()
            press()

    def search():
        with interruptible():
            return Deadline().is_over()

    with pytest.raises(KeyboardInterrupt):
        leave()
    [number] = numbers
    assert run_in_generation(number, search)
    assert not run_in_generation(generation(), search)
    assert not search()

    def next_block():
        with shared_interrupt():
            thread = threading.Thread(target=run_in_generation, args=(number, search))
            thread.start()
            thread.join()
            press()

    # Nor does it count as a search of the next block.
    with pytest.raises(KeyboardInterrupt):
        next_block()


# Warnings


def test_only_the_outermost_block_warns_and_points_to_the_line_of_the_user():
    def search():
        with shared_interrupt():
            with interruptible():
                press()
                warn_if_interrupted("not this")
            warn_if_interrupted("x")

    with pytest.warns(UserWarning, match=r"^The search was interrupted by Ctrl-C: x.$") as warned:
        search()
    assert [warning.filename for warning in warned] == [__file__]


def test_no_warning_without_an_interrupt():
    with warnings.catch_warnings(record=True) as caught, interruptible():
        warnings.simplefilter("always")
        warn_if_interrupted("x")
    assert caught == []
