"""How the package is built: which part may import which, and how long a function may be."""

import ast
import re
import tokenize
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "sk_microagg"

# From the bottom up: a part may import itself and what stands in rows before its own, at the top of
# a module or inside a function. Parts in one row do not know each other. "" is the package's own
# __init__.py with the public names.
LAYERS = [
    ["_kernels", "_choices"],
    ["_utils"],
    ["_table_roles"],
    ["privacy", "_model", "_bound"],
    ["builders", "tables"],
    ["refiners"],
    ["_microaggregate"],
    ["_aggregation"],
    ["_microaggregator", "generalization"],
    ["_table_space"],
    ["_table_aggregator", "_train"],
    ["_series"],
    [""],
    ["datasets", "metrics"],
    ["scale"],
    ["plotting"],
    ["report"],
    ["files"],
    ["release"],
    ["_cli"],
    ["cli"],
    ["_explore"],
    ["__main__"],
]
LAYER_OF = {part: number for number, layer in enumerate(LAYERS) for part in layer}

MOST_LINES = 80

MODULES = sorted(PACKAGE.rglob("*.py"))
KERNELS = sorted(path for kind in ("pyx", "pxd", "pxi") for path in PACKAGE.rglob(f"*.{kind}"))


def name_of(path):
    """The dotted name of a module, relative to the package."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__")


def part_of(module):
    return module.split(".")[0]


@cache
def statements_of(path):
    """A module and all statements in it, also those in functions and classes."""
    statements = [ast.parse(path.read_text(encoding="utf-8"))]
    for statement in statements:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            statements += getattr(statement, name, [])
    return statements


@cache
def imports_of(path):
    """Modules of the package that a file imports anywhere in it, and the names taken from them."""
    if path.suffix != ".py":
        pattern = r"^\s*(?:from|import|cimport) +sk_microagg\b\.?([\w.]*)"
        text = path.read_text(encoding="utf-8")
        return [(module, []) for module in re.findall(pattern, text, re.MULTILINE)]
    found = []
    for node in statements_of(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.append((node.module, [alias.name for alias in node.names]))
    return [
        (module.removeprefix("sk_microagg").removeprefix("."), names)
        for module, names in found
        if part_of(module) == "sk_microagg"
    ]


def imported_modules(path):
    """Modules that a file imports, where `from a import b` imports a.b if that is a module."""
    for module, names in imports_of(path):
        submodules = [f"{module}.{name}".removeprefix(".") for name in names]
        known = [name for name in submodules if name in FILES]
        yield from known
        if len(known) < len(names) or not names:
            yield module


FILES = {name_of(path).removesuffix("."): path for path in MODULES}


@pytest.mark.slow
def test_no_import_runs_back_up():
    wrong = [
        f"{name_of(path)} imports {module or 'sk_microagg'}"
        for path in [*MODULES, *KERNELS]
        for module in imported_modules(path)
        if not is_allowed(part_of(name_of(path)), part_of(module))
    ]
    assert wrong == []


def is_allowed(part, imported):
    return part == imported or LAYER_OF[imported] < LAYER_OF[part]


def test_the_documentation_draws_the_same_layers():
    page = (PACKAGE.parent / "doc" / "architecture.rst").read_text(encoding="utf-8")
    drawn = page.split("\nLayers\n")[1].split("code-block:: text\n\n")[1].split("\n\n")[0]
    width = drawn.index("compiled code on arrays") - drawn.rindex("\n") - 1
    layers = [{*line[:width].split()} for line in drawn.splitlines()]
    assert layers == [{name_in_the_page(part) for part in layer} for layer in reversed(LAYERS)]


def name_in_the_page(part):
    return part if (PACKAGE / part).is_dir() and part else f"{part or '__init__'}.py"


def test_every_part_has_a_layer():
    parts = {part_of(name) for name in FILES}
    assert parts <= set(LAYER_OF)


@pytest.mark.slow
def test_no_module_imports_itself_through_others():
    graph = {name: {*imported_modules(path)} for name, path in FILES.items()}
    circle = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
    assert circle == []


def logical_lines(path):
    """Tokens of each statement or header of a block; an indent or dedent stands alone."""
    line = []
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.INDENT, tokenize.DEDENT):
                yield [token]
            elif token.type == tokenize.NEWLINE and line:
                yield line
                line = []
            elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
                line.append(token)


def is_function(line):
    words = [token.string for token in line]
    opens_block = words[0] in ("def", "async", "cdef", "cpdef") and words[-1] == ":"
    return opens_block and "(" in words and not {"class", "extern"} & {*words[: words.index("(")]}


def lengths_of_functions(path):
    """Name and number of lines of each function, without its docstring."""
    if path.suffix == ".py":
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [
            (node.name, node.end_lineno - node.lineno + 1 - lines_of_docstring(node))
            for node in statements_of(path)
            if isinstance(node, functions)
        ]
    lengths, open_functions = [], []
    depth = last_row = 0
    for line in logical_lines(path):
        first = line[0]
        if first.type == tokenize.INDENT:
            depth += 1
        elif first.type == tokenize.DEDENT:
            depth -= 1
            if open_functions and open_functions[-1][0] == depth:
                _, name, start = open_functions.pop()
                lengths.append((name, last_row - start + 1))
        elif is_function(line):
            words = [token.string for token in line]
            open_functions.append([depth, words[words.index("(") - 1], first.start[0]])
        elif is_docstring(line) and open_functions:
            open_functions[-1][2] += line[0].end[0] - line[0].start[0] + 1
        last_row = line[-1].end[0] if line[-1].string.strip() else last_row
    return lengths


def lines_of_docstring(function):
    if ast.get_docstring(function, clean=False) is None:
        return 0
    return function.body[0].end_lineno - function.body[0].lineno + 1


def is_docstring(line):
    return len(line) == 1 and line[0].string.endswith('"""')


@pytest.mark.slow
def test_functions_are_short():
    long = [
        f"{name_of(path)}: {name} has {n_lines} lines"
        for path in [*MODULES, *KERNELS]
        for name, n_lines in lengths_of_functions(path)
        if n_lines > MOST_LINES
    ]
    assert long == []
