"""k-anonymity by microaggregation, with the least information loss."""
