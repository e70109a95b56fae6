"""Homogeneity of a distributed release: which groups agree in a column, counted by the workers."""

import dask
import numpy as np
import pandas as pd

from sk_microagg.scale._release import PARTS_AT_A_TIME, told_apart


def distributed_homogeneity(release, sensitive):
    """Share of the records in groups that agree in columns, of two Dask DataFrames.

    Rows and values are told apart by 64 bits, as for the level of anonymity. A group agrees if the
    least and the largest hash of its values are one.
    """
    is_one = sensitive.ndim == 1
    parts, others = release.to_delayed(), sensitive.to_delayed()
    if len(parts) != len(others):
        raise ValueError(
            f"sensitive with {len(others)} partitions must have those of release, {len(parts)}."
        )
    n_shares = -(-len(parts) // PARTS_AT_A_TIME)
    summarize = dask.delayed(_summarize, pure=False, nout=n_shares)
    count = dask.delayed(_count_agreeing, pure=False)
    summaries = [summarize(*pair, n_shares) for pair in zip(parts, others, strict=True)]
    counts = dask.compute(
        *(count([summary[share] for summary in summaries]) for share in range(n_shares))
    )
    agreeing, n_records = map(sum, zip(*counts, strict=True))
    if n_records == 0:
        raise ValueError("release has 0 sample(s): at least 1 is needed.")
    shares = agreeing / n_records
    return float(shares[0]) if is_one else shares


def _summarize(release, sensitive, n_shares):
    """Groups of a part, in shares by their keys: keys, sizes, least and largest hash of values."""
    if len(release) != len(sensitive):
        raise ValueError("sensitive must have the rows of release, partition by partition.")
    columns = sensitive.to_frame() if sensitive.ndim == 1 else sensitive
    values = np.empty((len(columns), columns.shape[1]), dtype=np.uint64)
    for j in range(columns.shape[1]):
        values[:, j] = _hashes(columns.iloc[:, [j]])
    groups = _merge(_hashes(release), np.ones(len(release), dtype=np.int64), values, values)
    edges = [(share << 64) // n_shares for share in range(1, n_shares)]
    starts = np.searchsorted(groups[0], np.array(edges, dtype=np.uint64))
    return list(zip(*(np.split(part, starts) for part in groups), strict=True))


def _hashes(frame):
    frame = frame.apply(told_apart)
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()


def _merge(keys, sizes, least, largest):
    """One row for each key, in their order."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
    if not len(starts):
        return keys, sizes, least, largest
    return (
        keys[starts],
        np.add.reduceat(sizes[order], starts),
        np.minimum.reduceat(least[order], starts),
        np.maximum.reduceat(largest[order], starts),
    )


def _count_agreeing(summaries):
    """Number of records in groups that agree, for each column, and of all."""
    _, sizes, least, largest = _merge(*map(np.concatenate, zip(*summaries, strict=True)))
    return sizes @ (least == largest), sizes.sum()
