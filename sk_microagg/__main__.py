"""The command, as `sk-microagg` and as `python -m sk_microagg`."""

import sys

from sk_microagg._cli._start import leave_at_once_if_interrupted


def main() -> int:
    """Run the command line; Ctrl-C ends it from the first moment on."""
    leave_at_once_if_interrupted()
    from sk_microagg.cli import main as run  # It takes most of the time in which nothing is shown.

    return run()


if __name__ == "__main__":
    sys.exit(main())
