"""The command `anonymize`."""

import sys
import time

from sk_microagg._cli._terminal import WARNING, CommandProgress
from sk_microagg.files._errors import CommandError, require_dask
from sk_microagg.files._format import is_standard, name_of_input
from sk_microagg.release._in_memory import anonymize_in_memory
from sk_microagg.release._summary import Fact, print_facts, print_facts_as_json

OPTIONS_IN_MEMORY = ("ordinal", "date", "number", "categories", "na", "sheet", "sep", "thousands")


def run(options):
    """Anonymize a file and print what was done."""
    start = time.perf_counter()
    anonymize = anonymize_in_memory
    if options.engine == "dask":
        _check_options_on_dask(options)
        require_dask()
        from sk_microagg.release._out_of_memory import (
            anonymize_on_dask as anonymize,  # Dask is an extra.
        )
    is_shown = not options.quiet and not options.json
    with CommandProgress(is_shown, options.json) as progress:
        facts = anonymize(options, progress)
    if options.quiet:
        for what in facts.get("interrupted", []):
            print(f"{WARNING}{what}", file=sys.stderr)
        return
    order = f"that of {name_of_input(options.input)}; --shuffle makes it random"
    facts["row order"] = "random" if options.shuffle else Fact(order, "original")
    seconds = time.perf_counter() - start
    facts["seconds"] = Fact(f"{seconds:.1f}", round(seconds, 3))
    is_piped = is_standard(options.output)
    facts["written"] = Fact("standard output", "-") if is_piped else options.output
    if options.report:
        facts["report"] = options.report
    # The table is alone on standard output.
    file = sys.stderr if is_piped else sys.stdout
    (print_facts_as_json if options.json else print_facts)(facts, file)


def _check_options_on_dask(options):
    for option in OPTIONS_IN_MEMORY:
        if getattr(options, option):
            raise CommandError(f"--{option} needs --engine memory.")
    if options.method == "kaim":
        raise CommandError("--method kaim needs --engine memory.")
