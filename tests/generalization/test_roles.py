"""Columns with roles: quasi-identifiers are generalized, others unchanged, or not released."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from example_tables.mixed import HIERARCHIES, draw
from numpy.testing import assert_array_equal

from sk_microagg import KAIM
from sk_microagg.generalization import KMember
from sk_microagg.metrics import risk_utility
from sk_microagg.report import make_report

MAKERS = [KAIM, KMember]


@pytest.fixture(name="X")
def table():
    return draw(60)


@pytest.fixture(name="visits")
def table_with_roles(X):
    """The table between other columns, whose cells could not be generalized."""
    visits = X.set_axis(range(100, 160), axis=0)
    visits.insert(0, "name", [[f"person {row}"] for row in range(60)])
    visits.insert(2, "cost", np.where(np.arange(60) == 7, np.inf, 1.5))
    visits["illness"] = pd.Categorical(["flu", "cold"] * 30, ["cold", "flu", "plague"])
    return visits


@pytest.mark.parametrize("make", MAKERS)
def test_quasi_identifiers_are_released_as_without_the_others(make, X, visits):
    alone = make(3, hierarchies=HIERARCHIES, random_state=0)
    expected = alone.fit_transform(X)
    roles = {"sensitive": ["cost", "illness"], "drop": "name"}
    model = make(3, hierarchies=HIERARCHIES, random_state=0, **roles)
    release = model.fit_transform(visits)
    names = [name for name in visits.columns if name != "name"]
    assert list(release.columns) == list(model.get_feature_names_out()) == names
    assert_array_equal(release[X.columns].astype(object), expected)
    assert_array_equal(model.labels_, alone.labels_)
    assert model.information_loss_ == alone.information_loss_
    assert model.value_missing_rate_ == alone.value_missing_rate_
    assert release.index.equals(visits.index)
    pd.testing.assert_series_equal(release["cost"], visits["cost"])
    assert release["illness"].tolist() == visits["illness"].tolist()
    # Nobody has the plague: somebody who had was filtered out.
    assert release["illness"].cat.categories.tolist() == ["cold", "flu"]
    same = make(3, hierarchies=HIERARCHIES, random_state=0, quasi_identifiers=list(X.columns))
    pd.testing.assert_frame_equal(same.set_params(drop="name").fit_transform(visits), release)


@pytest.mark.parametrize("make", MAKERS)
def test_new_records(make, X, visits):
    alone = make(3, hierarchies=HIERARCHIES, random_state=0).fit(X)
    model = make(
        3, hierarchies=HIERARCHIES, random_state=0, sensitive=["cost", "illness"], drop="name"
    ).fit(visits)
    new = visits[::-2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        moved, expected = model.transform(new), alone.transform(new[X.columns])
    assert_array_equal(moved[X.columns].astype(object), expected)
    pd.testing.assert_series_equal(moved["cost"], new["cost"])
    assert list(moved.columns) == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(visits.drop(columns="illness"))
    assert b"person 7" not in pickle.dumps(model)


def test_every_kind_of_table(X):
    X = X.astype(object).where(X.notna(), None)
    expected = KAIM(3, quasi_identifiers=X.columns[:2], random_state=0).fit_transform(X)
    by_number = KAIM(3, quasi_identifiers=[0, 1], random_state=0)
    for table in (X.to_numpy(), X.to_numpy().tolist()):
        release = by_number.fit_transform(table)
        assert_array_equal(release.astype(str), expected.astype(object).to_numpy().astype(str))
    frame = pl.DataFrame({name: X[name].tolist() for name in X.columns})
    model = KAIM(3, quasi_identifiers=list(X.columns[:2]), random_state=0)
    assert_array_equal(model.fit_transform(frame)[:, :2], expected.to_numpy()[:, :2])
    assert list(model.set_output(transform="polars").fit_transform(frame).columns) == [*X.columns]
    model.set_params(drop=list(X.columns[2:])).set_output(transform="default")
    assert model.fit_transform(frame).shape == (60, 2)


def test_midpoints_among_unchanged_columns(visits):
    model = KAIM(3, quasi_identifiers=["age", "country"], output="midpoint", random_state=0)
    release = model.fit_transform(visits)
    assert release["age"].dtype == np.float64
    assert release["name"].tolist() == visits["name"].tolist()


def test_bad_roles(X):
    for roles, message in (
        ({"sensitive": "height"}, "^sensitive names 'height'"),
        ({"quasi_identifiers": "height"}, "^quasi_identifiers names 'height'"),
        ({"sensitive": "age", "drop": "age"}, "^Column 'age' is in both sensitive and drop"),
        ({"drop": list(X.columns)}, "^quasi_identifiers='auto'"),
        ({"drop": "age", "hierarchies": {"age": [1, 2]}}, "^hierarchies names 'age'; the columns"),
        ({"drop": "age", "weights": np.ones(X.shape[1])}, "must be . finite numbers of at least 0"),
    ):
        for make in MAKERS:
            if "weights" not in roles or make is KAIM:
                with pytest.raises(ValueError, match=message):
                    make(3, **roles).fit(X)


@pytest.mark.slow
def test_measures_are_about_quasi_identifiers(X, tmp_path):
    model = KAIM(3, sensitive="age", random_state=0)
    release = model.fit_transform(X)
    roles = {"sensitive": X["age"], "unchanged": X[["age"]]}
    report = make_report(model, X, release, **roles).save(tmp_path / "report.html")
    names = ", ".join(X.columns.drop("age"))
    assert f"{X.shape[1] - 1} columns: {names}" in report.read_text(encoding="utf-8")
    message = "quasi-identifiers"
    with pytest.raises(ValueError, match=message):
        risk_utility(X, [3], estimator=model)
    midpoints = KAIM(3, sensitive="age", output="midpoint", random_state=0)
    release = midpoints.fit_transform(X)
    with pytest.raises(ValueError, match=message):
        make_report(midpoints, X, release).save(tmp_path / "other.html")
