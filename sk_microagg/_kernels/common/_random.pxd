"""Random numbers, the same on every machine."""

from libc.stdint cimport uint64_t


cdef inline uint64_t next_random(uint64_t *state) noexcept nogil:
    """SplitMix64 (Steele, Lea and Flood, 2014)."""
    cdef uint64_t z
    state[0] += 0x9E3779B97F4A7C15ULL
    z = state[0]
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL
    return z ^ (z >> 31)


cdef inline Py_ssize_t random_below(uint64_t *state, Py_ssize_t bound) noexcept nogil:
    """Uniform on the integers from 0 to `bound` - 1; the bound is below 2**32."""
    return <Py_ssize_t>(((next_random(state) >> 32) * <uint64_t>bound) >> 32)


cdef inline double random_share(uint64_t *state) noexcept nogil:
    """Uniform on [0, 1)."""
    return <double>(next_random(state) >> 11) * (1.0 / 9007199254740992.0)
