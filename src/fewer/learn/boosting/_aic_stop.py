"""How many steps to make, by Akaike's criterion.

The fitted means are linear in y but for the choice of learners: with ``H_j`` the fit of learner j as a matrix,

    B_m = B_(m-1) + nu V H_j* (I - B_(m-1)),        df_m = trace B_m,

where V is the identity for means, and for other families the change of the mean by a change of f. Then the corrected
criterion of a mean is ``log sigma^2 + (1 + df/n) / (1 - (df + 2)/n)``, and the classical one ``deviance + 2 df``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from fewer._figures import Result
from fewer.catalogue import method
from fewer.learn.boosting._componentwise_boosting import refuse_other_models

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class AicCurve(Result):
    """Akaike's criterion after each step; made by :func:`aic_stop`.

    Attributes
    ----------
    aic : ndarray of shape (n_iter + 1,)
        The criterion, before the first step and after each; infinite where the corrected one is not defined.
    df : ndarray of shape (n_iter + 1,)
        Degrees of freedom.
    best_n_iter : int
        Where the criterion is smallest.
    corrected : bool
        Whether it is the corrected criterion.
    """

    aic: np.ndarray
    df: np.ndarray
    best_n_iter: int
    corrected: bool

    def __repr__(self) -> str:
        return (
            f"Akaike's criterion{' (corrected)' if self.corrected else ''}: {self.best_n_iter} steps are best of 0 to "
            f"{len(self.aic) - 1}\n  {self.df[self.best_n_iter]:.3g} degrees of freedom there"
        )

    @property
    def reading(self) -> str:
        """What to make of it, in plain words."""
        return (
            f"{self.best_n_iter} steps with {self.df[self.best_n_iter]:.3g} degrees of freedom. The criterion does not "
            "know that learners were chosen, so it tends to ask for too many steps; cv_risk is safer."
        )

    def plot(self) -> "go.Figure":
        """The criterion against the number of steps.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        from fewer import _figures

        figure = _figures.new_figure(title=f"{self.best_n_iter} steps are best", x="steps", y="Akaike's criterion")
        finite = np.flatnonzero(np.isfinite(self.aic))
        figure.add_trace(_figures.line("criterion", finite, self.aic[finite], _figures.BLUE))
        figure.add_vline(x=self.best_n_iter, line={"color": _figures.RED, "width": 1.5, "dash": "dash"})
        return figure


@method(
    tasks=["evaluation"],
    when="A quick look at how many steps a boosted model of means, counts or two classes needs, without resampling. It "
    "tends to ask for too many; cv_risk is safer.",
    cost="O(n^2) for each step, O(n^2) memory",
    paper="mboost",
)
def aic_stop(model: Any, *, corrected: bool = True) -> AicCurve:
    """Akaike's criterion of a fitted boosted model, after each of its steps.

    Parameters
    ----------
    model : ComponentwiseBoostingRegressor or ComponentwiseBoostingClassifier
        Fitted, of the families "gaussian", "poisson" or "binomial" with two classes, and without trees.
    corrected : bool, default=True
        The corrected criterion, which is for "gaussian" only; the other families have the classical one.

    Returns
    -------
    curve : AicCurve
        Its ``best_n_iter`` goes into ``model.set_n_iter``.

    References
    ----------
    .. [1] Buehlmann, P. & Hothorn, T. (2007). Boosting algorithms: regularization, prediction and model fitting.
       Statistical Science 22, 477-505.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import ComponentwiseBoostingRegressor, aic_stop
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curve = aic_stop(ComponentwiseBoostingRegressor(n_iter=200).fit(X, y))
    >>> 50 < curve.best_n_iter <= 200
    True
    """
    refuse_other_models(model, "aic_stop")
    check_is_fitted(model)
    family = model._family()
    if not hasattr(family, "working_weights"):
        raise ValueError(f"aic_stop knows means, counts and two classes; {family!r} is none of these. Use cv_risk.")
    if len(model._steps) > 1:
        raise ValueError(f"aic_stop is for two classes, and the model has {len(model.classes_)}. Use cv_risk.")
    corrected = corrected and family.squared
    df, deviance = _freedom_and_deviance(model, family)
    n_rows = float(model._rows.weights.sum())
    if corrected:
        with np.errstate(divide="ignore"):
            aic = deviance / n_rows + np.where(df + 2 < n_rows, (1 + df / n_rows) / (1 - (df + 2) / n_rows), np.inf)
    else:
        aic = deviance + 2 * df
    return AicCurve(aic, df, int(np.argmin(aic)), corrected)


def _freedom_and_deviance(model: Any, family: Any) -> tuple[np.ndarray, np.ndarray]:
    """Trace of the hat matrix, and the deviance, before the first step and after each."""
    rows, steps = model._rows, model._steps[0]
    ready = model._prepared(rows)
    y, weights = rows.targets[0], rows.weights
    n_rows = len(weights)
    margin = np.full(n_rows, steps.offset)
    hat = np.tile(weights / weights.sum(), (n_rows, 1))  # of the offset, a mean
    df, deviance = [float(np.trace(hat))], [family.deviance(y, margin, weights)]
    for step in range(model.n_iter_):
        learner = steps.selected[step]
        design, place = ready.designs[ready.learners.group_of[learner]], int(ready.learners.place_of[learner])
        if design.directions is None:
            raise ValueError(
                "A tree is chosen from the target anew at each step, so it has no hat matrix; use cv_risk."
            )
        directions = design.directions(place)
        directions = directions.toarray() if sparse.issparse(directions) else directions
        slopes = family.working_weights(margin)
        inverse = design.inverse(place)
        products = (directions * weights[:, None]).T
        residual = products - products @ hat
        hat += (steps.learning_rate * slopes[:, None] * directions) @ (inverse @ residual)
        margin = margin + steps.learning_rate * design.values(place, steps.coefficients[step])
        df.append(float(np.trace(hat)))
        deviance.append(family.deviance(y, margin, weights))
    return np.array(df), np.array(deviance)
