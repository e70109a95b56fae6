from libcpp.vector cimport vector

cdef enum Kind:
    TABULATED
    HIERARCHY
    NUMBERS


cdef struct Column:
    Kind kind
    # Positions: one for each leaf, and a last one that only the root covers.
    int width
    double weight

    # By lo * width + hi if tabulated, by node of a hierarchy; of numbers, by leaf, the loss alone.
    vector[double] loss
    vector[double] info
    vector[double] content

    # Of a hierarchy.
    vector[int] parent
    vector[int] last

    # Of numbers: where values that begin with a leaf begin, and where those that end with it end.
    vector[double] left
    vector[double] right
    double extent
    vector[double] info_before
    vector[double] mass_before


cdef class RangeColumns:
    cdef readonly Py_ssize_t n_columns
    cdef vector[Column] columns
    cdef double constant
    cdef double largest_constant

    cdef double loss(self, Py_ssize_t j, int lo, int hi) noexcept nogil
    cdef double info(self, Py_ssize_t j, int lo, int hi) noexcept nogil
    cdef double content(self, Py_ssize_t j, int lo, int hi) noexcept nogil
    cdef double lost(self, Py_ssize_t j, int center_lo, int center_hi, int n_known, int lo,
                     int hi) noexcept nogil
    cdef double rate(self, Py_ssize_t j, int center_lo, int center_hi, double size, int lo,
                     int hi) noexcept nogil
    cdef double least_rate(self, Py_ssize_t j, int center_lo, int center_hi, double size, int lo,
                           int hi, double largest_content) noexcept nogil
    cdef bint is_missing(self, Py_ssize_t j, int hi) noexcept nogil

    cdef double _constant(self, double mass) noexcept nogil
    cdef int _tabulate(self, Py_ssize_t j) except -1
