"""What a fitted model holds: cuts between blocks, centroids, power weights; and no record."""
