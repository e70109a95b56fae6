"""One run of annealing: what it knows of the records, and how the temperature falls."""

import math
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np

from sk_microagg._kernels import Annealer, Descent, Partition, Pool

# Without a limit of any kind: seconds for a few thousand records. More steps lose less.
STEPS_A_RECORD = 20_000

# The temperature is lowered after so many steps, or more often if there are few in all.
STEPS_A_STAGE = 16_384
FEWEST_STAGES = 500

# Running means are measured exactly, and the trace gets a row, after so many stages.
STAGES_BETWEEN_LOOKS = 32

# Temperatures for which the effort is worked out; between them it is interpolated.
N_TEMPERATURES = 401

# There are always so many active records, or this share of all.
FEWEST_ACTIVE = 20
FEWEST_ACTIVE_SHARE = 0.01

# Records with a smaller scale than this share of all do not decide when the cooling ends.
SHARE_FROZEN_LAST = 0.02

# As often as this, against the number of records that are beyond the temperature, a step is a
# long jump; but never more often than not.
JUMPS = 30
MOST_JUMPS = 0.5


@dataclass(frozen=True)
class Heat:
    """How warm it is to be for a record of scale 1, and how the effort is shared out.

    Parameters
    ----------
    hottest, coldest : float
        Temperatures at which such a record begins and ceases to be active.

    evenness : float, default=0.3
        The larger it is, the less the number of active records decides on the number of steps.

    jumpiness : float, default=4.0
        How frequent long jumps are.
    """

    hottest: float
    coldest: float
    evenness: float = 0.3
    jumpiness: float = 4.0


def anneal(surroundings, labels, seed, heat, max_iter, time_limit, progress):
    """One run, with a local search in the end.

    Parameters
    ----------
    surroundings : Surroundings
        The records.

    labels : ndarray of shape (n_samples,)
        Where to start: groups of k to 2k - 1 records, numbered from 0.

    seed : int
        Of all that is left to chance.

    heat : Heat
        How the temperature falls.

    max_iter : int or inf
        Number of steps.

    time_limit : float
        Seconds in which the temperature is at its end, whatever the number of steps by then.

    progress : Progress
        Told what share of a run is done, and asked whether to stop.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        The partition in the end.

    trace : list of (int, float, float) tuples
        Step, seconds and sum of squared errors, now and then.

    n_steps : int
        Number of steps.
    """
    start = time.monotonic()
    partition = Partition(surroundings.X, labels, surroundings.k)
    progress.note(partition.sse)
    trace = [(0, 0.0, partition.sse)]
    if surroundings.are_frozen or partition.sse == 0 or partition.n_slots == 1:
        return labels, trace, 0
    cooling = Cooling(surroundings.sorted_scales, heat)
    annealer = Annealer(partition, surroundings.neighbors, surroundings.by_scale, seed=seed)
    steps_a_stage = min(STEPS_A_STAGE, max(max_iter / FEWEST_STAGES, 1))
    n_steps = n_stages = 0
    done = 0.0
    while done < 1.0 and not progress.stopped:
        steps = int(min(steps_a_stage, max_iter - n_steps))
        annealer.run(steps, **asdict(cooling.at(done)))
        n_steps += steps
        n_stages += 1
        seconds = time.monotonic() - start
        before = done
        done = max(n_steps / max_iter, seconds / time_limit)
        if n_stages % STAGES_BETWEEN_LOOKS == 0:
            trace.append((n_steps, seconds, partition.sse))
        progress.advance(trace[-1][2], min(done, 1.0) - before)
    Descent(partition).run(partition.groups())
    trace.append((n_steps, time.monotonic() - start, partition.sse))
    progress.note(partition.sse)
    return partition.labels(), trace, n_steps


class Surroundings:
    """The neighbors of each record, and the scale of each: how far away they are.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The records.

    k : int
        Smallest size of a group.

    neighbors : ndarray of shape (n_samples, n_neighbors), int32
        For each record the others that are near to it, nearest first.

    scales : ndarray of shape (n_samples,)
        Mean squared distance of each record to its nearest neighbors; above 0, unless all are 0.
    """

    def __init__(self, X, k, neighbors, scales):
        self.X = X
        self.k = k
        self.neighbors = neighbors
        self.scales = scales
        self.by_scale = np.argsort(scales, kind="stable")
        self.sorted_scales = scales[self.by_scale]

    @classmethod
    def of(cls, X, k):
        """Look at all records."""
        neighbors = _neighbors(X, k)
        n_nearest = min(max(k - 1, 2), neighbors.shape[1])
        scales = np.zeros(len(X))
        for place in range(n_nearest):
            gaps = X - X[neighbors[:, place]]
            scales += np.einsum("ij,ij->i", gaps, gaps) / n_nearest
        if scales.max() > 0:
            # Among duplicates there is no distance: they count as the closest that differ.
            scales = np.maximum(scales, scales[scales > 0].min())
        return cls(X, k, neighbors, scales)

    def among(self, records):
        """Look at some records alone, with the scales that they have among all."""
        X = np.ascontiguousarray(self.X[records])
        return Surroundings(X, self.k, _neighbors(X, self.k), self.scales[records])

    @property
    def are_frozen(self):
        """Whether no record is any distance away from its neighbors: there is nothing to do."""
        return self.sorted_scales[-1] == 0


def _neighbors(X, k):
    n_neighbors = min(max(15, 3 * k), len(X) - 1)
    return np.ascontiguousarray(Pool(X).around_each(n_neighbors + 1)[:, 1:], dtype=np.int32)


@dataclass(frozen=True)
class Stage:
    """What :meth:`Annealer.run` is told for some steps at one temperature."""

    temperature: float
    first_active: int
    n_active: int
    chance_of_jump: float


class Cooling:
    """A temperature that falls by the scales of the records, and stays where there are many.

    At temperature T the records are active whose scale is from T / `hottest` to T / `coldest`. It
    falls from `hottest` times the largest scale to `coldest` times the smallest. Of the steps, each
    range of temperatures gets a share that follows the number of records active there, plus
    `evenness` times the number of all.

    Parameters
    ----------
    sorted_scales : ndarray of shape (n_samples,)
        The scales, ascending, above 0.

    heat : Heat
        `hottest`, `coldest`, `evenness` and `jumpiness`.
    """

    def __init__(self, sorted_scales, heat):
        # In units of a power of two, which rounds nothing: results do not depend on the units of X.
        self.exponent = math.frexp(sorted_scales[-1])[1]
        self.sorted_scales = np.ldexp(sorted_scales, -self.exponent)
        self.heat = heat
        n_records = len(sorted_scales)
        highest = heat.hottest * self.sorted_scales[-1]
        lowest = heat.coldest * self.sorted_scales[int(SHARE_FROZEN_LAST * n_records)]
        lowest = max(lowest, sys.float_info.min)
        self._log_temperatures = np.linspace(math.log(highest), math.log(lowest), N_TEMPERATURES)
        first, last = self._active(np.exp(self._log_temperatures))
        effort = np.cumsum((last - first + heat.evenness * n_records)[1:])
        self._progress = np.concatenate([[0.0], effort / effort[-1]])

    def at(self, progress):
        """The stage to be in when a share of the work, from 0 to 1, is done."""
        log_temperature = np.interp(progress, self._progress, self._log_temperatures)
        temperature = math.exp(log_temperature)
        n_records = len(self.sorted_scales)
        first, last = (int(place) for place in self._active(temperature))
        fewest = min(max(FEWEST_ACTIVE, int(FEWEST_ACTIVE_SHARE * n_records)), n_records)
        if last - first < fewest:
            first = max(0, min((first + last - fewest) // 2, n_records - fewest))
            last = first + fewest
        chance_of_jump = min(MOST_JUMPS, JUMPS * self.heat.jumpiness / (n_records - first))
        return Stage(math.ldexp(temperature, self.exponent), first, last - first, chance_of_jump)

    def _active(self, temperature):
        """Places of the first active record and behind the last in the order of scales."""
        return (
            np.searchsorted(self.sorted_scales, temperature / self.heat.hottest, side="left"),
            np.searchsorted(self.sorted_scales, temperature / self.heat.coldest, side="right"),
        )
