"""Compiled kernels: arrays in, arrays out, without the GIL."""

from sk_microagg._kernels._pool import Pool

__all__ = ["Pool"]
