import pytest

from sk_microagg.files._errors import CommandError
from sk_microagg.release._plan import choose_columns

NAMES = ["a", "b", "c", "d"]


def test_all_columns_by_default():
    choice = choose_columns(NAMES, None, [])
    assert choice.anonymized == choice.kept == NAMES
    assert choice.unchanged == []


def test_columns_stay_in_the_order_of_the_table():
    choice = choose_columns(NAMES, ["d", "b"], ["a"])
    assert choice.anonymized == ["b", "d"]
    assert choice.unchanged == ["c"]
    assert choice.kept == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("columns", "drop", "message"),
    [
        (["e"], [], "--columns names 'e', but the columns are 'a', 'b', 'c', 'd'"),
        (None, ["e"], "--drop names 'e', but the columns are 'a', 'b', 'c', 'd'"),
        (["a"], ["a"], "'a' is named by --columns and by --drop"),
        (None, NAMES, "no column left"),
    ],
)
def test_bad_choices(columns, drop, message):
    with pytest.raises(CommandError, match=message):
        choose_columns(NAMES, columns, drop)
