"""The command `anonymize`."""

import sys
import time

from sk_microagg._cli._errors import require_dask
from sk_microagg._cli._facts import print_facts
from sk_microagg._cli._in_memory import anonymize_in_memory
from sk_microagg._cli._progress import CommandProgress


def run(options):
    """Anonymize a file and print what was done."""
    start = time.perf_counter()
    anonymize = anonymize_in_memory
    if options.engine == "dask":
        require_dask()
        from sk_microagg._cli._on_dask import anonymize_on_dask as anonymize  # Dask is an extra.
    with CommandProgress(not options.quiet) as progress:
        facts = anonymize(options, progress)
    if options.quiet:
        for what in facts.get("interrupted", []):
            print(f"sk-microagg: warning: {what}", file=sys.stderr)
        return
    facts["row order"] = (
        "random" if options.shuffle else f"that of {options.input}; --shuffle makes it random"
    )
    facts["seconds"] = f"{time.perf_counter() - start:.1f}"
    facts["written"] = options.output
    if options.report:
        facts["report"] = options.report
    print_facts(facts)
