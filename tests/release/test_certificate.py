"""The certificate in a summary is what was proven about the release that was written."""

import re

import numpy as np
import pandas as pd
import pytest

from sk_microagg import _table_aggregator
from sk_microagg._bound import bound_of
from sk_microagg.metrics import information_loss, optimality_gap

COLUMNS = ["count", "size"]
CHOSEN = {"quasi_identifiers": COLUMNS, "k": 4}


@pytest.fixture
def proofs(monkeypatch):
    """Records, k and bound of every proof."""
    proofs = []

    def prove(X, k, time_limit, **settings):
        bound, trace = bound_of(X, k, time_limit, **settings)
        proofs.append((X, k, bound))
        return bound, trace

    monkeypatch.setattr(_table_aggregator, "bound_of", prove)
    return proofs


def standardized(table):
    return ((table - table.mean()) / table.std(ddof=0)).to_numpy()


def groups_of(release):
    """Records that are released alike are one group."""
    return np.unique(release, axis=0, return_inverse=True)[1]


@pytest.mark.usefixtures("fake_clock")
def test_gap_is_that_of_the_release(release, numbers, tmp_path, proofs, monkeypatch):
    output = tmp_path / "out.csv"
    facts = release(numbers, output, **CHOSEN, certificate=0.3).facts
    assert [*facts].index("certificate") == [*facts].index("information loss") + 1
    [(scaled, k, bound)] = proofs
    assert k == 4
    before, after = pd.read_csv(numbers)[COLUMNS], pd.read_csv(output)[COLUMNS]
    np.testing.assert_allclose(scaled, standardized(before))
    # A second proof might come to another bound in the same time.
    monkeypatch.setattr("sk_microagg.metrics._loss.loss_bound", lambda *_, **__: bound)
    gap = 100 * optimality_gap(scaled, groups_of(after), 4)
    assert gap == pytest.approx(100 * (information_loss(scaled, groups_of(after)) / bound - 1))

    told = re.fullmatch(
        r"at most (\S+)% above the optimum: no partition of the scaled records into groups of at "
        r"least 4 loses less than (\S+)%",
        facts["certificate"],
    )
    # Rounded, but only to the safe side.
    assert gap <= float(told[1]) <= gap * 1.01 + 1e-4
    assert 100 * bound * 0.999 <= float(told[2]) <= 100 * bound


@pytest.mark.usefixtures("fake_clock")
def test_nothing_lost(release, write, tmp_path):
    path = write("t.csv", "a,b\n" + "1,2\n3,4\n" * 5)
    facts = release(path, tmp_path / "out.csv", certificate=0.1).facts
    assert facts["certificate"] == "optimal: nothing is lost"
    assert "certificate" not in release(path, tmp_path / "other.csv").facts


@pytest.mark.usefixtures("fake_clock")
def test_a_single_group(release, numbers, tmp_path):
    settings = {**CHOSEN, "k": 30, "certificate": 0.1}
    assert release(numbers, tmp_path / "out.csv", **settings).facts["certificate"] == (
        "optimal: no partition of the scaled records into groups of at least 30 loses less than "
        "100%"
    )


@pytest.mark.usefixtures("fake_clock")
def test_nothing_proven(release, numbers, tmp_path, monkeypatch):
    nothing = 0.0, np.empty((0, 2))
    monkeypatch.setattr(_table_aggregator, "bound_of", lambda *_, **__: nothing)
    facts = release(numbers, tmp_path / "out.csv", **CHOSEN, certificate=0.1).facts
    assert facts["certificate"] == "nothing was proven: the bound on the loss is 0"


@pytest.mark.usefixtures("fake_clock")
def test_blocks(release, tmp_path, write, proofs):
    # More records than a block of 5000 k holds, of which the proof takes all.
    cells = np.random.default_rng(0).normal(size=(10_001, 1))
    path = write("t.csv", "a\n" + "\n".join(f"{cell:.6f}" for (cell,) in cells) + "\n")
    facts = release(path, tmp_path / "out.csv", k=2, certificate=0.2).facts
    [(scaled, _, _)] = proofs
    assert scaled.shape == (10_001, 1)
    assert "above the optimum" in facts["certificate"]


@pytest.mark.usefixtures("fake_clock")
@pytest.mark.parametrize("columns", ["age,town", "age,weight", "age,town,height,weight"])
def test_any_columns(release, patients, tmp_path, proofs, columns):
    settings = {"quasi_identifiers": columns.split(","), "drop": ["id"], "certificate": 0.3}
    summary = release(patients, tmp_path / "out.csv", **settings)
    [(points, k, bound)] = proofs
    assert (len(points), k) == (54, 5)
    loss = summary.to_dict()["information_loss"]
    gap = float(re.search(r"at most (\S+)% above", summary.facts["certificate"])[1]) / 100
    assert 0 < bound < loss * 1.01
    assert gap == pytest.approx(loss / bound - 1, rel=0.05, abs=0.01)


@pytest.mark.slow
@pytest.mark.usefixtures("fake_clock")
@pytest.mark.usefixtures("facts_only")
def test_report_holds_what_was_proven_once(release, numbers, tmp_path, proofs):
    report = tmp_path / "report.html"
    facts = release(numbers, tmp_path / "out.csv", **CHOSEN, certificate=0.3, report=report).facts
    assert len(proofs) == 1
    page = re.sub(r"<[^>]*>", "", report.read_text(encoding="utf-8"))
    proof = r"t most ([\d.]+)% above the optimum: no partition .*? loses less than ([\d.]+)%"
    (gap, bound), (own_gap, own_bound) = (
        map(float, re.search(proof, text).groups()) for text in (page, facts["certificate"])
    )
    # Coarser in a report, which others read: as true, and about as strong.
    assert own_gap <= gap < 1.5 * own_gap
    assert 0.8 * own_bound < bound <= own_bound


def test_release_is_written_before_the_proof(release, numbers, tmp_path, monkeypatch):
    def interrupt(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(_table_aggregator, "bound_of", interrupt)
    with pytest.raises(KeyboardInterrupt):
        release(numbers, tmp_path / "out.csv", **CHOSEN, certificate=10)
    assert (tmp_path / "out.csv").exists()
