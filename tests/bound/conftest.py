from collections import Counter
from contextlib import contextmanager

import pytest

from sk_microagg._bound._master import Master
from sk_microagg._bound._repair import Repair
from sk_microagg._bound._scheme import Scheme
from sk_microagg._bound._sets import Cuts


@contextmanager
def counting_work():
    """Count what `loss_bound` does: a Counter that is filled within the context."""
    n = Counter()

    def count(cls, method, update):
        original = getattr(cls, method)

        def counted(self, *args, **kwargs):
            result = original(self, *args, **kwargs)
            update(result)
            return result

        patch.setattr(cls, method, counted)

    def repaired(result):
        n["repairs" if result[0] is not None else "repairs given up"] += 1

    with pytest.MonkeyPatch.context() as patch:
        count(Scheme, "advance", lambda _: n.update(iterations=1))
        count(Master, "_run_first_order_method", lambda _: n.update(ascents=1))
        count(Master, "_price_columns", lambda n_new: n.update(columns=n_new))
        count(Repair, "run", repaired)
        count(Cuts, "separate", lambda n_new: n.update(cuts=n_new))
        yield n


@pytest.fixture(scope="session", name="counting_work")
def counting_work_fixture():
    """The context manager `counting_work`; for the session, as hypothesis wants it."""
    return counting_work
