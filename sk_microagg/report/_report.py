"""`make_report`: checks, facts, page and file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from html import escape
from math import inf, isclose
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_microagg._bound import Certificate
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._tables import as_table, check_report_extra, columns_of
from sk_microagg._utils._typing import DataFrame, Estimator, FilePath, TableLike
from sk_microagg._utils._validation import check_number
from sk_microagg._utils._writing import check_page_name, released_file
from sk_microagg.encoding._frames import Frame
from sk_microagg.generalization._base import (
    Generalizer,
    check_generalizes_all,
    releases_intervals,
)
from sk_microagg.generalization._mixed_table import columns_at, names_of
from sk_microagg.metrics._linkage import units_of
from sk_microagg.metrics._loss import certificate_of, certify, check_can_be_certified
from sk_microagg.metrics._pairs import MixedPair
from sk_microagg.plotting._common import categorical_columns
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.report._attacks import target_of
from sk_microagg.report._facts import collect_facts, pair_in_report
from sk_microagg.report._page import render


def make_report(
    X: TableLike,
    release: TableLike,
    estimator: Estimator,
    path: FilePath,
    *,
    title: str | None = None,
    source: str | None = None,
    unchanged: TableLike | None = None,
    dropped: Sequence[str] | None = None,
    sensitive: TableLike | None = None,
    unit: TableLike | None = None,
    strata: TableLike | None = None,
    certificate: float | Certificate | tuple[float, ArrayLike] | None = None,
    target: TableLike | None = None,
    readers_of: FilePath | None = None,
    command: str | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Path:
    """Write a report on a release: what was done, what was lost, and which risk remains.

    The report is a single, self-contained HTML file for screens of any size and for paper. It
    contains no original record and does not disclose the range of the original values, so that it
    can be published with the release.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        The original columns that were anonymized; for a TableAggregator, the table that it was
        fitted on.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The same columns, as released; for a TableAggregator, what `fit_transform` returned.

    estimator : MicroAggregator, TableAggregator or KAIM
        The fitted estimator that made the release. A TableAggregator has the roles of columns, so
        that `unchanged`, `dropped`, `sensitive`, `unit` and `strata` need not be given.

    path : str or path-like
        The file to write, .html or .htm. An existing file is replaced once the new one is
        complete.

    title : str or None, default=None
        Title of the report.

    source : str or None, default=None
        Name of the file that the table was read from, for the report to show.

    unchanged : array-like or DataFrame of shape (n_samples, n_unchanged) or None, default=None
        Columns that are released unchanged, together with the anonymized ones. The report names
        them and states in which of them whole groups share one value, see
        :func:`sk_microagg.metrics.homogeneity`.

    dropped : list of str or None, default=None
        Names of columns that are not released, for the report to show.

    sensitive : array-like, Series or DataFrame, or None, default=None
        The sensitive columns, as in `fit`. For each of them the report states what the groups
        disclose, whatever the estimator was fitted with, and whether the constraints of
        `estimator.privacy` hold. Without them, it warns that k-anonymity says nothing about what
        the records of a group share.

    unit : array-like or Series of shape (n_samples,) or None, default=None
        Who each record belongs to, as in `fit`. The report states how many different units each
        group has, at least.

    strata : array-like, Series or DataFrame, or None, default=None
        The stratum of each record, as in `fit`. Equal rows of two strata are then two groups for
        the statements about sensitive columns and units.

    certificate : float, Certificate, tuple or None, default=None
        If given, the report states how far the loss is above the optimum, at most: the seconds to
        spend on a proof; or the result of an earlier one, as
        :meth:`~sk_microagg.TableAggregator.certificate` returns it; or its bound and trace, as
        :func:`sk_microagg.metrics.loss_bound` returns them with `return_trace=True` for records
        scaled as the estimator scales them. Only for MicroAggregator and TableAggregator.

    target : str, array-like or Series of shape (n_samples,), or None, default=None
        What a model is to predict from the release: the name of a column in `unchanged` or, for a
        TableAggregator, in `X`, or its values. If given, the report states how well an intruder
        recognizes the training records of a random forest, see
        :func:`sk_microagg.metrics.membership_inference`: at most 5000 records are anonymized once
        more with the same parameters, and a forest is trained on their release. Only for
        MicroAggregator and TableAggregator.

    readers_of : str, path-like or None, default=None
        A file or a folder, such as the original table: only users who can read it can read the
        report. None for the default permissions of new files.

    command : str or None, default=None
        The shell command that made the release, for the report to show instead of Python code.

    kinds : dict or None, default=None
        What columns hold, by their names, for the report to show if the estimator was fitted on
        something else, such as dates that had been turned into numbers.

    Returns
    -------
    path : Path
        The file that was written. As the last line of a cell, a notebook shows the report itself.

    See Also
    --------
    sk_microagg.plotting : Plots that show more, some of them original records.
    sk_microagg.metrics.optimality_gap : The statement of a certificate as a number.

    Notes
    -----
    The original is drawn as counts in bins and bars of at least k records, and at least 3, within
    the range of the release. Groups are drawn from the release alone. A share that stands for fewer
    records, or for all but fewer, is written as "fewer than 5 records" or "all but fewer than 5
    records", and all others are rounded to whole percents. Other figures are rounded to three
    digits, the bound of a certificate to four. Names of columns and parameters of
    the estimator are shown; of hierarchies, only the names of their columns.

    The figures of a sensitive column are those of the worst group, rounded to the safe side and to
    one or two decimals; no sensitive value, unit or stratum is shown. Everyone who has a release
    with the column can compute them. If the column is not released, someone who knows all other
    records of the worst group may learn from them about the last one: then do not publish them.

    Matplotlib and Jinja2 are needed: `pip install 'sk-microagg[report]'`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.report import make_report
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> aggregator = MicroAggregator(k=5)
    >>> release = aggregator.fit_transform(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = make_report(X, release, aggregator, Path(folder) / "report.html")
    ...     "shared by at least 5 records" in path.read_text(encoding="utf-8")
    True

    With a sensitive column that is released as it is:

    >>> from sk_microagg.privacy import LDiversity
    >>> is_ill = X[:, 0] + X[:, 1] > 1
    >>> aggregator = MicroAggregator(k=5, privacy=LDiversity(l=2))
    >>> release = aggregator.fit_transform(X, sensitive=is_ill)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     path = make_report(X, release, aggregator, path, sensitive=is_ill)
    ...     "Every group satisfies LDiversity(l=2)" in path.read_text(encoding="utf-8")
    True
    """
    path = ReportPath(path)
    check_report_extra()
    check_file(path)
    _check_tables(X, release, estimator)
    if isinstance(estimator, TableAggregator):
        unchanged, dropped, sensitive, unit, strata = _roles_in_table(
            estimator, X, unchanged, dropped, sensitive, unit, strata
        )
    _check_other_columns(unchanged, dropped, X)
    roles = {"sensitive": sensitive, "unit": unit, "strata": strata}
    _check_roles(roles, X)
    target = target_of(target, X, unchanged, estimator)
    certificate = _certificate(certificate, estimator, X)
    pair = pair_in_report(X, release, estimator)
    if releases_intervals(estimator):
        X, release = _generalized_columns(X, release, estimator)
    membership = None
    if target is not None:
        membership = {
            "X": X,
            "estimator": estimator,
            "target": target,
            "pair": pair,
            "roles": roles,
        }
    if isinstance(pair, MixedPair):
        X, release = (_with_names(table) for table in (pair.original, pair.released))
    facts = collect_facts(
        X, release, estimator, source, unchanged, dropped, pair, membership, kinds, **roles
    )
    categorical = categorical_columns(estimator)
    units = units_of(unit, len(X))  # type: ignore[arg-type]
    page = render(X, release, estimator, facts, title, certificate, categorical, units, command)
    write_page(page, path, readers_of)
    return path


def _with_names(table: DataFrame) -> DataFrame:
    """A frame with names for columns that came as an array."""
    return table.rename(columns=lambda name: f"x{name}" if isinstance(name, int) else name)


def _generalized_columns(
    X: TableLike, release: TableLike, estimator: Estimator
) -> tuple[TableLike, TableLike]:
    """The quasi-identifiers of a table and of its release."""
    roles, names = estimator._table_roles, names_of(as_table(X))
    if isinstance(estimator, TableAggregator):
        roles = roles.by_position(names)
    places = [roles.released.index(place) for place in roles.quasi_identifiers]
    return columns_at(as_table(X), roles.quasi_identifiers), columns_at(as_table(release), places)


def _roles_in_table(
    estimator: Estimator,
    X: TableLike,
    unchanged: Any,
    dropped: Any,
    sensitive: Any,
    unit: Any,
    strata: Any,
) -> tuple[Any, Any, Any, Any, Any]:
    """Columns with a role in the table of a TableAggregator, where they are not given."""
    table, roles = Frame(X).table, estimator._table_roles
    if unchanged is None and roles.unchanged:
        unchanged = table[roles.unchanged]
    if dropped is None:
        dropped = [str(name) for name in roles.dropped]
    if sensitive is None and roles.sensitive:
        sensitive = table[roles.sensitive]
    if unit is None and roles.unit is not None:
        unit = table[roles.unit]
    if strata is None:
        strata = roles.strata_of(table)
    return unchanged, dropped, sensitive, unit, strata


def _certificate(wanted: Any, estimator: Estimator, X: TableLike) -> Certificate | None:
    """The certificate, from a proof that is done now or was done before; None if not wanted."""
    if wanted is None:
        return None
    if isinstance(wanted, Certificate):
        check_can_be_certified(estimator, "a certificate needs")
        if wanted.k != estimator.k or not isclose(wanted.loss, estimator.information_loss_):
            raise ValueError(f"certificate={wanted!r} must be one of the groups of the estimator.")
        return wanted
    is_proven = isinstance(wanted, tuple) and len(wanted) == 2
    if not is_proven:
        seconds = check_number("certificate", wanted, above=0, or_option=None)
        if seconds == inf:
            raise ValueError("certificate=inf must be finite: the proof ends when the time is up.")
    given = "a proven bound" if is_proven else repr(wanted)
    check_can_be_certified(estimator, f"certificate={given} needs")
    return certificate_of(estimator, X, *wanted) if is_proven else certify(estimator, X, seconds)


def _check_other_columns(unchanged: Any, dropped: Any, X: TableLike) -> None:
    shape = (0, 0) if unchanged is None else np.shape(unchanged)
    n_records = len(columns_of(X, "X")[0])
    if len(shape) != 2 or (shape[1] > 0 and shape[0] != n_records):
        raise ValueError(
            f"unchanged of shape {shape} must be a table with the {n_records} rows of X, or None."
        )
    if isinstance(dropped, str) or not (dropped is None or np.iterable(dropped)):
        raise TypeError(f"dropped={dropped!r} must be a list of column names or None.")


def _check_roles(roles: dict[str, Any], X: TableLike) -> None:
    """Raise before any work is done unless there is a value per record."""
    n_records = len(columns_of(X, "X")[0])
    for name, values in roles.items():
        if values is not None:
            RoleColumns(values, n_records, name)


def _check_tables(X: TableLike, release: TableLike, estimator: Estimator) -> None:
    check_is_fitted(estimator)
    if not hasattr(estimator, "information_loss_"):
        raise TypeError(
            f"estimator={estimator!r} must be a fitted MicroAggregator, TableAggregator or KAIM."
        )
    if getattr(estimator, "output", "interval") == "midpoint":
        check_generalizes_all(estimator)  # Intervals are computed again.
    shapes = [_shape(X, "X"), _shape(release, "release")]
    expected = shapes[0]
    if isinstance(estimator, Generalizer):
        expected = shapes[0][0], len(estimator._table_roles.released)
    if shapes[1] != expected and not isinstance(estimator, TableAggregator):
        raise ValueError(f"release of shape {shapes[1]} must have the shape of X, {expected}.")
    n_fitted = len(estimator.labels_) if hasattr(estimator, "labels_") else shapes[0][0]
    if shapes[0] != (n_fitted, estimator.n_features_in_):
        raise ValueError(
            f"X of shape {shapes[0]} must be what the estimator was fitted on, of shape "
            f"{(n_fitted, estimator.n_features_in_)}."
        )


def _shape(table: TableLike, name: str) -> tuple[int, int]:
    columns = columns_of(table, name)
    return len(columns[0]), len(columns)


def check_file(path: Path) -> None:
    """Raise before any work is done if a report cannot be written."""
    named = f"path={str(path)!r}"
    if path.is_dir():
        raise IsADirectoryError(f"{named} is a folder: it must be the name of a file.")
    check_page_name(path, named)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{named} cannot be written: there is no folder {str(path.parent)!r}."
        )
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"{named} cannot be written: the folder {str(path.parent)!r} is read-only."
        )


def write_page(page: str, path: Path, readers_of: FilePath | None) -> None:
    """Write a report, complete or not at all."""
    try:
        with released_file(path, readers_of) as draft:
            draft.write_text(page, encoding="utf-8")
    except OSError as error:
        raise OSError(f"path={str(path)!r} cannot be written: {_reason(error)}.") from error


def _reason(error: OSError) -> str:
    cause = error.__cause__ or error
    return getattr(cause, "strerror", None) or str(cause)


if sys.platform == "win32":
    from pathlib import WindowsPath as SystemPath
else:
    from pathlib import PosixPath as SystemPath

# Nothing in a sandbox can run. Its style does not affect the notebook, nor the other way round.
FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox style="display: block; '
    "box-sizing: border-box; width: 100%; height: 42em; max-height: 85vh; "
    'border: 1px solid #8888; resize: vertical;"></iframe>'
)


class ReportPath(SystemPath):
    """The path of a report that was written; a notebook shows the report instead."""

    def _repr_html_(self) -> str | None:
        """The page in a frame; None if there is none, as with the folder of the report."""
        try:
            page = self.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        if not page.lower().startswith("<!doctype html>"):
            return None
        return FRAME.format(title=escape(self.name), page=escape(page))
