"""What the page is told about a table."""

import json

from sk_microagg._explore._page_table import describe_table
from sk_microagg.files._table import read_table

AGES = [*range(18, 80)]


def test_numbers_that_may_be_codes_are_hinted_at_beside_their_column(write):
    numbers = [*AGES, 73_941]
    rows = [f"{age},{age % 4 + 1},{x}" for age, x in zip([*AGES, 999], numbers, strict=True)]
    path = write("t.csv", "\n".join(["a: age,q: st.code,x", *rows, ""]))
    described = describe_table(read_table(str(path)), shows_rows=False)
    assert [column["hint"] for column in described["columns"]] == [
        "999, unlike other values, may stand for missing values, in line 64: start explore with "
        "--na 'a: age=999'; otherwise it is averaged as a number.",
        None,
        "the largest value, in line 64, is very far from all others: if it stands for missing "
        "values, start explore with --na x=TEXT for texts that mean missing.",
    ]
    assert [column["hint_at_kind"] for column in described["columns"]] == [
        None,
        "its few integers may be codes, whose mean is meaningless: choose the kind category.",
        None,
    ]
    assert "73941" not in json.dumps(described)


def test_what_the_shell_warns_of_is_beside_the_column(write):
    """Sexes that are written in two ways, and text in which people may be named."""
    words = ["alpha", "beta", "gamma", "delta", "omega", "sigma", "lambda", "theta"]
    notes = [" ".join(words[(i + j * j) % 8] for j in range(7)) + f" {i % 40}" for i in range(80)]
    rows = [f"{'mM'[i % 5 == 0]},{note}" for i, note in enumerate(notes)]
    path = write("t.csv", "\n".join(["sex,note", *rows, ""]))
    described = describe_table(read_table(str(path)), shows_rows=True)
    sex, note = (column["hint"] for column in described["columns"])
    assert sex.startswith("It has values that differ only in case")
    assert "names will be in the release" in note or "free text" in note
