"""The files of data sets: shipped with the package, or found, downloaded and verified."""

import hashlib
import math
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from numbers import Integral, Real
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import get_data_home
from sklearn.utils import check_scalar

from sk_microagg._utils._csv import read_csv_rows, visits_csv
from sk_microagg._utils._tables import import_extra
from sk_microagg._utils._typing import DataFrame, FilePath, Floats

FOLDER_VARIABLE = "SK_MICROAGG_DATA"


# Warnings point to the line that called a public fetcher: their stacklevel counts the calls from
# `download` or `locate` up through `load`, `_fetch` and the fetcher.


@dataclass(frozen=True)
class DataFile:
    """A published table: its file names, its source, and the columns and number of rows."""

    rda: str
    csv: str
    url: str
    sha256: str
    columns: tuple[str, ...]
    n_rows: int


class Access(NamedTuple):
    """Where downloads are kept, and how often they are tried."""

    data_home: FilePath | None
    download_if_missing: bool
    n_retries: int
    delay: float


def load(source: DataFile, columns: Sequence[str], access: Access) -> Floats:
    path = locate(source, access)
    if path.suffix == ".csv":
        return read_csv(path, source, columns)
    return read_rda(path, columns)


def locate(source: DataFile, access: Access) -> Path:
    """Return the path of the data set's file, downloaded if necessary; an `.rda` is verified."""
    check_scalar(access.n_retries, "n_retries", Integral, min_val=0)
    check_scalar(access.delay, "delay", Real, min_val=0)
    own_folder = os.environ.get(FOLDER_VARIABLE)
    if own_folder:
        return _locate_in_own_folder(source, Path(own_folder).expanduser())

    path = Path(get_data_home(access.data_home)) / "sk_microagg" / source.rda
    if path.exists():
        try:
            return verified(path, source)
        except OSError as error:
            if not access.download_if_missing:
                raise
            warnings.warn(f"{error} It is downloaded again.", stacklevel=5)
    elif not access.download_if_missing:
        raise OSError(f"{path} is missing and download_if_missing=False.")
    return download(source, path.parent, access.n_retries, access.delay)


def _locate_in_own_folder(source: DataFile, folder: Path) -> Path:
    if not folder.is_dir():
        raise OSError(
            f"The environment variable {FOLDER_VARIABLE} names {folder}, which is not a folder; "
            f"it must be one that holds {source.rda} or {source.csv}."
        )
    if (folder / source.rda).exists():
        return verified(folder / source.rda, source)
    if (folder / source.csv).exists():
        return folder / source.csv
    raise OSError(
        f"Neither {source.rda} nor {source.csv} is in {folder}, the folder that the environment "
        f"variable {FOLDER_VARIABLE} names."
    )


def verified(path: Path, source: DataFile) -> Path:
    """Return `path` if it is the upstream file, byte for byte."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        raise OSError(
            f"{path} is not the upstream file: its SHA-256 is {found}, expected {source.sha256}."
        )
    return path


def download(source: DataFile, folder: Path, n_retries: int, delay: float) -> Path:
    """Download the upstream file into `folder`; only a verified file gets its final name."""
    pooch = import_extra("pooch", "datasets", f"Downloading {source.rda}")
    from requests import RequestException  # a dependency of pooch

    while True:
        try:
            pooch.retrieve(
                source.url, known_hash=f"sha256:{source.sha256}", fname=source.rda, path=folder
            )
            return folder / source.rda
        except RequestException as error:
            if n_retries == 0:
                raise OSError(
                    f"Could not download {source.url} ({error}). Without a network, set the "
                    f"environment variable {FOLDER_VARIABLE} to a folder that holds {source.rda} "
                    f"or {source.csv}."
                ) from error
            warnings.warn(f"Could not download {source.url}, trying again.", stacklevel=6)
            n_retries -= 1
            time.sleep(delay)
        except ValueError as error:  # pooch raises this for a wrong hash
            raise OSError(
                f"The file from {source.url} is not the upstream file and was discarded: {error}"
            ) from error


def read_rda(path: Path, columns: Sequence[str]) -> Floats:
    """Read columns of an R data file whose one object is a data frame with the file's name."""
    rdata = import_extra("rdata", "datasets", f"Reading {path.name}")
    frame = rdata.read_rda(path)[path.stem]
    # A copy, since the array from pandas may be read-only and stored by columns.
    return np.array(frame[list(columns)].to_numpy(dtype=np.float64), order="C")


def read_csv(path: Path, source: DataFile, columns: Sequence[str]) -> Floats:
    """Read columns of a CSV file, if it has the header and the number of records of `source`."""
    records = rows_below(source.columns, path)
    if len(records) != source.n_rows:
        raise ValueError(f"{path} has {len(records)} records, expected {source.n_rows}.")

    X = np.empty((source.n_rows, len(columns)))
    for i, record in enumerate(records):
        try:
            cells = dict(zip(source.columns, record, strict=True))
            X[i] = [_finite(cells[name]) for name in columns]
        except ValueError as error:
            raise ValueError(f"Record {i + 1} of {path} cannot be read: {error}.") from error
    return X


def rows_below(header: Sequence[str], path: Path) -> list[list[str]]:
    rows = read_csv_rows(path)
    found = rows[0] if rows else []
    if found != list(header):
        raise ValueError(
            f"{path} has the header {','.join(found)!r}, expected {','.join(header)!r}."
        )
    return rows[1:]


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a finite number")
    return number


def load_visits() -> DataFrame:
    """Load a made-up table of 300 patients of a hospital: numbers, categories, missing values.

    Nobody in it exists: the values were drawn at random, for the examples of the documentation. The
    columns are `id`, which identifies a patient; `age`, `sex`, `town` and `income` (in thousands,
    missing for some), which an intruder may know; and `diagnosis`, which is sensitive. Every
    patient is unique in the four columns that an intruder may know.

    Returns
    -------
    visits : DataFrame of shape (300, 6)
        The table. It needs the extra `sk-microagg[table]`.

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
