"""The three reference data sets of the CASC project: Tarragona, Census and EIA."""

from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Any, Literal, TypeVar

from sklearn.utils import Bunch

from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import FilePath
from sk_microagg._utils._validation import check_option
from sk_microagg.datasets._files import Access, DataFile, load

# The R package sdcMicro contains the three tables; a fixed commit, so that they never change.
UPSTREAM = (
    "https://raw.githubusercontent.com/sdcTools/sdcMicro/"
    "cf3251017482bb215f0a9abf4a930f502399fb72/data/"
)


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TARRAGONA = DataFile(
    rda="Tarragona.rda",
    csv="tarragona.csv",
    url=UPSTREAM + "Tarragona.rda",
    sha256="e83def0648be5e47eaf202b4dd60dd6981591d0858fd249817b9a2cc97cf2aef",
    columns=names(
        "FIXED.ASSETS CURRENT.ASSETS TREASURY UNCOMMITTED.FUNDS PAID.UP.CAPITAL SHORT.TERM.DEBT "
        "SALES LABOR.COSTS DEPRECIATION OPERATING.PROFIT FINANCIAL.OUTCOME GROSS.PROFIT "
        "NET.PROFIT"
    ),
    n_rows=834,
)

CENSUS = DataFile(
    rda="CASCrefmicrodata.rda",
    csv="census.csv",
    url=UPSTREAM + "CASCrefmicrodata.rda",
    sha256="147d0d7fa823a384e36c2297174560e32cdbe6e39803f22f797610fb1a2993d6",
    columns=names(
        "AFNLWGT AGI EMCONTRB FEDTAX PTOTVAL STATETAX TAXINC POTHVAL INTVAL PEARNVAL FICA "
        "WSALVAL ERNVAL"
    ),
    n_rows=1080,
)

EIA_AMOUNTS = names(
    "RESREVENUE RESSALES COMREVENUE COMSALES INDREVENUE INDSALES OTHREVENUE OTHRSALES "
    "TOTREVENUE TOTSALES"
)

EIA = DataFile(
    rda="EIA.rda",
    csv="eia.csv",
    url=UPSTREAM + "EIA.rda",
    sha256="8b61ceb0d1fa01d024bd62171655601abed62ff70a5e9e6fd550c43a1f76695e",
    columns=("UTILITYID", "UTILNAME", "STATE", "YEAR", "MONTH", *EIA_AMOUNTS),
    n_rows=4092,
)

EIA_VARIANTS = {11: ("UTILITYID", *EIA_AMOUNTS), 10: EIA_AMOUNTS}

SOURCE_DESCR = """\
Source: the European project CASC (Computational Aspects of Statistical Confidentiality), which
collected the table as a reference for methods that protect numerical microdata: R. Brand,
J. Domingo-Ferrer and J. M. Mateo-Sanz, "Reference data sets to test and compare SDC methods for
protection of numerical microdata" (2002). Fetched from the data folder of the R package sdcMicro,
https://github.com/sdcTools/sdcMicro.
"""

TARRAGONA_DESCR = f"""\
Tarragona
=========

The accounts of 834 companies in the area of Tarragona, Catalonia, for the year 1995: thirteen
numerical columns, from fixed assets to net profit. No value is missing. A few very large companies
lie far from all others, so that the table is hard to microaggregate with little loss.

{SOURCE_DESCR}"""

CENSUS_DESCR = f"""\
Census
======

Incomes and taxes of 1080 people for the year 1995, drawn from the public data of the United
States Census Bureau: thirteen numerical columns, among them the survey weight, gross and taxable
income, wages, interest, and federal and state tax. No value is missing.

{SOURCE_DESCR}"""

EIA_DESCR = f"""\
EIA
===

Monthly sales of electric utilities in the United States in the year 1996: 4092 records of the
Energy Information Administration. Ten columns are the revenue and the sales to residential,
commercial, industrial, other and all consumers. No value is missing.

Publications use two selections of columns, and their information losses cannot be compared:
variant 11 has the number of the utility (UTILITYID) and these ten columns, variant 10 has only the
ten. The names of utility and state, the year and the month are in neither.

{SOURCE_DESCR}"""


PARAMETERS = """\
data_home : str or path-like, default=None
    Where downloads are kept, in the subfolder `sk_microagg`; None is scikit-learn's data home.
    Not used if the environment variable `SK_MICROAGG_DATA` names a folder with the data.

download_if_missing : bool, default=True
    If False, raise an OSError if the data would have to be downloaded.

as_frame : bool, default=False
    If True, the data is a pandas DataFrame; this needs the extra `sk-microagg[table]`.

return_X : bool, default=False
    If True, return only the data instead of a Bunch.

n_retries : int, default=3
    Number of retries after a failed download.

delay : float, default=1.0
    Seconds to wait before each retry."""

RETURNS = """\
data : :class:`~sklearn.utils.Bunch`
    Dictionary-like object, with the following attributes.

    data : ndarray of shape %(shape)s or DataFrame
        The records, as float64.
    feature_names : list of str
        The names of the columns.
    frame : DataFrame or None
        The same as `data` if `as_frame=True`.
    DESCR : str
        A description of the data set and its source.

X : ndarray of shape %(shape)s or DataFrame
    Only the records, if `return_X=True`."""

Fetcher = TypeVar("Fetcher", bound=Callable[..., Any])


def _documented(shape: str) -> Callable[[Fetcher], Fetcher]:
    """Decorator that fills in what the docstrings of the three fetchers have in common."""

    def fill_in(fetcher: Fetcher) -> Fetcher:
        if fetcher.__doc__:  # python -OO has none
            parts = {"parameters": PARAMETERS, "returns": RETURNS % {"shape": shape}}
            fetcher.__doc__ = cleandoc(fetcher.__doc__) % parts
        return fetcher

    return fill_in


@_documented("(834, 13)")
def fetch_tarragona(
    *,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
    as_frame: bool = False,
    return_X: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the Tarragona data set: the accounts of 834 companies, 13 numerical columns.

    Parameters
    ----------
    %(parameters)s

    Returns
    -------
    %(returns)s

    See Also
    --------
    fetch_census : Incomes and taxes of people.
    fetch_eia : Revenues and sales of electric utilities.

    Examples
    --------
    Not run as a test, since it needs the network or a folder with the data.

    >>> from sk_microagg.datasets import fetch_tarragona
    >>> X = fetch_tarragona(return_X=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (834, 13)
    """
    access = Access(data_home, download_if_missing, n_retries, delay)
    return _fetch(TARRAGONA, TARRAGONA.columns, TARRAGONA_DESCR, access, as_frame, return_X)


@_documented("(1080, 13)")
def fetch_census(
    *,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
    as_frame: bool = False,
    return_X: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the Census data set: incomes and taxes of 1080 people, 13 numerical columns.

    Parameters
    ----------
    %(parameters)s

    Returns
    -------
    %(returns)s

    See Also
    --------
    fetch_tarragona : Accounts of companies.
    fetch_eia : Revenues and sales of electric utilities.

    Examples
    --------
    Not run as a test, since it needs the network or a folder with the data.

    >>> from sk_microagg.datasets import fetch_census
    >>> census = fetch_census()  # doctest: +SKIP
    >>> census.feature_names[:3]  # doctest: +SKIP
    ['AFNLWGT', 'AGI', 'EMCONTRB']
    """
    access = Access(data_home, download_if_missing, n_retries, delay)
    return _fetch(CENSUS, CENSUS.columns, CENSUS_DESCR, access, as_frame, return_X)


@_documented("(4092, `variant`)")
def fetch_eia(
    variant: Literal[11, 10] = 11,
    *,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
    as_frame: bool = False,
    return_X: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the EIA data set: 4092 monthly sales of electric utilities, 11 or 10 columns.

    Parameters
    ----------
    variant : {11, 10}, default=11
        The selection of columns. Publications use two, whose results cannot be compared: 11 is
        UTILITYID and the ten columns of revenues and sales, 10 is only these ten.

    %(parameters)s

    Returns
    -------
    %(returns)s

    See Also
    --------
    fetch_tarragona : Accounts of companies.
    fetch_census : Incomes and taxes of people.

    Examples
    --------
    Not run as a test, since it needs the network or a folder with the data.

    >>> from sk_microagg.datasets import fetch_eia
    >>> fetch_eia(return_X=True).shape  # doctest: +SKIP
    (4092, 11)
    >>> fetch_eia(10, return_X=True).shape  # doctest: +SKIP
    (4092, 10)
    """
    check_option("variant", variant, tuple(EIA_VARIANTS))
    access = Access(data_home, download_if_missing, n_retries, delay)
    return _fetch(EIA, EIA_VARIANTS[variant], EIA_DESCR, access, as_frame, return_X)


def _fetch(
    source: DataFile,
    feature_names: Sequence[str],
    descr: str,
    access: Access,
    as_frame: bool,
    return_X: bool,
) -> Any:
    """Load columns of `source` and return them in the requested form."""
    pandas: Any = import_extra("pandas", "table", "as_frame=True") if as_frame else None
    X = load(source, feature_names, access)
    feature_names = list(feature_names)
    frame = pandas.DataFrame(X, columns=feature_names) if as_frame else None
    data = frame if as_frame else X
    if return_X:
        return data
    return Bunch(data=data, feature_names=feature_names, frame=frame, DESCR=descr)
