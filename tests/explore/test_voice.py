"""Messages in the words of the page."""

import pandas as pd
import pytest

from sk_microagg._explore._page_request import PAGE
from sk_microagg.files._messages import RequestError


@pytest.fixture
def people(tmp_path):
    """A table with types: dates, and texts that all differ."""
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(range(60), "D")
    path = tmp_path / "people.parquet"
    pd.DataFrame({"born": born, "remark": [f"text {i}" for i in range(60)]}).to_parquet(path)
    return path


@pytest.mark.parametrize(
    ("kind", "detail", "words"),
    [
        ("date", "%d/%m/%Y", "born=%d/%m/%Y: the column holds dates already, of type timestamp"),
        ("date", "%d", "born=%d: the pattern must have a year, %Y or %y"),
        ("ordinal", "low", "born=low: write different values from the lowest to the highest"),
    ],
)
def test_what_is_wrong_with_a_kind(explored, people, kind, detail, words):
    page = explored(people)
    settings = page.settings({"remark": "drop"})
    settings["columns"][0] |= {"kind": kind, "detail": detail}
    with pytest.raises(RequestError) as error:
        page.run("preview", columns=settings["columns"])
    message = error.value.in_words(PAGE)
    assert message.replace("'", "").startswith(words)
    assert "--" not in message


def test_a_pattern_of_dates_that_are_dates(explored, people):
    page = explored(people)
    settings = page.settings({"remark": "drop"})
    settings["columns"][0] |= {"kind": "date", "detail": "%d/%m/%Y"}
    with pytest.raises(RequestError) as error:
        page.run("preview", columns=settings["columns"])
    assert error.value.in_words(PAGE).endswith("by a pattern: leave the pattern empty.")


def test_text_as_another_kind(explored, visits, write_rows, tmp_path):
    """Most cells are text: they mean something, and are not missing values."""
    with pytest.raises(RequestError) as error:
        explored(visits).run("preview", {"sex": "quasi_identifier"}, {"sex": "number"})
    assert error.value.in_words(PAGE) == (
        "sex: all 300 cells are no numbers, first in lines 2, 3 and 4: choose another kind."
    )
    rows = [["x"], *([str(i)] for i in range(19)), ["unknown"]]
    with pytest.raises(RequestError) as error:
        explored(write_rows(tmp_path / "x.csv", *rows)).run("preview", {}, {"x": "number"})
    advice = "start explore with --na x=TEXT for texts that mean missing, or choose another kind"
    assert advice in error.value.in_words(PAGE)


def test_names_of_files(explored, people):
    page = explored(people)
    roles = {"remark": "drop"}
    with pytest.raises(RequestError) as error:
        page.run("export", roles, report="people.pdf")
    assert error.value.in_words(PAGE).startswith(f"{people.with_suffix('.pdf')} must end in .html")
    (people.parent / "people_release.parquet").write_text("mine")
    with pytest.raises(RequestError) as error:
        page.run("export", roles)
    assert error.value.in_words(PAGE).endswith("choose another name, or choose to overwrite it.")


def test_a_lost_column(explored, people):
    (warning,) = explored(people).run("preview", {"remark": "quasi_identifier"})["warnings"]
    assert warning.startswith("Column 'remark' is released as missing almost everywhere")
    assert "Drop it, or generalize it: start explore with --hierarchies" in warning
