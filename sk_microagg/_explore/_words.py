"""Messages of the command line in the words of the page, which has no options."""

import re

from sk_microagg.files._mistyped import SMALLEST_SHARE

# A name as the shell wants it.
NAME = r"('(?:[^']|'\"'\"')*'|[^\s;,]*[^\s;,.])"

GENERALIZE = (
    "Drop it, or generalize it: start explore with --hierarchies, and release of categories only "
    "what a group shares."
)


def _without_advice_for_others(found):
    """Most cells are something else: then these mean something, and their kind was chosen wrong."""
    n_fit, n_known, what, _, advice = found.groups()
    if int(n_fit) >= SMALLEST_SHARE * int(n_known):
        return found[0]
    return f"about {n_fit} of {n_known} cells are {what}: {advice}"


REPLACED = [
    (
        r"about (\d+) of (\d+) cells are ([^,:]*), "
        r"(.* is not one: use --na.*; or|some are not: name texts .* --na, or) (.*)",
        _without_advice_for_others,
    ),
    (rf"use --categorical {NAME} to take all as categories", "choose the kind category"),
    (rf"use --date {NAME}, or --categorical {NAME}", "choose the kind date or category"),
    (rf"or use --categorical {NAME}", "or choose the kind category"),
    (rf"or --categorical {NAME}", "or choose the kind category"),
    (rf"use --categorical {NAME}", "choose the kind category"),
    (r"leave out --(?:date|number|ordinal|categorical)", "choose another kind"),
    (rf"write it, as in --ordinal {NAME}", "write it as low<medium<high beside the kind"),
    (rf"say which, as in --date {NAME}", "write the pattern beside the kind, as in %d %b %Y"),
    (rf"use --date {NAME} or --date {NAME}", "write which beside the kind: %d/%m/%Y or %m/%d/%Y"),
    (r"use (--(?:na|decimal|thousands)\b)", r"start explore with \1"),
    (
        r"name texts that mean missing by --na",
        "start explore with --na for missing values",
    ),
    (r"are named by --na", "are named by --na when explore is started"),
    (r"pass it to --na", "start explore with --na for it"),
    (r"There is no column left to anonymize: .*", "No column is a quasi-identifier: choose one."),
    (r"use --drop, or name it in --columns", "drop it, or make it a quasi-identifier"),
    (
        r"use --drop, or --columns, or --sensitive for what no intruder can know",
        "drop columns, or make them quasi-identifiers, or sensitive if no intruder can know them",
    ),
    (rf"Use --unit {NAME}", "Make the column a unit"),
    (r"Use --unit-share (\S+), or", r"Choose at most \1 as rows of one unit in a group, or"),
    (r"Use --drop, or generalize it: .*", GENERALIZE),
    (r"drop it with --drop, or choose others with --columns", "drop it"),
    (r"overwrite it with --force", "choose to overwrite it"),
    (rf"write --date {NAME}, or leave it out", "leave the pattern empty"),
    (r"^--(?:date|ordinal|report) ", ""),
    (r"^--report: ", "The report: "),
]


def on_the_page(message):
    """Return a message with what a user does on the page, where it names options.

    Parameters
    ----------
    message : object
        The message, or an error.

    Returns
    -------
    message : str
        The message.

    Examples
    --------
    >>> from sk_microagg._explore._words import on_the_page
    >>> on_the_page("born: most cells seem to be dates: use --date born, or --categorical born.")
    'born: most cells seem to be dates: choose the kind date or category.'
    """
    message = str(message)
    for pattern, words in REPLACED:
        message = re.sub(pattern, words, message)
    return message
