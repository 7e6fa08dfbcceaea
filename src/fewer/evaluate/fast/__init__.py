"""Closed forms: all label permutations, or all subsets on a path, without a fit for each.

Nearest neighbours, ridge (with one penalty, or the best of several), support vector machines, linear discriminant
analysis and Gaussian naive Bayes have one module each, with one object that holds its closed forms. Which estimators
and options they are for is in ``fewer._estimators`` (``closed_form``).
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from fewer._estimators import ClosedForm

__all__ = ["Routes", "routes_of", "row_blocks"]

_CELLS = 4_000_000


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
