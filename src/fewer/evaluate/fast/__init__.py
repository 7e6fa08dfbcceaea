"""Closed forms: all label permutations, or all subsets on a path, without a fit for each.

Nearest neighbours, ridge (with one penalty, or the best of several), support vector machines, linear discriminant
analysis and Gaussian naive Bayes have one module each, with one object that holds its closed forms. Which estimators
and options they are for is in ``fewer._estimators`` (``closed_form``).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from fewer._estimators import ClosedForm

__all__ = ["Routes", "routes_of", "row_blocks", "shared", "shared_work"]

_CELLS = 4_000_000
_SHARED: ContextVar[dict[str, Any] | None] = ContextVar("shared work", default=None)


class Routes(NamedTuple):
    """The closed forms of one estimator.

    ``label_permutations(model, table, n_train)`` builds what predicts left-out rows for many labellings, or None where
    the closed form does not hold; None instead where there is no such form. ``class_path`` and ``value_path`` predict
    test rows for every subset on a path.
    """

    label_permutations: Callable[..., Any] | None
    class_path: Callable[..., "np.ndarray | None"]
    value_path: Callable[..., "np.ndarray | None"] | None = None


def routes_of(form: "ClosedForm") -> Routes:
    """The closed forms of the estimator of ``form``; its module is imported when it is first asked for."""
    from fewer._estimators import (
        DISCRIMINANT,
        NAIVE_BAYES,
        NEIGHBOURS,
        OCCURRENCES,
        RIDGE,
        RIDGE_BY_LOO,
        SUPPORT_VECTORS,
    )

    if form.name == NEIGHBOURS:
        from fewer.evaluate.fast._neighbours import ROUTES
    elif form.name == RIDGE:
        from fewer.evaluate.fast._ridge import ROUTES
    elif form.name == RIDGE_BY_LOO:
        from fewer.evaluate.fast._ridge import ROUTES_BY_LOO as ROUTES
    elif form.name == SUPPORT_VECTORS:
        from fewer.evaluate.fast._support_vectors import ROUTES
    elif form.name == DISCRIMINANT:
        from fewer.evaluate.fast._discriminant import ROUTES
    elif form.name == OCCURRENCES:
        from fewer.evaluate.fast._naive_bayes import OCCURRENCE_ROUTES as ROUTES
    else:
        assert form.name == NAIVE_BAYES
        from fewer.evaluate.fast._naive_bayes import ROUTES
    return ROUTES


def row_blocks(table: "np.ndarray") -> Iterator[slice]:
    """Rows of each block of a table, so that what is computed from all rows needs no second copy of them."""
    from sklearn.utils import gen_batches

    return gen_batches(len(table), max(1, _CELLS // max(1, table.shape[1])))


@contextmanager
def shared_work() -> Iterator[None]:
    """Until the end of the block, estimators on the same rows and path read again what one of them has computed."""
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def shared(name: str, *arrays: "np.ndarray") -> dict[Any, Any]:
    """What was computed from equal arrays, to read and to add to; what was kept for others under the name is lost."""
    import numpy as np

    kept = _SHARED.get()
    if kept is None:
        return {}
    before, results = kept.get(name, ((), {}))
    if len(before) != len(arrays) or not all(map(np.array_equal, before, arrays)):
        results = {}
        kept[name] = tuple(array.copy() for array in arrays), results
    return results
