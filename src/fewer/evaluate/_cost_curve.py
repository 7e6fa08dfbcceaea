"""What decisions cost, on rows held out, for every ratio of the costs of the two kinds of errors.

For a share pcf of the positives in the cost of always being wrong, errors on positives cost pcf / p(+) and on negatives
(1 - pcf) / p(-). The curve is the mean cost of a row, in folds that hold it out, over that of the better constant
decision, min(pcf, 1 - pcf): below 1, the classifier saves something.

Dmochowski, J., Sajda, P. and Parra, L. (2010). Maximum likelihood in cost-sensitive learning. JMLR 11, 3313-3332.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from fewer._estimators import checked_array, encoded_classes, place_of_class
from fewer._figures import GREY, Result, band, line, new_figure
from fewer.catalogue import method

if TYPE_CHECKING:
    import plotly.graph_objects as go

_PCFS = tuple(np.round(np.arange(0.1, 0.95, 0.1), 1).tolist())


@dataclass(frozen=True, eq=False, repr=False)
class CostCurve(Result):
    """Held-out cost over the ratio of costs; made by :func:`cost_curve`.

    Attributes
    ----------
    pcfs : ndarray of shape (n_pcfs,)
        Shares of the positives in the cost of always being wrong.
    costs : ndarray of shape (n_pcfs, n_samples)
        Cost of the decision on each row, held out, where always being wrong costs 1 on average.
    positive_share : float
        Share of the positive class.
    alphas : ndarray of shape (n_pcfs, n_folds) or None
        Penalties that the inner folds chose.
    """

    pcfs: np.ndarray
    costs: np.ndarray
    positive_share: float
    alphas: np.ndarray | None

    _data = ("pcfs", "normalized_cost", "se", "alphas", "reading")

    @property
    def normalized_cost(self) -> np.ndarray:
        """Mean cost over that of the better constant decision."""
        return self.costs.mean(axis=1) / np.minimum(self.pcfs, 1 - self.pcfs)

    @property
    def se(self) -> np.ndarray:
        """Standard error of the normalised cost over rows."""
        spread = self.costs.std(axis=1) / np.sqrt(self.costs.shape[1])
        return spread / np.minimum(self.pcfs, 1 - self.pcfs)

    @property
    def reading(self) -> str:
        """Where the classifier saves something."""
        saves = self.pcfs[self.normalized_cost + 2 * self.se < 1]
        if not len(saves):
            return "Nowhere does it cost clearly less than the better constant decision."
        best = int(np.argmin(self.normalized_cost))
        return (
            f"It costs clearly less than the better constant decision where positives have {saves.min():.0%} to "
            f"{saves.max():.0%} of the cost; the least, {self.normalized_cost[best]:.0%} of it, at "
            f"{self.pcfs[best]:.0%}."
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{pcf:g}: {cost:.3f}" for pcf, cost in zip(self.pcfs, self.normalized_cost, strict=True))
        return f"CostCurve: {self.costs.shape[1]:,} rows, {self.positive_share:.1%} positive\n  {shown}"

    def plot(self) -> "go.Figure":
        """Normalised cost over the share of the positives in the cost, with two standard errors.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        figure = new_figure(
            title="Cost of decisions on held-out rows",
            x="share of the positives in the cost of always being wrong",
            y="normalised cost",
        )
        cost, error = self.normalized_cost, 2 * self.se
        figure.add_trace(band("two standard errors", self.pcfs, cost - error, cost + error))
        figure.add_trace(line("held-out", self.pcfs, cost))
        figure.add_hline(y=1, line={"color": GREY, "dash": "dot"})
        return figure.update_yaxes(rangemode="tozero")


@method(
    tasks=["evaluation"],
    when="Errors of the two kinds have different costs, or their costs are not known yet: what does a classifier cost "
    "on held-out rows for every ratio, compared with always deciding the same?",
    cost="K fits of the estimator for each ratio, or K in all if only the threshold moves; times "
    "O(alphas x inner folds) with alphas",
    paper="cost-sensitive",
)
def cost_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    pcfs: Sequence[float] = _PCFS,
    cv: Any = 5,
    alphas: Sequence[float] | None = None,
    inner_cv: Any = 3,
    pos_label: Any = None,
) -> CostCurve:
    """Cost of a classifier's decisions on held-out rows, for ratios of costs.

    Parameters
    ----------
    estimator : classifier
        Not fitted. One with a parameter ``cost`` is fitted for each ratio, also as a step of a pipeline or inside of
        another estimator; if its ``predict`` takes ``cost``, or it has only ``predict_proba``, it is fitted once for
        each fold and decides by the ratio.
    X : array-like of shape (n_samples, n_features)
        Table; with missing values if the estimator takes them.
    y : array-like of shape (n_samples,)
        One of two classes for each row.
    pcfs : sequence of float, default=0.1, 0.2, ..., 0.9
        Shares of the positives in the cost of always being wrong.
    cv : int, splitter or iterable, default=5
        Folds, with the classes in proportion.
    alphas : sequence of float or None, default=None
        Penalties to choose from, for each ratio and fold, by the cost on inner folds of the rows held in.
    inner_cv : int, splitter or iterable, default=3
        The inner folds.
    pos_label : object, default=None
        The positive class; the second in sorted order by default.

    Returns
    -------
    curve : CostCurve
        Costs of all rows for each ratio; it plots itself.

    References
    ----------
    .. [1] Dmochowski, J., Sajda, P. & Parra, L. (2010). Maximum likelihood in cost-sensitive learning: model
       specification, approximations, and upper bounds. Journal of Machine Learning Research 11, 3313-3332.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewer.evaluate import cost_curve
    >>> from fewer.learn import WeightedLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = cost_curve(WeightedLogisticRegression(alpha=0.01), X, y, pcfs=[0.2, 0.5, 0.8])
    >>> bool((curve.normalized_cost < 0.2).all())
    True
    """
    X = checked_array(X, "cost_curve", dtype=np.float64, ensure_all_finite="allow-nan")  # a pipeline may impute
    classes, codes = encoded_classes(np.asarray(y), "cost_curve")
    if len(classes) != 2:
        raise ValueError(f"Costs are of two kinds of errors, and y has {len(classes)} classes.")
    # The estimators take the second class in sorted order for positive.
    positive = codes == (1 if pos_label is None else place_of_class(classes, pos_label))
    shares = np.atleast_1d(np.asarray(pcfs, dtype=float))
    if not len(shares) or not ((shares > 0) & (shares < 1)).all():
        raise ValueError(f"pcfs={pcfs!r} must lie between 0 and 1.")
    target = positive.astype(int)
    folds = list(check_cv(cv, target, classifier=True).split(X, target))
    penalty = "" if alphas is None else _parameter(estimator, "alpha")
    if penalty is None:
        raise ValueError(f"{type(estimator).__name__} has no parameter alpha to choose from alphas={alphas!r}.")
    costs, chosen = np.full((len(shares), len(target)), np.nan), np.full((len(shares), len(folds)), np.nan)
    for number, (train, test) in enumerate(folds):
        inner = list(check_cv(inner_cv, target[train], classifier=True).split(X[train], target[train]))
        model = None
        for place, pcf in enumerate(shares):
            candidate = estimator
            if alphas is not None:
                scores = [
                    _inner_cost(estimator, {penalty: float(alpha)}, X[train], target[train], inner, pcf)
                    for alpha in alphas
                ]
                chosen[place, number] = alphas[int(np.argmin(scores))]
                candidate = clone(estimator).set_params(**{penalty: float(chosen[place, number])})
            if model is None or alphas is not None or not _decides_by_cost(estimator):
                model = _fitted(candidate, X[train], target[train], pcf)
            costs[place, test] = _costs(target[test], _decisions(model, X[test], pcf), pcf, float(positive.mean()))
    tested = ~np.isnan(costs[0])
    return CostCurve(shares, costs[:, tested], float(positive.mean()), None if alphas is None else chosen)


class _Fitted(NamedTuple):
    """A model, and the share of positives in the rows that it was fitted to."""

    model: Any
    positive_share: float


def _decides_by_cost(estimator: Any) -> bool:
    """Whether one fit serves all ratios of costs."""
    if "cost" in inspect.signature(estimator.predict).parameters:
        return True
    return _parameter(estimator, "cost") is None


def _parameter(estimator: Any, name: str) -> str | None:
    """A parameter of the estimator, or of the outermost of those inside of it, such as "svm__cost"; None without."""
    inside = [key for key in estimator.get_params() if key.split("__")[-1] == name]
    return min(inside, key=lambda key: key.count("__")) if inside else None


def _fitted(estimator: Any, X: np.ndarray, target: np.ndarray, pcf: float) -> _Fitted:
    model = clone(estimator)
    name = _parameter(model, "cost")
    if name is not None:
        model.set_params(**{name: float(pcf)})
    model.fit(X, target)
    return _Fitted(model, float(target.mean()))


def _decisions(fitted: _Fitted, X: np.ndarray, pcf: float) -> np.ndarray:
    model, positive_share = fitted
    if "cost" in inspect.signature(model.predict).parameters:
        return model.predict(X, cost=float(pcf))
    if _parameter(model, "cost") is not None:
        return model.predict(X)
    # Costs in proportion to pcf / p(+) and (1 - pcf) / p(-), with the shares that the model was fitted with.
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"{type(model).__name__} has neither a parameter cost nor predict_proba.")
    share = model.predict_proba(X)[:, 1]
    return (share * pcf * (1 - positive_share) > (1 - share) * (1 - pcf) * positive_share).astype(int)


def _costs(target: np.ndarray, decisions: np.ndarray, pcf: float, positive_share: float) -> np.ndarray:
    of_class = np.where(target == 1, pcf / positive_share, (1 - pcf) / (1 - positive_share))
    return np.where(target != decisions, of_class, 0.0)


def _inner_cost(
    estimator: Any, penalty: dict[str, float], X: np.ndarray, target: np.ndarray, folds: list[tuple], pcf: float
) -> float:
    model = clone(estimator).set_params(**penalty)
    total = 0.0
    for train, test in folds:
        fitted = _fitted(model, X[train], target[train], pcf)
        total += _costs(target[test], _decisions(fitted, X[test], pcf), pcf, float(target.mean())).sum()
    return total / len(target)
