"""Anonymize a table that fits into memory."""

from pathlib import Path

import pandas as pd

from sk_microagg import MicroAggregator
from sk_microagg._certificate import certify
from sk_microagg._cli._columns import choose_by_options
from sk_microagg._cli._errors import CommandError, bad_input_as_command_error, one_line, reason
from sk_microagg._cli._estimators import check_refiner_keeps_constraints, make_estimator
from sk_microagg._cli._facts import facts_of
from sk_microagg._cli._hierarchies import read_hierarchies
from sk_microagg._cli._identifiers import (
    identifiers,
    several_rows,
    warn_of_identifiers,
    warn_of_several_rows,
)
from sk_microagg._cli._paths import check_exists, check_target, suffix_of, suffix_of_input
from sk_microagg._cli._privacy import check_privacy_options, warnings_as_lines
from sk_microagg._cli._roles import Roles
from sk_microagg._cli._shuffle import shuffled
from sk_microagg._cli._tables import read_table, write_table
from sk_microagg._utils._deadline import interruptible, is_interrupted, shared_interrupt
from sk_microagg._utils._extras import check_report_extra
from sk_microagg.metrics import anonymity_level, homogeneity

DECIMALS_OF_INTEGERS = 2

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
    make_report = _import_report() if options.report else None

    progress.show(f"reading {options.input}")
    table = read_table(options.input, options.sep, options.header)
    names = table.cells.column_names
    choice = choose_by_options(names, options)
    hierarchies = {}
    if options.hierarchies is not None:
        hierarchies = read_hierarchies(options.hierarchies, names, choice.anonymized)
    values = table.values(choice.anonymized)
    roles = Roles.of(table, choice, options)
    estimator = make_estimator(values, hierarchies, options, int(progress.is_shown), roles.privacy)
    _warn_of_columns(table, choice, isinstance(estimator, MicroAggregator), progress)
    passed = table.as_text(choice.unchanged)

    released, interrupted = _group(estimator, values, roles, progress)
    release = rounded(pd.DataFrame(released, columns=values.columns), integers(values))

    progress.show("checking the release")
    classes = pd.concat([release, roles.strata], axis=1)
    level = anonymity_level(classes)
    check_level(level, options.k)
    homogeneous = homogeneity(classes, passed) if choice.unchanged else []
    privacy = roles.check(classes, choice, options.k)

    progress.show(f"writing {options.output}")
    _check_targets(options)  # Again, since a file may have been written in the meantime.
    cells = table.with_released(release, choice.kept)
    cells = shuffled(cells) if options.shuffle else cells
    write_table(cells, options.output, options.sep, readers_of=options.input)
    certificate = None
    if options.certificate is not None:
        certificate, is_complete = _prove(estimator, values, options, progress)
        interrupted += [] if is_complete else [PROOF_INTERRUPTED]
    if make_report is not None:
        progress.show(f"writing {options.report}")
        about = {
            "source": Path(options.input).name,
            "passed": passed,
            "dropped": choice.dropped,
            **roles.of_report(),
        }
        _write_report(make_report, values, release, estimator, options, certificate, about)
    return facts_of(
        estimator,
        choice,
        len(values),
        estimator.group_sizes_.min(),
        level,
        homogeneous,
        privacy=privacy,
        certificate=certificate,
        interrupted=interrupted,
    )


def _warn_of_columns(table, choice, may_use_unit, progress):
    warn_of_identifiers(identifiers(table, choice.unchanged), progress)
    if choice.unit is None:
        warn_of_several_rows(several_rows(table, choice.dropped), may_use_unit, progress)


def _group(estimator, values, roles, progress):
    """Group the records; return the released ones, and what was interrupted."""
    progress.show(f"grouping {len(values)} records")
    with (
        bad_input_as_command_error(),
        warnings_as_lines(progress),
        progress.of_search(),
        shared_interrupt(),
    ):
        released = estimator.fit_transform(values, **roles.of_fit())
        return released, [SEARCH_INTERRUPTED] if is_interrupted() else []


def integers(values):
    """Names of the columns of integers."""
    return [name for name, dtype in values.dtypes.items() if dtype.kind in "iu"]


def rounded(release, columns):
    """The release with some columns rounded, if they hold numbers; groups can only merge."""
    release = release.copy()
    for name in columns:
        if release[name].dtype.kind == "f":
            # Adding zero turns -0.0 into 0.0.
            release[name] = release[name].round(DECIMALS_OF_INTEGERS) + 0.0
    return release


def check_level(level, k):
    """Raise if a release is not k-anonymous."""
    if level < k:
        raise CommandError(
            f"A row of the release occurs {level} times, fewer than k={k}: nothing was written. "
            "Please report this."
        )


def _prove(estimator, values, options, progress):
    """Prove a bound on the optimum; return it, and whether that took as long as it was to take."""
    progress.show(f"proving for {options.certificate:g} seconds how close the optimum is")
    with progress.of_search(), interruptible():
        verbose = int(progress.is_shown)
        certificate = certify(estimator, values, options.certificate, verbose=verbose)
        return certificate, not is_interrupted()


def _check_options(options):
    """Raise an error for all that can be known before reading."""
    check_exists(options.input)
    suffix_of_input(options.input)
    _check_targets(options)
    _check_certificate(options)
    check_privacy_options(options)
    check_refiner_keeps_constraints(options)


def _check_targets(options):
    suffix_of(options.output)
    check_target(options.output, [options.input], force=options.force)
    if options.report:
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


def _write_report(make_report, values, release, estimator, options, certificate, about):
    # The report does not repeat the proof.
    proof = None if certificate is None else (certificate.bound, certificate.trace)
    try:
        with bad_input_as_command_error("--report: "):
            make_report(
                values,
                release,
                estimator,
                options.report,
                certificate=proof,
                readers_of=options.input,
                **about,
            )
    except ImportError as error:
        raise CommandError(f"--report: {one_line(error)}") from error
    except OSError as error:
        raise CommandError(f"{options.report} cannot be written: {reason(error)}.") from error
