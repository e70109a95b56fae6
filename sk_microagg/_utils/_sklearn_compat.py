"""What newer versions of scikit-learn have, and a stand-in where it is missing."""

from contextlib import nullcontext

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9, or after the experiment

    def with_callbacks(method):
        """Return the method as it is."""
        return method

    class CallbackSupportMixin:
        """Callbacks are not supported: the context of a task tells nobody."""

        def _init_callback_context(self, **task):
            return _Silence()

    class _Silence:
        def subcontext(self, **task):
            return self

        def call_on_fit_task_begin(self, **state):
            return self

        def call_on_fit_task_end(self, **state):
            return False

        def propagate_callback_context(self, sub_estimator):
            return nullcontext()


__all__ = ["CallbackSupportMixin", "with_callbacks"]
