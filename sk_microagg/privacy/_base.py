"""The interface of a constraint."""

from __future__ import annotations

import inspect
import re
from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Mapping
from numbers import Number
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone

from sk_microagg._choices import FRONTS, Front
from sk_microagg._kernels import CallbackGuard
from sk_microagg._utils._estimator import BaseEstimator
from sk_microagg._utils._typing import Array, Booleans, Floats, Labels, Series
from sk_microagg.privacy._registry import CONSTRAINTS

# Relative: a bound that users compute, such as 1 - 0.8, may be a little off. Guards, which add up
# in another order than `measure`, are stricter by half of it.
ROUNDING = 1e-9


class Constraint(BaseEstimator, metaclass=ABCMeta):
    """Base class of constraints: what each group must satisfy beyond its size.

    A constraint measures the values that the records of a group have in a sensitive column, and
    says whether the figure is good enough. It must be monotone: the union of two groups that
    satisfy it satisfies it, too. Subclasses implement `measure` and `accepts`, and `prepare` if the
    figure depends on the whole table. Summaries and reports call it by its `title`, which may be a
    class attribute, and say by `in_words` what holds for every group.

    Parameters
    ----------
    column : str, int or None, default=None
        The sensitive column: its name, or its number if the columns have no names. None is for a
        table with a single sensitive column.

    See Also
    --------
    LDiversity : Several different values in each group.
    TCloseness : Values distributed as in the whole table.
    UnitShare : No unit with most records of a group.

    Examples
    --------
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.privacy import Constraint
    >>> class Spread(Constraint):
    ...     def __init__(self, least, column=None):
    ...         self.least = least
    ...         self.column = column
    ...
    ...     def measure(self, values, table):
    ...         return values.max() - values.min()
    ...
    ...     def accepts(self, figure):
    ...         return figure >= self.least
    >>> X = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> aggregator = MicroAggregator(k=2, privacy=Spread(10))
    >>> aggregator.fit_predict(X, sensitive=[100, 101, 130, 131, 150, 151])
    array([1, 1, 1, 0, 0, 0])
    """

    # What it needs of the whole table: all "records"; how often each value occurs, its "counts"; or
    # what the units contribute to a sum, their "amounts". The last two are learned in parts.
    needs: ClassVar[Literal["records", "counts", "amounts"]] = "records"

    # Whether it is about the units of the records, and not about a sensitive column.
    is_about_units: ClassVar[bool] = False

    # Whether it is about amounts, of any column of numbers: those of one unit are taken together.
    is_about_amounts: ClassVar[bool] = False

    # Whether it is about the column of sampling weights.
    is_about_weights: ClassVar[bool] = False

    # How the command line and the page ask for it; None if they do not.
    front: ClassVar[Front | None] = None

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        front = cls.__dict__.get("front")
        if front is not None:
            name = front.options[0].name
            CONSTRAINTS[name], FRONTS[name] = cls, front

    @classmethod
    def from_options(cls, values: Mapping[str, Any]) -> Constraint | None:
        """Return the constraint that values of options ask for.

        Parameters
        ----------
        values : mapping
            Values by the names of options.

        Returns
        -------
        constraint : Constraint or None
            The constraint; None if its first option is not given.
        """
        assert cls.front is not None
        first, *others = cls.front.options
        if values.get(first.name) is None:
            for option in others:
                value = values.get(option.name, option.default)
                if value != option.default:
                    raise ValueError(f"{option.parameter}={value!r} needs {first.parameter}.")
            return None
        parameters = {o.parameter: values.get(o.name, o.default) for o in cls.front.options}
        constraint = cls(**parameters)
        constraint.check_parameters()
        return constraint

    def to_options(self) -> dict[str, Any]:
        """Return the values of options that ask for the constraint, but for usual ones."""
        options = () if self.front is None else self.front.options
        given = {option: getattr(self, option.parameter) for option in options}
        return {option.name: value for option, value in given.items() if value != option.default}

    @classmethod
    def needed_role(cls) -> str | None:
        """Return the role of columns without which it cannot be asked for, if there is one."""
        if cls.is_about_weights:
            return "weight"
        if cls.is_about_amounts:
            return None
        return "unit" if cls.is_about_units else "sensitive"

    def check_parameters(self) -> None:
        """Raise ValueError or TypeError if a parameter is not allowed."""

    @property
    def is_worse_if_larger(self) -> bool:
        """Whether the largest figure of a group is the worst one, and not the smallest."""
        return False

    @property
    def counts_rows(self) -> bool:
        """Whether the figure depends on how many rows people have."""
        return True

    @property
    def uses_order(self) -> bool:
        """Whether figures depend on the order of an ordered type."""
        return False

    def about(self, column: Hashable) -> Self:
        """Return a copy that is about a column."""
        return clone(self).set_params(column=column)

    def with_units(self, values: Array, units: Array | None) -> Array:
        """Return prepared values together with the units of the records, where these matter."""
        return values

    def prepare_with(
        self, values: Any, units: Array | None = None, weights: Series | None = None
    ) -> tuple[Array, Any]:
        """Prepare values, with the units of the records and the column of sampling weights."""
        prepared, table = self.prepare(values)
        if weights is not None and self.is_weighted(weights.name):
            prepared = self.with_weights(prepared, np.asarray(weights, dtype=np.float64))
        return self.with_units(prepared, units), table

    def is_weighted(self, weight: Hashable) -> bool:
        """Return whether values count times the column of sampling weights, if there is one."""
        return False

    def with_weights(self, values: Array, weights: Floats) -> Array:
        """Return prepared values times sampling weights, where `is_weighted`."""
        return values

    @property
    def demanded(self) -> float | None:
        """The value of the first option, which is demanded; None if there is no option."""
        return None if self.front is None else getattr(self, self.front.options[0].parameter)

    @property
    def title(self) -> str:
        """Its name in summaries and reports: that of `front`, or else the words of its class."""
        if self.front is not None:
            return self.front.title
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(self).__name__).strip("_").lower()

    def demand_in_words(self) -> str:
        """Return its title with what it demands, such as "t-closeness (at most 0.2)"."""
        demands = {
            name: f"{name} {value}"
            for name, value in self._given_parameters().items()
            if isinstance(value, str | Number)
        }
        if self.front is not None:
            choice = self.front.choice.format(f"{self.demanded:g}")
            demands[self.front.options[0].parameter] = choice[0].lower() + choice[1:]
        return f"{self.title} ({', '.join(demands.values())})" if demands else self.title

    def told(self, figure: float) -> float:
        """Return the worst figure of a release as it may be told: it may be that of one person."""
        return figure

    def in_words(self, figure: float) -> str:
        """Say what holds for every group, given the worst figure; quote none of one person."""
        return f"every group satisfies {self.demand_in_words()}"

    def prepare(self, values: Any) -> tuple[Array, Any]:
        """Take what `measure` needs from the sensitive column of the whole table.

        Parameters
        ----------
        values : ndarray or Series of shape (n_samples,)
            The sensitive values, a Series if they were given as one or in a DataFrame.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The values as `measure` is to receive them; here as an array.

        table : object
            Anything else that `measure` needs; here None.
        """
        return np.asarray(values), None

    @abstractmethod
    def measure(self, values: Array, table: Any) -> float:
        """Return the figure of one group.

        Parameters
        ----------
        values : ndarray of shape (n_members,)
            The values of the records of the group, as prepared.

        table : object
            What `prepare` returned for the whole table.

        Returns
        -------
        figure : float
            The figure.
        """

    @abstractmethod
    def accepts(self, figure: float) -> bool:
        """Return whether a group with this figure satisfies the constraint.

        Parameters
        ----------
        figure : float
            What `measure` returned.

        Returns
        -------
        is_good : bool
            Whether it is good enough.
        """

    def accepts_each(self, figures: Array) -> Booleans:
        """Return whether each of several figures is good enough, as an array."""
        return np.array([bool(self.accepts(figure)) for figure in figures])

    def shortfall(self, figure: Any) -> Any:
        """Return how far a group with this figure, or each of several, is from acceptance.

        Builders bring groups nearer to acceptance step by step. The default knows no steps.

        Parameters
        ----------
        figure : float or ndarray
            What `measure` returned.

        Returns
        -------
        shortfall : float or ndarray
            0 if the figure is accepted; otherwise positive, such as what is missing as a share of
            what is demanded. Here 1.
        """
        return np.vectorize(lambda each: 0.0 if self.accepts(each) else 1.0)(figure)

    def suits_block(self, figure: float) -> bool:
        """Return whether a part of the table with this figure can be divided into groups alone."""
        return self.accepts(figure)

    def measure_groups(self, labels: Labels, values: Array, table: Any) -> Array:
        """Return the figure of each group, with labels numbered from 0."""
        order = np.argsort(labels, kind="stable")
        starts = np.cumsum(np.bincount(labels))[:-1]
        return np.array([self.measure(group, table) for group in np.split(values[order], starts)])

    def describe(self, column: str) -> str:
        """Name the constraint on a column in messages, by parameters that are not the default."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self._given_parameters().items())
        return f"{type(self).__name__}({shown}) of the {column}"

    def _given_parameters(self) -> dict[str, Any]:
        """The first parameter, and those that are not the default."""
        given: dict[str, Any] = {}
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            is_default = repr(parameter.default) == repr(value)  # arrays have no single truth
            if name != "column" and not (given and is_default):
                given[name] = value
        return given

    def why_impossible(self, figure: float, column: str) -> str:
        """Say why no groups satisfy the constraint, given the figure of the whole table."""
        return (
            f"The whole table taken as one group violates {self.describe(column)}: its figure is "
            f"{figure:.6g}."
        )

    def guard(self, values: Array, table: Any) -> Any:
        """Return the kernel that refiners ask; this one calls `measure` for each question."""
        return CallbackGuard(
            len(values), lambda members: bool(self.accepts(self.measure(values[members], table)))
        )


class VectorizedConstraint(Constraint):
    """Base of constraints that measure all groups at once, and accept arrays of figures."""

    def measure(self, values: Array, table: Any) -> float:
        return self.measure_groups(np.zeros(len(values), dtype=np.intp), values, table)[0].item()

    def accepts_each(self, figures: Array) -> Booleans:
        return self.accepts(figures)  # type: ignore[arg-type, return-value]


class BoundConstraint(VectorizedConstraint):
    """Base of constraints that demand a figure of at most, or at least, one of their parameters."""

    # The name of the parameter, its side, and by how much a figure may be beyond it, relatively.
    _bound: ClassVar[str]
    _is_upper_bound: ClassVar[bool] = False
    _rounding: ClassVar[float] = 0.0

    @property
    def is_worse_if_larger(self) -> bool:
        return self._is_upper_bound

    def accepts(self, figure: Any) -> Any:
        bound = getattr(self, self._bound)
        if self.is_worse_if_larger:
            return figure <= bound * (1 + self._rounding)
        return figure >= bound * (1 - self._rounding)

    def shortfall(self, figure: Any) -> Any:
        bound = getattr(self, self._bound)
        missing = figure - bound if self.is_worse_if_larger else 1.0 - figure / bound
        return np.maximum(missing, 0.0)
