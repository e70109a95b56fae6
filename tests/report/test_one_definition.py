"""A figure has one definition: in summary, page, JSON and `risk`, and by the two files."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from example_tables.pages import Reader

from sk_microagg._utils._formatting import percent, three_digits
from sk_microagg.cli import main
from sk_microagg.datasets._files import visits_csv
from sk_microagg.release import ReleaseRequest, release_file
from sk_microagg.release._release import Progress

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("few_steps", "facts_only"),
    pytest.mark.filterwarnings("ignore:Most weights", "ignore:With a weight, groups"),
]

RNG = np.random.default_rng(0)


def visits(folder):
    (folder / "in.csv").write_bytes(visits_csv())
    return {"drop": ["id"], "sensitive": ["diagnosis"], "certificate": 0.5}


def adult(folder, data_folder):
    table = pd.read_csv(data_folder / "adult.csv")[::100]
    table.to_csv(folder / "in.csv", index=False)
    return {"sensitive": [table.columns[-1]]}


def tarragona(folder, data_folder):
    table = pd.read_csv(data_folder / "tarragona.csv", header=None, sep=None, engine="python")
    table = table.iloc[1:301, :5].astype(float).set_axis([*"abcde"], axis=1)
    table.assign(w=RNG.uniform(1, 50, len(table)).round(1)).to_csv(folder / "in.csv", index=False)
    return {"weight": "w", "certificate": 0.5}


def gaps(folder):
    n = 200
    table = pd.DataFrame({"age": RNG.integers(20, 80, n), "size": RNG.normal(170, 9, n).round()})
    table["town"] = RNG.choice(["Bonn", "Ulm", "Hof"], n, p=[0.6, 0.37, 0.03])
    table["size"] = table["size"].mask(RNG.random(n) < 0.3)
    table["town"] = table["town"].mask(RNG.random(n) < 0.1)
    table.to_csv(folder / "in.csv", index=False)
    return {}


def intervals(folder):
    visits(folder)
    return {"drop": ["id", "diagnosis"], "release": "generalized"}


def units(folder):
    n = 240
    table = pd.DataFrame({"person": np.arange(n) // 3, "age": RNG.integers(20, 80, n)})
    table["income"] = RNG.normal(3000, 800, n).round()
    table["ward"] = RNG.choice(["a", "b"], n)
    table.to_csv(folder / "in.csv", index=False)
    return {"unit": "person", "quasi_identifiers": ["age", "income"]}


TABLES = {one.__name__: one for one in (visits, adult, tarragona, gaps, intervals, units)}


class Made:
    """A release with its summary, report and card, and both files as pandas reads them."""

    def __init__(self, folder, settings):
        paths = {name: folder / name for name in ("report.json", "report.html", "card.json")}
        request = ReleaseRequest(folder / "in.csv", folder / "out.csv", k=5, **settings)
        request = request.replace(report=str(paths["report.json"]), card=str(paths["card.json"]))
        self.summary = release_file(request, progress=Progress())
        pages = request.replace(report=str(paths["report.html"]), card=None, overwrite=True)
        release_file(pages.replace(certificate=None), progress=Progress())
        self.report = json.loads(paths["report.json"].read_text(encoding="utf-8"))
        self.page = Reader(paths["report.html"].read_text(encoding="utf-8"))
        self.card = json.loads(paths["card.json"].read_text(encoding="utf-8"))
        self.facts = self.summary.to_dict()
        # What the command line takes for missing; * stands for any value.
        self.before, self.after = (
            pd.read_csv(folder / name, na_values=["?", "*"]) for name in ("in.csv", "out.csv")
        )
        self.names = self.facts["anonymized"]
        self.groups = self.after.groupby(self.names, dropna=False, sort=False).ngroup()
        self.settings, self.folder = settings, folder


@pytest.fixture(params=TABLES, scope="module")
def made(request, tmp_path_factory, data_folder, few_steps, small_attacks):
    folder = tmp_path_factory.mktemp(request.param)
    make = TABLES[request.param]
    takes_data = request.param in ("adult", "tarragona")
    return Made(folder, make(folder, data_folder) if takes_data else make(folder))


def is_number(column):
    return column.dtype.kind in "iuf"


def in_all(made, value, name):
    """Whether a figure is on the page, as the text that goes with it."""
    return any(percent(value) in cell for cell in made.page.row(name))


def test_the_loss(made):
    loss = made.facts["information_loss"]
    assert made.report["loss"]["total"] == {"value": loss, "text": percent(loss)}
    assert made.page.row("Information loss")[0] == percent(loss)
    assert re.search(rf"information loss +{re.escape(percent(loss))}", str(made.summary))
    up = float(re.search(r"at most ([\d.]+)%", made.card["information_loss"])[1]) / 100
    assert loss <= up <= loss * 1.1 + 1e-12


def test_the_loss_of_each_column(made):
    if made.settings.get("release") == "generalized":
        pytest.skip("The loss of intervals is that of their widths.")
    losses = {one["column"]: one["loss"] for one in made.report["loss"]["columns"]}
    own = {}
    for name in made.names:
        column = made.before[name]
        if is_number(column):
            if column.isna().any():
                continue  # A flag counts as well.
            within = column - column.groupby(made.groups).transform("mean")
            own[name] = (within**2).sum() / ((column - column.mean()) ** 2).sum()
        else:
            texts = column.fillna("(missing)")
            shares = texts.groupby(made.groups).value_counts(normalize=True)
            equal = (shares**2).groupby(level=0).sum()
            sizes = made.groups.value_counts()
            in_table = (texts.value_counts(normalize=True) ** 2).sum()
            own[name] = float(((1 - equal) * sizes).sum() / len(texts) / (1 - in_table))
    assert own
    for name, loss in own.items():
        assert losses[name]["value"] == pytest.approx(loss, abs=1e-12)
        assert losses[name]["text"] == percent(loss) == made.page.row(name)[1]
    if len(own) == len(made.names) and all(is_number(made.before[name]) for name in own):
        mean = np.mean([*own.values()])
        assert made.facts["information_loss"] == pytest.approx(mean)


def test_missing_values(made):
    for one in made.report["loss"]["columns"]:
        for side, table in (("before", made.before), ("after", made.after)):
            share = table[one["column"]].isna().mean()
            assert one[f"missing_{side}"]["value"] == pytest.approx(share)
            if share:
                assert in_all(made, share, one["column"])


def test_the_proof(made):
    certificate = made.report["certificate"]
    if certificate is None:
        assert "certificate" not in made.facts
        return
    verdict = f"{certificate['verdict']}: {certificate['reason']}"
    assert made.facts["certificate"] == verdict
    assert certificate["loss"]["value"] == pytest.approx(made.facts["information_loss"])
    gap = certificate["loss"]["value"] / certificate["bound"]["value"] - 1
    assert certificate["gap"] == pytest.approx(gap)
    up = float(re.search(r"at most ([\d.]+)% above", made.card["proven_gap"])[1]) / 100
    assert gap <= up <= gap * 1.1


def test_groups_and_unique_rows(made):
    sizes = made.groups.value_counts()
    protection = made.report["protection"]
    assert protection["k_achieved"] == made.facts["anonymity_level"] == sizes.min()
    assert protection["distinct_rows"] == made.card["groups"] == len(sizes)
    equal = made.before.groupby(made.names, dropna=False)[made.names[0]].transform("size")
    unique = float((equal == 1).mean())
    told = made.report["risk"]["unique_before"]
    assert told["value"] == pytest.approx(unique)
    assert told["text"] == f"{(equal == 1).sum():,} of {len(equal):,} records ({percent(unique)})"
    assert made.page.row("Unique rows, original")[0] == told["text"]


def weighted(made):
    return made.before["w"] if "w" in made.before else pd.Series(1.0, made.before.index)


def test_moments_and_correlations(made):
    utility = made.report["utility"]
    if utility is None:
        return
    w = weighted(made)
    numbers = [name for name in made.names if is_number(made.before[name])]
    assert {one["column"] for one in utility["moments"]} == {*numbers}
    for one in utility["moments"]:
        for side, table in (("before", made.before), ("after", made.after)):
            known = table[one["column"]].dropna()
            mean = np.average(known, weights=w[known.index])
            variance = np.average((known - mean) ** 2, weights=w[known.index])
            deviation = np.sqrt(variance * len(known) / (len(known) - 1))
            assert one["mean"][side] == pytest.approx(mean)
            assert one["deviation"][side] == pytest.approx(deviation)
            assert three_digits(mean) in one["mean"]["text"]
        shown = made.page.row(one["column"], 2)
        assert shown[:2] == [one["mean"]["text"], one["deviation"]["text"]]
    for one in utility["correlations"]:
        for side, table in (("before", made.before), ("after", made.after)):
            known = table[one["columns"]].dropna()
            covariances = np.cov(known.T, aweights=w[known.index])
            expected = covariances[0, 1] / np.sqrt(covariances[0, 0] * covariances[1, 1])
            assert one["correlation"][side] == pytest.approx(expected, abs=1e-9)
    for one in utility["categories"]:
        for side, table in (("before", made.before), ("after", made.after)):
            known = table[one["column"]].dropna().astype(str)
            share = np.average(known == one["category"], weights=w[known.index])
            assert one["share"][side] == pytest.approx(share)


def test_risks(made, capsys):
    arguments = ["risk", made.folder / "in.csv", made.folder / "out.csv"]
    arguments += ["-q", ",".join(made.names)]
    for role in ("sensitive", "unit", "weight"):
        for name in np.atleast_1d(made.settings.get(role, [])):
            arguments += [f"--{role}", name]
    assert main([*map(str, arguments)]) == 0
    printed = capsys.readouterr().out
    linkage = made.report["risk"]["linkage"]
    if linkage is not None:
        told = re.search(r"re-identified +(\S+) of the records are expected to be, (\S+)", printed)
        expected = [linkage[name] for name in ("expected_re_identifications", "if_row_is_known")]
        assert [*told.groups()] == [one["text"] for one in expected]
        assert made.page.row("The same, if the row is known")[0] == expected[1]["text"]
        # At the top, what is known of unchanged columns makes a row known, too.
        by_unchanged = made.report["unchanged"]["if_row_is_known"]
        is_larger = by_unchanged and by_unchanged["value"] > expected[1]["value"] * (1 + 1e-9)
        words = "".join(made.page.row("Expected re-identifications"))
        assert expected[1 if is_larger else 0]["text"] in words
    after = made.report["risk"]["after"]["prosecutor"]
    if "unit" not in made.settings and not made.report["unchanged"]["columns"]:
        assert after["largest"]["value"] == pytest.approx(1 / made.groups.value_counts().min())
        assert after["mean"]["value"] == pytest.approx(made.groups.nunique() / len(made.groups))
    if "unit" in made.settings:
        of_one = made.before.groupby([made.groups, "person"]).size()
        share = (of_one / of_one.groupby(level=0).transform("sum")).max()
        assert made.facts["unit_share"] == pytest.approx(share)
        told = made.report["protection"]["largest_unit_share"]
        assert told == {"value": pytest.approx(share), "text": percent(share)}
        assert f"at most {percent(share)} of the rows of a class" in printed
        assert f"at most {percent(share)} of the rows of a group" in str(made.summary)


def test_columns_released_unchanged(made, capsys):
    unchanged = made.report["unchanged"]
    if not unchanged["columns"]:
        return
    found = made.facts["singled_out"]
    for name in ("unique", "unique_with_release"):
        assert unchanged[name]["value"] == pytest.approx(found[name])
        assert f"{unchanged[name]['text']} are" in str(made.summary) or not found[name]
    expected = unchanged["if_row_is_known"]
    assert expected["value"] == pytest.approx(found["expected_matches"])
    words = f"re-identifies {expected['text']} of the records"
    assert words in " ".join(str(made.summary).split())
    names = [*made.names, *unchanged["columns"]]
    n_classes = made.after.groupby(names, dropna=False).ngroups
    if "unit" not in made.settings:
        assert expected["value"] == pytest.approx(n_classes / len(made.after))


def test_what_groups_disclose(made):
    for one in made.report["sensitive"]:
        name = re.search(r"'(.*)'", one["column"])[1]
        n_values = made.before[name].groupby(made.groups).nunique(dropna=False)
        homogeneous = float((n_values[made.groups] == 1).mean())
        assert one["homogeneous"]["value"] == pytest.approx(homogeneous)
        assert one["different_values"] == n_values.min()
        words = one["homogeneous"]["text"] if homogeneous else "no records"
        line = f"{name}: {words} are in groups that share one value"
        assert any(each.startswith(line) for each in made.facts["homogeneity"])
