"""What the groups of a release must satisfy beyond their size."""

import warnings
from contextlib import contextmanager

from sk_microagg._cli._errors import CommandError, one_line
from sk_microagg._cli._progress import WARNING
from sk_microagg._utils._formatting import (
    at_most,
    is_share_large,
    rounded_down,
    rounded_up,
    shown,
    whole_percent,
)
from sk_microagg._utils._tables import SIMILAR
from sk_microagg.encoding._encoder import ADVICE, LOST
from sk_microagg.privacy import LDiversity, TCloseness, UnitShare

# What to do about a column that is lost, instead of `ADVICE`.
ADVICE_OF_COMMAND = "Use --drop, or generalize it: --hierarchies, with --categories generalize."

# What a large share of one unit in a group means.
RIGHT_THAT_OFTEN = "an intruder who attributes all of them to that person is right that often"

# A proposed share is a multiple of this, which hardly tells how many rows somebody has.
STEP_OF_PROPOSALS = 0.05


def check_privacy_options(options):
    """Raise if options contradict each other, before anything is read."""
    for option in ("l", "t"):
        if getattr(options, option) is not None and not options.sensitive:
            raise CommandError(
                f"--{option} {getattr(options, option):g} needs --sensitive: the columns that it "
                "is about."
            )
    if options.unit_share is not None and options.unit is None:
        raise CommandError(
            f"--unit-share {options.unit_share:g} needs --unit: the column that it is about."
        )
    if options.l is None and options.l_kind != "distinct":
        raise CommandError(f"--l-kind {options.l_kind} needs --l.")
    if not isinstance(options.l, int | None) and options.l_kind != "entropy":
        raise CommandError(f"--l {options.l:g} must be an integer, unless --l-kind is entropy.")
    if (options.c is None) == (options.l_kind == "recursive"):
        raise CommandError("--l-kind recursive needs --c, and no other kind takes it.")


def demands_beyond_k(options):
    """The options that demand more of a group than k records, as the user writes them."""
    return [
        f"--{option.replace('_', '-')}"
        for option in ("l", "t", "unit", "unit_share", "strata")
        if getattr(options, option) not in (None, [])
    ]


def make_privacy(options, choice, numbers):
    """Make the constraints: that on units first, then one of a kind for each sensitive column.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the user.

    choice : Choice
        The columns.

    numbers : list of str
        The sensitive columns that hold numbers, which are ordered.

    Returns
    -------
    privacy : list of Constraint or None
        The constraints; None if there are none.
    """
    privacy = [] if options.unit_share is None else [UnitShare(options.unit_share)]
    for name in choice.sensitive:
        if options.l is not None:
            privacy.append(LDiversity(options.l, options.l_kind, options.c, column=name))
        if options.t is not None:
            distance = "ordered" if name in numbers else "equal"
            privacy.append(TCloseness(options.t, distance, column=name))
    return privacy or None


@contextmanager
def warnings_as_lines(progress):
    """Print warnings of the library as lines of the command."""
    with warnings.catch_warnings(record=True) as caught:
        expected = ("All records .*in one group", "k=1: nothing is anonymized", LOST, SIMILAR)
        warnings.filterwarnings("always", "|".join(expected))
        yield
    for warning in caught:
        text = one_line(warning.message).replace(ADVICE, ADVICE_OF_COMMAND)
        progress.say(f"{WARNING}{text}")


def warn_of_large_units(choice, share, k, progress, least=None):
    """Warn if one unit has a larger share of a group than k units with one row each would have.

    `least` is the least share that can be demanded, None if that is not known, as on Dask.
    """
    if share is not None and is_share_large(share, k):
        proposed, unless = rounded_down(1 / k, 4), ""
        if least is None:
            unless = " unless somebody has more of the whole table"
        elif least > proposed:
            proposed = rounded_up(least / STEP_OF_PROPOSALS, 0) * STEP_OF_PROPOSALS
        demand = (
            f"Use --unit-share {proposed:g}{unless}, or release" if proposed < share else "Release"
        )
        progress.say(
            f"{WARNING}{whole_percent(rounded_up(share))} of the rows of a group belong to one "
            f"value of {shown(choice.unit)}, more than 1 in k={k}: "
            f"{RIGHT_THAT_OFTEN}. {demand} fewer rows per person."
        )


def privacy_facts(choice, privacy, figures, n_units, k, share=None):
    """Summarize what was demanded of each group, and what holds.

    Parameters
    ----------
    choice : Choice
        The columns.

    privacy : list of Constraint or None
        The constraints.

    figures : list of float
        The worst figure for each constraint.

    n_units : int or None
        The smallest number of different units in a group.

    k : int
        The number that was demanded.

    share : float or None, default=None
        The largest share of one unit in a group.

    Returns
    -------
    facts : dict
        By name, a fact or a list of several.
    """
    facts = {}
    if n_units is not None:
        facts["units per group"] = f"{n_units}  (different values of {choice.unit}; {k} demanded)"
        demanded = [f"; {c.at_most:g} demanded" for c in privacy or [] if c.is_about_units]
        facts["unit share"] = (
            f"{at_most(share)} of the rows of a group belong to one of them{''.join(demanded)}"
        )
    for constraint, figure in zip(privacy or [], figures, strict=True):
        if constraint.is_about_units:
            continue
        is_close = isinstance(constraint, TCloseness)
        words = (_closeness_in_words if is_close else _diversity_in_words)(constraint, figure)
        name = "t-closeness" if is_close else "l-diversity"
        # How many values are different does not depend on how often people have them.
        if n_units is not None and (is_close or constraint.kind != "distinct"):
            words += "; counted in rows"
        facts.setdefault(name, []).append(f"{constraint.column}: {words}")
    return facts


def is_worse_if_larger(constraint):
    """Whether the largest figure of a group is the worst one, and not the smallest."""
    if isinstance(constraint, TCloseness | UnitShare):
        return True
    return constraint.kind == "recursive"


def _closeness_in_words(constraint, figure):
    # What was demanded is a bound, too, and may be the smaller one.
    most = min(rounded_up(figure), constraint.t)
    return f"the distance of a group from the table is at most {most:g}; {constraint.t:g} demanded"


def _diversity_in_words(constraint, figure):
    if constraint.kind == "distinct":
        return f"every group has at least {figure:.0f} different values; {constraint.l} demanded"
    if constraint.kind == "entropy":
        least = max(rounded_down(figure, decimals=1), constraint.l)
        return (
            f"the entropy of a group is at least that of {least:g} equally frequent values; "
            f"{constraint.l:g} demanded"
        )
    return (
        f"the largest ratio r1 / (r{constraint.l} + ...) of a group is {figure:.4g}; below "
        f"{constraint.c:g} demanded"
    )
