"""Types that the annotations of the package share.

scikit-learn, SciPy and pandas have no types of their own: to a type checker, what comes from them
is Any. The names below say what it is.
"""

from collections.abc import Callable, Hashable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.lines import Line2D as Line2D
    from matplotlib.text import Annotation as Annotation
else:  # matplotlib is an extra.
    Annotation = Axes = Line2D = Any

# Arrays: of any values, of numbers, of groups or records, of codes of values, of answers.
Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.intp]
Codes: TypeAlias = NDArray[np.int32]
Booleans: TypeAlias = NDArray[np.bool_]

# A table or a column that users pass: an array, a DataFrame, or a list of any values.
TableLike: TypeAlias = ArrayLike | Sequence[Any]

# What transformers return: an array, a table of the type of the input, or what `set_output` says.
Output: TypeAlias = Any

DataFrame: TypeAlias = Any  # of pandas
Series: TypeAlias = Any  # of pandas
Estimator: TypeAlias = Any  # of scikit-learn, or of the same interface
Figure: TypeAlias = Any  # of matplotlib, or a part of one

# One column or several of a table, by their names.
Names: TypeAlias = Hashable | Sequence[Hashable]

FilePath: TypeAlias = str | PathLike[str]
RandomState: TypeAlias = int | np.random.RandomState | None


class SupportsBuild(Protocol):
    """Whatever builds partitions, such as a Builder."""

    def build(self, X: Floats, k: int, /) -> ArrayLike:
        """Return the group of each record."""


class SupportsRefine(Protocol):
    """Whatever refines partitions, such as a Refiner."""

    def refine(
        self, X: Floats, labels: Labels, k: int, /, *, random_state: RandomState
    ) -> ArrayLike:
        """Return the group of each record."""


class SupportsScale(Protocol):
    """Whatever scales columns, such as a transformer of scikit-learn."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Learn from records."""

    @property
    def transform(self) -> Callable[..., Any]:
        """Return records in the scaled space."""


# What the parameters `builder`, `refiner` and `scaler` may be.
BuilderLike: TypeAlias = str | SupportsBuild
RefinerLike: TypeAlias = str | SupportsRefine | list[Any] | None
ScalerLike: TypeAlias = str | SupportsScale | None
