"""A gradient learnt on the way, by the learner that was given or by one that suits the target."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

from fewer.extract.gradients._gradient_learner import GradientLearner
from fewer.extract.gradients._target import holds_quantity, targets_of


@contextmanager
def learnt_gradients(owner: Any, X: Any, y: np.ndarray) -> Iterator[GradientLearner]:
    """The fitted learner of an estimator; callbacks that can be handed on see its steps.

    All attributes of the owner must be set before the block ends.
    """
    learner = suited_learner(y) if owner.estimator is None else clone(owner.estimator)
    targets_of(y, learner.loss, type(owner).__name__)
    fitting = owner._init_callback_context(max_subtasks=1)
    fitting.call_on_fit_task_begin(estimator=owner, X=X, y=y)
    step = fitting.subcontext(task_name="gradients")
    with step.propagate_callback_context(learner):
        step.call_on_fit_task_begin(estimator=owner, X=X, y=y)
        learner.fit(X, y)
        step.call_on_fit_task_end(estimator=owner, X=X, y=y)
    yield learner
    fitting.call_on_fit_task_end(estimator=owner, X=X, y=y)


def suited_learner(y: np.ndarray) -> GradientLearner:
    """Least squares for numbers that are measured, else the logistic loss."""
    return GradientLearner("squared" if holds_quantity(y) else "logistic")
