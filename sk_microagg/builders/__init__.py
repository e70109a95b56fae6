"""Builders: partition records into groups of at least k."""

from sk_microagg._kernels import Pool
from sk_microagg.builders._base import Builder
from sk_microagg.builders._cbfs import CBFS
from sk_microagg.builders._dbfs import DBFS
from sk_microagg.builders._gsms import GSMS
from sk_microagg.builders._k_anonymity_first import KAnonymityFirst
from sk_microagg.builders._mdav import MDAV
from sk_microagg.builders._optimal_1d import Optimal1D
from sk_microagg.builders._path_optimal import PathOptimal
from sk_microagg.builders._t_closeness_first import TClosenessFirst
from sk_microagg.builders._tfrp import TFRP

__all__ = [
    "CBFS",
    "DBFS",
    "GSMS",
    "MDAV",
    "TFRP",
    "Builder",
    "KAnonymityFirst",
    "Optimal1D",
    "PathOptimal",
    "Pool",
    "TClosenessFirst",
]

# Builders by name, as accepted by the estimators.
BUILDERS = {
    "mdav": MDAV,
    "cbfs": CBFS,
    "tfrp": TFRP,
    "gsms": GSMS,
    "dbfs": DBFS,
    "path_optimal": PathOptimal,
    "optimal_1d": Optimal1D,
    "k_anonymity_first": KAnonymityFirst,
    "t_closeness_first": TClosenessFirst,
}
