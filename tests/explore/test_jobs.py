"""What jobs send to the page is what the command line finds."""

import json
import multiprocessing
import shlex

import numpy as np
import openpyxl
import pandas as pd
import pytest

from sk_microagg._cli._voice import SHELL
from sk_microagg._explore import _page_table, _workers
from sk_microagg._utils._formatting import percent
from sk_microagg.cli import main
from sk_microagg.files._messages import RequestError
from sk_microagg.metrics import closeness, diversity
from sk_microagg.metrics._attribute_inference import draw_records

# What is shown of groups does not depend on how good they are.
pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture
def facts_of(capsys):
    """Run a command; return what it prints about the release."""

    def facts_of(arguments):
        capsys.readouterr()
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    return facts_of


def same_figures(result, facts):
    assert result["k"] <= result["level"] == facts["anonymity_level"]
    assert result["n_groups"] == facts["groups"]
    assert result["n_records"] == facts["records"]
    assert result["smallest_group"] == facts["smallest_group"]
    assert result["loss"] == pytest.approx(facts["information_loss"], rel=1e-12)
    return True


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """People with several rows, in two regions, with columns of all kinds and missing values."""
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "person": [f"P{i // 2}" for i in range(n)],
            "age": rng.integers(20, 80, n),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.normal(30, 9, n).round(1)),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D"),
            "size": rng.choice(["small", "medium", "large"], n),
            "town": rng.choice(["Bari", "Rome", "Milan"], n),
            "member": rng.choice(["yes", "no"], n),
            "region": rng.choice(["north", "south"], n),
            "illness": rng.choice(["flu", "gout", "angina"], n),
            "nothing": None,
        }
    )
    path = tmp_path_factory.mktemp("jobs") / "people.csv"
    frame.to_csv(path, index=False)
    return path


ROLES = {"person": "unit", "region": "stratum", "illness": "sensitive"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("roles", "changes"),
    [
        ({"person": "drop"}, {}),
        (ROLES, {"l": 2, "k": 3}),
        (ROLES, {"unit_share": 0.4, "k": 3}),
        ({"person": "drop", "illness": "sensitive"}, {"t": 0.4, "k": 10}),
        (
            {"person": "drop", "illness": "sensitive", "region": "keep"},
            {"categories": "generalize"},
        ),
        ({"person": "drop", "illness": "sensitive"}, {"method": "kaim"}),
        (ROLES, {"method": "kaim", "l": 2, "k": 3}),
        (ROLES, {"method": "generalized", "l": 2, "k": 3}),
        (ROLES, {"method": "disjoint", "l": 2, "k": 3}),
    ],
    ids=[
        "plain",
        "roles",
        "share",
        "closeness",
        "generalize",
        "kaim",
        "kaim_roles",
        "generalized",
        "disjoint",
    ],
)
def test_a_preview_has_the_figures_of_the_command_line(
    explored, table, facts_of, tmp_path, roles, changes
):
    page = explored(table)
    kinds = {"age": "ordinal", "town": "category"}
    result = page.run("preview", roles, kinds, **changes)
    command = page.command(roles, kinds, report=None, **changes)
    output = tmp_path / "out.csv"
    facts = facts_of([*command[:2], str(output), *command[3:]])
    assert same_figures(result, facts)
    lines = facts.get("homogeneity", [])
    release, original = pd.read_csv(output, dtype=str), pd.read_csv(table, dtype=str)
    anonymized = [column["name"] for column in result["columns"]]
    assert anonymized == facts["anonymized"]
    classes = release.groupby([*anonymized, *facts.get("strata", [])], dropna=False).ngroup()
    for about in result["sensitive"]:
        assert f"{about['name']}: {about['homogeneity']}" in lines
        values = original[about["name"]]
        assert about["diversity"] == diversity(classes.to_numpy(), values)
        found = closeness(classes.to_numpy(), values, "equal")
        assert about["closeness"] == pytest.approx(found)
    assert [about["name"] for about in result["sensitive"]] == facts.get("sensitive", [])
    assert result["assumed_unknown"] == facts.get("sensitive", [])
    found = facts.get("singled_out")
    assert bool(result["singled_out"]) == (found is not None)
    if found is not None:
        assert f"unique by {' and '.join(found['columns'])} together" in result["singled_out"][0]
        is_nobody = result["singled_out"][0].startswith("no record")
        assert is_nobody == (found["unique_with_release"] == 0)
        assert f" {percent(found['expected_matches'])} of" in result["singled_out"][-1]
    # Never above what k allows, or the share of one person.
    most = facts.get("unit_share", 1 / result["k"])
    assert 0 <= result["expected_matches"] <= most + 0.005
    if "unit_share" in facts:
        shown = f"at most {percent(most)} of the rows of a group belong to one of them"
        assert any(line.startswith(shown) for line in result["privacy"])
        assert most <= (changes.get("unit_share") or 1)
        warned = [line for line in result["warnings"] if "of the rows of a group belong to" in line]
        assert bool(warned) == (most > 1 / result["k"])
        assert not any("--" in line for line in warned)
    for column in result["columns"]:
        drawn = column["distribution"]
        assert page.names[column["index"]] == column["name"]
        if drawn["type"] != "note":
            assert len(drawn["before"]) == len(drawn["after"])
            assert sum(drawn["before"]) <= 1 + 1e-9


@pytest.mark.slow
def test_the_curve_goes_through_the_preview(explored, table):
    page = explored(table)
    roles = {"person": "drop", "illness": "sensitive"}
    points = page.run("curve", roles)["points"]
    assert [point["k"] for point in points] == page.description["ks"] == [2, 3, 5, 10, 20, 50]
    assert [message["point"] for message in page.messages] == points
    assert [m["share"] for m in page.messages] == pytest.approx([i / 6 for i in range(1, 7)])
    for point in (points[2], points[3]):
        result = page.run("preview", roles, k=point["k"])
        for figure in ("loss", "expected_matches"):
            assert point[figure] == result[figure]
        assert point["words"]["expected_matches"] == result["words"]["expected_matches"]
    losses = [point["loss"] for point in points]
    assert losses == sorted(losses)


@pytest.mark.slow
def test_the_curve_shows_groups_with_a_single_known_value(explored, tmp_path):
    """Everybody whose illness is known has the same one, and every group somebody without one."""
    frame = pd.DataFrame({"age": np.arange(60) // 2, "illness": ["flu", None] * 30})
    frame.to_csv(tmp_path / "known.csv", index=False)
    points = explored(tmp_path / "known.csv").run("curve", {"illness": "sensitive"})["points"]
    assert {point["homogeneity"] for point in points} == {1.0}
    assert {point["words"]["homogeneity"] for point in points} == {"100%"}


@pytest.mark.slow
def test_impossible_points_of_the_curve_are_explained(explored, numbers):
    page = explored(numbers)
    points = page.run("curve", {"id": "drop", "class": "stratum"})["points"]
    assert [point["k"] for point in points if "error" not in point] == [2, 3, 5, 10, 20]
    assert "are in strata of fewer than k=50 records" in points[-1]["error"]


@pytest.mark.slow
def test_errors_are_those_of_the_command_line(explored, table, capsys):
    page = explored(table)
    for roles, kinds, changes in (
        ({"person": "drop"}, {"town": "number"}, {}),
        ({"person": "drop"}, {}, {"k": 121}),
        ({"person": "drop", "illness": "sensitive"}, {}, {"l": 4}),
        ({"person": "drop"}, {}, {"l": 2}),
        ({"person": "unit"}, {}, {"method": "kaim", "k": 100}),
    ):
        changes = {**changes, "report": None, "overwrite": True}
        with pytest.raises(RequestError) as error:
            page.run("export", roles, kinds, **changes)
        assert main(page.command(roles, kinds, **changes)) == 1
        assert capsys.readouterr().err.endswith(
            f"sk-microagg: error: {error.value.in_words(SHELL)}\n"
        )


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".xlsx", ".parquet", ".tsv", ".csv.gz"])
def test_other_files(explored, table, facts_of, tmp_path, suffix):
    frame = pd.read_csv(table, parse_dates=["born"]).drop(columns="nothing")
    path = tmp_path / f"people{suffix}"
    if suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    page = explored(path)
    assert page.description["settings"]["release"] == f"people_release{suffix}"
    assert len(page.description["rows"]) == 8
    kinds = {column["name"]: column["kind"] for column in page.description["columns"]}
    assert (kinds["age"], kinds["born"], kinds["town"]) == ("number", "date", "category")
    roles = {"person": "drop", "illness": "sensitive"}
    result = page.run("preview", roles)
    facts = facts_of(page.command(roles, report=None))
    assert same_figures(result, facts)


def test_a_sheet_that_is_not_the_first(explored, tmp_path):
    path = tmp_path / "book.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["a"])
    sheet = book.create_sheet("the data")
    for row in [["b", "c"], *([i, i % 7] for i in range(30))]:
        sheet.append(row)
    book.save(path)
    page = explored(path, "--sheet", "the data")
    assert page.names == ["b", "c"]
    assert page.run("preview")["n_records"] == 30


@pytest.mark.slow
def test_hierarchies(explored, table, facts_of, tmp_path):
    folder = tmp_path / "trees"
    folder.mkdir()
    (folder / "town.csv").write_text("Bari;south;*\nRome;center;*\nMilan;north;*\n")
    page = explored(table, "--hierarchies", folder, "--jobs", 1)
    roles = {"person": "drop"}
    for changes in ({"method": "kaim"}, {"categories": "generalize"}):
        result = page.run("preview", roles, **changes)
        command = page.command(roles, report=None, **changes)
        facts = facts_of([*command[:2], str(tmp_path / "out.csv"), *command[3:], "--force"])
        assert same_figures(result, facts)
        (town,) = [column for column in result["columns"] if column["name"] == "town"]
        assert town["released"] == "lowest common node, or * for any value"


@pytest.mark.slow_but_first
@pytest.mark.parametrize("cell", ["7", "same", "2020-01-01", "{i}", "text {i}"])
def test_a_table_with_one_column(explored, tmp_path, cell):
    path = tmp_path / "one.csv"
    path.write_text("\n".join(["x", *(cell.format(i=i) for i in range(20))]) + "\n")
    page = explored(path)
    result = page.run("preview", {"x": "quasi_identifier"})
    assert (result["n_records"], result["groups"]) == (20, None)
    assert len(page.run("curve", {"x": "quasi_identifier"})["points"]) == 5


def test_fewer_rows_than_k(explored, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    page = explored(path)
    assert page.description["ks"] == [2, 3]
    for what in ("preview", "export", "certificate"):
        with pytest.raises(RequestError, match="3"):
            page.run(what, {"a": "quasi_identifier"})
    assert page.run("preview", {"a": "quasi_identifier"}, k=3)["n_groups"] == 1
    assert [*tmp_path.iterdir()] == [path]


def test_all_values_missing(explored, tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("a,b\n" + "NA,\n" * 9)
    page = explored(path)
    assert [c["kind"] for c in page.description["columns"]] == ["empty", "empty"]
    with pytest.raises(RequestError, match="all values are missing"):
        page.run("preview")


@pytest.mark.slow
def test_a_large_table_is_sampled_and_released_whole(explored, tmp_path, monkeypatch):
    monkeypatch.setattr(_page_table, "N_SAMPLE", 200)
    rng = np.random.default_rng(0)
    path = tmp_path / "large.csv"
    pd.DataFrame(rng.normal(size=(1000, 2)), columns=["a", "b"]).to_csv(path, index=False)
    page = explored(path)
    assert (page.description["n_records"], page.description["n_sample"]) == (1000, 200)
    result = page.run("preview")
    assert (result["n_records"], result["is_sample"]) == (200, True)
    assert page.run("certificate", certificate=0.1)["is_sample"]
    result = page.run("export", report=None)
    assert (result["release"], result["report"]) == ("large_release.csv", None)
    assert shlex.split(result["command"])[1:] == page.command(report=None)
    assert ["records", "1000"] in result["facts"]
    assert len(pd.read_csv(tmp_path / "large_release.csv")) == 1000


@pytest.fixture
def sampled(tmp_path, monkeypatch):
    """Write a table of 1000 rows, of which the first is odd and not in the sample; return its path.

    Its columns are a number, ages of people, and one that is not clear.
    """
    monkeypatch.setattr(_page_table, "N_SAMPLE", 200)
    assert 0 not in draw_records(1000, 200)
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=1000), "age": rng.integers(20, 24, 1000)}
    frame = pd.DataFrame(columns | {"odd": ["much", *rng.integers(0, 9, 999)]})
    frame.to_csv(tmp_path / "large.csv", index=False)
    return tmp_path / "large.csv"


@pytest.mark.slow
def test_a_sampled_table_with_a_hierarchy_of_numbers(explored, sampled):
    folder = sampled.parent / "trees"
    folder.mkdir()
    (folder / "age.csv").write_text("20;young;*\n21;young;*\n22;old;*\n23;old;*\n")
    page = explored(sampled, "--hierarchies", folder)
    roles = {"odd": "drop"}
    for what in ("preview", "certificate"):
        assert page.run(what, roles, categories="generalize", certificate=0.1)["is_sample"]
    assert "loss" in page.run("curve", roles, categories="generalize")["points"][0]
    # As a sensitive column it has no hierarchy, and is a number.
    page.run("preview", {**roles, "age": "sensitive"}, t=0.5)


def test_an_unclear_kind_is_not_chosen_for_a_sample(explored, sampled):
    page = explored(sampled)
    _, request, *_ = page.table.arguments_of_job("preview", page.settings())
    assert request.number == ["x", "age"]


@pytest.mark.parametrize("method", ["aggregate", "kaim"])
def test_ordinals_are_drawn_as_their_values(explored, write_rows, tmp_path, method):
    rng = np.random.default_rng(0)
    sizes = ["low", "medium", "high"]
    rows = [[rng.choice(sizes), rng.integers(0, 9)] for _ in range(90)]
    page = explored(write_rows(tmp_path / "table.csv", ["size", "x"], *rows))
    settings = page.settings(method=method)
    settings["columns"][0] |= {"kind": "ordinal", "detail": "low<medium<high"}
    result = page.run("preview", columns=settings["columns"], method=method)
    drawn = result["columns"][0]["distribution"]
    shown = {one for category in drawn["categories"] for one in category.strip("[]").split(", ")}
    assert {*sizes} <= shown <= {*sizes, "*", "(more general)"}
    # They are what is written.
    shares = dict(zip(drawn["categories"], drawn["after"], strict=True))
    page.run("export", columns=settings["columns"], method=method, report=None)
    written = pd.read_csv(tmp_path / "table_release.csv")["size"].value_counts(normalize=True)
    assert {one: share for one, share in shares.items() if share} == pytest.approx(
        dict(written), abs=2.5 / len(rows)
    )


@pytest.mark.parametrize(
    ("scale", "first", "last"),
    [
        (1, "0", "95"),
        (-1, "-95", "0"),
        (1000, "0", "95,000"),
        (-1000, "-95,000", "0"),
        (1e12, "0", "95,000,000,000,000"),
        (1e14, "0", "9.5e+15"),
    ],
)
def test_labels_of_edges(explored, write_rows, tmp_path, scale, first, last):
    rows = [[scale * (0.2503 + i // 10 * 10)] for i in range(100)]
    page = explored(write_rows(tmp_path / "table.csv", ["x"], *rows))
    edges = page.description["columns"][0]["distribution"]["edges"]
    assert (edges[0], edges[-1]) == (first, last)


@pytest.mark.slow
@pytest.mark.usefixtures("fake_clock")
def test_an_export_says_how_far_it_is(explored, sampled):
    page = explored(sampled)
    page.run("export", {"odd": "drop"}, time_limit=2, report=None)
    told = [message for message in page.messages if "share" in message]
    shares, left = zip(*[(m["share"], m["seconds_left"]) for m in told], strict=True)
    assert 0 < shares[0] < 0.5 < shares[-1] <= 1
    assert left[0] > left[-1] >= 0
    assert not any("left" in message["text"] for message in page.messages)


@pytest.mark.slow
@pytest.mark.usefixtures("fake_clock")
def test_a_certificate_ticks(explored, table):
    page = explored(table)
    roles = {"person": "drop", "nothing": "drop"}
    proven = page.run("certificate", roles, certificate=1)
    ticks = [message["tick"] for message in page.messages if "tick" in message]
    bounds = [tick["bound"] for tick in ticks]
    assert bounds == sorted(bounds)
    assert len(bounds) > 1
    assert 0 < bounds[-1] <= proven["bound"] <= proven["loss"]
    assert proven["loss"] == page.run("preview", roles)["loss"]
    assert "the optimum" in proven["verdict"]
    assert proven["is_sample"] is False
    with pytest.raises(RequestError, match="averages"):
        page.run("certificate", roles, certificate=1, method="kaim")


def test_nothing_is_printed_when_the_server_is_gone(monkeypatch, capsys):
    monkeypatch.setattr(_workers.signal, "signal", lambda *handler: None)
    monkeypatch.setattr(_workers, "_end_with_server", lambda pipe: None)
    monkeypatch.setitem(_workers.JOBS, "preview", lambda send: send({"text": "half"}))
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    _workers._work("preview", (), theirs)
    assert capsys.readouterr() == ("", "")
