"""Several refiners, applied in sequence."""

from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from sk_microagg.refiners._base import Refiner


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

    def __init__(self, steps):
        self.steps = steps

    def get_params(self, deep=True):
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

    def set_params(self, **params):
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
    def default_seed(self):
        """The seed that stands for `random_state=None`, if it is fixed for one of the steps."""
        steps = self.steps if isinstance(self.steps, list) else []
        refiners = [step[-1] for step in steps if isinstance(step, tuple) and step]
        seeds = (getattr(refiner, "default_seed", None) for refiner in refiners)
        return next((seed for seed in seeds if seed is not None), None)

    @property
    def keeps_rules(self):
        """Whether all steps keep to constraints beyond k."""
        self._check_steps()
        return all(getattr(refiner, "keeps_rules", False) for _, refiner in self.steps)

    def _refine(self, X, labels, k, random_state, rules=None):
        self._check_steps()
        options = {"rules": rules} if rules else {}  # not every refiner has this parameter
        steps = [(name, clone(refiner, safe=False)) for name, refiner in self.steps]
        for _, refiner in steps:
            labels = refiner.refine(X, labels, k, random_state=random_state, **options)
        self.steps_ = steps
        self.n_iter_ = sum(getattr(refiner, "n_iter_", 0) for _, refiner in steps)
        return labels

    def _check_steps(self):
        if not isinstance(self.steps, list) or not self.steps:
            raise TypeError(f"steps={self.steps!r} must be a list of (name, refiner) tuples.")
        for step in self.steps:
            is_pair = isinstance(step, tuple) and len(step) == 2
            if not is_pair or isinstance(step[1], type) or not hasattr(step[1], "refine"):
                raise TypeError(f"step {step!r} must be a tuple of a name and a refiner.")
        self._validate_names([name for name, _ in self.steps])


def make_chain(*refiners):
    """Chain refiners, each named after its class in lower case.

    Parameters
    ----------
    *refiners : Refiner
        The refiners, in the order in which they are applied.

    Returns
    -------
    chain : Chain
        The chain.

    Examples
    --------
    >>> from sk_microagg.refiners import Decompose, Exchange, make_chain
    >>> make_chain(Decompose(), Exchange())
    Chain(steps=[('decompose', Decompose()), ('exchange', Exchange())])
    """
    names = [type(refiner).__name__.lower() for refiner in refiners]
    return Chain(
        [
            (f"{name}-{names[:i].count(name) + 1}" if names.count(name) > 1 else name, refiner)
            for i, (name, refiner) in enumerate(zip(names, refiners, strict=True))
        ]
    )
