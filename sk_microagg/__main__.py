"""The command `python -m sk_microagg`."""

import sys

from sk_microagg.cli import main

if __name__ == "__main__":
    sys.exit(main())
