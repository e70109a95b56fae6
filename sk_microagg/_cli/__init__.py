"""The commands of `sk-microagg`."""
