"""When searches end: time limits, and the first and the second Ctrl-C."""

import signal
import threading

import pytest

from sk_microagg._utils._deadline import Deadline, interruptible, is_interrupted


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
    with interruptible():
        press()
        assert deadline.is_over()
        assert deadline.seconds_left() == 0.0
        with pytest.raises(KeyboardInterrupt):
            press()
    assert not deadline.is_over()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


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
