"""The command `demo`."""

import time

from sklearn.datasets import load_diabetes

from sk_microagg import MicroAggregator
from sk_microagg._utils._numbers import percent
from sk_microagg.metrics import anonymity_level

N_ROWS = 6


def run(options, k=5):
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
    print(f"anonymity level   {anonymity_level(release)}  (every row occurs at least this often)")
    print(f"information loss  {percent(aggregator.information_loss_)}")
    print(f"seconds           {seconds:.3f}")
    for title, table in (("before", patients.data), ("after", release)):
        print(f"\nFirst rows {title}")
        _print_table(patients.feature_names, table[:N_ROWS])


def _print_table(names, rows):
    print("".join(f"{name:>9}" for name in names))
    for row in rows:
        print("".join(f"{value:9.2f}" for value in row))
