"""What is to be released: the table, the roles and kinds of its columns, and what is demanded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sk_microagg._utils._typing import FilePath
from sk_microagg._utils._writing import released_file
from sk_microagg.files._format import check_target, is_standard, unknown_column
from sk_microagg.files._messages import Option, RequestError
from sk_microagg.files._settings import SETTINGS, setting
from sk_microagg.files._values import NUMBERS
from sk_microagg.privacy import Constraint
from sk_microagg.release._request_file import constraints_asked, read_settings
from sk_microagg.release._request_toml import as_toml

# Parameters that name columns, by what they hold: names, or names with something about each.
LISTS = tuple(name for name, one in SETTINGS.items() if one.kind == "columns")
SINGLE = tuple(name for name, one in SETTINGS.items() if one.kind == "column")
MAPPINGS = ("ordinal", "date", "column_weights", "decimals")

PATHS = [name for name, one in SETTINGS.items() if one.kind in ("source", "target")]


@dataclass(frozen=True)
class ReleaseRequest:
    """A release of a file: what shell, page and Python ask for.

    Parameters
    ----------
    input : str
        The table: a CSV, Excel or Parquet file, by its suffix; "-" for standard input.

    output : str
        Where to write the release; "-" for standard output.

    k : int, default=5
        Smallest number of records, or of people with `unit`, in a group.

    quasi_identifiers : list of str or None, default=None
        Columns to anonymize together; None for all that have no other role.

    drop : list of str, default=()
        Columns to leave out.

    sensitive : list of str, default=()
        Columns that intruders are assumed not to know, which are released unchanged. Constraints
        are about them.

    unit : str or None, default=None
        The column that says who a row belongs to, if people have several. It is left out.

    strata : list of str, default=()
        Columns whose values no group mixes, released unchanged.

    weight : str or None, default=None
        The column of sampling weights: means are weighted then.

    weight_release : {"keep", "mean"}, default="keep"
        How weights are released: as they are, so that weighted totals of unchanged columns are
        exact, and those of means are kept except for rounding; or, for weights that identify
        people, as the mean of each group, which keeps the totals of means only.

    categorical : list of str, default=()
        Columns of categories, whatever they look like.

    number : list of str, default=()
        Columns of numbers, even if some have leading zeros.

    ordinal : list of str or dict, default=()
        Columns of values in an order: that of numbers, or for each column the list of its values.

    date : list of str or dict, default=()
        Columns of dates: in a common format, or for each column its pattern, as "%d/%m/%Y".

    column_weights : dict or None, default=None
        How much columns count when groups are made; 1 for others.

    decimals : int, dict or None, default=None
        Decimals of released means, for all columns or for each; by default, means are as coarse as
        the gaps between values of their column.

    categories : {"mode", "shares", "generalize"} or None, default=None
        What is released of categories; None for the most frequent one of a group.

    privacy : Constraint, list of Constraint or None, default=None
        What each group must satisfy beyond its size. A constraint without a `column` holds for
        every sensitive column.

    method : {"aggregate", "kaim"}, default="aggregate"
        Averages and most frequent values, or what the rows of a group have in common.

    release : {"averages", "generalized"}, default="averages"
        What groups are released as, if the method is "aggregate": averages and most frequent
        values, or intervals and what categories have in common. With "kaim", it is the latter.

    intervals : {"overlapping", "disjoint"}, default="overlapping"
        How the intervals of a "generalized" release lie to each other: those of groups of similar
        rows overlap; "disjoint" ones can be counted, since all columns are recoded globally.

    max_loss : float or None, default=None
        Refuse a release that loses more of the information, as 0.1 for 10%: nothing is written.

    builder : str or None, default=None
        How groups are made; None for the default of the method.

    refiner : str or None, default=None
        How groups are improved, or "none"; None for the default of the method.

    time_limit : float or None, default=None
        Seconds to search for better groups.

    certificate : float or None, default=None
        Seconds to prove how far the information loss is above the optimum.

    hierarchies : str or None, default=None
        A folder with a file COLUMN.csv for each column that has a hierarchy.

    random_state : int, default=0
        Seed of the search.

    n_jobs : int, default=-1
        Number of threads; -1 for one per processor.

    engine : {"memory", "dask"}, default="memory"
        "dask" is for Parquet files and folders that are larger than memory.

    report : str or None, default=None
        Where to write a report on the release, an .html or a .json file: confidential, with exact
        figures of the original.

    card : str or None, default=None
        Where to write the release card, an .html, .md or .json file: one page to publish with the
        release.

    scenario : Scenario, dict, str or None, default=None
        Who gets the release, which risk is acceptable, and why columns have their roles, for report
        and card: a :class:`~sk_microagg.report.Scenario`, its parameters, or a .toml or .json file
        of these.

    analysis : str or list of str, default=()
        Regressions such as "income ~ age + C(sex)", in the words of statsmodels and R, that the
        report has before and after.

    earlier : list of (table, column), default=()
        Earlier releases of the same people, each with who its rows belong to, as text: summary and
        report say whether people share their rows of all releases with others. It needs `unit`.

    shuffle : bool, default=False
        Whether to write the rows in random order.

    overwrite : bool, default=False
        Whether files that exist may be replaced.

    series : str or None, default=None
        The state of a series of releases, a file that the first one makes: see
        :class:`sk_microagg.ReleaseSeries`. Rows are in random order then.

    series_begin : bool, default=False
        Whether this is the first release of a series, whose state must not exist yet.

    hold : float, default=0.0
        Share of the newcomers of a series that may wait for better company.

    leavers : {"freeze_group", "keep", "withdraw_group"}, default="freeze_group"
        What becomes of people of a series who are no longer in the table, and of their groups.

    values : {"today", "first"}, default="today"
        What is released of people of a series in columns that are not anonymized: their rows of
        today, or those with which they were first released.

    spare : int, default=0
        How many members new groups of a series have beyond k.

    erase : list of str, default=()
        People who must be in no release of a series from now on, as `unit` names them.

    na : list of str, default=()
        More texts that mean that a value is missing: in all columns, or in one, as
        "income=unknown".

    decimal : str, default="."
        The decimal mark.

    thousands : str or None, default=None
        What separates groups of three digits, as a comma in 1,200.

    encoding : str, default="utf-8"
        Encoding of CSV files.

    sep : str or None, default=None
        Separator of the cells of CSV files; None for a comma.

    header : {"check", "given", "none"}, default="check"
        Whether the first row holds names: "check" raises if it looks like a record.

    sheet : str or None, default=None
        Sheet of an Excel file; None for the first.

    command : str or None, default=None
        The command line that asks for the same, for the report.

    See Also
    --------
    release_file : Fulfills a request.

    Examples
    --------
    >>> from sk_microagg.release import ReleaseRequest
    >>> request = ReleaseRequest("visits.csv", "release.csv", k=3, drop=["id"])
    >>> request.k, request.drop, request.method
    (3, ['id'], 'aggregate')
    """

    input: str
    output: str
    k: int = setting("k")
    quasi_identifiers: Sequence[str] | None = setting("quasi_identifiers")
    drop: Sequence[str] = setting("drop")
    sensitive: Sequence[str] = setting("sensitive")
    unit: str | None = setting("unit")
    strata: Sequence[str] = setting("strata")
    weight: str | None = setting("weight")
    weight_release: Literal["keep", "mean"] = setting("weight_release")
    categorical: Sequence[str] = setting("categorical")
    number: Sequence[str] = setting("number")
    ordinal: Any = setting("ordinal")
    date: Any = setting("date")
    column_weights: Any = setting("column_weights")
    decimals: Any = setting("decimals")
    categories: str | None = setting("categories")
    privacy: Any = setting("privacy")
    method: str = setting("method")
    release: str = setting("release")
    intervals: str = setting("intervals")
    max_loss: float | None = setting("max_loss")
    builder: str | None = setting("builder")
    refiner: str | None = setting("refiner")
    time_limit: float | None = setting("time_limit")
    certificate: float | None = setting("certificate")
    hierarchies: str | None = setting("hierarchies")
    random_state: int = setting("random_state")
    n_jobs: int = setting("n_jobs")
    engine: str = setting("engine")
    report: str | None = setting("report")
    card: str | None = setting("card")
    scenario: Any = setting("scenario")
    analysis: str | Sequence[str] = setting("analysis")
    earlier: Sequence[tuple[Any, Any]] = field(default=(), compare=False)
    shuffle: bool = setting("shuffle")
    overwrite: bool = setting("overwrite")
    series: str | None = setting("series")
    series_begin: bool = setting("series_begin")
    hold: float = setting("hold")
    leavers: str = setting("leavers")
    values: str = setting("values")
    spare: int = setting("spare")
    erase: Sequence[str] = setting("erase")
    na: Sequence[str] = setting("na")
    decimal: str = setting("decimal")
    thousands: str | None = setting("thousands")
    encoding: str = setting("encoding")
    sep: str | None = setting("sep")
    header: str = setting("header")
    sheet: str | None = setting("sheet")
    command: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in PATHS:
            value = getattr(self, name)
            self._set(name, None if value is None else str(value))
        if isinstance(self.analysis, str):
            self._set("analysis", [self.analysis])
        for name in (*LISTS, "na", "erase", "analysis"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise TypeError(f"{name}={value!r} must be a list of str.")
            self._set(name, None if value is None else list(value))
        self._set("earlier", list(self.earlier))
        for name in ("ordinal", "date"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise TypeError(f"{name}={value!r} must be a list of str or a dict.")
            self._set(name, dict(value) if isinstance(value, Mapping) else dict.fromkeys(value))
        self._set("column_weights", dict(self.column_weights or {}))
        decimals = self.decimals if self.decimals is not None else {}
        self._set("decimals", dict(decimals) if isinstance(decimals, Mapping) else {None: decimals})
        privacy = [self.privacy] if isinstance(self.privacy, Constraint) else self.privacy
        self._set("privacy", list(privacy or []))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def resolve(self, names: Sequence[str]) -> ReleaseRequest:
        """Return the request with columns as the table names them; raise if it lacks one.

        Parameters
        ----------
        names : list of str
            The columns of the table.

        Returns
        -------
        request : ReleaseRequest
            The request; here the same.
        """
        for parameter in (*LISTS, *SINGLE, *MAPPINGS):
            given = getattr(self, parameter)
            check_names(parameter, [given] if isinstance(given, str) else given or [], names)
        check_numbers(self, ("column_weights", "decimals"))
        return self

    @property
    def generalizes(self) -> bool:
        """Whether values are released as intervals, nodes of hierarchies and "*"."""
        return self.method == "kaim" or self.release == "generalized"

    @classmethod
    def from_toml(cls, path: FilePath, **changes: Any) -> ReleaseRequest:
        r"""Read a request from a TOML file.

        Its keys are the parameters. `privacy` is a table of constraints by the names of their
        options, as `l = 2`. In `ordinal` and `date`, `true` stands for a column without an order
        or pattern; `decimals` is a number, a table of columns, or a list of both. Paths are
        relative to the folder of the file. Earlier releases cannot be named.

        Parameters
        ----------
        path : str or path-like
            The file.

        **changes : object
            Parameters that replace those of the file.

        Returns
        -------
        request : ReleaseRequest
            The request.

        Raises
        ------
        RequestError
            If the file is no request. The error names key and line.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from sk_microagg.release import ReleaseRequest
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "visits.toml"
        ...     _ = file.write_text("k = 7\ndrop = ['id']\n[privacy]\nl = 3\n")
        ...     request = ReleaseRequest.from_toml(file, input="visits.csv", output="release.csv")
        >>> request.k, request.drop, request.privacy
        (7, ['id'], [LDiversity(l=3)])
        """
        settings = read_settings(path, changes)
        if "privacy" in settings:
            settings["privacy"] = constraints_asked(settings["privacy"], path)
        return cls._of_settings(settings | changes, path)

    @classmethod
    def _of_settings(cls, settings: Mapping[str, Any], path: FilePath) -> Any:
        """The request with some parameters; raise if it has no input or no output."""
        for name in ("input", "output"):
            if settings.get(name) is None:
                text = "{path}: the key {key} is missing: {help}."
                facts = {"path": str(path), "key": name, "help": SETTINGS[name].help}
                raise RequestError("missing_key", text, **facts)
        return cls(**settings)

    def to_toml(self, path: FilePath, *, overwrite: bool = False) -> None:
        """Write the request to a TOML file, without what is at its default.

        Parameters
        ----------
        path : str or path-like
            The file. Paths of files in its folder, or below, are relative to it.

        overwrite : bool, default=False
            Whether a file that exists may be replaced.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from sk_microagg.release import ReleaseRequest
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "visits.toml"
        ...     table, release = file.with_name("visits.csv"), file.with_name("release.csv")
        ...     ReleaseRequest(table, release, k=7, drop=["id"]).to_toml(file)
        ...     print(file.read_text())
        input = "visits.csv"
        output = "release.csv"
        <BLANKLINE>
        # columns, by what each is for
        drop = ["id"]
        <BLANKLINE>
        # protection
        k = 7
        <BLANKLINE>
        """
        name = os.fspath(path)
        text = as_toml(self, name)
        others = [self.input, self.output]
        check_target(name, [one for one in others if not is_standard(one)], overwrite=overwrite)
        with released_file(name) as draft:
            draft.write_bytes(text.encode())

    def replace(self, **changes: Any) -> ReleaseRequest:
        """Return the same request with some other values."""
        return replace(self, **changes)


def check_numbers(request: ReleaseRequest, names: Sequence[str]) -> None:
    for name in names:
        number = NUMBERS[str(SETTINGS[name].kind)]
        given = getattr(request, name)
        values = given if isinstance(given, dict) else {None: given}
        for column, value in values.items():
            if value is not None and not number.allows(value):
                text = "{option}: {value!r} must be {allowed}."
                facts = {"option": Option(name), "value": value, "allowed": number.allowed}
                raise RequestError("bad_value", text, column, **facts)


def check_values(request: ReleaseRequest) -> None:
    """Raise unless numbers and words of a request are allowed, but for those of columns."""
    of_columns = ("column_weights", "decimals")
    kinds = {name: one.kind for name, one in SETTINGS.items() if name not in of_columns}
    check_numbers(request, [name for name, kind in kinds.items() if kind in NUMBERS])
    for name, kind in kinds.items():
        value = getattr(request, name)
        if not isinstance(kind, tuple) or (value is None and SETTINGS[name].default is None):
            continue
        if value not in kind:
            text = "{option}: {value!r} must be one of {allowed}."
            facts = {"value": value, "allowed": ", ".join(kind)}
            raise RequestError("bad_value", text, option=Option(name), **facts)


def check_names(parameter: str, given: Sequence[str | None], names: Sequence[str]) -> None:
    for name in given:
        if name is not None and name not in names:
            raise unknown_column(parameter, name, names)
