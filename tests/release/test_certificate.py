"""The printed certificate is what was proven about the release that was written."""

import re

import numpy as np
import pandas as pd
import pytest

from sk_microagg import _table_aggregator
from sk_microagg._bound import bound_of
from sk_microagg.metrics import information_loss, optimality_gap

COLUMNS = ["count", "size"]
CHOSEN = ["-q", ",".join(COLUMNS), "-k", 4]


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


def certificate_in(printed):
    """The fact that is printed, in one line."""
    return " ".join(re.search(r"(?ms)^certificate (.*?)^\S", printed)[1].split())


def standardized(table):
    return ((table - table.mean()) / table.std(ddof=0)).to_numpy()


def groups_of(release):
    """Records that are released alike are one group."""
    return np.unique(release, axis=0, return_inverse=True)[1]


@pytest.mark.usefixtures("fake_clock")
def test_gap_is_that_of_the_release(run, numbers, tmp_path, proofs, monkeypatch):
    output = tmp_path / "out.csv"
    outcome = run("anonymize", numbers, output, *CHOSEN, "--certificate", 0.3)
    assert outcome.code == 0
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
        certificate_in(outcome.out),
    )
    # Rounded, but only to the safe side.
    assert gap <= float(told[1]) <= gap * 1.01 + 1e-4
    assert 100 * bound * 0.999 <= float(told[2]) <= 100 * bound


@pytest.mark.usefixtures("fake_clock")
def test_it_is_among_the_facts(run, numbers, tmp_path):
    printed = run("anonymize", numbers, tmp_path / "out.csv", *CHOSEN, "--certificate", 0.1).out
    names = [line.split("  ")[0] for line in printed.splitlines() if line[0] != " "]
    assert names.index("certificate") == names.index("information loss") + 1
    assert "certificate" not in run("anonymize", numbers, tmp_path / "2.csv", *CHOSEN).out


@pytest.mark.usefixtures("fake_clock")
def test_nothing_lost(run, write, tmp_path):
    path = write("t.csv", "a,b\n" + "1,2\n3,4\n" * 5)
    printed = run("anonymize", path, tmp_path / "out.csv", "--certificate", 0.1).out
    assert certificate_in(printed) == "optimal: nothing is lost"


@pytest.mark.usefixtures("fake_clock")
def test_a_single_group(run, numbers, tmp_path):
    arguments = [*CHOSEN[:2], "-k", 30, "--certificate", 0.1]
    printed = run("anonymize", numbers, tmp_path / "out.csv", *arguments).out
    assert certificate_in(printed) == (
        "optimal: no partition of the scaled records into groups of at least 30 loses less than "
        "100%"
    )


@pytest.mark.usefixtures("fake_clock")
def test_nothing_proven(run, numbers, tmp_path, monkeypatch):
    nothing = 0.0, np.empty((0, 2))
    monkeypatch.setattr(_table_aggregator, "bound_of", lambda *_, **__: nothing)
    printed = run("anonymize", numbers, tmp_path / "out.csv", *CHOSEN, "--certificate", 0.1).out
    assert certificate_in(printed) == "nothing was proven: the bound on the loss is 0"


@pytest.mark.usefixtures("fake_clock")
def test_blocks(run, tmp_path, write, proofs):
    # More records than a block of 5000 k holds, of which the proof takes all.
    cells = np.random.default_rng(0).normal(size=(10_001, 1))
    path = write("t.csv", "a\n" + "\n".join(f"{cell:.6f}" for (cell,) in cells) + "\n")
    outcome = run("anonymize", path, tmp_path / "out.csv", "-k", 2, "--certificate", 0.2)
    assert outcome.code == 0
    [(scaled, _, _)] = proofs
    assert scaled.shape == (10_001, 1)
    assert "above the optimum" in outcome.out


@pytest.mark.usefixtures("fake_clock")
@pytest.mark.parametrize("columns", ["age,town", "age,weight", "age,town,height,weight"])
def test_any_columns(run, patients, tmp_path, proofs, columns):
    arguments = ["-q", columns, "--drop", "id", "--certificate", 0.3]
    outcome = run("anonymize", patients, tmp_path / "out.csv", *arguments)
    assert outcome.code == 0
    [(points, k, bound)] = proofs
    assert (len(points), k) == (54, 5)
    loss = float(re.search(r"information loss +(\S+)%", outcome.out)[1]) / 100
    gap = float(re.search(r"at most (\S+)% above", certificate_in(outcome.out))[1]) / 100
    assert 0 < bound < loss * 1.01
    assert gap == pytest.approx(loss / bound - 1, rel=0.05, abs=0.01)


def test_generalized_values(fails, patients, tmp_path):
    arguments = ["--method", "kaim", "--certificate", 10]
    line = fails("anonymize", patients, tmp_path / "out.csv", *arguments)
    assert line == "--certificate is not for --method kaim: leave out one of them."


def test_engine(fails, tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": np.arange(20.0)}).to_parquet(path)
    arguments = ["--engine", "dask", "--certificate", 10]
    line = fails("anonymize", path, tmp_path / "out.parquet", *arguments)
    assert line.startswith("--certificate 10 needs --engine memory")


@pytest.mark.slow
def test_a_certificate_that_is_not_shown_is_refused(fails, run, numbers, tmp_path):
    arguments = [*CHOSEN, "--sensitive", "class", "--quiet", "--certificate", 0.1]
    line = fails("anonymize", numbers, tmp_path / "out.csv", *arguments)
    assert line.startswith("--certificate 0.1 with --quiet needs --report")
    arguments += ["--report", tmp_path / "report.html"]
    assert run("anonymize", numbers, tmp_path / "out.csv", *arguments) == (0, "", "")
    assert "above the optimum" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("seconds", ["0", "-1", "inf", "nan", "long"])
def test_seconds(numbers, tmp_path, capsys, run, seconds):
    with pytest.raises(SystemExit) as error:
        run("anonymize", numbers, tmp_path / "out.csv", "--certificate", seconds)
    assert error.value.code == 2
    assert "argument --certificate: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [numbers]


@pytest.mark.usefixtures("fake_clock")
def test_report_holds_what_was_proven_once(run, numbers, tmp_path, proofs):
    output, report = tmp_path / "out.csv", tmp_path / "report.html"
    arguments = [*CHOSEN, "--certificate", 0.3, "--report", report]
    printed = run("anonymize", numbers, output, *arguments).out
    assert len(proofs) == 1
    page = re.sub(r"<[^>]*>", "", report.read_text(encoding="utf-8"))
    shown = certificate_in(printed)
    assert f"{shown[0].upper()}{shown[1:]}." in page


def test_release_is_written_before_the_proof(run, numbers, tmp_path, monkeypatch):
    def interrupt(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(_table_aggregator, "bound_of", interrupt)
    outcome = run("anonymize", numbers, tmp_path / "out.csv", *CHOSEN, "--certificate", 10)
    assert outcome.code == 130
    assert (tmp_path / "out.csv").exists()
