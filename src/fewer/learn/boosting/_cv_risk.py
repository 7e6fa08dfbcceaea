"""How many steps to make: the risk on rows that were left out, after each step.

For each resample the learners (knots, penalties, offset) are made anew from the rows in it; the risk is that of the
rows outside, divided by their number:

    R_b(m) = sum_{i outside b} rho(y_i, f_b^(m)(x_i)) / #outside,      best = argmin_m mean_b R_b(m).
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

from fewer._estimators import check_sample_weight, warn_caller
from fewer._figures import Result
from fewer.catalogue import method
from fewer.learn.boosting._componentwise_boosting import refuse_other_models
from fewer.learn.boosting._out_of_sample import risks_and_selections

if TYPE_CHECKING:
    import plotly.graph_objects as go

Folds = Literal["bootstrap", "kfold", "subsampling"]


@dataclass(frozen=True, eq=False, repr=False)
class RiskCurve(Result):
    """The risk on rows that were left out, after each number of steps; made by :func:`cv_risk`.

    Attributes
    ----------
    grid : ndarray of shape (n_grid,)
        Numbers of steps.
    risks : ndarray of shape (n_folds, n_grid)
        Mean loss of the rows outside of each resample.
    best_n_iter : int
        Where the mean over the resamples is smallest.
    learner_names : list of str
        The learners.
    inclusion : ndarray of shape (n_learners,)
        Share of the resamples in which each learner was taken at least once in ``best_n_iter`` steps.
    share_of_steps : ndarray of shape (n_learners,)
        Share of these steps that each learner had, on average.
    folds : str
        How rows were left out.
    """

    grid: np.ndarray
    risks: np.ndarray
    best_n_iter: int
    learner_names: list[str]
    inclusion: np.ndarray
    share_of_steps: np.ndarray
    folds: str

    @property
    def mean_risk(self) -> np.ndarray:
        """Mean over the resamples, by number of steps."""
        return self.risks.mean(axis=0)

    @property
    def at_edge(self) -> bool:
        """Whether the best number is the last one tried, so that more steps may be better still."""
        return bool(self.best_n_iter == self.grid[-1])

    @property
    def reading(self) -> str:
        """What the curve says, in plain words."""
        if self.best_n_iter == 0:
            return "No step lowers the risk on rows that were left out: these columns do not help to predict."
        start, best = self.mean_risk[0], self.mean_risk.min()
        stable = int((self.inclusion >= 0.9).sum())
        told = (
            f"{self.best_n_iter} steps are best: the risk is {best:.4g}, against {start:.4g} with "
            f"{self.grid[0]} steps. {stable} of {len(self.inclusion)} terms are taken in at least 90% of the resamples."
        )
        return told + (" It is the last number tried; more may be better." if self.at_edge else "")

    def __repr__(self) -> str:
        often = np.argsort(-self.share_of_steps, kind="stable")[:5]
        terms = ", ".join(f"{self.learner_names[j]} {self.share_of_steps[j]:.0%}" for j in often if self.inclusion[j])
        return (
            f"Risk curve: {self.best_n_iter} steps are best of {self.grid[0]} to {self.grid[-1]}\n"
            f"  {len(self.risks)} resamples ({self.folds}), risk {self.mean_risk.min():.4g}\n"
            f"  most steps: {terms or 'none'}"
        )

    def plot(self) -> "go.Figure":
        """The risk of each resample and their mean, against the number of steps.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        from fewer import _figures

        figure = _figures.new_figure(
            title=f"{self.best_n_iter} steps are best", x="steps", y="risk on rows that were left out"
        )
        for place, risk in enumerate(self.risks):
            figure.add_scatter(
                x=self.grid, y=risk, mode="lines", name="one resample", legendgroup="one", showlegend=place == 0,
                line={"width": 0.8, "color": _figures.translucent(_figures.GREY, 0.6)}, hoverinfo="skip",
            )  # fmt: skip
        figure.add_trace(_figures.line("mean", self.grid, self.mean_risk, _figures.BLUE))
        figure.add_vline(x=self.best_n_iter, line={"color": _figures.RED, "width": 1.5, "dash": "dash"})
        return figure


@method(
    tasks=["evaluation"],
    when="A boosted model needs its number of steps: too few leave out terms, too many fit noise. It is chosen on rows "
    "that the steps have not seen; the share of resamples that take each term tells how sure the choice is.",
    cost="one fit for each resample, O(B m n p) for m steps",
    paper="mboost",
    handles=["sparse"],
)
def cv_risk(
    model: Any,
    X: Any,
    y: Any,
    *,
    folds: Folds = "bootstrap",
    n_folds: int | None = None,
    grid: Any = None,
    max_n_iter: int | None = None,
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
    folds : {"bootstrap", "kfold", "subsampling"}, default="bootstrap"
        How rows are left out: those that a draw with replacement misses, one of ``n_folds`` parts after the other, or a
        random half.
    n_folds : int or None, default=None
        Number of resamples; None for 25, or 10 parts.
    grid : array-like of int or None, default=None
        Numbers of steps to look at; None for all from 0 to the model's ``n_iter``.
    max_n_iter : int or None, default=None
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
        Its ``best_n_iter`` goes into ``model.set_n_iter``.

    References
    ----------
    .. [1] Hothorn, T., Buehlmann, P., Kneib, T., Schmid, M. & Hofner, B. (2010). Model-based boosting 2.0. Journal of
       Machine Learning Research 11, 2109-2113.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fewer.learn import ComponentwiseBoostingRegressor, cv_risk
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ComponentwiseBoostingRegressor(n_iter=200).fit(X, y)
    >>> curve = cv_risk(model, X, y, random_state=0)
    >>> 30 < curve.best_n_iter < 200
    True
    >>> model.set_n_iter(curve.best_n_iter).n_iter_ == curve.best_n_iter
    True
    """
    refuse_other_models(model, "cv_risk")
    steps = _checked_grid(grid, model.n_iter)
    model = clone(model)
    table, target = model._table_and_target(X, y)
    weights = check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
    rows = np.flatnonzero(weights > 0)
    table = (sparse.csr_array(table) if sparse.issparse(table) else table)[rows]
    targets, weights = model._targets(target[rows]), weights[rows]
    draws = _draws(folds, n_folds, len(weights), np.random.default_rng(check_random_state(random_state).randint(2**31)))
    while True:
        parts = Parallel(n_jobs=n_jobs)(
            delayed(_fold_risks)(model, table, targets, weights, draw, steps) for draw in draws
        )
        curve = _curve(parts, steps, folds)
        if not curve.at_edge:
            return curve
        if max_n_iter is None or steps[-1] >= max_n_iter:
            warn_caller(
                f"The risk is smallest at the last number of steps, {steps[-1]}, so more may be better: raise n_iter, "
                "or pass max_n_iter, up to which the grid is extended."
            )
            return curve
        steps = np.union1d(steps, np.minimum(steps[-1] + (steps[1:] if len(steps) > 1 else steps + 1), max_n_iter))


def _checked_grid(grid: Any, n_iter: int) -> np.ndarray:
    steps = np.arange(n_iter + 1) if grid is None else np.unique(np.asarray(grid))
    if steps.size == 0 or steps.dtype.kind not in "iu" or steps[0] < 0:
        raise ValueError(f"grid={grid!r} must hold whole numbers of steps, 0 or more.")
    return steps


def _draws(folds: str, n_folds: int | None, n_rows: int, rng: np.random.Generator) -> list[np.ndarray]:
    """How often each row is in each resample."""
    if n_folds is not None and (not isinstance(n_folds, Integral) or n_folds < 1 + (folds == "kfold")):
        raise ValueError(f"n_folds={n_folds!r} must be a whole number, at least {1 + (folds == 'kfold')}.")
    if folds == "bootstrap":
        draws = [rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows)) for _ in range(n_folds or 25)]
    elif folds == "subsampling":
        draws = [rng.permutation(np.arange(n_rows) < (n_rows + 1) // 2).astype(int) for _ in range(n_folds or 25)]
    elif folds == "kfold":
        splitter = KFold(n_folds or 10, shuffle=True, random_state=int(rng.integers(2**31)))
        draws = []
        for inside, _ in splitter.split(np.empty(n_rows)):
            draws.append(np.zeros(n_rows, dtype=int))
            draws[-1][inside] = 1
    else:
        raise ValueError(f"folds={folds!r} must be 'bootstrap', 'kfold' or 'subsampling'.")
    return [draw for draw in draws if (draw == 0).any()]


def _fold_risks(
    model: Any, X: Any, targets: list[np.ndarray], weights: np.ndarray, draw: np.ndarray, steps: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray], list[str]]:
    """Risk of the rows outside after each number of steps; the learner of each step, by path; their names."""
    inside, outside = np.flatnonzero(draw), np.flatnonzero(draw == 0)
    return risks_and_selections(model, X, targets, (draw * weights)[inside], weights[outside], inside, outside, steps)


def _curve(parts: list[tuple[np.ndarray, list[np.ndarray], list[str]]], steps: np.ndarray, folds: str) -> RiskCurve:
    risks = np.array([risk for risk, _, _ in parts])
    names = parts[0][2]
    best = int(steps[np.argmin(risks.mean(axis=0))])
    counts = np.array(
        [sum(np.bincount(path[:best], minlength=len(names)) for path in paths) for _, paths, _ in parts], dtype=float
    )
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return RiskCurve(steps, risks, best, names, (counts > 0).mean(axis=0), (counts / totals).mean(axis=0), folds)
