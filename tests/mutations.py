"""Would tests notice? Change one line of the package at a time, and run the tests that mirror it.

python tests/mutations.py             all changes, about an hour on one core
python tests/mutations.py MDAV Pool   those whose names contain one of these words
python tests/mutations.py --list      their names

Nothing changes here: the tree is copied into a temporary folder and installed there. That needs the
build tools in this environment, as an editable install does. A line is found by its text, wherever
it has moved to; where it is gone, or occurs twice, an error says so.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "sk_microagg"
SUFFIXES = {".py", ".pyx", ".pxd", ".pxi", ".h"}
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "build", "_build", "__pycache__", ".*_cache")
# Far more than the tests of any change take: some changes let a search run forever.
MOST_SECONDS = 900


class Mutation(NamedTuple):
    """A line of the package, what it becomes, what that weakens, and which tests should notice."""

    name: str
    old: str
    new: str
    weakens: str
    tests: str


MUTATIONS = [
    # Kernels
    Mutation(
        "DistinctGuard accepts a value too few",
        "return n_distinct >= self.least",
        "return n_distinct >= self.least - 1",
        "constraint",
        "kernels/test_guards.py kernels/test_guarded_searches.py",
    ),
    Mutation(
        "EntropyGuard is lax by a percent",
        "self.least = log(least) - ROUNDING_OF_ENTROPIES",
        "self.least = log(least) - 0.01",
        "constraint",
        "kernels/test_guards.py kernels/test_guarded_searches.py",
    ),
    Mutation(
        "RecursiveGuard counts a value more as rare",
        "for i in range(n_codes - self.l + 1):",
        "for i in range(n_codes - self.l + 2):",
        "constraint",
        "kernels/test_guards.py kernels/test_guarded_searches.py",
    ),
    Mutation(
        "OrderedGuard divides by one code too many",
        "<double>size * self.n_in_table * (self.n_codes - 1)",
        "<double>size * self.n_in_table * self.n_codes",
        "constraint",
        "kernels/test_guards.py kernels/test_guarded_searches.py",
    ),
    Mutation(
        "TreeGuard divides by a tree that is too high",
        "total, <double>self.height * size * self.n_in_table, self.most",
        "total, <double>(self.height + 1) * size * self.n_in_table, self.most",
        "constraint",
        "privacy/test_constraints.py",
    ),
    Mutation(
        "optimal_runs allows runs of k - 1",
        "high = min(high, end - self.k)",
        "high = min(high, end - self.k + 1)",
        "k",
        "kernels/test_optimal_runs.py builders/test_one_column.py",
    ),
    Mutation(
        "optimal_runs misses the longest runs",
        "low = max(low, end - 2 * self.k + 1, 0)",
        "low = max(low, end - 2 * self.k + 2, 0)",
        "",
        "kernels/test_optimal_runs.py builders/test_one_column.py",
    ),
    Mutation(
        "Descent takes records from groups of k",
        "if size_a <= self.partition.k or size_b >= self.full:",
        "if size_a < self.partition.k or size_b >= self.full:",
        "k",
        "kernels/test_descent.py kernels/test_guarded_searches.py refiners/test_refiners.py",
    ),
    Mutation(
        "Exchange lets groups grow to 2k",
        "self.partition.members[group].size() < 2 * self.partition.k - 1",
        "self.partition.members[group].size() < 2 * self.partition.k",
        "",
        "kernels/test_exchange_graph.py refiners/test_exchange.py",
    ),
    Mutation(
        "Annealing takes records from groups of k",
        "or self.partition.size[source] <= k",
        "or self.partition.size[source] < k",
        "k",
        "kernels/test_annealing.py refiners/test_annealing.py",
    ),
    Mutation(
        "RangeDescent takes records from groups of k",
        "self.partition.members[own].size() > self.partition.k",
        "self.partition.members[own].size() >= self.partition.k",
        "k",
        "kernels/test_ranges.py generalization/test_greedy.py",
    ),
    Mutation(
        "Pool adds records that leave to its centroid",
        "self._add(j, -self.X[record, j])",
        "self._add(j, self.X[record, j])",
        "",
        "kernels/test_pool.py",
    ),
    Mutation(
        "a total of costs keeps the rounding of larger ones",
        "cdef double SHARE_TO_SUM_ANEW = 1e-3",
        "cdef double SHARE_TO_SUM_ANEW = 1e-30",
        "",
        "kernels/test_partition.py kernels/test_ranges.py",
    ),
    Mutation(
        "a lowest common node is one too high",
        "while column.last[node] < hi:",
        "while column.last[node] <= hi:",
        "",
        "kernels/test_ranges.py",
    ),
    # Builders
    Mutation(
        "MDAV stops a pair early",
        'least = 2 * k if self.ending == "fixed" else 3 * k',
        'least = 2 * k + 1 if self.ending == "fixed" else 3 * k',
        "",
        "builders/test_builders.py",
    ),
    Mutation(
        "MDAV leaves the last k records to other groups",
        "if pool.size >= least - k:",
        "if pool.size > least - k:",
        "",
        "builders/test_builders.py",
    ),
    Mutation(
        "groups that follow their centroid take it for nearer to the origin",
        "self.point[place] = self.sums[place] / n_members",
        "self.point[place] = self.sums[place] / k",
        "",
        "builders/test_builders.py",
    ),
    Mutation(
        "k-anonymity first replaces the wrong member",
        "replaced = shortfalls[place].argmin()",
        "replaced = shortfalls[place].argmax()",
        "",
        "builders/test_builders_under_constraints.py",
    ),
    Mutation(
        "t-closeness first has too few strata",
        "ceil(n / (2 * (n - 1) * t + 1))",
        "ceil(n / (2 * (n - 1) * t + 2))",
        "",
        "builders/test_builders_under_constraints.py",
    ),
    Mutation(
        "groups that violate a constraint least are merged first",
        "(-shortfalls[group], sizes[group], group) for group in",
        "(shortfalls[group], sizes[group], group) for group in",
        "",
        "builders/test_builders_under_constraints.py",
    ),
    Mutation(
        "groups that violate a constraint after merging stay",
        "heappush(queue, (-shortfall, partition.size(merged), merged))",
        "pass",
        "constraint",
        "builders/test_builders_under_constraints.py",
    ),
    # Refiners
    Mutation(
        "large groups are split into parts below k",
        "part = np.minimum((np.arange(len(rows)) - starts[number]) // k, sizes[number] // k - 1)",
        "part = (np.arange(len(rows)) - starts[number]) // k",
        "k",
        "refiners/test_refiners.py refiners/test_exchange.py",
    ),
    Mutation(
        "large groups are split against constraints",
        "if not rules or rules.subset(members).are_met(parts).all():",
        "if not rules or rules.subset(members).are_met(parts).any():",
        "constraint",
        "refiners/test_rules.py refiners/test_refiners.py",
    ),
    Mutation(
        "decomposition keeps what does not help",
        "if not before - partition.sse > min_gain:",
        "if not before - partition.sse > -min_gain:",
        "",
        "refiners/test_refiners.py refiners/test_exchange.py",
    ),
    # Constraints
    Mutation(
        "one person too few in a group is accepted",
        "return figure >= bound * (1 - self._rounding)",
        "return figure >= bound * (1 - self._rounding) - 1",
        "k",
        "privacy/test_constraints.py privacy/test_rules.py",
    ),
    Mutation(
        "recursive diversity counts a value more as rare",
        "np.where(groups.ranks() >= l - 1, counts, 0)",
        "np.where(groups.ranks() >= l - 2, counts, 0)",
        "constraint",
        "privacy/test_constraints.py",
    ),
    Mutation(
        "recursive diversity accepts the limit itself",
        "return figure < self.c",
        "return figure <= self.c",
        "constraint",
        "privacy/test_constraints.py",
    ),
    Mutation(
        "t-closeness, and how much of a group is one person's, are lax by a percent",
        "return figure <= bound * (1 + self._rounding)",
        "return figure <= bound * (1.01 + self._rounding)",
        "constraint",
        "privacy/test_constraints.py privacy/test_rules.py",
    ),
    Mutation(
        "one person may have a little more of a group",
        "np.maximum.reduceat(groups.counts, groups.starts) / groups.sizes",
        "np.maximum.reduceat(groups.counts, groups.starts) / (groups.sizes + 1)",
        "constraint",
        "privacy/test_constraints.py privacy/test_rules.py attacks/test_people_with_many_rows.py",
    ),
    Mutation(
        "a stratum may have k - 1 records",
        "[size < k for size in sizes]",
        "[size < k - 1 for size in sizes]",
        "k",
        "test_strata.py",
    ),
    Mutation(
        "labels of others may have groups of k - 1",
        "if sizes.min() < k:",
        "if sizes.min() < k - 1:",
        "k",
        "refiners/test_refiners.py test_errors.py test_blocks.py",
    ),
    # Encoders
    Mutation(
        "categories of k - 1 people have a coordinate",
        "order = order[survey.n_people()[order] >= k]",
        "order = order[survey.n_people()[order] >= k - 1]",
        "secrecy",
        "tables/test_points.py",
    ),
    Mutation(
        "categories of k - 1 people are released",
        "is_shared = np.append(people_in_table >= k, True)",
        "is_shared = np.append(people_in_table >= k - 1, True)",
        "secrecy",
        "tables/test_released.py tables/test_generated_tables.py",
    ),
    Mutation(
        "types list categories of k - 1 people",
        "listed = (people >= self._k) | ((people == 0) & self._like.dtype.ordered)",
        "listed = (people >= self._k - 1) | ((people == 0) & self._like.dtype.ordered)",
        "secrecy",
        "tables/test_released.py tables/test_frames.py attacks/test_left_in_types.py",
    ),
    Mutation(
        "ordinal values of k - 1 people are known",
        "may_be_known = (counts == 0) | (counts >= k) | self._is_given",
        "may_be_known = (counts == 0) | (counts >= k - 1) | self._is_given",
        "secrecy",
        "tables/test_points.py tables/test_released.py",
    ),
    Mutation(
        "averages have a decimal too many",
        "return averages if decimals is None else np.round(averages, decimals) + 0.0",
        "return averages if decimals is None else np.round(averages, decimals + 1) + 0.0",
        "",
        "tables/test_released.py",
    ),
    # What a model and a release tell
    Mutation(
        "cuts between blocks are next to k - 1 records",
        "ranks = [n_left - k, n_left + k - 1]",
        "ranks = [n_left - k + 1, n_left + k - 2]",
        "secrecy",
        "model/test_cuts.py model/test_router.py",
    ),
    Mutation(
        "moments of columns with missing values are exact",
        "return float(np.round(center / grid) * grid), scale",
        "return center, scale",
        "secrecy",
        "test_missing_values.py attacks/test_sums.py",
    ),
    Mutation(
        "values that one of several people has are averages",
        "has_several = n_people(labels, n_groups, units) > 1",
        "has_several = n_people(labels, n_groups, units) > 2",
        "secrecy",
        "test_missing_values.py attacks/test_sums.py",
    ),
    Mutation(
        "shares are rounded down",
        "return ceil(10**decimals * number - ROUNDING_OF_BOUNDS) / 10**decimals",
        "return ceil(10**decimals * number - 1) / 10**decimals",
        "",
        "utils/test_numbers.py utils/test_shown.py report/test_shares_in_a_report.py",
    ),
]


def find(old, root=ROOT):
    """The only file of the package that has a text, once."""
    files = [path for path in sorted((root / PACKAGE).rglob("*")) if path.suffix in SUFFIXES]
    found = {path: n for path in files if (n := path.read_text(encoding="utf-8").count(old))}
    if sum(found.values()) != 1:
        places = ", ".join(str(path.relative_to(root)) for path in found) or "no file"
        raise ValueError(
            f"{old!r} must occur once, but occurs {sum(found.values())} times, in {places}: "
            f"tests/mutations.py has to follow the package."
        )
    return next(iter(found))


class Copy:
    """A copy of the tree, installed in an environment that sees the packages of this one."""

    def __init__(self, folder):
        self.tree, environment = folder / "tree", folder / "environment"
        shutil.copytree(ROOT, self.tree, ignore=NOT_COPIED)
        venv.create(environment, symlinks=True)
        names = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        self.python = environment.joinpath(*names)
        ask = "import sysconfig; print(sysconfig.get_path('platlib'))"
        self.installed = Path(self._run("-c", ask).stdout.strip())
        others = [
            path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")
        ]
        (self.installed / "others.pth").write_text("\n".join(others), encoding="utf-8")
        (self.tree / "build").mkdir()
        self.install()
        self.is_built = True

    def _run(self, *arguments, **options):
        return subprocess.run(
            [self.python, "-P", *arguments],
            capture_output=True,
            text=True,
            cwd=self.tree,
            **options,
        )

    def install(self):
        """Build what has changed, and install everything."""
        done = self._run(
            *("-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"),
            *("--force-reinstall", "-Cbuild-dir=build", "."),
        )
        if done.returncode:
            raise RuntimeError(f"the copy cannot be built:\n{done.stdout}{done.stderr}")

    def change(self, path, text):
        """Write a file of the package; Python code also where it is installed."""
        path.write_text(text, encoding="utf-8")
        if path.suffix == ".py":
            (self.installed / path.relative_to(self.tree)).write_text(text, encoding="utf-8")
        else:
            self.is_built = False

    def build(self):
        """Install what was changed since, also what was changed back."""
        if not self.is_built:
            self.install()
            self.is_built = True

    def first_failure(self, tests):
        """The test that fails first; None if all of them pass."""
        # Not all by one command: most changes are noticed by the first file.
        for test in tests.split():
            try:
                done = self._run(
                    *("-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", "-rfE"),
                    *("-W", "ignore::pytest.PytestUnknownMarkWarning", f"tests/{test}"),
                    timeout=MOST_SECONDS,
                )
            except subprocess.TimeoutExpired:
                return f"{test}: no end"
            failed = re.search(
                r"^(?:FAILED|ERROR) (?:tests/)?(\S+::\S+)", done.stdout, re.MULTILINE
            )
            if failed:
                return failed[1]
            if done.returncode < 0:
                return f"{test}: signal {-done.returncode}"
            if done.returncode:  # Nothing was noticed where tests cannot even be collected.
                raise RuntimeError(f"pytest cannot run {test}:\n{done.stdout}{done.stderr}")
        return None


def run(mutations, report=print):
    """Try mutations; return the test that noticed each of them by name, None for a survivor."""
    noticed = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for mutation in mutations:
            path = find(mutation.old, copy.tree)
            text = path.read_text(encoding="utf-8")
            copy.change(path, text.replace(mutation.old, mutation.new))
            copy.build()
            noticed[mutation.name] = copy.first_failure(mutation.tests)
            copy.change(path, text)
            by = noticed[mutation.name] or "SURVIVES"
            place = path.relative_to(copy.tree / PACKAGE)
            report(f"{mutation.name} | {place} | {mutation.weakens or '-'} | {by}")
    return noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="parts of names; all changes without any")
    parser.add_argument("--list", action="store_true", help="only show the names")
    options = parser.parse_args()
    mutations = [
        mutation
        for mutation in MUTATIONS
        if not options.words or any(word in mutation.name for word in options.words)
    ]
    if options.list:
        print(*(mutation.name for mutation in mutations), sep="\n")
        return
    noticed = run(mutations, lambda line: print(line, flush=True))
    survivors = [name for name, by in noticed.items() if by is None]
    print(f"{len(noticed) - len(survivors)} of {len(noticed)} are noticed.")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
