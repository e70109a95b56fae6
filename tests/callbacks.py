"""Callbacks that record what they are told."""


class StopAfter:
    """A callback that ends the search after some steps."""

    def __init__(self, n_steps):
        self.n_steps = n_steps
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"{context.task_name} begins")

    def on_fit_task_end(self, estimator, context):
        self.events.append(f"{context.task_name} ends")
        return self.events.count("step ends") >= self.n_steps
