"""What every latent-variable model of the room is: starts that climb an objective, and what a fit leaves.

A model is fitted from ``n_init`` starts. From each, ``state, objective = step(state)`` is repeated until the objective
(a log-likelihood, a bound on it, or either with a log prior) gains less than ``tol`` of its size; the best end is kept.

A model derives from ``LatentModel``. Its ``fit`` checks the table and calls ``_fit_starts(run, ...)``, where
``run(random, on_step)`` climbs from one start, and ``_keep(state)`` sets the fitted attributes. It implements
``score_samples`` (log-likelihood, or bound on it, of each row; ``score_type_`` says which), ``transform`` (posterior
means or responsibilities), ``sample`` and ``n_parameters_``. That is what `select_n_components`, `component_stability`
and the figures use, so that they serve every model.

Where EM is slow, `accelerated` makes of its step one that extrapolates (SQUAREM) and never lowers the objective.

References
----------
.. [1] Varadhan, R. and Roland, C. (2008). Simple and globally convergent methods for accelerating the convergence of
   any EM algorithm. Scandinavian Journal of Statistics 35, 335-353.
"""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d

from fewer._estimators import Interval, check_sample_weight, fit_steps, known_column, validated, warn_caller
from fewer._wording import counted, listed

OnStep = Callable[[], bool]


class Climb(NamedTuple):
    """Where one start ended: the state, the objective at the beginning of each step, and why it ended.

    Starts are compared by the end of their path, or by ``worth`` where they have one, such as a held-out score.
    """

    state: Any
    path: np.ndarray
    converged: bool
    stopped: bool = False
    worth: float | None = None

    @property
    def value(self) -> float:
        return float(self.path[-1]) if self.worth is None else self.worth


def climb(
    state: Any,
    step: Callable[[Any], tuple[Any, float]],
    *,
    max_iter: int,
    tol: float,
    on_step: OnStep = lambda: False,
    min_iter: int = 2,
) -> Climb:
    """Repeat ``state, objective = step(state)`` until the objective changes by less than ``tol`` of its size.

    ``step`` gives the next state and the objective of the present one, which is what an E-step computes anyway.
    ``on_step`` may return True to stop and keep what there is.

    Examples
    --------
    >>> climb(9.0, lambda x: ((x + 2 / x) / 2, -abs(x * x - 2)), max_iter=50, tol=1e-3).state
    1.414...
    """
    path: list[float] = []
    converged = stopped = False
    while len(path) < max_iter and not converged and not stopped:
        state, objective = step(state)
        path.append(float(objective))
        converged = len(path) >= max(min_iter, 2) and abs(path[-1] - path[-2]) <= tol * abs(path[-2])
        stopped = on_step()
    return Climb(state, np.array(path), converged, stopped)


class Stride(NamedTuple):
    """A state of `accelerated`: the parameters as one vector, and how far a step may go beyond that of EM."""

    vector: np.ndarray
    longest: float = 4.0


def accelerated(
    step: Callable[[np.ndarray], tuple[np.ndarray, float]], settled: Callable[[np.ndarray], np.ndarray]
) -> Callable[[Stride], tuple[Stride, float]]:
    """Make of an EM step another one, of about three times its cost, that extrapolates along two of them.

    Two steps ``x0 -> x1 -> x2`` with ``r = x1 - x0`` and ``v = x2 - x1 - r`` propose ``x0 + 2 a r + a^2 v`` with ``a =
    |r| / |v|``, from where EM goes on. The proposal counts only if its objective is not below that of ``x1``; otherwise
    ``x2`` does. So the objective never falls.

    Parameters
    ----------
    step : callable
        ``step(vector)`` gives the next vector, and the objective of the present one.
    settled : callable
        Makes parameters that are allowed of any vector, such as shares that are positive and sum to 1.

    Returns
    -------
    step : callable
        For `climb`, from `Stride` to `Stride`.

    Examples
    --------
    A step that halves the distance to 3 takes 20 iterations for six digits; this one jumps.

    >>> step = accelerated(lambda x: ((x + 3) / 2, -float(abs(x - 3).max())), lambda x: x)
    >>> climb(Stride(np.zeros(1)), step, max_iter=50, tol=1e-12).state.vector
    array([3.])
    """

    def stride(state: Stride) -> tuple[Stride, float]:
        start, longest = state
        first, objective = step(start)
        second, between = step(first)
        along = first - start
        bend = second - first - along
        curvature = float(np.linalg.norm(bend))
        length = float(np.linalg.norm(along)) / curvature if curvature > 0 else 1.0
        if not length > 1.0:
            return Stride(second, longest), objective
        length = min(length, longest)
        ahead, there = step(settled(start + 2 * length * along + length**2 * bend))
        if not there >= between:
            return Stride(second, max(longest / 4, 4.0)), objective
        return Stride(ahead, longest * 4 if length == longest else longest), objective

    return stride


class LatentModel(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the latent-variable models; see the module for what a model has to define."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    n_init: int
    max_iter: int
    tol: float
    random_state: Any
    n_components_: int
    n_parameters_: int
    n_iter_: int
    objective_path_: np.ndarray
    objectives_: np.ndarray
    converged_: bool
    score_type_: str

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _column_name(self, place: int) -> str:
        """What to call a column in messages: its name where there is one, and its place otherwise."""
        names = getattr(self, "feature_names_in_", None)
        return str(known_column(place, self.n_features_in_) if names is None else names[place])

    def _column_names(self) -> list[str]:
        """The same of all columns."""
        return [self._column_name(place) for place in range(self.n_features_in_)]

    @property
    def n_best_starts_(self) -> int:
        """How many starts reached the best objective, up to what ``tol`` leaves open."""
        best = float(self.objectives_.max())
        return int(np.sum(self.objectives_ >= best - max(10 * self.tol, 1e-9) * max(abs(best), 1.0)))

    def _fit_starts(
        self, run: Callable[[np.random.RandomState, OnStep], Climb], X: Any, y: Any = None, *, n_steps=None
    ):
        """Climb from every start, and keep the best end; a callback that stops one ends the fit."""
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_init)
        n_steps = self.max_iter if n_steps is None else n_steps
        with fit_steps(self, X, y, n_steps=self.n_init * n_steps) as after_step:
            climbs: list[Climb] = []
            for seed in seeds:
                climbs.append(run(np.random.RandomState(seed), lambda: after_step("iteration")))
                if climbs[-1].stopped:
                    break
            best = max(climbs, key=lambda each: each.value)
            self.objectives_ = np.array([each.value for each in climbs])
            self.objective_path_ = best.path
            self.n_iter_ = len(best.path)
            self.converged_ = best.converged
            self._keep(best.state)
        if not (best.converged or climbs[-1].stopped):
            gain = abs(best.path[-1] - best.path[-2]) / max(abs(best.path[-2]), 1e-300) if self.n_iter_ > 1 else np.inf
            warn_caller(
                f"The objective still changed by {gain:.2g} of its size after {self.n_iter_} iterations; raise "
                "max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _keep(self, state: Any) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def score_samples(self, X):
        """Log-likelihood of each row, or a lower bound on it; ``score_type_`` says which.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, not necessarily those of the training table.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; more is better.
        """
        raise NotImplementedError

    def score(self, X, y=None, sample_weight=None):
        """Mean log-likelihood of the rows, or a lower bound on it; ``score_type_`` says which.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, not necessarily those of the training table.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean.

        Returns
        -------
        score : float
            In nats for each row; more is better.
        """
        scores = self.score_samples(X)
        return float(np.average(scores, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def bic(self, X, y=None, sample_weight=None):
        """Bayesian information criterion, ``-2 log L + n_parameters log n``: less is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as a rule those of the training table.
        y : array-like of shape (n_samples,), default=None
            Classes, for models that have them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; ``n`` is their sum.

        Returns
        -------
        bic : float
            From the log-likelihood, or the bound on it that ``score_type_`` names.
        """
        log_likelihood, n_rows = self._weighted_score(X, y, sample_weight)
        return float(-2 * log_likelihood + self.n_parameters_ * np.log(n_rows))

    def aic(self, X, y=None, sample_weight=None):
        """Akaike information criterion, ``-2 log L + 2 n_parameters``: less is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as a rule those of the training table.
        y : array-like of shape (n_samples,), default=None
            Classes, for models that have them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        aic : float
            From the log-likelihood, or the bound on it that ``score_type_`` names.
        """
        return float(-2 * self._weighted_score(X, y, sample_weight)[0] + 2 * self.n_parameters_)

    def _weighted_score(self, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
        """Log-likelihood of all rows, and how many there are, by weight."""
        scores = self.score_samples(X, *(() if y is None else (y,)))
        weights = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(weights @ scores), float(weights.sum())


def refuse_empty_columns(model: Any, X: np.ndarray) -> None:
    """Raise for a column without any value: it has no parameters that could be estimated."""
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        names = getattr(model, "feature_names_in_", range(X.shape[1]))
        raise ValueError(f"Column {names[int(empty.argmax())]} has no observed value: leave it out.")


def warn_of_odd_rows(model: Any, X: np.ndarray, n_components: int, parameter: str = "n_components") -> None:
    """Warn of columns without variance, which do not affect the model, and of fewer different rows than components."""
    varies = np.nanmin(X, axis=0) < np.nanmax(X, axis=0)
    if not varies.all():
        warn_of_constant_columns(model, np.flatnonzero(~varies))
    warn_of_few_rows(n_components, _n_different_rows(X, n_components), parameter)


def warn_of_constant_columns(model: Any, places: Sequence[int] | np.ndarray) -> None:
    """Warn of the columns at these places."""
    if len(places):
        names = listed([model._column_name(int(place)) for place in places], 5)
        said = ("is", "does", "it") if len(places) == 1 else ("are", "do", "them")
        warn_caller(
            f"{counted(len(places), 'column')} ({names}) {said[0]} constant and {said[1]} not affect the model: leave "
            f"{said[2]} out."
        )


def warn_of_few_rows(n_components: int, n_different: int, parameter: str = "n_components") -> None:
    """Warn where there are fewer different rows than components."""
    if n_different < n_components:
        warn_caller(
            f"{parameter}={n_components} is more than the {counted(n_different, 'different row')} of X: take at most "
            f"{n_different}."
        )


def warn_of_undetermined_loadings(n_factors: int, n_columns: int, parameter: str = "n_components") -> None:
    """Warn where factors have more loadings than so many columns have correlations."""
    if (n_columns - n_factors) ** 2 < n_columns + n_factors:
        warn_caller(
            "The model has more parameters than the covariance of the columns has entries, with "
            f"{counted(n_factors, 'factor')} and {counted(n_columns, 'column')} that vary: the likelihood is right, "
            f"but the loadings are not determined. Lower {parameter}."
        )


def _n_different_rows(X: np.ndarray, enough: int) -> int:
    """Number of different rows, or ``enough`` if there are so many."""
    filled = np.where(np.isnan(X), np.inf, X)
    for part in (filled[: 20 * enough], filled):
        found = len(np.unique(part, axis=0))
        if found >= enough:
            return enough
    return found


def labels_of_rows(labels: Any, n_rows: int, name: str) -> np.ndarray:
    """Labels of rows, such as their sequences or tasks: one for each row, and none of them missing."""
    found = column_or_1d(labels, dtype=None)
    if len(found) != n_rows:
        raise ValueError(f"{name} has {len(found):,} entries, and X has {n_rows:,} rows (n_samples): one for each row.")
    missing = [place for place, each in enumerate(found.tolist()) if each is None or each != each]
    if missing:
        raise ValueError(
            f"{name} is missing in {counted(len(missing), 'row')}, such as row {missing[0]}: label these rows, or "
            "leave them out."
        )
    return found


def is_count_table(y: Any) -> bool:
    """Whether y has several columns, such as counts of items, rather than one class for each row."""
    shape = y.shape if hasattr(y, "shape") else np.shape(np.asarray(y))
    return len(shape) == 2 and shape[1] > 1


def row_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Weights of rows, checked; None where there are none."""
    if sample_weight is None:
        return None
    return check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def weighted_rows(model: Any, X: Any, sample_weight: Any, *, missing: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The training table as a model of numbers takes it, and the weights of its rows; rows of weight 0 are left out."""
    allowed: Any = "allow-nan" if missing else True
    X = validated(model, X, dtype=(np.float64, np.float32), ensure_all_finite=allowed, ensure_min_samples=2)
    weights = row_weights(sample_weight, X)
    weights = np.ones(len(X)) if weights is None else weights
    kept = weights > 0
    return np.ascontiguousarray(X[kept], dtype=np.float64), weights[kept]


class StandardRows(NamedTuple):
    """Rows with columns of mean 0 and variance 1, and what was taken away to make them so."""

    X: np.ndarray
    offset: np.ndarray
    scale: np.ndarray


def standard_rows(X: Any, weights: np.ndarray) -> StandardRows:
    """Rows about their weighted mean, in units of the standard deviation of each column; 1 where that is 0.

    >>> standard_rows(np.array([[1.0, 5.0], [3.0, 5.0]]), np.ones(2)).X
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    X = np.asarray(X, dtype=np.float64)
    # Of large numbers, the weighted mean of differences is more exact than that of the numbers.
    offset = X[0] + weights @ (X - X[0]) / weights.sum()
    centred = X - offset
    largest = np.abs(centred).max(axis=0, initial=0)
    # What rounding leaves of a constant column is no variance.
    largest[largest <= 8 * np.finfo(np.float64).eps * np.abs(offset)] = 0
    safe = np.where(largest > 0, largest, 1.0)
    scale = np.where(largest > 0, safe * np.sqrt(weights @ (centred / safe) ** 2 / weights.sum()), 1.0)
    return StandardRows(np.where(largest > 0, centred / scale, 0.0), offset, scale)
