import os
import re
import sys

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from example_tables.pages import Reader
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import sk_microagg
from sk_microagg import KAIM, MicroAggregator
from sk_microagg._utils._formatting import in_records, percent, three_digits
from sk_microagg.generalization import KMember
from sk_microagg.metrics import (
    correlation_change,
    generalization_loss,
    information_loss,
    interval_disclosure,
    rank_disclosure,
    record_linkage,
    uniqueness,
)
from sk_microagg.refiners import Exchange, IteratedLocalSearch
from sk_microagg.report import make_report
from sk_microagg.report._figures import MOST_PANELS
from sk_microagg.scale import DaskTableAggregator

pytestmark = pytest.mark.usefixtures("few_steps", "small_attacks")

rng = np.random.RandomState(0)
PATIENTS = pd.DataFrame(
    {
        "age": rng.randint(18, 90, size=150),
        "weight": rng.normal(75, 15, size=150),
        "visits": rng.poisson(3, size=150),
    }
)
WARDS = pd.DataFrame(
    {
        "age": rng.randint(18, 90, size=80),
        "ward": rng.choice(["A", "B", "C", "D"], size=80),
        "height": np.where(rng.random_sample(80) < 0.1, np.nan, rng.normal(170, 10, 80).round()),
    }
)


def read(path):
    return Reader(path.read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


@pytest.fixture(scope="module")
def searched():
    search = IteratedLocalSearch(max_iter=50)
    return MicroAggregator(k=4, refiner=search, random_state=7).fit(PATIENTS)


@pytest.fixture(scope="module")
def release(searched):
    return searched.centroids_[searched.labels_]


@pytest.fixture(scope="module")
def report(searched, release, small_attacks):
    return make_report(searched, PATIENTS, release)


@pytest.mark.slow
def test_facts_of_numbers(path, report, searched, release):
    assert report.save(path) == path
    page = read(path)
    assert page.row("Table") == ["150 records"]
    assert page.row("Anonymized") == ["3 columns: age, weight, visits"]
    assert page.row("k achieved") == ["4", "requested: 4"]
    smallest = searched.group_sizes_.min()
    assert page.row("Groups") == [str(searched.n_groups_), f"smallest: {smallest} records"]
    assert page.row("Information loss")[0] == percent(searched.information_loss_)
    assert page.row("Groups built by") == ["mdav"]
    assert page.row("Groups refined by") == ["IteratedLocalSearch(max_iter=50)"]
    assert page.row("Columns scaled by") == ["StandardScaler()"]

    linkage = record_linkage(PATIENTS, release)
    assert page.row("Linked to the right row")[0] == percent(linkage.linked)
    assert page.row("Expected re-identifications")[0] == percent(linkage.expected_matches)
    if_known = percent(linkage.expected_if_linked)
    assert page.row("The same, if the row is known")[0] == if_known
    assert page.row("Unique rows, original")[0] == in_records(uniqueness(PATIENTS), 150)
    assert page.row("Unique rows, release")[0] == "0 of 150 records (0%)"

    near, ranks = interval_disclosure(PATIENTS, release), rank_disclosure(PATIENTS, release)
    for j, name in enumerate(PATIENTS):
        values = PATIENTS[[name]].to_numpy(dtype=float)
        loss = information_loss(values, searched.labels_)
        assert page.row(name) == ["number", percent(loss)]
        medians = (np.median(each) for each in (values, release[:, j]))
        assert page.row(name, 2)[3] == " \N{RIGHTWARDS ARROW} ".join(map(three_digits, medians))
        assert page.row(name, 3) == [percent(near[j]), percent(ranks[j])]
    change = correlation_change(PATIENTS, release).mean
    assert f"the mean change is {change:.3f}" in "".join(page.text)


@pytest.mark.slow
def test_how_to_reproduce_it(report, searched):
    page = Reader(report.to_html())
    assert page.row("sk_microagg") == [sk_microagg.__version__]
    assert page.row("NumPy") == [np.__version__]
    assert page.row("scikit-learn") == [sklearn.__version__]
    assert page.row("Python") == ["{}.{}.{}".format(*sys.version_info)]
    shown = {row[0]: row[1:] for row in page.rows if row}
    for name, value in searched.get_params(deep=True).items():
        assert shown.get(name) == (None if value is None else [repr(value)])
    text = "".join(page.text)
    arguments = "k=4, refiner=IteratedLocalSearch(max_iter=50), random_state=7,"
    assert f"release = MicroAggregator( {arguments} ).fit_transform(X)" in text
    assert "The seed was 7" in text


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("refiner", "random_state", "words"),
    [
        ("auto", None, "the fixed seed 0: the same data, versions and parameters give the same"),
        (["exchange", "auto"], None, "the fixed seed 0: the same data"),
        ("exchange", None, "The method draws no random numbers"),
        (None, None, "The method draws no random numbers"),
        ("decompose_shrink", None, "The method draws no random numbers"),
        (["decompose", Exchange()], None, "The method draws no random numbers"),
        (IteratedLocalSearch(max_iter=5), None, "No seed was set"),
        (["exchange", "local_search"], None, "No seed was set"),
        (IteratedLocalSearch(max_iter=5, time_limit=np.inf), 0, "The seed was 0"),
        ("auto", np.random.RandomState(0), "The seed was a generator"),
        ("auto", 3, "The seed was 3"),
    ],
)
def test_without_a_seed(path, refiner, random_state, words):
    aggregator = MicroAggregator(k=4, refiner=refiner, random_state=random_state)
    make_report(aggregator, PATIENTS, aggregator.fit_transform(PATIENTS)).save(path)
    html = path.read_text(encoding="utf-8")
    assert words in html
    assert "There was a time limit" not in html
    assert "0x" not in "".join(read(path).text)


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_pictures(path, report):
    html = report.to_html()
    for label in ("age, before and after", "Groups of the release", "Information loss over"):
        assert f'aria-label="{label}' in html
    aggregator = MicroAggregator(k=4, block_size=40)
    make_report(aggregator, PATIENTS, aggregator.fit_transform(PATIENTS)).save(path)
    html = path.read_text(encoding="utf-8")
    assert "Information loss over" not in html
    assert read(path).row("Blocks") == [f"{aggregator.n_blocks_}, each partitioned separately"]


@pytest.mark.slow
def test_the_first_page_repeats_pictures(report):
    html = report.to_html()
    drawn = re.findall(r'<g id="(plot-\d+)">', html)
    again = re.findall(r'<use href="#(plot-\d+)">', html)
    assert len(set(drawn)) == len(drawn) == PATIENTS.shape[1]
    assert len(set(again)) == len(again) == 3
    assert set(again) <= set(drawn)


@pytest.mark.slow
def test_page_refers_to_nothing_outside(path, searched, release):
    make_report(searched, PATIENTS, release, title="See https://example.org").save(path)
    html = path.read_text(encoding="utf-8")
    page = Reader(html)
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", html))
    assert not re.search(r"@import|http://|\bon\w+=", html)
    assert html.count("https://") == 2  # the title, as text
    assert not {"script", "iframe", "object", "embed", "img", "base"} & set(page.tags)


@pytest.mark.slow
def test_page_and_document_say_that_they_are_confidential(report):
    words = "Confidential. It contains exact figures of the original; publish the release card"
    page = Reader(report.to_html())
    text = [part for part in page.text if part.strip()]
    # After the title of the window, it is the first line.
    assert text[1].startswith(words)
    assert report.to_dict()["confidential"].startswith(words)


@pytest.mark.usefixtures("no_pictures")
def test_k_of_1_has_no_groups_to_draw(path):
    table = PATIENTS.to_numpy(dtype=float)
    aggregator = MicroAggregator(k=1)
    make_report(aggregator, table, aggregator.fit_transform(table)).save(path)
    assert "Groups of the release" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_release_that_is_not_k_anonymous(path, searched, release):
    broken = release.copy()
    broken[0] += 1
    make_report(searched, PATIENTS, broken).save(path)
    text = "".join(read(path).text)
    assert (
        "Not 4-anonymous: a combination of the anonymized columns is shared by only 1 record."
        in text
    )
    assert read(path).row("k achieved") == ["1", "requested: 4"]
    assert "at least one row of the release represents a single record" in text


@pytest.mark.slow
def test_kaim(path):
    hierarchies = {"ward": {"*": {"north": ["A", "B"], "south": ["C", "D", "secret ward"]}}}
    kaim = KAIM(k=4, hierarchies=hierarchies, random_state=0)
    release = kaim.fit_transform(WARDS)
    make_report(kaim, WARDS, release).save(path)
    page = read(path)
    text = "".join(page.text)
    assert page.row("k achieved") == ["4", "requested: 4"]
    assert page.row("Information loss")[0] == percent(kaim.information_loss_)
    losses = generalization_loss(WARDS, release, hierarchies=hierarchies, level="cell").mean(axis=0)
    for name, loss in zip(WARDS, losses, strict=True):
        assert page.row(name)[1] == percent(loss)
    assert page.row("Hierarchies") == ["given for ward"]
    assert page.row("hierarchies") == ["given for ward"]
    assert page.row("Unique rows")[1] == f"original: {percent(uniqueness(WARDS))}"
    assert page.row("Missing in the original")[0].startswith(percent(kaim.value_missing_rate_))
    assert "secret ward" not in text
    assert "the values are what these records have in common, or more general" in text
    assert "Linked" not in text
    for label in [*(f"{name}, before and after" for name in WARDS), "Groups of the release"]:
        assert label in page.labels
    assert "missing or *" in text


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_kaim_with_numbers(path):
    kaim = KAIM(k=4, output="midpoint", weights=[1, 2, 1], random_state=0)
    release = kaim.fit_transform(WARDS)
    make_report(kaim, WARDS, release).save(path)
    page = read(path)
    intervals = KAIM(k=4, weights=[1, 2, 1], random_state=0).fit_transform(WARDS)
    loss = generalization_loss(WARDS, intervals, level="cell").mean(axis=0)[0]
    assert page.row("age")[:2] == ["number", percent(loss)]
    assert page.row("Column weights") == ["[1, 2, 1]"]
    assert page.tags.count("svg") == 3 + 3 + 1  # three of them on the first page, too; groups


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_suppressed_records(path):
    member = KMember(k=4, random_state=0)
    make_report(member, WARDS, member.fit_transform(WARDS)).save(path)
    n_suppressed = int(WARDS["height"].isna().sum())
    assert read(path).row("Records suppressed") == [f"{n_suppressed}, released as * in all columns"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_a_column_that_is_not_drawn(path):
    table = WARDS.assign(name=[f"name {number}" for number in range(len(WARDS))])
    kaim = KAIM(k=4, random_state=0)
    make_report(kaim, table, kaim.fit_transform(table)).save(path)
    assert "Not drawn: name, no value is released." in path.read_text(encoding="utf-8")
    assert "name, before and after" not in read(path).labels


@pytest.mark.usefixtures("no_pictures")
def test_first_page(path, searched, release):
    make_report(searched, PATIENTS, release, source="patients.csv", dropped=["name"]).save(path)
    page = read(path)
    assert page.row("Table") == ["patients.csv, 150 records"]
    assert page.row("Anonymized") == ["3 columns: age, weight, visits"]
    assert page.row("Dropped") == ["1 column: name"]
    values = PATIENTS.to_numpy(dtype=float)
    losses = {
        name: information_loss(values[:, [j]], searched.labels_) for j, name in enumerate(PATIENTS)
    }
    [row] = page.row("Highest losses")
    highest = sorted(losses, key=lambda name: -losses[name])
    assert row == ", ".join(f"{name} {percent(losses[name])}" for name in highest)
    assert page.row("Sensitive") == ["No sensitive column was examined."]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_first_page_of_a_large_table(path):
    names = [f"a rather long name of column number {number}" for number in range(40)]
    table = pd.DataFrame(np.random.RandomState(0).normal(size=(20, 40)), columns=names)
    aggregator = MicroAggregator(k=3, refiner=None)
    make_report(aggregator, table, aggregator.fit_transform(table)).save(path)
    [text] = read(path).row("Anonymized")
    assert text.startswith(f"40 columns: {names[0]}, ")
    assert text.endswith(f"{names[7]} and 32 more")


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    "table",
    [
        pl.from_pandas(PATIENTS),
        PATIENTS.to_numpy(dtype=np.float32),
        PATIENTS.to_numpy().tolist(),
    ],
    ids=["polars", "float32", "list"],
)
def test_tables_of_any_type(path, table):
    assert_a_report_says_what_there_is(path, table)


@pytest.mark.slow
@pytest.mark.parametrize(
    "table",
    [
        PATIENTS[["age"]],
        PATIENTS.assign(constant=1.0),
        np.ones((20, 2)),
        np.repeat([[1.0, 2.0], [3.0, 5.0]], 6, axis=0),
    ],
    ids=["one column", "constant", "equal", "two rows"],
)
def test_degenerate_tables(path, table):
    assert_a_report_says_what_there_is(path, table)


def assert_a_report_says_what_there_is(path, table):
    aggregator = MicroAggregator(k=4)
    make_report(aggregator, table, aggregator.fit_transform(table)).save(path)
    page = read(path)
    assert page.row("k achieved")[0] == str(
        sk_microagg.metrics.anonymity_level(aggregator.centroids_[aggregator.labels_])
    )
    assert not re.search(r"\b(nan|inf)\b", "".join(page.text))


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_column_names_of_the_estimator(path, searched, release):
    make_report(searched, PATIENTS.to_numpy(), release).save(path)
    assert read(path).row("Anonymized") == ["3 columns: age, weight, visits"]


@pytest.mark.usefixtures("no_pictures")
def test_one_column(path):
    column = PATIENTS[["age"]]
    aggregator = MicroAggregator(k=4, builder="cbfs")
    make_report(aggregator, column, aggregator.fit_transform(column)).save(path)
    page = read(path)
    assert page.row("Groups built by") == ["optimal_1d"]
    assert page.row("Groups refined by") == ["none"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_dask(path):
    aggregator = DaskTableAggregator(k=4, random_state=0)
    release = aggregator.fit_transform(dd.from_pandas(PATIENTS, npartitions=2)).compute()
    make_report(aggregator, PATIENTS, release).save(path)
    page = read(path)
    smallest = f"smallest: {aggregator.group_sizes_.min()} records"
    assert page.row("Groups") == [str(aggregator.n_groups_), smallest]
    assert page.row("Groups built by") == ["mdav"]


@pytest.mark.slow
def test_many_columns_make_a_small_file(path):
    table = np.random.RandomState(0).normal(size=(240, MOST_PANELS + 6))
    aggregator = MicroAggregator(k=3, refiner=None)
    make_report(aggregator, table, aggregator.fit_transform(table)).save(path)
    page = read(path)
    assert page.tags.count("svg") == MOST_PANELS + 1 + 3
    text = "".join(page.text)
    assert (
        f"{MOST_PANELS} of {MOST_PANELS + 6} columns are shown: those with the highest loss."
        in text
    )
    assert os.path.getsize(path) < 500_000


@pytest.mark.slow
def test_a_file_is_replaced_when_the_new_one_is_complete(path, report, searched, release):
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ValueError, match="shape"):
        make_report(searched, PATIENTS, release[1:]).save(path)
    assert path.read_text(encoding="utf-8") == "old"
    report.save(str(path))
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.slow
def test_places_that_cannot_be_written(tmp_path, report):
    with pytest.raises(IsADirectoryError, match=re.escape(f"path={str(tmp_path)!r}")):
        report.save(tmp_path)
    nowhere = tmp_path / "nowhere" / "report.html"
    with pytest.raises(OSError, match=re.escape(f"path={str(nowhere)!r}")):
        report.save(nowhere)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.gz", ".html"])
def test_a_report_is_named_like_a_page(tmp_path, report, name):
    path = tmp_path / name
    message = rf"^path={re.escape(repr(str(path)))} .*\.html"
    with pytest.raises(ValueError, match=message):
        report.save(path)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_a_full_disk(path, report, monkeypatch):
    def no_room(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_room)
    message = re.escape(f"path={str(path)!r} cannot be written: No space left on device.")
    with pytest.raises(OSError, match=message):
        report.save(path)
    assert os.listdir(path.parent) == []


def test_tables_that_do_not_match(path, searched, release):
    with pytest.raises(ValueError, match=r"release of shape \(149, 3\)"):
        make_report(searched, PATIENTS, release[1:]).save(path)
    with pytest.raises(ValueError, match=r"X of shape \(100, 3\)"):
        make_report(searched, PATIENTS[:100], release[:100]).save(path)
    with pytest.raises(NotFittedError):
        make_report(MicroAggregator(), PATIENTS, release).save(path)
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match=r"estimator=LogisticRegression\(\)"):
        make_report(model, PATIENTS, release).save(path)


@pytest.mark.parametrize("module", ["matplotlib", "jinja2"])
def test_a_dependency_is_missing(path, searched, release, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    message = rf"A report needs {module}, .*: pip install 'sk-microagg\[report\]'"
    with pytest.raises(ImportError, match=message):
        make_report(searched, PATIENTS, release).save(path)
    assert not path.exists()
