"""Regressions before and after, by statsmodels."""

from __future__ import annotations

import re
import warnings
from typing import Any, NamedTuple

import numpy as np

from sk_microagg._utils._formatting import three_digits
from sk_microagg._utils._tables import cells_of, import_extra, missing_cells
from sk_microagg._utils._typing import Floats
from sk_microagg.report._sections import Analysis, Coefficient, Share, Term

CONFIDENCE = 0.95

# A formula is code. It may contain names of columns, signs, numbers, texts, and these functions.
FUNCTIONS = ("C", "I", "Q", "Treatment", "Sum", "center", "standardize", "bs", "cr")
OF_NUMPY = ("log", "log2", "log10", "log1p", "exp", "sqrt", "abs", "square")
TOKENS = re.compile(
    r"""(?P<text>'[^'\\]*'|"[^"\\]*")|(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?)"""
    r"""|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?P<call>\s*\()?"""
    r"""|(?P<sign>[-~+*/:()^,= ])|(?P<bad>.)""",
    re.DOTALL,
)

LINEAR, LOGISTIC = "linear regression", "logistic regression"


class Table(NamedTuple):
    """Columns by their names, numbers or categories, and weights or None."""

    columns: dict[str, Any]
    weights: Floats | None


def as_column(cells: Any) -> Any:
    """A column for a regression: numbers as floats, days of dates, and categories as text."""
    numbers, is_known = np.asarray(cells), ~np.asarray(missing_cells(cells))
    if numbers.dtype.kind in "iuf":
        return numbers.astype(np.float64)
    texts = np.array([str(cell) for cell in cells_of(cells)], dtype=object)
    texts[~is_known] = None
    return texts


def analyze(formula: str, before: Table, after: Table) -> Analysis:
    """Fit a regression to the original and to the release, where no value is missing."""
    check_formula(formula, before)
    frames = _frames(before, after)
    target = _target_of(formula, frames[0])
    about = formula, LINEAR if target is None else LOGISTIC, target and target.words
    try:
        fits = [
            _fit(formula, frame, table.weights, target)
            for frame, table in zip(frames, (before, after), strict=True)
        ]
    except ValueError as error:
        raise ValueError(f"analysis={formula!r} cannot be fitted: {error}") from error
    except (np.linalg.LinAlgError, ZeroDivisionError, IndexError) as error:
        return Analysis(*about, [], f"there are too few records for its terms ({error})")
    if any(isinstance(fit, str) for fit in fits):
        return Analysis(*about, [], next(fit for fit in fits if isinstance(fit, str)))
    return Analysis(*about, _compared(*fits))


def check_formula(formula: Any, table: Table) -> None:
    """Raise unless a formula is one, and has nothing but columns of the table and functions."""
    if not isinstance(formula, str):
        raise TypeError(f"analysis={formula!r} must be text, as 'income ~ age + C(sex)'.")
    named = f"analysis={formula!r}"
    if formula.count("~") != 1 or not all(part.strip() for part in formula.split("~")):
        raise ValueError(f"{named} must be a formula, as 'income ~ age + C(sex)'.")
    functions = {*FUNCTIONS, *(f"np.{name}" for name in OF_NUMPY)}
    for token in TOKENS.finditer(formula):
        name = token["name"]
        if token["bad"] or "__" in token[0]:
            raise ValueError(
                f"{named} has {token[0]!r}, which is no part of a formula: write names that have "
                "other characters as Q('the name')."
            )
        if token["call"] and name not in functions:
            raise ValueError(f"{named} calls {name!r}, which must be one of {sorted(functions)}.")
        is_text_in_q = token["text"] and formula[: token.start()].rstrip().endswith("Q(")
        if is_text_in_q or (name and not token["call"] and not _is_keyword(formula, token)):
            column = token["text"][1:-1] if is_text_in_q else name
            if column not in table.columns:
                raise ValueError(
                    f"{named} names {column!r}, which must be one of the released columns, "
                    f"{list(table.columns)}."
                )
    response = _response_of(formula)
    if isinstance(response, str) and len(_different(table.columns[response])) != 2:
        cells = table.columns[response]
        if cells.dtype.kind == "O":
            raise ValueError(
                f"{named} explains {response!r}, which must hold numbers, dates or two categories."
            )


def _is_keyword(formula: str, token: re.Match[str]) -> bool:
    """Whether a name is that of an argument, as in bs(age, df=4), or of a coding of C()."""
    is_argument = formula[token.end() :].lstrip().startswith("=")
    return is_argument or token["name"] in ("Treatment", "Sum")


def _response_of(formula: str) -> str | None:
    """The column that is explained; None if it is an expression."""
    left = formula.split("~")[0].strip()
    quoted = re.fullmatch(r"""Q\(\s*['"](.*)['"]\s*\)""", left)
    if quoted:
        return quoted[1]
    return left if re.fullmatch(r"[^\W\d]\w*", left) else None


def _different(cells: Any) -> list[Any]:
    known = cells[~np.asarray(missing_cells(cells))]
    return sorted({*known.tolist()})


def _frames(before: Table, after: Table) -> list[Any]:
    """Both tables as frames of pandas, with the same order of categories.

    The categories that both have come first, so that both have the same reference.
    """
    pandas = import_extra("pandas", "report", "An analysis")
    frames: list[dict[str, Any]] = [{}, {}]
    for name, old in before.columns.items():
        new = after.columns[name]
        if old.dtype.kind != "O":
            for frame, column in zip(frames, (old, new), strict=True):
                frame[name] = column
            continue
        levels = [_different(column) for column in (old, new)]
        common = [level for level in levels[0] if level in levels[1]]
        for frame, column, own in zip(frames, (old, new), levels, strict=True):
            others = [level for level in own if level not in common]
            frame[name] = pandas.Categorical(column, categories=[*common, *others])
    return [pandas.DataFrame(frame) for frame in frames]


class Target(NamedTuple):
    """One of two values of a column, whose probability a logistic regression explains."""

    column: str
    other: Any
    value: Any

    @property
    def words(self) -> str:
        value = self.value if isinstance(self.value, str) else f"{self.value:g}"
        return f"the probability that {self.column} is {value}"

    def shares(self, cells: Any) -> Floats:
        """How far cells are this value, from 0 to 1: released means may lie in between."""
        if hasattr(cells, "cat"):
            return np.where(cells.isna(), np.nan, (cells == self.value).astype(np.float64))
        values = cells.to_numpy(dtype=np.float64)
        return np.clip((values - self.other) / (self.value - self.other), 0.0, 1.0)


def _target_of(formula: str, frame: Any) -> Target | None:
    """What a logistic regression explains; None if the column has other than two values."""
    name = _response_of(formula)
    if name is None:
        return None
    cells = frame[name]
    values = sorted(cells.cat.categories) if hasattr(cells, "cat") else _different(cells.to_numpy())
    return Target(name, *values) if len(values) == 2 else None


def _fit(formula: str, frame: Any, weights: Floats | None, target: Target | None) -> Any:
    """The estimates and the ends of their intervals, by term; or why there are none."""
    from patsy import PatsyError
    from statsmodels.api import families
    from statsmodels.formula import api
    from statsmodels.tools.sm_exceptions import PerfectSeparationError, PerfectSeparationWarning

    if target is not None:
        frame = frame.assign(**{target.column: target.shares(frame[target.column])})
    w = np.ones(len(frame)) if weights is None else weights / weights.mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", PerfectSeparationWarning)
        try:
            if target is None:
                model = api.wls(formula, frame, weights=w)
            else:
                model = api.glm(formula, frame, family=families.Binomial(), freq_weights=w)
            if model.exog.shape[0] <= model.exog.shape[1]:
                return "there are too few records for its terms"
            if np.linalg.matrix_rank(model.exog) < model.exog.shape[1]:
                return "its terms determine each other in one of both tables"
            if not np.ptp(model.endog) > 0:
                return "what it explains is the same everywhere in one of both tables"
            fit = model.fit(use_t=True) if target is None else model.fit()
        except PatsyError as error:
            raise ValueError(f"{str(error).splitlines()[0]}.") from None
        except (PerfectSeparationError, PerfectSeparationWarning):
            return "its terms tell both values apart without errors"
    return {
        term: (float(estimate), *map(float, fit.conf_int(1 - CONFIDENCE).loc[term]))
        for term, estimate in fit.params.items()
    }


def _compared(before: dict[str, Any], after: dict[str, Any]) -> list[Term]:
    terms = []
    for term in dict.fromkeys([*before, *after]):
        one, other = (_coefficient(fit.get(term)) for fit in (before, after))
        share = None
        if one is not None and other is not None:
            share = Share.of(max(overlap(one, other), 0.0))
        terms.append(Term(term, one, other, share))
    return terms


def _coefficient(found: tuple[float, float, float] | None) -> Coefficient | None:
    if found is None:
        return None
    text = "{} [{}, {}]".format(*map(three_digits, found))
    return Coefficient(*found, text)


def overlap(one: Coefficient, other: Coefficient) -> float:
    """Mean share of two intervals that lies in both; below 0 where they are apart."""
    common = min(one.high, other.high) - max(one.low, other.low)
    lengths = [max(each.high - each.low, 1e-300) for each in (one, other)]
    return sum(common / length for length in lengths) / 2
