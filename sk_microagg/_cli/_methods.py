"""The command `methods`."""

import inspect
import re

from sk_microagg.builders import BUILDERS
from sk_microagg.refiners import REFINERS


def run(options):
    """Print the name and a summary of each builder and refiner."""
    for title, methods in (("builders", BUILDERS), ("refiners", REFINERS)):
        print(f"{title} (--{title[:-1]})")
        for name, method in methods.items():
            print(f"  {name:<23}{_summary(method)}")
    print(f"  {'none':<23}Keep the groups as they were built.")


def _summary(method):
    """The first paragraph of a docstring, without references to others."""
    first = (inspect.getdoc(method) or "").split("\n\n")[0]
    return re.sub(r" \[\d+\]_", "", " ".join(first.split()))
