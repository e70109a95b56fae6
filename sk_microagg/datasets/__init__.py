"""Reference data sets on which microaggregation methods are compared.

Nothing is shipped with the package: a fetcher looks for its file in three places.

1. The folder that the environment variable `SK_MICROAGG_DATA` names, if it is set: the upstream
   `.rda` file, or else the same table as `.csv`. No other place is then tried.
2. The folder `sk_microagg` in scikit-learn's data home, where earlier downloads are kept.
3. The upstream repository, from which the file is downloaded into that folder.

An `.rda` file is used only if its SHA-256 is the known one. Downloading and reading it needs the
extra `sk-microagg[datasets]`; a `.csv` file needs no extra.
"""

from sk_microagg.datasets._casc import fetch_census, fetch_eia, fetch_tarragona

__all__ = ["fetch_census", "fetch_eia", "fetch_tarragona"]
