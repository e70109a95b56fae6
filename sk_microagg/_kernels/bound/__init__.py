"""What the lower bound on the loss is computed with."""
