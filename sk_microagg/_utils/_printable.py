"""Text that somebody else wrote, on the terminal or in a report of the user."""


def printable(text):
    r"""The text with all that a terminal would obey, or not show, escaped.

    Names of columns and files, and cells, may hold control characters that move the cursor, clear
    what was printed, or turn text around.

    Parameters
    ----------
    text : object
        What is to be printed.

    Returns
    -------
    line : str
        One line of characters that are shown as they are.

    Examples
    --------
    >>> from sk_microagg._utils._printable import printable
    >>> print(printable("age\x1b[2J\n, größe"))
    age\x1b[2J\n, größe
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(text))
