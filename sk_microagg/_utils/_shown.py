"""Names of columns in a line of text."""


def shown(name: str) -> str:
    """A name in a list of names, in quotes if it would not be seen or could be several."""
    return repr(name) if not name.strip() or name != name.strip() or "," in name else name
