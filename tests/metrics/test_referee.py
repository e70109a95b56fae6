"""The figures of pyCANON, an independent package, for the same releases."""

import numpy as np
import pandas as pd
import pytest
from example_tables.mixed import HIERARCHIES, draw
from marks import in_one_case
from sklearn import datasets

from sk_microagg import KAIM, MicroAggregator
from sk_microagg.metrics import (
    anonymity_level,
    beta_likeness,
    closeness,
    delta_disclosure,
    diversity,
    uniqueness,
)

pytestmark = pytest.mark.usefixtures("few_steps")

referee = pytest.importorskip("pycanon.anonymity", reason="pycanon is the referee")

DATA = {name: getattr(datasets, f"load_{name}") for name in ("iris", "wine", "diabetes")}
every_data = in_one_case("data", DATA)
every_k = in_one_case("k", [2, 3, 5])


def assert_referee_agrees(release, k):
    frame = pd.DataFrame(release)
    frame.columns = [f"column {j}" for j in range(frame.shape[1])]
    level = referee.k_anonymity(frame, list(frame.columns))
    assert anonymity_level(release) == anonymity_level(frame) == level >= k
    assert (uniqueness(release) == 0) == (level > 1)


@pytest.mark.slow
@in_one_case(
    ("data", "k", "decimals"),
    [
        (data, k, (None, 1, 0)[(i + j) % 3])
        for i, data in enumerate(DATA)
        for j, k in enumerate([2, 3, 5])
    ],
)
def test_microaggregated_numbers(data, k, decimals):
    X = DATA[data]().data
    release = MicroAggregator(k=k).fit_transform(X)
    assert_referee_agrees(release if decimals is None else release.round(decimals), k)


@every_data
@in_one_case("decimals", [None, 1, 0])
def test_original_numbers(data, decimals):
    X = DATA[data]().data
    assert_referee_agrees(X if decimals is None else X.round(decimals), 1)


@pytest.mark.slow
@in_one_case(("k", "block_size", "stitch"), [(2, 20, True), (5, 100, False)])
def test_blocks(k, block_size, stitch):
    X = DATA["diabetes"]().data
    aggregator = MicroAggregator(k=k, block_size=block_size, stitch=stitch)
    assert_referee_agrees(aggregator.fit_transform(X), k)


@pytest.mark.slow
@every_data
@every_k
def test_generalized_numbers(data, k):
    release = KAIM(k=k, refiner=None, random_state=0).fit_transform(DATA[data]().data[:, :4])
    assert release.dtype == object
    assert_referee_agrees(release, k)


@pytest.mark.slow
@every_k
@in_one_case("share_missing", [0, 0.2])
@in_one_case("output", ["default", "pandas"])
def test_generalized_text(k, share_missing, output):
    kaim = KAIM(k=k, hierarchies=HIERARCHIES, refiner=None, random_state=0)
    release = kaim.set_output(transform=output).fit_transform(draw(120, k, share_missing))
    assert_referee_agrees(release, k)


def assert_referee_agrees_on(release, sensitive):
    frame = pd.DataFrame(np.asarray(release)).rename(columns="column {}".format)
    columns = list(frame)
    frame["sensitive"] = sensitive
    arguments = frame, columns, ["sensitive"]
    assert diversity(release, sensitive) == referee.l_diversity(*arguments)
    # The referee rounds down, also what is an integer but for rounding.
    entropy = diversity(release, sensitive, kind="entropy")
    by_referee = referee.entropy_l_diversity(*arguments)
    assert by_referee in (int(entropy - 1e-9), int(entropy + 1e-9))
    assert closeness(release, sensitive) == pytest.approx(referee.t_closeness(*arguments), rel=1e-9)
    return entropy


@pytest.mark.slow
@in_one_case(("data", "k"), [("iris", 10), ("iris", 40), ("wine", 25), ("diabetes", 10)])
def test_diversity_and_closeness_of_numbers(data, k):
    loaded = DATA[data]()
    release = MicroAggregator(k=k, refiner=None).fit_transform(loaded.data[:, 1:])
    assert_referee_agrees_on(release, loaded.data[:, 0].round(1))
    assert_referee_agrees_on(release, np.minimum(loaded.target, 60))  # many large ones are equal


@pytest.mark.slow
@every_data
@in_one_case("k", [5, 40])
def test_diversity_and_closeness_of_categories(data, k):
    loaded = DATA[data]()
    illness = np.array(["flu", "gout", "cold", "none"])[(loaded.data[:, 0] * 100).astype(int) % 4]
    release = MicroAggregator(k=k, refiner=None).fit_transform(loaded.data[:, 1:])
    entropy = assert_referee_agrees_on(release, pd.Series(illness))
    assert entropy > 1 or k == 5


@pytest.mark.slow
@in_one_case("k", [4, 12])
def test_diversity_and_closeness_of_generalized_text(k):
    table = draw(150, k, share_missing=0)
    kaim = KAIM(k=k, hierarchies=HIERARCHIES, refiner=None, random_state=0)
    release = kaim.fit_transform(table[["age", "country"]])
    assert_referee_agrees_on(release, table["sex"])
    assert_referee_agrees_on(release, table["income"].round(1))


@pytest.mark.slow
@every_k
def test_likeness_and_disclosure(k):
    X, y = datasets.load_iris(return_X_y=True)
    names = ["a", "b", "c"]
    release = pd.DataFrame(
        MicroAggregator(k=k, refiner=None).fit_transform(X[:, :3]), columns=names
    )
    release["s"] = np.digitize(y, [0.5, 1.5]).astype(str)
    columns, sensitive = release[names], release["s"]
    basic, enhanced = (beta_likeness(columns, sensitive, kind) for kind in ("basic", "enhanced"))
    assert basic == pytest.approx(referee.basic_beta_likeness(release, names, ["s"]))
    assert enhanced == pytest.approx(referee.enhanced_beta_likeness(release, names, ["s"]))
    delta = delta_disclosure(columns, sensitive)
    assert delta == pytest.approx(referee.delta_disclosure(release, names, ["s"]))
    both = pd.DataFrame({"s": sensitive, "same": "x"})
    assert beta_likeness(columns, both).tolist() == [basic, 0.0]
    assert delta_disclosure(columns, both).tolist() == [delta, 0.0]
