"""How the cells of a table are written: what the user says, and what was seen in the file."""

from dataclasses import dataclass

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._paths import STANDARD
from sk_microagg._utils._formatting import FEWEST_RECORDS, fewest_records

# Texts that mean that a value is missing, whatever the user adds.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "*")


# Files for which the separator of cells is no question.
NOT_SEPARATED = (".tsv", ".tsv.gz", ".xlsx", ".parquet")


@dataclass(frozen=True)
class Format:
    """What the user says about the tables."""

    sep: str | None = None
    header: str = "check"
    encoding: str = "utf-8"
    missing: tuple = MISSING
    decimal: str = "."
    thousands: str | None = None
    sheet: str | None = None
    # Fewer records than this may not be told of.
    fewest: int = FEWEST_RECORDS

    @classmethod
    def of(cls, options):
        """Take it from the options of the user."""
        if options.decimal == options.thousands:
            raise CommandError(
                f"--thousands {options.thousands} is the decimal mark as well: name another mark "
                "by --decimal."
            )
        _check_use(options)
        return cls(
            sep=options.sep,
            header=options.header,
            encoding=options.encoding,
            missing=(*MISSING, *(text.strip() for text in options.na)),
            decimal=options.decimal,
            thousands=options.thousands,
            sheet=options.sheet,
            fewest=fewest_records(vars(options).get("k") or 0),
        )


def _check_use(options):
    """Raise if an option is for files of another kind than those of the command."""
    given = vars(options)
    read = [given[name] for name in ("input", "original", "release") if name in given]
    # What explore writes is named later, and may be a .csv file; risk writes no table.
    written = [given.get("output", STANDARD)] if "input" in given else []
    files = [str(path).lower() for path in (*read, *written)]
    if options.sheet is not None and not any(path.endswith(".xlsx") for path in files):
        raise CommandError(f"--sheet {options.sheet} is for Excel files, but {read[0]} is none.")
    if options.sep is not None and all(path.endswith(NOT_SEPARATED) for path in files):
        raise CommandError(
            f"--sep {options.sep!r} is for .csv files: .tsv files have tabs, and others have none."
        )


@dataclass(frozen=True)
class FileStyle:
    """How a file was written, so that a release is written likewise."""

    has_mark: bool = False
    line_end: str = "\n"
    number_formats: dict | None = None
