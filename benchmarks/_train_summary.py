"""The tables printed by `train.py`, and its figure."""

from collections import defaultdict
from itertools import product

import numpy as np
from _train_tables import DIAZ_MODELS, DIAZ_PUBLISHED, NAMES, TABLES, published_accuracies

MODELS = ("forest", "neighbors", "SVM")
CLAIMED_KS = (5, 10, 25, 100)
OURS = ("plain", "target")
# By the method, its label in the figure, its color and its marker.
STYLES = {
    "plain": ("plain", "#0072B2", "o"),
    "target": ("weighted by the target", "black", "s"),
    "diverse": ("weighted, two labels in each group", "#009E73", "D"),
    "Mondrian": ("Mondrian", "#E69F00", "v"),
    "tree": ("tree on labels", "0.6", "^"),
}


class Accuracies:
    """Accuracies of one part by table, model, method and k; in each split, where there are some.

    Parameters
    ----------
    cells : list of dict
        What was measured.

    part : str
        The part.
    """

    def __init__(self, cells, part):
        self._of = defaultdict(dict)
        self.columns = defaultdict(list)
        for cell in cells:
            if cell["part"] != part:
                continue
            place = cell["table"], cell["method"], cell["k"]
            for model, accuracy in cell["accuracy"].items():
                self._of[cell["table"], model, cell["method"], cell["k"]][cell["split"]] = accuracy
            self.columns["pure", *place].append(cell.get("pure_percent", np.nan))
            for model, found in cell.get("member", {}).items():
                self.columns[model, *place].append(found["confidence"])

    def places(self):
        """Return the pairs of table and model, and the ks above 1."""
        keys = [key for key, found in self._of.items() if found]
        ks = sorted({k for *_, k in keys if k > 1})
        return list(dict.fromkeys(key[:2] for key in keys)), ks

    def mean(self, *key):
        """Return mean, standard error and number of splits; None without any."""
        found = list(self._of.get(key, {}).values())
        return summarize(found) if found else None

    def difference(self, table, model, first, second):
        """Return the same for the difference of two pairs of method and k, in the same splits."""
        of_first, of_second = (self._of.get((table, model, *pair), {}) for pair in (first, second))
        both = [of_first[split] - of_second[split] for split in of_first if split in of_second]
        return summarize(both) if both else None


def summarize(values):
    n = len(values)
    error = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return float(np.mean(values)), error, n


def print_summary(results):
    honest = Accuracies(results["cells"], "honest")
    print_honest(honest)
    print_losses(honest)
    print_against_mondrian(honest)
    print_published(Accuracies(results["cells"], "published"))
    print_diaz(results["diaz"])
    if "seconds" in results:
        spent = results["seconds"]
        print(
            f"\nTrainOnRelease on Adult, {spent['n']} records, k = 10: {spent['seconds']:.1f} s, "
            f"{spent['cpu_seconds']:.1f} CPU s"
        )


def print_honest(honest):
    """Print a line per table, k and method: accuracies with standard errors, purity, members."""
    places, ks = honest.places()
    models = list(dict.fromkeys(model for _, model in places))
    if not places:
        return
    print("\nHonest: only training rows are anonymized; accuracy in percent, standard error")
    print(f"{'table':<11}{'k':>4}  {'method':<10}", end="")
    print("".join(f"{model:>14}" for model in models) + f"{'pure %':>9}{'member':>14}{'splits':>8}")
    for table, k, method in product(TABLES, [1, *ks], ["raw", *STYLES]):
        means = [honest.mean(table, model, method, k) for model in models]
        if not any(means):
            continue
        line = "".join(
            f"{found[0]:8.2f} ±{found[1]:4.2f}" if found else " " * 14 for found in means
        )
        pure, *member = (
            float(np.mean(honest.columns[name, table, method, k] or np.nan))
            for name in ("pure", "forest", "deep forest")
        )
        n_splits = max(found[2] for found in means if found)
        line += f"{pure:9.1f}{member[0]:7.3f}{member[1]:7.3f}{n_splits:8d}"
        print(f"{table:<11}{k:>4}  {method:<10}{line}")


def print_losses(honest):
    """Print how far models on releases are below models on raw data, and target above plain."""
    _, ks = honest.places()
    names = " and ".join([", ".join(MODELS[:-1]), MODELS[-1]])
    print(f"\nPoints below raw, mean over the tables and over {names}")
    for k, method in product(ks, STYLES):
        found = [
            honest.difference(table, model, (method, k), ("raw", 1))
            for table, model in product(TABLES, MODELS)
        ]
        if None not in found:
            by_table = np.reshape([-mean for mean, *_ in found], (len(TABLES), -1)).mean(axis=1)
            line = ", ".join(f"{t} {v:.2f}" for t, v in zip(TABLES, by_table, strict=True))
            print(f"k = {k:<4} {method:<10}{by_table.mean():7.2f}  ({line})")
    for k in ks:
        found = {
            (table, model): honest.difference(table, model, ("target", k), ("plain", k))
            for table, model in product(TABLES, MODELS)
        }
        if None not in found.values():
            line = ", ".join(
                f"{table} {np.mean([found[table, model][0] for model in MODELS]):+.2f}"
                for table in TABLES
            )
            mean = np.mean([mean for mean, *_ in found.values()])
            print(f"k = {k:<4} target above plain {mean:+.2f}  ({line})")


def print_against_mondrian(honest):
    """Print in how many cells we are above Mondrian, or tied: within one standard error."""
    places, ks = honest.places()
    for method in OURS:
        outcomes = defaultdict(list)
        for (table, model), k in product(places, ks):
            found = honest.difference(table, model, (method, k), ("Mondrian", k))
            if model in MODELS and k >= 10 and found and found[2] > 1:
                mean, error, _ = found
                outcome = "tied" if abs(mean) <= error else "above" if mean > 0 else "below"
                outcomes[outcome].append(f"{table}/{model}/{k} {mean:+.2f}")
        n_cells = sum(map(len, outcomes.values()))
        if n_cells:
            n_won = len(outcomes["above"]) + len(outcomes["tied"])
            print(
                f"\n{method} against Mondrian, k >= 10, {n_cells} cells: {len(outcomes['above'])} "
                f"above, {len(outcomes['tied'])} tied, together {n_won / n_cells:.0%}"
            )
            print("below: " + (", ".join(outcomes["below"]) or "none"))


def published_leads(published):
    """Return by how many points plain groups are above the best published method in each cell."""
    leads = {}
    for (table, model, k), figures in published_accuracies().items():
        if plain := published.mean(table, model, "plain", k):
            # They have three decimals.
            leads[table, model, k] = round(plain[0], 3) - max(figures.values())
    return leads


def claimed(leads):
    """Return those of the models and k that claims are about."""
    return {
        (table, model, k): lead
        for (table, model, k), lead in leads.items()
        if model in MODELS and k in CLAIMED_KS
    }


def print_published(published):
    """Print our accuracies beside the published ones, and the cells where we are below."""
    leads = published_leads(published)
    if not leads:
        return
    methods = ("mondrian", "ola", "tdg", "cb")
    print("\nPublished: the whole table is anonymized, then split; accuracy in percent")
    print(f"{'table':<11}{'model':<11}{'k':>4}{'raw':>8}{'plain':>8}{'Mondrian':>10}", end="")
    print("".join(f"{name:>10}" for name in methods) + f"{'above best':>12}")
    for (table, model, k), lead in leads.items():
        pairs = ("raw", 1), ("plain", k), ("Mondrian", k)
        ours = [(published.mean(table, model, *pair) or (np.nan,))[0] for pair in pairs]
        figures = published_accuracies()[table, model, k]
        theirs = "".join(f"{figures[name]:10.2f}" for name in methods)
        print("{:<11}{:<11}{:>4}{:8.2f}{:8.2f}{:10.2f}".format(table, model, k, *ours), end="")
        print(f"{theirs}{lead:+12.2f}")
    of_claims = claimed(leads)
    lost = [f"{'/'.join(map(str, place))} {of:+.2f}" for place, of in of_claims.items() if of < 0]
    won, n_cells = len(of_claims) - len(lost), len(of_claims)
    print(f"at or above the best of the four published methods in {won} of {n_cells} cells")
    print("below: " + (", ".join(lost) or "none"))


def print_diaz(cells):
    """Print our accuracies on Adult beside those of Díaz and García."""
    if cells:
        print("\nAdult, six quasi-identifiers, ours / Díaz and García")
        print(
            f"{'release':<16}" + "".join(f"{name:>19}" for name in DIAZ_MODELS) + f"{'pure %':>9}"
        )
    for cell in cells:
        pairs = zip(DIAZ_MODELS, DIAZ_PUBLISHED[cell["release"]], strict=True)
        line = "".join(f"{cell['accuracy'][name]:11.2f} / {theirs:.2f}" for name, theirs in pairs)
        print(f"{cell['release']:<16}{line}{cell.get('pure_percent', np.nan):9.1f}")


def plot_accuracies(cells, path):
    """Draw the mean accuracy of the models over k in the honest part, one panel per table."""
    import matplotlib.pyplot as plt

    honest = Accuracies(cells, "honest")
    _, ks = honest.places()
    figure, axes = plt.subplots(1, len(TABLES), figsize=(10, 3.2), layout="constrained")
    for panel, table in zip(axes, TABLES, strict=True):
        raw = [honest.mean(table, model, "raw", 1) for model in MODELS]
        if None not in raw:
            panel.axhline(
                np.mean([mean for mean, *_ in raw]), color="0.4", ls=":", label="original"
            )
        for method, (label, color, marker) in STYLES.items():
            found = {k: [honest.mean(table, model, method, k) for model in MODELS] for k in ks}
            found = {k: means for k, means in found.items() if None not in means}
            if found:
                heights = [np.mean([mean for mean, *_ in means]) for means in found.values()]
                panel.plot(
                    list(found), heights, color=color, marker=marker, markersize=5, label=label
                )
        panel.set_xscale("log")
        panel.set_xticks(ks, labels=map(str, ks), minor=False)
        panel.minorticks_off()
        panel.set(title=NAMES[table], xlabel="k")
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("accuracy (%)")
    pairs = [zip(*panel.get_legend_handles_labels()[::-1], strict=True) for panel in axes]
    lines = {label: handle for pair in pairs for label, handle in pair}
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)
