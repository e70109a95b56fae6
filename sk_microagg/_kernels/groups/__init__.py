"""Groups of points, and searches over them."""
