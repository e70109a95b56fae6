"""Ctrl-C and deadlines, for long loops without the GIL.

A loop reports its work to a watch. Whenever `interval` units of work have come together, the watch
takes the GIL, lets Ctrl-C through as a KeyboardInterrupt, and asks whether the deadline has passed.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport PyObject


cdef struct Watch:
    Py_ssize_t interval
    Py_ssize_t work
    # Borrowed: the caller keeps the deadline alive while the watch is in use.
    PyObject *deadline
    bint is_late


cdef inline Watch new_watch(Py_ssize_t interval) noexcept nogil:
    """A watch without a deadline."""
    cdef Watch watch
    watch.interval = interval
    watch.work = 0
    watch.deadline = NULL
    watch.is_late = False
    return watch


cdef inline Watch watch_until(deadline, Py_ssize_t interval):
    """A watch with a deadline: an object with a method `is_over`, or None."""
    cdef Watch watch = new_watch(interval)
    if deadline is not None:
        watch.deadline = <PyObject *>deadline
    return watch


cdef inline bint is_over(Watch *watch, Py_ssize_t work) except -1 nogil:
    """Count work that was done; whether the deadline had passed when it was last asked."""
    watch.work += work
    if watch.work >= watch.interval:
        with gil:
            check_now(watch)
    return watch.is_late


cdef inline bint check_now(Watch *watch) except -1:
    """Let Ctrl-C through, and ask the deadline; whether it has passed."""
    watch.work = 0
    PyErr_CheckSignals()
    if watch.deadline is not NULL and (<object>watch.deadline).is_over():
        watch.is_late = True
    return watch.is_late
