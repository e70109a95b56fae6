"""Reference data sets for the comparison of anonymization methods, and a made-up table.

The made-up table of :func:`load_visits` and the hierarchies of :func:`fetch_adult` are shipped with
the package, but no other data. A fetcher looks for its file in three places.

1. The folder that the environment variable `SK_MICROAGG_DATA` names, if it is set: the upstream
   `.rda` file, or else the same table as `.csv`. In that case no other place is tried.
2. The folder `sk_microagg` in scikit-learn's data home, where earlier downloads are kept.
3. The upstream repository, from which the file is downloaded into that folder.

An `.rda` file is used only if its SHA-256 is the expected one. Downloading and reading it needs the
extra `sk-microagg[datasets]`; a `.csv` file needs no extra. The Adult data set has no `.rda` file:
scikit-learn downloads it from OpenML, which needs the extra `sk-microagg[table]`.
"""

from sk_microagg.datasets._adult import fetch_adult
from sk_microagg.datasets._casc import fetch_census, fetch_eia, fetch_tarragona
from sk_microagg.datasets._files import load_visits

__all__ = ["fetch_adult", "fetch_census", "fetch_eia", "fetch_tarragona", "load_visits"]
