"""Names of columns in a report."""

from sk_microagg._utils._printable import printable
from sk_microagg._utils._shown import shown


def shown_name(name):
    r"""A name from a table, of any type, as it is read in a list and on a page.

    Examples
    --------
    >>> from sk_microagg.report._names import shown_name
    >>> print(", ".join(map(shown_name, ["Height, cm", "", "tab\t", 3])))
    'Height, cm', '', 'tab\t', 3
    """
    return printable(shown(str(name)))
