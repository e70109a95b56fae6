"""Commands as they are typed into a shell."""

import os
import re
import shlex
from pathlib import Path
from subprocess import list2cmdline

from sk_microagg._utils._formatting import printable

IS_WINDOWS = os.name == "nt"

# All that neither of the two shells of Windows takes for something else.
PLAIN = re.compile(r"[\w.:=+/\\-]+")


def command_line(arguments):
    """The command with some arguments, as the shells of this system want it.

    Parameters
    ----------
    arguments : list of str
        What follows the name of the program.

    Returns
    -------
    line : str
        The line to type.
    """
    command = ["sk-microagg", *arguments]
    return " ".join(map(_for_windows, command)) if IS_WINDOWS else shlex.join(command)


def _for_windows(argument):
    quoted = list2cmdline([argument])
    # Programs need quotes only around spaces, but shells around lists and comparisons, too.
    if quoted != argument or PLAIN.fullmatch(argument):
        return quoted
    backslashes = argument[len(argument.rstrip("\\")) :]  # They would escape the quote.
    return f'"{argument}{backslashes}"'


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
    >>> from sk_microagg._cli._arguments import named_columns
    >>> from sk_microagg._cli._parser import make_parser
    >>> from sk_microagg._cli._typed_command import typed_command
    >>> arguments = ["anonymize", "/home/ann/in.csv", "out.csv", "--ordinal", "size=S<M<L"]
    >>> options = make_parser().parse_args(arguments)
    >>> options.arguments = arguments
    >>> print(typed_command(named_columns(options, ["size"])).replace('"', "'"))
    sk-microagg anonymize in.csv out.csv --ordinal 'size=…'
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
    return printable(command_line(shown))


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
