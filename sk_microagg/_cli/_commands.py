"""The commands `anonymize`, `methods` and `demo`."""

import shlex
import sys
import time
from argparse import Namespace

from sk_microagg._choices import BUILDERS, REFINERS
from sk_microagg._utils._formatting import percent, printable
from sk_microagg.files._messages import Option, RequestError

N_ROWS = 6
NEXT = "release.csv -k 5 --drop id --sensitive diagnosis --report report.html"


def anonymize(options: Namespace) -> None:
    """Release a file, and print what was done."""
    # Each command imports only what it needs: `methods` answers at once.
    from sk_microagg._cli._terminal import WARNING, CommandProgress, print_as_json, print_facts
    from sk_microagg._cli._typed_request import TypedRequest
    from sk_microagg.release import release_file

    reader = None
    if "earlier" in options:
        from sk_microagg._cli._risk import read_earlier

        reader = read_earlier
    request = TypedRequest.from_options(options, reader)
    if request.certificate is not None and options.quiet and not request.report:
        text = "{certificate} with {quiet} needs {report}, since it would not be shown otherwise."
        facts = {"certificate": Option("certificate", request.certificate)}
        facts |= {name: Option(name) for name in ("quiet", "report")}
        raise RequestError("needs", text, **facts)
    with CommandProgress(not options.quiet and not options.json, options.json) as progress:
        summary = release_file(request, progress=progress)
    if options.quiet:
        for what in summary.facts.get("interrupted", []):
            print(f"{WARNING}{what}", file=sys.stderr)
        return
    # The table is alone on standard output.
    file = sys.stderr if request.output == "-" else sys.stdout
    if options.json:
        print_as_json(summary, file)
    else:
        print_facts(summary.facts, file)


def methods(options: Namespace) -> None:
    """Print the name and a summary of each builder and refiner."""
    for title, known in (("builders", BUILDERS), ("refiners", REFINERS)):
        print(f"{title} (--{title[:-1]})")
        for name, summary in known.items():
            print(f"  {name:<23}{summary}")


def demo(options: Namespace) -> None:
    """Anonymize a table and print what was done, or write a table to try the commands on."""
    if options.write is None:
        _release_visits()
    else:
        _write_visits(options.write, force=options.force)


def _write_visits(path: str, *, force: bool) -> None:
    """Write the made-up table of the documentation, and print what to do with it."""
    from sk_microagg._utils._csv import visits_csv
    from sk_microagg._utils._writing import released_file
    from sk_microagg.files._format import check_target

    if not path.lower().endswith(".csv"):
        text = "{option}: the name of the file must end in .csv."
        raise RequestError("no_csv", text, option=Option("write", path))
    check_target(path, [], overwrite=force)
    with released_file(path) as draft:
        draft.write_bytes(visits_csv())
    print(f"written  {printable(path)}, with 300 made-up patients")
    print("\nAnonymize what an intruder may know (age, sex, town, income), and write a report:\n")
    print(f"    sk-microagg anonymize {printable(shlex.quote(path))} {NEXT}")


def _release_visits(k: int = 5) -> None:
    """Release the made-up patients of the documentation, and print what was done and is next."""
    from sk_microagg import TableAggregator
    from sk_microagg.datasets import load_visits
    from sk_microagg.metrics import anonymity_level

    visits = load_visits()
    aggregator = TableAggregator(k=k, drop="id", sensitive="diagnosis")
    start = time.perf_counter()
    release = aggregator.fit_transform(visits)
    seconds = time.perf_counter() - start

    print(
        f"A hospital's table of {len(visits)} made-up patients, each of them unique. The first:\n"
    )
    print(visits.head(N_ROWS).to_string(index=False))
    print(f"\nA release with k = {k}, without names, and with diagnoses as they are:\n")
    print(release.head(N_ROWS).to_string(index=False))
    print(f"\ngroups            {aggregator.n_groups_}")
    print(f"smallest group    {aggregator.group_sizes_.min()}")
    level = anonymity_level(release.drop(columns="diagnosis"))
    print(f"anonymity level   {level}  (every combination but the diagnosis occurs this often)")
    print(f"information loss  {percent(aggregator.information_loss_)}")
    print(f"seconds           {seconds:.3f}")
    print("\nDo the same with a file, and write a report; then take a table of your own:\n")
    print("    sk-microagg demo --write visits.csv")
    print(f"    sk-microagg anonymize visits.csv {NEXT}")
