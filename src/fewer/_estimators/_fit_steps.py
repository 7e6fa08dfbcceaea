"""The steps of a fit, as callbacks of scikit-learn see them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Attributes = Callable[[], dict[str, Any]]
Step = Callable[..., bool]


@contextmanager
def fit_steps(estimator: Any, X: Any, y: Any = None, *, n_steps: int | None = None) -> Iterator[Step]:
    """Gives a function to call after each step of a fit, with its name; it returns whether a callback says stop.

    The second argument makes the attributes that the estimator would have if the fit ended here; None where that is
    not known. All attributes must be set before the block ends. ``n_steps`` is how many there will be, if that is
    known.
    """
    fitting = estimator._init_callback_context(max_subtasks=n_steps)
    fitting.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def after_step(name: str, attributes: Attributes | None = None) -> bool:
        step = fitting.subcontext(task_name=name)
        step.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        return step.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=attributes)

    # Telling nobody takes a fifth of a millisecond, more than many a step.
    watched = bool(getattr(estimator, "_skl_callbacks", None))
    yield after_step if watched else _keep_going
    fitting.call_on_fit_task_end(estimator=estimator, X=X, y=y)


def _keep_going(name: str, attributes: Attributes | None = None) -> bool:
    return False
