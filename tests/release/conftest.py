import pytest

from sk_microagg.release import ReleaseRequest, RequestError, release_file
from sk_microagg.release._release import Progress


@pytest.fixture
def release():
    """Release a file; return the summary, which has the warnings."""

    def release(path, output, **settings):
        return release_file(ReleaseRequest(path, output, **settings), progress=Progress())

    return release


@pytest.fixture
def refused(tmp_path, release):
    """Ask for a release that is refused; nothing is written. Return the error."""

    def refused(path, output, **settings):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(RequestError) as caught:
            release(path, output, **settings)
        assert sorted(tmp_path.rglob("*")) == before
        assert "\n" not in str(caught.value)
        return caught.value

    return refused
