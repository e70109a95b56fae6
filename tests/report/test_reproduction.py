"""The code and the command in a report give the same release again."""

import re
import shlex
from html import unescape

import numpy as np
import pandas as pd
import pytest
from example_tables.patients import draw
from marks import exact_means
from pandas.testing import assert_frame_equal
from sklearn.preprocessing import RobustScaler

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg.builders import CBFS, MDAV
from sk_microagg.cli import main
from sk_microagg.privacy import LDiversity, TCloseness
from sk_microagg.refiners import Annealing, Exchange, IteratedLocalSearch, make_chain
from sk_microagg.report import make_report
from sk_microagg.tables import Hierarchy

pytestmark = pytest.mark.usefixtures("few_steps", "facts_only")

PATIENTS = draw()
NUMBERS = PATIENTS[["age", "code"]].assign(income=PATIENTS["income"].fillna(0))
WARDS = PATIENTS[["age", "ward", "code"]]
DIAGNOSIS = PATIENTS["diagnosis"]
TREE = Hierarchy.from_nested({"house": ["Cardiology", "Surgery", "Oncology", "Quarantine"]})


def code_in(path):
    html = path.read_text(encoding="utf-8")
    return unescape(re.search(r"<pre><code>(.*?)</code></pre>", html, flags=re.DOTALL)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "X", "arguments"),
    [
        (MicroAggregator(k=4), NUMBERS, {}),
        (
            MicroAggregator(
                k=4,
                builder=CBFS(growth="nc"),
                refiner=make_chain(Annealing(max_iter=500), Exchange()),
                scaler=RobustScaler(with_centering=False),
                random_state=np.int64(3),
                verbose=0,
            ),
            NUMBERS,
            {},
        ),
        (
            MicroAggregator(k=4, privacy=[LDiversity(2), TCloseness(0.7)], random_state=1),
            NUMBERS,
            {"sensitive": DIAGNOSIS},
        ),
        (
            MicroAggregator(k=3, refiner=IteratedLocalSearch(max_iter=20), random_state=0),
            NUMBERS,
            {"unit": np.arange(150) // 2, "strata": PATIENTS["smoker"]},
        ),
        (
            MicroAggregator(
                k=3, refiner=IteratedLocalSearch(max_iter=5, time_limit=np.inf), random_state=0
            ),
            NUMBERS,
            {},
        ),
        (MicroAggregator(k=4, scaler="target"), NUMBERS, {"y": PATIENTS["smoker"]}),
        (
            TableAggregator(
                k=4,
                drop=["name"],
                sensitive="diagnosis",
                privacy=LDiversity(2),
                categorical=["code"],
                column_weights={"age": 2.0, "ward": 0.5},
                hierarchies={},
                decimals={"income": -2},
            ),
            PATIENTS,
            {},
        ),
        (KAIM(k=4, weights=np.array([1.0, 2.0, 1.0]), random_state=5), WARDS, {}),
    ],
    ids=["default", "objects", "privacy", "units and strata", "inf", "target", "table", "kaim"],
)
@exact_means
@pytest.mark.filterwarnings("ignore:scaler='target'")
def test_code(tmp_path, estimator, X, arguments):
    release = estimator.fit_transform(X, **arguments)
    roles = {name: values for name, values in arguments.items() if name != "y"}
    path = make_report(estimator, X, release, **roles).save(tmp_path / "report.html")
    variables = {"X": X, **arguments}
    exec(code_in(path), variables)
    if isinstance(release, pd.DataFrame):
        assert_frame_equal(variables["release"], release)
    else:
        np.testing.assert_array_equal(variables["release"], release)


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_hierarchies_are_variables(tmp_path):
    hierarchies, ordinal = {"ward": TREE}, {"code": [10, 20, 31337, 99]}
    aggregator = TableAggregator(k=4, hierarchies=hierarchies, ordinal=ordinal)
    X = WARDS.fillna("Surgery")
    release = aggregator.fit_transform(X)
    path = make_report(aggregator, X, release).save(tmp_path / "report.html")
    variables = {"X": X, "hierarchies": hierarchies}
    exec(code_in(path), variables)
    assert_frame_equal(variables["release"], release)
    html = path.read_text(encoding="utf-8")
    assert "Not written here: hierarchies." in html


class Halves(MDAV):
    """A builder of a user, in a script."""


Halves.__module__ = "__main__"


@pytest.mark.slow
def test_what_cannot_be_imported_is_a_variable(tmp_path):
    aggregator = MicroAggregator(k=4, builder=Halves(), refiner=None)
    release = aggregator.fit_transform(NUMBERS)
    path = make_report(aggregator, NUMBERS, release).save(tmp_path / "report.html")
    variables = {"X": NUMBERS, "builder": Halves()}
    exec(code_in(path), variables)
    np.testing.assert_array_equal(variables["release"], release)


@pytest.mark.slow
def test_long_lists_are_complete(tmp_path):
    X = pd.DataFrame(np.random.RandomState(0).normal(size=(30, 25))).add_prefix("measurement_")
    aggregator = TableAggregator(k=4, quasi_identifiers=list(X.columns), refiner=None)
    path = make_report(aggregator, X, aggregator.fit_transform(X)).save(tmp_path / "report.html")
    assert all(repr(name) in code_in(path) for name in X.columns)


@pytest.mark.slow
def test_empty_settings_are_not_shown(tmp_path):
    aggregator = TableAggregator(k=4, hierarchies={}, column_weights={})
    path = make_report(aggregator, WARDS, aggregator.fit_transform(WARDS)).save(
        tmp_path / "report.html"
    )
    html = path.read_text(encoding="utf-8")
    assert "Hierarchies" not in html
    assert "{}" not in html
    assert "<code>None</code>" not in html


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--categorical", "code"], ["--method", "kaim"]])
def test_command(tmp_path, monkeypatch, options):
    folder = tmp_path / "a folder"
    folder.mkdir()
    PATIENTS.to_csv(folder / "in.csv", index=False)
    arguments = ["anonymize", folder / "in.csv", folder / "out.csv", "-k", 4, "--drop", "name"]
    arguments += ["--quiet", "--force", "--report", folder / "report.html", *options]
    assert main([str(argument) for argument in arguments]) == 0
    first = (folder / "out.csv").read_bytes()
    (folder / "out.csv").unlink()
    program, *typed = shlex.split(code_in(folder / "report.html"))
    assert program == "sk-microagg"
    assert "a folder" not in (folder / "report.html").read_text(encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main(typed) == 0
    assert (folder / "out.csv").read_bytes() == first


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ward", "ward, floor"])
def test_an_order_is_part_of_the_command(tmp_path, name):
    patients = PATIENTS[["age", "ward"]].set_axis(["age", name], axis=1)
    patients.to_csv(tmp_path / "in.csv", index=False)
    order = "Surgery<Oncology<Cardiology<Quarantine"
    arguments = ["anonymize", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "-k", "4"]
    arguments += ["--quiet", f"--ordinal={name}={order}", "--report", str(tmp_path / "report.html")]
    assert main(arguments) == 0
    [typed] = [part for part in shlex.split(code_in(tmp_path / "report.html")) if order in part]
    assert typed.replace('"', "") == f"--ordinal={name}={order}"
