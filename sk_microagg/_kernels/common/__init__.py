"""What several kernels share: base classes, distances, random numbers, Ctrl-C and deadlines."""
