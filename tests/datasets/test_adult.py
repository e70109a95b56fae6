import csv
import sys
from collections import Counter
from importlib.resources import files
from itertools import chain
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from marks import in_one_case
from sklearn.utils import Bunch

from sk_microagg.datasets import _adult, fetch_adult

CATEGORICAL = [
    *("workclass", "education", "marital-status", "occupation"),
    *("race", "sex", "native-country"),
]
COLUMNS = ["age", *CATEGORICAL, "salary-class"]
# Of invented tables; the real one has as many records as `_adult` says.
N_TRAINING, N_TEST = 240, 120
N_RECORDS = N_TRAINING + N_TEST
REAL_SIZES = {
    name: getattr(_adult, name) for name in ("N_TRAINING_RECORDS", "N_TEST_RECORDS", "N_RECORDS")
}
every_hierarchy = in_one_case("column", CATEGORICAL)


@pytest.fixture(autouse=True)
def requested(monkeypatch, tmp_path):
    """No network and no folder of the user; returns the list of requests to OpenML."""
    requests = []

    def refuse(name, **kwargs):
        requests.append((name, kwargs))
        raise URLError("no network in tests")

    monkeypatch.setattr(_adult, "fetch_openml", refuse)
    for name, n_records in zip(REAL_SIZES, (N_TRAINING, N_TEST, N_RECORDS), strict=True):
        monkeypatch.setattr(_adult, name, n_records)
    monkeypatch.delenv("SK_MICROAGG_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    return requests


@pytest.fixture
def own_folder(monkeypatch, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("SK_MICROAGG_DATA", str(folder))
    return folder


@pytest.fixture
def cached(tmp_path):
    """The path of the table in the cache, which does not exist yet."""
    return tmp_path / "home" / "sk_microagg" / "adult.csv"


@pytest.fixture
def real_file(data_folder):
    path = data_folder / "adult.csv"
    if not path.exists():
        pytest.skip(f"needs adult.csv in {data_folder}")
    return path


@pytest.fixture
def real(real_file, monkeypatch):
    """The records of the real file."""
    for name, n_records in REAL_SIZES.items():
        monkeypatch.setattr(_adult, name, n_records)
    monkeypatch.setenv("SK_MICROAGG_DATA", str(real_file.parent))
    X = fetch_adult(return_X=True)
    monkeypatch.delenv("SK_MICROAGG_DATA")
    return X


def serve(monkeypatch, frame):
    """Make OpenML answer with `frame`; returns the list of the requests."""
    requests = []

    def answer(name, **kwargs):
        requests.append((name, kwargs))
        return Bunch(frame=frame)

    monkeypatch.setattr(_adult, "fetch_openml", answer)
    return requests


def hierarchy_rows(column):
    file = files("sk_microagg.datasets") / "hierarchies" / "adult" / f"{column}.csv"
    text = file.read_text(encoding="utf-8")
    return [line.split(";") for line in text.splitlines()]


def leaves(column):
    return [row[0] for row in hierarchy_rows(column)]


def invented():
    """Rows of text as in a file, with every value of every column and with missing values."""
    cells = [[str(age) for age in range(17, 91)]]
    cells += [[*leaves(column), "?"] for column in CATEGORICAL]
    cells += [["<=50K", ">50K"]]
    return [[choice[i % len(choice)] for choice in cells] for i in range(N_RECORDS)]


def as_objects(rows):
    """What the fetcher returns for rows of text, one cell at a time."""
    X = np.array(rows, dtype=object)
    X[X == "?"] = None
    X[:, 0] = [int(age) for age in X[:, 0]]
    return X


def openml_frame(rows):
    """Rows of text as OpenML has them: more columns, categories, the test records first."""
    pandas = pytest.importorskip("pandas")
    n_training = _adult.N_TRAINING_RECORDS
    rows = rows[n_training:] + rows[:n_training]
    frame = pandas.DataFrame(rows, columns=[*COLUMNS[:-1], "class"])
    frame["age"] = frame["age"].astype("int64")
    for column in [*CATEGORICAL, "class"]:
        known = sorted(set(frame[column]) - {"?"})
        values = frame[column].astype(object).where(frame[column] != "?", None)
        frame[column] = pandas.Categorical(values, categories=known)
    for position, column in enumerate(["fnlwgt", "education-num", "relationship"]):
        frame.insert(2 * position + 2, column, 1)
    frame.insert(10, "hours-per-week", 40)
    return frame


def write_csv(path, rows, header=COLUMNS):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


# Returned data


def test_array_from_own_folder(own_folder, requested):
    rows = invented()
    write_csv(own_folder / "adult.csv", rows)
    X = fetch_adult(return_X=True)
    assert X.dtype == object
    np.testing.assert_array_equal(X, as_objects(rows))
    assert {type(age) for age in X[:, 0]} == {int}
    assert {type(value) for value in X[:, 1:-1].ravel()} == {str, type(None)}
    assert {type(value) for value in X[:, -1]} == {str}
    assert not requested


def test_frame_from_own_folder(own_folder):
    pandas = pytest.importorskip("pandas")
    write_csv(own_folder / "adult.csv", invented())
    frame = fetch_adult(as_frame=True, return_X=True)
    X = fetch_adult(return_X=True)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == COLUMNS
    assert frame["age"].dtype == np.int64
    is_missing = frame.isna().to_numpy()
    np.testing.assert_array_equal(is_missing, np.equal(X, None))
    np.testing.assert_array_equal(frame.to_numpy(dtype=object)[~is_missing], X[~is_missing])


@pytest.mark.parametrize("as_frame", [False, True])
def test_bunch(own_folder, as_frame):
    from sk_microagg.tables import Hierarchy

    write_csv(own_folder / "adult.csv", invented())
    bunch = fetch_adult(as_frame=as_frame)
    assert set(bunch) == {"data", "feature_names", "hierarchies", "frame", "DESCR"}
    assert bunch.feature_names == COLUMNS
    assert bunch.data.shape == (N_RECORDS, 9)
    assert bunch.frame is (bunch.data if as_frame else None)
    assert "10.24432/C5XW20" in bunch.DESCR
    assert list(bunch.hierarchies) == CATEGORICAL
    assert all(isinstance(hierarchy, Hierarchy) for hierarchy in bunch.hierarchies.values())


@pytest.mark.parametrize(
    ("parameter", "value"), [("n_retries", 0), ("n_retries", -1), ("delay", 0), ("delay", -1)]
)
def test_bad_number(parameter, value, requested):
    with pytest.raises(ValueError, match=rf"{parameter} == {value}, must be >"):
        fetch_adult(**{parameter: value})
    with pytest.raises(TypeError, match=parameter):
        fetch_adult(**{parameter: "1"})
    assert not requested


# The real table


@pytest.mark.slow
def test_real_table(real):
    assert real.shape == (48842, 9)
    assert list(real[0]) == [
        *(39, "State-gov", "Bachelors", "Never-married", "Adm-clerical"),
        *("White", "Male", "United-States", "<=50K"),
    ]
    assert Counter(real[:, -1]) == {"<=50K": 37155, ">50K": 11687}
    assert (real[:, 0].min(), real[:, 0].max()) == (17, 90)


@pytest.mark.slow
def test_missing_values_of_the_real_table(real):
    is_missing = np.equal(real, None)
    assert dict(zip(COLUMNS, is_missing.sum(axis=0), strict=True)) == {
        **dict.fromkeys(COLUMNS, 0),
        "workclass": 2799,
        "occupation": 2809,
        "native-country": 857,
    }
    quasi_identifiers = is_missing[:, :8]
    assert f"{quasi_identifiers.mean():.2%}" == "1.65%"
    assert f"{quasi_identifiers.any(axis=1).mean():.2%}" == "7.41%"


def test_leaves_are_the_values_of_the_real_table(real):
    for column, values in zip(CATEGORICAL, real[:, 1:-1].T, strict=True):
        assert set(values) - {None} == set(leaves(column))


@pytest.mark.slow
def test_openml_gives_the_real_table(real, real_file, monkeypatch, cached):
    text = real_file.read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))[1:]
    serve(monkeypatch, openml_frame(rows))
    np.testing.assert_array_equal(fetch_adult(return_X=True), real)
    assert cached.read_text(encoding="utf-8") == text


# The files of the hierarchies


@every_hierarchy
def test_hierarchy_file_has_one_row_per_leaf(column):
    rows = hierarchy_rows(column)
    assert len(set(leaves(column))) == len(rows)
    assert len({len(row) for row in rows}) == 1
    assert {row[-1] for row in rows} == {"*"}
    assert all(cell and cell == cell.strip() for cell in chain(*rows))


@every_hierarchy
def test_hierarchy_file_is_a_tree(column):
    """Each name stands for one node: it occurs on one level only, and below one parent."""
    level, parent = {}, {}
    for row in hierarchy_rows(column):
        for i, name in enumerate(row):
            assert level.setdefault(name, i) == i
            assert parent.setdefault(name, row[i + 1 :]) == row[i + 1 :]


@every_hierarchy
def test_every_level_of_a_hierarchy_has_fewer_nodes(column):
    levels = [len(set(names)) for names in zip(*hierarchy_rows(column), strict=True)]
    assert levels == sorted(set(levels), reverse=True)


# The folder of the environment variable


def test_missing_own_folder(monkeypatch, tmp_path, requested):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(OSError, match="SK_MICROAGG_DATA") as error:
        fetch_adult()
    assert str(tmp_path / "nowhere" / "adult.csv") in str(error.value)
    assert not requested


def test_own_folder_comes_before_cache(own_folder, cached, requested):
    write_csv(cached, invented())
    with pytest.raises(OSError, match="SK_MICROAGG_DATA") as error:
        fetch_adult()
    assert str(own_folder / "adult.csv") in str(error.value)
    assert not requested


def test_empty_variable_is_unset(monkeypatch, cached):
    monkeypatch.setenv("SK_MICROAGG_DATA", "")
    write_csv(cached, invented())
    assert fetch_adult(return_X=True).shape == (N_RECORDS, 9)


# Files that are not the table


@pytest.mark.parametrize(
    "header", [[], COLUMNS[:-1], COLUMNS[::-1]], ids=["none", "short", "order"]
)
def test_wrong_header(own_folder, header):
    write_csv(own_folder / "adult.csv", invented(), header)
    with pytest.raises(ValueError, match=r"adult\.csv has the header .* expected 'age,workclass"):
        fetch_adult()


@pytest.mark.parametrize("n_rows", [0, N_TRAINING, N_RECORDS - 1])
def test_wrong_number_of_rows(own_folder, n_rows):
    write_csv(own_folder / "adult.csv", invented()[:n_rows])
    with pytest.raises(ValueError, match=rf"adult\.csv has {n_rows} records, expected 360"):
        fetch_adult()


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("age", "?", "invalid literal"),
        ("age", "39.5", "invalid literal"),
        ("workclass", "", "'' is not a value of workclass"),
        ("occupation", " Sales", "' Sales' is not a value of occupation"),
        ("native-country", "Atlantis", "'Atlantis' is not a value of native-country"),
        ("salary-class", "<=50K.", "'<=50K.' is not a value of salary-class"),
        ("salary-class", "?", r"'\?' is not a value of salary-class"),
    ],
)
def test_unknown_value(own_folder, column, cell, reason):
    rows = invented()
    rows[6][COLUMNS.index(column)] = cell
    write_csv(own_folder / "adult.csv", rows)
    with pytest.raises(ValueError, match=rf"Record 7 of .*adult\.csv cannot be read: {reason}"):
        fetch_adult()


@pytest.mark.parametrize("change", [lambda row: row[:-1], lambda row: [*row, "1"]])
def test_row_of_wrong_length(own_folder, change):
    rows = invented()
    rows[0] = change(rows[0])
    write_csv(own_folder / "adult.csv", rows)
    with pytest.raises(ValueError, match=r"Record 1 of .*adult\.csv cannot .* cells, expected 9"):
        fetch_adult()


# The cache and the download


def test_cached_file_is_used(cached, requested):
    rows = invented()
    write_csv(cached, rows)
    X = fetch_adult(download_if_missing=False, return_X=True)
    np.testing.assert_array_equal(X, as_objects(rows))
    assert not requested


def test_download_not_allowed(cached, requested):
    with pytest.raises(OSError, match="download_if_missing=False") as error:
        fetch_adult(download_if_missing=False)
    assert str(cached) in str(error.value)
    assert not requested


def test_download(cached, monkeypatch):
    rows = invented()
    requests = serve(monkeypatch, openml_frame(rows))
    X = fetch_adult(n_retries=5, delay=0.5, return_X=True)
    np.testing.assert_array_equal(X, as_objects(rows))
    [(name, kwargs)] = requests
    assert (name, kwargs["version"]) == ("adult", 2)
    assert (kwargs["n_retries"], kwargs["delay"]) == (5, 0.5)
    assert files_in(cached.parent) == ["adult.csv"]

    again = fetch_adult(download_if_missing=False, return_X=True)
    np.testing.assert_array_equal(again, X)
    assert len(requests) == 1


def test_retries_of_scikit_learn_are_not_heard(monkeypatch):
    """Its own function: only the connection is another one."""
    monkeypatch.setattr(_adult, "fetch_openml", sklearn.datasets.fetch_openml)
    n_calls = []

    def no_network(*arguments, **parameters):
        n_calls.append(1)
        raise TimeoutError("no network in tests")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", no_network)
    # A warning would be another error.
    with pytest.raises(OSError, match=r"Could not download version 2 .* from OpenML"):
        fetch_adult(n_retries=2, delay=1e-9)
    assert len(n_calls) > 2


def test_download_to_data_home(cached, monkeypatch, tmp_path):
    requests = serve(monkeypatch, openml_frame(invented()))
    fetch_adult(data_home=tmp_path / "other", return_X=True)
    assert requests[0][1]["data_home"] == tmp_path / "other"
    assert files_in(tmp_path / "other" / "sk_microagg") == ["adult.csv"]
    assert not cached.exists()


def test_wrong_cached_file_is_downloaded_again(cached, monkeypatch):
    rows = invented()
    write_csv(cached, rows[:100])
    serve(monkeypatch, openml_frame(rows))
    with pytest.warns(UserWarning, match=r"has 100 records.*downloaded again") as warned:
        X = fetch_adult(return_X=True)
    assert [warning.filename for warning in warned] == [__file__]
    np.testing.assert_array_equal(X, as_objects(rows))
    np.testing.assert_array_equal(fetch_adult(return_X=True), X)


def test_wrong_cached_file_without_download(cached, requested):
    write_csv(cached, invented()[:100])
    with pytest.raises(ValueError, match="has 100 records"):
        fetch_adult(download_if_missing=False)
    assert not requested


def test_wrong_download_is_not_kept(cached, monkeypatch):
    serve(monkeypatch, openml_frame(invented()[:100]))
    with pytest.raises(ValueError, match="100 records, expected 360"):
        fetch_adult()
    assert not cached.parent.exists()


def test_file_that_cannot_be_written_leaves_nothing(cached, monkeypatch):
    serve(monkeypatch, openml_frame(invented()))

    def fail(path, target):
        raise OSError("the disk is full")

    monkeypatch.setattr(_adult.Path, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        fetch_adult()
    assert files_in(cached.parent) == []


@pytest.mark.parametrize(
    "failure",
    [
        URLError("the line is down"),
        TimeoutError("the line is down"),
        EOFError("the line is down"),
        ValueError("the line is down"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_failed_download(cached, monkeypatch, failure):
    pytest.importorskip("pandas")

    def fail(*args, **kwargs):
        raise failure

    monkeypatch.setattr(_adult, "fetch_openml", fail)
    said = r"Could not download.*OpenML.*the line is down.*SK_MICROAGG_DATA.*adult\.csv"
    with pytest.raises(OSError, match=said):
        fetch_adult()
    assert not cached.parent.exists()


# Optional dependencies


def test_file_needs_no_extra(own_folder, monkeypatch):
    write_csv(own_folder / "adult.csv", invented())
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert fetch_adult(return_X=True).shape == (N_RECORDS, 9)


def test_as_frame_without_pandas(monkeypatch, requested):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"as_frame=True needs .*sk-microagg\[table\]"):
        fetch_adult(as_frame=True)
    assert not requested


def test_download_without_pandas(monkeypatch, requested):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"Downloading adult\.csv needs pandas.*\[table\]"):
        fetch_adult()
    assert not requested
