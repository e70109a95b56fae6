"""Bars as a small inline SVG, for notebooks in light and dark mode."""

from html import escape

from sk_microagg._utils._printable import printable

# In pixels: a row, its label, the longest bar, and the text behind the bar.
ROW, LABEL, BAR, TEXT = 17, 98, 110, 76
LONGEST_LABEL = 14
# A blue that is seen on white and on black alike; all text has the color of the notebook's.
BLUE = "#2b83c6"


def bars(title: str, rows: list[tuple[str, float, str]]) -> str:
    """Draw horizontal bars below a title."""
    longest = max((length for _, length, _ in rows), default=0.0) or 1.0
    width, height = LABEL + BAR + TEXT, ROW * (len(rows) + 1)
    rows = [(printable(label), length, escape(text)) for label, length, text in rows]
    summary = "; ".join(f"{escape(label)}: {text}" for label, _, text in rows)
    title = escape(title)
    parts = [
        f'<svg role="img" aria-label="{title}: {summary}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-size="12" fill="currentColor">',
        f'<text y="12" font-weight="600">{title}</text>',
    ]
    for number, (label, length, text) in enumerate(rows, start=1):
        end = LABEL + round(BAR * length / longest, 1)
        parts += [
            # An SVG within an SVG cuts off what is too wide all the same.
            f'<svg y="{number * ROW}" width="{LABEL - 4}" height="{ROW}">'
            f'<title>{escape(label)}</title><text y="12">{escape(_short(label))}</text></svg>',
            f'<rect x="{LABEL}" y="{number * ROW + 2}" width="{end - LABEL:g}" height="12" '
            f'fill="{BLUE}"/>',
            f'<text x="{end + 5:g}" y="{number * ROW + 12}">{text}</text>',
        ]
    return "".join([*parts, "</svg>"])


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
