"""Squared distances, and records that are ranked by them."""

from libcpp.pair cimport pair

# A key to be made small (a squared distance, or minus one) and a record. Pairs compare by key,
# then by record: the lowest record wins a tie.
ctypedef pair[double, Py_ssize_t] Hit

cdef extern from *:
    """
    #include <cmath>
    #include <utility>
    #define SKM_SAFETY (1.0 + 1e-9)
    #define SKM_TINY 1e-150
    #define SKM_NO_HIT (std::pair<double, Py_ssize_t>(INFINITY, PY_SSIZE_T_MAX))
    """
    # A bound on a distance, times SAFETY plus TINY, covers rounding and squares that underflow.
    const double SAFETY "SKM_SAFETY"
    const double TINY "SKM_TINY"

    # Loses against every hit.
    const Hit NO_HIT "SKM_NO_HIT"
    const Py_ssize_t NO_RECORD "PY_SSIZE_T_MAX"


cdef inline bint by_record(const Hit &one, const Hit &other) noexcept nogil:
    return one.second < other.second


cdef inline double squared_distance(
    const double *a, const double *b, Py_ssize_t n_columns
) noexcept nogil:
    cdef double total = 0.0, gap
    cdef Py_ssize_t j
    for j in range(n_columns):
        gap = a[j] - b[j]
        total += gap * gap
    return total
