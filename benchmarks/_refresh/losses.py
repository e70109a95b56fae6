"""Tables of losses: refiners, builders, records, constraints, and attacks on models."""

from math import hypot, sqrt
from statistics import fmean, stdev

from records import PUBLISHED_BEST

from _refresh.formats import (
    cells_by,
    loss,
    note,
    percent,
    rounded_down,
    rounded_up,
    seconds,
    signed,
    spaced,
)
from _refresh.pages import Table

REFINER_NAMES = {
    "none": "``None``",
    "Decompose": '``"decompose"``',
    "DecomposeShrink": '``"decompose_shrink"``',
    "LocalSearch": '``"local_search"``',
    "Exchange": '``"exchange"``',
    "Auto": '``"auto"``, the default',
    "IteratedLocalSearch": '``"iterated_local_search"``',
    "Annealing": '``"annealing"``',
    "Recombination": "``Recombination(time_limit=10)``",
}


def refiners(kept):
    results = kept["results"]
    found = cells_by(results["cells"], "data", "refiner")
    data = list(dict.fromkeys(cell["data"] for cell in results["cells"]))
    bounds = cells_by(results["bounds"], "data")
    rows = []
    for refiner, name in REFINER_NAMES.items():
        cells = [found.get((of, refiner)) for of in data]
        if any(cells):
            rows.append([name, *map(loss_and_seconds, cells)])
    proven = [bounds[of,]["bound_percent"] if (of,) in bounds else None for of in data]
    rows.append(["proven lower bound", *map(bound, proven)])
    return Table(["refiner", *map(name_of_data, data)], rows, note(kept))


def bound(value):
    return "–" if value is None else rounded_down(value, 2 if value >= 2 else 3)


def loss_and_seconds(cell):
    if cell is None:
        return "–"
    shown = loss(cell["loss_percent"])
    return shown if cell["refiner"] == "none" else f"{shown}, {seconds(cell['seconds'])}"


def name_of_data(data):
    """Return the title of a column: "EIA (10 columns)", "normal 25 000 × 4"."""
    if data.startswith("EIA-"):
        return f"EIA ({data.removeprefix('EIA-')} columns)"
    kind, *size = data.split()
    return f"{kind} {spaced(int(size[0]))} × {size[2]}" if size else kind


NAMES_OF_HOW_LONG = {
    "visits": "visits, 300 × 4",
    "diabetes": "diabetes, 442 × 10",
    "normal 25000 x 4": "normal, 25 000 × 4",
}


def how_long(kept):
    """Return losses, gaps and CPU seconds of the default and of searches with limits."""
    found = cells_by(kept["results"]["cells"], "table", "limit")
    rows = []
    for limit in dict.fromkeys(limit for _, limit in found):
        name = "the default" if limit is None else f"``Recombination(time_limit={limit:g})``"
        rows.append([name, *(loss_and_gap(found[table, limit]) for table in NAMES_OF_HOW_LONG)])
    bounds = [found[table, None]["bound_percent"] for table in NAMES_OF_HOW_LONG]
    rows.append(["proven lower bound", *(f"{rounded_down(of, 3)}%" for of in bounds)])
    return Table(["search", *NAMES_OF_HOW_LONG.values()], rows, note(kept))


def anytime(kept):
    """Return mean losses of Recombination, and how far they are from the least of the others."""
    cells = kept["results"]["cells"]
    losses = {}
    for cell in cells:
        of_refiner = losses.setdefault((cell["limit"], cell["data"]), {})
        of_refiner.setdefault(cell["refiner"], []).append(cell["loss_percent"])
    data = list(dict.fromkeys(of for _, of in losses))
    rows = [
        [f"{limit:g} s", *(loss_and_lead(losses[limit, of]) for of in data)]
        for limit in dict.fromkeys(limit for limit, _ in losses)
    ]
    return Table(["limit", *map(name_of_data, data)], rows, note(kept))


def loss_and_lead(losses):
    """Return the loss of Recombination, and how much more it is than the least other one."""
    ours = losses["Recombination"]
    least = min((of for name, of in losses.items() if of is not ours), key=fmean)
    lead = 100 * (fmean(ours) / fmean(least) - 1)
    error = 100 * hypot(*(stdev(of) / sqrt(len(of)) for of in (ours, least))) / fmean(least)
    return f"{loss(fmean(ours))}, {signed(lead, 1)} ± {error:.1f}%"


def loss_and_gap(cell):
    gap, time = rounded_up(cell["gap_percent"], 2), seconds(cell["cpu_seconds"])
    return f"{percent(cell['loss_percent'])}, gap {gap}%, {time}"


BUILDER_NAMES = {
    "``MDAV()``, the default": "MDAV-NN",
    '``MDAV(growth="nc")``': "MDAV-NC",
    "``CBFS()``": "CBFS-NN",
    '``CBFS(growth="nc")``': "CBFS-NC",
    "``TFRP()``": "TFRP-NN",
    '``TFRP(growth="nc")``': "TFRP-NC",
    "``GSMS()``": "GSMS-NN",
    "``DBFS()``": "DBFS-NC",
    "``PathOptimal()``": "path through MDAV",
    '``PathOptimal("cbfs")``': "path through CBFS",
}


def builder_losses(kept):
    found = cells_by(kept["results"]["cells"], "dataset", "method", "k")
    data = ("Tarragona", "Census", "EIA-11")
    rows = [
        [name, *(f"{found[of, method, 5]['ours']:.2f}" for of in data)]
        for name, method in BUILDER_NAMES.items()
    ]
    return Table(["builder", *map(name_of_data, data)], rows, note(kept))


def builders(kept):
    found = cells_by(kept["results"]["cells"], "n", "d", "method")
    rows = []
    for n, d in sorted({(n, d) for n, d, _ in found}):
        ours, scan = found[n, d, "MDAV"], found.get((n, d, "oracle"), {})
        if "seconds" not in ours:  # It would have taken too long.
            continue
        row = [f"{spaced(n)} × {d}", seconds(ours["seconds"])]
        if "seconds" in scan:
            ratio = scan["seconds"] / ours["seconds"]
            row += [seconds(scan["seconds"]), f"{ratio:.0f}"]
        rows.append(row + ["–"] * (4 - len(row)))
    titles = ["records × columns", "``MDAV()``", "NumPy scan", "speedup"]
    return Table(titles, rows, note(kept))


def records(kept):
    cells = {}
    for cell in kept["results"]["cells"]:
        cells.setdefault((cell["data"], cell["k"]), []).append(cell)
    rows = []
    for (data, k), seeds in cells.items():
        best, worst = (end(cell["loss_percent"] for cell in seeds) for end in (min, max))
        bound = max(cell["bound_percent"] for cell in seeds)
        gap = 100 * (best / bound - 1)
        published = PUBLISHED_BEST[data].get(k, "–")
        row = [data, str(k), published, f"{best:.4f}", f"{worst:.4f}"]
        rows.append([*row, rounded_down(bound, 4), f"{rounded_up(gap, 2)}%"])
    titles = ["data", "k", "best published", "best seed", "worst seed", "bound", "gap, at most"]
    return Table(titles, rows, note(kept))


DEMANDS = {
    "None": "k = 5 alone",
    "LDiversity()": "``LDiversity(2)``",
    "LDiversity(kind='entropy', l=1.5)": '``LDiversity(1.5, kind="entropy")``',
    "LDiversity(c=4, kind='recursive')": '``LDiversity(2, kind="recursive", c=4)``',
    "TCloseness(t=0.3)": "``TCloseness(0.3)``",
    "TCloseness()": "``TCloseness(0.2)``",
    "TCloseness(t=0.1)": "``TCloseness(0.1)``",
    "TCloseness(t=0.05)": "``TCloseness(0.05)``",
}


def beyond_k(kept):
    found = cells_by(kept["results"]["constraints"], "table", "name")
    tables = list(dict.fromkeys(table for table, _ in found))
    rows = [
        [name, *(demand_cell(found[table, demand]) for table in tables)]
        for demand, name in DEMANDS.items()
    ]
    return Table(["constraint", *tables], rows, note(kept))


def demand_cell(cell):
    shared = f"{cell['homogeneity_percent']:.1f}%".replace("0.0%", "0%")
    return f"{cell['loss_percent']:.2f}, {shared}, {seconds(cell['cpu_seconds'])}"


def series(kept):
    found = cells_by(kept["results"]["cells"], "data", "batches", "hold")
    tables = list(dict.fromkeys(table for table, _, _ in found))
    batches = sorted({n for _, n, _ in found})
    rows = [
        [table, *(loss(found[table, n, 0.0]["loss_percent"]) for n in batches)] for table in tables
    ]
    titles = ["one release" if n == 1 else f"{n} batches" for n in batches]
    return Table(["table", *titles], rows, note(kept))


def walls(kept):
    found = kept["results"]["walls"]
    names = {"tight": "tight potentials", "fitted": "as in a fitted model"}
    rows = [
        [name, *(f"{share:.0f}" for share in found[key].values())] for key, name in names.items()
    ]
    return Table(["weights", *found["tight"]], rows, note(kept))
