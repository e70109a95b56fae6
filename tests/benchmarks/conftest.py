import pytest

try:
    import resource
except ImportError:  # as on Windows, where the scripts set no limit
    resource = None


@pytest.fixture(autouse=True)
def own_memory_limit():
    """Undo the limit that scripts set for themselves: a browser does not start with it."""
    before = resource and resource.getrlimit(resource.RLIMIT_AS)
    yield
    if before:
        resource.setrlimit(resource.RLIMIT_AS, before)
