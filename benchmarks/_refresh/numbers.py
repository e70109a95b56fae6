"""The numbers in sentences: functions of the results of a job, in the order of the sentence."""

import math

from _train_summary import MODELS, Accuracies, claimed, published_leads
from published import agrees

from _refresh.formats import about, cells_by, rounded_down, rounded_up
from _refresh.large import BYTES_IN_TRANSIT, N_CORES, core_microseconds

N_COLUMNS = 8  # in the job "dask"


def outward(numbers):
    """Return whole numbers that all of these are between."""
    return math.floor(min(numbers)), math.ceil(max(numbers))


def front(results):
    """Return years, towns in percent, loss and bound; raise ValueError if a word became wrong."""
    found = results["figures"]
    if (found["sex_same_percent"], found["unique_percent"], found["level"]) != (100, 100, 5):
        raise ValueError('the first sentences say "all sexes", "every one" and "at least five"')
    bound = float(rounded_down(found["bound_percent"], 1))
    return found["age_off"], found["town_same_percent"], found["loss_percent"], bound


def rows_of_front(results):
    found = results["figures"]
    return found["rows"], found["different_rows"]


def left_after_ten_seconds(results):
    """Return the points that any search could gain at most on the two smaller tables."""
    found = cells_by(results["cells"], "table", "limit")
    cells = [found[table, 10] for table in ("visits", "diabetes")]
    return [float(rounded_up(cell["loss_percent"] - cell["bound_percent"], 2)) for cell in cells]


def closed_in_ten_seconds(results):
    """Return how much of the gap of the default a search closed on the large table."""
    found = cells_by(results["cells"], "table", "limit")
    before, after = (found["normal 25000 x 4", limit]["gap_percent"] for limit in (None, 10))
    return (100 * (1 - after / before),)


def one_column(results):
    """Return the least and most seconds, and how often they go into those of microagg1d."""
    ours = [cell for cell in results["cells"] if cell["method"] == "microaggregate"]
    times = [cell["cpu_seconds"] for cell in ours]
    ratios = [1 / cell["seconds_to_microagg1d"] for cell in ours]
    return min(times), max(times), *outward(ratios)


def ratios_of_one_column(results):
    return one_column(results)[2:]


def published(results):
    """Return how many losses were published, how many agree, and within what."""
    known = [cell for cell in results["cells"] if cell["published"] is not None]
    same = [abs(cell["ours"] - cell["published"]) for cell in known if agrees(cell)]
    return len(known), len(same), math.ceil(1e4 * max(same)) / 1e4


def agreeing(results):
    n_known, n_same, _ = published(results)
    return n_same, n_known


def packages(results):
    """Return how often our time anonypyx takes at two sizes, and its memory in MB."""
    found = cells_by(results["cells"], "n", "method")
    small, large = found[1000, "anonypyx"], found[3000, "anonypyx"]
    ratios = about(small["seconds_to_mdav"]), about(large["seconds_to_mdav"])
    return *ratios, large["peak_mb"]


def k_means(results):
    cell = cells_by(results["cells"], "n", "method")[1000, "k-means-constrained"]
    return about(cell["seconds_to_mdav"]), 100 * (1 - cell["loss_to_mdav"])


def mixed(results):
    cell = cells_by(results["cells"], "method")["TableAggregator",]
    return cell["kept_percent"], cell["years"]


def cost_of_mixed(results):
    """Return CPU seconds and megabytes of a table with categories."""
    cell = cells_by(results["cells"], "method")["TableAggregator",]
    return cell["cpu_seconds"], cell["peak_mb"]


def cost_of_a_million(results):
    """Return CPU seconds and megabytes of a million rows of ten numbers."""
    cell = cells_by(results["growth"]["cells"], "d", "n", "method")[10, 10**6, "defaults"]
    return cell["cpu_seconds"], cell["peak_mb"]


def kaim(results):
    found = cells_by(results["cells"], "sweep", "method", "k")
    return tuple(found["k", method, 5]["loss_percent"] for method in ("ncp-refined", "k-member"))


def demand(table, name):
    """Return a function that finds the homogeneity in a table under one demand."""

    def find(results):
        found = cells_by(results["constraints"], "table", "name")
        return (found[table, name]["homogeneity_percent"],)

    return find


def census(*names):
    """Return a function that finds losses with units or strata."""

    def find(results):
        found = cells_by(results["units and strata"], "name")
        return tuple(found[name,]["loss_percent"] for name in names)

    return find


def below_the_best(results):
    return outward(results["below_the_best_percent"].values())


def homogeneity_of_kaim(results):
    shares = [share for name, share in results["homogeneity"].items() if "KAIM" in name]
    return (sum(shares) / len(shares),)


def ends(*keys):
    return lambda results: tuple(results["ends"]["None"][key] for key in keys)


def loss_of_grid(results):
    return tuple(results["ends"][grid]["loss_percent"] for grid in ("None", "auto"))


def rise_on_adult(results):
    """Return a limit with one decimal, in percent."""
    exact, grid = (results["ends"][name]["adult_loss_percent"] for name in ("None", "auto"))
    return (max(math.ceil(1000 * (grid / exact - 1)), 1) / 10,)


def membership(results):
    found = results["membership"]
    deep, release = found["deep, original"], found["deep, release"]
    return (
        deep["confidence"],
        deep["trained"],
        release["confidence"],
        release["trained"],
        found["depth 10, original"]["confidence"],
    )


def nearest(results):
    return outward(results["nearest"].values())


def r2(model, *ways):
    return lambda results: tuple(results["r2"][model][way] for way in ways)


def forest(results):
    """Return accuracies of a forest on California housing: original, and with target weights."""

    def mean(method, k):
        found = [
            cell["accuracy"]["forest"]
            for cell in results["cells"]
            if (cell["part"], cell["table"], cell["method"], cell["k"])
            == ("honest", "cahousing", method, k)
        ]
        return sum(found) / len(found)

    return mean("raw", 1), mean("target", 10), mean("target", 100)


def cost_of_two_labels(results):
    """Return points below target weights alone, and the records in groups of one label without."""
    honest = Accuracies(results["cells"], "honest")

    def points(table, k):
        found = [
            honest.difference(table, model, ("target", k), ("diverse", k))[0] for model in MODELS
        ]
        return sum(found) / len(found)

    pure = honest.columns["pure", "cahousing", "target", 2]
    of_housing = points("cahousing", 2), sum(pure) / len(pure), points("cahousing", 5)
    return *of_housing, points("cmc", 50)


def won_published(results):
    """Return the cells in which models on our releases are at or above the best, and all cells."""
    leads = claimed(published_leads(Accuracies(results["cells"], "published"))).values()
    return sum(lead >= 0 for lead in leads), len(leads)


def above_mondrian(results):
    """Return the cells in the published protocol that are above Mondrian, and all cells."""
    published = Accuracies(results["cells"], "published")
    leads = [
        published.difference(table, model, ("plain", k), ("Mondrian", k))
        for table, model, k in claimed(published_leads(published))
    ]
    leads = [lead[0] for lead in leads if lead]
    return sum(lead > 0 for lead in leads), len(leads)


def default(results):
    ratios = [cell["loss_ratio"] for cell in results["default"]]
    return (100 * (1 - sum(ratios) / len(ratios)),)


def storage(results):
    """Return the GB per second that many cores read and write without a refiner."""
    cell = next(cell for cell in results["cells"] if cell["refiner"] == "none")
    per_row = 2 * (8 * N_COLUMNS + BYTES_IN_TRANSIT)
    return (per_row * N_CORES / core_microseconds(cell) / 1e3,)


def business(results):
    """Return the groups of MDAV, those that one company dominates, and how much less is lost."""
    cells = [cell for cell in results["business"] if cell["k"] == 3]
    dominated = [cell for cell in cells if cell["constraint"] == "dominance"]
    ours, merged = (sum(cell[f"{name}_percent"] for cell in cells) for name in ("loss", "merged"))
    counts = [cell["n_violating"] for cell in dominated]
    return [dominated[0]["n_built"], *counts, 100 * (1 - ours / merged)]
