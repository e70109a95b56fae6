"""The contents of a fitted model: cuts between blocks, centroids, power weights; no records."""
