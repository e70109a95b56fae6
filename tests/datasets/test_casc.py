import csv
import hashlib
import shutil
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import requests
from marks import in_one_case

from sk_microagg.datasets import _casc, _files, fetch_census, fetch_eia, fetch_tarragona
from sk_microagg.datasets._casc import CENSUS, EIA, EIA_AMOUNTS, TARRAGONA

CASES = [
    pytest.param(fetch_tarragona, TARRAGONA, TARRAGONA.columns, id="tarragona"),
    pytest.param(fetch_census, CENSUS, CENSUS.columns, id="census"),
    pytest.param(fetch_eia, EIA, ("UTILITYID", *EIA_AMOUNTS), id="eia"),
    pytest.param(partial(fetch_eia, 11), EIA, ("UTILITYID", *EIA_AMOUNTS), id="eia-11"),
    pytest.param(partial(fetch_eia, 10), EIA, EIA_AMOUNTS, id="eia-10"),
]
every_fetcher = pytest.mark.parametrize(("fetch", "source", "columns"), CASES)

CONTENT = b"stands for an upstream file"
SOURCE = replace(TARRAGONA, sha256=hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture(autouse=True)
def requested(monkeypatch, tmp_path):
    """No network, no folder of the user, no waiting; returns the list of requested URLs."""
    urls = []

    def refuse(url, **kwargs):
        urls.append(url)
        raise requests.ConnectionError("no network in tests")

    monkeypatch.setattr(requests, "get", refuse)
    monkeypatch.setattr(_files.time, "sleep", lambda seconds: None)
    monkeypatch.delenv("SK_MICROAGG_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    return urls


@pytest.fixture
def own_folder(monkeypatch, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("SK_MICROAGG_DATA", str(folder))
    return folder


@pytest.fixture
def cached(tmp_path):
    """The path of SOURCE in the cache, which does not exist yet."""
    return tmp_path / "home" / "sk_microagg" / SOURCE.rda


def locate(data_home=None, download_if_missing=True, n_retries=0, delay=1.0, source=SOURCE):
    access = _files.Access(data_home, download_if_missing, n_retries, delay)
    return _files.locate(source, access)


def serve(monkeypatch, content, *, failures=0):
    """Make the network answer with `content`, after some failed requests; count the requests."""
    urls = []

    class Answer:
        headers = {"content-length": str(len(content))}  # noqa: RUF012

        def raise_for_status(self):
            pass

        def iter_content(self, chunk_size):
            yield content

    def get(url, **kwargs):
        urls.append(url)
        if len(urls) <= failures:
            raise requests.ConnectionError("the line is down")
        return Answer()

    monkeypatch.setattr(requests, "get", get)
    return urls


def invented(source):
    """Rows of cells with the columns of `source`: the number 100 i + j in row i, column j."""
    words = {"UTILNAME": "Light, Power & Co", "STATE": "AK"}
    return [
        [words.get(name, str(100 * i + j)) for j, name in enumerate(source.columns)]
        for i in range(source.n_rows)
    ]


def write_csv(folder, source, header=None, rows=None):
    with (folder / source.csv).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(source.columns if header is None else header)
        writer.writerows(invented(source) if rows is None else rows)


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


# Returned data


@every_fetcher
def test_bunch_from_csv(own_folder, fetch, source, columns):
    write_csv(own_folder, source)
    bunch = fetch()

    assert set(bunch) == {"data", "feature_names", "frame", "DESCR"}
    assert bunch.feature_names == list(columns)
    assert bunch.frame is None
    assert "CASC" in bunch.DESCR
    assert "https://github.com/sdcTools/sdcMicro" in bunch.DESCR
    positions = [source.columns.index(name) for name in columns]
    expected = 100.0 * np.arange(source.n_rows)[:, None] + positions
    np.testing.assert_array_equal(bunch.data, expected)
    assert bunch.data.dtype == np.float64
    assert bunch.data.flags.c_contiguous


@every_fetcher
def test_return_only_the_data(own_folder, fetch, source, columns):
    write_csv(own_folder, source)
    X = fetch(return_X=True)
    assert isinstance(X, np.ndarray)
    np.testing.assert_array_equal(X, fetch().data)


@every_fetcher
def test_as_frame(own_folder, fetch, source, columns):
    pandas = pytest.importorskip("pandas")
    write_csv(own_folder, source)
    bunch = fetch(as_frame=True)

    assert bunch.data is bunch.frame
    assert isinstance(bunch.frame, pandas.DataFrame)
    assert list(bunch.frame.columns) == bunch.feature_names == list(columns)
    assert set(bunch.frame.dtypes) == {np.dtype(np.float64)}
    np.testing.assert_array_equal(bunch.frame.to_numpy(), fetch().data)
    pandas.testing.assert_frame_equal(fetch(as_frame=True, return_X=True), bunch.frame)


@in_one_case("variant", [12, 0, None, "11"])
def test_bad_variant(variant):
    with pytest.raises(ValueError, match=f"variant={variant!r}"):
        fetch_eia(variant)


@pytest.mark.parametrize("parameter", ["n_retries", "delay"])
def test_bad_number(parameter, own_folder):
    with pytest.raises(ValueError, match=rf"{parameter} == -1, must be >= 0"):
        fetch_tarragona(**{parameter: -1})
    with pytest.raises(TypeError, match=parameter):
        fetch_tarragona(**{parameter: "1"})


# The real files


@every_fetcher
def test_real_files(data_folder, monkeypatch, fetch, source, columns):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(data_folder))
    bunch = fetch()
    assert bunch.data.shape == (source.n_rows, len(columns))
    assert bunch.feature_names == list(columns)
    assert bunch.data.dtype == np.float64
    assert bunch.data.flags.c_contiguous
    assert bunch.data.flags.writeable
    assert np.isfinite(bunch.data).all()


@every_fetcher
def test_rda_equals_csv(data_folder, own_folder, fetch, source, columns):
    pytest.importorskip("rdata")
    both = [data_folder / source.rda, data_folder / source.csv]
    if not all(path.exists() for path in both):
        pytest.skip(f"needs both {source.rda} and {source.csv} in {data_folder}")
    results = []
    for path in both:
        copy = own_folder / path.name
        shutil.copyfile(path, copy)
        results.append(fetch(return_X=True))
        copy.unlink()
    np.testing.assert_array_equal(*results)


def test_download_to_data_home(data_folder, monkeypatch, tmp_path):
    pytest.importorskip("rdata")
    upstream = data_folder / TARRAGONA.rda
    if not upstream.exists():
        pytest.skip(f"needs {upstream.name} in {data_folder}")
    urls = serve(monkeypatch, upstream.read_bytes())
    X = fetch_tarragona(data_home=tmp_path / "other", return_X=True)
    assert X.shape == (834, 13)
    assert urls == [TARRAGONA.url]
    assert files_in(tmp_path / "other" / "sk_microagg") == ["Tarragona.rda"]
    again = fetch_tarragona(data_home=tmp_path / "other", download_if_missing=False, return_X=True)
    np.testing.assert_array_equal(again, X)
    assert len(urls) == 1


# The folder of the environment variable


def test_rda_comes_before_csv(own_folder):
    write_csv(own_folder, SOURCE)
    assert locate() == own_folder / SOURCE.csv
    (own_folder / SOURCE.rda).write_bytes(CONTENT)
    assert locate() == own_folder / SOURCE.rda


def test_own_folder_comes_before_cache(own_folder, cached):
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT)
    with pytest.raises(OSError, match="SK_MICROAGG_DATA"):
        locate()


def test_empty_variable_is_unset(monkeypatch, cached):
    monkeypatch.setenv("SK_MICROAGG_DATA", "")
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT)
    assert locate() == cached


def test_wrong_rda_in_own_folder(own_folder, requested):
    write_csv(own_folder, TARRAGONA)
    (own_folder / "Tarragona.rda").write_bytes(b"something else")
    with pytest.raises(OSError, match=r"Tarragona\.rda .*SHA-256"):
        fetch_tarragona()
    assert not requested


def test_missing_own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SK_MICROAGG_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(OSError, match="SK_MICROAGG_DATA") as error:
        fetch_census()
    for part in (str(tmp_path / "nowhere"), "CASCrefmicrodata.rda", "census.csv"):
        assert part in str(error.value)


def test_missing_files_in_own_folder(own_folder, requested):
    with pytest.raises(OSError, match="SK_MICROAGG_DATA") as error:
        fetch_eia()
    for part in (str(own_folder), "EIA.rda", "eia.csv"):
        assert part in str(error.value)
    assert not requested


# CSV files that are not the table


@pytest.mark.parametrize(
    "header", [[], TARRAGONA.columns[:-1], TARRAGONA.columns[::-1]], ids=["none", "short", "order"]
)
def test_wrong_header(own_folder, header):
    write_csv(own_folder, TARRAGONA, header=header)
    with pytest.raises(ValueError, match=r"tarragona\.csv has the header .* expected 'FIXED"):
        fetch_tarragona()


def test_empty_csv(own_folder):
    (own_folder / "tarragona.csv").touch()
    with pytest.raises(ValueError, match="has the header ''"):
        fetch_tarragona()


@pytest.mark.parametrize("n_rows", [0, 833, 835])
def test_wrong_number_of_rows(own_folder, n_rows):
    write_csv(own_folder, TARRAGONA, rows=invented(replace(TARRAGONA, n_rows=n_rows)))
    with pytest.raises(ValueError, match=rf"tarragona\.csv has {n_rows} records, expected 834"):
        fetch_tarragona()


@pytest.mark.parametrize("cell", ["", "?", "nan", "inf"])
def test_cell_that_is_not_a_number(own_folder, cell):
    rows = invented(TARRAGONA)
    rows[6][3] = cell
    write_csv(own_folder, TARRAGONA, rows=rows)
    with pytest.raises(ValueError, match=r"Record 7 of .*tarragona\.csv "):
        fetch_tarragona()


@pytest.mark.parametrize("change", [lambda row: row[:-1], lambda row: [*row, "1"]])
def test_row_of_wrong_length(own_folder, change):
    rows = invented(TARRAGONA)
    rows[0] = change(rows[0])
    write_csv(own_folder, TARRAGONA, rows=rows)
    with pytest.raises(ValueError, match=r"Record 1 of .*tarragona\.csv "):
        fetch_tarragona()


# The cache and the download


def test_cached_file_is_used(cached, requested):
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT)
    assert locate() == cached
    assert not requested


def test_download_not_allowed(cached, requested):
    with pytest.raises(OSError, match="download_if_missing=False") as error:
        fetch_tarragona(download_if_missing=False)
    assert str(cached) in str(error.value)
    assert not requested


def test_download(cached, monkeypatch):
    urls = serve(monkeypatch, CONTENT)
    assert locate() == cached
    assert cached.read_bytes() == CONTENT
    assert files_in(cached.parent) == [SOURCE.rda]
    assert urls == [SOURCE.url]


def test_wrong_cached_file_is_downloaded_again(cached, monkeypatch):
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"cut sho")
    serve(monkeypatch, CONTENT)
    with pytest.warns(UserWarning, match=r"not the upstream file.*downloaded again"):
        assert locate() == cached
    assert cached.read_bytes() == CONTENT


def test_wrong_cached_file_without_download(cached, requested):
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"cut sho")
    with pytest.raises(OSError, match="not the upstream file"):
        locate(download_if_missing=False)
    assert not requested


def test_wrong_download_is_not_kept(cached, monkeypatch):
    urls = serve(monkeypatch, b"a page that says the file has moved")
    with pytest.raises(OSError, match="discarded") as error:
        locate(n_retries=3)
    assert SOURCE.url in str(error.value)
    assert len(urls) == 1
    assert files_in(cached.parent) == []


def test_offline(cached, requested):
    with pytest.raises(OSError, match="Could not download") as error:
        fetch_tarragona(n_retries=0)
    for part in (TARRAGONA.url, "SK_MICROAGG_DATA", "Tarragona.rda", "tarragona.csv"):
        assert part in str(error.value)
    assert requested == [TARRAGONA.url]
    assert files_in(cached.parent) == []


def test_retries(cached, monkeypatch):
    waits = []
    monkeypatch.setattr(_files.time, "sleep", waits.append)
    urls = serve(monkeypatch, CONTENT, failures=2)
    with pytest.warns(UserWarning, match="trying again") as warned:
        assert locate(n_retries=2, delay=0.5) == cached
    assert len(urls) == 3
    assert len(warned) == 2
    assert waits == [0.5, 0.5]


def test_retries_run_out(requested):
    with (
        pytest.warns(UserWarning, match="trying again"),
        pytest.raises(OSError, match="Could not download"),
    ):
        locate(n_retries=2)
    assert len(requested) == 3


def test_warnings_point_to_the_caller(cached):
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"cut sho")
    with (
        pytest.warns(UserWarning, match="download") as warned,
        pytest.raises(OSError, match="Could not download"),
    ):
        fetch_tarragona(n_retries=1)
    assert [warning.filename for warning in warned] == [__file__, __file__]
    assert cached.read_bytes() == b"cut sho"


@in_one_case("source", [TARRAGONA, CENSUS, EIA])
def test_url_is_of_one_commit(source):
    commit = "cf3251017482bb215f0a9abf4a930f502399fb72"
    assert source.url == (
        f"https://raw.githubusercontent.com/sdcTools/sdcMicro/{commit}/data/{source.rda}"
    )


# Optional dependencies


def forbid(monkeypatch, *modules):
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


def test_csv_needs_no_extra(own_folder, monkeypatch):
    write_csv(own_folder, EIA)
    forbid(monkeypatch, "pandas", "pooch", "rdata", "requests")
    assert fetch_eia(return_X=True).shape == (4092, 11)


def test_as_frame_without_pandas(monkeypatch, requested):
    forbid(monkeypatch, "pandas")
    with pytest.raises(ImportError, match=r"as_frame=True needs .*sk-microagg\[table\]"):
        fetch_tarragona(as_frame=True)
    assert not requested


def test_download_without_pooch(monkeypatch):
    forbid(monkeypatch, "pooch")
    with pytest.raises(ImportError, match=r"Tarragona\.rda needs pooch.*sk-microagg\[datasets\]"):
        fetch_tarragona()


def test_rda_without_rdata(own_folder, monkeypatch):
    forbid(monkeypatch, "rdata")
    monkeypatch.setattr(_casc, "TARRAGONA", SOURCE)
    (own_folder / SOURCE.rda).write_bytes(CONTENT)
    with pytest.raises(ImportError, match=r"Tarragona\.rda needs rdata.*sk-microagg\[datasets\]"):
        fetch_tarragona()
