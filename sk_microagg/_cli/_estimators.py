"""The estimator for a table, by its columns and the options."""

from sk_microagg import KAIM, MicroAggregator
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._kinds import why_no_numbers
from sk_microagg._cli._privacy import demands_beyond_k
from sk_microagg.refiners import REFINERS

DEFAULTS = MicroAggregator().get_params()

REFINERS_OF_KAIM = ("local_search", "iterated_local_search", "none")


def make_estimator(values, hierarchies, options, verbose, privacy=None):
    """Make one estimator for all columns: two partitions are not k-anonymous in combination.

    Parameters
    ----------
    values : pandas.DataFrame
        The columns.

    hierarchies : dict
        Hierarchies from the user, by column. A column with a hierarchy is categorical.

    options : argparse.Namespace
        The options of the user.

    verbose : int
        If 1, a search prints a progress line.

    privacy : list of Constraint or None, default=None
        What each group must satisfy beyond its size.

    Returns
    -------
    estimator : MicroAggregator or KAIM
        The estimator, not fitted.
    """
    settings = {
        "k": options.k,
        "random_state": options.seed,
        "n_jobs": options.jobs,
        "verbose": verbose,
    }
    why = _why_generalize(values, hierarchies)
    if why is None:
        return MicroAggregator(
            builder=options.builder or DEFAULTS["builder"],
            refiner=make_refiner(options.refiner, options.time_limit),
            privacy=privacy,
            **settings,
        )
    demands = demands_beyond_k(options)
    if demands:
        raise CommandError(
            f"{demands[0]} is for columns of numbers without missing values, but {why}: leave it "
            "out, or choose other columns."
        )
    if options.builder is not None:
        raise CommandError(
            f"--builder is for columns of numbers without missing values, but {why}: leave it out, "
            "or choose other columns."
        )
    if options.certificate is not None:
        raise CommandError(
            f"--certificate {options.certificate:g} is for columns of numbers without missing "
            f"values, but {why}: leave it out, or choose other columns."
        )
    if options.refiner not in (None, *REFINERS_OF_KAIM):
        raise CommandError(
            f"--refiner {options.refiner} is for columns of numbers without missing values, but "
            f"{why}: take one of {', '.join(REFINERS_OF_KAIM)}, or choose other columns."
        )
    refiner = make_refiner(
        options.refiner,
        options.time_limit,
        default=KAIM().refiner,
        default_search="iterated_local_search",
    )
    return KAIM(hierarchies=hierarchies, refiner=refiner, **settings)


def _why_generalize(values, hierarchies):
    for name, column in values.items():
        why = "has a hierarchy" if name in hierarchies else why_no_numbers(column)
        if why is not None:
            return f"column {name!r} {why}"
    return None


def check_refiner_keeps_constraints(options):
    """Raise if there are constraints that the refiner does not know."""
    constraints = [option for option in demands_beyond_k(options) if option != "--strata"]
    refiner = make_refiner(options.refiner, options.time_limit)
    if isinstance(refiner, str):
        refiner = REFINERS[refiner]()
    if constraints and refiner is not None and not refiner.keeps_rules:
        names = [name for name, kind in REFINERS.items() if kind().keeps_rules]
        name = options.refiner or _name_of(refiner)
        raise CommandError(
            f"--refiner {name} does not know {constraints[0]}: take one of "
            f"{', '.join([*names, 'none'])}."
        )


def _name_of(refiner):
    return next(name for name, kind in REFINERS.items() if type(refiner) is kind)


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
