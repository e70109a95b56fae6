"""Anonymize a table that fits into memory."""

from pathlib import Path

import numpy as np
import pandas as pd

from sk_microagg._certificate import certify
from sk_microagg._cli._errors import CommandError, bad_input_as_command_error, one_line, reason
from sk_microagg._cli._estimators import (
    check_method,
    check_refiner_keeps_constraints,
)
from sk_microagg._cli._facts import facts_of
from sk_microagg._cli._format import Format
from sk_microagg._cli._identifiers import (
    identifiers,
    several_rows,
    warn_of_identifiers,
    warn_of_several_rows,
)
from sk_microagg._cli._mistyped import hint_at_codes
from sk_microagg._cli._paths import (
    check_exists,
    check_report_name,
    check_target,
    file_of_input,
    is_standard,
    name_of_input,
    suffix_of,
    suffix_of_input,
)
from sk_microagg._cli._plan import Plan
from sk_microagg._cli._privacy import (
    check_privacy_options,
    warn_of_large_units,
    warnings_as_lines,
)
from sk_microagg._cli._released import describe
from sk_microagg._cli._shuffle import shuffled
from sk_microagg._cli._tables import read_table, write_table
from sk_microagg._cli._typed_command import typed_command
from sk_microagg._cli._unchanged import of_plan, warn_of_determined
from sk_microagg._utils._deadline import interruptible, is_interrupted, shared_interrupt
from sk_microagg._utils._tables import check_report_extra
from sk_microagg.generalization._grid import ends_of_intervals
from sk_microagg.generalization._labels import ROOT
from sk_microagg.metrics import anonymity_level
from sk_microagg.metrics._groups import homogeneity_of_both

SEARCH_INTERRUPTED = "Ctrl-C ended the search early: the groups are the best found by then"
PROOF_INTERRUPTED = "Ctrl-C ended the proof early: the certificate is what was proven by then"


def anonymize_in_memory(options, progress):
    """Read, group, check and write.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the user.

    progress : CommandProgress
        Where to show the current step.

    Returns
    -------
    facts : dict
        What was done, to print.
    """
    check_options(options)
    format = Format.of(options)
    make_report = _import_report() if options.report else None

    progress.show(f"reading {name_of_input(options.input)}")
    plan = Plan.of(read_table(options.input, format), options)
    choice, roles = plan.choice, plan.roles
    estimator = plan.make_estimator(verbose=int(progress.is_shown))
    warn_of_columns(plan, progress)
    hint_at_codes(plan.columns, plan.declared, progress, is_typed=not plan.table.is_text)
    unchanged = plan.unchanged

    records = plan.records()
    released, interrupted = group(estimator, records, progress)
    release = plan.release(released, estimator)

    progress.show("checking the release")
    level = anonymity_level(release.classes)
    check_level(level, options.k)
    homogeneous = homogeneity_of_both(release.classes, unchanged) if choice.unchanged else []
    privacy = roles.check(release.labels, choice, options.k)
    share = roles.share(release.labels)
    warn_of_large_units(choice, share, options.k, progress, roles.least_share())
    singled_out = of_plan(plan, release, progress)

    progress.show(f"writing {options.output}")
    check_targets(options)  # Again, since a file may have been written in the meantime.
    cells = shuffled(release.cells) if options.shuffle else release.cells
    write_table(cells, options.output, format, plan.table.style, file_of_input(options.input))
    certificate, is_complete = _prove(estimator, records, options, progress)
    interrupted += [] if is_complete else [PROOF_INTERRUPTED]
    if make_report is not None:
        progress.show(f"writing {options.report}")
        about = {"unchanged": unchanged, "dropped": choice.dropped, **roles.of_report()}
        about["target"] = plan.target()
        about["kinds"] = {column.name: column.kind for column in plan.known}
        pair = [with_dates(frame, plan.known) for frame in (records, released)]
        _write_report(make_report, pair, estimator, plan.options, certificate, about)
    return facts_of(
        estimator,
        choice,
        len(records),
        estimator.group_sizes_.min(),
        level,
        homogeneous,
        singled_out=singled_out,
        columns=[describe(c, release.by_column.get(c.name), estimator) for c in plan.columns],
        privacy=privacy,
        certificate=certificate,
        interrupted=interrupted,
    )


def warn_of_columns(plan, progress):
    """Warn of columns that may identify people, and of people with several rows."""
    warn_of_identifiers(identifiers(plan.table, plan.choice.unchanged), progress)
    # A group never mixes strata, so that they give nothing away.
    others = plan.unchanged.drop(columns=list(plan.choice.strata))
    values = plan.records()[[column.name for column in plan.known]]
    warn_of_determined(values, others, progress, plan.roles.units())
    if plan.choice.unit is None:
        lines = several_rows(plan.table, plan.choice.dropped)
        warn_of_several_rows(lines, plan.options.method != "kaim", progress)


def group(estimator, records, progress):
    """Group the records; return the release, and what was interrupted."""
    progress.show(f"grouping {len(records)} records")
    with (
        bad_input_as_command_error(),
        warnings_as_lines(progress),
        progress.of_search(),
        shared_interrupt(),
    ):
        released = estimator.fit_transform(records)
        interrupted = [SEARCH_INTERRUPTED] if is_interrupted() else []
    if isinstance(released, np.ndarray):
        released = pd.DataFrame(released, columns=records.columns)
    return released, interrupted


def check_level(level, k):
    """Raise if a release is not k-anonymous."""
    if level < k:
        raise CommandError(
            f"A row of the release occurs {level} times, fewer than k={k}: nothing was written. "
            "Please report this."
        )


def _prove(estimator, records, options, progress):
    """Prove a bound on the optimum; return it, and whether that took as long as it was to take."""
    if options.certificate is None:
        return None, True
    progress.show(f"proving for {options.certificate:g} seconds how close the optimum is")
    with progress.of_search(), interruptible():
        verbose = int(progress.is_shown)
        certificate = certify(estimator, records, options.certificate, verbose=verbose)
        return certificate, not is_interrupted()


def check_options(options):
    """Raise an error for all that can be known before reading."""
    check_exists(options.input)
    suffix_of_input(options.input)
    check_targets(options)
    _check_certificate(options)
    if options.target is not None and not options.report:
        raise CommandError("--target needs --report, since it would not be shown otherwise.")
    check_method(options)
    check_privacy_options(options)
    check_refiner_keeps_constraints(options)


def check_targets(options):
    """Raise unless the files of a command may be written."""
    suffix_of(options.output)
    check_target(options.output, [options.input], force=options.force)
    if options.report:
        if is_standard(options.report):
            raise CommandError("--report - must be a file.")
        if options.categories == "shares":
            raise CommandError(
                "--report compares column by column: use --categories mode or generalize, or leave "
                "one of them out."
            )
        others = [options.input, options.output]
        check_target(options.report, others, force=options.force)
        check_report_name(options.report)


def _check_certificate(options):
    if options.certificate is not None and options.quiet and not options.report:
        raise CommandError(
            f"--certificate {options.certificate:g} with --quiet needs --report, since it would "
            "not be shown otherwise."
        )


def _import_report():
    try:
        check_report_extra()
        from sk_microagg.report import make_report
    except ImportError as error:
        raise CommandError(f"--report: {one_line(error)}") from error
    return make_report


def with_dates(table, columns):
    """A table in which dates are dates, and not numbers, for a report to show."""
    table = table.copy()
    for column in columns:
        if column.kind == "date":
            low, high = map(column.notation.moments, ends_of_intervals(table[column.name]))
            if not np.array_equal(low, high, equal_nan=True):
                low = [f"[{start}, {end}]" for start, end in zip(low, high, strict=True)]
                low = np.where(np.isnat(high), ROOT, np.array(low, dtype=object))
            table[column.name] = low
    return table


def _write_report(make_report, pair, estimator, options, certificate, about):
    try:
        with bad_input_as_command_error("--report: "):
            make_report(
                *pair,
                estimator,
                options.report,
                source=Path(name_of_input(options.input)).name,
                certificate=certificate,  # The report does not repeat the proof.
                readers_of=file_of_input(options.input),
                command=typed_command(options),
                **about,
            )
    except ImportError as error:
        raise CommandError(f"--report: {one_line(error)}") from error
    except OSError as error:
        raise CommandError(f"{options.report} cannot be written: {reason(error)}.") from error
