"""Files as people have them end in a right release, or in one line that says what to do."""

import csv
import gzip
from collections import Counter

import pytest

N, K = 24, 4

# Ages and incomes of which groups of four are obvious.
AGES = [20 + 10 * (i // K) for i in range(N)]
INCOMES = [1000.5 + 1000 * (i // K) for i in range(N)]


def rows_of(path, sep=",", encoding="utf-8"):
    """The rows of a CSV file, read by the csv module alone."""
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rt", encoding=encoding, newline="") as file:
        return [*csv.reader(file, delimiter=sep)]


def lines(header, row):
    """A file with a line for each person."""
    return "\n".join([header, *(row(i) for i in range(N))]) + "\n"


@pytest.fixture
def release(run, tmp_path):
    """Anonymize all columns of a file; return its rows, after a check that they are k-anonymous."""

    def release(path, *options, sep=",", encoding="utf-8", suffix=".csv", warned=None):
        output = tmp_path / f"out{suffix}"
        outcome = run("anonymize", path, output, "-k", K, *options)
        warning = "" if warned is None else f"sk-microagg: warning: {warned}\n"
        # Columns of the numbers 0 to 24 determine each other.
        said = [
            line for line in outcome.err.splitlines(keepends=True) if "means are se" not in line
        ]
        assert (outcome.code, "".join(said)) == (0, warning)
        header, *rows = rows_of(output, sep, encoding)
        assert len(rows) == N
        assert min(Counter(map(tuple, rows)).values()) >= K
        return header, rows

    return release


@pytest.fixture
def refused(fails, tmp_path):
    """Anonymize a file, which fails with one line; return the line without the path."""

    def refused(path, *options):
        line = fails("anonymize", path, tmp_path / "out.csv", "-k", K, *options)
        return line.replace(f"{path}", "FILE")

    return refused


def test_semicolons(release, refused, write):
    path = write("t.csv", lines("age;income", lambda i: f"{AGES[i]};{INCOMES[i]}"))
    assert refused(path) == (
        "FILE has one column, and ';' in its first row: is it --sep ';'? If not, say --sep ','."
    )
    _, rows = release(path, "--sep", ";", sep=";")
    assert rows == [[str(AGES[i]), str(INCOMES[i])] for i in range(N)]


def test_decimal_commas(release, refused, write):
    path = write(
        "t.csv",
        lines("age;income", lambda i: f"{AGES[i]};{INCOMES[i] + i % K:.2f}".replace(".", ",")),
    )
    assert refused(path, "--sep", ";") == (
        "income: all 24 cells are numbers with other marks: use --decimal ',', or "
        "--categorical income."
    )
    _, rows = release(path, "--sep", ";", "--decimal", ",", sep=";")
    assert [income for _, income in rows] == [f"{x + 1.5:.2f}".replace(".", ",") for x in INCOMES]
    assert [age for age, _ in rows] == [*map(str, AGES)]


def test_a_byte_order_mark_and_windows_line_ends(release, write):
    content = lines("größe,age", lambda i: f"{1.5 + AGES[i] / 100:.2f},{AGES[i]}")
    path = write("t.csv", b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode())
    header, _ = release(path, encoding="utf-8-sig")
    assert header == ["größe", "age"]
    assert (path.parent / "out.csv").read_bytes() == path.read_bytes()


def test_latin_1(release, refused, write):
    content = lines("größe,town", lambda i: f"{AGES[i]},{['Köln', 'Würzburg'][i // K % 2]}")
    path = write("t.csv", content.encode("latin-1"))
    assert refused(path) == (
        "FILE is not text in UTF-8: invalid start byte. Name its encoding by --encoding, such as "
        "latin-1, cp1252 or utf-16."
    )
    header, rows = release(path, "--encoding", "latin-1", encoding="latin-1")
    assert header == ["größe", "town"]
    assert {town for _, town in rows} == {"Köln", "Würzburg"}


def test_utf_16(release, refused, write):
    path = write("t.csv", lines("größe,age", lambda i: f"{AGES[i]},{AGES[i]}").encode("utf-16"))
    assert "is not text in UTF-8, but in UTF-16. Name its encoding" in refused(path)
    assert release(path, "--encoding", "utf-16", encoding="utf-16")[0] == ["größe", "age"]


def test_texts_that_mean_missing(release, refused, write):
    path = write(
        "t.csv", lines("age,income", lambda i: f"{AGES[i] if i % 3 else 'nil'},{INCOMES[i]}")
    )
    assert refused(path) == (
        "age: 8 of 24 cells are no numbers, first in lines 2, 5 and 8: name texts that mean "
        "missing by --na age=TEXT, or use --categorical age."
    )
    _, rows = release(path, "--na", "nil")
    assert "nil" not in {cell for row in rows for cell in row}


def test_a_name_in_a_column_of_numbers_is_not_quoted(refused, write):
    path = write("t.csv", lines("age", lambda i: "Jane Doe" if i == 7 else str(AGES[i])))
    assert refused(path) == (
        "age: 1 of 24 cells is no number, in line 9: name texts that mean missing by --na "
        "age=TEXT, or use --categorical age."
    )


def test_leading_zeros(run, release, write):
    path = write("t.csv", lines("zip,age", lambda i: f"{['01067', '70174'][i // K % 2]},{AGES[i]}"))
    _, rows = release(path)
    assert {code for code, _ in rows} <= {"01067", "70174", "*"}
    printed = run("anonymize", path, path.parent / "again.csv", "-k", K).out
    assert "zip: category (some have leading zeros, as codes have); released: " in printed


def test_thousands(release, refused, write):
    path = write(
        "t.csv",
        lines("age,income", lambda i: f'{AGES[i]},"{1200 + 1000 * (i // K) + 8 * (i % K):,}"'),
    )
    assert refused(path) == (
        "income: all 24 cells are numbers with other marks: use --thousands ',', or "
        "--decimal ',', or --categorical income."
    )
    said = "income: its numbers are released without thousands separators."
    _, rows = release(path, "--thousands", ",", warned=said)
    assert [income for _, income in rows] == [f"{1210 + 1000 * (i // K)}" for i in range(N)]


def test_percent_signs(release, refused, write):
    path = write(
        "t.csv", lines("age,share", lambda i: f"{AGES[i]},{10 * (i // K) + 0.2 * (i % K):.1f}%")
    )
    _, rows = release(path, warned="share: its numbers are released without %.")
    assert [share for _, share in rows] == [f"{10 * (i // K)}.3" for i in range(N)]
    mixed = write("mixed.csv", path.read_text().replace("0.2%", "0.2"))
    assert refused(mixed, "--force") == (
        "share: 6 of 24 cells have other symbols than most, or none, first in lines 3, 7 and 11: "
        "write them alike, or use --categorical share."
    )


@pytest.mark.parametrize(
    ("cell", "options", "mean", "without"),
    [
        ("${:,.2f}", ["--thousands", ","], "{:.2f}", "$ and thousands separators"),
        ("{:.0f} €", [], "{:.0f}", "€"),
        (
            "{:_.2f} €",
            ["--thousands", ".", "--decimal", ","],
            "{:.2f}",
            "€ and thousands separators",
        ),
    ],
)
def test_currency(release, write, cell, options, mean, without):
    def written(form, number):
        text = form.format(number)
        return text.translate(str.maketrans({"_": ".", ".": ","})) if "_" in form else text

    path = write(
        "t.csv",
        lines(
            "age;pay", lambda i: f"{AGES[i]};{written(cell, 1200 + 1000 * (i // K) + 2 * (i % K))}"
        ),
    )
    said = f"pay: its numbers are released without {without}."
    _, rows = release(path, "--sep", ";", *options, sep=";", warned=said)
    mark = "," if "--decimal" in options else "."
    means = [mean.format(1203 + 1000 * (i // K)).replace(".", mark) for i in range(N)]
    assert [pay for _, pay in rows] == means


def test_quoted_line_breaks(release, write):
    path = write(
        "t.csv", lines('"age\nin years",note', lambda i: f'{AGES[i]},"two\nlines, ""{i // K}"""')
    )
    header, rows = release(path)
    assert header == ["age\nin years", "note"]
    assert rows == [[str(AGES[i]), f'two\nlines, "{i // K}"'] for i in range(N)]


@pytest.mark.parametrize("header", ["age,income", "age,income,", "age,income,,"])
def test_trailing_commas(release, refused, write, header):
    path = write("t.csv", lines(header, lambda i: f"{AGES[i]},{INCOMES[i]}" + ",," * (i % 2)))
    names, rows = release(path)
    assert names == ["age", "income", ""][: len(header.split(","))]
    assert [row[:2] for row in rows] == [[str(AGES[i]), str(INCOMES[i])] for i in range(N)]
    assert {cell for row in rows for cell in row[2:]} <= {""}
    more = write("more.csv", path.read_text() + "20,1000.5,,,more\n")
    n_cells = len(header.split(","))
    assert refused(more, "--force") == (
        "FILE: 1 of 25 rows has more or fewer cells than the first row, which has "
        f"{min(n_cells, 3)}, in line 26."
    )


def test_empty_columns(run, release, refused, write):
    path = write(
        "t.csv",
        lines("age,notes,income", lambda i: f"{AGES[i]},{['', 'NA', ' '][i % 3]},{INCOMES[i]}"),
    )
    _, rows = release(path)
    assert rows == [[str(AGES[i]), "", str(INCOMES[i])] for i in range(N)]
    printed = run("anonymize", path, path.parent / "again.csv", "-k", K).out
    assert "notes: empty (all cells are missing); released: empty cells" in printed
    line = refused(path, "-q", "notes", "--force")
    assert line == "In all columns to anonymize, all values are missing."


def test_mixed_types(release, refused, write):
    path = write(
        "t.csv",
        lines("age,house", lambda i: f"{AGES[i]},{i // 8 + 1}{'abcdef'[i // 4] * (i % 4 == 0)}"),
    )
    assert refused(path).startswith("house: 6 of 24 cells are no numbers, first in lines 2, ")
    _, rows = release(path, "--categorical", "house")
    assert {house for _, house in rows} == {"1", "2", "3", ""}


def test_tabs(release, write):
    path = write("t.tsv", lines("age\tincome", lambda i: f"{AGES[i]}\t{INCOMES[i]}"))
    _, rows = release(path, sep="\t", suffix=".tsv")
    assert rows == [[str(AGES[i]), str(INCOMES[i])] for i in range(N)]
    piped = write("t.csv", path.read_text())
    _, rows = release(piped, "--sep", r"\t", sep="\t")
    assert rows == [[str(AGES[i]), str(INCOMES[i])] for i in range(N)]


def test_bars(release, refused, write):
    path = write("t.csv", lines("age|income", lambda i: f"{AGES[i]}|{INCOMES[i]}"))
    assert "is it --sep '|'?" in refused(path)
    assert release(path, "--sep", "|", sep="|")[0] == ["age", "income"]


def test_gzip(release, refused, write):
    content = lines("age,income", lambda i: f"{AGES[i]},{INCOMES[i]}").encode()
    _, rows = release(write("t.csv.gz", gzip.compress(content)), suffix=".csv.gz")
    assert rows == [[str(AGES[i]), str(INCOMES[i])] for i in range(N)]
    line = refused(write("t2.csv.gz", content))
    assert line.startswith("FILE is not a whole gzip file: Not a gzipped file")


@pytest.mark.parametrize(
    ("dates", "option", "means"),
    [
        ("2020-{:02d}-{:02d}", None, "2020-{:02d}-{:02d}"),
        ("2020-{:02d}-{:02d}T10:00+02:00", None, "2020-{:02d}-{:02d}T10:00+02:00"),
        ("2020/{:02d}/{:02d}", "born", "2020/{:02d}/{:02d}"),
        ("{:02d}/{:02d}/2020", "born=%m/%d/%Y", "{:02d}/{:02d}/2020"),
    ],
)
def test_dates(run, release, refused, write, dates, option, means):
    path = write(
        "t.csv",
        lines("born,age", lambda i: f"{dates.format(i // K + 1, 10 + 2 * (i % K))},{AGES[i]}"),
    )
    if option is not None:
        pattern = option.partition("=")[2] or "%Y/%m/%d"
        assert refused(path) == (
            f"born: all 24 cells seem to be dates as {pattern}: use --date born={pattern}, or "
            "--categorical born."
        )
    _, rows = release(path, *([] if option is None else ["--date", option]))
    assert [born for born, _ in rows] == [means.format(i // K + 1, 13) for i in range(N)]


def test_days_and_months_that_cannot_be_told_apart(refused, write):
    path = write("t.csv", lines("born", lambda i: f"{i % 12 + 1:02d}/{i // K + 1:02d}/2020"))
    assert refused(path, "--date", "born") == (
        "born: day and month cannot be told apart: use --date born=%d/%m/%Y, or --date "
        "born=%m/%d/%Y."
    )


def test_every_line_is_one_line(refused, write):
    """Cells and names that control the terminal are escaped."""
    path = write("t.csv", lines('"a\x1b[2J"', lambda i: "\x1b[1m" if i % 3 == 0 else str(i)))
    line = refused(path)
    assert line.isprintable()
    assert line.startswith(r"a\x1b[2J: 8 of 24 cells are no numbers, first in lines 2, 5 and 8")
