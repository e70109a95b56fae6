"""Untrusted text, made safe to show on a terminal or in a report."""


def printable(text: object) -> str:
    r"""The text with all control characters and other characters that are not shown escaped.

    Names of columns and files, and cells, may contain control characters that move the cursor,
    clear the screen, or reverse the direction of text.
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(text))
