"""Versions of scikit-learn without callbacks get a replacement that does nothing."""

import runpy
import sys

from sk_microagg._utils import _sklearn_compat


def test_replacement_of_callbacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    names = runpy.run_path(_sklearn_compat.__file__)
    context = names["CallbackSupportMixin"]()._init_callback_context(max_subtasks=1)
    step = context.subcontext(task_name="step").call_on_fit_task_begin(estimator=None)
    with step.propagate_callback_context(None):
        assert step.call_on_fit_task_end(estimator=None) is False
    assert names["with_callbacks"](max) is max
