"""The sentences of pages that have figures: their words, and where the numbers come from."""

from _refresh import numbers
from _refresh.pages import Quote

FRONT = [
    Quote(page, "front", words, numbers_of)
    for page in ("README.md", "doc/index.rst")
    for words, numbers_of in (
        (
            "The ages are off by {:.1f} years on average, {:.0f}% of the towns and all sexes are "
            "the same, and the groups are *proven* to be nearly optimal: they lose {:.1f}% of the "
            "information, and no others can lose less than {:.1f}%",
            numbers.front,
        ),
        (
            "The {:.0f} patients before, by age and income, and the {:.0f} different rows",
            numbers.rows_of_front,
        ),
    )
]
README = [
    Quote(
        "README.md",
        "one_column",
        "a million records take {:.1f} to {:.1f} s, and microagg1d's exact method takes {:d} to "
        "{:d} times as long",
        numbers.one_column,
    ),
    Quote(
        "README.md",
        "mixed",
        "leaves {:.1f}% of the categories as they were, and ages are off by {:.1f} years",
        numbers.mixed,
    ),
    Quote(
        "README.md",
        "kaim",
        "`KAIM` loses {:.2f}%, and k-member, which drops incomplete records, {:.2f}%",
        numbers.kaim,
    ),
    Quote(
        "README.md",
        "published",
        "Of {:d} published losses of builders, {:d} are reproduced within {:.4f} percentage points",
        numbers.published,
    ),
]
METHODS = [
    Quote(
        "doc/algorithms.rst",
        "published",
        "compares {:d} published losses with ours: {:d} agree within {:.4f} percentage points",
        numbers.published,
    ),
    Quote(
        "doc/benchmarks.rst",
        "default",
        "where its loss is {:.0f}% lower on average",
        numbers.default,
    ),
    Quote(
        "doc/comparison.rst",
        "packages",
        "groups only: about {:d} times our time at 1 000 × 4 and {:d} times at 3 000 × 4, with "
        "{:.0f} MB",
        numbers.packages,
    ),
    Quote(
        "doc/comparison.rst",
        "packages",
        "about {:d} times our time at 1 000 × 4. Its loss is {:.0f}% lower than",
        numbers.k_means,
    ),
    Quote(
        "doc/comparison.rst",
        "one_column",
        "{:d} to {:d} times the time of ``microaggregate``",
        numbers.ratios_of_one_column,
    ),
    Quote(
        "doc/comparison.rst",
        "published",
        "{:d} of {:d} published losses of builders",
        numbers.agreeing,
    ),
    Quote(
        "doc/scale.rst",
        "dask",
        "Without a refiner, 64 cores need {:.1f} GB per second",
        numbers.storage,
    ),
    Quote(
        "doc/train.rst",
        "pipelines",
        "has an R² of {:.3f} if it is trained on the original data, {:.3f} in a Pipeline, and "
        "{:.3f} with TrainOnRelease",
        numbers.r2("boosting", "original", "pipeline", "release"),
    ),
    Quote(
        "doc/train.rst",
        "pipelines",
        "Five nearest neighbors have {:.3f}, {:.3f} and {:.3f}",
        numbers.r2("neighbors", "original", "pipeline", "release"),
    ),
    Quote(
        "doc/train.rst",
        "pipelines",
        "On diabetes, R² goes from {:.3f} to {:.3f} with gradient boosting",
        numbers.r2("boosting", "release", "target"),
    ),
    Quote(
        "doc/train.rst",
        "pipelines",
        "and from {:.3f} to {:.3f} with nearest neighbors",
        numbers.r2("neighbors", "release", "target"),
    ),
    Quote(
        "doc/train.rst",
        "train",
        "a forest drops from {:.1f}% to {:.1f}% at k = 10, and to {:.1f}% at k = 100",
        numbers.forest,
    ),
    Quote(
        "doc/train.rst",
        "train",
        "at k = 2 ({:.1f} points: without them, {:.0f}% of the records are in groups of one label) "
        "and 5 ({:.1f}), and on contraceptive methods at k = 50 ({:.1f})",
        numbers.cost_of_two_labels,
    ),
    Quote(
        "doc/train.rst",
        "train",
        "are at or above the best of the four in {:d} of {:d} cells",
        numbers.won_published,
    ),
    Quote(
        "doc/train.rst",
        "train",
        "above those on groups of anonypyx's Mondrian in {:d} of {:d}",
        numbers.above_mondrian,
    ),
]
QUESTIONS = [
    Quote(
        "doc/questions.rst",
        "how_long",
        "can lower the loss by more than {:.2f} and {:.2f} percentage points",
        numbers.left_after_ten_seconds,
    ),
    Quote(
        "doc/questions.rst",
        "how_long",
        "ten seconds closed {:.0f}% of the gap",
        numbers.closed_in_ten_seconds,
    ),
    Quote(
        "doc/questions.rst",
        "mixed",
        "``TableAggregator`` takes {:.0f} CPU seconds and {:.0f} MB in addition to the table",
        numbers.cost_of_mixed,
    ),
    Quote(
        "doc/questions.rst",
        "growth",
        "``MicroAggregator`` takes {:.0f} CPU seconds and {:.0f} MB",
        numbers.cost_of_a_million,
    ),
]
PRIVACY = [
    Quote(
        "doc/beyond_k.rst",
        "beyond_k",
        "On breast cancer at k = 5, {:.1f}% of the patients are in groups that share one",
        numbers.demand("breast cancer", "None"),
    ),
    Quote(
        "doc/beyond_k.rst",
        "beyond_k",
        "{:.1f}% of the records are still in homogeneous groups at t = 0.3",
        numbers.demand("Adult", "TCloseness(t=0.3)"),
    ),
    Quote(
        "doc/beyond_k.rst",
        "beyond_k",
        "On Census, k = 5 loses {:.2f}%; with units of four rows drawn at random {:.2f}%, and with "
        "units of four similar rows {:.2f}%",
        numbers.census("unit: none", "unit: four rows drawn at random", "unit: four similar rows"),
    ),
    Quote(
        "doc/beyond_k.rst",
        "beyond_k",
        "{:.2f}% with two strata of Census drawn at random, {:.2f}% with ten",
        numbers.census("strata: 2, drawn at random", "strata: 10, drawn at random"),
    ),
    Quote(
        "doc/beyond_k.rst",
        "beyond_k",
        "{:.2f}% and {:.2f}% if they divide Census along its first principal component",
        numbers.census(
            "strata: 2, along the first component", "strata: 10, along the first component"
        ),
    ),
    Quote(
        "doc/beyond_k.rst",
        "beyond_k_builders",
        "the default loses {:d}% to {:d}% less than the best of the three",
        numbers.below_the_best,
    ),
    Quote(
        "doc/offices.rst",
        "constraints",
        "of the {:d} groups that MDAV makes of the companies of Tarragona at k = 3, {:d} are "
        "dominated by one company by assets, {:d} by capital and {:d} by sales. The search keeps "
        "to the constraint in each step, and so loses {:.1f}% less",
        numbers.business,
    ),
    Quote(
        "doc/mixed.rst",
        "disclosure",
        "{:.0f}% of the cells of Census show their own value, and {:.0f}% show a value that fewer "
        "than five records have",
        numbers.ends("own_percent", "rare_percent"),
    ),
    Quote(
        "doc/mixed.rst", "disclosure", "loss rises from {:.1f}% to {:.1f}%", numbers.loss_of_grid
    ),
    Quote(
        "doc/mixed.rst",
        "disclosure",
        "the loss rises by less than {:.1f}% of itself",
        numbers.rise_on_adult,
    ),
    Quote(
        "doc/threat_model.rst",
        "homogeneity",
        "at k = 10, {:.1f}% of the records are in groups that share one salary class",
        numbers.homogeneity_of_kaim,
    ),
    Quote(
        "doc/threat_model.rst",
        "disclosure",
        "In Census, {:d} complete records can be computed",
        lambda results: (results["subtraction"]["records"],),
    ),
    Quote(
        "doc/threat_model.rst",
        "disclosure",
        "at k = 5, {:.0f}% of the cells of Census then show their own number, and {:.0f}% show one "
        "that nobody else has",
        numbers.ends("own_percent", "unique_percent"),
    ),
    Quote(
        "doc/threat_model.rst",
        "disclosure",
        "on Census at k = 3, {:.1f}% by the nearest row",
        lambda results: (results["linkage"]["linked_percent"],),
    ),
    Quote(
        "doc/threat_model.rst",
        "disclosure",
        "{:.0f}% of the values are guessed, and {:.0f}% of those of people who are not in it",
        lambda results: (*results["attributes"].values(),),
    ),
    Quote(
        "doc/threat_model.rst",
        "disclosure",
        "gives an advantage of {:.2f} by confidence and {:.2f} to a trained attack; trained on the "
        "release at k = 10, {:.2f} and {:.2f}. A forest of depth 10 has {:.2f} even on the "
        "original",
        numbers.membership,
    ),
    Quote(
        "doc/transform.rst",
        "disclosure",
        "{:d}% to {:d}% of the records of an MDAV partition would change their group",
        numbers.nearest,
    ),
]
QUOTES = FRONT + README + METHODS + QUESTIONS + PRIVACY
