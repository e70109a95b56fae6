"""The command as it was typed, for a report to show."""

import shlex
from pathlib import Path

from sk_microagg._utils._printable import printable


def typed_command(options):
    """The command that made a release, to be typed again where its files are.

    Files are named without their folders, and `--ordinal` without the order of its values: a report
    shows neither the machine that it was made on, nor values of the table.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the user, with the names of the table, and the `arguments` that they were
        parsed from.

    Returns
    -------
    command : str or None
        The command; None if the arguments are not known.

    Examples
    --------
    >>> from sk_microagg._cli._named import named_columns
    >>> from sk_microagg._cli._parser import make_parser
    >>> from sk_microagg._cli._typed_command import typed_command
    >>> arguments = ["anonymize", "/home/ann/in.csv", "out.csv", "--ordinal", "size=S<M<L"]
    >>> options = make_parser().parse_args(arguments)
    >>> options.arguments = arguments
    >>> typed_command(named_columns(options, ["size"]))
    "sk-microagg anonymize in.csv out.csv --ordinal 'size=…'"
    """
    if not hasattr(options, "arguments"):
        return None
    paths = [options.input, options.output, options.report, options.hierarchies]
    # Behind a name that contains a comma, a comma may also be part of a value.
    has_commas = any("," in name for name, _ in options.ordinal)
    shown, option = [], None
    for argument in options.arguments:
        name, is_joined, value = argument.partition("=")
        if argument.startswith("--") and is_joined:
            shown.append(f"{name}={_shown(name, value, paths, has_commas)}")
        else:
            shown.append(_shown(option, argument, paths, has_commas))
        option = argument
    return printable(shlex.join(["sk-microagg", *shown]))


def _shown(option, value, paths, has_commas):
    if value in paths:
        return Path(value).name or value
    if option != "--ordinal":
        return value
    # What is quoted may contain commas, too.
    hides_all = has_commas or '"' in value
    return "…" if hides_all else ",".join(map(_without_order, value.split(",")))


def _without_order(part):
    name, has_order, _ = part.partition("=")
    return f"{name}=…" if has_order else name
