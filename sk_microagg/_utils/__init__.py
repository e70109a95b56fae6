"""What all parts of the package share. It imports kernels, and nothing else of the package."""
