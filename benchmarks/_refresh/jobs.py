"""The measurements that `refresh` runs: which script with which options, and what is kept of it."""

import os
import shlex
from typing import NamedTuple

from _refresh.pages import ROOT

RESULTS = ROOT / "benchmarks" / "results"
# Stands for the folder with the real data, which is another one on every machine.
DATA = "$SK_MICROAGG_DATA"

# What no page needs, or what would tell of the machine.
NOT_KEPT = {
    "machine",
    "hierarchies",
    "trace",
    "digest",
    "load",
    "load_of_one",
    "speedups",
    "member",
}


class Job(NamedTuple):
    """A measurement: a script, its options, and the minutes that it takes on two quiet cores.

    With `long_options`, it has a longer version, which `refresh --long` runs instead; without other
    options, it has no short version. `plot` is the figure in `doc/` that it draws, and `packages`
    are the modules that must be installed.
    """

    script: str
    options: str | None
    minutes: float | None
    long_options: str | None = None
    long_minutes: float | None = None
    plot: str | None = None
    packages: tuple = ()
    drop: tuple = ()

    def command(self, long=False):
        """Return the command for a reader, with a variable for the folder of the data."""
        is_long = self.options is None or (long and self.long_options is not None)
        options = self.long_options if is_long else self.options
        words = ["python", f"benchmarks/{self.script}", options]
        words += [f"--plot doc/{self.plot}"] if self.plot else []
        return " ".join(filter(None, words))

    def arguments(self, long=False):
        """Return the words of the command after "python"."""
        data = os.environ.get("SK_MICROAGG_DATA", "")
        words = [word.replace(DATA, data) for word in shlex.split(self.command(long))[1:]]
        return [str(ROOT / words[0]), *words[1:]]


JOBS = {
    "refiners": Job(
        "refiners.py",
        "--data Tarragona Census EIA-10 'normal 25000 x 4' 'normal 25000 x 10' --builders MDAV "
        "--time-limit 10 --prove 60",
        9,
    ),
    "default": Job("refiners.py", "--default", 1),
    "anytime": Job("anytime.py", None, None, "", 105, drop=("k", "smallest_group")),
    "builders": Job(
        "builders.py",
        "--n 50000 1000000 --d 2 4 10 --data normal --methods MDAV oracle --limit 120",
        6,
        drop=("growth",),
    ),
    "packages": Job(
        "builders.py",
        "--n 300 1000 3000 --d 4 --data normal --methods MDAV anonypyx k-means-constrained",
        1,
        packages=("anonypyx", "k_means_constrained"),
        drop=("growth",),
    ),
    "one_column": Job("one_column.py", "", 3, packages=("microagg1d",)),
    "published": Job("published.py", "--builders", 1, drop=("block",)),
    "records": Job(
        "records.py",
        "--seeds 0 --search 30 --prove 10",
        11,
        "--seeds 0 1 2 --search 60 --prove 60",
        62,
    ),
    "front": Job("front.py", "", 1, plot="front.png"),
    "how_long": Job("how_long.py", "", 2, drop=("seconds", "runs", "peak_mb")),
    "mixed": Job("mixed.py", f"--hierarchies {DATA}/adult_hierarchies", 2, plot="mixed.png"),
    "generalized": Job("generalized.py", None, None, f"--hierarchies {DATA}/adult_hierarchies", 2),
    "kaim": Job("kaim.py", f"--hierarchies {DATA}/adult_hierarchies", 6, plot="kaim.png"),
    "beyond_k": Job("beyond_k.py", "", 2),
    "beyond_k_builders": Job("beyond_k.py", "--builders", 2, plot="beyond_k.png"),
    "homogeneity": Job("beyond_k.py", "--homogeneity", 1),
    "constraints": Job("constraints.py", None, None, "--only-business", 2),
    "cuts": Job("scale.py", "--parts cuts", 10),
    "growth": Job("scale.py", "--parts growth --n 100000 1000000 --jobs 1", 4),
    "dask": Job(
        "scale_dask.py",
        "--runs none:8000000 exchange:1000000",
        5,
        "--runs none:20000000 exchange:2000000",
        10,
        packages=("distributed",),
    ),
    "disclosure": Job("disclosure.py", "", 2),
    "series": Job("series.py", None, None, "", 2, plot="series.png"),
    "pipelines": Job("pipelines.py", "", 1),
    "train": Job(
        "train.py",
        None,
        None,
        "--parts honest published diaz --ks 5 10 25 100 --splits 3 --models forest neighbors SVM",
        120,
        plot="train.png",
        packages=("anonypyx",),
        drop=("cpu_seconds", "smallest_group", "seconds"),
    ),
}

# Scripts that no job runs, and why.
NOT_RUN = {
    "limits.py": "no page quotes its figures: it watches time limits and Ctrl-C",
    "many_values.py": "the guide quotes one run, with and without codes: it takes half an hour",
    "refresh.py": "runs the others",
}


def reduce(value, dropped):
    """Return results without what is not kept, numbers with eight significant digits."""
    if isinstance(value, dict):
        return {key: reduce(of, dropped) for key, of in value.items() if key not in dropped}
    if isinstance(value, list):
        return [reduce(of, dropped) for of in value]
    return float(f"{value:.8g}") if isinstance(value, float) else value


def errors(value):
    """Return the reasons of all cells that failed."""
    if isinstance(value, dict):
        own = [value["error"]] if "error" in value else []
        return own + [reason for of in value.values() for reason in errors(of)]
    return [reason for of in value for reason in errors(of)] if isinstance(value, list) else []
