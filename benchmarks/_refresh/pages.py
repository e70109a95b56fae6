"""How `refresh` writes figures into pages: tables between markers, and numbers in sentences.

A table stands between two comments, and is written as a whole. In reStructuredText::

    .. refresh: refiners

    (the table)

    .. refresh end

and in Markdown ``<!-- refresh: refiners -->`` and ``<!-- refresh end -->``. A sentence needs no
marker: a quote repeats its words, with a format in the place of each number.
"""

import re
from pathlib import Path
from string import Formatter
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
NUMBER = r"(−?\d+(?:[.,]\d+)*)"
BLOCKS = {
    ".rst": re.compile(r"^(\.\. refresh: (\S+)\n\n).*?(\n\n\.\. refresh end)$", re.M | re.S),
    ".md": re.compile(r"^(<!-- refresh: (\S+) -->\n).*?(\n<!-- refresh end -->)$", re.M | re.S),
}
MARKERS = {
    ".rst": r"^\.\. refresh(?:: (\S+)| end)$",
    ".md": r"^<!-- refresh(?:: (\S+)| end) -->$",
}


class Table(NamedTuple):
    """A table: titles of the columns, rows of text, and the command that it comes from."""

    titles: list
    rows: list
    note: str = ""


class Quote(NamedTuple):
    """A sentence of a page whose numbers come from the results of one job.

    `words` holds a format such as {:.2f} for each number that `numbers` returns.
    """

    page: str
    job: str
    words: str
    numbers: callable


def pages():
    """Return the pages, by their paths in the repository."""
    paths = [ROOT / "README.md", *sorted(ROOT.glob("doc/*.rst"))]
    return {path.relative_to(ROOT).as_posix(): path for path in paths}


def markers(text, suffix):
    """Return the names of the blocks of a page; raise ValueError if one does not end."""
    found = [match[1] for match in re.finditer(MARKERS[suffix], text, re.M)]
    starts, ends = found[::2], found[1::2]
    if None in starts or any(ends) or len(starts) != len(ends):
        raise ValueError(f"markers do not alternate: {found}")
    return starts


def render(table, suffix):
    """Return a table as text, followed by the note on its command."""
    rows = in_markdown(table) if suffix == ".md" else in_rst(table)
    note = table.note.replace("``", "`") if suffix == ".md" else table.note
    return "\n".join([*rows, "", note]) if note else "\n".join(rows)


def in_rst(table):
    rows = [table.titles, *table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [rule, lines[0], rule, *lines[1:], rule]


def in_markdown(table):
    rows = [[cell.replace("``", "`") for cell in row] for row in (table.titles, *table.rows)]
    rule = ["---"] + ["---:"] * (len(table.titles) - 1)
    return [f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:])]


def rewrite_blocks(text, suffix, tables):
    """Return a page with its tables written again: those that `tables` holds, by name."""

    def rewritten(match):
        start, name, end = match.groups()
        return start + render(tables[name], suffix) + end if name in tables else match[0]

    return BLOCKS[suffix].sub(rewritten, text)


def rewrite_quote(text, quote, results):
    """Return a page with the numbers of one sentence written again.

    Raises
    ------
    ValueError
        If the sentence is not in the page, or more than once.
    """
    pieces = list(Formatter().parse(quote.words))
    pattern = "".join(
        r"\s+".join(re.escape(word) for word in re.split(r"\s+", literal))
        + (NUMBER if form is not None else "")
        for literal, _, form, _ in pieces
    )
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        raise ValueError(f"{quote.page} has this sentence {len(found)} times: {quote.words}")
    forms = [form for _, _, form, _ in pieces if form is not None]
    numbers = [
        format(number, form) for number, form in zip(quote.numbers(results), forms, strict=True)
    ]
    for place in range(len(numbers), 0, -1):
        start, end = found[0].span(place)
        text = text[:start] + numbers[place - 1].replace("-", "−") + text[end:]
    return text
