"""The page shows nothing of single records but the first rows, and not even these if unwanted."""

import json
import os
import re
import shutil

import numpy as np
import pytest
from servers import ends_by_a_signal, serve

from sk_microagg._explore import _page_table
from sk_microagg._explore._page_request import PAGE
from sk_microagg._utils._formatting import expected_matches
from sk_microagg.files._messages import RequestError
from sk_microagg.metrics import RecordLinkage

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
def test_the_table_with_its_first_rows(explored, table, rows):
    description = explored(table).description
    assert description["rows"] == rows[:8]
    assert secrets_in(description, rows) == secrets_in(rows[:8], rows)
    del description["rows"]
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
    assert "about 60 of 60 cells are numbers, some are not" in problem
    for kind in ("number", "date", "ordinal"):
        for name in ("town", "odd"):
            with pytest.raises(RequestError) as error:
                page.run("preview", {name: "quasi_identifier"}, {name: kind})
            assert secrets_in(error.value.in_words(PAGE), rows) == set()


def test_errors_quote_no_stratum_and_no_leaf(explored, table, rows, tmp_path):
    roles = {"odd": "drop", "town": "stratum", "illness": "sensitive"}
    page = explored(table, "--no-preview")
    points = page.run("curve", roles)["points"]
    assert "must have at least k=2" in points[0]["error"]
    assert secrets_in(points, rows) == set()
    with pytest.raises(RequestError, match="violates") as error:
        page.run("preview", roles | {"region": "stratum", "town": "drop"}, k=5, l=31)
    assert "north" not in error.value.in_words(PAGE)
    (tmp_path / "town.csv").write_text(f"{rows[0][1]};*\n")
    page = explored(table, "--no-preview", "--hierarchies", tmp_path)
    with pytest.raises(RequestError, match="leaf") as error:
        page.run("preview", roles | {"town": "quasi_identifier"})
    assert secrets_in(error.value.in_words(PAGE), rows) == set()
    assert "leaf" in error.value.in_words(PAGE)


def test_errors_of_a_sample_quote_no_stratum(explored, table, rows, monkeypatch):
    monkeypatch.setattr(_page_table, "N_SAMPLE", N - 1)
    page = explored(table, "--no-preview")
    with pytest.raises(RequestError, match=r"59 rows .* stratum") as error:
        page.run("preview", {"odd": "drop", "town": "stratum"})
    assert secrets_in(error.value.in_words(PAGE), rows) == set()


@pytest.mark.slow
def test_losses_and_bounds_have_few_digits(explored, table):
    page = explored(table)
    roles = {"odd": "drop"}
    figures = [page.run("preview", roles)["loss"]]
    figures += [point["loss"] for point in page.run("curve", roles)["points"]]
    proven = page.run("certificate", roles, certificate=0.5)
    for about in (proven, *(message["tick"] for message in page.messages if "tick" in message)):
        assert about["bound"] <= about["loss"]
        figures += [about["loss"], about["bound"]]
    assert all(figure == round(figure, 2) for figure in figures)


def test_expected_re_identifications_do_not_tell_who_is_not_linked():
    """A share below what is possible would tell that a few records are nearest to another row."""
    for linked in (0.98, 0.04):
        linkage = RecordLinkage(linked, linked / 5, 1 / 5)
        assert expected_matches(linkage, 100, 5) == (1 / 5, "at most 20%")
    assert expected_matches(RecordLinkage(0.8, 0.164, 1 / 5), 100, 5) == (0.16, "16%")


def test_extremes_are_not_shown(explored, table):
    page = explored(table)
    described = page.description["columns"][NAMES.index("count")]["distribution"]
    drawn = page.run("preview", {"odd": "drop", "count": "quasi_identifier"})["columns"]
    (compared,) = [column["distribution"] for column in drawn if column["name"] == "count"]
    for histogram in (described, compared):
        assert histogram["positions"][0] > SMALLEST / 2
        assert histogram["positions"][-1] < LARGEST / 2
        # No bin stands for fewer than k records.
        counts = np.array(histogram["before"]) * N
        assert (np.isclose(counts, 0) | (counts > 4.99)).all()


N_EXTREMES = 5  # An end of what is drawn stands for this many values.


def errors_of_attacks(end, ordered, k=N_EXTREMES + 1):
    """How far attacks on an end of a histogram are from single values, as shares of the range.

    Of the values that the end stands for, the first attack knows all but the most extreme one. The
    second has a release in which the most extreme k are a group, and subtracts the end from it.
    """
    known = ordered[1:N_EXTREMES].sum()
    attacks = [
        (N_EXTREMES * end - known, ordered[0]),
        (k * ordered[:k].mean() - N_EXTREMES * end, ordered[k - 1]),
    ]
    return [abs(found - true) / np.ptp(ordered) for found, true in attacks]


@pytest.mark.slow
def test_no_value_can_be_computed_from_the_ends_of_a_histogram(explored, write_rows, tmp_path):
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(30):
        ordered = np.sort(rng.normal(0, 10.0 ** rng.integers(-3, 6), rng.integers(6, 90)))
        rows = [[repr(value)] for value in ordered.tolist()]
        path = write_rows(tmp_path / "secret.csv", ["income"], *rows)
        (about,) = explored(path, "--no-preview").description["columns"]
        ends = about["distribution"]["positions"]
        errors.append(errors_of_attacks(ends[0], ordered))
        errors.append(errors_of_attacks(ends[-1], ordered[::-1]))
    # A guess is near now and then.
    assert (np.median(errors, axis=0) > 0.03).all()


N_INCOMES = 300


def incomes(seed):
    """Incomes in ascending order, of which the highest are far from each other."""
    return np.sort(np.round(np.random.default_rng(seed).lognormal(10, 0.6, N_INCOMES), 2))


@pytest.fixture
def previews_of(explored, write_rows, tmp_path):
    """Previews of one column of numbers, by k."""

    def previews_of(values, ks):
        path = write_rows(tmp_path / "secret.csv", ["income"], *[[f"{v:.2f}"] for v in values])
        page = explored(path, "--no-preview")
        return {k: page.run("preview", {"income": "quasi_identifier"}, k=k) for k in ks}

    return previews_of


def drawn(preview):
    return preview["columns"][0]["distribution"]


@pytest.mark.slow
def test_the_ends_of_several_previews_tell_no_value(previews_of):
    """The first of k values is k times their mean, less k - 1 times the mean of the others."""
    errors = []
    for seed in range(3):
        ordered = incomes(seed)
        ends = {
            k: [drawn(preview)["positions"][end] for end in (0, -1)]
            for k, preview in previews_of(ordered, range(5, 12)).items()
        }
        for k in range(6, 12):
            for end, true in ((0, ordered[k - 1]), (1, ordered[-k])):
                found = k * ends[k][end] - (k - 1) * ends[k - 1][end]
                errors.append(abs(found - true) / np.std(ordered))
    # A guess is near now and then.
    assert np.median(errors) > 0.1


@pytest.mark.slow
def test_the_counts_of_several_previews_isolate_no_record(previews_of):
    """Counts below edges that move with k, if subtracted from each other, leave single records."""
    ordered = incomes(0)
    below = {}
    for preview in previews_of(ordered, [*range(2, 11), 15, 20, 30, 50, 100]).values():
        histogram = drawn(preview)
        counts = np.cumsum(np.round(np.array(histogram["before"]) * N_INCOMES))
        below |= dict(zip(histogram["positions"][1:-1], counts[:-1], strict=True))
    edges = sorted(below)
    n_between = np.diff([np.count_nonzero(ordered < edge) for edge in edges])
    assert len(edges) > 5
    assert n_between.min() >= 5
    assert np.diff([below[edge] for edge in edges]).min() >= 5
    assert all(count % 5 == 0 for count in below.values())


@pytest.mark.slow
def test_the_losses_of_several_previews_tell_no_value(previews_of):
    """With two groups, the losses for k and k + 1 differ by what one record changes."""
    ordered = incomes(0)
    scores = (ordered - ordered.mean()) / ordered.std()
    sums = {}
    for k, preview in previews_of(ordered, range(125, 151)).items():
        n_low = N_INCOMES - k  # The group of higher incomes is the smaller one.
        sums[n_low] = -np.sqrt((1 - preview["loss"]) * n_low * k)
    errors = [abs(sums[n + 1] - sums[n] - scores[n]) for n in range(150, 175)]
    assert np.median(errors) > 5 * np.median(np.diff(scores[150:175]))


@pytest.mark.slow
def test_what_is_shown_of_the_original_does_not_depend_on_k(explored, table):
    page = explored(table, "--no-preview")
    roles = {"odd": "drop", "count": "quasi_identifier", "person": "drop"}
    described = {about["name"]: about["distribution"] for about in page.description["columns"]}
    for k in (2, 3, 5, 9):
        for method in ("aggregate", "kaim"):
            for column in page.run("preview", roles, k=k, method=method)["columns"]:
                shown = column["distribution"]
                if shown["type"] == "histogram":
                    same = described[column["name"]]
                    assert [shown[key] for key in ("positions", "before")] == [
                        same[key] for key in ("positions", "before")
                    ]


def test_ordinal_values_of_the_original_do_not_depend_on_k(explored, write_rows, tmp_path):
    values = [1] * 20 + [2] * 3 + [3] * 17 + [4] * 20
    rows = [[value, i % 7] for i, value in enumerate(values)]
    page = explored(write_rows(tmp_path / "grades.csv", ["grade", "x"], *rows))
    shown = [
        drawn(page.run("preview", {"grade": "quasi_identifier"}, {"grade": "ordinal"}, k=k))
        for k in (2, 5)
    ]
    assert shown[0]["categories"] == shown[1]["categories"]
    assert shown[0]["before"] == shown[1]["before"]


def test_bins_by_people_have_no_edges_of_their_own(explored, write_rows, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[f"p{i // 8}", f"{rng.normal() + i // 8:.3f}"] for i in range(200)]
    page = explored(write_rows(tmp_path / "visits.csv", ["person", "x"], *rows))
    edges = [
        {*page.run("preview", {"person": role})["columns"][0]["distribution"]["positions"]}
        for role in ("drop", "unit")
    ]
    assert edges[1] < edges[0]


@pytest.mark.slow
def test_the_extreme_value_of_one_person_with_many_rows(explored, write_rows, tmp_path):
    rows = [[f"{i // 25}", "54321.17" if i < 25 else f"{i}.5"] for i in range(500)]
    page = explored(write_rows(tmp_path / "visits.csv", ["person", "income"], *rows))
    del page.description["rows"]
    assert "54321" not in json.dumps([page.description, page.run("preview", {"person": "unit"})])


def test_groups_are_placed_coarsely(explored, table):
    groups = explored(table).run("preview", {"odd": "drop", "count": "quasi_identifier"})["groups"]
    points = np.array(groups["points"])
    assert points.min() == 0
    assert points.max() == 1
    assert np.allclose(points * 50, np.round(points * 50))
    assert groups["axes"] == ["first component", "second component"]


@pytest.mark.slow
def test_distances_from_the_whole_table_are_coarse(explored, write_rows, tmp_path):
    """In two groups, each record changes the distance: what is shown must not follow it."""
    shown, roles = set(), {"answer": "sensitive"}
    for n_yes in (4, 5, 6):
        rows = [[i, "yes" if i < n_yes or i > 16 else "no"] for i in range(20)]
        page = explored(write_rows(tmp_path / "asked.csv", ["x", "answer"], *rows))
        preview = page.run("preview", roles | {"x": "quasi_identifier"}, k=10, t=0.9)
        shown.add(preview["sensitive"][0]["closeness"])
        (sentence,) = preview["privacy"]
        assert sentence.endswith("is at most 0.9; 0.9 demanded")
    assert shown == {0.2}


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
    # Categories of which there are few are shown.
    answers = page.run("preview", {"patient": "drop"}, {"answer": "category"})["columns"][-1]
    assert answers["distribution"]["type"] == "bars"
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
