"""A fitted model from another version, which may lack a part, says so."""

import pickle

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from marks import in_one_case

from sk_microagg import KAIM, MicroAggregator, __version__
from sk_microagg.generalization import KMember
from sk_microagg.scale import DaskTableAggregator

X = np.random.default_rng(0).normal(size=(20, 2))
FRAME = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=2)
INCOMPLETE = r"^This {} is incomplete, since its {} has no '{}': it was fitted with sk_microagg {}"


def shipped(model, fitted_with="0.0.1"):
    """A copy of a model as another version would have pickled it."""
    model = pickle.loads(pickle.dumps(model))
    if fitted_with is None:
        del model._sk_microagg_version
    else:
        model._sk_microagg_version = fitted_with
    return model


def use(model):
    for method in ("transform", "score"):
        if hasattr(model, method):
            yield getattr(model, method), FRAME if isinstance(model, DaskTableAggregator) else X


@pytest.mark.slow
@in_one_case(
    ("model", "part"),
    [
        (MicroAggregator(k=4), "_space"),
        (MicroAggregator(k=4), "n_jobs"),
        (KAIM(k=4, random_state=0), "_groups"),
        (KMember(k=4, random_state=0), "_training_digest"),
        (DaskTableAggregator(k=4, random_state=0), "_router"),
    ],
)
@in_one_case("fitted_with", ["0.0.1", None])
def test_a_part_is_missing(model, part, fitted_with):
    model.fit(FRAME if isinstance(model, DaskTableAggregator) else X)
    old = shipped(model, fitted_with)
    delattr(old, part)
    name = type(model).__name__
    written = "of an unknown version" if fitted_with is None else fitted_with
    message = INCOMPLETE.format(name, name, part, written)
    message += f", and this is {__version__}. Fit it again with this version"
    for method, table in use(old):
        with pytest.raises(ValueError, match=message):
            method(table)


@in_one_case(
    ("model", "part", "name", "lost"),
    [
        (MicroAggregator(k=4), "_cells", "Cells", "weights"),
        (KAIM(k=4, random_state=0), "_groups", "GeneralizedGroups", "_domains"),
    ],
)
def test_a_part_of_a_part_is_missing(model, part, name, lost):
    old = shipped(model.fit(X))
    del vars(getattr(old, part))[lost]
    message = INCOMPLETE.format(type(model).__name__, name, lost, "0.0.1")
    for method, table in use(old):
        with pytest.raises(ValueError, match=message):
            method(table)


def test_the_version_goes_with_the_model():
    model = MicroAggregator(k=4).fit(X)
    assert pickle.loads(pickle.dumps(model))._sk_microagg_version == __version__
    old = shipped(model)
    assert pickle.loads(pickle.dumps(old))._sk_microagg_version == "0.0.1"
    assert old.fit(X)._sk_microagg_version == __version__


class NotOurs:
    def transform(self, X):
        return X.no_such_attribute

    def fit(self, X):
        return self


def test_mistakes_of_others_are_not_ours():
    model = MicroAggregator(k=4, scaler=None).fit(X)
    model._space._scaler = NotOurs()
    with pytest.raises(AttributeError, match="no_such_attribute"):
        model.transform(X)


def test_an_error_of_our_own_is_no_matter_of_versions(monkeypatch):
    """A model of this version lacks nothing: what is missing then is our mistake."""
    model = pickle.loads(pickle.dumps(MicroAggregator(k=4).fit(X)))
    del vars(model._cells)["weights"]
    with pytest.raises(AttributeError, match="weights"):
        model.transform(X[:5])
