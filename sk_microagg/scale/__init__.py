"""Many records: blocks on one machine, and Dask."""
