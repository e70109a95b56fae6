"""What a report says about a proof, and shows of it."""

import math
import re

import numpy as np
import pytest

import sk_microagg.metrics._loss
from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg._utils._formatting import percent
from sk_microagg._utils._space import scale
from sk_microagg.datasets import load_visits
from sk_microagg.metrics import Certificate, loss_bound
from sk_microagg.refiners import Annealing, IteratedLocalSearch
from sk_microagg.report import make_report
from sk_microagg.scale import DaskTableAggregator

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_steps", "facts_only")]

X = np.random.RandomState(0).gamma(2, size=(90, 3)) * [1, 10, 100]
PICTURE = 'aria-label="Information loss and proven lower bound over time"'


@pytest.fixture
def path(tmp_path):
    return tmp_path / "report.html"


@pytest.fixture(scope="module")
def aggregator():
    return MicroAggregator(k=4).fit(X)


def release_of(aggregator):
    return aggregator.centroids_[aggregator.labels_]


def report(path, aggregator, certificate):
    make_report(aggregator, X, release_of(aggregator), certificate=certificate).save(path)
    return path.read_text(encoding="utf-8")


def words(html):
    return " ".join(re.sub(r"<[^>]*>", "", html).split())


@pytest.mark.usefixtures("fake_clock", "drawn")
def test_line_and_picture(path, aggregator):
    html = report(path, aggregator, 0.2)
    assert re.search(
        r"At most \S+% above the optimum: no partition of the scaled records into groups of at "
        r"least 4 loses less than \S+%\.",
        words(html),
    )
    assert html.count(PICTURE) == 1
    assert "range of the optimum" in html


def test_nobody_has_to_know(path, aggregator):
    html = report(path, aggregator, None)
    assert "optimum" not in html
    assert PICTURE not in html


@pytest.mark.usefixtures("fake_clock")
def test_what_was_proven_before_is_not_proven_again(path, aggregator, monkeypatch):
    scaled = scale(aggregator.scaler_, X)
    proof = loss_bound(scaled, 4, time_limit=0.2, return_trace=True)
    monkeypatch.setattr(sk_microagg.metrics._loss, "loss_bound", None)
    text = words(report(path, aggregator, proof))
    certificate = Certificate(aggregator.information_loss_, *proof, k=4)
    verdict = certificate.verdict()
    assert f"{verdict[0].upper()}{verdict[1:]}: {certificate.reason()}." in text
    assert f"Information loss: {percent(aggregator.information_loss_)}." in text


@pytest.mark.parametrize("refiner", [IteratedLocalSearch(max_iter=50), Annealing(max_iter=30_000)])
@pytest.mark.usefixtures("fake_clock")
def test_search_and_proof(path, refiner):
    searched = MicroAggregator(k=4, refiner=refiner, random_state=0).fit(X)
    html = report(path, searched, 0.2)
    assert PICTURE in html
    assert 'aria-label="Information loss over the time of the search"' in html


def test_losses_of_a_hot_search_are_called_so(path):
    refiner = Annealing(max_iter=2_000_000)
    searched = MicroAggregator(k=4, refiner=refiner, random_state=0).fit(X)
    searched.refiner_.trace_[1, 2] = 2 * searched.refiner_.trace_[0, 2]
    assert "The information loss of the current partition." in words(report(path, searched, None))


@pytest.mark.usefixtures("fake_clock")
def test_optimal(path):
    alone = MicroAggregator(k=50).fit(X)
    text = words(report(path, alone, 0.1))
    assert "Optimal: no partition of the scaled records into groups of at least 50 loses" in text
    assert "The true optimum lies between" not in text
    nothing_lost = MicroAggregator(k=1).fit(X)
    assert "Optimal: nothing is lost." in words(report(path, nothing_lost, 0.1))


def test_nothing_proven(path, aggregator):
    html = report(path, aggregator, (0.0, np.empty((0, 2))))
    assert "Nothing was proven: the bound on the loss is 0." in words(html)
    assert PICTURE in html


@pytest.mark.usefixtures("drawn")
def test_tables_with_categories_have_it_as_exactly():
    visits = load_visits().drop(columns="id")
    aggregator = TableAggregator(k=5, refiner=None)
    release = aggregator.fit_transform(visits)
    proof = (0.001, np.array([[0.1, 0.001]]))
    report = make_report(aggregator, visits, release, certificate=proof)
    certificate = report.to_dict()["certificate"]
    loss = aggregator.information_loss_
    assert certificate["gap"] == pytest.approx(loss / 0.001 - 1)
    assert certificate["verdict"] == Certificate(loss, *proof, k=5).verdict()
    assert PICTURE in report.to_html()


@pytest.mark.parametrize(
    ("certificate", "error", "message"),
    [
        (0, ValueError, r"certificate=0\b"),
        (math.inf, ValueError, r"certificate=inf\b"),
        ("long", TypeError, "certificate='long'"),
        (True, TypeError, r"certificate=True\b"),
        ((0.99, np.array([[0.1, 0.99]])), ValueError, r"bound=0.99\b"),
        ((0.01, [0.1, 0.01]), ValueError, r"bound_trace of shape \(2,\)"),
    ],
)
def test_what_a_certificate_must_be(path, aggregator, certificate, error, message):
    with pytest.raises(error, match=message):
        report(path, aggregator, certificate)
    assert not path.exists()


def test_numbers_in_memory_only(path):
    kaim = KAIM(k=4, random_state=0)
    with pytest.raises(
        TypeError,
        match=r"certificate=10\b",
    ):
        make_report(kaim, X, kaim.fit_transform(X), certificate=10).save(path)
    import dask.dataframe as dd
    import pandas as pd

    table = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=2)
    parts = DaskTableAggregator(k=4, random_state=0)
    release = parts.fit_transform(table).compute()
    with pytest.raises(
        TypeError,
        match=r"certificate=10\b",
    ):
        make_report(parts, table.compute(), release, certificate=10).save(path)
    assert not path.exists()
