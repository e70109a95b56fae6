"""What estimators of the package have in common, and what a notebook shows of them."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from copy import copy
from hashlib import blake2b
from html import escape
from importlib.metadata import version
from math import isclose
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self
from warnings import warn

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator as _BaseEstimator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from sk_microagg._utils._formatting import (
    counted,
    percent,
    printable,
    rounded_up,
    shortened,
)
from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._typing import Array, Labels

DOCUMENTATION = "https://sk-microagg.readthedocs.io/en/stable"

# Where autosummary puts the page of a class, by the public name of the class.
PAGE = f"{DOCUMENTATION}/generated/{{estimator_module}}.{{estimator_name}}.html"


# Attributes that tell where records may lie, or that only the search for their cells needs; and
# exact figures of the original, or its order.
NOT_OF_THE_RELEASE = (
    "_cells",
    "_space",
    "_encoder",
    "_recoding",
    "_hidden",
    "_strata",
    "_training_digest",
    "scaler_",
    "weights_",
    "_auto_rounding",
    "labels_",
    "sse_",
    "column_losses_",
    "generalization_loss_",
    "n_iter_",
)

__version__ = version("sk-microagg")

# The errors of the same records differ by less, relatively.
ROUNDING = 1e-6

MOST_BARS = 8
LONGEST_NAME = 200
NOT_EXACT = "not exact: publish what fit_transform returns"

STYLE = """
.sk-microagg { display: flex; flex-wrap: wrap; gap: 1em 2em; align-items: flex-start; }
.sk-microagg > div { max-width: 100%; }
.sk-microagg-groups { font-size: 13px; line-height: 1.5; }
.sk-microagg-groups p { margin: 0 0 .4em; font-weight: 600; }
.sk-microagg-groups dl {
  display: grid; grid-template-columns: max-content minmax(0, 16em); gap: 0 1em; margin: 0 0 .8em;
}
.sk-microagg-groups dt, .sk-microagg-groups dd { margin: 0; padding: 0; float: none; width: auto; }
.sk-microagg-groups dt { font-weight: 400; opacity: .75; }
.sk-microagg-groups dd { font-weight: 600; }
.sk-microagg-groups > svg { display: block; max-width: 100%; margin-bottom: .8em; }
"""

# In pixels: a row, its label, the longest bar, and the text behind the bar.
ROW, LABEL, BAR, TEXT = 17, 98, 110, 76
LONGEST_LABEL = 14
# A blue that is seen on white and on black alike; all text has the color of the notebook's.
BLUE = "#2b83c6"


class BaseEstimator(_BaseEstimator):
    """scikit-learn's base class, whose HTML representation links to our documentation.

    The link leads to the page of the class in the public package that it is defined in. A class of
    the user has none, since `_doc_link_module` is not where it is defined.
    """

    _doc_link_module = "sk_microagg"
    _doc_link_template = PAGE

    if TYPE_CHECKING:  # what scikit-learn sets in `fit`
        n_features_in_: int
        feature_names_in_: Array


class ReleaseOnlyMixin:
    """Mixin for estimators whose fitted models have cells, which copies may go without."""

    def release_only(self) -> Self:
        """Return a copy of the fitted model that holds the release, and is safe to share.

        Cells are where records of a group may lie, and a model needs the exact means of its groups
        for them. An attacker who can list the values that a column may have can often compute all
        records of a group from these, whatever the release is rounded to:
        :func:`~sk_microagg.metrics.cell_enumeration` measures how often in few coarse columns.
        Share the copy, or just the release.

        Returns
        -------
        stripped : same type as the estimator
            A copy without cells, statistics of the columns and labels, which are in the order of
            the original. It has the rounded means of the groups and their sizes, and
            `information_loss_` rounded up to two digits. What needs cells, such as `transform` and
            `score`, raises a `NotFittedError`.

        Examples
        --------
        >>> from sk_microagg import MicroAggregator
        >>> stripped = MicroAggregator(k=2).fit([[30], [33], [60], [63]]).release_only()
        >>> stripped.centroids_
        array([[32.],
               [62.]])
        """
        check_is_fitted(self)
        stripped = copy(self)
        if has_cells(self):
            stripped._round()
            strip(stripped)
        return stripped

    def _round(self) -> None:
        """Round the means of a copy that is to be shared."""


def strip(estimator: Any, keep: Collection[str] = ()) -> None:
    """Remove what tells more than the release from a fitted copy, but for some attributes."""
    for name in NOT_OF_THE_RELEASE:
        if name not in keep:
            vars(estimator).pop(name, None)
    estimator.information_loss_ = rounded_up(estimator.information_loss_)
    for name in ("builder_", "refiner_"):  # A search leaves its trace of exact losses in them.
        method = vars(estimator).pop(name, None)
        if method is None or hasattr(method, "get_params"):
            setattr(estimator, name, method if method is None else clone(method))


def has_cells(estimator: Any) -> bool:
    """Whether a fitted model has cells, and not only a release."""
    return hasattr(estimator, "_cells")


def check_has_cells(estimator: Any) -> None:
    if not has_cells(estimator):
        raise NotFittedError(
            f"This {type(estimator).__name__} holds only its release, as release_only returned it: "
            "it has no cells, which this needs. Use the model that was fitted."
        )


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Let a block set the attributes of a fit: if Ctrl-C interrupts it, all are as before."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


@contextmanager
def complete_model(model: object) -> Iterator[None]:
    """Raise a clear error if a model lacks a part, since another version fitted it."""
    try:
        yield
    except AttributeError as error:
        owner = type(error.obj)
        fitted_with = getattr(model, "_sk_microagg_version", "of an unknown version")
        # With this version, it would be an error of our own.
        if owner.__module__.partition(".")[0] != "sk_microagg" or fitted_with == __version__:
            raise
        raise ValueError(
            f"This {type(model).__name__} is incomplete, since its {owner.__name__} has no "
            f"{error.name!r}: it was fitted with sk_microagg {fitted_with}, and this is "
            f"{__version__}. Fit it again with this version."
        ) from error


def digest(records: Any) -> str:
    """Return a fingerprint of a table; it tests guesses, so it must not leave the process."""
    fingerprint = blake2b(str(records.shape).encode())
    sparse = (records.indptr, records.indices, records.data) if issparse(records) else None
    for part in sparse or (records,):
        fingerprint.update(np.ascontiguousarray(part, dtype=np.float64).data)
    return fingerprint.hexdigest()[:8]


class TrainingDigestMixin:
    """Mixin whose copies lack the digest of the training data, which would confirm guesses."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "_training_digest" in state:
            state["_training_digest"] = None
        return state


def warn_if_training_data(records: Array, training_digest: str | None) -> None:
    if training_digest is not None and digest(records) == training_digest:
        warn(
            "transform was given the training data, but it maps some records to centroids of other "
            "groups than their own: the result need not be k-anonymous. The release is what "
            "fit_transform returns.",
            stacklevel=4,  # scikit-learn wraps transform
        )


def check_is_training_data(estimator: Any, sse: float, total: float) -> None:
    """Raise unless records lose what the estimator lost, given their errors in its groups."""
    pairs = (sse, estimator.sse_), (loss_share(sse, total), estimator.information_loss_)
    if not all(isclose(*pair, rel_tol=ROUNDING, abs_tol=1e-12 * total) for pair in pairs):
        raise ValueError(
            "X must be what the estimator was fitted on: its groups lose something else in this "
            "table, so that a bound would say nothing about them."
        )


class GroupsReprMixin:
    """Mixin for estimators with groups: a notebook shows figures of these beside the diagram.

    They are computed from the public attributes alone, and none of them is about fewer records than
    a group has. An estimator that is not fitted has the diagram of scikit-learn alone, and none has
    more than its text if `sklearn.set_config(display="text")` says so.
    """

    def _repr_html_inner(self) -> str:
        model = self._grouped()
        diagram, groups = estimator_html_repr(self), html_of(model)
        if not groups:
            return diagram
        heading = "" if model is self else f"<p>Trained on a release of {type(model).__name__}</p>"
        return (
            f'<style>{STYLE}</style><div class="sk-microagg"><div>{diagram}</div>'
            f'<div class="sk-microagg-groups">{heading}{groups}</div></div>'
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def _grouped(self) -> Any:
        """The model that has the groups."""
        return self


def html_of(model: Any) -> str:
    """Figures of the groups of a model, and a small picture."""
    needed = ("group_sizes_", "information_loss_", "exact_transform_")
    if not all(hasattr(model, name) for name in needed):
        return ""
    facts = {
        "k": _k(model),
        "Groups": _groups(model.group_sizes_),
        "Records": f"{model.group_sizes_.sum():,}",
        "Information loss": percent(model.information_loss_, digits=3),
        "transform": "exact" if model.exact_transform_ else NOT_EXACT,
    }
    pairs = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    pictures = [bars("Groups by number of records", size_rows(model.group_sizes_))]
    losses = column_losses(model)
    if losses is not None:
        pictures.append(bars("Information loss by column", loss_rows(losses)))
    return f"<dl>{pairs}</dl>{''.join(pictures)}"


def _k(model: Any) -> str:
    """The parameter, unless it was raised after the fit: it would promise too much."""
    is_kept = isinstance(model.k, Integral) and model.k <= model.group_sizes_.min()
    return str(model.k) if is_kept else f"{model.k}, but set after the fit"


def _groups(sizes: Labels) -> str:
    least, most = sizes.min(), sizes.max()
    if least < most:
        return f"{len(sizes):,}, of {least:,} to {most:,} records"
    return f"{len(sizes):,}, of {counted(least, 'record')}{' each' if len(sizes) > 1 else ''}"


def size_rows(sizes: Labels) -> list[tuple[str, float, str]]:
    """How many groups there are of each size, for `bars`; sizes are joined if they are many."""
    low, top = int(sizes.min()), int(sizes.max())
    if top - low >= MOST_BARS:
        top = int(np.quantile(sizes, 0.95, method="higher"))
    width = -((low - top - 1) // MOST_BARS)
    starts = range(low, top + 1, width)
    end = starts[-1] + width
    counts = np.bincount(np.minimum((sizes - low) // width, len(starts))).tolist()
    labels = [f"{s:,}" if width == 1 else f"{s:,}–{s + width - 1:,}" for s in starts]
    labels.append(f"{end:,} or more")
    return [(label, count, f"{count:,}") for label, count in zip(labels, counts, strict=False)]


def column_losses(model: Any) -> dict[str, float] | None:
    """What each column loses, by its name, if it can be computed from public attributes."""
    if hasattr(model, "column_losses_"):
        return model.column_losses_
    scaler: Any = getattr(model, "scaler_", None)
    if not (type(scaler) is StandardScaler and hasattr(model, "centroids_") and scaler.with_std):
        return None
    is_rounded = any(rounding.decimals is not None for rounding in model.rounding_.values())
    if is_rounded or np.ndim(scaler.n_samples_seen_) > 0:  # Values are missing.
        return None
    centroids = model.centroids_.astype(np.float64)
    shares = model.group_sizes_ / model.group_sizes_.sum()
    between = shares @ (centroids - shares @ centroids) ** 2
    total = np.where(scaler.var_ > 0, scaler.var_, np.inf)
    losses = np.where(scaler.var_ > 0, np.clip(1 - between / total, 0.0, 1.0), 0.0)
    names = getattr(model, "feature_names_in_", [f"x{number}" for number in range(len(losses))])
    return dict(zip(names, losses.tolist(), strict=True))


def loss_rows(losses: dict[str, float]) -> list[tuple[str, float, str]]:
    """The columns that lose most, for `bars`."""
    ordered = sorted(losses.items(), key=lambda item: -item[1])
    rows = [
        (str(name)[:LONGEST_NAME], loss, percent(loss, digits=3))
        for name, loss in ordered[:MOST_BARS]
    ]
    if n_others := len(ordered) - len(rows):
        rows.append(
            (f"{n_others:,} more", 0.0, f"up to {percent(ordered[len(rows)][1], digits=3)}")
        )
    return rows


def bars(title: str, rows: list[tuple[str, float, str]]) -> str:
    """Draw horizontal bars below a title."""
    longest = max((length for _, length, _ in rows), default=0.0) or 1.0
    width, height = LABEL + BAR + TEXT, ROW * (len(rows) + 1)
    rows = [(printable(label), length, escape(text)) for label, length, text in rows]
    summary = "; ".join(f"{escape(label)}: {text}" for label, _, text in rows)
    title = escape(title)
    parts = [
        f'<svg role="img" aria-label="{title}: {summary}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-size="12" fill="currentColor">',
        f'<text y="12" font-weight="600">{title}</text>',
    ]
    for number, (label, length, text) in enumerate(rows, start=1):
        end = LABEL + round(BAR * length / longest, 1)
        short = escape(shortened(label, LONGEST_LABEL))
        parts += [
            # An SVG within an SVG cuts off what is too wide all the same.
            f'<svg y="{number * ROW}" width="{LABEL - 4}" height="{ROW}">'
            f'<title>{escape(label)}</title><text y="12">{short}</text></svg>',
            f'<rect x="{LABEL}" y="{number * ROW + 2}" width="{end - LABEL:g}" height="12" '
            f'fill="{BLUE}"/>',
            f'<text x="{end + 5:g}" y="{number * ROW + 12}">{text}</text>',
        ]
    return "".join([*parts, "</svg>"])
