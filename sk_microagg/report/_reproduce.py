"""How to make the release again."""

import platform
import reprlib
from inspect import signature

import numpy as np
import sklearn

from sk_microagg._utils._version import __version__
from sk_microagg.report._html import definitions, paragraph, section, tag

LONGEST = 240
SHORT = reprlib.Repr()
SHORT.maxlist, SHORT.maxother, SHORT.maxstring = 12, 80, 80


def reproduce(estimator, now):
    """Call, parameters, versions and date."""
    parameters = estimator.get_params(deep=True)
    return section(
        "How to reproduce it",
        tag("pre", tag("code", f"release = {_call(estimator)}.fit_transform(X)")),
        paragraph(_seed(parameters)),
        definitions(
            [
                ("Written", f"{now:%Y-%m-%d %H:%M %z}"),
                ("sk_microagg", __version__),
                ("NumPy", np.__version__),
                ("scikit-learn", sklearn.__version__),
                ("Python", platform.python_version()),
            ]
        ),
        tag("h3", f"Parameters of {type(estimator).__name__}"),
        definitions(
            (tag("code", name), tag("code", describe_parameter(name, value)))
            for name, value in sorted(parameters.items())
        ),
    )


def describe_parameter(name, value):
    """A parameter as text. Hierarchies name values of the table: only their columns are told."""
    if name == "hierarchies" and value:
        return "given for " + ", ".join(map(str, value))
    return describe(value)


def describe(value):
    """A value as text, in one line that is not too long."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{type(value).__name__} instance"
    text = repr(value) if hasattr(value, "get_params") else SHORT.repr(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _call(estimator):
    """The estimator as it would be written, with parameters that are not the default."""
    values = estimator.get_params(deep=False)
    written = [
        f"{name}={'...' if name == 'hierarchies' else describe(values[name])}"
        for name, parameter in signature(type(estimator)).parameters.items()
        if name == "k" or repr(values[name]) != repr(parameter.default)
    ]
    return f"{type(estimator).__name__}({', '.join(written)})"


def _seed(parameters):
    seed = parameters.get("random_state")
    if seed is None:
        text = "No seed was set: a method that leaves something to chance gives another result."
    elif isinstance(seed, int | np.integer):
        text = f"The seed was {seed}: the same data, versions and parameters give the same release."
    else:
        text = "The seed was a generator, whose state is not known: set an integer to repeat it."
    if any(name.endswith("time_limit") and value for name, value in parameters.items()):
        text += " There was a time limit, and where it strikes depends on the machine."
    return text
