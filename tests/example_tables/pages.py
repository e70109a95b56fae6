"""HTML pages as a reader sees them."""

import re
from html.parser import HTMLParser

CELLS = ("th", "td", "dt", "dd")


class Reader(HTMLParser):
    """The text of a page, its tables and definition lists, its links and its labels."""

    def __init__(self, html):
        super().__init__()
        self.text, self.rows, self.links, self.tags = [], [], [], []
        self.labels = []
        self.is_in_cell = False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag in ("tr", "div"):
            self.rows.append([])
        if tag in CELLS:
            self.rows[-1].append("")
            self.is_in_cell = True
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href")]
        self.labels += [value for name, value in attributes if name == "aria-label"]

    def handle_endtag(self, tag):
        self.is_in_cell &= tag not in CELLS

    def handle_data(self, data):
        if self.tags[-1:] != ["style"]:
            # A browser shows lines that are broken in the file as one.
            self.text.append(re.sub(r"\s+", " ", data))
        if self.is_in_cell:
            self.rows[-1][-1] += data

    def row(self, name, n=1):
        """The cells of the n-th row with that name."""
        return [row[1:] for row in self.rows if row and row[0] == name][n - 1]
