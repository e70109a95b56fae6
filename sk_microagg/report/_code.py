"""The call that makes a release, as complete Python code."""

from dataclasses import dataclass, field
from inspect import signature
from math import isfinite
from numbers import Number
from pkgutil import resolve_name

import numpy as np

from sk_microagg.report._parameters import holds_values

LONGEST_LINE = 88


@dataclass
class Writer:
    """Writes values as code, and notes what this code needs."""

    imports: dict = field(default_factory=dict)
    variables: list = field(default_factory=list)

    def call(self, estimator):
        """The constructor of an estimator, with the parameters that are not at their defaults."""
        module = _public_module(type(estimator))
        if module is not None:
            self.imports.setdefault(module, set()).add(type(estimator).__name__)
        return f"{type(estimator).__name__}({', '.join(self.arguments(estimator))})"

    def arguments(self, estimator):
        """The parameters of an estimator that are not at their defaults, as code."""
        values = estimator.get_params(deep=False)
        return [
            f"{name}={self.value(name, values[name])}"
            for name, parameter in signature(type(estimator)).parameters.items()
            # How much is printed makes no difference.
            if name != "verbose" and (name == "k" or not _is_default(values[name], parameter))
        ]

    def value(self, name, value):
        """The value of a parameter, or a variable of its name."""
        try:
            if holds_values(name, value):
                raise TypeError
            return self._written(value)
        except TypeError:
            if name not in self.variables:
                self.variables.append(name)
            return name

    def _written(self, value):
        """A value as code; TypeError if it cannot be written."""
        if isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, float) and not isfinite(value):
            return f'float("{value}")'
        if value is None or isinstance(value, str | Number):
            return repr(value)
        if isinstance(value, dict):
            pairs = (f"{self._written(k)}: {self._written(v)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, list | tuple):
            inner = ", ".join(self._written(each) for each in value)
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if hasattr(value, "get_params") and _public_module(type(value)) is not None:
            return self.call(value)
        raise TypeError


def _is_default(value, parameter):
    """Whether a parameter has its default, or is empty where the default is None."""
    if parameter.default is None and isinstance(value, dict | list | tuple):
        return not value
    return repr(value) == repr(parameter.default)


def _public_module(kind):
    """The module that users import a class from; None if there is none."""
    parts = kind.__module__.split(".")
    for n_parts in range(1, len(parts) + 1):
        module = ".".join(parts[:n_parts])
        if parts[n_parts - 1].startswith("_"):
            break
        if getattr(resolve_name(module), kind.__name__, None) is kind:
            return module
    return None


def write_code(estimator, arguments):
    """The code that makes a release, with its imports.

    Parameters
    ----------
    estimator : estimator
        What made the release.

    arguments : str
        What `fit_transform` takes, as code.

    Returns
    -------
    code : str
        The code, in lines.

    variables : list of str
        Names in it of parameters that are not shown.

    Examples
    --------
    >>> from sk_microagg import MicroAggregator
    >>> from sk_microagg.refiners import Annealing
    >>> from sk_microagg.report._code import write_code
    >>> print(write_code(MicroAggregator(k=3, refiner=Annealing()), "X")[0])
    from sk_microagg import MicroAggregator
    from sk_microagg.refiners import Annealing
    <BLANKLINE>
    release = MicroAggregator(k=3, refiner=Annealing()).fit_transform(X)
    """
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
