"""Docstrings, the README and the examples run."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

import sk_microagg
import sk_microagg.datasets
from sk_microagg import _kernels
from sk_microagg._utils._formatting import three_digits
from sk_microagg.builders import Pool
from sk_microagg.refiners import Partition

ROOT = Path(__file__).parents[1]
PACKAGES = ["sk_microagg"] + [
    module.name
    for module in pkgutil.walk_packages(sk_microagg.__path__, "sk_microagg.")
    if module.ispkg and "._" not in module.name
]
MODULES = ["sk_microagg"] + [
    module.name for module in pkgutil.walk_packages(sk_microagg.__path__, "sk_microagg.")
]
FOLDERS = {}
for module in MODULES:
    FOLDERS.setdefault(".".join(module.split(".")[:2]), []).append(module)
REPLAYED = ("command_line", "getting_started", "how_good")
PUBLIC = {
    f"{package}.{name}": getattr(importlib.import_module(package), name)
    for package in PACKAGES
    for name in importlib.import_module(package).__all__
    if name != "__version__"
}


# A case per folder, which are of about the same length: modules have few examples each.
@pytest.mark.slow_but_first
@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings(folder):
    failed = [
        name for name in FOLDERS[folder] if doctest.testmod(importlib.import_module(name)).failed
    ]
    assert failed == []


# doctest.testmod looks for Python functions only.
@in_one_case("name", [name for name, value in vars(_kernels).items() if callable(value)])
def test_docstring_of_a_compiled_class(name):
    docstring = getattr(_kernels, name).__doc__
    test = doctest.DocTestParser().get_doctest(docstring, {}, name, None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_everything_public_has_an_example():
    section = re.compile(r"^ *Examples\n *--------\n", re.MULTILINE)
    assert [name for name, value in PUBLIC.items() if not section.search(value.__doc__)] == []


def test_every_parameter_is_documented():
    undocumented = [
        f"{parameter} of {name}"
        for name, value in PUBLIC.items()
        for parameter in inspect.signature(value).parameters
        if parameter not in ("args", "kwargs")
        and not re.search(rf"^ *[*]*{parameter} : ", value.__doc__, re.MULTILINE)
    ]
    assert undocumented == []


def test_every_parameter_of_the_methods_of_a_public_kernel_is_documented():
    undocumented = [
        f"{parameter} of {kernel.__name__}.{name}"
        for kernel in (Pool, Partition)
        for name, method in inspect.getmembers(kernel, inspect.isroutine)
        if not name.startswith("_")
        for parameter in list(inspect.signature(method).parameters)[1:]
        if not re.search(rf"^ *(\w+, )*{parameter}(, \w+)* : ", method.__doc__, re.MULTILINE)
    ]
    assert undocumented == []


@pytest.mark.slow
def test_python_in_the_readme():
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0


# Dask says this to pandas 3.1.
@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame")
@pytest.mark.parametrize("page", sorted(ROOT.glob("doc/*.rst")), ids=lambda path: path.stem)
def test_python_in_the_documentation(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_all_code_in_the_documentation_is_run():
    # What starts with >>> is, and what is typed into a shell on some pages is replayed by a test of
    # the command line.
    for page in [ROOT / "README.md", *ROOT.glob("doc/*.rst")]:
        kinds = set(re.findall(r"code-block:: *(\w+)", page.read_text()))
        # The script of a page on constraints is run by a test of the command line.
        others = (
            {"console"}
            if page.stem in REPLAYED
            else {"python"}
            if page.stem == "extending"
            else set()
        )
        assert kinds <= {"text"} | others, page


def test_everything_public_is_in_the_reference():
    names = re.findall(r"^   (\w+)$", (ROOT / "doc" / "api.rst").read_text(), re.MULTILINE)
    assert sorted(names) == sorted({name.rpartition(".")[2] for name in PUBLIC})


@pytest.mark.slow
@pytest.mark.usefixtures("facts_only")
def test_the_samples_of_the_documentation(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "doc")
    document = importlib.import_module("samples").write_samples(tmp_path, 0.2)
    assert {"report.html", "card.html"} < {path.name for path in tmp_path.iterdir()}
    assert document["risk"]["is_acceptable"]
    visits, release = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("visits", "release"))
    # The card says that the order is random: it is.
    assert release["diagnosis"].tolist() != visits["diagnosis"].tolist()
    assert sorted(release["diagnosis"]) == sorted(visits["diagnosis"])
    assert "random" in (tmp_path / "card.html").read_text(encoding="utf-8")
    # By least squares: income by age and sex of those with an income.
    for side, table in (("before", visits), ("after", release)):
        known = table.dropna(subset=["income", "age", "sex"])
        X = known.assign(one=1.0, sex=known["sex"] == "m")[["one", "sex", "age"]].to_numpy(float)
        expected = np.linalg.lstsq(X, known["income"].to_numpy(float), rcond=None)[0]
        found = [one[side]["text"].split()[0] for one in document["analyses"][0]["terms"]]
        assert found == [*map(three_digits, expected)]
