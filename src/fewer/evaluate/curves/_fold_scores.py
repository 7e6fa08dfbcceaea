"""One outer fold of a curve: select or extract on the training rows, learn on them, score the test rows.

``score_sizes`` does so for the number of columns kept, ``score_components`` for the number of new columns.
"""

import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fewer._estimators import FastRoute, asks_for_predictions, fitted, fold_scores, model_score, note_slow
from fewer.evaluate.curves._subset_path import SubsetPath, inner_scores, path_predictions, subset_path
from fewer.evaluate.protocol._table import Fold, columns_of, rows_of
from fewer.extract import loadings, with_components


class Job(NamedTuple):
    """What all folds share; ``first`` is the one of ``n_folds`` from which the time of all is estimated."""

    X: Any
    y: np.ndarray
    selector: Any
    learner: Any
    sizes: tuple[int, ...] | None
    scoring: Any
    share_work: bool = True
    first: Fold | None = None
    n_folds: int = 0


class FoldScores(NamedTuple):
    """What came of one fold; made by :func:`score_sizes`.

    Attributes
    ----------
    sizes : list of int
        Numbers of columns, the last being all of them.
    scores : ndarray of shape (n_sizes,)
        Score of the estimator on the rows held out, for each of these.
    path : SubsetPath
        The subset of each size; ``path.columns(size)`` gives its columns.
    ranking : ndarray or None
        Place of every column, where the selector has places for all.
    inner : mapping of int to float
        What a search believed of its subsets.
    selector_seconds, learner_seconds : float
        Time taken.
    fast_route : FastRoute
        Whether a closed form took the place of fits for each size, and which, or why not.
    """

    sizes: list[int]
    scores: np.ndarray
    path: SubsetPath
    ranking: np.ndarray | None
    inner: Mapping[int, float]
    selector_seconds: float
    learner_seconds: float
    fast_route: FastRoute


class Selected(NamedTuple):
    """A fitted selector: what comes before it in its pipeline, the selector itself, and its subsets."""

    before: Any
    selector: Any
    path: SubsetPath

    def table(self, X: Any) -> Any:
        """The columns that the selector chooses from."""
        return X if self.before is None else self.before.transform(X)


def score_fold(fold: Fold, job: Job) -> FoldScores:
    """Scores of all sizes on one fold. Nothing that is fitted sees the rows held out."""
    first = job.first is not None and np.array_equal(fold.test, job.first.test)
    return _scored_sizes(
        job.selector,
        job.learner,
        rows_of(job.X, fold.train),
        job.y[fold.train],
        rows_of(job.X, fold.test),
        job.y[fold.test],
        sizes=job.sizes,
        scoring=job.scoring,
        share_work=job.share_work,
        n_folds=job.n_folds if first else 0,
    )


def score_sizes(
    selector: Any,
    estimator: Any,
    X_train: Any,
    y_train: np.ndarray,
    X_test: Any,
    y_test: np.ndarray,
    *,
    sizes: Iterable[int] | None = None,
    scoring: Any = None,
    share_work: bool = True,
    full_set: bool = True,
) -> FoldScores:
    """Select on some rows, learn on them with every number of columns, and score on others.

    Parameters
    ----------
    selector : selector, pipeline that ends with one, or SubsetPath
        Not fitted; or the subsets themselves, as :func:`subset_path` reads them off a fitted selector.
    estimator : estimator
        Not fitted.
    X_train, X_test : array, frame or sparse matrix
        Rows to learn from, and rows held out.
    y_train, y_test : ndarray
        Their targets.
    sizes : iterable of int, default=None
        Numbers of columns to try; by default those of :func:`selection_curve`.
    scoring : str, callable or None, default=None
        A score of scikit-learn, higher is better; None for the estimator's own.
    share_work : bool, default=True
        Let sizes share their work where the estimator allows it; the result is the same.
    full_set : bool, default=True
        Whether the full set is scored, too, as the last size.

    Returns
    -------
    found : FoldScores
        Sizes, scores, the subsets and the time taken.

    See Also
    --------
    selection_curve : The same for all folds of a cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewer.evaluate import score_sizes
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = score_sizes(SelectKBest(), GaussianNB(), X[:400], y[:400], X[400:], y[400:], sizes=[1, 5])
    >>> found.sizes, found.scores.round(3)
    ([1, 5, 30], array([0.899, 0.953, 0.964]))
    """
    return _scored_sizes(
        selector,
        estimator,
        X_train,
        y_train,
        X_test,
        y_test,
        sizes=sizes,
        scoring=scoring,
        share_work=share_work,
        full_set=full_set,
    )


def _scored_sizes(
    selector,
    estimator,
    X_train,
    y_train,
    X_test,
    y_test,
    *,
    sizes,
    scoring,
    share_work,
    full_set: bool = True,
    n_folds: int = 0,
) -> FoldScores:
    """The same; ``n_folds`` folds like this one, for the warning that is logged where fits take more than a minute."""
    started = time.perf_counter()
    selected, X_train = fit_selector(selector, X_train, y_train)
    selector_seconds = time.perf_counter() - started
    tried = selected.path.sizes(sizes)[: None if full_set else -1]
    X_test = selected.table(X_test)
    started = time.perf_counter()
    halves = (X_train, y_train, X_test, y_test)
    scores, route = size_scores(
        estimator, *halves, selected.path, tried, scoring, share_work=share_work, n_folds=n_folds
    )
    learner_seconds = time.perf_counter() - started
    return FoldScores(
        tried,
        scores,
        selected.path,
        full_ranking(selected),
        inner_scores(selected.selector),
        selector_seconds,
        learner_seconds,
        route,
    )


def fit_selector(selector: Any, X: Any, y: np.ndarray) -> tuple[Selected, Any]:
    """The selector, fitted, and the table that it chose from: in a pipeline, what the steps before it made of X."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    if isinstance(selector, SubsetPath):
        return Selected(None, None, selector), X
    fitted = clone(selector)
    if not isinstance(fitted, Pipeline):
        fitted.fit(X, y)
        return Selected(None, fitted, subset_path(fitted, X.shape[1])), X
    if len(fitted.steps) == 1:
        return fit_selector(fitted.steps[0][1], X, y)
    # In two parts, so that the table between them is made once.
    before, last = fitted[:-1], fitted.steps[-1][1]
    X = before.fit_transform(X, y)
    last.fit(X, y)
    return Selected(before, last, subset_path(last, X.shape[1])), X


def size_scores(
    learner: Any,
    X_train: Any,
    y_train: np.ndarray,
    X_test: Any,
    y_test: np.ndarray,
    path: SubsetPath,
    sizes: list[int],
    scoring: Any,
    *,
    share_work: bool = True,
    n_folds: int = 0,
) -> tuple[np.ndarray, FastRoute]:
    """Score of the estimator for every size, by shared work where that is possible, and whether it was."""
    from sklearn.base import is_classifier
    from sklearn.metrics import check_scoring

    scorer = check_scoring(learner, scoring=scoring)
    route = FastRoute(False, "share_work=False asks for fits")
    if share_work and sizes:
        # A scorer that asks for predictions need not be looked for again.
        asked = scorer if asks_for_predictions(scorer) else scoring
        found, route = path_predictions(learner, X_train, y_train, X_test, path, sizes, asked)
        if found is not None:
            own = "accuracy" if is_classifier(learner) else "r2"
            return fold_scores(own if scoring is None else scoring, y_test, found)[:, 0], route
    scores = np.empty(len(sizes))
    for place, size in enumerate(sizes):
        started = time.perf_counter()
        columns = path.columns(size)
        model = fitted_learner(learner, X_train, y_train, columns)
        scores[place] = model_score(model, columns_of(X_test, columns), y_test, scoring, scorer)
        if place == 0:
            seconds = (time.perf_counter() - started) * len(sizes) * n_folds
            note_slow(f"The curve of {len(sizes):,} sizes on {n_folds:,} folds", seconds, route)
    return scores, route


def fitted_learner(learner: Any, X: Any, y: np.ndarray, columns: np.ndarray) -> Any:
    """The estimator, fitted on some columns."""
    from sklearn.base import clone

    return fitted(clone(learner), columns_of(X, columns), y)


def full_ranking(selected: Selected) -> np.ndarray | None:
    """Rank of every column, 1 being the best; None when the selector gives no full ranking."""
    if selected.path.order is not None and not selected.path.ties:
        places = np.empty(selected.path.n_features, dtype=np.intp)
        places[selected.path.order] = np.arange(1, selected.path.n_features + 1)
        return places
    ranking = getattr(selected.selector, "ranking_", None)
    return None if ranking is None else np.asarray(ranking)


class ComponentScores(NamedTuple):
    """What came of one fold; made by :func:`score_components`.

    Attributes
    ----------
    sizes : list of int
        Numbers of new columns, and at the end the number of columns of the table, which stands for these themselves.
    scores : ndarray of shape (n_sizes,)
        Score of the estimator on the rows held out, for each of these.
    weights : ndarray of shape (n_features,)
        How much of each column is in the largest set of new ones: the length of its loadings.
    """

    sizes: list[int]
    scores: np.ndarray
    weights: np.ndarray


def score_components(
    extractor: Any,
    estimator: Any,
    X_train: Any,
    y_train: np.ndarray,
    X_test: Any,
    y_test: np.ndarray,
    *,
    sizes: Iterable[int],
    scoring: Any = None,
    full_set: bool = True,
) -> ComponentScores:
    """Make new columns from some rows, learn on them with every number of new columns, and score on others.

    Parameters
    ----------
    extractor : transformer with ``n_components``
        Not fitted.
    estimator : estimator
        Not fitted.
    X_train, X_test : array or sparse matrix
        Rows to learn from, and rows held out.
    y_train, y_test : ndarray
        Their targets.
    sizes : iterable of int
        Numbers of new columns to try; those that the extractor cannot give are left out.
    scoring : str, callable or None, default=None
        A score of scikit-learn, higher is better; None for the estimator's own.
    full_set : bool, default=True
        Whether all columns of the table, as they are, are scored, too; they come last.

    Returns
    -------
    found : ComponentScores
        Sizes, scores, and how much of each column is in the new ones.

    See Also
    --------
    score_sizes : The same for columns that are chosen rather than made.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewer.evaluate import score_components
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = score_components(PCA(), GaussianNB(), X[:400], y[:400], X[400:], y[400:], sizes=[1, 5])
    >>> found.sizes, found.scores.round(3)
    ([1, 5, 30], array([0.935, 0.929, 0.964]))
    """
    n_columns = X_train.shape[1]
    wanted = sorted({int(size) for size in sizes if size < n_columns})
    nested = getattr(extractor, "_nested", False)
    tried: list[int] = []
    scores: list[float] = []
    weights = np.zeros(n_columns)
    for group in [wanted] if nested else [[size] for size in wanted]:
        fitted = _fitted(extractor, X_train, y_train, group[-1])
        new_train, new_test = (_dense(fitted.transform(X)) for X in (X_train, X_test))
        n_new = new_train.shape[1]
        possible = [size for size in group if size <= n_new]
        if not possible:
            break
        path = SubsetPath(n_new, np.arange(n_new))
        widths = possible if nested else [n_new]
        scores += size_scores(estimator, new_train, y_train, new_test, y_test, path, widths, scoring)[0].tolist()
        tried += possible
        weights = np.linalg.norm(loadings(X_train, new_train), axis=1)
    if not full_set:
        return ComponentScores(tried, np.array(scores), weights)
    everything = SubsetPath(n_columns, np.arange(n_columns))
    scores += size_scores(estimator, X_train, y_train, X_test, y_test, everything, [n_columns], scoring)[0].tolist()
    return ComponentScores([*tried, n_columns], np.array(scores), weights)


def _fitted(extractor: Any, X: Any, y: np.ndarray, size: int) -> Any:
    """The extractor with this many new columns, or as many as there can be."""
    with warnings.catch_warnings():
        # Sizes that cannot be had are left out, so a warning would help nobody.
        warnings.filterwarnings("ignore", r"n_components=\d+ are asked for")
        return with_components(extractor, size).fit(X, y)


def _dense(new: Any) -> np.ndarray:
    return new.toarray() if hasattr(new, "toarray") else np.asarray(new)
