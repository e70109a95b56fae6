import sys

import pytest


@pytest.fixture
def command():
    """The arguments that start the command line as a process."""
    return [sys.executable, "-P", "-m", "sk_microagg"]
