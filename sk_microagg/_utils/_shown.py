"""Names of columns in a line of text."""


def shown(name: str) -> str:
    """A name in a list of names, in quotes if it would not be seen or could be several.

    Parameters
    ----------
    name : str
        The name of a column.

    Returns
    -------
    name : str
        The name as it is shown.

    Examples
    --------
    >>> from sk_microagg._utils._shown import shown
    >>> print(", ".join(map(shown, ["age", "Height, cm", ""])))
    age, 'Height, cm', ''
    """
    return repr(name) if not name.strip() or name != name.strip() or "," in name else name
