"""How to reproduce a release."""

from __future__ import annotations

import platform
import reprlib
from ast import literal_eval
from inspect import signature
from itertools import accumulate, takewhile
from math import inf, isfinite
from numbers import Integral
from pkgutil import resolve_name
from typing import Any

import numpy as np
import sklearn

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._table_space import uses_target
from sk_microagg._utils._estimator import __version__
from sk_microagg._utils._formatting import shown_name
from sk_microagg._utils._target_scaler import has_target_scaler
from sk_microagg.privacy._rules import as_constraints
from sk_microagg.report._sections import Reproduction

LONGEST_LINE = 88

IN_SERIES = (
    "In a series, this is how newcomers are grouped. All others keep their groups, which only the "
    "state of the series knows, and the rows are in random order."
)

LONGEST = 240
SHORT = reprlib.Repr()
SHORT.maxlist, SHORT.maxother, SHORT.maxstring = 12, 80, 80


def recipe_of(
    estimator: Any, beyond_k: Any, command: str | None, series: str | None
) -> Reproduction:
    """The recipe of a fitted estimator, given the facts on sensitive columns, units and strata.

    `command` is what was typed in a shell, if the release was made there.
    """
    parameters = estimator.get_params(deep=True)
    code, variables = write_code(estimator, _arguments(estimator, beyond_k))
    return Reproduction(
        estimator=type(estimator).__name__,
        code=command or code,
        is_command=command is not None,
        variables=[] if command else variables,
        seed=IN_SERIES if series else _about_seed(estimator, parameters),
        has_time_limit=any(
            name.endswith("time_limit") and value is not None and value < inf
            for name, value in parameters.items()
        ),
        parameters={
            name: describe_parameter(name, value)
            for name, value in sorted(parameters.items())
            if not _is_empty(value)
        },
    )


def software() -> dict[str, str]:
    """The versions of what made a release."""
    return {
        "sk_microagg": __version__,
        "NumPy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "Python": platform.python_version(),
    }


def _about_seed(estimator: Any, parameters: dict[str, Any]) -> str:
    """Whether the same release comes out again."""
    seed, default = _seed(parameters.get("random_state")), _default_seed(estimator)
    same = "the same data, versions and parameters give the same release."
    if seed is None and _is_random(estimator):
        return "No seed was set: a method that uses randomness may give a different release."
    if seed is None and default is not None:
        return f"No seed was set, and the method then uses the fixed seed {default}: {same}"
    if seed is None:
        return f"The method draws no random numbers: {same}"
    if isinstance(seed, int):
        return f"The seed was {seed}: {same}"
    return (
        "The seed was a generator of unknown state: set an integer to make the release "
        "reproducible."
    )


def _arguments(estimator, beyond_k):
    """What `fit_transform` took, as code; the parameters of a TableAggregator name its columns."""
    is_table = isinstance(estimator, TableAggregator)
    privacy = getattr(estimator, "privacy", None)
    has_role = {
        "sensitive": any(not each.is_about_units for each in as_constraints(privacy))
        and not (is_table and (not _is_empty(estimator.sensitive) or not beyond_k.columns)),
        # A guess: an estimator does not keep whether `fit` took units, but if it did, all groups
        # have at least k people.
        "unit": not is_table and (beyond_k.n_units or 0) >= estimator.k,
        "strata": beyond_k.n_strata is not None and not is_table,
    }
    scaler = getattr(estimator, "scaler_", None)
    needs_target = uses_target(estimator) if is_table else has_target_scaler(scaler)
    roles = [f"{name}={name}" for name, has in has_role.items() if has]
    return ", ".join(["X", *(["y"] if needs_target else []), *roles])


def _default_seed(estimator):
    return getattr(getattr(estimator, "refiner_", None), "default_seed", None)


def _is_random(estimator):
    """Whether a method without a seed may give another release."""
    # KAIM, which has no builder, draws the order of records; builders of users are not known.
    if not isinstance(getattr(estimator, "builder", None), str):
        return True
    refiner = estimator.refiner_
    if refiner is None or _default_seed(estimator) is not None:
        return False
    return getattr(refiner, "is_random", True)


def _is_empty(value):
    return value is None or (isinstance(value, dict | list | tuple) and not value)


def _seed(seed):
    if seed is None:
        return None
    return int(seed) if isinstance(seed, Integral) else "generator"


class Writer:
    """Writes values as code, and notes what this code needs."""

    def __init__(self) -> None:
        self.imports: dict[str, set] = {}
        self.variables: list[str] = []

    def call(self, estimator):
        """The constructor of an estimator, with the parameters that are not at their defaults."""
        kind = type(estimator)
        if (module := _public_module(kind)) is not None:
            self.imports.setdefault(module, set()).add(kind.__name__)
        return f"{kind.__name__}({', '.join(self.arguments(estimator))})"

    def arguments(self, estimator):
        """The parameters of an estimator that are not at their defaults, as code."""
        defaults = signature(type(estimator)).parameters
        values = estimator.get_params(deep=False)
        return [
            f"{name}={self.value(name, values[name])}"
            for name in defaults
            # How much is printed makes no difference.
            if name != "verbose" and (name == "k" or not _is_default(values[name], defaults[name]))
        ]

    def value(self, name, value):
        """The value of a parameter, or a variable of its name if it cannot be written."""
        try:
            if has_hierarchies(name, value):
                raise ValueError
            return self._written(value)
        except (SyntaxError, ValueError):
            self.variables += [] if name in self.variables else [name]
            return name

    def _written(self, value):
        """A value as code; SyntaxError or ValueError if it cannot be written."""
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        if isinstance(value, dict):
            pairs = (f"{self._written(k)}: {self._written(v)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        if value and isinstance(value, list | tuple):
            inner = ", ".join(map(self._written, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
        if isinstance(value, float) and not isfinite(value):
            return f'float("{value}")'
        if hasattr(value, "get_params") and _public_module(type(value)) is not None:
            return self.call(value)
        literal_eval(repr(value))
        return repr(value)


def _is_default(value, parameter):
    """Whether a parameter has its default, or is empty where the default is None."""
    default = parameter.default
    return (default is None and _is_empty(value)) or repr(value) == repr(default)


def _public_module(kind):
    """The module that users import a class from; None if there is none."""
    parts = takewhile(lambda part: not part.startswith("_"), kind.__module__.split("."))
    modules = accumulate(parts, "{}.{}".format)
    return next((m for m in modules if getattr(resolve_name(m), kind.__name__, None) is kind), None)


def write_code(estimator: Any, arguments: str) -> tuple[str, list[str]]:
    """The code that makes a release, with its imports."""
    writer = Writer()
    line = f"release = {writer.call(estimator)}.fit_transform({arguments})"
    if len(line) > LONGEST_LINE:
        parts = "".join(f"    {argument},\n" for argument in writer.arguments(estimator))
        line = f"release = {type(estimator).__name__}(\n{parts}).fit_transform({arguments})"
    imports = [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(writer.imports.items())
    ]
    return "\n".join([*imports, "", line]).strip(), writer.variables


def describe(value):
    """A value as text."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{type(value).__name__} instance"
    text = repr(value) if hasattr(value, "get_params") else SHORT.repr(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def describe_parameter(name, value):
    """A parameter as text; of hierarchies, only the columns."""
    if has_hierarchies(name, value):
        return "given for " + ", ".join(map(shown_name, value))
    return describe(value)


def has_hierarchies(name, value):
    """Whether a parameter has hierarchies, which are too long to be written."""
    return name == "hierarchies" and isinstance(value, dict) and len(value) > 0
