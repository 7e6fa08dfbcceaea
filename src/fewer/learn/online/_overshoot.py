"""Whether the weights of an online learner run away, or never get going, for the unit of the columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer.learn.online._dense_learners import Batch
from fewer.learn.online._recipe import Learner

_N_LOOKED_AT = 100
_MUCH_WORSE = 10.0
_FAR = 1e-3
_CURE = (
    "The weights overshoot further with each row, for gamma={gamma:.3g} is too small for them: raise it, leave it at "
    "None, or scale the columns."
)


def tell_of_overshooting(learner: Learner, X: Any, y: np.ndarray) -> None:
    """Warn if the last rows are predicted much worse than by zero; refuse weights that are not numbers any more."""
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


def tell_of_units(learners: Sequence[Learner], X: Any) -> None:
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
                "standard deviations, so that steps in all rows are alike and tell no rows apart. Bring the columns to "
                "mean 0 and one scale (StandardScaler).",
                ConvergenceWarning,
            )
