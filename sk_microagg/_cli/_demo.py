"""The command `demo`."""

import shlex
import time

from sklearn.datasets import load_diabetes

from sk_microagg import MicroAggregator
from sk_microagg._utils._formatting import decimals_of, percent, printable
from sk_microagg._utils._writing import released_file
from sk_microagg.datasets._visits import visits_csv
from sk_microagg.files._errors import CommandError
from sk_microagg.files._format import check_target
from sk_microagg.metrics import anonymity_level

N_ROWS = 6
NEXT = "release.csv -k 5 --drop id --sensitive diagnosis --report report.html"


def run(options):
    """Anonymize a table and print what was done, or write a table to try the commands on."""
    if options.write is None:
        _anonymize_patients()
    else:
        _write_visits(options.write, force=options.force)


def _write_visits(path, *, force):
    """Write the made-up table of the documentation, and print what to do with it."""
    if not path.lower().endswith(".csv"):
        raise CommandError(f"--write {path}: the name of the file must end in .csv.")
    check_target(path, [], force=force)
    with released_file(path) as draft:
        draft.write_bytes(visits_csv())
    print(f"written  {printable(path)}, with 300 made-up patients")
    print("\nAnonymize what an intruder may know (age, sex, town, income), and write a report:\n")
    print(f"    sk-microagg anonymize {printable(shlex.quote(path))} {NEXT}")


def _anonymize_patients(k=5):
    """Anonymize the diabetes patients of scikit-learn and print what was done."""
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
    level = anonymity_level(release)
    print(f"anonymity level   {level}  (every combination of values occurs at least this often)")
    print(f"information loss  {percent(aggregator.information_loss_)}")
    print(f"seconds           {seconds:.3f}")
    decimals = [decimals_of(column) for column in patients.data.T]
    for title, table in (("before", patients.data), ("after", release)):
        print(f"\nFirst rows {title}")
        _print_table(patients.feature_names, table[:N_ROWS], decimals)


def _print_table(names, rows, decimals):
    print("".join(f"{name:>9}" for name in names))
    for row in rows:
        cells = zip(row, decimals, strict=True)
        print("".join(f"{value:9.{digits}f}" for value, digits in cells))
