"""What all parts of the package share. It knows kernels, and nothing else of the package."""
