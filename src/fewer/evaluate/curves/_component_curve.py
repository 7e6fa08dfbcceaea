"""Held-out scores over the number of components, all of them from one fit in each fold.

A model whose components are nested predicts with 1, 2, ... of them in one go (``predict_path``), so that the whole
curve costs one fit for each fold. Cross-indexing then gives the number and its score without the optimism of the
maximum.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline

from fewer._estimators import asks_for_predictions, score_of_predictions
from fewer._figures import Result, mark_point
from fewer.catalogue import method as card
from fewer.evaluate.curves._cross_index import CrossIndex, Indexing, cross_index
from fewer.evaluate.protocol._table import Fold, checked_table, disjoint, outer_folds, rows_of
from fewer.evaluate.protocol._tasks import values_of, workers
from fewer.extract import with_components

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.random import RandomState

    from fewer.engine import Engine

Metric = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True, eq=False, repr=False)
class ComponentCurve(Result):
    """Held-out scores for every number of components; made by :func:`component_curve`.

    Attributes
    ----------
    scores : ndarray of shape (n_repeats, n_folds, n_sizes)
        Score on each fold of the model with each number of components, fitted without the fold.
    sizes : ndarray of shape (n_sizes,)
        Numbers of components, from 1 on.
    scoring : str
        Name of the score.
    test_ratio : float
        Rows held out over rows held in.
    disjoint : bool
        Whether no row is held out twice in a repeat, as cross-indexing needs.
    """

    scores: np.ndarray
    sizes: np.ndarray
    scoring: str
    test_ratio: float
    disjoint: bool

    @property
    def mean(self) -> np.ndarray:
        """Mean score for each number, over folds and repeats."""
        return self.scores.mean(axis=(0, 1))

    @property
    def best(self) -> int:
        """The number with the largest mean: what to fit all rows with. That mean itself is a little too good."""
        return int(self.sizes[np.argmax(self.mean.round(10))])

    def cross_index(self, method: Indexing = "A", *, confidence_level: float = 0.95) -> CrossIndex:
        """Best number, its score, and what it gains over the largest number, without the optimism of the maximum.

        Parameters
        ----------
        method : {"A", "B", "outer"}, default="A"
            See :func:`cross_index`.
        confidence_level : float, default=0.95
            Confidence level of the interval of the benefit.

        Returns
        -------
        estimate : CrossIndex
            The estimate.
        """
        if method != "outer" and not self.disjoint:
            raise ValueError(
                "the folds of a repeat hold out the same rows more than once, so rows that choose the number would "
                "also score it. Use folds that do not overlap (cv=10, KFold) and n_repeats for more of them."
            )
        return cross_index(
            self.scores, method, sizes=self.sizes, confidence_level=confidence_level, test_ratio=self.test_ratio
        )

    def __repr__(self) -> str:
        n_repeats, n_folds, n_sizes = self.scores.shape
        repeats = f" x {n_repeats} repeats" if n_repeats > 1 else ""
        head = f"ComponentCurve: 1 to {n_sizes} components, {n_folds} folds{repeats}, {self.scoring}"
        found = self.cross_index("A" if self.disjoint else "outer")
        by = "cross-indexing A" if self.disjoint else "largest mean (optimistic)"
        return (
            f"{head}\n  best number {self.best}; by {by}: {found.size:.4g}, score {found.score:.4f}; with "
            f"{self.sizes[-1]} components {found.full_score:.4f}\n  {found.benefit_in_words}"
        )

    def plot(self) -> "go.Figure":
        """The mean score over the number of components, its standard deviation over folds, and the chosen number.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        folds = self.scores.reshape(-1, len(self.sizes))
        mean, deviation = folds.mean(axis=0), folds.std(axis=0)
        figure = _figures.new_figure(title="Held-out score by number of components", x="components", y=self.scoring)
        figure.add_trace(_figures.band("standard deviation over folds", self.sizes, mean - deviation, mean + deviation))
        figure.add_trace(_figures.line("held-out", self.sizes, mean))
        found = self.cross_index("A" if self.disjoint else "outer")
        mark_point(figure, found.size, found.score, f"{found.size:.3g}", name="cross-indexing")
        return figure


class _Job(NamedTuple):
    """What all folds need."""

    X: Any
    y: np.ndarray
    model: Any
    metric: Metric


@card(
    tasks=["evaluation"],
    when="You want to know how many components of partial least squares to take, and what the model is worth then: the "
    "whole curve for one fit in each fold.",
    cost="O(R K) fits for R repeats of K folds",
    paper="less-biased",
    handles=["missing", "sparse"],
)
def component_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_components: int = 20,
    cv: Any = 10,
    n_repeats: int = 1,
    scoring: str | Metric | None = None,
    groups: Any = None,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    random_state: "int | RandomState | None" = None,
) -> ComponentCurve:
    """Held-out score for every number of components, for one fit in each fold.

    Parameters
    ----------
    estimator : estimator with ``predict_path``, or a pipeline that ends in one
        Not fitted: PLSRegressor, KernelPLS, PolynomialPLSRegressor or PLSDiscriminant of ``fewer.extract``. The steps
        before it in a pipeline are fitted in each fold.
    X : array, pandas or polars frame, or scipy sparse of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        The target; several for regression only.
    n_components : int, default=20
        Largest number to try; fewer where a fold cannot give as many.
    cv : int, splitter or iterable of (train, test), default=10
        The folds. A number makes shuffled folds, stratified for a classifier and along ``groups``.
    n_repeats : int, default=1
        How often the folds are drawn anew.
    scoring : str, callable or None, default=None
        A score of scikit-learn by its name, or a function of true and predicted targets, higher is better; R2 by
        default, for a classifier the accuracy.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together.
    engine : Engine or None, default=None
        Where the folds run; by default in this process.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    Returns
    -------
    curve : ComponentCurve
        Scores of every fold. ``curve.best`` is the number to take, ``curve.cross_index()`` gives its score without the
        optimism of the maximum.

    See Also
    --------
    cross_index : The estimate of number and score.
    score_components : The same for any extractor and any estimator, which is fitted for each number.

    References
    ----------
    .. [1] Reunanen, J. (2006). Less biased measurement of feature selection benefits. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 198-208.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.evaluate import component_curve
    >>> from fewer.extract import PLSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curve = component_curve(PLSRegressor(), X, y, n_components=8, random_state=0)
    >>> curve.scores.shape
    (1, 10, 8)
    >>> curve.best, round(curve.cross_index().score, 3)
    (3, 0.487)
    """
    from sklearn.base import is_classifier

    last = _last_step(estimator)
    if not hasattr(last, "predict_path"):
        raise TypeError(
            f"{type(last).__name__} does not predict with every number of components at once (predict_path), as the "
            "models of partial least squares in fewer.extract do; score_components takes any extractor and estimator."
        )
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer) or n_components < 1:
        raise ValueError(f"n_components={n_components!r} is the largest number to try, a whole number of 1 or more.")
    classify = is_classifier(estimator)
    X, y, groups = _checked(X, y, groups, estimator)
    repeats = outer_folds(cv, X, y, classifier=classify, n_repeats=n_repeats, groups=groups, random_state=random_state)
    metric = _metric(scoring, classify)
    if metric is r2_score and any(len(fold.test) < 2 for folds in repeats for fold in folds):
        raise ValueError(
            "R2 needs two rows or more in each fold, and there is one with a single row; take "
            "scoring='neg_mean_squared_error', or fewer folds."
        )
    job = _Job(X, y, _sized(estimator, int(n_components)), metric)
    tasks = [fold for folds in repeats for fold in folds]
    done = values_of(_scored, tasks, job, engine=workers(engine, n_jobs), description="Component curve", only_all=True)
    n_sizes = min(len(scores) for scores in done.values())
    if not n_sizes:
        raise ValueError("in some fold there is no component that goes with the target; check y, or use fewer folds.")
    scores = np.array([done[place][:n_sizes] for place in range(len(tasks))])
    return ComponentCurve(
        scores=scores.reshape(len(repeats), len(repeats[0]), n_sizes),
        sizes=np.arange(1, n_sizes + 1),
        scoring=scoring if isinstance(scoring, str) else getattr(metric, "__name__", "score").removesuffix("_score"),
        test_ratio=float(np.mean([len(fold.test) / len(fold.train) for fold in tasks])),
        disjoint=disjoint(repeats),
    )


def _checked(X: Any, y: Any, groups: Any, estimator: Any) -> tuple[Any, np.ndarray, Any]:
    """Table, target and groups; several targets are numbers."""
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] > 1:
        X, _, groups = checked_table(X, target[:, 0], groups, learner=estimator)
        return X, target.astype(np.float64), groups
    return checked_table(X, target, groups, learner=estimator)


def _scored(fold: Fold, job: _Job) -> list[float]:
    """Score of the rows held out with 1, 2, ... components."""
    import warnings

    with warnings.catch_warnings():
        # Numbers that cannot be had are left out, so a warning would help nobody.
        warnings.filterwarnings("ignore", r"n_components=\d+ are asked for")
        model = clone(job.model).fit(rows_of(job.X, fold.train), job.y[fold.train])
    rows = rows_of(job.X, fold.test)
    for _, step in model.steps[:-1] if isinstance(model, Pipeline) else ():
        rows = rows if step in (None, "passthrough") else step.transform(rows)
    truth, path = job.y[fold.test], _last_step(model).predict_path(rows)
    return _r2_of_path(truth, path) if job.metric is r2_score else [float(job.metric(truth, each)) for each in path]


def _r2_of_path(truth: np.ndarray, path: np.ndarray) -> list[float]:
    """R2 for each number of components in one call, because checks of the input take longer than the sums."""
    if not len(path):
        return []
    columns = np.moveaxis(path.reshape(len(path), len(truth), -1), 0, 1).reshape(len(truth), -1)
    repeated = np.tile(truth.reshape(len(truth), -1), len(path))
    return r2_score(repeated, columns, multioutput="raw_values").reshape(len(path), -1).mean(axis=1).tolist()


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _sized(estimator: Any, n_components: int) -> Any:
    """A copy with this many components."""
    if isinstance(estimator, Pipeline):
        return clone(estimator).set_params(**{f"{estimator.steps[-1][0]}__n_components": n_components})
    return with_components(estimator, n_components)


def _metric(scoring: str | Metric | None, classify: bool) -> Metric:
    from sklearn.metrics import accuracy_score, get_scorer

    if scoring is None:
        return accuracy_score if classify else r2_score
    if callable(scoring) and not hasattr(scoring, "_score_func"):
        return scoring
    scorer = get_scorer(scoring)
    if not asks_for_predictions(scorer):
        raise ValueError(
            f"scoring={scoring!r} needs probabilities or decision values, and a curve of components has predictions "
            "only; take a score of these, such as 'accuracy' or 'neg_mean_absolute_error'."
        )
    return functools.partial(score_of_predictions, scorer)
