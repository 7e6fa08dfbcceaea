"""Whether the weights of an online learner run away: the squared loss has no bound on its gradients."""

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import warn_caller
from fewer.learn.online._dense_learners import Batch
from fewer.learn.online._recipe import Learner

_N_LOOKED_AT = 100
_MUCH_WORSE = 10.0
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
