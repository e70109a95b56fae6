"""What is computed for the page, each in a process of its own: see `_workers`."""

import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sk_microagg import TableAggregator
from sk_microagg._bound import Certificate
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._in_memory import (
    anonymize_in_memory,
    check_level,
    check_options,
    check_targets,
    group,
    warn_of_columns,
)
from sk_microagg._cli._plan import Plan
from sk_microagg._cli._privacy import warn_of_large_units
from sk_microagg._cli._typed_command import command_line
from sk_microagg._cli._unchanged import of_plan
from sk_microagg._explore._drafts import Drafts
from sk_microagg._explore._measures import (
    about_sensitive,
    columns_before_and_after,
    demands_met,
    groups_in_plane,
    lines_of,
    risk_of,
    rounded_bound,
    rounded_loss,
    rounded_unit_share,
)
from sk_microagg._explore._progress import SentProgress
from sk_microagg._explore._settings import parsed
from sk_microagg._explore._state import state_of
from sk_microagg._explore._words import on_the_page
from sk_microagg._utils._formatting import (
    fewest_records,
    is_share_large,
    rounded_share,
    share_in_words,
)
from sk_microagg._utils._progress import seconds_left
from sk_microagg.cli import clean_up_when_ended
from sk_microagg.metrics import anonymity_level
from sk_microagg.metrics._groups import homogeneity_of_both

NO_TRACE = np.empty((0, 2))


def preview(send, table, arguments, is_sample, hidden):
    """Group the records of a table, and measure what a release would be; write nothing.

    Parameters
    ----------
    send : callable
        Takes messages for the page.

    table : Table
        The table, or a sample of it.

    arguments : list of str
        The arguments of `anonymize`.

    is_sample : bool
        Whether it is a sample.

    hidden : list of str
        Names of columns whose categories are not shown.

    Returns
    -------
    result : dict
        What the page expects.
    """
    with SentProgress(send) as progress, _about_sample(table, is_sample):
        plan = Plan.of(table, parsed(arguments))
        estimator, records, released = _grouped(plan, progress, warns=True)
        release = plan.release(released, estimator)
        level = anonymity_level(release.classes)
        check_level(level, plan.options.k)
        progress.show("measuring risk and loss")
        share, words = risk_of(records, released, estimator, plan.roles.units())
        k = plan.options.k
        privacy = plan.roles.check(release.labels, plan.choice, k)
        of_one = plan.roles.share(release.labels)
        if of_one is not None and is_share_large(of_one, k):
            of_one, least = rounded_unit_share(of_one), plan.roles.least_share()
            warn_of_large_units(plan.choice, of_one, k, progress, least)
        singled_out = of_plan(plan, release, progress)
        return {
            "k": k,
            "n_records": len(records),
            "is_sample": is_sample,
            "n_groups": int(estimator.n_groups_),
            "smallest_group": int(estimator.group_sizes_.min()),
            "level": int(level),
            "level_of": "together with its stratum" if plan.choice.strata else "",
            "loss": rounded_loss(estimator.information_loss_, len(records)),
            "expected_matches": share,
            "words": {"expected_matches": words},
            "warnings": progress.said,
            "columns": columns_before_and_after(
                plan, estimator, records, released, release, hidden
            ),
            "groups": groups_in_plane(released[[c.name for c in plan.known]], k),
            "sensitive": about_sensitive(plan, release),
            "privacy": demands_met(privacy),
            "singled_out": [line for fact in singled_out.values() for line in lines_of(fact)],
            "assumed_unknown": list(plan.choice.sensitive),
        }


def curve(send, table, arguments, ks):
    """Measure loss and risk for several values of k, each of which is sent as soon as it is known.

    Parameters
    ----------
    send, table, arguments
        As in `preview`.

    ks : list of int
        The values of k.

    Returns
    -------
    result : dict
        All points.
    """
    start, points = time.monotonic(), []
    for number, k in enumerate(ks, start=1):
        points.append(_point(table, [*arguments, "-k", str(k)], k))
        share = number / len(ks)
        left = seconds_left(time.monotonic() - start, share)
        send({"point": points[-1], "share": share, "seconds_left": left})
    return {"points": points}


def certificate(send, table, arguments, is_sample, seconds):
    """Prove how far the groups are from the optimum, and send each bound as soon as it is proven.

    Parameters
    ----------
    send, table, arguments, is_sample
        As in `preview`.

    seconds : float
        Seconds that the proof may take.

    Returns
    -------
    result : dict
        What was proven.
    """
    with SentProgress(send) as progress, _about_sample(table, is_sample):
        plan = Plan.of(table, parsed(arguments))
        estimator, records, _ = _grouped(plan, progress)
        if not isinstance(estimator, TableAggregator):
            raise CommandError("A bound is proven for groups that are released as averages.")
        loss, n_records = float(estimator.information_loss_), len(records)

        def figures(bound):
            return {
                "bound": rounded_bound(bound, n_records),
                "loss": rounded_loss(loss, n_records),
            }

        def tick(after, bound):
            words = Certificate(loss, bound, NO_TRACE, estimator.k).verdict()
            send({"tick": {"seconds": after, **figures(bound), "words": words}})

        proven = estimator._prove(records, seconds, on_rise=tick)
    return {**figures(proven.bound), "verdict": proven.verdict(), "is_sample": is_sample}


def export(send, arguments, read_state, folder):
    """Anonymize the file, by the code of the command line; write both files or none.

    Parameters
    ----------
    send : callable
        Takes messages for the page.

    arguments : list of str
        The arguments of `anonymize`.

    read_state : tuple
        The state of the file that the page shows, see `state_of`.

    folder : str
        A new folder for drafts next to the table. It does not stay.

    Returns
    -------
    result : dict
        What was done.
    """
    clean_up_when_ended()
    options = parsed(arguments)
    check_options(options)
    drafts = Drafts(arguments, folder)
    try:
        with SentProgress(lambda message: send(drafts.hidden(message))) as progress:
            facts = anonymize_in_memory(parsed(drafts.arguments), progress)
        # What was read may not be what the page shows, and a file may have been written meanwhile.
        if state_of(options.input) != read_state:
            raise CommandError(
                f"{options.input} has changed since the page read it: no file was written. Read it "
                "again."
            )
        check_targets(options)
        drafts.publish()
    finally:
        drafts.remove()
    return {
        "facts": [[name, "\n".join(lines_of(fact))] for name, fact in facts.items()],
        "warnings": progress.said,
        "release": Path(options.output).name,
        "report": options.report and Path(options.report).name,
        "command": command_line(arguments),
    }


@contextmanager
def _about_sample(table, is_sample):
    """Say that something is not possible for a sample: it may be for the whole table."""
    try:
        yield
    except CommandError as error:
        if not is_sample:
            raise
        n_rows = table.cells.num_rows
        raise CommandError(
            f"In the sample of {n_rows:,} rows that previews use: {on_the_page(error)}"
        ) from error


def _grouped(plan, progress, *, warns=False):
    """The fitted estimator, the records, and what it made of them."""
    estimator = plan.make_estimator(verbose=1)
    if warns:
        warn_of_columns(plan, progress)
    records = plan.records()
    released, _ = group(estimator, records, progress)
    return estimator, records, released


def _point(table, arguments, k):
    """Loss and risk for one value of k, or why it is not possible."""
    try:
        plan = Plan.of(table, parsed(arguments))
        with SentProgress(lambda message: None) as silent:
            estimator, records, released = _grouped(plan, silent)
    except CommandError as error:
        return {"k": k, "error": on_the_page(error)}
    share, words = risk_of(records, released, estimator, plan.roles.units())
    point = {
        "k": k,
        "loss": rounded_loss(estimator.information_loss_, len(records)),
        "expected_matches": share,
        "words": {"expected_matches": words},
    }
    if len(plan.roles.sensitive.columns):
        labels = plan.release(released, estimator).labels
        share = homogeneity_of_both(labels, plan.roles.sensitive).max()
        point["homogeneity"] = rounded_share(share)
        point["words"]["homogeneity"] = share_in_words(share, len(records), fewest_records(k))
    return point
