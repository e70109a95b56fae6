"""How to reproduce a release."""

import platform
from dataclasses import dataclass
from inspect import signature
from numbers import Integral

import numpy as np
import sklearn

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._utils._renamed import DEPRECATED
from sk_microagg._utils._version import __version__
from sk_microagg.report._parameters import describe, describe_parameter, holds_values


@dataclass(frozen=True)
class Recipe:
    """What is needed to reproduce a release.

    Attributes
    ----------
    estimator : str
        Name of the estimator's class.

    call : str
        The estimator as code, with the parameters that are not at their defaults.

    arguments : str
        What was passed to `fit_transform`, as code.

    seed : int, str or None
        The seed; "generator" if it was a random number generator.

    has_time_limit : bool
        Whether the result depends on the speed of the machine.

    versions : list of tuple
        Names of packages and their versions.

    parameters : list of tuple
        Names of all parameters and their values as text.
    """

    estimator: str
    call: str
    arguments: str
    seed: object
    has_time_limit: bool
    versions: list
    parameters: list


def recipe_of(estimator, beyond_k):
    """The recipe of a fitted estimator, given the facts on sensitive columns, units and strata."""
    parameters = estimator.get_params(deep=True)
    return Recipe(
        estimator=type(estimator).__name__,
        call=_call(estimator),
        arguments=_arguments(estimator, beyond_k),
        seed=_seed(parameters.get("random_state")),
        has_time_limit=any(
            name.endswith("time_limit") and value for name, value in parameters.items()
        ),
        versions=[
            ("sk_microagg", __version__),
            ("NumPy", np.__version__),
            ("scikit-learn", sklearn.__version__),
            ("Python", platform.python_version()),
        ],
        parameters=[
            (name, describe_parameter(name, value))
            for name, value in sorted(parameters.items())
            if not (isinstance(value, str) and value == DEPRECATED)
        ],
    )


def _call(estimator):
    values = estimator.get_params(deep=False)
    written = [
        f"{name}={'...' if holds_values(name, values[name]) else describe(values[name])}"
        for name, parameter in signature(type(estimator)).parameters.items()
        if name == "k" or repr(values[name]) != repr(parameter.default)
    ]
    return f"{type(estimator).__name__}({', '.join(written)})"


def _arguments(estimator, beyond_k):
    if isinstance(estimator, TableAggregator):
        return "X"  # Its parameters name the roles of columns.
    has_role = {
        "sensitive": bool(beyond_k.demands),
        "unit": beyond_k.n_units is not None,
        "strata": beyond_k.n_strata is not None,
    }
    return ", ".join(["X", *(f"{name}={name}" for name, has in has_role.items() if has)])


def _seed(seed):
    if seed is None:
        return None
    return int(seed) if isinstance(seed, Integral) else "generator"
