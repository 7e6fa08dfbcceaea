"""What online classifiers and regressors share: learners, the order of rows, fitted attributes and warnings.

A linear model for each target; all meet the same rows in the same order, and know nothing of one another.
"""

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewer._estimators import Interval, SparseCoefMixin, StrOptions, fit_context, fit_steps, validated, warn_caller
from fewer.learn.online._learners import (
    SHARES,
    AcceleratedLearner,
    Batch,
    DenseLearner,
    GammaRace,
    LazyLearner,
    Learner,
    Recipe,
)

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "penalty": [StrOptions({"l1", "l1l2", "l2", "l1_ball", "none"})],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "alpha_l2": [Interval(Real, 0, None, closed="neither")],
    "radius": [Interval(Real, 0, None, closed="neither")],
    "gamma": [Interval(Real, 0, None, closed="left"), None],
    "rho": [Interval(Real, 0, None, closed="left")],
    "p_norm": [Interval(Real, 1, 2, closed="right")],
    "accelerated": ["boolean"],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "n_epochs": [Interval(Integral, 1, None, closed="left")],
    "shuffle": ["boolean"],
    "fit_intercept": ["boolean"],
    "output": [StrOptions({"last", "average"})],
    "record": ["boolean"],
    "random_state": ["random_state"],
}
ACCEPTED = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
_BLOCKS_OF_A_PASS = 20


class OnlineLinear(CallbackSupportMixin, SparseCoefMixin, BaseEstimator):
    """What the classifier and the regressor share: a learner for each target, and the order in which it meets rows."""

    _accepted: dict[str, Any] = ACCEPTED

    def __init__(
        self,
        penalty="l1",
        alpha=0.001,
        *,
        alpha_l2=0.001,
        radius=1.0,
        gamma=None,
        rho=0.0,
        p_norm=2.0,
        accelerated=False,
        batch_size=1,
        n_epochs=1,
        shuffle=True,
        fit_intercept=True,
        output="last",
        record=False,
        random_state=None,
    ):
        self.penalty = penalty
        self.alpha = alpha
        self.alpha_l2 = alpha_l2
        self.radius = radius
        self.gamma = gamma
        self.rho = rho
        self.p_norm = p_norm
        self.accelerated = accelerated
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.output = output
        self.record = record
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Forget all rows seen before, and learn from these.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table. Columns should be on comparable scales, for they share one penalty.
        y : array-like of shape (n_samples,)
            Classes, or numbers to predict.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, **self._accepted)
        self._fitted_to(X, self._first_targets(y), y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y):
        """Learn from more rows, once each, in the order in which they come.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            More rows.
        y : array-like of shape (n_samples,)
            Their numbers to predict.

        Returns
        -------
        self : object
            The estimator.
        """
        first = not hasattr(self, "_learners")
        X, y = validated(self, X, y, reset=first, **self._accepted)
        self._gone_on_with(X, self._targets(y), first)
        return self

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        """Numbers that each learner predicts."""
        raise NotImplementedError

    def _first_targets(self, y: np.ndarray) -> list[np.ndarray]:
        """The same in ``fit``, where the classes are not known yet."""
        return self._targets(y)

    def _learners_for(self, n_targets: int, X: Any, *, whole_table: bool = False) -> list[Learner]:
        self._refuse_combinations()
        names = Recipe.__dataclass_fields__.keys() - {"loss"}
        recipe = Recipe(loss=getattr(self, "loss", "squared"), **{name: getattr(self, name) for name in names})
        size = X.shape[1] + self.fit_intercept
        if self.accelerated:
            return [AcceleratedLearner(recipe, size, whole_table=whole_table) for _ in range(n_targets)]
        together = self.penalty == "l1_ball" or self.p_norm != 2
        kind = DenseLearner if together else LazyLearner
        if self.gamma is not None:
            return [kind(recipe, size) for _ in range(n_targets)]
        return [GammaRace([kind(recipe, size, share, judged=True) for share in SHARES]) for _ in range(n_targets)]

    def _refuse_combinations(self) -> None:
        """Raise for parameters that cannot be combined."""
        if self.accelerated and getattr(self, "loss", None) == "hinge":
            raise ValueError("accelerated=True is for smooth losses, which the hinge is not; use loss='log'.")
        if self.gamma == 0 and not self.accelerated:
            raise ValueError(
                "gamma=0 is for accelerated=True with the whole table as a batch; here it must be above zero."
            )
        for name, plain in (("rho", 0), ("p_norm", 2)):
            if getattr(self, name) != plain and (self.accelerated or self.penalty not in ("l1", "none")):
                raise ValueError(
                    f"{name}={getattr(self, name)} is for penalty='l1' or 'none' without acceleration; leave it at "
                    f"{plain} with penalty={self.penalty!r} and accelerated={self.accelerated}."
                )

    def _start(self, n_targets: int, X: Any, *, whole_table: bool = False) -> None:
        """Forget all rows."""
        self._learners = self._learners_for(n_targets, X, whole_table=whole_table)
        self.nnz_history_: list[tuple[int, int]] | None = [] if self.record else None

    def _fitted_to(self, X: Any, targets: list[np.ndarray], y: Any) -> None:
        """Start anew, and meet the rows ``n_epochs`` times."""
        n_rows = X.shape[0]
        self._start(len(targets), X, whole_table=self.batch_size >= n_rows)
        rng = check_random_state(self.random_state)
        blocks_of_a_pass = len(list(_blocks(np.arange(n_rows), self.batch_size)))
        with fit_steps(self, X, y, n_steps=self.n_epochs * blocks_of_a_pass) as after_step:
            for _ in range(self.n_epochs):
                order = rng.permutation(n_rows) if self.shuffle else np.arange(n_rows)
                if self._learn(X, targets, order, lambda: after_step("block of rows", self._attributes)):
                    break
                for learner in self._learners:
                    if isinstance(learner, GammaRace):
                        learner.end()
            self._keep()
        self._warn_of_overshooting(X, targets)

    def _gone_on_with(self, X: Any, targets: list[np.ndarray], first: bool) -> None:
        """Meet more rows, once, in the order in which they come."""
        if first:
            self._start(len(targets), X)
        if any(getattr(learner, "whole_table", False) for learner in self._learners):
            raise ValueError(
                "This model was fitted with all rows as one batch, so it cannot go on with other rows: fit it "
                "with a batch_size that is smaller than the table."
            )
        self._learn(X, targets, np.arange(X.shape[0]), lambda: False)
        self._keep()
        self._warn_of_overshooting(X, targets)

    def _warn_of_overshooting(self, X: Any, targets: list[np.ndarray]) -> None:
        for learner, target in zip(self._learners, targets, strict=True):
            warn_of_overshooting(learner, X, target)
        warn_of_units(self._learners, X)

    def _learn(self, X: Any, targets: list[np.ndarray], order: np.ndarray, stopped: Callable[[], bool]) -> bool:
        """Meet the rows in this order; returns whether a callback said stop."""
        for block in _blocks(order, self.batch_size):
            for learner, target in zip(self._learners, targets, strict=True):
                learner.learn(X, target, block)
            if self.nnz_history_ is not None:
                n_nonzero = sum(np.count_nonzero(learner.weights[: X.shape[1]]) for learner in self._learners)
                self.nnz_history_.append((self._learners[0].t, int(n_nonzero)))
            if stopped():
                return True
        return False

    def _keep(self) -> None:
        for name, value in self._attributes().items():
            setattr(self, name, value)

    def _attributes(self) -> dict[str, Any]:
        """What the estimator has after the rows so far."""
        # Of the first call, for the average cannot be had afterwards.
        averaged = self._learners[0].recipe.output == "average"
        coef, intercept = self._split([learner.average if averaged else learner.weights for learner in self._learners])
        return {
            "coef_": coef,
            "intercept_": intercept,
            "t_": self._learners[0].t,
            "gamma_": max(learner.gamma for learner in self._learners),
        }

    def _split(self, vectors: list[np.ndarray]) -> tuple[Any, Any]:
        """Columns and intercepts, a row for each target."""
        stacked = np.array(vectors)
        if not self.fit_intercept:
            return stacked, np.zeros(len(stacked))
        return np.ascontiguousarray(stacked[:, :-1]), stacked[:, -1].copy()

    @property
    def gbar_(self) -> np.ndarray:
        """Average gradient over all steps."""
        return self._split([learner.mean_gradient for learner in self._learners])[0]

    @property
    def support_(self) -> np.ndarray:
        """Columns whose last weight is not zero, for any class."""
        n_columns = self.n_features_in_
        return np.flatnonzero(np.any([learner.weights[:n_columns] != 0 for learner in self._learners], axis=0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _blocks(order: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """Parts of a pass, of whole batches, after which callbacks are asked."""
    n_batches = -(-len(order) // batch_size)
    size = batch_size * -(-n_batches // _BLOCKS_OF_A_PASS)
    for start in range(0, len(order), size):
        yield order[start : start + size]


_N_LOOKED_AT = 100
_MUCH_WORSE = 10.0
_FAR = 1e-3
_CURE = "The weights diverge, because gamma={gamma:.3g} is too small: raise it, leave it at None, or scale the columns."


def warn_of_overshooting(learner: Learner, X: Any, y: np.ndarray) -> None:
    """Warn if the last rows are predicted much worse than by zero; refuse weights that have overflowed."""
    recipe = learner.recipe
    if recipe.loss != "squared":
        return
    last = slice(max(X.shape[0] - _N_LOOKED_AT, 0), None)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = learner.weights
        error = Batch(X[last], y[last], recipe.fit_intercept).mean_loss(recipe.code, weights)
        of_zero = float(np.mean(y[last] ** 2))
    if not np.isfinite(weights).all():
        raise ValueError(f"The weights overflowed. {_CURE.format(gamma=learner.gamma)}")
    if error > _MUCH_WORSE * of_zero:
        warn_caller(
            f"The mean squared error of the last {len(y[last])} rows is {error:.3g}, and {of_zero:.3g} if zero is "
            f"predicted for them. {_CURE.format(gamma=learner.gamma)}",
            ConvergenceWarning,
        )


def warn_of_units(learners: Sequence[Learner], X: Any) -> None:
    """Warn if the unit or the origin of the columns leaves one constant for all rows as the best that is learnt."""
    last = X[max(X.shape[0] - _N_LOOKED_AT, 0) :]
    largest = float(np.max(abs(last).mean(axis=0)))
    price = learners[0].recipe.price
    if 0 < largest < price and not any(learner.weights[: X.shape[1]].any() for learner in learners):
        warn_caller(
            "No column has a weight: gradients are in the unit of the columns, of which the largest has a mean size of "
            f"{largest:.2g}, and alpha={price:g} is above that. Bring the columns to one scale (StandardScaler), or "
            "take a smaller alpha.",
            ConvergenceWarning,
        )
    if not sparse.issparse(X):
        means, spreads = np.abs(last.mean(axis=0)), last.std(axis=0)
        if spreads.any() and (spreads < _FAR * means).all():
            warn_caller(
                f"All columns lie far from zero, the first at {means[0] / max(spreads[0], np.finfo(float).tiny):.2g} "
                "standard deviations, so that steps in all rows are alike. Bring the columns to "
                "mean 0 and one scale (StandardScaler).",
                ConvergenceWarning,
            )
