"""What callbacks see of a fit: every step by its name, and what the estimator would be if it ended there."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import fit_steps


class Counter(CallbackSupportMixin, BaseEstimator):
    """Counts to ten, unless it is stopped."""

    @with_callbacks
    def fit(self, X, y=None):
        with fit_steps(self, X, y, n_steps=10) as after_step:
            for number in range(1, 11):
                self.count_ = number
                if after_step("count", lambda number=number: {"count_": number}):
                    break
        return self


class Note:
    """Notes what it sees, and stops the fit after some steps."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.seen = []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context):
        self.seen.append(("begin", context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.seen.append(("end", context.task_name, getattr(fitted_estimator, "count_", None)))
        return context.parent is not None and context.task_id + 1 == self.stop_after


def test_steps_begin_and_end_inside_of_the_fit_and_carry_what_there_is():
    note = Note(stop_after=2)
    assert Counter().set_callbacks(note).fit(np.eye(2)).count_ == 2
    assert note.seen == [
        ("begin", "fit", 10),
        ("begin", "count", 0),
        ("end", "count", 1),
        ("begin", "count", 0),
        ("end", "count", 2),
        ("end", "fit", None),
    ]


def test_without_a_callback_nothing_stops():
    assert Counter().fit(np.eye(2)).count_ == 10
