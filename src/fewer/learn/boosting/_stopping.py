"""How many steps to make: by the risk on rows that were left out, or by Akaike's criterion.

For each resample the learners (knots, penalties, offset) are made anew from the rows in it; the risk is that of the
rows outside, divided by their number:

    R_b(m) = sum_{i outside b} rho(y_i, f_b^(m)(x_i)) / #outside,      best = argmin_m mean_b R_b(m).

For Akaike's criterion, the fitted means are linear in y but for the choice of learners: with ``H_j`` the fit of learner
j as a matrix,

    B_m = B_(m-1) + nu V H_j* (I - B_(m-1)),        df_m = trace B_m,

where V is the identity for means, and for other families the change of the mean by a change of f. Then the corrected
criterion of a mean is ``log sigma^2 + (1 + df/n) / (1 - (df + 2)/n)``, and the classical one ``deviance + 2 df``.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import check_sample_weight, warn_caller
from fewer._figures import Result
from fewer.catalogue import method
from fewer.learn.boosting._boost import Booster
from fewer.learn.boosting._boosted_model import Training, refuse_other_models
from fewer.learn.boosting._designs import FittedLearners
from fewer.learn.boosting._families import Family

if TYPE_CHECKING:
    import plotly.graph_objects as go


def risks_and_selections(
    model: Any,
    X: Any,
    targets: list[np.ndarray],
    weights_inside: np.ndarray,
    weights_outside: np.ndarray,
    inside: np.ndarray,
    outside: np.ndarray,
    steps: np.ndarray,
) -> tuple[np.ndarray, list[np.ndarray], list[str]]:
    """Risk outside after each number of steps (the mean over paths), learners of the steps by path, and their names."""
    family = model._family()
    ready = model._prepared(Training(X[inside], [], weights_inside, seed=0))
    X_outside = sparse.csc_array(X[outside]) if sparse.issparse(X) else X[outside]
    columns = _OutsideColumns(ready.learners, X_outside)
    risks, selections = [], []
    for target in targets:
        booster = Booster.started(
            ready, family, target[inside], weights_inside, learning_rate=model.learning_rate, offset=model.offset
        )
        risks.append(_staged_risk(booster, family, target[outside], weights_outside, columns, steps))
        selections.append(np.array(booster.steps.selected, dtype=int))
    return np.mean(risks, axis=0), selections, ready.learners.names


class _OutsideColumns:
    """Evaluates learners at the rows outside; a learner is often taken again, so its basis is kept."""

    def __init__(self, learners: FittedLearners, X: Any) -> None:
        self._learners, self._X = learners, X
        self._bases: dict[int, Any] = {}
        self.n_rows = X.shape[0]

    def values(self, learner: int, total: Any) -> np.ndarray:
        if not isinstance(total, np.ndarray):
            return self._learners.values(self._X, learner, total)
        if learner not in self._bases:
            unit = np.eye(len(total))
            self._bases[learner] = np.column_stack([self._learners.values(self._X, learner, one) for one in unit])
        return self._bases[learner] @ total


def _staged_risk(
    booster: Booster,
    family: Family,
    y: np.ndarray,
    weights: np.ndarray,
    columns: _OutsideColumns,
    grid: np.ndarray,
) -> np.ndarray:
    """Risk after each number of steps of the grid; where no more steps can be made, it stays."""
    steps = booster.steps
    margin = np.full(columns.n_rows, steps.offset)
    risks = np.empty(len(grid))
    reached = 0
    for place, n_estimators in enumerate(grid):
        while reached < n_estimators and booster.advance():
            margin += columns.values(steps.selected[reached], steps.step_total(reached))
            reached += 1
        risks[place] = family.risk(y, margin, weights, steps.nuisances[reached])
    return risks


Resampling = Literal["bootstrap", "kfold", "subsampling"]


@dataclass(frozen=True, eq=False, repr=False)
class RiskCurve(Result):
    """The risk on rows that were left out, after each number of steps; made by :func:`cv_risk`.

    Attributes
    ----------
    grid : ndarray of shape (n_grid,)
        Numbers of steps.
    risks : ndarray of shape (n_resamples, n_grid)
        Mean loss of the rows outside of each resample.
    best_n_estimators : int
        Where the mean over the resamples is smallest.
    learner_names : list of str
        The learners.
    inclusion : ndarray of shape (n_learners,)
        Share of the resamples in which each learner was taken at least once in ``best_n_estimators`` steps.
    share_of_steps : ndarray of shape (n_learners,)
        Share of these steps that each learner had, on average.
    resampling : str
        How rows were left out.
    """

    grid: np.ndarray
    risks: np.ndarray
    best_n_estimators: int
    learner_names: list[str]
    inclusion: np.ndarray
    share_of_steps: np.ndarray
    resampling: str

    @property
    def mean_risk(self) -> np.ndarray:
        """Mean over the resamples, by number of steps."""
        return self.risks.mean(axis=0)

    @property
    def at_edge(self) -> bool:
        """Whether the best number is the last one tried, so that more steps may be better still."""
        return bool(self.best_n_estimators == self.grid[-1])

    @property
    def reading(self) -> str:
        """What the curve means, in words."""
        if self.best_n_estimators == 0:
            return "No step lowers the risk on rows that were left out: these columns do not help to predict."
        start, best = self.mean_risk[0], self.mean_risk.min()
        stable = int((self.inclusion >= 0.9).sum())
        told = (
            f"{self.best_n_estimators} steps are best: the risk is {best:.4g}, against {start:.4g} with "
            f"{self.grid[0]} steps. {stable} of {len(self.inclusion)} terms are taken in at least 90% of the resamples."
        )
        return told + (" It is the last number tried; more may be better." if self.at_edge else "")

    def __repr__(self) -> str:
        often = np.argsort(-self.share_of_steps, kind="stable")[:5]
        terms = ", ".join(f"{self.learner_names[j]} {self.share_of_steps[j]:.0%}" for j in often if self.inclusion[j])
        return (
            f"Risk curve: {self.best_n_estimators} steps are best of {self.grid[0]} to {self.grid[-1]}\n"
            f"  {len(self.risks)} resamples ({self.resampling}), risk {self.mean_risk.min():.4g}\n"
            f"  most steps: {terms or 'none'}"
        )

    def plot(self) -> "go.Figure":
        """The risk of each resample and their mean, against the number of steps.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        figure = _figures.new_figure(
            title=f"{self.best_n_estimators} steps are best", x="steps", y="risk on rows that were left out"
        )
        for place, risk in enumerate(self.risks):
            figure.add_scatter(
                x=self.grid, y=risk, mode="lines", name="one resample", legendgroup="one", showlegend=place == 0,
                line={"width": 0.8, "color": _figures.translucent(_figures.GREY, 0.6)}, hoverinfo="skip",
            )  # fmt: skip
        figure.add_trace(_figures.line("mean", self.grid, self.mean_risk, _figures.BLUE))
        figure.add_vline(x=self.best_n_estimators, line={"color": _figures.RED, "width": 1.5, "dash": "dash"})
        return figure


@method(
    tasks=["evaluation"],
    when="A boosted model needs its number of steps: too few leave out terms, too many fit noise. It is chosen on rows "
    "that the steps have not seen; the share of resamples that take each term shows how stable the choice is.",
    cost="one fit for each resample, O(B m n p) for m steps",
    paper="mboost",
    handles=["sparse"],
)
def cv_risk(
    model: Any,
    X: Any,
    y: Any,
    *,
    resampling: Resampling = "bootstrap",
    n_repeats: int | None = None,
    grid: Any = None,
    max_n_estimators: int | None = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> RiskCurve:
    """Risk of a boosted model on rows that were left out, after each number of steps.

    Parameters
    ----------
    model : ComponentwiseBoostingRegressor or ComponentwiseBoostingClassifier
        Fitted or not; it is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,) or (n_samples, 2)
        Target.
    resampling : {"bootstrap", "kfold", "subsampling"}, default="bootstrap"
        How rows are left out: those that a draw with replacement misses, one of ``n_repeats`` folds after the other, or
        a random half.
    n_repeats : int or None, default=None
        Number of resamples; None for 25, or 10 folds.
    grid : array-like of int or None, default=None
        Numbers of steps to look at; None for all from 0 to the model's ``n_estimators``.
    max_n_estimators : int or None, default=None
        When the best number is the last of the grid, the grid is doubled up to this; None never does.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows' losses.
    n_jobs : int or None, default=None
        Processes, as in scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Draws the resamples.

    Returns
    -------
    curve : RiskCurve
        Its ``best_n_estimators`` goes into ``model.set_n_estimators``.

    References
    ----------
    .. [1] Hothorn, T., Buehlmann, P., Kneib, T., Schmid, M. & Hofner, B. (2010). Model-based boosting 2.0. Journal of
       Machine Learning Research 11, 2109-2113.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import ComponentwiseBoostingRegressor, cv_risk
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ComponentwiseBoostingRegressor(n_estimators=200).fit(X, y)
    >>> curve = cv_risk(model, X, y, random_state=0)
    >>> 30 < curve.best_n_estimators < 200
    True
    >>> model.set_n_estimators(curve.best_n_estimators).n_estimators_ == curve.best_n_estimators
    True
    """
    refuse_other_models(model, "cv_risk")
    steps = _checked_grid(grid, model.n_estimators)
    model = clone(model)
    table, target = model._table_and_target(X, y)
    weights = check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
    rows = np.flatnonzero(weights > 0)
    table = (sparse.csr_array(table) if sparse.issparse(table) else table)[rows]
    targets, weights = model._targets(target[rows]), weights[rows]
    draws = _draws(
        resampling, n_repeats, len(weights), np.random.default_rng(check_random_state(random_state).randint(2**31))
    )
    while True:
        parts = Parallel(n_jobs=n_jobs)(
            delayed(_fold_risks)(model, table, targets, weights, draw, steps) for draw in draws
        )
        curve = _curve(parts, steps, resampling)
        if not curve.at_edge:
            return curve
        if max_n_estimators is None or steps[-1] >= max_n_estimators:
            warn_caller(
                f"The risk is smallest at the last number of steps, {steps[-1]}, so more may be better: raise "
                "n_estimators, or pass max_n_estimators, up to which the grid is extended."
            )
            return curve
        steps = np.union1d(
            steps, np.minimum(steps[-1] + (steps[1:] if len(steps) > 1 else steps + 1), max_n_estimators)
        )


def _checked_grid(grid: Any, n_estimators: int) -> np.ndarray:
    steps = np.arange(n_estimators + 1) if grid is None else np.unique(np.asarray(grid))
    if steps.size == 0 or steps.dtype.kind not in "iu" or steps[0] < 0:
        raise ValueError(f"grid={grid!r} must hold whole numbers of steps, 0 or more.")
    return steps


def _draws(resampling: str, n_repeats: int | None, n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    """How often each row is in each resample."""
    if n_repeats is not None and (not isinstance(n_repeats, Integral) or n_repeats < 1 + (resampling == "kfold")):
        raise ValueError(f"n_repeats={n_repeats!r} must be a whole number, at least {1 + (resampling == 'kfold')}.")
    if resampling == "bootstrap":
        draws = [rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows)) for _ in range(n_repeats or 25)]
    elif resampling == "subsampling":
        draws = [rng.permutation(np.arange(n_rows) < (n_rows + 1) // 2).astype(int) for _ in range(n_repeats or 25)]
    elif resampling == "kfold":
        splitter = KFold(n_repeats or 10, shuffle=True, random_state=int(rng.integers(2**31)))
        draws = []
        for inside, _ in splitter.split(np.empty(n_rows)):
            draws.append(np.zeros(n_rows, dtype=int))
            draws[-1][inside] = 1
    else:
        raise ValueError(f"resampling={resampling!r} must be 'bootstrap', 'kfold' or 'subsampling'.")
    return [draw for draw in draws if (draw == 0).any()]


def _fold_risks(
    model: Any, X: Any, targets: list[np.ndarray], weights: np.ndarray, draw: np.ndarray, steps: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray], list[str]]:
    """Risk of the rows outside after each number of steps; the learner of each step, by path; their names."""
    inside, outside = np.flatnonzero(draw), np.flatnonzero(draw == 0)
    return risks_and_selections(model, X, targets, (draw * weights)[inside], weights[outside], inside, outside, steps)


def _curve(
    parts: list[tuple[np.ndarray, list[np.ndarray], list[str]]], steps: np.ndarray, resampling: str
) -> RiskCurve:
    risks = np.array([risk for risk, _, _ in parts])
    names = parts[0][2]
    best = int(steps[np.argmin(risks.mean(axis=0))])
    counts = np.array(
        [sum(np.bincount(path[:best], minlength=len(names)) for path in paths) for _, paths, _ in parts], dtype=float
    )
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return RiskCurve(steps, risks, best, names, (counts > 0).mean(axis=0), (counts / totals).mean(axis=0), resampling)


@dataclass(frozen=True, eq=False, repr=False)
class AicCurve(Result):
    """Akaike's criterion after each step; made by :func:`aic_stop`.

    Attributes
    ----------
    aic : ndarray of shape (n_estimators + 1,)
        The criterion, before the first step and after each; infinite where the corrected one is not defined.
    df : ndarray of shape (n_estimators + 1,)
        Degrees of freedom.
    best_n_estimators : int
        Where the criterion is smallest.
    corrected : bool
        Whether it is the corrected criterion.
    """

    aic: np.ndarray
    df: np.ndarray
    best_n_estimators: int
    corrected: bool

    def __repr__(self) -> str:
        return (
            f"Akaike's criterion{' (corrected)' if self.corrected else ''}: "
            f"{self.best_n_estimators} steps are best of 0 to {len(self.aic) - 1}\n"
            f"  {self.df[self.best_n_estimators]:.3g} degrees of freedom there"
        )

    @property
    def reading(self) -> str:
        """What to make of it, in words."""
        return (
            f"{self.best_n_estimators} steps with {self.df[self.best_n_estimators]:.3g} degrees of freedom. "
            "The criterion ignores that learners were chosen, so it tends to ask for too many steps; cv_risk is safer."
        )

    def plot(self) -> "go.Figure":
        """The criterion against the number of steps.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        figure = _figures.new_figure(
            title=f"{self.best_n_estimators} steps are best", x="steps", y="Akaike's criterion"
        )
        finite = np.flatnonzero(np.isfinite(self.aic))
        figure.add_trace(_figures.line("criterion", finite, self.aic[finite], _figures.BLUE))
        figure.add_vline(x=self.best_n_estimators, line={"color": _figures.RED, "width": 1.5, "dash": "dash"})
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
        Its ``best_n_estimators`` goes into ``model.set_n_estimators``.

    References
    ----------
    .. [1] Buehlmann, P. & Hothorn, T. (2007). Boosting algorithms: regularization, prediction and model fitting.
       Statistical Science 22, 477-505.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import ComponentwiseBoostingRegressor, aic_stop
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curve = aic_stop(ComponentwiseBoostingRegressor(n_estimators=200).fit(X, y))
    >>> 50 < curve.best_n_estimators <= 200
    True
    """
    refuse_other_models(model, "aic_stop")
    check_is_fitted(model)
    family = model._family()
    if not hasattr(family, "working_weights"):
        raise ValueError(
            f"aic_stop is for the gaussian, poisson and binomial families, not for {family!r}. Use cv_risk."
        )
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
    for step in range(model.n_estimators_):
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
