"""Without previews, the page shows no cell."""

import json
import os
import re
import shutil

import numpy as np
import pytest
from servers import ends_by_a_signal, serve

from sk_microagg._explore import _page_table
from sk_microagg._explore._page_request import PAGE
from sk_microagg.files._messages import RequestError

# What is shown of groups does not depend on how good they are.
pytestmark = pytest.mark.usefixtures("few_steps")

N = 60
LARGEST, SMALLEST = 98_765_431, -87_654_321
ROLES = ["quasi_identifier", "sensitive", "unit", "keep", "drop"]


@pytest.fixture(scope="module")
def rows():
    """Rows in which nearly every value is of a single record."""
    rng = np.random.default_rng(0)
    counts = rng.choice(np.arange(1_000_001, 9_000_000, 2), N, replace=False)
    counts[[20, 30]] = LARGEST, SMALLEST
    sizes = rng.uniform(100, 900, N)
    return [
        [
            f"Name-{i}-{rng.integers(10**9)}",
            f"Town-{i}-{rng.integers(10**9)}",
            f"Illness-{i}-{rng.integers(10**9)}",
            f"Person-{i}-{rng.integers(10**9)}",
            f"{counts[i]}",
            f"{sizes[i]:.7f}",
            f"{1900 + i}-03-{1 + i % 28:02d}",
            ["north", "south"][i % 2],
            # Mostly numbers, and a text that belongs to one record.
            f"Odd-{rng.integers(10**9)}" if i == 25 else f"{rng.integers(10**6, 10**7)}",
        ]
        for i in range(N)
    ]


NAMES = ["name", "town", "illness", "person", "count", "size", "born", "region", "odd"]


@pytest.fixture(scope="module")
def table(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("secret") / "secret.csv"
    path.write_text("\n".join(",".join(row) for row in [NAMES, *rows]) + "\n")
    return path


def secrets_in(sent, rows):
    """Values of single records that occur in what was sent, as text or as numbers."""
    text = json.dumps(sent)
    secret = {cell for row in rows for cell in row} - {"north", "south"}
    words = {*re.findall(r"[\w.-]+", text)}
    numbers = {float(word) for word in words if re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", word)}
    found = {cell for cell in secret if re.search(rf"(?<![\w.]){re.escape(cell)}(?!\w|\.\d)", text)}
    return found | {cell for cell in secret if is_number(cell) and float(cell) in numbers}


def is_number(cell):
    return re.fullmatch(r"-?[\d.]+", cell) is not None


def test_secrets_are_found(rows):
    assert secrets_in({"x": [f"it is {rows[3][0]}."]}, rows) == {rows[3][0]}
    assert secrets_in({"x": float(rows[3][4])}, rows) == {rows[3][4]}
    assert secrets_in({"x": ["the maximum is 98765431"]}, rows) == {str(LARGEST)}
    assert secrets_in({"x": [1, "north"]}, rows) == set()


def test_the_table_without_its_rows(explored, table, rows):
    description = explored(table, "--no-preview").description
    assert description["rows"] is None
    assert secrets_in(description, rows) == set()


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(len(ROLES)))
@pytest.mark.parametrize("method", ["aggregate", "kaim"])
def test_no_job_tells_of_single_records(explored, table, rows, turn, method):
    """Each column has each role once."""
    page = explored(table, "--no-preview")
    roles = dict(zip(NAMES[:5], ROLES[turn:] + ROLES[:turn], strict=True))
    roles |= {"region": "stratum", "size": ROLES[turn] if ROLES[turn] != "unit" else "drop"}
    roles |= {"odd": "drop", "born": "quasi_identifier"}
    if method == "kaim":
        roles = {n: "drop" if role in ("unit", "stratum") else role for n, role in roles.items()}
    sent = [page.run("preview", roles, method=method)]
    if turn == 0:
        sent.append(page.run("curve", roles, method=method))
    found = secrets_in([sent, page.messages], rows)
    if method == "kaim":
        # Ends of intervals are values of records. They are what is released.
        found = {cell for cell in found if not is_number(cell) and "-03-" not in cell}
    assert found == set()


@pytest.mark.slow
def test_a_certificate_tells_of_no_record(explored, table, rows):
    page = explored(table, "--no-preview")
    roles = {"odd": "drop", "count": "quasi_identifier"}
    sent = page.run("certificate", roles, certificate=0.5)
    assert secrets_in([sent, page.messages], rows) == set()


def test_errors_quote_no_cell_of_one_record(explored, table, rows):
    page = explored(table, "--no-preview")
    (problem,) = [c["problem"] for c in page.description["columns"] if c["problem"]]
    assert "60 cells" in problem
    for kind in ("number", "date", "ordinal"):
        for name in ("town", "odd"):
            with pytest.raises(RequestError) as error:
                page.run("preview", {name: "quasi_identifier"}, {name: kind})
            assert secrets_in(error.value.in_words(PAGE), rows) == set()


def test_errors_quote_no_stratum_and_no_leaf(explored, table, rows, tmp_path):
    roles = {"odd": "drop", "town": "stratum", "illness": "sensitive"}
    page = explored(table, "--no-preview")
    points = page.run("curve", roles)["points"]
    assert "in strata of fewer than k=2 records" in points[0]["error"]
    assert secrets_in(points, rows) == set()
    with pytest.raises(RequestError, match="violates") as error:
        page.run("preview", roles | {"region": "stratum", "town": "drop"}, k=5, l=31)
    assert "north" not in error.value.in_words(PAGE)
    (tmp_path / "town.csv").write_text(f"{rows[0][1]};*\n")
    page = explored(table, "--no-preview", "--hierarchies", tmp_path)
    with pytest.raises(RequestError, match="leaves") as error:
        page.run("preview", roles | {"town": "quasi_identifier"})
    assert secrets_in(error.value.in_words(PAGE), rows) == set()
    assert "lea" in error.value.in_words(PAGE)


def test_errors_of_a_sample_quote_no_stratum(explored, table, rows, monkeypatch):
    monkeypatch.setattr(_page_table, "N_SAMPLE", N - 1)
    page = explored(table, "--no-preview")
    with pytest.raises(RequestError, match=r"59 rows .* in strata of fewer") as error:
        page.run("preview", {"odd": "drop", "town": "stratum"})
    assert secrets_in(error.value.in_words(PAGE), rows) == set()


def test_histograms_begin_and_end_at_round_numbers(explored, table):
    page = explored(table, "--no-preview")
    described = page.description["columns"][NAMES.index("count")]["distribution"]
    ends = [described["positions"][0], described["positions"][-1]]
    assert ends[0] <= SMALLEST
    assert ends[1] >= LARGEST
    assert (ends[0] + 0.5) % 1_000_000 == 0


def test_figures_are_exact(explored, table):
    page = explored(table)
    roles = {"odd": "drop", "illness": "sensitive"}
    preview = page.run("preview", roles, k=5)
    proven = page.run("certificate", roles, certificate=0.5)
    assert proven["loss"] == preview["loss"] != round(preview["loss"], 4)
    assert proven["bound"] <= proven["loss"]
    [count] = [c["distribution"] for c in preview["columns"] if c["name"] == "count"]
    assert sum(count["before"]) == pytest.approx(1)
    assert min(share for share in count["before"] if share) == pytest.approx(1 / N)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [8, 25])
def test_names_of_people_with_several_rows(explored, write_rows, tmp_path, n_rows):
    rows = [[f"Anna Muster{i}", 30 + i % 20, f"{j % 3}"] for i in range(24) for j in range(n_rows)]
    path = write_rows(tmp_path / "visits.csv", ["patient", "age", "answer"], *rows)
    page = explored(path, "--no-preview")
    about = page.description["columns"][0]
    assert "choose Unit or Drop" in about["hint"]
    sent = [page.description]
    for role in ROLES:
        sent.append(page.run("preview", {"patient": role}))
    sent.append(page.run("preview", {"patient": "quasi_identifier"}, method="kaim"))
    for kind in ("number", "date", "ordinal"):
        with pytest.raises(RequestError) as error:
            page.run("preview", {"patient": "quasi_identifier"}, {"patient": kind})
        sent.append(error.value.in_words(PAGE))
    assert "Anna" not in json.dumps([sent, page.messages])
    answers = page.run("preview", {"patient": "drop"}, {"answer": "category"})["columns"][-1]
    assert answers["distribution"]["type"] == "note"
    # If rows are shown, so are names.
    assert "Anna" in json.dumps(explored(path).description["columns"])


@pytest.mark.slow
def test_numbers_of_people_as_categories(explored, write_rows, tmp_path):
    rows = [[7_001_000 + 13 * (i % 40), i % 9] for i in range(1000)]
    path = write_rows(tmp_path / "visits.csv", ["patient", "age"], *rows)
    sent = explored(path, "--no-preview").run(
        "preview", {"patient": "quasi_identifier"}, {"patient": "category"}
    )
    assert "7001" not in json.dumps(sent)


@pytest.mark.slow
def test_all_that_a_server_sends(table, tmp_path, rows):
    path = shutil.copy(table, tmp_path)
    with serve(path, "--no-preview") as server, server.page() as page:
        roles = {"illness": "sensitive", "person": "unit", "region": "stratum", "odd": "drop"}
        settings = server.settings(roles)
        answers = [server.table(), server.post("reload", {}).json()]
        answers.append(server.post("check", settings).json())
        for what in ("preview", "export"):
            assert page.run(what, settings)["state"] == "done"
        assert secrets_in([answers, page.messages], rows) == set()
        assert len(page.messages) > 4
        if os.name != "nt":  # Another signal is the last thing that the servers of other tests get.
            files = sorted(tmp_path.iterdir())
            ends_by_a_signal(server, "SIGINT", 0, roles, overwrite=True)
            assert sorted(tmp_path.iterdir()) == files
