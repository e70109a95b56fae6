"""What a release discloses about sensitive columns and units, for the command `risk`."""

from itertools import combinations

import pandas as pd

from sk_microagg import metrics
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._privacy import RIGHT_THAT_OFTEN
from sk_microagg._utils._formatting import at_most, is_share_large, percent, printable, shown
from sk_microagg.metrics._groups import homogeneity_of_both


def check_roles(options):
    """Raise if a column is named by several options.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the user, with the names of the tables.
    """
    named = {
        "--columns": options.columns or [],
        "--sensitive": options.sensitive,
        "--unit": [] if options.unit is None else [options.unit],
    }
    for one, other in combinations(named, 2):
        for name in named[one]:
            if name in named[other]:
                raise CommandError(f"Column {name!r} is named by {one} and by {other}.")


def values_of_roles(columns, original, release, are_in_order, options, declared=None):
    """Values of some columns, from the release if they are there, otherwise from the original.

    Parameters
    ----------
    columns : list of str
        Their names.

    original, release : Table
        The tables.

    are_in_order : bool
        Whether the rows of both correspond, without which the original says nothing.

    options : argparse.Namespace
        The options of the user.

    declared : Declared or None, default=None
        What the user says about the columns, whose kinds must be clear; None if these do not
        matter.

    Returns
    -------
    values : pandas.DataFrame
        The values.
    """
    values = {}
    for name in columns:
        is_released = name in release.cells.column_names
        if not is_released and not are_in_order:
            raise CommandError(
                f"Column {name!r} is only in {options.original}, whose rows are in another order "
                f"than those of {options.release}."
            )
        table = release if is_released else original
        values[name] = table.values([name], declared, is_strict=declared is not None)[name]
    return pd.DataFrame(values)


def units_per_class(classes, units):
    """How many people share a row.

    Parameters
    ----------
    classes : ndarray of shape (n_rows,)
        Class of each row.

    units : pandas.DataFrame
        Who each row belongs to, in one column, or no column.

    Returns
    -------
    facts : dict
        The fact by its name, or nothing.
    """
    if units.empty:
        return {}
    (name,) = units
    n_units = metrics.units_per_group(classes, units[name])
    share = metrics.unit_share(classes, units[name])
    words = f"{at_most(share)} of the rows of a class belong to one of them"
    if is_share_large(share, n_units):
        words += f", more than 1 in {n_units}: {RIGHT_THAT_OFTEN}"
    return {
        "units per class": f"at least {n_units} different values of {shown(name)}",
        "unit share": words,
    }


def print_sensitive(classes, sensitive, has_units=False):
    """Print what classes of equal released rows disclose about each sensitive column.

    Parameters
    ----------
    classes : ndarray of shape (n_rows,)
        Class of each row.

    sensitive : pandas.DataFrame
        The sensitive columns.

    has_units : bool, default=False
        Whether people have several rows.
    """
    names = [printable(shown(name)) for name in sensitive]
    width = max(map(len, ("column", *names)))
    print("\nDisclosure of sensitive values by classes of equal released rows")
    print(f"{'column':<{width}}  homogeneity  one known  distinct  entropy  closeness")
    for name, (_, values) in zip(names, sensitive.items(), strict=True):
        homogeneity, known = map(percent, homogeneity_of_both(classes, values))
        distinct = metrics.diversity(classes, values)
        entropy = metrics.diversity(classes, values, kind="entropy")
        closeness = metrics.closeness(classes, values)
        shares = f"{homogeneity:>13}{known:>11}"
        print(f"{name:<{width}}{shares}{distinct:>10}{entropy:9.2f}{closeness:11.4f}")
    print(
        "Homogeneity: rows in classes that share one value; one known: that have one known value,\n"
        "apart from missing ones. In the worst class: the number of distinct values, the\n"
        "exponential of their entropy (l-diversity), and their distance from those of the whole\n"
        "table (t-closeness)." + (" All of them count rows, not people." if has_units else "")
    )
