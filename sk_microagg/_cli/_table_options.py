"""Options of commands that say how tables are written, and what their columns hold."""

from sk_microagg._cli._arguments import encoding, mark, separator, texts

KINDS = {
    "categorical": "columns of categories, whatever they look like",
    "ordinal": "columns of values in an order: that of numbers, or as in 'size=small<medium<large'",
    "date": "columns of dates in a common format, or in a given one, as in 'born=%%d/%%m/%%Y'",
    "number": "columns of numbers, even if some have leading zeros",
}


def add_format_options(parser):
    """Add the options that say how tables are written."""
    parser.add_argument(
        "--na",
        type=texts,
        action="extend",
        default=[],
        metavar="TEXT,TEXT",
        help="more texts that mean that a value is missing",
    )
    parser.add_argument(
        "--decimal", type=mark, default=".", metavar="MARK", help="decimal mark; default: a point"
    )
    parser.add_argument(
        "--thousands",
        type=mark,
        metavar="MARK",
        help="what separates groups of three digits, as a comma in 1,200; default: nothing",
    )
    parser.add_argument(
        "--encoding",
        type=encoding,
        default="utf-8",
        help="encoding of CSV files, such as latin-1; default: %(default)s",
    )
    parser.add_argument(
        "--sheet", metavar="NAME", help="sheet of an Excel file; default: the first"
    )
    parser.add_argument(
        "--sep",
        type=separator,
        help=r"separator of the cells of .csv files, such as ';', '|' or \t; default: a comma",
    )
    header = parser.add_mutually_exclusive_group()
    header.add_argument(
        "--header",
        action="store_const",
        const="given",
        dest="header",
        help="the first row of CSV files holds names, even if they look like values; by default, "
        "it is an error if a name is a number or a date, or a value of its own column",
    )
    header.add_argument(
        "--no-header",
        action="store_const",
        const="none",
        dest="header",
        help="CSV files have no header: columns are named c1, c2, ...",
    )
    parser.set_defaults(header="check")


def add_kind_options(parser):
    """Add the options that say what single columns hold."""
    for kind, help in KINDS.items():
        parser.add_argument(
            f"--{kind}",
            action="append",
            default=[],
            metavar="A,B",
            help=help,
        )


def add_release_options(parser):
    """Add the options that say how much columns count, and how they are released."""
    parser.add_argument(
        "--weights",
        action="append",
        default=[],
        metavar="A=2,B=0.5",
        help="how much columns count when groups are made; default: 1 each",
    )
    parser.add_argument(
        "--categories",
        choices=["mode", "shares", "generalize"],
        help="what is released of categories: the most frequent one of a group, one column of "
        "shares per category, for models, or the lowest common node of their hierarchy, * without "
        "one; default: mode",
    )
    parser.add_argument(
        "--round",
        action="append",
        default=[],
        metavar="A=1,N",
        help="decimals of released means, for single columns or, as a number alone, for all "
        "others; default: as many as the column has",
    )
