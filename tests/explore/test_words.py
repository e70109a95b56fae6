"""Messages of the command line in the words of the page."""

import pandas as pd
import pytest

from sk_microagg._explore._words import on_the_page
from sk_microagg.files._errors import CommandError


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
    with pytest.raises(CommandError) as error:
        page.run("preview", columns=settings["columns"])
    message = on_the_page(error.value)
    assert message.replace("'", "").startswith(words)
    assert "--" not in message


def test_a_pattern_of_dates_that_are_dates(explored, people):
    page = explored(people)
    settings = page.settings({"remark": "drop"})
    settings["columns"][0] |= {"kind": "date", "detail": "%d/%m/%Y"}
    with pytest.raises(CommandError) as error:
        page.run("preview", columns=settings["columns"])
    assert on_the_page(error.value).endswith("by a pattern: leave the pattern empty.")


def test_text_as_another_kind(explored, visits):
    """Most cells are text: they mean something, and are not missing values."""
    with pytest.raises(CommandError) as error:
        explored(visits).run("preview", {"sex": "quasi_identifier"}, {"sex": "number"})
    assert on_the_page(error.value) == "sex: about 0 of 300 cells are numbers: choose another kind."
    few = (
        "x: about 10 of 10 cells are numbers, 'n/a' is not one: use --na n/a; or leave out "
        "--number."
    )
    assert "start explore with --na n/a; or choose another kind" in on_the_page(few)


def test_names_of_files(explored, people):
    page = explored(people)
    roles = {"remark": "drop"}
    with pytest.raises(CommandError) as error:
        page.run("export", roles, report="people.pdf")
    assert on_the_page(error.value).startswith(f"{people.with_suffix('.pdf')} must end in .html")
    (people.parent / "people_release.parquet").write_text("mine")
    with pytest.raises(CommandError) as error:
        page.run("export", roles)
    assert on_the_page(error.value).endswith("choose another name, or choose to overwrite it.")


def test_a_lost_column(explored, people):
    (warning,) = explored(people).run("preview", {"remark": "quasi_identifier"})["warnings"]
    assert warning.startswith("Column 'remark' is released as missing almost everywhere")
    assert "Drop it, or generalize it: start explore with --hierarchies" in warning
