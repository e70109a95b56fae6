"""The made-up table of the documentation, which is shipped with the package."""

from importlib.resources import files
from io import BytesIO

from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import DataFrame


def load_visits() -> DataFrame:
    """Load a made-up table of 300 patients of a hospital: numbers, categories, missing values.

    Nobody in it exists: it was drawn from random numbers, for the examples of the documentation.
    The columns are `id`, which identifies a patient; `age`, `sex`, `town` and `income` (in
    thousands, missing for some), which an intruder may know; and `diagnosis`, which is sensitive.
    Every patient is unique by the four columns that an intruder may know.

    Returns
    -------
    visits : DataFrame of shape (300, 6)
        The table; this needs the extra `sk-microagg[table]`.

    See Also
    --------
    fetch_adult : People of a census, with hierarchies for categories.

    Notes
    -----
    `sk-microagg demo --write visits.csv` writes the same table to a file.

    Examples
    --------
    >>> from sk_microagg.datasets import load_visits
    >>> load_visits().head(3)
         id  age sex    town  income diagnosis
    0  P001   73   f  Naples    26.0      gout
    1  P002   71   m    Rome    36.0    injury
    2  P003   26   m    Rome    31.3       flu
    """
    pandas = import_extra("pandas", "table", "load_visits")
    return pandas.read_csv(BytesIO(visits_csv()))


def visits_csv() -> bytes:
    """The table as the bytes of a CSV file."""
    return (files("sk_microagg.datasets") / "tables" / "visits.csv").read_bytes()
