"""The command `sk-microagg`."""

import argparse
import time

from sklearn.datasets import load_diabetes

from sk_microagg import MicroAggregator, __version__
from sk_microagg.metrics import anonymity_level


def main(arguments=None):
    """Run the command line.

    Parameters
    ----------
    arguments : list of str, default=None
        The arguments, without the name of the command; by default those of the process.

    Returns
    -------
    exit_code : int
        0 on success. Wrong usage exits with 2.

    Examples
    --------
    >>> from sk_microagg.cli import main
    >>> main(["demo"])  # doctest: +ELLIPSIS
    The diabetes table of scikit-learn: 442 patients, 10 columns, k = 5
    ...
    smallest group    5
    ...
    0
    """
    parser = argparse.ArgumentParser(
        prog="sk-microagg", description="Make tables k-anonymous with little information loss."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    demo_parser = commands.add_parser(
        "demo", help="anonymise a table that ships with scikit-learn and show what was done"
    )
    demo_parser.set_defaults(run=demo)
    options = parser.parse_args(arguments)
    options.run()
    return 0


def demo(k=5, n_rows=6):
    """Anonymise the diabetes patients of scikit-learn and print what was done."""
    patients = load_diabetes(scaled=False)
    aggregator = MicroAggregator(k=k)
    start = time.perf_counter()
    release = aggregator.fit_transform(patients.data)
    seconds = time.perf_counter() - start

    n_records, n_columns = patients.data.shape
    print(f"The diabetes table of scikit-learn: {n_records} patients, {n_columns} columns, k = {k}")
    print()
    print(f"groups            {aggregator.n_groups_}")
    print(f"smallest group    {aggregator.group_sizes_.min()}")
    print(f"anonymity level   {anonymity_level(release)}  (the rarest row occurs so often)")
    print(f"information loss  {aggregator.information_loss_:.1%}")
    print(f"seconds           {seconds:.3f}")
    for title, table in (("before", patients.data), ("after", release)):
        print(f"\nFirst rows {title}")
        _print_table(patients.feature_names, table[:n_rows])


def _print_table(names, rows):
    print("".join(f"{name:>9}" for name in names))
    for row in rows:
        print("".join(f"{value:9.2f}" for value in row))
