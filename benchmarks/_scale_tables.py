"""The tables printed by `scale.py`, and statistics derived from its cells."""

import math
from collections import defaultdict

# Title, key, width and format of each column of the first part.
GROWTH_COLUMNS = [
    ("seconds", "seconds", 10, ".2f"),
    ("CPU s", "cpu_seconds", 10, ".2f"),
    ("peak MB", "peak_mb", 9, ".0f"),
    ("budget MB", "budget_mb", 11, ".0f"),
    ("within", "within_budget", 8, ""),
    ("loss %", "loss_percent", 10, ".4f"),
    ("blocks", "n_blocks", 8, "d"),
    ("exact", "exact_transform", 7, ""),
    ("smallest", "smallest_group", 10, "d"),
    ("load", "load", 7, ".2f"),
]

# The same for each half of a row of the second part.
CUTS_COLUMNS = [
    ("loss %", "loss_percent", 10, ".4f"),
    ("above %", "loss_above_percent", 9, "+.2f"),
    ("seconds", "seconds", 9, ".2f"),
    ("CPU s", "cpu_seconds", 9, ".2f"),
    ("MB", "peak_mb", 7, ".0f"),
]

EXPONENT_COLUMNS = [
    ("up to n", "to", 11, "d"),
    ("seconds", "seconds", 9, ".3f"),
    ("CPU s", "cpu_seconds", 9, ".3f"),
]

SPEEDUP_COLUMNS = [
    ("ratio", "ratio", 8, ".2f"),
    ("busy, one", "busy_of_one", 11, ".2f"),
    ("busy", "busy", 7, ".2f"),
    ("load, one", "load_of_one", 11, ".2f"),
    ("load", "load", 7, ".2f"),
]


def titles(columns):
    return "".join(f"{title:>{width}}" for title, _, width, _ in columns)


def numbers(cell, columns):
    """Format the numbers of a cell; a dash stands for a missing number."""
    return "".join(f"{show(cell.get(key), form):>{width}}" for _, key, width, form in columns)


def show(value, form):
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, form)


def remark(cell):
    if "error" in cell:
        return cell["error"]
    if cell["smallest_group"] < cell["k"]:
        return f"smallest group has {cell['smallest_group']} records"
    return ""


def print_growth_header():
    print(f"{'d':>3}  {'method':<13}{'n':>10}{'jobs':>6}{titles(GROWTH_COLUMNS)}")


def print_growth_row(cell):
    start = f"{cell['d']:>3}  {cell['method']:<13}{cell['n']:>10}{cell['jobs']:>6}"
    print(f"{start}{numbers(cell, GROWTH_COLUMNS)}  {remark(cell)}".rstrip(), flush=True)


def exponents(cells, since):
    """Return the exponents of n with which times grow, from `since` to the largest n run."""
    series = defaultdict(list)
    for cell in cells:
        if "seconds" in cell and cell["n"] >= since:
            series[cell["d"], cell["method"], cell["jobs"]].append(cell)
    return [
        {"d": d, "method": method, "jobs": jobs, "from": ran[0]["n"], "to": ran[-1]["n"]}
        | {key: slope(ran[0], ran[-1], key) for key in ("seconds", "cpu_seconds")}
        for (d, method, jobs), ran in series.items()
        if len(ran) > 1
    ]


def slope(low, high, key):
    return math.log(high[key] / low[key]) / math.log(high["n"] / low["n"])


def print_exponents(table, since):
    print(f"\nTimes grow as n to these powers, from {since} records on")
    print(f"{'d':>3}  {'method':<13}{'jobs':>6}{'from n':>10}{titles(EXPONENT_COLUMNS)}")
    for row in table:
        start = f"{row['d']:>3}  {row['method']:<13}{row['jobs']:>6}{row['from']:>10}"
        print(f"{start}{numbers(row, EXPONENT_COLUMNS)}")


def speedups(cells):
    """Return the seconds of one job over those of several jobs, on the same data."""
    ran = {(c["d"], c["method"], c["n"], c["jobs"]): c for c in cells if "seconds" in c}
    table = []
    for (d, method, n, jobs), cell in ran.items():
        one = ran.get((d, method, n, 1))
        if jobs > 1 and one:
            row = {"d": d, "method": method, "n": n, "jobs": jobs}
            row |= {"ratio": one["seconds"] / cell["seconds"]}
            row |= {"busy_of_one": busy(one), "busy": busy(cell)}
            table.append(row | {"load_of_one": one["load"], "load": cell["load"]})
    return table


def busy(cell):
    return cell["cpu_seconds"] / cell["seconds"]


def print_speedups(table):
    print("\nSeconds of one job over those of several, CPUs kept busy, and load averages before")
    print(f"{'d':>3}  {'method':<13}{'n':>10}{'jobs':>6}{titles(SPEEDUP_COLUMNS)}")
    for row in table:
        start = f"{row['d']:>3}  {row['method']:<13}{row['n']:>10}{row['jobs']:>6}"
        print(f"{start}{numbers(row, SPEEDUP_COLUMNS)}")


def print_cuts_header():
    width = len(titles(CUTS_COLUMNS))
    print(f"\n{'':<27}{'cuts alone':>{width}}  |{'stitched':>{width}}")
    start = f"{'data':<7}{'d':>3}{'block':>9}{'blocks':>8}"
    print(f"{start}{titles(CUTS_COLUMNS)}  |{titles(CUTS_COLUMNS)}")


def print_cuts_row(cells):
    """Print the cell without stitching and, if there is one, the cell with stitching."""
    first = cells[0]
    size = first["block_size"] or "none"
    blocks = show(first.get("n_blocks"), "d")
    start = f"{first['data']:<7}{first['d']:>3}{size:>9}{blocks:>8}"
    halves = "  |".join(numbers(cell, CUTS_COLUMNS) for cell in cells)
    remarks = ", ".join(filter(None, map(remark, cells)))
    print(f"{start}{halves}  {remarks}".rstrip(), flush=True)


def won_back(cells):
    """Return the percentage of the loss due to cuts that stitching recovers, or None."""
    pairs = defaultdict(dict)
    for cell in cells:
        if "loss_above_percent" in cell:
            pair = pairs[cell["data"], cell["d"], cell["block_size"]]
            pair[cell["stitch"]] = cell["loss_above_percent"]
    return [
        {
            "data": data,
            "d": d,
            "block_size": size,
            "percent": percent_recovered(pair[False], pair[True]),
        }
        for (data, d, size), pair in pairs.items()
        if len(pair) == 2
    ]


def percent_recovered(loss, remaining):
    return 100 * (1 - remaining / loss) if loss > 0 else None


def print_won_back(table):
    print("\nShare of the loss due to cuts that stitching recovers")
    lines = defaultdict(list)
    for row in table:
        share = "–" if row["percent"] is None else f"{row['percent']:.0f}%"
        lines[row["data"], row["d"]].append(f"{share} at blocks of {row['block_size']}")
    for (data, d), shares in lines.items():
        print(f"{data}, d = {d}: {', '.join(shares)}")
