"""What a release lost: in all, by column, and where values are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sk_microagg._model._fitted_groups import release_of
from sk_microagg._utils._statistics import loss_share
from sk_microagg._utils._tables import columns_of, missing_cells
from sk_microagg._utils._typing import Booleans, Labels, TableLike
from sk_microagg.generalization._generalizer import loss_of_release
from sk_microagg.metrics import generalization_loss, information_loss
from sk_microagg.metrics._anonymity import number_values
from sk_microagg.metrics._pairs import MixedPair, Pair
from sk_microagg.report._sections import ColumnLoss, Loss, Share

OF_CELLS = (
    "A generalized category loses the share of all categories that it covers; a generalized number "
    "loses the share of the column\N{RIGHT SINGLE QUOTATION MARK}s range that its interval covers. "
    "The loss is the mean over all cells."
)
OF_COORDINATES = (
    "Columns are compared as coordinates: numbers and dates standardized, categories with one "
    "coordinate per value, and one more where values are missing. The loss is the variation within "
    "groups as a share of all variation; variation between groups is kept."
)
OF_NUMBERS = (
    "The sum of squared distances between the original records and the means of their groups, as a "
    "share of the total sum of squares. Variation within groups is lost; variation between groups "
    "is kept."
)


def measure_loss(
    X: TableLike,
    release: TableLike,
    estimator: Any,
    pair: Pair | None,
    names: list[str],
    kinds: Mapping[str, str],
) -> Loss:
    """Measure what a release lost; `kinds` are those of columns that are known otherwise."""
    meaning = OF_CELLS
    of_missing: dict[int, float] = {}
    if pair is None:
        losses, found = _of_cells(X, release, estimator), getattr(estimator, "kinds_", {})
    elif isinstance(pair, MixedPair):
        meaning = OF_COORDINATES
        losses, of_missing = _of_coordinates(pair, estimator)
        found = getattr(estimator, "kinds_", {c.name: c.kind for c in pair.encoder.columns})
    else:
        meaning, found = OF_NUMBERS, {}
        labels = getattr(estimator, "labels_", pair.classes)
        losses = [information_loss(column[:, None], labels) for column in pair.original.T]
    known_kinds = [kinds.get(str(name), kind) for name, kind in found.items()]
    columns = zip(
        names,
        known_kinds or ["number"] * len(names),
        losses,
        columns_of(X, "X"),
        columns_of(release, "release"),
        strict=True,
    )
    by_column = []
    for place, (name, kind, loss, *cells) in enumerate(columns):
        missing = [Share.of(missing_cells(column).mean()) for column in cells]
        own = Share.of(of_missing[place]) if place in of_missing else None
        by_column.append(ColumnLoss(name, kind, Share.of(loss), own, *missing))
    return Loss(Share.of(loss_of_release(estimator)), meaning, by_column)


def _of_cells(X: TableLike, release: TableLike, estimator: Any) -> Any:
    """The mean loss of the cells of each column of a generalized release."""
    if getattr(estimator, "output", "interval") == "midpoint":
        # A midpoint does not show how wide its interval is.
        release = release_of(estimator._intervals(X), estimator.labels_)
    cells = generalization_loss(X, release, hierarchies=estimator.hierarchies, level="cell")
    return cells.mean(axis=0)


def _of_coordinates(pair: MixedPair, estimator: Any) -> tuple[list[float], dict[int, float]]:
    """The loss of each column, and by its place what of that is due to missing values."""
    labels = getattr(estimator, "labels_", pair.classes)
    space = getattr(estimator, "_encoder", pair.encoder).coordinates
    numbers = space.numbers(pair.original)
    hidden = space.single_values(space.missing(numbers), labels)[:2]
    sums = space.sums_of_squares(numbers, labels, hidden)
    losses = getattr(estimator, "column_losses_", None)
    if losses is None:
        losses = {name: loss_share(*of_column) for name, of_column in sums.items()}
    of_flags, of_missing = space.errors_of_missing(numbers, labels), {}
    for place, name in enumerate(losses):
        is_missing = np.asarray(missing_cells(pair.original[name]))
        if not is_missing.any():
            continue
        if name in of_flags:
            of_missing[place] = loss_share(of_flags[name], sums[name][1])
        else:
            of_missing[place] = _share_of_pairs(pair.original[name], is_missing, labels)
    return [*losses.values()], of_missing


def _share_of_pairs(cells: Any, is_missing: Booleans, labels: Labels) -> float:
    """Pairs of a group of which one is missing, relative to pairs of the table that differ."""
    known = np.array(cells, dtype=object)
    known[is_missing] = None
    codes = number_values(known)
    differ = 1 - np.sum((np.bincount(codes) / len(codes)) ** 2)
    sizes, shares = np.bincount(labels), np.bincount(labels, is_missing) / np.bincount(labels)
    within = float(np.sum(sizes * 2 * shares * (1 - shares))) / len(codes)
    return within / differ if differ > 0 else 0.0
