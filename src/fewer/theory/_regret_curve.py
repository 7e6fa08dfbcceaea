"""The regret of online learning: the losses on the way, against those of the best fixed weights.

``R_t = sum_{k<=t} [f_k(w_k) + Psi(w_k)] - min_w sum_{k<=t} [f_k(w) + Psi(w)]``. Theory bounds it by
``(gamma D^2 + G^2/gamma) sqrt(t)``, with ``D^2 = h(w)`` of the fixed weights and G the largest length of a gradient;
and by ``(G^2/(2 sigma)) (6 + ln t)`` where the penalty has ``sigma ||w||^2/2``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_consistent_length, column_or_1d

from fewer._estimators import checked_array, encoded_classes
from fewer._figures import Result
from fewer._kernels._dual_averaging import row_losses, row_slopes
from fewer.learn import L1LinearClassifier, L1LinearRegressor, RDAClassifier, RDARegressor

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class RegretCurve(Result):
    """The regret after some numbers of steps, and its bound; made by :func:`regret_curve`.

    Attributes
    ----------
    steps : ndarray of shape (n_points,)
        Numbers of rows seen.
    online : ndarray of shape (n_points,)
        Sum of losses and penalties on the way.
    fixed : ndarray of shape (n_points,)
        The same for the best fixed weights, or for those given.
    bound : ndarray of shape (n_points,)
        Upper bound of their difference, from theory.
    longest_gradient : float
        G, the largest length of a gradient.
    """

    steps: np.ndarray
    online: np.ndarray
    fixed: np.ndarray
    bound: np.ndarray
    longest_gradient: float

    _data = ("steps", "online", "fixed", "regret", "bound", "longest_gradient")

    @property
    def regret(self) -> np.ndarray:
        """Losses and penalties on the way, minus those of the fixed weights."""
        return self.online - self.fixed

    def __repr__(self) -> str:
        last = int(self.steps[-1])
        return (
            f"RegretCurve: {last:,} rows\n"
            f"  mean cost a row {self.online[-1] / last:.4f} online, {self.fixed[-1] / last:.4f} with fixed weights\n"
            f"  regret {self.regret[-1]:.4g}, {self.regret[-1] / self.bound[-1]:.1%} of its bound {self.bound[-1]:.4g}"
        )

    def plot(self) -> "go.Figure":
        """Regret for each row so far, and its bound.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer._figures import GREY, line, new_figure

        figure = new_figure(title="Regret of online learning", x="rows seen", y="regret for each row")
        figure.add_trace(line("measured", self.steps, self.regret / self.steps))
        figure.add_trace(line("bound", self.steps, self.bound / self.steps, GREY, line_dash="dot"))
        figure.update_xaxes(type="log")
        figure.update_yaxes(type="log")
        return figure


def regret_curve(
    model: RDAClassifier | RDARegressor,
    X: Any,
    y: "ArrayLike",
    *,
    against: "ArrayLike | None" = None,
    at: "Sequence[int] | None" = None,
) -> RegretCurve:
    """Regret of an online model on rows in the order in which they come.

    Parameters
    ----------
    model : RDAClassifier or RDARegressor
        With ``batch_size=1`` and not accelerated. It is left as it is, and need not be fitted. ``gamma=None`` is
        the one that these rows choose, before the first is learnt from.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Two classes, or numbers.
    against : array-like of shape (n_features,) or None, default=None
        Fixed weights to compare with, and the intercept at the end if the model has one. None takes the best for the
        rows so far, by L1LinearClassifier or L1LinearRegressor, which is for the l1 penalty and smooth losses.
    at : sequence of int or None, default=None
        Numbers of rows after which to compare; by default 10, evenly on a log scale from 10 to all.

    Returns
    -------
    curve : RegretCurve
        The regret and its bound, to be printed or plotted.

    References
    ----------
    .. [1] Xiao, L. (2010). Dual averaging methods for regularized stochastic learning and online optimization. JMLR 11,
       2543-2596.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fewer.learn import RDAClassifier
    >>> from fewer.theory import regret_curve
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = regret_curve(RDAClassifier(alpha=0.05, gamma=5.0), scale(X), y)
    >>> bool((curve.regret < curve.bound).all())
    True
    """
    if model.accelerated or model.batch_size != 1:
        raise ValueError("The bound is for batch_size=1 without acceleration; set these on the model.")
    if model.penalty == "l1_ball" or model.p_norm != 2:
        raise ValueError("The bound is for the penalties l1, l1l2, l2 and none, with p_norm=2; set these on the model.")
    if against is None and (model.penalty != "l1" or model.alpha == 0 or getattr(model, "loss", None) == "hinge"):
        raise ValueError(
            "The best fixed weights are known for penalty='l1' with alpha > 0 and smooth losses; give weights to "
            "compare with as against=."
        )
    X = checked_array(X, "regret_curve", accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    check_consistent_length(X, y)
    target = _target(model, column_or_1d(y))
    learner = _with_fixed_gamma(model, X, target)
    costs, lengths = _costs_on_the_way(learner, X, target)
    longest = np.maximum.accumulate(lengths)
    n_rows = X.shape[0]
    steps = (
        np.unique(np.geomspace(min(10, n_rows), n_rows, 10).astype(int)) if at is None else np.asarray(at, dtype=int)
    )
    if against is None:
        weights = [_best_fixed(learner.recipe, X[:t], target[:t]) for t in steps]
        fixed = np.array(
            [_costs(learner.recipe, w, X[:t], target[:t]).sum() for w, t in zip(weights, steps, strict=True)]
        )
    else:
        weights = [np.asarray(against, dtype=np.float64)] * len(steps)
        fixed = np.cumsum(_costs(learner.recipe, weights[0], X, target))[steps - 1]
    bound = [_bound(learner.recipe, w, learner.gamma, longest[t - 1], t) for w, t in zip(weights, steps, strict=True)]
    return RegretCurve(steps, np.cumsum(costs)[steps - 1], fixed, np.array(bound), float(longest[-1]))


def _target(model: Any, y: np.ndarray) -> np.ndarray:
    if not is_classifier(model):
        return y.astype(np.float64)
    classes, codes = encoded_classes(y, "regret_curve")
    if len(classes) != 2:
        raise ValueError(
            f"regret_curve takes two classes, and y has {len(classes)}; look at one against the rest, as in y == "
            f"{classes.tolist()[0]!r}."
        )
    return 2.0 * codes - 1


def _with_fixed_gamma(model: Any, X: Any, y: np.ndarray) -> Any:
    """A learner that has met no row; where gamma is not given, with the one that the rows choose."""
    if model.gamma is None:
        measuring = model._learners_for(1, X)[0]
        measuring.learn(X, y, np.arange(X.shape[0]))
        model = clone(model).set_params(gamma=measuring.gamma)
    return model._learners_for(1, X)[0]


def _costs_on_the_way(learner: Any, X: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loss and penalty of each row when it was met, and the length of its gradient."""
    recipe, n_rows = learner.recipe, X.shape[0]
    predictions, penalties = np.empty(n_rows), np.empty(n_rows)
    order = np.arange(n_rows)
    for i in range(n_rows):
        weights = learner.weights
        predictions[i] = _predictions(recipe, weights, X[i : i + 1])[0]
        penalties[i] = recipe.penalty_of(weights)
        learner.learn(X, y, order[i : i + 1])
    squares = X.multiply(X) if sparse.issparse(X) else X**2
    row_lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel() + recipe.fit_intercept)
    lengths = np.abs(row_slopes(recipe.code, y, predictions)) * row_lengths
    return row_losses(recipe.code, y, predictions) + penalties, lengths


def _predictions(recipe: Any, weights: np.ndarray, X: Any) -> np.ndarray:
    return np.asarray(X @ weights[: X.shape[1]], dtype=np.float64) + (weights[-1] if recipe.fit_intercept else 0.0)


def _costs(recipe: Any, weights: np.ndarray, X: Any, y: np.ndarray) -> np.ndarray:
    """Loss and penalty of each row with fixed weights."""
    return row_losses(recipe.code, y, _predictions(recipe, weights, X)) + recipe.penalty_of(weights)


def _best_fixed(recipe: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """The minimum of ``mean loss + alpha ||w||_1``."""
    if recipe.loss == "squared":
        best: Any = L1LinearRegressor(recipe.alpha / 2, fit_intercept=recipe.fit_intercept).fit(X, y)
    elif len(np.unique(y)) == 1:  # then it is at infinity; zero is a fair thing to compare with
        return np.zeros(X.shape[1] + recipe.fit_intercept)
    else:
        best = L1LinearClassifier("log", 1 / (recipe.alpha * len(y)), fit_intercept=recipe.fit_intercept).fit(X, y)
    return np.append(best.coef_, best.intercept_) if recipe.fit_intercept else np.ravel(best.coef_)


def _bound(recipe: Any, weights: np.ndarray, gamma: float, longest: float, t: int) -> float:
    """Of the regret; what the penalty holds and what gamma holds add up."""
    columns, intercept = np.split(weights, [len(weights) - recipe.fit_intercept])
    if recipe.curvature == 0:
        distance = weights @ weights / 2 + recipe.rho * np.abs(columns).sum()
        return float((gamma * distance + longest**2 / gamma) * np.sqrt(t))
    bound = longest**2 / (2 * recipe.curvature) * (6 + np.log(t))
    if recipe.fit_intercept:
        bound += (gamma * intercept[0] ** 2 / 2 + longest**2 / gamma) * np.sqrt(t)
    return float(bound)
