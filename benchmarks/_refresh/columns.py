"""Tables of whole tables: what is kept of categories, and models that are trained on releases."""

from collections import defaultdict

import numpy as np
from _train_summary import CLAIMED_KS, MODELS, Accuracies, published_leads
from _train_tables import DIAZ_MODELS, DIAZ_PUBLISHED
from _train_tables import NAMES as TRAIN_NAMES
from _train_tables import TABLES as TRAIN_TABLES

from _refresh.formats import cells_by, note, percent, seconds, signed, spaced
from _refresh.pages import Table

METHODS_OF_MIXED = {
    "TableAggregator": "``TableAggregator()``",
    "TableAggregator, hierarchies": "``TableAggregator(hierarchies=)``",
    "KAIM": "``KAIM(hierarchies=)``",
}


def mixed(kept):
    rows = [
        [
            METHODS_OF_MIXED[cell["method"]],
            percent(cell["loss_percent"]),
            percent(cell["kept_percent"]),
            f"{cell['years']:.2f} years",
            percent(cell["iloss_percent"]),
            seconds(cell["cpu_seconds"]),
            f"{cell['peak_mb']:.0f} MB",
        ]
        for cell in kept["results"]["cells"]
    ]
    titles = ["groups of", "information loss", "categories kept", "error of age", "ILossRate"]
    return Table([*titles, "seconds", "memory"], rows, note(kept))


def mixed_columns(kept):
    """Return the cells that are as they were: means and modes of all, and KAIM's own release."""
    cells = kept["results"]["cells"]
    names = list(cells[0]["kept_percent_of"])
    rows = [
        [METHODS_OF_MIXED[cell["method"]], *shares_of(cell["kept_percent_of"])] for cell in cells
    ]
    (own,) = (cell for cell in cells if cell["method"] == "KAIM")
    if "unchanged_percent_of" in own:
        rows.append(["KAIM, generalized", *shares_of(own["unchanged_percent_of"])])
    return Table(["groups of", *names], rows)


def shares_of(by_column):
    return [f"{share:.1f}" for share in by_column.values()]


METHODS_OF_GENERALIZED = {
    "KAIM": "``KAIM()``",
    "overlapping": '``TableAggregator(numbers="interval", categories="generalize")``',
    "disjoint": 'the same with ``intervals="disjoint"``',
}


def generalized(kept):
    """Return releases without l-diversity, and with it."""
    found = cells_by(kept["results"]["cells"], "method", "l")
    smallest, largest = sorted({diversity for _, diversity in found})
    rows = []
    for name, words in METHODS_OF_GENERALIZED.items():
        free, diverse = found[name, smallest], found[name, largest]
        row = [words, percent(free["iloss_percent"]), spaced(free["classes"])]
        row += [spaced(free["classes_of_one_salary"]), percent(diverse["iloss_percent"])]
        rows.append([*row, spaced(diverse["classes"]), spaced(diverse["classes_of_one_salary"])])
    titles = ["release", "ILossRate", "classes", "of one salary", f"ILossRate, l = {largest}"]
    return Table([*titles, "classes", "of one salary"], rows, note(kept))


METHODS_OF_KAIM = {
    "k-member": "k-member, which drops incomplete records",
    "entropy": '``KAIM(distance="entropy", refiner=None)``, as published',
    "ncp": "``KAIM(refiner=None)``",
    "ncp-refined": "``KAIM()``, the default",
}


def kaim(kept):
    over_k = [cell for cell in kept["results"]["cells"] if cell["sweep"] == "k"]
    found = cells_by(over_k, "method", "k")
    ks = sorted({k for _, k in found})
    rows = [
        [
            name,
            *(f"{found[method, k]['loss_percent']:.2f}" for k in ks),
            seconds(found[method, 5]["cpu_seconds"]),
        ]
        for method, name in METHODS_OF_KAIM.items()
    ]
    return Table(["method", *(f"k = {k}" for k in ks), "seconds, k = 5"], rows, note(kept))


# The figure has all k.
SHOWN_KS = {10, 25, 100}

TRAIN_METHODS = {
    "plain": "plain",
    "target": "target",
    "diverse": "target, ``LDiversity(2)``",
    "Mondrian": "Mondrian",
}


def train(kept):
    """Return accuracies: the mean of three models, its standard error over splits, and purity."""
    cells = [cell for cell in kept["results"]["cells"] if cell["part"] == "honest"]
    found = defaultdict(list)
    for cell in cells:
        if all(model in cell["accuracy"] for model in MODELS):
            mean = np.mean([cell["accuracy"][model] for model in MODELS])
            place = cell["table"], cell["k"], cell["method"]
            found[place].append((mean, cell.get("pure_percent")))
    methods = {method: name for method, name in TRAIN_METHODS.items() if is_in(cells, method)}
    rows = []
    for table, name in TRAIN_NAMES.items():
        for k in sorted({k for of, k, _ in found if of == table} & SHOWN_KS):
            splits = [found[table, k, method] for method in methods]
            raw = accuracy(found[table, 1, "raw"])
            rows.append([f"{name}, k = {k}", raw, *map(accuracy, splits)])
    return Table(["accuracy in percent", "original", *methods.values()], rows, note(kept))


def is_in(cells, method):
    return any(cell["method"] == method for cell in cells)


def accuracy(splits):
    if not splits:
        return "–"
    means, shares = zip(*splits, strict=True)
    text = f"{np.mean(means):.1f}"
    if len(means) > 1:
        text += f" ± {np.std(means, ddof=1) / len(means) ** 0.5:.1f}"
    return text if None in shares else f"{text} ({np.mean(shares):.0f}%)"


def train_losses(kept):
    """Return the points below the original data, on average over tables and models."""
    cells = kept["results"]["cells"]
    honest = Accuracies(cells, "honest")
    ks = sorted(SHOWN_KS.intersection(honest.places()[1]))
    rows = []
    for method, name in TRAIN_METHODS.items():
        if not is_in(cells, method):
            continue
        row = [name]
        for k in ks:
            below = [
                honest.difference(table, model, ("raw", 1), (method, k))
                for table in TRAIN_TABLES
                for model in MODELS
            ]
            row.append("–" if None in below else f"{np.mean([mean for mean, *_ in below]):.1f}")
        if {*row[1:]} != {"–"}:
            rows.append(row)
    return Table(["groups", *(f"k = {k}" for k in ks)], rows)


def train_published(kept):
    """Return accuracies in the published protocol, and how far above the best published ones."""
    published = Accuracies(kept["results"]["cells"], "published")
    leads = published_leads(published)
    rows = []
    for table, name in TRAIN_NAMES.items():
        for model in MODELS:
            row = [f"{name}, {model}"]
            for k in CLAIMED_KS:
                found, lead = published.mean(table, model, "plain", k), leads.get((table, model, k))
                row.append(f"{found[0]:.1f}, {signed(lead, 2)}" if found else "–")
            rows.append(row)
    return Table(["accuracy in percent", *(f"k = {k}" for k in CLAIMED_KS)], rows)


def train_diaz(kept):
    """Return accuracies on Adult beside those of Díaz and García."""
    rows = []
    for cell in kept["results"].get("diaz", []):
        theirs = zip(DIAZ_MODELS, DIAZ_PUBLISHED[cell["release"]], strict=True)
        pairs = [f"{cell['accuracy'][model]:.1f}, {figure:.1f}" for model, figure in theirs]
        rows.append([cell["release"].replace("raw", "original"), *pairs])
    return Table(["accuracy in percent", *DIAZ_MODELS], rows)
