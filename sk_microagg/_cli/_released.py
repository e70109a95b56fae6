"""What is released for columns, and in words."""

from dataclasses import replace

from sk_microagg import TableAggregator
from sk_microagg._cli._errors import CommandError


def describe(column, release, estimator):
    """Describe a column: its name, its kind, how that was recognized, and what is released.

    Parameters
    ----------
    column : Column
        The column.

    release : pandas.DataFrame or None
        What is released for it, in one column or several; None if all its values are missing.

    estimator : TableAggregator or KAIM
        The estimator that made the release.

    Returns
    -------
    about : dict
        Text by "name", "kind", "recognized" and "released".
    """
    if release is None:
        released = "empty cells"
    elif not isinstance(estimator, TableAggregator):
        released = _generalized_in_words(column, estimator)
    elif column.notation is not None or estimator.categories == "mode":
        return describe_averages(column, bool(release.isna().to_numpy().any()))
    else:
        released = _category_in_words(column, release, estimator)
    return _description(column, released)


def describe_averages(column, is_incomplete):
    """Describe a column that is released as means or most frequent values, as `describe` does.

    Parameters
    ----------
    column : Column
        The column.

    is_incomplete : bool
        Whether some released cells are missing.

    Returns
    -------
    about : dict
        Text by "name", "kind", "recognized" and "released".
    """
    is_category = column.notation is None
    released = "most frequent value" if is_category else _mean_in_words(column)
    if is_incomplete:
        released += f", empty where most are missing{' or rare' if is_category else ''}"
    return _description(column, released)


def _description(column, released):
    return {
        "name": column.name,
        "kind": column.kind,
        "recognized": column.how,
        "released": released,
    }


def _category_in_words(column, release, estimator):
    if estimator.categories == "shares":
        first, *others = release.columns
        more = f" and {len(others)} more" if others else ""
        return f"one column of shares per value, {first}{more}"
    return _generalized_in_words(column, estimator)


def _generalized_in_words(column, estimator):
    if column.name in (estimator.hierarchies or {}):
        released = "lowest common node"
    else:
        released = "common value" if column.notation is None else "interval"
    return f"{released}, or * for any value"


def _mean_in_words(column):
    if column.kind == "ordinal":
        n_released, n_levels = len(column.notation.ranks), len(column.notation.levels)
        if n_released == n_levels:
            return "value of the mean rank"
        return "shared value next to the mean rank" if n_released else "empty cells"
    if column.kind == "date":
        return f"mean, rounded to {column.notation.unit}s"
    decimals = column.notation.decimals
    if decimals is None:
        digits = column.notation.digits
        return "mean" if digits is None else f"mean, rounded to {digits} significant digits"
    if decimals == 0:
        return "mean, rounded to integers"
    if decimals < 0:
        return f"mean, rounded to multiples of {10**-decimals}"
    return f"mean, rounded to {decimals} decimal{'s' if decimals > 1 else ''}"


def with_decimals(column, declared):
    """The column, with the number of decimals that the user wants, if it holds numbers.

    Parameters
    ----------
    column : Column
        The column.

    declared : Declared
        What the user says.

    Returns
    -------
    column : Column
        The column.
    """
    if column.name in declared.decimals and column.kind not in ("number", "empty"):
        raise CommandError(
            f"--round names {column.name!r}, which must hold numbers, but is of the kind "
            f"{column.kind}."
        )
    decimals = declared.decimals_of(column.name)
    if decimals is None or column.kind != "number":
        return column
    return replace(column, notation=replace(column.notation, decimals=decimals, is_padded=False))


def with_shared_levels(column, declared, k, units=None):
    """The column, which releases only ordinal values that k people have or the user names.

    Parameters
    ----------
    column : Column
        The column.

    declared : Declared
        What the user says: values of an order that is given may be released.

    k : int
        Smallest number of people who share a value that is released otherwise.

    units : ndarray of int or None, default=None
        Who each record belongs to, numbered from 0; None if each belongs to somebody else.

    Returns
    -------
    column : Column
        The column.
    """
    if column.kind != "ordinal" or column.name in declared.orders:
        return column
    return replace(column, notation=column.notation.of_shared(column.values, k, units))


def released_by_column(released, columns, estimator):
    """What is released for each column: one column, or one for each category with its share.

    Parameters
    ----------
    released : pandas.DataFrame
        What the estimator returned.

    columns : list of Column
        The columns that it anonymized.

    estimator : TableAggregator or KAIM
        The estimator.

    Returns
    -------
    release : dict
        A DataFrame by the name of each column.
    """
    names = {column.name: [column.name] for column in columns}
    if getattr(estimator, "categories", None) == "shares":
        names = {name: list(rows.columns) for name, rows in estimator._released.items()}
    return {name: released[parts] for name, parts in names.items()}
