"""Features of newer scikit-learn versions, with replacements where they are missing."""

from contextlib import nullcontext

from sklearn.utils.metaestimators import available_if

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9, or after the experiment

    def with_callbacks(method):
        """Return the method unchanged."""
        return method

    class CallbackSupportMixin:
        """Callbacks are not supported: the context of a task does nothing."""

        def _init_callback_context(self, **task):
            return _NullContext()

    class _NullContext:
        def subcontext(self, **task):
            return self

        def call_on_fit_task_begin(self, **state):
            return self

        def call_on_fit_task_end(self, **state):
            return False

        def propagate_callback_context(self, sub_estimator):
            return nullcontext()


__all__ = ["CallbackSupportMixin", "available_if", "with_callbacks"]
