"""`make_report`: checks, facts, page and file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from math import inf, isclose
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_microagg._bound import Certificate
from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._tables import as_table, check_report_extra, columns_of
from sk_microagg._utils._typing import Estimator, FilePath, TableLike
from sk_microagg._utils._validation import check_number, check_option
from sk_microagg._utils._writing import check_page_name, released_file
from sk_microagg.encoding._frames import Frame
from sk_microagg.generalization._generalizer import (
    Generalizer,
    check_generalizes_all,
    releases_intervals,
)
from sk_microagg.generalization._mixed_table import columns_at, names_of
from sk_microagg.metrics._linkage import units_of
from sk_microagg.metrics._loss import certificate_of, certify, check_can_be_certified
from sk_microagg.metrics._pairs import MixedPair, make_pair
from sk_microagg.plotting._common import categorical_columns
from sk_microagg.privacy._columns import RoleColumns
from sk_microagg.report._attacks import target_of
from sk_microagg.report._facts import collect_facts
from sk_microagg.report._page import contents_of, document_of, render
from sk_microagg.report._scenario import Scenario

# Nothing in a sandbox can run. Its style does not affect the notebook, nor the other way round.
FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox style="display: block; '
    "box-sizing: border-box; width: 100%; height: 42em; max-height: 85vh; "
    'border: 1px solid #8888; resize: vertical;"></iframe>'
)


class About(TypedDict, total=False):
    """What else a report may be told, see `make_report`."""

    title: str | None
    source: str | None
    command: str | None
    kinds: Mapping[str, str] | None
    unchanged: TableLike | None
    dropped: Sequence[str] | None
    sensitive: TableLike | None
    unit: TableLike | None
    strata: TableLike | None
    weight: TableLike | None
    earlier: Sequence[tuple[TableLike, TableLike]] | None
    file: FilePath | None
    shuffled: bool | None


class Report:
    """A report on a release, as :func:`make_report` returns it.

    It holds figures and pictures that may be published, and no record. As the last line of a cell,
    a notebook shows it.

    Parameters
    ----------
    page : str
        The page, in HTML.

    document : dict
        The figures, as `to_dict` returns them.

    See Also
    --------
    make_report : Returns one.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.report import make_report
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> aggregator = MicroAggregator(k=5)
    >>> report = make_report(aggregator, X, aggregator.fit_transform(X))
    >>> report.to_dict()["protection"]["k_achieved"]
    5
    """

    def __init__(self, page: str, document: dict[str, Any]) -> None:
        self._page = page
        self._document = document

    def to_html(self) -> str:
        """Return the page.

        Returns
        -------
        page : str
            A self-contained page of HTML, for screens of any size and for paper.
        """
        return self._page

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the report.

        Returns
        -------
        document : dict
            Of strings, numbers, lists and dicts, as :doc:`/reading_the_report` describes; its
            schema is `schema.json` in this package.
        """
        return json.loads(json.dumps(self._document))

    def save(self, path: FilePath, *, readers_of: FilePath | None = None) -> Path:
        """Write the report to a file, complete or not at all.

        Parameters
        ----------
        path : str or path-like
            The file, .html or .htm for the page, .json for the figures. An existing file is
            replaced once the new one is complete.

        readers_of : str, path-like or None, default=None
            A file or a folder, such as the original table: only users who can read it can read the
            report. None for the default permissions of new files.

        Returns
        -------
        path : Path
            The file that was written.
        """
        path = Path(path)
        check_file(path)
        text = self._page
        if path.suffix.lower() == ".json":
            text = json.dumps(self._document, indent=1, ensure_ascii=False) + "\n"
        try:
            with released_file(path, readers_of) as draft:
                draft.write_text(text, encoding="utf-8")
        except OSError as error:
            cause = error.__cause__ or error
            why = getattr(cause, "strerror", None) or cause
            raise OSError(f"path={str(path)!r} cannot be written: {why}.") from error
        return path

    def _repr_html_(self) -> str:
        return FRAME.format(title=escape(self._document["title"]), page=escape(self._page))


def make_report(
    estimator: Estimator,
    X: TableLike,
    release: TableLike,
    *,
    scenario: Scenario | Mapping[str, Any] | None = None,
    analysis: str | Sequence[str] = (),
    certificate: float | Certificate | tuple[float, ArrayLike] | None = None,
    target: TableLike | None = None,
    **about: Unpack[About],
) -> Report:
    """Report on a release: what was done, what was lost, and which risk remains.

    The report contains no original record and does not disclose the range of the original values,
    so that it can be published with the release.

    Parameters
    ----------
    estimator : MicroAggregator, TableAggregator or KAIM
        The fitted estimator that made the release. A TableAggregator has the roles of columns, so
        that `unchanged`, `dropped`, `sensitive`, `unit`, `strata` and `weight` need not be given.

    X : array-like or DataFrame of shape (n_samples, n_features)
        The original columns that were anonymized; for a TableAggregator, the table that it was
        fitted on.

    release : array-like or DataFrame of shape (n_samples, n_features)
        The same columns, as released; for a TableAggregator, what `fit_transform` returned.

    scenario : Scenario, dict or None, default=None
        Who gets the release, and which risk is acceptable: the report states risks before and
        after, and whether they stay below the threshold.

    analysis : str or list of str, default=()
        Linear regressions such as "income ~ age + sex", by names of released columns, which the
        report compares before and after. Names with a + or ~ are written in backticks.

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

    **about : dict
        What else the report is to know:

        - `title`, and `source`, the name of the file that the table was read from.
        - `sensitive`: the sensitive columns, as in `fit`: what groups disclose about each of them,
          and whether the constraints of `estimator.privacy` hold.
        - `unit`: who each record belongs to, as in `fit`.
        - `strata`: the stratum of each record, as in `fit`. Equal rows of two are two groups.
        - `weight`: sampling weights, for risks in the population.
        - `earlier`: earlier releases of the same people, as pairs of a table and who its rows
          belong to, in the words of `unit`: whether at least k people share their rows of all
          releases, see :func:`sk_microagg.metrics.joint_anonymity`.
        - `file`: the file of the release, for its SHA-256; `shuffled`: whether its rows are in
          random order.
        - `unchanged`: a table of the columns that are released unchanged, together with the
          anonymized ones; `dropped`: names of columns that are not released.
        - `command`: the shell command that made the release, shown instead of Python code.
        - `kinds`: what columns hold, by their names, if the estimator was fitted on something else,
          such as dates that had been turned into numbers, or without columns that are "empty".

    Returns
    -------
    report : Report
        The report, with `save`, `to_html` and `to_dict`.

    See Also
    --------
    Scenario : Who gets a release, and which risk is acceptable.
    sk_microagg.plotting : Plots that show more, some of them original records.
    sk_microagg.metrics.optimality_gap : The statement of a certificate as a number.

    Notes
    -----
    The original is drawn as counts in bins and bars of at least k records, and at least 3, within
    the range of the release. A share that stands for fewer records, or for all but fewer, is
    written as "fewer than 5 records", and all others are rounded to whole percents. Means,
    deviations, correlations and coefficients of the original are rounded to a step of at least
    their standard error, and at least the change that leaving out any one person makes. Names of
    columns and parameters of the estimator are shown; of hierarchies, only names of columns.

    Figures that depend on categories of the original are rounded to lines whose place is drawn anew
    for each report and kept nowhere: one category of a person moves a figure across a line in at
    most one of ten reports, unless `k` people have it only with them. Losses are bounds then.

    Figures of a sensitive column are those of the worst group, rounded to the safe side; no
    sensitive value, unit or stratum is shown. Everyone who has a release with the column can
    compute them. If it is not released, someone who knows all other records of the worst group may
    learn from them about the last one: then do not publish them.

    Of 250 records or more, a fifth is held out, and the others, at most 4000, are anonymized once
    more: attacks are compared with what they achieve on people who are not in the table. Who is
    attacked and held out is drawn anew for each report, whatever `random_state` is, so that nobody
    who knows all other records can repeat it: success of attacks, the ratio of propensity scores
    and what depends on categories differ a little between reports of one release. Publish one.

    Matplotlib and Jinja2 are needed: `pip install 'sk-microagg[report]'`.

    Examples
    --------
    A sensitive column is released as it is, and there is a threshold for the risk:

    >>> import numpy as np
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.privacy import LDiversity
    >>> from sk_microagg.report import Scenario, make_report
    >>> X = np.random.RandomState(0).normal(size=(100, 3))
    >>> is_ill = X[:, 0] + X[:, 1] > 1
    >>> aggregator = MicroAggregator(k=5, privacy=LDiversity(l=2))
    >>> release = aggregator.fit_transform(X, sensitive=is_ill)
    >>> scenario = Scenario(recipient="partners", release_model="controlled", threshold=0.2)
    >>> report = make_report(aggregator, X, release, scenario=scenario, sensitive=is_ill)
    >>> report.to_dict()["verdicts"][1]["text"]
    'Sensitive column: every group has at least 2 different values; 2 demanded.'
    >>> report.to_dict()["risk"]["is_acceptable"]
    True
    >>> report.save("report.html")  # doctest: +SKIP
    """
    check_report_extra()
    for name in about:
        check_option("about", name, [*About.__annotations__])
    if scenario is not None:
        scenario = Scenario.read(scenario)
    _check_tables(X, release, estimator)
    given: dict[str, Any] = {**dict.fromkeys(About.__annotations__), **about}
    if isinstance(estimator, TableAggregator):
        _with_roles_of_table(estimator, X, given)
    _check_other_columns(given["unchanged"], given["dropped"], X)
    roles = {name: given[name] for name in ("sensitive", "unit", "strata")}
    n_records = len(columns_of(X, "X")[0])
    for name, values in {**roles, "weight": given["weight"]}.items():
        if values is not None:
            RoleColumns(values, n_records, name)
    refit = {"X": X, "estimator": estimator, "roles": roles}
    refit["target"] = target_of(target, X, given["unchanged"], estimator)
    certificate = _certificate(certificate, estimator, X)
    pair = None if releases_intervals(estimator) else make_pair(X, release, estimator)
    if pair is None:
        X, release = _generalized_columns(X, release, estimator)
    elif isinstance(pair, MixedPair):
        # Columns that came as an array have names here, too.
        named = [f"x{name}" if isinstance(name, int) else name for name in pair.original.columns]
        X, release = (part.set_axis(named, axis=1) for part in (pair.original, pair.released))
    formulas = [analysis] if isinstance(analysis, str) else list(analysis)
    facts = collect_facts(X, release, estimator, pair, refit, scenario, formulas, given)
    units = units_of(given["unit"], n_records)
    contents = contents_of(estimator, facts, given, certificate)
    categorical = categorical_columns(estimator)
    page = render(X, release, estimator, contents, categorical, units)
    return Report(page, document_of(contents))


def _generalized_columns(
    X: TableLike, release: TableLike, estimator: Estimator
) -> tuple[TableLike, TableLike]:
    """The quasi-identifiers of a table and of its release."""
    roles, names = estimator._table_roles, names_of(as_table(X))
    if isinstance(estimator, TableAggregator):
        roles = roles.by_position(names)
    places = [roles.released.index(place) for place in roles.quasi_identifiers]
    return columns_at(as_table(X), roles.quasi_identifiers), columns_at(as_table(release), places)


def _with_roles_of_table(estimator: Estimator, X: TableLike, about: dict[str, Any]) -> None:
    """Add the columns with a role in the table of a TableAggregator, where they are not given."""
    table, roles = Frame(X).table, estimator._table_roles
    if about["unchanged"] is None and roles.unchanged:
        about["unchanged"] = table[roles.unchanged]
    if about["dropped"] is None:
        about["dropped"] = [str(name) for name in roles.dropped]
    if about["sensitive"] is None and roles.sensitive:
        about["sensitive"] = table[roles.sensitive]
    for role in ("unit", "weight"):
        name = getattr(roles, role)
        if about[role] is None and name is not None:
            about[role] = table[name]
    if about["strata"] is None:
        about["strata"] = roles.strata_of(table)


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


def _check_tables(X: TableLike, release: TableLike, estimator: Estimator) -> None:
    check_is_fitted(estimator)
    if not hasattr(estimator, "information_loss_"):
        raise TypeError(
            f"estimator={estimator!r} must be a fitted MicroAggregator, TableAggregator or KAIM."
        )
    if getattr(estimator, "output", "interval") == "midpoint":
        check_generalizes_all(estimator)  # Intervals are computed again.
    has_modes = getattr(estimator, "categories", "generalize") != "generalize"
    if releases_intervals(estimator) and has_modes and "category" in estimator.kinds_.values():
        raise TypeError(f"estimator={estimator!r} must have categories='generalize' for a report.")
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
