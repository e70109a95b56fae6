"""Records and groups as ranges of leaves, column by column, for generalization."""
