"""The estimator for a table, by its columns and the options."""

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.files._errors import CommandError
from sk_microagg.refiners import REFINERS
from sk_microagg.refiners._chain import name_of, refiner_by_name
from sk_microagg.release._demands import demands_beyond_k

DEFAULTS = MicroAggregator().get_params()

REFINERS_OF_KAIM = ("local_search", "iterated_local_search", "none")

# What only groups that are released as averages can be asked for.
OPTIONS_OF_AVERAGES = ("builder", "certificate", "weights", "categories", "round", "target")


def make_estimator(columns, hierarchies, declared, roles, options, verbose):
    """Make one estimator for all columns: two partitions are not k-anonymous in combination.

    Parameters
    ----------
    columns : list of Column
        The columns to anonymize, each with a known value.

    hierarchies : dict
        Hierarchies from the user, by column.

    declared : Declared
        What the user says about columns.

    roles : Roles
        Other columns that say what each group must satisfy.

    options : argparse.Namespace
        The options of the user.

    verbose : int
        If 1, a search prints a progress line.

    Returns
    -------
    estimator : TableAggregator or KAIM
        The estimator, not fitted.
    """
    names = [column.name for column in columns]
    settings = {
        "k": options.k,
        "hierarchies": {name: tree for name, tree in hierarchies.items() if name in names} or None,
        "random_state": options.seed,
        "n_jobs": options.jobs,
        "verbose": verbose,
    }
    if options.method == "kaim":
        return KAIM(refiner=_refiner_of_kaim(options), **settings)
    weights = {name: weight for name, weight in declared.weights.items() if name in names}
    return TableAggregator(
        quasi_identifiers=names,
        **roles.names(),
        column_weights=weights or None,
        categories=declared.categories or "mode",
        # Dates are numbers of units, and ordinal values are ranks: both are rounded to integers.
        decimals={c.name: c.notation.decimals for c in columns if c.notation is not None},
        privacy=roles.privacy,
        builder=options.builder or DEFAULTS["builder"],
        refiner=make_refiner(options.refiner, options.time_limit),
        **settings,
    )


def check_method(options):
    """Raise if KAIM does not know an option, before anything is read."""
    if options.method != "kaim":
        return
    given = demands_beyond_k(options)
    given += [f"--{name}" for name in OPTIONS_OF_AVERAGES if getattr(options, name)]
    if given:
        raise CommandError(f"{given[0]} is not for --method kaim: leave out one of them.")
    if options.refiner not in (None, *REFINERS_OF_KAIM):
        raise CommandError(
            f"--refiner {options.refiner} is not for --method kaim: take one of "
            f"{', '.join(REFINERS_OF_KAIM)}."
        )
    _refiner_of_kaim(options)


def _refiner_of_kaim(options):
    return make_refiner(
        options.refiner,
        options.time_limit,
        default=KAIM().refiner,
        default_search="iterated_local_search",
    )


def check_refiner_keeps_constraints(options):
    """Raise if there are constraints that the refiner does not know."""
    constraints = [option for option in demands_beyond_k(options) if option != "--strata"]
    refiner = make_refiner(options.refiner, options.time_limit)
    if isinstance(refiner, str):
        refiner = refiner_by_name(refiner)
    if constraints and refiner is not None and not refiner.keeps_rules:
        names = [name for name, kind in REFINERS.items() if kind().keeps_rules]
        name = options.refiner or name_of(refiner)
        raise CommandError(
            f"--refiner {name} does not know {constraints[0]}: take one of "
            f"{', '.join([*names, 'none'])}."
        )


def make_refiner(name, time_limit, default=DEFAULTS["refiner"], default_search="recombination"):
    """Make the refiner by its name and time limit.

    Parameters
    ----------
    name : str or None
        Its name, or "none".

    time_limit : float or None
        Seconds for its search.

    default : str, default=that of MicroAggregator
        Name of the refiner if there are neither name nor time limit.

    default_search : str, default="recombination"
        Name of the refiner if there is a time limit only.

    Returns
    -------
    refiner : str, Refiner or None
        The parameter of an estimator.
    """
    if time_limit is None:
        return None if name == "none" else name or default
    have_limits = [name for name in REFINERS if "time_limit" in REFINERS[name]().get_params()]
    if name not in (None, *have_limits):
        raise CommandError(
            f"--refiner {name} has no time limit: leave out --time-limit, or take "
            f"{' or '.join(have_limits)}."
        )
    return REFINERS[name or default_search](time_limit=time_limit)
