"""The subset of every size that a fitted selector found, read off one fit, and predictions for all of them.

A search leaves ``subset_path_`` (size -> columns, nested or not), a ranking leaves ``ranking_`` (1 is best), a filter
leaves ``scores_`` (higher is better), and a model inside a selector leaves coefficients or importances.

k-NN, ridge, linear discriminant analysis and Gaussian naive Bayes share most of their work between nested subsets
(``fewer.evaluate.fast``), so that they need no fit for each. Scalers that treat each column by itself, without the
target, commute with taking columns, so they are fitted once.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewer._estimators import (
    NEIGHBOURS,
    ClosedForm,
    FastRoute,
    by_column,
    closed_form,
    plain_table,
)
from fewer._kernels._one_thread import one_thread

# Every size up to here, then steps that grow with the size: a curve is read on a logarithmic axis there.
_ALL_UP_TO = 100
_GROWTH = 1.15


@dataclass(frozen=True, eq=False)
class SubsetPath:
    """Columns of every size.

    Attributes
    ----------
    n_features : int
        Number of columns there are.
    order : ndarray or None
        Columns, best first, when every subset is a part of the larger ones.
    ties : tuple of (first, last)
        Places in ``order`` whose columns rank equal, so that no size between is defined.
    subsets : dict of int to ndarray
        The subsets themselves, when there is no order.
    """

    n_features: int
    order: np.ndarray | None
    ties: tuple[tuple[int, int], ...] = ()
    subsets: Mapping[int, np.ndarray] | None = None

    def columns(self, size: int) -> np.ndarray:
        """The columns of the subset of this size, in the order of the table."""
        if size == self.n_features:
            return np.arange(self.n_features)
        if self.order is not None:
            return np.sort(self.order[:size])
        assert self.subsets is not None
        return np.sort(self.subsets[size])

    def sizes(self, wanted: Iterable[int] | None) -> list[int]:
        """Sizes to score, the full set always among them; a ``ValueError`` for one that is not defined."""
        if wanted is not None:
            chosen = sorted({int(size) for size in wanted if size < self.n_features})
            for size in chosen:
                self._check(size)
        elif self.order is not None:
            inside_ties = {size for first, last in self.ties for size in range(first + 1, last)}
            chosen = [size for size in default_sizes(self.n_features)[:-1] if size not in inside_ties]
        else:
            assert self.subsets is not None
            chosen = sorted(size for size in self.subsets if size < self.n_features)
        return [*chosen, self.n_features]

    def _check(self, size: int) -> None:
        for first, last in self.ties:
            if first < size < last:
                raise ValueError(
                    f"the selector does not rank the columns in places {first + 1} to {last}, so it has no subset of "
                    f"{size}. Let it rank all columns (n_features_to_select=None for a search of fewer.select, "
                    "n_features_to_select=1 and step=1 for RFE), or leave that size out."
                )
        if self.order is None and self.subsets is not None and size not in self.subsets:
            raise ValueError(
                f"the search has no subset of {size} columns (it has {min(self.subsets)} to {max(self.subsets)}); let "
                "it run further, or pass sizes= that it reaches."
            )


def default_sizes(n_features: int) -> list[int]:
    """Every size up to 100 columns, then about 15% more each time, and all."""
    if n_features <= _ALL_UP_TO:
        return list(range(1, n_features + 1))
    sizes = [1]
    while sizes[-1] < n_features:
        sizes.append(max(sizes[-1] + 1, round(sizes[-1] * _GROWTH)))
    return [*sizes[:-1], n_features]


def subset_path(selector: Any, n_features: int) -> SubsetPath:
    """The path of a fitted selector."""
    path = getattr(selector, "subset_path_", None)
    if path is not None:
        return _path_of_subsets(path, n_features)
    ranking = getattr(selector, "ranking_", None)
    if ranking is not None:
        return _path_of_ranking(np.asarray(ranking), n_features)
    scores = getattr(selector, "scores_", None)
    if scores is None:
        scores = _importances(getattr(selector, "estimator_", None))
    if scores is None:
        name = type(selector).__name__
        cure = (
            f"Wrap it: SelectFromModel({name}(...)) ranks by its coefficients or importances."
            if _importances(selector) is not None
            else "The selectors of fewer.select have them, as have RFE and SelectKBest of scikit-learn."
        )
        raise TypeError(
            f"{name} has no ranking of the columns, so the subsets of other sizes cannot be read off: it has "
            f"no subset_path_, ranking_ or scores_ after fit. {cure}"
        )
    return SubsetPath(n_features, _order_of_scores(np.asarray(scores, dtype=float)))


def inner_scores(selector: Any) -> Mapping[int, float]:
    """Scores that guided the search, by size; empty when the selector keeps none."""
    scores = getattr(selector, "path_scores_", None)
    return dict(scores) if scores is not None else {}


def _path_of_subsets(path: Mapping[int, Any], n_features: int) -> SubsetPath:
    subsets = {int(size): np.asarray(columns, dtype=np.intp) for size, columns in path.items() if int(size) > 0}
    entered = _order_of_entry(subsets)
    if entered is None:
        return SubsetPath(n_features, None, subsets=subsets)
    rest = np.setdiff1d(np.arange(n_features), entered)
    ties = ((len(entered), n_features),) if len(rest) > 1 else ()
    return SubsetPath(n_features, np.concatenate([entered, rest]), ties)


def _order_of_entry(subsets: Mapping[int, np.ndarray]) -> np.ndarray | None:
    """Order in which the columns enter, when the subsets are nested and there is one of every size from 1 on."""
    if sorted(subsets) != list(range(1, len(subsets) + 1)):
        return None
    order: list[int] = []
    for size in range(1, len(subsets) + 1):
        entered = set(subsets[size].tolist()).difference(order)
        if len(entered) != 1:
            return None
        order.extend(entered)
    return np.asarray(order, dtype=np.intp)


def _path_of_ranking(ranking: np.ndarray, n_features: int) -> SubsetPath:
    order = np.argsort(ranking, kind="stable")
    _, first, counts = np.unique(ranking[order], return_index=True, return_counts=True)
    ties = tuple((int(start), int(start + n)) for start, n in zip(first, counts, strict=True) if n > 1)
    return SubsetPath(n_features, order, ties)


def _order_of_scores(scores: np.ndarray) -> np.ndarray:
    """Highest first; of equal scores the first column. A score that is no number (a constant column) comes last."""
    return np.argsort(-np.where(np.isnan(scores), -np.inf, scores), kind="stable")


def _importances(model: Any) -> np.ndarray | None:
    """How much a fitted model makes of each column: importances, or the size of its coefficients."""
    importances = getattr(model, "feature_importances_", None)
    if importances is not None:
        return np.asarray(importances)
    coefficients = getattr(model, "coef_", None)
    if coefficients is None:
        return None
    return np.linalg.norm(np.atleast_2d(np.asarray(coefficients)), ord=1, axis=0)


# Up to this many cells, matrix products are over before a second thread has started.
_SMALL_TABLE = 2_000_000


def path_predictions(
    learner: Any,
    X_train: Any,
    y_train: np.ndarray,
    X_test: Any,
    path: SubsetPath,
    sizes: list[int],
    scoring: Any = None,
) -> tuple[np.ndarray | None, FastRoute]:
    """Predictions (sizes, test rows) and where they are from, or None and why the estimator has to be fitted for each.

    Parameters
    ----------
    learner : estimator
        Not fitted, and left so.
    X_train, X_test : tables
        Rows to learn from, rows to predict.
    y_train : ndarray
        Target of the rows to learn from.
    path : SubsetPath
        The subsets.
    sizes : list of int
        Sizes to predict for, increasing.
    scoring : str, callable or None, default=None
        What will be made of the predictions.
    """
    form = closed_form(learner, scoring, "path", knows_step=by_column)
    if isinstance(form, FastRoute):
        return None, form
    if y_train.ndim != 1:
        return None, FastRoute(False, "closed forms are for one target")
    any_path = form.name == NEIGHBOURS
    if path.order is None and not any_path:
        return None, FastRoute(False, f"the closed form of {form.name} is for nested subsets")
    train, test = plain_table(X_train), plain_table(X_test)
    for table in (train, test):
        if isinstance(table, FastRoute):
            return None, table
    train, test = _scaled(form.steps, train, test)
    subsets: Any = path if any_path else path.order
    try:
        with nullcontext() if any_path else _threads_for(train):
            found = _predict(form)(form.model, train, y_train, test, subsets, sizes)
    except np.linalg.LinAlgError:
        found = None
    if found is None:
        return None, FastRoute(False, f"the closed form of {form.name} does not hold on these rows")
    return found, form.route


def _threads_for(table: np.ndarray) -> AbstractContextManager:
    """One BLAS thread for a small table: on a busy machine, threads that wait for each other take far longer."""
    return one_thread("blas", when=table.size <= _SMALL_TABLE)


def _predict(form: ClosedForm) -> Callable[..., np.ndarray | None]:
    """What predicts along a path: by the path itself for neighbours, by the order of its columns for others."""
    from sklearn.base import is_classifier

    from fewer.evaluate.fast import routes_of

    routes = routes_of(form)
    predict = routes.class_path if is_classifier(form.model) else routes.value_path
    assert predict is not None  # closed_form accepts no regressor without it
    return predict


def _scaled(scalers: list[Any], train: Any, test: Any) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.base import clone

    for scaler in scalers:
        fresh = clone(scaler).set_output(transform="default")
        train = fresh.fit_transform(train)
        test = fresh.transform(test)
    return train, test
