"""Groups of points: the partition, and searches that improve it."""
