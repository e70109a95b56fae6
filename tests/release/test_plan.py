import pytest

from sk_microagg.files._messages import RequestError
from sk_microagg.release._plan import read_hierarchies

TOWNS = "Bari;coast;*\nNaples;coast;*\nRome;inland;*\n"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    (folder / "town.csv").write_text(TOWNS)
    (folder / "README.txt").write_text("These are from ARX.")
    (folder / "._town.csv").write_bytes(b"\0")  # as macOS leaves them
    return folder


def test_a_file_for_a_column(folder):
    hierarchies = read_hierarchies(str(folder), ["age", "town"], ["age", "town"])
    assert list(hierarchies) == ["town"]
    assert hierarchies["town"].lowest_common("Bari", "Naples") == "coast"


def test_hierarchies_of_other_columns_are_not_read(folder):
    (folder / "age.csv").write_text("not;a\nhierarchy")
    assert list(read_hierarchies(str(folder), ["age", "town"], ["town"])) == ["town"]


def test_a_file_for_no_column(folder):
    with pytest.raises(RequestError, match="hierarchy for 'town'"):
        read_hierarchies(str(folder), ["a", "b"], ["a"])


@pytest.mark.parametrize("name", ["nowhere", "hierarchies/town.csv"])
def test_no_folder(folder, name):
    with pytest.raises(RequestError, match=rf"hierarchies=.*{name}'?\)? cannot be read"):
        read_hierarchies(str(folder.parent / name), ["town"], ["town"])


def test_no_hierarchy_in_the_folder(tmp_path):
    with pytest.raises(RequestError, match=r"holds no \.csv file"):
        read_hierarchies(str(tmp_path), ["town"], ["town"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must have a leaf"),
        (b"Bari;coast;*\nRome;*\n", "Row 2 of .* has 2 labels"),
        (b"Bari,coast,*\nRome,inland,*\n", "have ',' between labels: .* separated by ';'"),
        (b"Bari\n", "must lead from a leaf to the root"),
        (b"Bari;coast;*\nRome;inland;all\n", "must have one root"),
        (b"Bari;\xff;*\n", "not text in UTF-8"),
        (b'Bari;"coast;*\n', "line 1: unexpected end of data"),
    ],
)
def test_malformed(folder, content, message):
    (folder / "town.csv").write_bytes(content)
    with pytest.raises(RequestError, match=rf"town\.csv is not a hierarchy: .*{message}"):
        read_hierarchies(str(folder), ["town"], ["town"])
