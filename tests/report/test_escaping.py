"""Whatever a user names, a report shows it as text."""

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader

import sk_microagg.report
from sk_microagg import KAIM, MicroAggregator
from sk_microagg.report import make_report

pytestmark = pytest.mark.usefixtures("few_steps", "small_attacks")

rng = np.random.RandomState(0)
PATIENTS = pd.DataFrame(
    {
        "age": rng.randint(18, 90, size=80),
        "weight": rng.normal(75, 15, size=80),
        "visits": rng.poisson(3, size=80),
    }
)
WARDS = pd.DataFrame(
    {"age": rng.randint(18, 90, size=80), "ward": rng.choice(["A", "B", "C", "D"], size=80)}
)


def read(path):
    return Reader(path.read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


@pytest.mark.slow
def test_names_and_titles_are_escaped(path):
    names = ["<script>alert(1)</script>", "a \"b\" & 'c'", "$\\frac$ #000000 1.23456 <!-- -->"]
    table = PATIENTS.set_axis(names, axis=1)
    aggregator = MicroAggregator(k=4)
    release = aggregator.fit_transform(table)
    make_report(aggregator, table, release, title="</title><b>me</b>").save(path)
    page = read(path)
    assert "script" not in page.tags
    assert "".join(page.text).count("</title><b>me</b>") == 2
    text = "".join(page.text)
    # In tables of losses, moments and risks, twice in that of correlations, in the list of columns,
    # twice on the first page, and in a picture, where the last one is shortened.
    assert [text.count(name) for name in names] == [9, 9, 8]


ODD = [
    ("<script>alert(1)</script>", "{% raw %}", "\"&'"),
    ("{{ 7*7 }}", "{# x #}", "</svg><b>x</b>"),
]


@pytest.mark.slow
@pytest.mark.parametrize("names", ODD)
def test_whatever_a_user_names_is_escaped(path, names):
    numbers = PATIENTS.set_axis(names, axis=1)
    aggregator = MicroAggregator(k=4)
    odd = " ".join(names)
    about = {
        "title": f"title {odd}",
        "source": f"source {odd}",
        "unchanged": pd.DataFrame({f"unchanged {name}": ["same"] * len(numbers) for name in names}),
        "dropped": [f"dropped {name}" for name in names],
    }
    make_report(aggregator, numbers, aggregator.fit_transform(numbers), **about).save(path)
    page = read(path)
    assert "script" not in page.tags
    assert page.tags.count("b") == 1  # the mark of the verdict
    text = "".join(page.text)
    assert text.count(f"title {odd}") == 2
    assert page.row("Table") == [f"source {odd}, 80 records"]
    assert page.row("Anonymized") == [f"3 columns: {', '.join(names)}"]
    assert page.row("Unchanged") == [f"3 columns: unchanged {', unchanged '.join(names)}"]
    assert page.row("Dropped") == [f"3 columns: dropped {', dropped '.join(names)}"]
    for name in names:
        assert f"unchanged {name}: 80 of 80 records (100%) are in groups" in text
    assert {f"{name}, before and after" for name in names} <= {*page.labels}


@pytest.mark.slow
@pytest.mark.parametrize("names", ODD)
def test_categories_and_parameters_are_escaped(path, names):
    wards = WARDS[["age"]].assign(**{odd: WARDS["ward"].replace("A", odd) for odd in names})
    hierarchies = {odd: {"*": {"north": [odd, "B"], "south": ["C", "D"]}} for odd in names}
    kaim = KAIM(k=4, hierarchies=hierarchies, random_state=0)
    make_report(kaim, wards, kaim.fit_transform(wards)).save(path)
    page = read(path)
    assert "script" not in page.tags
    assert page.row("Hierarchies") == [f"given for {', '.join(names)}"]
    assert page.row("hierarchies") == [f"given for {', '.join(names)}"]
    # The category, among others, in the picture; it is cut where it is long.
    text = "".join(page.text)
    assert [odd for odd in names if odd[:15] not in text] == []


def test_only_drawings_are_marked_as_safe():
    templates = files(sk_microagg.report) / "templates"
    texts = {item.name: item.read_text(encoding="utf-8") for item in templates.iterdir()}
    assert {name for name, text in texts.items() if "| safe" in text} == {"macros.html"}
    assert texts["macros.html"].count("| safe") == 1
    assert not any("autoescape" in text for text in texts.values())


@pytest.mark.slow
def test_control_characters_in_names_are_escaped(tmp_path):
    names = ["a\x1b[2J", "b\u202e"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=names)
    aggregator = MicroAggregator(5).set_output(transform="pandas")
    release = aggregator.fit_transform(X)
    unchanged = pd.DataFrame({"c\u2066": [1] * 30})
    path = make_report(
        aggregator, X, release, source="d\x9b.csv", unchanged=unchanged, dropped=["e\x07"]
    ).save(tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    for character in "\x1b\u202e\u2066\x9b\x07":
        assert character not in page
        assert repr(character)[1:-1] in page
