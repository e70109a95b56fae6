"""Kernels of the proven lower bound on the information loss."""
