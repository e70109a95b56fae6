"""HTML that is escaped unless it says otherwise."""

from html import escape

from sk_microagg._utils._numbers import percent


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name, *children, **attributes):
    """An element. Children and attributes are escaped, but for children that are Html.

    Names of attributes may end in an underscore, and have some instead of hyphens.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children):
    """Elements and text one after the other."""
    return Html("".join(child if isinstance(child, Html) else escape(child) for child in children))


def section(title, *children):
    """A part of the report under a title."""
    return tag("section", tag("h2", title), *children)


def paragraph(*children, **attributes):
    """A paragraph."""
    return tag("p", *children, **attributes)


def listing(*items):
    """A list without numbers."""
    return tag("ul", *(tag("li", item) for item in items))


def definitions(pairs):
    """Names and what they stand for."""
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs),
        class_="facts",
    )


def table(head, rows, caption=None, **attributes):
    """A table whose first column names the rows; on a narrow screen every row is a card.

    Cells are text or Html; those of `share` have a bar.
    """
    body = (
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(
                tag("td", cell, data_label=label)
                for label, cell in zip(head[1:], row[1:], strict=True)
            ),
        )
        for row in rows
    )
    return tag(
        "table",
        *([] if caption is None else [tag("caption", caption)]),
        tag("thead", tag("tr", *(tag("th", label, scope="col") for label in head))),
        tag("tbody", *body),
        **attributes,
    )


def share(value):
    """A share from 0 to 1, with a bar of that length."""
    length = f"{100 * min(max(value, 0.0), 1.0):.1f}%"
    bar = tag("span", class_="bar", style=f"--share:{length}")
    return tag("span", bar, tag("span", percent(value)), class_="share")
