"""What is to be released: the table, the roles and kinds of its columns, and what is demanded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from numbers import Real
from types import SimpleNamespace
from typing import Any, Literal

from sk_microagg._table_roles import TableRoles
from sk_microagg._table_space import LARGEST_WEIGHT
from sk_microagg.builders import BUILDERS
from sk_microagg.files._format import Declared, check_use, unknown_column
from sk_microagg.files._messages import Option, RequestError
from sk_microagg.privacy import Constraint
from sk_microagg.refiners import REFINERS

# Parameters that name columns, by what they hold: names, or names with something about each.
LISTS = ("quasi_identifiers", "drop", "sensitive", "strata", "categorical", "number")
SINGLE = ("unit", "weight")
MAPPINGS = ("ordinal", "date", "column_weights", "decimals")

# Words that are allowed.
CHOICES: dict[str, tuple] = {
    "method": ("aggregate", "kaim"),
    "release": ("averages", "generalized"),
    "intervals": ("overlapping", "disjoint"),
    "categories": (None, "mode", "shares", "generalize"),
    "weight_release": ("keep", "mean"),
    "builder": (None, *BUILDERS),
    "refiner": (None, *REFINERS, "none"),
    "engine": ("memory", "dask"),
    "leavers": ("freeze_group", "keep", "withdraw_group"),
    "values": ("today", "first"),
    "header": ("check", "given", "none"),
}

MOST_DECIMALS = 15

# Numbers of a request: what they must be, and in words.
NUMBERS: dict[str, tuple[Callable[[float], bool], str]] = {
    "k": (lambda value: value >= 1 and value == int(value), "an integer of at least 1"),
    "time_limit": (lambda value: 0 < value < math.inf, "a number above 0"),
    "certificate": (lambda value: 0 < value < math.inf, "a number above 0"),
    "hold": (lambda value: 0 <= value < 1, "a number from 0 to below 1"),
    "spare": (lambda value: value >= 0 and value == int(value), "an integer of at least 0"),
    "column_weights": (
        lambda value: 0 < value <= LARGEST_WEIGHT,
        f"a number above 0 and at most {LARGEST_WEIGHT:g}",
    ),
    "decimals": (
        lambda value: abs(value) <= MOST_DECIMALS and value == int(value),
        f"an integer from -{MOST_DECIMALS} to {MOST_DECIMALS}",
    ),
}


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
    k: int = 5
    quasi_identifiers: Sequence[str] | None = None
    drop: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    unit: str | None = None
    strata: Sequence[str] = ()
    weight: str | None = None
    weight_release: Literal["keep", "mean"] = "keep"
    categorical: Sequence[str] = ()
    number: Sequence[str] = ()
    ordinal: Any = ()
    date: Any = ()
    column_weights: Any = None
    decimals: Any = None
    categories: str | None = None
    privacy: Any = None
    method: str = "aggregate"
    release: str = "averages"
    intervals: str = "overlapping"
    builder: str | None = None
    refiner: str | None = None
    time_limit: float | None = None
    certificate: float | None = None
    hierarchies: str | None = None
    random_state: int = 0
    n_jobs: int = -1
    engine: str = "memory"
    report: str | None = None
    card: str | None = None
    scenario: Any = None
    analysis: str | Sequence[str] = ()
    earlier: Sequence[tuple[Any, Any]] = field(default=(), compare=False)
    shuffle: bool = False
    overwrite: bool = False
    series: str | None = None
    series_begin: bool = False
    hold: float = 0.0
    leavers: str = "freeze_group"
    values: str = "today"
    spare: int = 0
    erase: Sequence[str] = ()
    na: Sequence[str] = ()
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"
    sep: str | None = None
    header: str = "check"
    sheet: str | None = None
    command: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("input", "output", "report", "card", "hierarchies", "series"):
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

    def replace(self, **changes: Any) -> ReleaseRequest:
        """Return the same request with some other values."""
        return replace(self, **changes)


def check_numbers(request: ReleaseRequest, names: Sequence[str]) -> None:
    for name in names:
        is_allowed, allowed = NUMBERS[name]
        given = getattr(request, name)
        values = given if isinstance(given, dict) else {None: given}
        for column, value in values.items():
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if value is not None and not (is_number and is_allowed(value)):
                text = "{option}: {value!r} must be {allowed}."
                facts = {"option": Option(name), "value": value, "allowed": allowed}
                raise RequestError("bad_value", text, column, **facts)


def check_values(request: ReleaseRequest) -> None:
    """Raise unless numbers and words of a request are allowed, but for those of columns."""
    check_numbers(request, ("k", "time_limit", "certificate", "hold", "spare"))
    for name, allowed in CHOICES.items():
        value = getattr(request, name)
        if value not in allowed:
            text = "{option}: {value!r} must be one of {allowed}."
            facts = {"value": value, "allowed": ", ".join(map(str, filter(None, allowed)))}
            raise RequestError("bad_value", text, option=Option(name), **facts)


def check_names(parameter: str, given: Sequence[str | None], names: Sequence[str]) -> None:
    for name in given:
        if name is not None and name not in names:
            raise unknown_column(parameter, name, names)


def roles_of(request: Any, names: list) -> TableRoles:
    units = [] if request.unit is None else [request.unit]
    named: dict[str, Sequence[str]] = {
        "quasi_identifiers": request.quasi_identifiers or [],
        "drop": request.drop,
        "sensitive": request.sensitive,
        "unit": units,
        "strata": request.strata,
        "weight": [] if request.weight is None else [request.weight],
    }
    # A unit is dropped anyway.
    check_one_role(named, but=("drop", "unit"))
    others = {name for columns in named.values() for name in columns}
    chosen = request.quasi_identifiers
    chosen = [name for name in names if name not in others] if chosen is None else chosen
    if not chosen:
        _refuse_no_column([role for role, given in named.items() if given])
    named |= {"quasi_identifiers": chosen, "drop": [n for n in request.drop if n not in units]}
    parameters = SimpleNamespace(**named, weight_release=request.weight_release)
    return TableRoles.from_estimator(parameters, names)


def check_effects(request: ReleaseRequest, declared: Declared, roles: TableRoles) -> None:
    """Raise unless what is said about columns has an effect on them."""
    declared.check_kinds([*roles.quasi_identifiers, *roles.sensitive], "anonymized")
    for parameter in ("column_weights", "decimals"):
        named = [name for name in getattr(request, parameter) if name is not None]
        check_use(parameter, named, roles.quasi_identifiers, "anonymized")


def check_one_role(named: Mapping[str, Sequence[str]], but: tuple = ()) -> None:
    for one, other in combinations(named, 2):
        for name in named[one]:
            if name in named[other] and (one, other) != but:
                text = "Column {name!r} is named by {one} and by {other}."
                facts = {"name": name, "one": Option(one), "other": Option(other)}
                raise RequestError("two_roles", text, name, **facts)


def _refuse_no_column(parameters: list) -> None:
    if not parameters:
        text, option = "{option} names no column.", Option("quasi_identifiers")
        raise RequestError("no_quasi_identifier", text, option=option)
    listed = tuple(Option(name) for name in parameters)
    gaps = " and ".join(f"{{p{number}}}" for number in range(len(listed)))
    verb = "names" if len(listed) == 1 else "name"
    facts = {f"p{number}": option for number, option in enumerate(listed)}
    text = f"There is no column left to anonymize: {gaps} {verb} all."
    raise RequestError("no_quasi_identifier", text, **facts)
