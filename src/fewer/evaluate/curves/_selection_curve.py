"""Held-out scores over the number of columns, with the selection inside of every fold.

For each outer training set the selector is fitted once. The subsets of all sizes are read off that fit, the estimator
is fitted on each, and scored on the rows held out: ``scores[repeat, fold, size]``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._estimators import NOT_KNOWN, FastRoute, slow_words
from fewer._figures import Result, mark_point
from fewer.catalogue import method as card
from fewer.evaluate.curves._cross_index import CrossIndex, Indexing, Reduce, Tie, cross_index
from fewer.evaluate.curves._fold_scores import FoldScores, Job, score_fold
from fewer.evaluate.curves._subset_path import SubsetPath
from fewer.evaluate.protocol._selection import check_selector, scoring_name
from fewer.evaluate.protocol._table import Fold, checked_table, disjoint, outer_folds
from fewer.evaluate.protocol._tasks import values_of, workers

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.random import RandomState

    from fewer.engine import Engine
    from fewer.evaluate.protocol._tasks import Where


@dataclass(frozen=True, eq=False, repr=False)
class SelectionCurve(Result):
    """Held-out scores for every subset size; made by :func:`selection_curve`.

    Attributes
    ----------
    scores : ndarray of shape (n_repeats, n_folds, n_sizes)
        Score on each fold of the estimator on each size, both fitted without the fold.
    sizes : ndarray of shape (n_sizes,)
        Number of columns; the last is the full set.
    rankings : ndarray of shape (n_repeats, n_folds, n_features) or None
        Rank of every column in every fold, 1 being the best; None when the selector does not rank.
    inner_scores : ndarray of shape (n_repeats, n_folds, n_sizes) or None
        The scores that guided the search: optimistic, for display only. None when the selector keeps none.
    selector_seconds, learner_seconds : ndarray of shape (n_repeats, n_folds)
        How long the selector and the estimators of all sizes took.
    scoring : str
        Name of the score.
    test_ratio : float
        Rows held out over rows held in.
    disjoint : bool
        Whether no row is held out twice in a repeat, as cross-indexing needs.
    fast_route : FastRoute
        Whether sizes shared the closed form of the estimator, or why it was fitted for each (``reason``).
    """

    scores: np.ndarray
    sizes: np.ndarray
    rankings: np.ndarray | None
    inner_scores: np.ndarray | None
    selector_seconds: np.ndarray
    learner_seconds: np.ndarray
    scoring: str
    test_ratio: float
    disjoint: bool
    paths: tuple[SubsetPath, ...]
    fast_route: FastRoute = NOT_KNOWN

    _data = (
        "scores",
        "sizes",
        "rankings",
        "inner_scores",
        "selector_seconds",
        "learner_seconds",
        "scoring",
        "test_ratio",
        "disjoint",
    )

    @property
    def mean(self) -> np.ndarray:
        """Mean score for each size, over folds and repeats."""
        return self.scores.mean(axis=(0, 1))

    def cross_index(
        self, method: Indexing = "A", *, reduce: Reduce = "mean", tie: Tie = "smallest", confidence_level: float = 0.95
    ) -> CrossIndex:
        """Best size, its score and its benefit, without the optimism of the maximum.

        Parameters
        ----------
        method : {"A", "B", "outer"}, default="A"
            See :func:`cross_index`.
        reduce : {"mean", "median"}, default="mean"
            How folds are summarised.
        tie : {"smallest", "largest"}, default="smallest"
            Which size wins when scores are equal.
        confidence_level : float, default=0.95
            Confidence level of the interval of the benefit.

        Returns
        -------
        estimate : CrossIndex
            The estimate.
        """
        if method != "outer" and not self.disjoint:
            raise ValueError(
                "the folds of a repeat hold out the same rows more than once, so rows that choose the size would also "
                "score it. Use folds that do not overlap (cv=5, StratifiedKFold) and n_repeats for more of them."
            )
        return cross_index(
            self.scores,
            method,
            reduce=reduce,
            tie=tie,
            sizes=self.sizes,
            confidence_level=confidence_level,
            test_ratio=self.test_ratio,
        )

    def supports(self, size: int) -> np.ndarray:
        """Which columns the subsets of one size hold, in every fold.

        Parameters
        ----------
        size : int
            One of ``sizes``.

        Returns
        -------
        supports : ndarray of bool of shape (n_repeats, n_folds, n_features)
            True where the column was selected.
        """
        if size not in self.sizes:
            raise ValueError(
                f"there is no subset of {size} columns on this curve; its sizes are {self.sizes.tolist()}."
            )
        n_features = {path.n_features for path in self.paths}
        if len(n_features) > 1:
            raise ValueError("the steps before the selector made different numbers of columns in different folds.")
        supports = np.zeros((len(self.paths), n_features.pop()), dtype=bool)
        for row, path in zip(supports, self.paths, strict=True):
            row[path.columns(size)] = True
        return supports.reshape(*self.scores.shape[:2], -1)

    def __repr__(self) -> str:
        n_repeats, n_folds, n_sizes = self.scores.shape
        repeats = f" x {n_repeats} repeats" if n_repeats > 1 else ""
        sizes = f"{n_sizes} sizes from {self.sizes[0]} to {self.sizes[-1]}" if n_sizes > 1 else "one size"
        head = f"SelectionCurve: {sizes}, {n_folds} folds{repeats}, {self.scoring}"
        if n_sizes == 1:
            return f"{head}\n  score {self.mean[0]:.4f} with all {self.sizes[0]} columns; no smaller size to compare"
        if not self.disjoint:
            return f"{head}\n  largest mean {self.mean.max():.4f} (optimistic); with everything {self.mean[-1]:.4f}"
        found = self.cross_index()
        if np.all(found.fold_sizes == self.sizes[-1]):
            return (
                f"{head}\n  score {found.score:.4f}: every fold chooses all {self.sizes[-1]} columns, so none is spared"
            )
        return (
            f"{head}\n  cross-indexing A: size {found.size:.4g}, score {found.score:.4f}; with everything "
            f"{found.full_score:.4f}\n  {found.benefit_in_words}"
        )

    def plot(self, method: Indexing = "A") -> "go.Figure":
        """The mean score over the number of columns, its standard deviation, the full set and the chosen size.

        Parameters
        ----------
        method : {"A", "B", "outer"}, default="A"
            How the size is chosen.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        folds = self.scores.reshape(-1, len(self.sizes))
        mean, deviation = folds.mean(axis=0), folds.std(axis=0)
        figure = _figures.new_figure(title="Held-out score by number of columns", x="columns used", y=self.scoring)
        figure.add_trace(_figures.band("standard deviation over folds", self.sizes, mean - deviation, mean + deviation))
        figure.add_trace(_figures.line("held-out", self.sizes, mean))
        if self.inner_scores is not None and np.isfinite(self.inner_scores).any():
            believed = self.inner_scores.mean(axis=(0, 1))
            figure.add_trace(
                _figures.line("what the search believed", self.sizes, believed, _figures.AMBER, line_dash="dash")
            )
        ends = self.sizes[[0, -1]]
        figure.add_trace(_figures.line("all columns", ends, [mean[-1]] * 2, _figures.GREY, line_dash="dot"))
        found = self.cross_index(method if self.disjoint else "outer")
        by = "outer" if found.method == "outer" else f"cross-indexing {found.method}"
        mark_point(figure, found.size, found.score, f"{found.size:.3g}", name=f"chosen ({by})")
        if self.sizes[-1] > 100:
            figure.update_xaxes(type="log")
        return figure


@card(
    tasks=["evaluation"],
    when="You want to know how many columns to keep, and whether keeping fewer helps at all, for any selector and any "
    "estimator, unbiased: the selection never uses the held-out rows.",
    cost="O(R K) selector fits for R repeats of K folds; sizes share one fit of k-NN, ridge, linear discriminant "
    "analysis and naive Bayes, other estimators are fitted for each size",
    paper="less-biased",
    handles=["missing", "sparse", "categorical"],
)
def selection_curve(
    selector: Any,
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sizes: Iterable[int] | None = None,
    cv: Any = 5,
    n_repeats: int = 1,
    scoring: Any = None,
    groups: Any = None,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    random_state: "int | RandomState | None" = None,
    progress: bool = False,
) -> SelectionCurve:
    """Held-out score for every number of columns, with the selection inside of every fold.

    Parameters
    ----------
    selector : selector, or pipeline that ends with one
        Not fitted. After ``fit`` it has ``subset_path_``, ``ranking_`` or ``scores_``, or holds a model with
        coefficients or importances. The steps before it in a pipeline are fitted inside of the folds, too, and the
        estimator gets their columns.
    estimator : estimator
        Classifier, regressor or pipeline.
    X : array, pandas or polars frame, or scipy sparse of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,)
        The target.
    sizes : iterable of int, default=None
        Numbers of columns to try. By default all sizes of a search's path; of a ranking all sizes up to 100 columns,
        and with more columns about 15% more each time. The full set is always added; larger numbers are left out.
    cv : int, splitter or iterable of (train, test), default=5
        The outer folds. A number makes shuffled folds, stratified for a classifier and along ``groups``.
    n_repeats : int, default=1
        How often the folds are drawn anew.
    scoring : str, callable or None, default=None
        A score of scikit-learn, higher is better; None for the estimator's own.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together.
    engine : Engine or None, default=None
        Where the folds run; by default in this process.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.
    progress : bool, default=False
        Show a bar. Ctrl-C keeps the repeats that are done.

    Returns
    -------
    curve : SelectionCurve
        Scores, rankings, subsets and timings. ``curve.cross_index()`` gives the best size and its benefit,
        ``curve.plot()`` draws it.

    See Also
    --------
    cross_index : The estimate of size and benefit.
    NestedSelectionCV : The same as an estimator that ends with a fitted model.

    Notes
    -----
    With k-NN (Euclidean), RidgeClassifier, Ridge, LinearDiscriminantAnalysis (solver "svd") or GaussianNB as estimator,
    alone or behind StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler, and a score that needs predictions
    only, all sizes share their work and no model is fitted for each size; predictions are those of the fitted models.
    Only where two training rows are equally far from a row do neighbours depend on how a program breaks ties: here
    the first row is the nearest.

    References
    ----------
    .. [1] Reunanen, J. (2006). Less biased measurement of feature selection benefits. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 198-208.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fewer.evaluate import selection_curve
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = selection_curve(SelectKBest(), GaussianNB(), X, y, n_repeats=4, random_state=0)
    >>> curve.scores.shape
    (4, 5, 30)
    >>> bool(curve.cross_index("A").score <= curve.cross_index("outer").score)
    True
    """
    check_selector(selector)
    X, y, groups = checked_table(X, y, groups, learner=estimator)
    repeats = folds_for(estimator, X, y, cv=cv, n_repeats=n_repeats, groups=groups, random_state=random_state)
    job = Job(X, y, selector, estimator, checked_sizes(sizes), scoring)
    found = scored_folds(repeats, job, engine=workers(engine, n_jobs), progress=progress)
    return curve_of(found, repeats, learner=estimator, scoring=scoring)


def folds_for(learner: Any, X: Any, y: np.ndarray, *, cv, n_repeats, groups, random_state) -> list[list[Fold]]:
    """Outer folds that suit the estimator."""
    from sklearn.base import is_classifier

    return outer_folds(
        cv, X, y, classifier=is_classifier(learner), n_repeats=n_repeats, groups=groups, random_state=random_state
    )


def scored_folds(
    repeats: list[list[Fold]], job: Job, *, engine: "Where" = None, progress: bool = False, only_all: bool = False
) -> list[FoldScores]:
    """Scores of every fold of every repeat, in their order; after Ctrl-C, of the first repeats that are done."""
    tasks = [fold for folds in repeats for fold in folds]
    n_folds = len(repeats[0])

    def show_if_slow(found: FoldScores, n_workers: int, show: Callable[[str], None]) -> None:
        words = slow_words(found.learner_seconds * len(tasks) / n_workers, found.fast_route)
        if words:
            show(words)

    done = values_of(
        score_fold,
        tasks,
        job._replace(first=tasks[0], n_folds=len(tasks)),
        engine=engine,
        progress=progress,
        description="Selection curve",
        labels=[f"repeat {place // n_folds}, fold {place % n_folds}" for place in range(len(tasks))],
        only_all=only_all,
        after_first=show_if_slow,
    )
    first_gap = next((place for place in range(len(tasks)) if place not in done), len(tasks))
    if first_gap < n_folds:
        raise KeyboardInterrupt("interrupted before one repeat was done.")
    return [done[place] for place in range(first_gap - first_gap % n_folds)]


def curve_of(found: list[FoldScores], repeats: list[list[Fold]], *, learner: Any, scoring: Any) -> SelectionCurve:
    """The curve over the sizes that all folds have, and the repeats that are done."""
    repeats = repeats[: len(found) // len(repeats[0])]
    shape = (len(repeats), len(repeats[0]))
    common = sorted(set.intersection(*(set(fold.sizes[:-1]) for fold in found)))
    scores = np.array([[dict(zip(f.sizes, f.scores, strict=True))[s] for s in common] + [f.scores[-1]] for f in found])
    widths = {fold.path.n_features for fold in found}
    sizes = np.array([*common, max(widths)])
    rankings = [fold.ranking for fold in found if fold.ranking is not None]
    inner = None
    if all(fold.inner for fold in found):
        inner = np.array(
            [
                [f.inner.get(int(size), np.nan) for size in sizes[:-1]] + [f.inner.get(f.path.n_features, np.nan)]
                for f in found
            ]
        ).reshape(*shape, -1)
    folds = [fold for repeat in repeats for fold in repeat]
    return SelectionCurve(
        scores=scores.reshape(*shape, -1),
        sizes=sizes,
        rankings=np.array(rankings).reshape(*shape, -1) if len(rankings) == len(found) and len(widths) == 1 else None,
        inner_scores=inner,
        selector_seconds=np.reshape([fold.selector_seconds for fold in found], shape),
        learner_seconds=np.reshape([fold.learner_seconds for fold in found], shape),
        scoring=scoring_name(scoring, learner),
        test_ratio=float(np.mean([len(fold.test) / len(fold.train) for fold in folds])),
        disjoint=disjoint(repeats),
        paths=tuple(fold.path for fold in found),
        fast_route=_route_of(found),
    )


def _route_of(found: list[FoldScores]) -> FastRoute:
    """The closed form, if all folds took it, or else the reason of the first that did not."""
    against = [fold.fast_route for fold in found if not fold.fast_route.taken]
    if not against:
        return found[0].fast_route
    where = "" if len(against) == len(found) else f", in {len(against)} of {len(found)} folds"
    return FastRoute(False, against[0].reason + where)


def checked_sizes(sizes: Iterable[int] | None) -> tuple[int, ...] | None:
    """Sizes as whole numbers, at least 1 each."""
    if sizes is None:
        return None
    if not isinstance(sizes, Iterable):
        raise TypeError(f"sizes={sizes!r} is one number; pass the sizes to compare, such as sizes=[5, 10, 20].")
    checked = tuple(sizes)
    if not checked:
        raise ValueError("sizes is empty; pass the numbers of columns to try, or None for the default sizes.")
    for size in checked:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"sizes holds {size!r}; a size is a whole number of columns, at least 1.")
    return tuple(int(size) for size in checked)
