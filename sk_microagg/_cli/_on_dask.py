"""Anonymize a Parquet table that may be larger than memory."""

from functools import partial
from pathlib import Path

import pandas as pd
from joblib import effective_n_jobs

from sk_microagg._cli._columns import choose_columns
from sk_microagg._cli._errors import CommandError, one_line, reason
from sk_microagg._cli._estimators import make_refiner
from sk_microagg._cli._facts import facts_of
from sk_microagg._cli._identifiers import identifiers_on_dask, warn_of_identifiers
from sk_microagg._cli._in_memory import check_level, integers, rounded
from sk_microagg._cli._paths import check_exists, check_target, suffix_of_input
from sk_microagg._cli._shuffle import write_shuffled
from sk_microagg._utils._files import released_folder
from sk_microagg.metrics import anonymity_level, homogeneity


def anonymize_on_dask(options, progress):
    """Read, group, check and write, part by part.

    Parameters
    ----------
    options : argparse.Namespace
        What the user wants.

    progress : ProgressLine
        Where to show what is being done.

    Returns
    -------
    facts : dict
        What was done, to print.
    """
    _check_options(options)
    dask, dd, aggregator_class, write = _import_dask()
    frame = _read(dd, options.input)
    choice = choose_columns(list(frame.columns), options.columns, options.drop)
    meta = frame._meta[choice.anonymized]
    for name, dtype in meta.dtypes.items():
        if dtype.kind not in "iuf":
            raise CommandError(
                f"--engine dask takes columns of numbers, but {name!r} has type {dtype}: drop it "
                "with --drop, or choose others with --columns."
            )

    aggregator = aggregator_class(
        options.k,
        columns=choice.anonymized,
        builder=options.builder or "mdav",
        refiner=make_refiner(options.refiner, options.time_limit, "exchange"),
        random_state=options.seed,
        verbose=int(progress.is_shown),
    )
    n_threads = effective_n_jobs(options.jobs)
    try:
        with (
            dask.config.set(scheduler="threads", num_workers=n_threads),
            released_folder(options.output, readers_of=options.input) as draft,
            progress.of_search(),
        ):
            progress.show(f"looking for identifiers in {options.input}")
            warn_of_identifiers(identifiers_on_dask(frame, choice.unchanged), progress)
            progress.show(f"grouping the records of {options.input}")
            release = aggregator.fit_transform(frame[choice.kept])
            release = release.map_partitions(rounded, integers(meta))
            write_rows = write_shuffled if options.shuffle else partial(write, keep_index=False)
            written = write_rows(release, draft)
            level = anonymity_level(written[choice.anonymized])
            check_level(level, options.k)
            homogeneous = []
            if choice.unchanged:
                homogeneous = homogeneity(written[choice.anonymized], written[choice.unchanged])
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        about = "--engine dask takes columns without holes: " if "NaN" in str(error) else ""
        raise CommandError(about + one_line(error)) from error
    except OSError as error:
        raise CommandError(f"{options.output} cannot be made: {reason(error)}.") from error
    n_rows, smallest_group = aggregator.n_rows_, aggregator.smallest_group_
    return facts_of(aggregator, choice, n_rows, smallest_group, level, homogeneous)


def _check_options(options):
    for option in ("hierarchies", "report"):
        if getattr(options, option) is not None:
            raise CommandError(f"--{option} needs --engine memory.")
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
    # A folder is not overwritten: it may hold more than a release.
    check_target(options.output, [options.input], force=False)


def _import_dask():
    try:
        import dask
        import dask.dataframe as dd

        from sk_microagg.scale import DaskMicroAggregator
        from sk_microagg.scale._release import write
    except ImportError as error:
        raise CommandError("--engine dask needs Dask: install sk-microagg[dask].") from error
    return dask, dd, DaskMicroAggregator, write


def _read(dd, path):
    from sk_microagg.scale._parts import PART_BYTES

    try:
        frame = dd.read_parquet(path, blocksize=PART_BYTES)
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} is not a Parquet table: {reason(error)}") from error
    # What pandas took for an index is a column like any other, and may be left out like any other.
    return frame if isinstance(frame._meta.index, pd.RangeIndex) else frame.reset_index()
