"""Anonymize a Parquet table that may be larger than memory."""

from pathlib import Path

import dask
import pandas as pd
from joblib import effective_n_jobs

from sk_microagg._cli._columns import choose_by_options
from sk_microagg._cli._declared import Declared
from sk_microagg._cli._errors import CommandError, one_line, reason
from sk_microagg._cli._estimators import (
    DEFAULTS,
    check_refiner_keeps_constraints,
    make_refiner,
)
from sk_microagg._cli._facts import Fact, facts_of
from sk_microagg._cli._identifiers import warn_of_identifiers, warn_of_several_rows
from sk_microagg._cli._identifiers_on_dask import (
    count_on_dask,
    identifiers_on_dask,
    several_rows_on_dask,
)
from sk_microagg._cli._kinds_on_dask import (
    columns_of_first_part,
    decimals_of_types,
    describe_on_dask,
    types_of,
)
from sk_microagg._cli._mistyped import hint_at_codes
from sk_microagg._cli._named import named_columns
from sk_microagg._cli._paths import check_exists, check_target, suffix_of_input
from sk_microagg._cli._privacy import (
    check_privacy_options,
    is_worse_if_larger,
    make_privacy,
    privacy_facts,
    warn_of_large_units,
    warnings_as_lines,
)
from sk_microagg._cli._release_on_dask import CommandRelease
from sk_microagg._cli._unchanged import fact_of, warn_of_determined, warn_of_singled_out
from sk_microagg._utils._formatting import fewest_records
from sk_microagg.metrics._determined import SAMPLE_SIZE
from sk_microagg.scale import DaskTableAggregator
from sk_microagg.scale._release import read_parquet, schema_of


def anonymize_on_dask(options, progress):
    """Read, group, check and write, part by part.

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
    frame = _read(options.input)
    options = named_columns(options, list(frame.columns))
    choice, declared = choose_by_options(list(frame.columns), options), Declared.of(options)
    declared.check(choice)
    types = types_of(frame, schema_of(options.input), choice.anonymized)
    privacy = make_privacy(options, choice, _numbers(frame._meta[choice.sensitive], declared))
    aggregator = DaskTableAggregator(
        options.k,
        quasi_identifiers=choice.anonymized,
        sensitive=choice.sensitive,
        unit=choice.unit,
        strata=choice.strata,
        categorical=[name for name in choice.anonymized if name in declared.kinds],
        column_weights=declared.weights or None,
        decimals=decimals_of_types(types, declared),
        builder=options.builder or DEFAULTS["builder"],
        refiner=make_refiner(options.refiner, options.time_limit),
        privacy=privacy,
        random_state=options.seed,
        verbose=int(progress.is_shown),
    )
    release = CommandRelease(options, choice)
    n_threads = effective_n_jobs(options.jobs)
    try:
        with (
            dask.config.set(scheduler="threads", num_workers=n_threads),
            warnings_as_lines(progress),
            progress.of_search(),
        ):
            progress.show(f"looking for identifiers in {options.input}")
            _warn_of_columns(frame, choice, progress)
            columns = columns_of_first_part(frame, types, declared)
            hint_at_codes(columns, declared, progress, is_typed=True)
            progress.show(f"grouping the records of {options.input}")
            table = frame[choice.kept + ([] if choice.unit is None else [choice.unit])]
            aggregator._fit_transform(table, release)
            progress.show("looking for columns that determine others")
            _warn_of_determined(frame, choice, aggregator.n_rows_, progress)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise CommandError(one_line(error)) from error
    except OSError as error:
        raise CommandError(f"{options.output} cannot be made: {reason(error)}.") from error
    return facts_of(
        aggregator,
        choice,
        aggregator.n_rows_,
        aggregator.group_sizes_.min(),
        release.level,
        release.homogeneous,
        singled_out=_singled_out(release, choice, aggregator, progress),
        columns=describe_on_dask(aggregator, types, declared, release.n_missing),
        privacy=_privacy_facts(aggregator, choice, progress),
    )


def _warn_of_columns(frame, choice, progress):
    counts = count_on_dask(frame, [*choice.unchanged, *choice.dropped])
    warn_of_identifiers(identifiers_on_dask(counts, choice.unchanged), progress)
    if choice.unit is None:
        names = [name for name in choice.dropped if frame.dtypes[name].kind not in "bfmM"]
        warn_of_several_rows(several_rows_on_dask(counts, names), True, progress)


def _warn_of_determined(frame, choice, n_rows, progress):
    """Warn by a sample: dependencies hold for most rows."""
    others = [name for name in choice.unchanged if name not in choice.strata]
    if others:
        share = min(SAMPLE_SIZE / n_rows, 1.0)
        unit = [] if choice.unit is None else [choice.unit]
        table = frame[[*choice.anonymized, *others, *unit]]
        rows = table.sample(frac=share, random_state=0).compute()
        text = rows[others].map(lambda cell: None if pd.isna(cell) is True else str(cell))
        warn_of_determined(rows[choice.anonymized], text, progress, *(rows[name] for name in unit))


def _singled_out(release, choice, aggregator, progress):
    """The fact about what unchanged columns single out; a warning if they do."""
    if not choice.exposed:
        return {}
    if release.unchanged is None:
        return {"singled out": Fact("not measured with --engine dask and --unit", None)}
    fewest = fewest_records(aggregator.k)
    about = release.unchanged, choice.exposed, aggregator.n_rows_, fewest
    warn_of_singled_out(*about, progress)
    return {"singled out": fact_of(*about)}


def _numbers(columns, declared):
    return [
        name
        for name, dtype in columns.dtypes.items()
        if dtype.kind in "iuf" and name not in declared.kinds
    ]


def _privacy_facts(aggregator, choice, progress):
    smallest, largest = aggregator._figures.T
    n_units = share = None
    if choice.unit is not None:
        n_units, share = int(smallest[0]), largest[-1]
        smallest, largest = smallest[1:-1], largest[1:-1]
    privacy = aggregator.privacy or []
    figures = [
        high if is_worse_if_larger(constraint) else low
        for constraint, low, high in zip(privacy, smallest, largest, strict=True)
    ]
    warn_of_large_units(choice, share, aggregator.k, progress)
    return privacy_facts(choice, privacy, figures, n_units, aggregator.k, share)


def _check_options(options):
    for option in ("hierarchies", "report", "target"):
        if getattr(options, option) is not None:
            raise CommandError(f"--{option} needs --engine memory.")
    check_privacy_options(options)
    check_refiner_keeps_constraints(options)
    if options.certificate is not None:
        raise CommandError(
            f"--certificate {options.certificate:g} needs --engine memory: a proof takes all "
            "records together."
        )
    check_exists(options.input, may_be_folder=True)
    if not Path(options.input).is_dir():
        if Path(options.input).suffix.lower() != ".parquet":
            raise CommandError(f"{options.input}: --engine dask reads .parquet files and folders.")
        suffix_of_input(options.input)  # It may be a pipe.
    if Path(options.output).suffix.lower() not in ("", ".parquet"):
        raise CommandError(f"{options.output}: --engine dask writes a .parquet folder.")
    if Path(options.input).resolve() in Path(options.output).resolve().parents:
        raise CommandError(f"{options.output} is inside {options.input}: choose another folder.")
    # A folder is never overwritten: it may hold more than a release.
    check_target(options.output, [options.input], force=False)


def _read(path):
    try:
        frame = read_parquet(path)
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} is not a Parquet table: {reason(error)}") from error
    # What pandas stored as an index is a column like any other, and may be dropped.
    return frame if isinstance(frame._meta.index, pd.RangeIndex) else frame.reset_index()
