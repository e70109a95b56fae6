"""Ctrl-C and deadlines, for long loops without the GIL.

A loop reports its work to a watch. Whenever `interval` units of work have come together, the watch
takes the GIL, lets Ctrl-C through as a KeyboardInterrupt, and reads the clock.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY


cdef struct Watch:
    Py_ssize_t interval
    Py_ssize_t work
    double deadline
    bint is_late


cdef inline Watch new_watch(Py_ssize_t interval, double deadline=INFINITY) noexcept nogil:
    """A watch with a deadline, as `time.monotonic()` counts."""
    cdef Watch watch
    watch.interval = interval
    watch.work = 0
    watch.deadline = deadline
    watch.is_late = False
    return watch


cdef inline bint is_over(Watch *watch, Py_ssize_t work) except -1 nogil:
    """Count work that was done; whether the deadline had passed when the clock was last read."""
    watch.work += work
    if watch.work >= watch.interval:
        with gil:
            check_now(watch)
    return watch.is_late


cdef inline bint check_now(Watch *watch) except -1:
    """Let Ctrl-C through, and read the clock; whether the deadline has passed."""
    watch.work = 0
    PyErr_CheckSignals()
    if watch.deadline < INFINITY:
        import time

        watch.is_late = time.monotonic() >= watch.deadline
    return watch.is_late
