"""What users choose by name: builders, refiners, and options of constraints.

It imports no other package, so that the command line answers at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The largest weight of a column: beyond it, rounding would hide all other columns.
LARGEST_WEIGHT = 1e12

# What `sk-microagg methods` prints: the first paragraphs of docstrings.
BUILDERS = {
    "mdav": "Maximum distance to average vector (MDAV): pairs of groups at opposite ends.",
    "cbfs": "Centroid-based fixed-size microaggregation (CBFS): from the outside in.",
    "tfrp": "Two fixed reference points (TFRP): groups farthest from two corners of the data.",
    "gsms": "Successive group selection by least squared error (GSMS): the best group first.",
    "dbfs": "Diameter-based fixed-size microaggregation (DBFS): groups at both ends of the "
    "diameter.",
    "path_optimal": "Optimal runs of k to 2k - 1 records along a path through all records.",
    "optimal_1d": "The optimum for a single column: no other groups have a smaller squared error.",
    "k_anonymity_first": "Near records, some of them replaced until all constraints hold: "
    "k-anonymity first.",
    "t_closeness_first": "Near records, one of each stratum of the sensitive value: "
    "t-closeness first.",
}
REFINERS = {
    "auto": "Anneal for a short time, then exchange records until the partition is a power "
    "diagram.",
    "decompose": "Dissolve groups, one at a time, where that lowers the loss.",
    "decompose_shrink": "Alternate between dissolving and shrinking groups until neither "
    "lowers the loss.",
    "local_search": "Swap and shift records between pairs of groups until no such move "
    "lowers the loss.",
    "iterated_local_search": "Repeatedly perturb the partition and repair it by local "
    "search, keeping the best.",
    "annealing": "Simulated annealing: random steps, of which those that raise the loss "
    "become ever rarer.",
    "recombination": "Anneal several times, and combine the best of all groups found into "
    "one partition.",
    "exchange": "Exchange records along cycles of groups until the partition is a power diagram.",
    "none": "Keep the groups as they were built.",
}


@dataclass(frozen=True)
class ConstraintOption:
    """An option that sets a parameter of a constraint.

    Parameters
    ----------
    name : str
        Its name, as in "unit_share" for `--unit-share`.

    parameter : str
        The parameter of the constraint.

    kind : {"diversity", "positive", "positive_share", "share"} or tuple of str
        Which values it takes: a number of at least 1; a number above 0; one above 0 and at most 1;
        one from 0 to 1; or one of some words.

    help : str
        What it does, for `--help`.

    default : object, default=None
        The value if it is not given.

    See Also
    --------
    Front : Has the options of a constraint.

    Examples
    --------
    >>> from sk_microagg.privacy import ConstraintOption
    >>> option = ConstraintOption("spread", "least", "positive", "numbers differ by at least S")
    >>> option.default is None
    True
    """

    name: str
    parameter: str
    kind: str | tuple[str, ...]
    help: str
    default: Any = None


@dataclass(frozen=True)
class Front:
    """How users ask for a constraint, and what they read about it.

    Parameters
    ----------
    title : str
        Its name in summaries.

    options : tuple of ConstraintOption
        Its options; the first one demands it.

    label : str
        What the page calls its first option.

    meaning : str
        What that means.

    choice : str
        A value of it in words, as in "At least {}".

    choices : tuple of float
        Values to choose from on the page.

    See Also
    --------
    Constraint : Has it as the attribute `front`.

    Examples
    --------
    >>> from sk_microagg.privacy import LDiversity
    >>> LDiversity.front.title, [option.name for option in LDiversity.front.options]
    ('l-diversity', ['l', 'l_kind', 'c'])
    """

    title: str
    options: tuple[ConstraintOption, ...]
    label: str
    meaning: str
    choice: str
    choices: tuple[float, ...]


# How users ask for constraints, by the names of their first options. Other constraints add
# theirs where they are defined.
FRONTS = {
    "unit_share": Front(
        title="unit share",
        options=(
            ConstraintOption(
                "unit_share",
                "at_most",
                "positive_share",
                "of the rows of a group, at most this share belongs to one person, above 0 and at "
                "most 1; needs --unit",
            ),
        ),
        label="Rows of one unit in a group",
        meaning="No person has more than this share of the rows of a group: otherwise a row is "
        "that person's more often than 1 in k.",
        choice="At most {}",
        choices=(0.05, 0.1, 0.2, 0.25, 0.33, 0.5),
    ),
    "l": Front(
        title="l-diversity",
        options=(
            ConstraintOption(
                "l",
                "l",
                "diversity",
                "each group has at least L different values in every sensitive column",
            ),
            ConstraintOption(
                "l_kind",
                "kind",
                ("distinct", "entropy", "recursive"),
                "entropy: values as hard to predict as L equally frequent ones; recursive: the "
                "most frequent value occurs less than C times as often as all but the L - 1 most "
                "frequent ones together. Default: distinct",
                "distinct",
            ),
            ConstraintOption("c", "c", "positive", "for --l-kind recursive"),
        ),
        label="Different sensitive values (l)",
        meaning="Each group has at least this many different values of every sensitive column: "
        "nobody learns a value for sure.",
        choice="At least {}",
        choices=(2, 3, 4, 5, 6, 8, 10),
    ),
    "t": Front(
        title="t-closeness",
        options=(
            ConstraintOption(
                "t",
                "t",
                "share",
                "each group has nearly the distribution of the whole table in every sensitive "
                "column: the earth mover's distance, over the order of numbers, and between "
                "equally distant values of other columns, is at most T, from 0 to 1",
            ),
        ),
        label="Distance from the whole table (t)",
        meaning="The sensitive values of each group are distributed nearly as in the whole table. "
        "0 would be exactly so; 1 demands nothing.",
        choice="At most {}",
        choices=(0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1),
    ),
    "dominance": Front(
        title="dominance",
        options=(
            ConstraintOption(
                "dominance",
                "share",
                "positive_share",
                "of the sum of a group, at most this share belongs to one person or company, above "
                "0 and at most 1: in every sensitive column of numbers, or, if there is none, in "
                "every column of numbers from 0 on that is anonymized",
            ),
        ),
        label="Largest contributor to a group",
        meaning="No company has more than this share of the sum of its group: otherwise the mean "
        "reveals its value. In all sensitive columns of numbers, or else in anonymized ones.",
        choice="At most {}",
        choices=(0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9),
    ),
    "p_percent": Front(
        title="p percent",
        options=(
            ConstraintOption(
                "p_percent",
                "p",
                "positive",
                "anybody who knows the second largest value of a group can estimate the largest "
                "to within P percent at best; in the same columns as --dominance",
            ),
        ),
        label="Estimates of the largest value (p)",
        meaning="Nobody who knows the second largest value of a group can estimate the largest to "
        "within this percentage. In all sensitive columns of numbers, or else in anonymized ones.",
        choice="Off by at least {}%",
        choices=(1, 2, 5, 10, 15, 20, 30, 50),
    ),
    "population": Front(
        title="population size",
        options=(
            ConstraintOption(
                "population",
                "at_least",
                "positive",
                "the sampling weights of each group add up to at least P people; needs --weight",
            ),
        ),
        label="People of the population in a group",
        meaning="The sampling weights of each group add up to at least this many people.",
        choice="At least {}",
        choices=(20, 50, 100, 200, 500, 1000),
    ),
}
