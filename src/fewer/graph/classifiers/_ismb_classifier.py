"""A class from many Markov blankets, searched anew for each row: those that would change its prediction most.

    P(c | x) = sum_G w_G P(c | x, G),   w_G proportional to P(D | G)

over the blankets G that a greedy climb finds once for all rows (phase 1), and those that a search for this row adds
(phase 2). It takes next the blanket whose addition moves the average p to the q with the largest ``KL(p || q)``, and
ends after some that hardly move it. `_blankets` has the graphs and their scores.

Visweswaran, S. and Cooper, G. F. (2010). Learning instance-specific predictive models. Journal of Machine Learning
Research 11, 3333-3369.
"""

import time
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, validated
from fewer._figures import Result
from fewer._wording import counted, cut, signed
from fewer.catalogue import method
from fewer.graph._frame import GraphMixin
from fewer.graph.classifiers._blankets import (
    CLASS,
    MISSING,
    BlanketScores,
    MarkovBlanketStructure,
    RowProba,
    all_blankets,
)
from fewer.graph.classifiers._structures import pair_information
from fewer.graph.classifiers._tables import check_mask, column_coding, complete_rows

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST_COMPLETE = 4
"""Columns with which all blankets can be listed."""


class Found(NamedTuple):
    """Blankets that were averaged for a row, by number, and the class probabilities in each."""

    numbers: np.ndarray
    proba: np.ndarray


def divergences(scores: np.ndarray, proba: np.ndarray, new_scores: np.ndarray, new_proba: np.ndarray) -> np.ndarray:
    """``KL(p || q)`` for each new blanket: p is the average without it, q the one with it."""
    total = logsumexp(scores)
    average = np.exp(scores - total) @ proba
    share = np.exp(new_scores - np.logaddexp(total, new_scores))[:, None]
    mixed = average + share * (new_proba - average)
    return (average * np.log(np.maximum(average, 1e-300) / np.maximum(mixed, 1e-300))).sum(axis=1)


def instance_search(
    scores: BlanketScores,
    start: list[int],
    row: RowProba,
    *,
    queue_size: int,
    tol: float,
    n_iter_no_change: int,
    max_time: Any,
) -> Found:
    """Phase 2 for one row; priorities of the whole queue are those of the moment."""
    ends = np.inf if max_time is None else time.monotonic() + max_time
    numbers, queue = list(start), np.zeros(0, dtype=np.int64)
    proba = row.of(np.array(start))
    seen, stale = set(start), 0
    fresh = [number for each in start for number in scores.successors(each)]
    queue_proba = np.zeros((0, proba.shape[1]))
    while stale < n_iter_no_change and time.monotonic() < ends:
        new = np.array([each for each in dict.fromkeys(fresh) if each not in seen], dtype=np.int64)
        if len(new):
            seen.update(new.tolist())
            queue, queue_proba = np.concatenate([queue, new]), np.vstack([queue_proba, row.of(new)])
        if not len(queue):
            break
        worth = divergences(scores.scores_of(np.array(numbers)), proba, scores.scores_of(queue), queue_proba)
        kept = np.argsort(-worth, kind="stable")[:queue_size]
        best, kept = kept[0], kept[1:]
        stale = stale + 1 if worth[best] <= tol else 0
        numbers.append(int(queue[best]))
        proba = np.vstack([proba, queue_proba[best]])
        fresh = scores.successors(numbers[-1]).tolist()
        queue, queue_proba = queue[kept], queue_proba[kept]
    return Found(np.array(numbers), proba)


class ScoreOrder:
    """Blankets in the order in which a best-first search by score takes them; it does not depend on rows."""

    def __init__(self, scores: BlanketScores, start: list[int], queue_size: int):
        self._scores, self._queue_size = scores, queue_size
        self._taken: list[int] = []
        self._seen = set(start)
        self._queue: list[int] = []
        self._start = list(start)
        for each in start:
            self._push(each)

    def _push(self, number: int) -> None:
        new = [int(each) for each in self._scores.successors(number) if each not in self._seen]
        self._seen.update(new)
        self._queue = sorted([*self._queue, *new], key=lambda each: -self._scores.scores[each])[: self._queue_size]

    def first(self, n_models: int) -> list[int]:
        """The start and so many further ones."""
        while len(self._taken) < n_models and self._queue:
            self._taken.append(self._queue.pop(0))
            self._push(self._taken[-1])
        return self._start + self._taken[:n_models]


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation(Result):
    """Which columns matter for one row; made by :meth:`ISMBClassifier.explain`.

    Attributes
    ----------
    feature_names : list of str
        Names of the columns.
    classes : ndarray
        The labels.
    proba : ndarray of shape (n_classes,)
        Probability of each class.
    inclusion : ndarray of shape (n_features,)
        Total weight of the blankets that hold each column.
    effects : ndarray of shape (n_features,)
        By how much the row's value of each column raises the probability of the predicted class, compared with the
        average over the column's values in the training table; 0 where the row's value is missing.
    models : list of MarkovBlanketStructure
        The blankets, heaviest first.
    weights : ndarray of shape (n_models,)
        Their weights, which sum to 1.
    n_phase1 : int
        How many of them were found for all rows.
    """

    feature_names: list[str]
    classes: np.ndarray
    proba: np.ndarray
    inclusion: np.ndarray
    effects: np.ndarray
    models: list[MarkovBlanketStructure]
    weights: np.ndarray
    n_phase1: int

    _data = ("feature_names", "classes", "proba", "inclusion", "effects", "weights", "n_phase1")

    def _ranked(self) -> np.ndarray:
        """Columns that matter at all, those with the largest effect first."""
        order = np.lexsort([-self.inclusion, -np.abs(self.effects).round(3)])
        return order[self.inclusion[order] >= 0.01]

    @property
    def reading(self) -> str:
        """What it means, in words."""
        best = int(self.proba.argmax())
        said = f"Class {self.classes[best]} has probability {self.proba[best]:.2f} for this row."
        for place in self._ranked()[:1]:
            if abs(self.effects[place]) >= 0.005:
                verb = "raises" if self.effects[place] > 0 else "lowers"
                name, size = self.feature_names[place], abs(self.effects[place])
                return f"{said} The value of {name} changes it most: it {verb} it by {size:.2f}."
        return f"{said} No column changes it much."

    def __repr__(self) -> str:
        lines = [f"Explanation: {self.classes[self.proba.argmax()]} with probability {self.proba.max():.3f}"]
        lines += [
            f"  {self.feature_names[place]}: effect {signed(self.effects[place])}, weight {self.inclusion[place]:.2f}"
            for place in self._ranked()
        ]
        n_models = counted(len(self.models), "Markov blanket")
        lines.append(f"  weights over {n_models}, {self.n_phase1} of them for all rows")
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Bars for the columns that matter for this row: blue for the predicted class, red against it.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The largest effect first; faint bars are columns that few blankets hold.
        """
        from fewer._figures import BLUE, RED, new_figure, translucent

        places = self._ranked()[:30]
        change = "change of the probability by the row's value"
        figure = new_figure(
            title=self.reading.replace(". The", ".<br>The", 1), x=change, height=150 + 26 * max(len(places), 3)
        )
        colours = [
            translucent(BLUE if self.effects[place] >= 0 else RED, 0.2 + 0.8 * float(self.inclusion[place]))
            for place in places
        ]
        figure.add_bar(
            x=self.effects[places], y=[cut(self.feature_names[place], 24) for place in places], orientation="h",
            marker={"color": colours}, customdata=self.inclusion[places],
            hovertemplate="%{y}: effect %{x:+.3f}, weight %{customdata:.2f}<extra></extra>",
        )  # fmt: skip
        figure.update_layout(margin={"t": 70})
        return figure.update_yaxes(autorange="reversed", showgrid=False)


@method(
    tasks=["classification"],
    when="Tables of up to some dozens of columns and some hundred rows where probabilities must be right, and where "
    "people ask which columns mattered for one row: explain(row) lists them.",
    cost="O(n p^2) for each of some 10 to 50 blankets a row; rows with the same levels are searched once",
    paper="instance-specific",
)
class ISMBClassifier(GraphMixin, ClassifierMixin, BaseEstimator):
    """Average of Markov blankets of the class, chosen for each row anew.

    Parameters
    ----------
    search : {"instance", "score", "complete"}, default="instance"
        What phase 2 looks for: blankets that change the row's prediction, or those with the highest score (as many as
        "instance" takes); "complete" averages over all blankets of at most 4 columns.
    average : bool, default=True
        Whether to average; otherwise the blanket with the highest score of both phases predicts alone.
    queue_size : int, default=1000
        Blankets that wait at most, ``w`` in the paper.
    tol : float, default=1e-3
        Divergence from which a blanket counts as changing the prediction.
    n_iter_no_change : int, default=10
        The search for a row ends after this many consecutive blankets that do not change its prediction.
    max_time : float or None, default=None
        Seconds for the search of one row at most. Results then depend on the machine.
    cell_prior : float, default=1.0
        Pseudo-count of each cell, ``alpha`` in the paper.
    discretisation : {"mdl", "equal_frequency", "equal_width"}, default="mdl"
        How measurements are cut into levels. A column without a cut is left out.
    n_bins : int, default=5
        Levels at most, for equal frequency and width.
    discrete : "auto", bool or array-like of shape (n_features,), default="auto"
        Which columns hold codes rather than measurements: those with at most 10 values, all, none, or a mask.
    n_jobs : int or None, default=None
        Rows at the same time, in processes.

    Attributes
    ----------
    phase1_models_ : list of MarkovBlanketStructure
        The blankets of the climb, from the one without columns to the best.
    phase1_scores_ : ndarray
        Their log probabilities of the training table.
    adjacency_ : ndarray of bool of shape (n_features + 1, n_features + 1)
        The best of them, True at [parent, child]; the last node is the class.
    inclusion_ : ndarray of shape (n_features,)
        Total weight of the blankets of phase 1 that hold each column.
    coding_ : ColumnCoding
        How entries become levels.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, when they are strings.

    See Also
    --------
    TANClassifier : One graph for all rows, in a fraction of the time.

    Notes
    -----
    Blankets are compared by the probability of the whole table: every column is scored, those outside of the blanket
    without parents.

    References
    ----------
    .. [1] Visweswaran, S. and Cooper, G. F. (2010). Learning instance-specific predictive models. Journal of Machine
       Learning Research 11, 3333-3369.

    Examples
    --------
    >>> from fewer.datasets import make_corral
    >>> from fewer.graph import ISMBClassifier
    >>> X, y, truth = make_corral()
    >>> model = ISMBClassifier().fit(X, y)
    >>> model.predict_proba([[1, 1, 0, 0, 1, 1]]).round(2)
    array([[0.01, 0.99]])
    >>> model.explain([1, 1, 0, 0, 1, 1]).inclusion.round(1)
    array([1., 1., 1., 1., 0., 1.])
    """

    _parameter_constraints = {
        "search": [StrOptions({"instance", "score", "complete"})],
        "average": ["boolean"],
        "queue_size": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "cell_prior": [Interval(Real, 0, None, closed="neither")],
        "discretisation": [StrOptions({"mdl", "equal_frequency", "equal_width"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "discrete": [StrOptions({"auto"}), "boolean", "array-like"],
        "n_jobs": [Integral, None],
    }
    _directed = True
    _weight_words = "bits shared"
    _learns_from_complete_rows = True

    def __init__(
        self,
        search="instance",
        *,
        average=True,
        queue_size=1000,
        tol=1e-3,
        n_iter_no_change=10,
        max_time=None,
        cell_prior=1.0,
        discretisation="mdl",
        n_bins=5,
        discrete="auto",
        n_jobs=None,
    ):
        self.search = search
        self.average = average
        self.queue_size = queue_size
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.max_time = max_time
        self.cell_prior = cell_prior
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.discrete = discrete
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "ISMBClassifier":
        """Cut the columns and run phase 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training table. Rows with missing values are left out, with a warning.
        y : array-like of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        encoded_classes(y, "ISMBClassifier")
        X, y = complete_rows(X, y, "ISMBClassifier")
        self.classes_, classes = encoded_classes(y, "ISMBClassifier")
        check_mask(self.discrete, X.shape[1])
        self.coding_ = column_coding(X, classes, discrete=self.discrete, method=self.discretisation, n_bins=self.n_bins)
        n_levels = self.coding_.n_levels
        self._used = np.flatnonzero(n_levels > 1)
        if self.search == "complete" and len(self._used) > _MOST_COMPLETE:
            raise ValueError(
                f"search='complete' lists all blankets of at most {_MOST_COMPLETE} columns, and {len(self._used)} "
                "vary. Use 'instance'."
            )
        self._codes = np.ascontiguousarray(np.column_stack([self.coding_.codes(X)[:, self._used], classes]).T)
        self._n_levels = np.append(n_levels[self._used], len(self.classes_)).astype(np.int64)
        scores = self._scores()
        path = scores.climb()
        models = [self._renamed(scores.model(number)) for number in path]
        self._phase1 = [model.to_lists() for model in models]
        self.phase1_scores_ = scores.scores_of(np.array(path))
        weights = self._weights(self.phase1_scores_)
        self.inclusion_ = inclusion(models, weights, self.n_features_in_)
        self._arcs = np.tensordot(weights, [arcs(model, self.n_features_in_) for model in models], axes=1)
        self.adjacency_ = arcs(models[-1], self.n_features_in_)
        self._shared = self._shared_information(classes)
        return self

    def _shared_information(self, classes: np.ndarray) -> np.ndarray:
        """Bits that a column tells about the class (last row and column), and that two share within the classes."""
        pairs = pair_information(self._codes[:-1], self._n_levels[:-1], classes.astype(np.int64), len(self.classes_))
        found = np.zeros((self.n_features_in_ + 1, self.n_features_in_ + 1))
        found[np.ix_(self._used, self._used)] = pairs.given_class
        found[-1, self._used] = found[self._used, -1] = pairs.about_class.diagonal()
        return found / np.log(2)

    @property
    def phase1_models_(self) -> list[MarkovBlanketStructure]:
        """The blankets of the climb."""
        return [MarkovBlanketStructure.of_lists(*each) for each in self._phase1]

    def _scores(self) -> BlanketScores:
        return BlanketScores(self._codes, self._n_levels, float(self.cell_prior))

    def _renamed(self, model: MarkovBlanketStructure) -> MarkovBlanketStructure:
        """With the columns of the table instead of those that vary."""
        used = [int(column) for column in self._used]
        parents = frozenset(used[column] for column in model.parents)
        children = tuple((used[child], frozenset(used[column] for column in own)) for child, own in model.children)
        return MarkovBlanketStructure(parents, children)

    def _found_for(self, rows: np.ndarray) -> tuple[BlanketScores, list[int], list[Found]]:
        """Blankets of each row of codes (n_rows, n_columns that vary)."""
        scores = self._scores()
        if self.search == "complete":
            start = [scores.number(each) for each in all_blankets(scores.n_columns)]
            return scores, start, [Found(np.array(start), RowProba(scores, row).of(np.array(start))) for row in rows]
        start = scores.climb()
        order = ScoreOrder(scores, start, self.queue_size)
        found = []
        for row_codes in rows:
            row = RowProba(scores, row_codes)
            each = instance_search(
                scores, start, row, queue_size=self.queue_size, tol=self.tol, n_iter_no_change=self.n_iter_no_change,
                max_time=self.max_time,
            )  # fmt: skip
            if self.search == "score":
                numbers = np.array(order.first(len(each.numbers) - len(start)))
                each = Found(numbers, row.of(numbers))
            found.append(each)
        return scores, start, found

    def _row_codes(self, X: Any) -> np.ndarray:
        """Levels of the columns that vary, of new rows."""
        X = validated(self, X, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan", reset=False)
        return np.where(np.isnan(X), MISSING, self.coding_.codes(X))[:, self._used]

    def _weights(self, scores: np.ndarray) -> np.ndarray:
        if not self.average:
            return np.eye(len(scores))[scores.argmax()]
        return np.exp(scores - logsumexp(scores))

    def _proba(self, rows: np.ndarray) -> np.ndarray:
        scores, _, found = self._found_for(rows)
        proba = np.array([self._weights(scores.scores_of(each.numbers)) @ each.proba for each in found])
        return proba.reshape(len(rows), len(self.classes_))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table. A code that was not seen in training is a level of its own;
            missing values are summed out of every blanket.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        check_is_fitted(self)
        rows, which = np.unique(self._row_codes(X), axis=0, return_inverse=True)
        if self.n_jobs in (None, 1) or len(rows) < 2:
            return self._proba(rows)[which.ravel()]
        parts = np.array_split(rows, min(len(rows), 4 * abs(self.n_jobs)))
        return np.vstack(Parallel(n_jobs=self.n_jobs)(delayed(self._proba)(part) for part in parts))[which.ravel()]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The classes.
        """
        probabilities = self.predict_proba(X)  # first, so that a model that is not fitted is reported
        return self.classes_[probabilities.argmax(axis=1)]

    def explain(self, row: Any) -> RowExplanation:
        """Which columns matter for one row, with their posterior weight.

        Parameters
        ----------
        row : array-like of shape (n_features,) or (1, n_features)
            The row.

        Returns
        -------
        explanation : RowExplanation
            Weights of columns and blankets; prints itself and has ``plot()``.
        """
        check_is_fitted(self)
        codes = self._row_codes(one_row(row))
        scores, start, (found,) = self._found_for(codes)
        weights = self._weights(scores.scores_of(found.numbers))
        order = np.argsort(-weights, kind="stable")
        models = [self._renamed(scores.model(number)) for number in found.numbers]
        return RowExplanation(
            feature_names=self._node_names()[:-1],
            classes=self.classes_,
            proba=weights @ found.proba,
            inclusion=inclusion(models, weights, self.n_features_in_),
            effects=self._effects(scores, found, weights, codes[0]),
            models=[models[place] for place in order],
            weights=weights[order],
            n_phase1=len(start),
        )

    def _effects(self, scores: BlanketScores, found: Found, weights: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Probability of the predicted class less its mean over the training values of each column."""
        proba = weights @ found.proba
        best = int(proba.argmax())
        effects = np.zeros(self.n_features_in_)
        for place, column in enumerate(self._used):
            if codes[place] == MISSING:
                continue
            shares = np.bincount(self._codes[place]) / self._codes.shape[1]
            for level, share in enumerate(shares):
                other = codes.copy()
                other[place] = level
                effects[column] += share * (proba[best] - weights @ RowProba(scores, other).of(found.numbers)[:, best])
        return effects

    def plot(self, *, title: str | None = None) -> "go.Figure":
        """Picture of the best blanket that was found for all rows.

        Parameters
        ----------
        title : str or None, default=None
            Title of the figure; None for the number of columns in the blanket.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Dots and arrows; the fainter an arrow, the less probable.
        """
        check_is_fitted(self)
        n_columns = counted(len(self.phase1_models_[-1].columns), "column")
        return super().plot(title=title or f"{n_columns} around the class")

    def _node_names(self) -> list[str]:
        names = super()._node_names()
        return [*names, "class" if "class" not in names else "the class"]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _edge_weights(self) -> np.ndarray:
        return self._shared

    def _edge_probabilities(self) -> np.ndarray:
        return self._arcs


def one_row(row: Any) -> Any:
    """A row as a table; one of a pandas table keeps the names of its columns."""
    if hasattr(row, "to_frame"):
        return row.to_frame().T
    table = row if np.ndim(row) == 2 else [row]
    if len(table) != 1:
        raise ValueError(f"explain takes one row, and {counted(len(table), 'row')} were given.")
    return table


def arcs(model: MarkovBlanketStructure, n_columns: int) -> np.ndarray:
    """Arcs as a matrix [parent, child], the class last."""
    found = np.zeros((n_columns + 1, n_columns + 1), dtype=bool)
    for node, parents in model.families():
        found[list(parents), node] = True
        if node != CLASS:
            found[CLASS, node] = True
    return found


def inclusion(models: list[MarkovBlanketStructure], weights: np.ndarray, n_columns: int) -> np.ndarray:
    """Total weight of the models whose blanket holds each column."""
    found = np.zeros(n_columns)
    for model, weight in zip(models, weights, strict=True):
        found[list(model.columns)] += weight
    return found
