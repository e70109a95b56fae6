"""What is computed for the page, each in a process of its own: see `_workers`."""

import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sk_microagg import TableAggregator
from sk_microagg._bound import Certificate
from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._facts import Fact, method_of
from sk_microagg._cli._in_memory import (
    anonymize_in_memory,
    check_level,
    check_options,
    check_targets,
    group,
    warn_of_columns,
)
from sk_microagg._cli._plan import Plan
from sk_microagg._cli._typed_command import command_line
from sk_microagg._explore._drafts import Drafts
from sk_microagg._explore._measures import (
    about_sensitive,
    columns_before_and_after,
    groups_in_plane,
    risk_of,
    rounded_bound,
    rounded_loss,
)
from sk_microagg._explore._progress import SentProgress
from sk_microagg._explore._settings import parsed
from sk_microagg._explore._words import on_the_page
from sk_microagg._utils._progress import seconds_left
from sk_microagg._utils._shares import fewest_records, rounded_share, share_in_words
from sk_microagg.cli import clean_up_when_ended
from sk_microagg.metrics import anonymity_level, homogeneity

NO_TRACE = np.empty((0, 2))


def preview(send, table, arguments, is_sample):
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
        share, words = risk_of(records, released, estimator)
        k = plan.options.k
        privacy = plan.roles.check(release.labels, plan.choice, k)
        return {
            "k": k,
            "n_records": len(records),
            "is_sample": is_sample,
            "n_groups": int(estimator.n_groups_),
            "smallest_group": int(estimator.group_sizes_.min()),
            "level": int(level),
            "level_of": "together with its stratum" if plan.choice.strata else "",
            "loss": rounded_loss(estimator.information_loss_),
            "expected_matches": share,
            "words": {"expected_matches": words},
            "method": method_of(estimator),
            "warnings": progress.said,
            "columns": columns_before_and_after(plan, estimator, records, released, release),
            "groups": groups_in_plane(released[[c.name for c in plan.known]], k),
            "sensitive": about_sensitive(plan, release),
            "privacy": [line for fact in privacy.values() for line in _lines(fact)],
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
        loss = float(estimator.information_loss_)

        def tick(after, bound):
            words = Certificate(loss, bound, NO_TRACE, estimator.k).verdict()
            figures = {"bound": rounded_bound(bound), "loss": rounded_loss(loss)}
            send({"tick": {"seconds": after, **figures, "words": words}})

        proven = estimator._prove(records, seconds, on_rise=tick)
    return {
        "bound": rounded_bound(proven.bound),
        "loss": rounded_loss(loss),
        "verdict": proven.verdict(),
        "is_sample": is_sample,
    }


def export(send, arguments, folder):
    """Anonymize the file, by the code of the command line; write both files or none.

    Parameters
    ----------
    send : callable
        Takes messages for the page.

    arguments : list of str
        The arguments of `anonymize`.

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
        check_targets(options)  # Again, since a file may have been written in the meantime.
        drafts.publish()
    finally:
        drafts.remove()
    return {
        "facts": [[name, "\n".join(_lines(fact))] for name, fact in facts.items()],
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
    share, words = risk_of(records, released, estimator)
    point = {
        "k": k,
        "loss": rounded_loss(estimator.information_loss_),
        "expected_matches": share,
        "words": {"expected_matches": words},
    }
    if len(plan.roles.sensitive.columns):
        labels = plan.release(released, estimator).labels
        share = homogeneity(labels, plan.roles.sensitive).max()
        point["homogeneity"] = rounded_share(share)
        point["words"]["homogeneity"] = share_in_words(share, len(records), fewest_records(k))
    return point


def _lines(fact):
    """The lines of a fact, as the command line prints them."""
    fact = fact.text if isinstance(fact, Fact) else fact
    return [str(line) for line in (fact if isinstance(fact, list) else [fact])]
