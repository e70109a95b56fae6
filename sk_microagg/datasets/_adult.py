"""The Adult data set, and a generalization hierarchy for each of its categorical columns."""

import csv
import os
import warnings
from http.client import HTTPException
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from numbers import Integral, Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml, get_data_home
from sklearn.utils import Bunch, check_scalar

from sk_microagg._utils._csv import read_csv_rows
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import Array, DataFrame, FilePath
from sk_microagg.datasets._files import FOLDER_VARIABLE, rows_below
from sk_microagg.tables import Hierarchy

FILE_NAME = "adult.csv"
CATEGORICAL_COLUMNS = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
COLUMNS = ("age", *CATEGORICAL_COLUMNS, "salary-class")
SALARY_CLASSES = ("<=50K", ">50K")
MISSING = "?"

# What scikit-learn warns of on the way, with paths of its own: if it fails, the error says so.
ON_THE_WAY = (
    "A network error occurred while downloading|Downloaded file could have been corrupted|"
    "Invalid cache, redownloading"
)

# The two files of the UCI repository. OpenML has the test records first, here they are last.
N_TRAINING_RECORDS = 32561
N_TEST_RECORDS = 16281
N_RECORDS = N_TRAINING_RECORDS + N_TEST_RECORDS

DESCR = """\
Adult
=====

48842 people, drawn from the data of the United States Census Bureau for the year 1994: the 32561
training records of the UCI repository, then its 16281 test records. Of the fifteen columns there,
these are nine that publications on k-anonymity use: age, seven categorical columns and the salary
class. All but the salary class are quasi-identifiers. Values of workclass, occupation and
native-country are missing in 3620 records, 7.41% of all; that is 1.65% of the cells of the
quasi-identifiers.

The hierarchies generalize the seven categorical columns. They were written for this package, by
type of employer, level of education, current marital status, type of work and region of the world.
Three countries need an explanation: South is taken to be South Korea, since nearly all of its
records have the race Asian-Pac-Islander; Hong is Hong Kong; the outlying islands, which lie in two
oceans, are grouped with the United States.

Source: B. Becker and R. Kohavi, "Adult", UCI Machine Learning Repository (1996),
https://doi.org/10.24432/C5XW20. Fetched from OpenML, https://www.openml.org/d/1590.
"""


def fetch_adult(
    *,
    data_home: FilePath | None = None,
    download_if_missing: bool = True,
    as_frame: bool = False,
    return_X: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load the Adult data set: 48842 people, age, seven categorical columns and salary class.

    The columns are age, workclass, education, marital-status, occupation, race, sex, native-country
    and salary-class. The seven between age and salary-class come with hierarchies for the
    generalization of their values.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Where downloads are kept, in the subfolder `sk_microagg`; None is scikit-learn's data home.
        Not used if the environment variable `SK_MICROAGG_DATA` names a folder with `adult.csv`.

    download_if_missing : bool, default=True
        If False, raise an OSError if the data would have to be downloaded.

    as_frame : bool, default=False
        If True, the data is a pandas DataFrame; this needs the extra `sk-microagg[table]`.

    return_X : bool, default=False
        If True, return only the data instead of a Bunch.

    n_retries : int, default=3
        Number of retries after a failed download; at least 1, as in scikit-learn.

    delay : float, default=1.0
        Seconds to wait before each retry; above 0, as in scikit-learn.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        data : ndarray of shape (48842, 9) or DataFrame
            The records. In an array of objects, age is an int and everything else is a str, or None
            where the value is missing; a DataFrame has pandas' own missing values.
        feature_names : list of str
            The names of the columns.
        hierarchies : dict of str to :class:`~sk_microagg.tables.Hierarchy`
            A hierarchy for each of the seven categorical columns between age and salary-class. It
            covers every value of its column.
        frame : DataFrame or None
            The same as `data` if `as_frame=True`.
        DESCR : str
            A description of the data set and its source.

    X : ndarray of shape (48842, 9) or DataFrame
        Only the records, if `return_X=True`.

    See Also
    --------
    sklearn.datasets.fetch_openml : Downloads the data, as data set "adult", version 2.
    fetch_census : Incomes and taxes of people, all columns numerical.

    Notes
    -----
    The download needs pandas, which the extra `sk-microagg[table]` installs. It is kept as a file
    `adult.csv`, in the format that is also expected in a folder of your own: a header with the nine
    names, then one line per record, with a question mark for a missing value.

    Examples
    --------
    Not run as a test, since it needs the network or a folder with the data.

    >>> from sk_microagg.datasets import fetch_adult
    >>> adult = fetch_adult()  # doctest: +SKIP
    >>> adult.data.shape  # doctest: +SKIP
    (48842, 9)
    >>> list(adult.hierarchies)[:3]  # doctest: +SKIP
    ['workclass', 'education', 'marital-status']
    """
    check_scalar(n_retries, "n_retries", Integral, min_val=1)
    check_scalar(delay, "delay", Real, min_val=0, include_boundaries="neither")
    pandas: Any = import_extra("pandas", "table", "as_frame=True") if as_frame else None
    X = _load(data_home, download_if_missing, n_retries, delay)
    # Column by column, so that pandas infers a type for each.
    frame = pandas.DataFrame(dict(zip(COLUMNS, X.T.tolist(), strict=True))) if as_frame else None
    data = frame if as_frame else X
    if return_X:
        return data
    return Bunch(
        data=data,
        feature_names=list(COLUMNS),
        hierarchies=_read_hierarchies(),
        frame=frame,
        DESCR=DESCR,
    )


def _load(
    data_home: FilePath | None, download_if_missing: bool, n_retries: int, delay: float
) -> Array:
    """Return the records, from the user's folder, from an earlier download or from OpenML."""
    own_folder = os.environ.get(FOLDER_VARIABLE)
    if own_folder:
        return _read_own_file(Path(own_folder).expanduser() / FILE_NAME)

    path = Path(get_data_home(data_home)) / "sk_microagg" / FILE_NAME
    if path.exists():
        try:
            return _read_table(path)
        except ValueError as error:
            if not download_if_missing:
                raise
            warnings.warn(f"{error} It is downloaded again.", stacklevel=3)
    elif not download_if_missing:
        raise OSError(f"{path} is missing and download_if_missing=False.")

    rows = _rows_from_openml(_download(data_home, n_retries, delay))
    X = _parse_rows(rows, "the table from OpenML")
    _write_table(path, rows)  # After the check, so that only a valid table is ever kept.
    return X


def _read_own_file(path: Path) -> Array:
    if not path.exists():
        raise OSError(
            f"{path} is missing. The environment variable {FOLDER_VARIABLE} must name a folder "
            f"that holds {FILE_NAME}; if it is not set, the data is downloaded."
        )
    return _read_table(path)


def _download(data_home: FilePath | None, n_retries: int, delay: float) -> DataFrame:
    """Return OpenML's table as a DataFrame."""
    import_extra("pandas", "table", f"Downloading {FILE_NAME}")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ON_THE_WAY)
            return fetch_openml(
                "adult",
                version=2,
                data_home=data_home,
                as_frame=True,
                parser="pandas",
                n_retries=n_retries,
                delay=delay,
            ).frame
    # No network, a lost connection, a truncated file, an error of OpenML, or a wrong checksum.
    except (OSError, HTTPException, EOFError, ValueError) as error:
        raise OSError(
            f'Could not download version 2 of the data set "adult" from OpenML ({error}). Without '
            f"a network, set the environment variable {FOLDER_VARIABLE} to a folder that holds "
            f"{FILE_NAME}."
        ) from error


def _rows_from_openml(frame: DataFrame) -> list[list[str]]:
    """Convert OpenML's table to the rows of an `adult.csv`: text, the training records first."""
    table = frame[[*COLUMNS[:-1], "class"]]
    cells = table.to_numpy(dtype=object, copy=True)
    cells[table.isna().to_numpy()] = MISSING
    rows = [[str(cell) for cell in row] for row in cells]
    return rows[N_TEST_RECORDS:] + rows[:N_TEST_RECORDS]


def _read_table(path: Path) -> Array:
    """Read an `adult.csv`, if it has the header, the number of records and the values of Adult."""
    return _parse_rows(rows_below(COLUMNS, path), path)


def _write_table(path: Path, rows: list[list[str]]) -> None:
    """Write an `adult.csv`, which gets its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as folder:
        unfinished = Path(folder) / path.name
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
        unfinished.replace(path)


def _parse_rows(rows: list[list[str]], source: object) -> Array:
    """Convert rows of text to an array of objects; `source` is for error messages."""
    if len(rows) != N_RECORDS:
        raise ValueError(f"{source} has {len(rows)} records, expected {N_RECORDS}.")
    vocabularies = _read_vocabularies()
    X = np.empty((N_RECORDS, len(COLUMNS)), dtype=object)
    for i, row in enumerate(rows):
        try:
            X[i] = _parse_row(row, vocabularies)
        except ValueError as error:
            raise ValueError(f"Record {i + 1} of {source} cannot be read: {error}.") from error
    return X


def _parse_row(
    row: list[str], vocabularies: dict[str, dict[str, str | None]]
) -> list[int | str | None]:
    if len(row) != len(COLUMNS):
        raise ValueError(f"it has {len(row)} cells, expected {len(COLUMNS)}")
    record: list[int | str | None] = [int(row[0])]
    for column, cell in zip(COLUMNS[1:], row[1:], strict=True):
        if cell not in vocabularies[column]:
            raise ValueError(f"{cell!r} is not a value of {column}")
        record.append(vocabularies[column][cell])
    return record


def _read_vocabularies() -> dict[str, dict[str, str | None]]:
    """For each column of text, map each allowed cell of a file to the value it stands for."""
    vocabularies: dict[str, dict[str, str | None]] = {
        "salary-class": dict(zip(SALARY_CLASSES, SALARY_CLASSES, strict=True))
    }
    for column in CATEGORICAL_COLUMNS:
        with as_file(_hierarchy_file(column)) as path:
            leaves = [row[0] for row in read_csv_rows(path, sep=";")]
        vocabularies[column] = {MISSING: None, **dict(zip(leaves, leaves, strict=True))}
    return vocabularies


def _read_hierarchies() -> dict[str, Hierarchy]:
    hierarchies: dict[str, Hierarchy] = {}
    for column in CATEGORICAL_COLUMNS:
        with as_file(_hierarchy_file(column)) as path:
            hierarchies[column] = Hierarchy.from_csv(path)
    return hierarchies


def _hierarchy_file(column: str) -> Traversable:
    """Return the resource with one leaf per line, `leaf;parent;...;*`."""
    return files("sk_microagg.datasets") / "hierarchies" / "adult" / f"{column}.csv"
