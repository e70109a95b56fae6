"""The page and its head."""

from datetime import datetime
from html import escape

from sk_microagg._utils._numbers import counted, percent
from sk_microagg.plotting._convergence import total_of, trace_of
from sk_microagg.report._html import join, paragraph, tag
from sk_microagg.report._reproduce import reproduce
from sk_microagg.report._sections import before_and_after, done, groups, lost, proven, risk, search
from sk_microagg.report._style import STYLE
from sk_microagg.report._words import protection

# Whatever a name or a title may hold, the browser fetches and runs nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def render(X, release, estimator, facts, title, certificate=None):
    """The report as HTML."""
    title = "Anonymization report" if title is None else str(title)
    now = datetime.now().astimezone()
    trace = trace_of(estimator)
    body = tag(
        "main",
        _header(facts, title, now),
        done(estimator, facts),
        lost(facts),
        *([] if certificate is None else [proven(certificate, estimator)]),
        risk(facts),
        before_and_after(X, release, facts),
        *([] if facts.numbers is None else [groups(release, facts.k)]),
        *([] if trace is None else [search(trace, total_of(estimator, trace))]),
        protection(facts),
        reproduce(estimator, now),
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>{escape(title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{STYLE}</style>",
            "</head>",
            f"<body>{body}</body>",
            "</html>",
            "",
        ]
    )


def _header(facts, title, now):
    sizes = f"{counted(facts.n_records, 'record')}, {counted(len(facts.names), 'column')}"
    return tag(
        "header",
        tag("h1", title),
        paragraph(f"{sizes}. Written on {now.day} {now:%B %Y}.", class_="byline"),
        _verdict(facts),
        tag("dl", *(_key(*key) for key in _keys(facts)), class_="keys"),
    )


def _verdict(facts):
    shared_by = counted(facts.level, "record")
    if facts.level >= facts.k > 1:
        asked = f"k = {facts.k} was asked for"
        text = f"Every row of the release is shared by at least {shared_by}; {asked}."
        return paragraph(tag("b", "\N{CHECK MARK}"), text, class_="verdict")
    if facts.k > 1:
        text = f"Not {facts.k}-anonymous: a row of the release is shared by only {shared_by}."
    elif facts.level > 1:
        text = f"k = 1 protects nobody: that {shared_by} or more share each row is by chance."
    else:
        text = "Not anonymous: k = 1 protects nobody, and a row stands for a single record."
    return paragraph(tag("b", "\N{BALLOT X}"), text, class_="verdict broken")


def _keys(facts):
    """Label, figure and remark of what matters most."""
    yield "k reached", f"{facts.level:,}", f"asked for: {facts.k:,}"
    yield "Groups", f"{facts.n_groups:,}", f"smallest: {counted(facts.smallest_group, 'record')}"
    of_what = "mean over all cells" if facts.numbers is None else "of all variation"
    yield "Information loss", percent(facts.loss), of_what
    if facts.numbers is None:
        before = f"before: {facts.told(facts.unique_before)}"
        yield "Rows that occur once", facts.told(facts.unique_after), before
    else:
        at_most = f"at most {percent(1 / facts.level)}, as 1 in {facts.level:,}"
        yield "Re-identified, expected", facts.expected_matches(), at_most


def _key(label, figure, remark):
    return join(tag("div", tag("dt", label), tag("dd", figure), tag("dd", remark)))
