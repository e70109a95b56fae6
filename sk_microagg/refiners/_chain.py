"""Several refiners, applied in sequence."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from sk_microagg._utils._deadline import shared_interrupt, warn_if_interrupted
from sk_microagg._utils._typing import Floats, Labels, SupportsRefine
from sk_microagg._utils._validation import check_option
from sk_microagg.privacy import Rules
from sk_microagg.refiners._annealing import Annealing
from sk_microagg.refiners._auto import Auto
from sk_microagg.refiners._base import Refiner, run_refiner
from sk_microagg.refiners._decompose import Decompose
from sk_microagg.refiners._decompose_shrink import DecomposeShrink
from sk_microagg.refiners._exchange import Exchange
from sk_microagg.refiners._iterated_local_search import IteratedLocalSearch
from sk_microagg.refiners._local_search import LocalSearch
from sk_microagg.refiners._recombination import Recombination

# Refiners by name, as accepted by the estimators.
REFINERS = {
    "auto": Auto,
    "decompose": Decompose,
    "decompose_shrink": DecomposeShrink,
    "local_search": LocalSearch,
    "iterated_local_search": IteratedLocalSearch,
    "annealing": Annealing,
    "recombination": Recombination,
    "exchange": Exchange,
}


class Chain(Refiner, _BaseComposition):
    """Apply several refiners in sequence, each to the result of the previous one.

    Parameters
    ----------
    steps : list of (str, Refiner) tuples
        Names and refiners. Parameters of a step are prefixed with its name, as in
        `local__max_iter`.

    Attributes
    ----------
    steps_ : list of (str, Refiner) tuples
        The refiners used, which are clones of those in `steps`.

    n_iter_ : int
        Number of iterations performed, summed over the refiners.

    See Also
    --------
    make_chain : Names the steps automatically.

    Examples
    --------
    >>> from sk_microagg.refiners import Chain, Decompose, Exchange
    >>> chain = Chain([("decompose", Decompose()), ("exchange", Exchange())])
    >>> chain.refine([[0.0], [1.0], [8.0], [9.0]], [0, 1, 1, 0], k=2)
    array([1, 1, 0, 0])
    >>> chain.set_params(exchange__max_iter=10)
    Chain(steps=[('decompose', Decompose()), ('exchange', Exchange(max_iter=10))])
    """

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        self.steps = steps

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of the chain and, with `deep`, of its refiners.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the refiners.

        Returns
        -------
        params : dict
            Parameter names mapped to their values.
        """
        return self._get_params("steps", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the chain or of its refiners.

        Parameters
        ----------
        **params : dict
            Parameters; those of a refiner are named `<name>__<parameter>`.

        Returns
        -------
        self : Chain
            The chain.
        """
        return self._set_params("steps", **params)

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether one of the steps draws random numbers."""
        self._check_steps()
        return any(getattr(refiner, "is_random", True) for _, refiner in self.steps)

    @property
    def default_seed(self) -> int | None:  # type: ignore[override]
        """The seed that stands for `random_state=None`, if it is fixed for one of the steps."""
        steps = self.steps if isinstance(self.steps, list) else []
        refiners = [step[-1] for step in steps if isinstance(step, tuple) and step]
        seeds = (getattr(refiner, "default_seed", None) for refiner in refiners)
        return next((seed for seed in seeds if seed is not None), None)

    @property
    def keeps_rules(self) -> bool:  # type: ignore[override]
        """Whether all steps keep to constraints beyond k."""
        self._check_steps()
        return all(getattr(refiner, "keeps_rules", False) for _, refiner in self.steps)

    def _refine(
        self,
        X: Floats,
        labels: Labels,
        k: int,
        random_state: np.random.RandomState,
        rules: Rules | None = None,
    ) -> Labels:
        self._check_steps()
        steps = [(name, clone(refiner, safe=False)) for name, refiner in self.steps]
        with shared_interrupt():
            for _, refiner in steps:
                labels = run_refiner(refiner, X, labels, k, random_state, rules)
            warn_if_interrupted("the result is the best partition found so far")
        self.steps_: list[tuple[str, Any]] = steps
        self.n_iter_: int = sum(getattr(refiner, "n_iter_", 0) for _, refiner in steps)
        return labels

    def _check_steps(self) -> None:
        if not isinstance(self.steps, list) or not self.steps:
            raise TypeError(f"steps={self.steps!r} must be a list of (name, refiner) tuples.")
        for step in self.steps:
            is_pair = isinstance(step, tuple) and len(step) == 2
            if not is_pair or isinstance(step[1], type) or not hasattr(step[1], "refine"):
                raise TypeError(f"step {step!r} must be a tuple of a name and a refiner.")
        self._validate_names([name for name, _ in self.steps])


def make_chain(*refiners: SupportsRefine | str) -> Chain:
    """Chain refiners, and name each step after its refiner.

    Parameters
    ----------
    *refiners : str or Refiner
        The refiners, in the order in which they are applied: names such as "exchange", or objects.
        A step is named after the name of its refiner, or after its class in lower case.

    Returns
    -------
    chain : Chain
        The chain.

    Examples
    --------
    >>> from sk_microagg.refiners import Exchange, make_chain
    >>> make_chain("decompose_shrink", Exchange())
    Chain(steps=[('decompose_shrink', DecomposeShrink()), ('exchange', Exchange())])
    """
    refiners = [refiner_by_name(each) if isinstance(each, str) else each for each in refiners]
    names = [name_of(refiner) for refiner in refiners]
    return Chain(
        [
            (f"{name}-{names[:i].count(name) + 1}" if names.count(name) > 1 else name, refiner)
            for i, (name, refiner) in enumerate(zip(names, refiners, strict=True))
        ]
    )


def refiner_by_name(name: str) -> Refiner:
    check_option("refiner", name, [*REFINERS, None])
    return REFINERS[name]()


def name_of(refiner: object) -> str:
    """Return the name of a refiner, or that of its class in lower case; "none" for None."""
    if refiner is None:
        return "none"
    kind = type(refiner)
    return next((name for name in REFINERS if REFINERS[name] is kind), kind.__name__.lower())
