"""How to reproduce a release."""

import platform
from dataclasses import dataclass
from math import inf
from numbers import Integral

import numpy as np
import sklearn

from sk_microagg._table_aggregator import TableAggregator
from sk_microagg._table_space import uses_target
from sk_microagg._utils._target_scaler import has_target_scaler
from sk_microagg._utils._version import __version__
from sk_microagg.report._code import write_code
from sk_microagg.report._parameters import describe_parameter


@dataclass(frozen=True)
class Recipe:
    """What is needed to reproduce a release."""

    estimator: str
    code: str
    is_command: bool
    variables: list
    seed: object
    default_seed: int | None
    is_random: bool
    has_time_limit: bool
    versions: list
    parameters: list


def recipe_of(estimator, beyond_k, command=None):
    """The recipe of a fitted estimator, given the facts on sensitive columns, units and strata.

    `command` is what was typed in a shell, if the release was made there.
    """
    parameters = estimator.get_params(deep=True)
    code, variables = write_code(estimator, _arguments(estimator, beyond_k))
    return Recipe(
        estimator=type(estimator).__name__,
        code=command or code,
        is_command=command is not None,
        variables=[] if command else variables,
        seed=_seed(parameters.get("random_state")),
        default_seed=_default_seed(estimator),
        is_random=_is_random(estimator),
        has_time_limit=any(
            name.endswith("time_limit") and value is not None and value < inf
            for name, value in parameters.items()
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
            if not _is_empty(value)
        ],
    )


def _arguments(estimator, beyond_k):
    """What `fit_transform` took, as code; the parameters of a TableAggregator name its columns."""
    is_table = isinstance(estimator, TableAggregator)
    has_role = {
        "sensitive": bool(beyond_k.on_columns)
        and not (is_table and _is_given(estimator.sensitive)),
        # A guess: an estimator does not keep whether `fit` took units, but if it did, all groups
        # have at least k people.
        "unit": not is_table and (beyond_k.n_units or 0) >= estimator.k,
        "strata": beyond_k.n_strata is not None and not is_table,
    }
    needs_target = uses_target(estimator) if is_table else _scales_by_target(estimator)
    roles = [f"{name}={name}" for name, has in has_role.items() if has]
    return ", ".join(["X", *(["y"] if needs_target else []), *roles])


def _is_given(value):
    return value is not None and len(value) > 0


def _scales_by_target(estimator):
    return has_target_scaler(getattr(estimator, "scaler_", None))


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
