"""The page of `sk-microagg explore`: the server, and what it computes."""
