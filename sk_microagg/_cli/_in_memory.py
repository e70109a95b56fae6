"""Anonymize a table that fits into memory."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from sk_microagg._certificate import certify
from sk_microagg._cli._columns import choose_by_options
from sk_microagg._cli._declared import Declared
from sk_microagg._cli._errors import CommandError, bad_input_as_command_error, one_line, reason
from sk_microagg._cli._estimators import (
    check_method,
    check_refiner_keeps_constraints,
    make_estimator,
)
from sk_microagg._cli._facts import facts_of
from sk_microagg._cli._format import Format
from sk_microagg._cli._hierarchies import read_hierarchies
from sk_microagg._cli._identifiers import (
    identifiers,
    several_rows,
    warn_of_identifiers,
    warn_of_several_rows,
)
from sk_microagg._cli._paths import (
    check_exists,
    check_target,
    file_of_input,
    has_types,
    is_standard,
    name_of_input,
    suffix_of,
    suffix_of_input,
)
from sk_microagg._cli._privacy import check_privacy_options, warnings_as_lines
from sk_microagg._cli._released import (
    describe,
    released_by_column,
    with_decimals,
    with_shared_levels,
)
from sk_microagg._cli._roles import Roles
from sk_microagg._cli._shuffle import shuffled
from sk_microagg._cli._tables import read_table, write_table
from sk_microagg._utils._deadline import interruptible, is_interrupted, shared_interrupt
from sk_microagg._utils._extras import check_report_extra
from sk_microagg.metrics import anonymity_level, homogeneity

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
    _check_options(options)
    format, declared = Format.of(options), Declared.of(options)
    make_report = _import_report() if options.report else None

    progress.show(f"reading {name_of_input(options.input)}")
    table = read_table(options.input, format)
    choice = _choose_columns(table, declared, options)
    hierarchies = _hierarchies(table, choice, options)
    roles = Roles.of(table, choice, options, declared)
    columns = _anonymized_columns(table, choice, declared, hierarchies, options.k, roles.units())
    known = [column for column in columns if column.kind != "empty"]
    verbose = int(progress.is_shown)
    estimator = make_estimator(known, hierarchies, declared, roles, options, verbose)
    _warn_of_columns(table, choice, options.method != "kaim", progress)
    passed = table.as_text(choice.unchanged)

    records = _records(known, roles, options)
    released, interrupted = _group(estimator, records, progress)
    release = released_by_column(released, known, estimator)
    cells = table.with_released(
        release,
        columns,
        choice.kept,
        has_types=has_types(options.output),
        are_values=getattr(estimator, "categories", None) == "mode",
    )

    progress.show("checking the release")
    anonymized = [name for column in columns for name in release.get(column.name, [column.name])]
    classes = pd.concat([cells.select(anonymized).to_pandas(), roles.strata], axis=1)
    level = anonymity_level(classes)
    check_level(level, options.k)
    homogeneous = homogeneity(classes, passed) if choice.unchanged else []
    privacy = roles.check(classes, choice, options.k)

    progress.show(f"writing {options.output}")
    _check_targets(options)  # Again, since a file may have been written in the meantime.
    cells = shuffled(cells) if options.shuffle else cells
    write_table(cells, options.output, format, table.style, file_of_input(options.input))
    certificate, is_complete = _prove(estimator, records, options, progress)
    interrupted += [] if is_complete else [PROOF_INTERRUPTED]
    if make_report is not None:
        progress.show(f"writing {options.report}")
        about = {"passed": passed, "dropped": choice.dropped, **roles.of_report()}
        about["target"] = _target(table, declared, options)
        pair = [_with_dates(frame, known, options) for frame in (records, released)]
        _write_report(make_report, pair, estimator, options, certificate, about)
    return facts_of(
        estimator,
        choice,
        len(records),
        estimator.group_sizes_.min(),
        level,
        homogeneous,
        columns=[describe(column, release.get(column.name), estimator) for column in columns],
        privacy=privacy,
        certificate=certificate,
        interrupted=interrupted,
    )


def _choose_columns(table, declared, options):
    """Choose columns by their roles; raise if what the user says of them is not possible."""
    choice = choose_by_options(table.cells.column_names, options)
    declared.check(choice)
    if options.target is not None and options.target not in choice.unchanged:
        raise CommandError(
            f"--target {options.target!r} must be a column that is released unchanged: "
            f"{', '.join(map(repr, choice.unchanged)) or 'there is none'}. --sensitive makes one."
        )
    return choice


def _target(table, declared, options):
    """What a model is to predict, as numbers or text; None if the user does not say."""
    if options.target is None:
        return None
    return table.values([options.target], declared)[options.target]


def _hierarchies(table, choice, options):
    if options.hierarchies is None:
        return {}
    return read_hierarchies(options.hierarchies, table.cells.column_names, choice.anonymized)


def _anonymized_columns(table, choice, declared, hierarchies, k, units):
    """The columns that are anonymized, with their kinds; at least one is not empty."""
    for name in hierarchies:
        if declared.kinds.get(name, "category") != "category":
            raise CommandError(f"Column {name!r} has a hierarchy, so that it is categorical.")
    kinds = declared.kinds | dict.fromkeys(hierarchies, "category")
    columns = table.columns(choice.anonymized, replace(declared, kinds=kinds), is_strict=True)
    if all(column.kind == "empty" for column in columns):
        raise CommandError("In all columns to anonymize, all values are missing.")
    return [
        replace(column, how="it has a hierarchy")
        if column.name in hierarchies
        else with_shared_levels(with_decimals(column, declared), declared, k, units)
        for column in columns
    ]


def _warn_of_columns(table, choice, may_use_unit, progress):
    warn_of_identifiers(identifiers(table, choice.unchanged), progress)
    if choice.unit is None:
        warn_of_several_rows(several_rows(table, choice.dropped), may_use_unit, progress)


def _records(columns, roles, options):
    """The table that the estimator is fitted on: values to anonymize, and columns with a role."""
    values = pd.DataFrame({column.name: column.values for column in columns})
    if options.method == "kaim":
        return values
    # Means of integers may have decimals.
    values = values.astype({column.name: np.float64 for column in columns if column.notation})
    return roles.with_values(values)


def _group(estimator, records, progress):
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


def _check_options(options):
    """Raise an error for all that can be known before reading."""
    check_exists(options.input)
    suffix_of_input(options.input)
    _check_targets(options)
    _check_certificate(options)
    if options.target is not None and not options.report:
        raise CommandError("--target needs --report, since it would not be shown otherwise.")
    check_method(options)
    check_privacy_options(options)
    check_refiner_keeps_constraints(options)


def _check_targets(options):
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


def _with_dates(table, columns, options):
    """A table in which dates are dates, and not numbers, for a report to show."""
    if options.method == "kaim":
        return table
    table = table.copy()
    for column in columns:
        if column.kind == "date":
            table[column.name] = column.notation.moments(table[column.name].to_numpy())
    return table


def _write_report(make_report, pair, estimator, options, certificate, about):
    # The report does not repeat the proof.
    proof = None if certificate is None else (certificate.bound, certificate.trace)
    try:
        with bad_input_as_command_error("--report: "):
            make_report(
                *pair,
                estimator,
                options.report,
                source=Path(name_of_input(options.input)).name,
                certificate=proof,
                readers_of=file_of_input(options.input),
                **about,
            )
    except ImportError as error:
        raise CommandError(f"--report: {one_line(error)}") from error
    except OSError as error:
        raise CommandError(f"{options.report} cannot be written: {reason(error)}.") from error
