"""Cross-indexing: choose the size on some folds, read its score on others.

``x[k, i]`` is the score on fold k of the subset of size i that was found without fold k, for K folds and sizes 1 to D.

- outer:  ``d = argmax_i mean_k x[k, i]``, and the estimate is that maximum itself, which is too high.
- A:      ``d_k = argmax_i mean_{l != k} x[l, i]``, and the estimate is ``mean_k x[k, d_k]``.
- B:      ``d_k = argmax_i x[k, i]``, and the estimate is ``mean_k mean_{l != k} x[l, d_k]``.

A is never above outer. Reunanen (2006).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from fewer._estimators import first_of_best
from fewer._figures import Result
from fewer.catalogue import method as card

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike

Indexing = Literal["A", "B", "outer"]
Reduce = Literal["mean", "median"]
Tie = Literal["smallest", "largest"]


class Indexed(NamedTuple):
    """Column chosen for each fold, the score recorded for it, and the benefit measured on each fold."""

    chosen: np.ndarray
    recorded: np.ndarray
    full: np.ndarray
    benefits: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class CrossIndex(Result):
    """Estimated best size and what it brings; made by :func:`cross_index`.

    Attributes
    ----------
    method : str
        "A", "B" or "outer".
    size : float
        Estimated best size: the mean (or median) of the sizes that the folds chose.
    score : float
        Estimated score at the best size.
    full_score : float
        Score of the full set on the same folds.
    benefit : float
        ``score - full_score``.
    interval : tuple of two floats or None
        Confidence interval of the benefit; None for "outer", whose estimate is biased, and for medians. Without width
        when all folds agree, from which nothing follows for other rows.
    confidence_level : float
        Its confidence level.
    sizes : ndarray of shape (n_sizes,)
        The sizes there were to choose from.
    fold_sizes : ndarray of shape (n_folds,) or (n_repeats, n_folds)
        Size that each fold chose. When they differ much, the size is not well determined.
    fold_scores : ndarray of the same shape
        Score recorded for each of them: for A on the fold itself, for B on the other folds.
    fold_benefits : ndarray of the same shape
        Benefit measured on the rows of each fold; their mean is ``benefit``.
    """

    method: Indexing
    size: float
    score: float
    full_score: float
    benefit: float
    interval: tuple[float, float] | None
    confidence_level: float
    sizes: np.ndarray
    fold_sizes: np.ndarray
    fold_scores: np.ndarray
    fold_benefits: np.ndarray

    @property
    def nearest_size(self) -> Any:
        """The size there is that comes nearest to ``size``; the smaller one of two."""
        order = np.argsort(self.sizes, kind="stable")
        return self.sizes[order][np.argmin(np.abs(self.sizes[order] - self.size))].item()

    @property
    def benefit_in_words(self) -> str:
        """The benefit with its interval, or that the folds do not give one."""
        benefit = f"benefit {self.benefit:+.4f}"
        if self.interval is None:
            return benefit
        low, high = self.interval
        if low == high:
            return f"{benefit} on every fold, so there is no interval"
        return f"{benefit}, {self.confidence_level:.0%} interval {low:+.4f} to {high:+.4f}"

    def __repr__(self) -> str:
        title = {"A": "cross-indexing A", "B": "cross-indexing B", "outer": "largest outer mean (optimistic)"}
        between = np.unique(self.fold_sizes)
        return (
            f"CrossIndex: {title[self.method]}\n"
            f"  best size {self.size:.4g} (chosen by the folds: {between[0]:.4g} to {between[-1]:.4g})\n"
            f"  score {self.score:.4f}; with everything {self.full_score:.4f}\n"
            f"  {self.benefit_in_words}"
        )

    def plot(self) -> "go.Figure":
        """The size that each fold chose, and the benefit that was measured on the fold.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        import plotly.graph_objects as go

        from fewer import _figures

        figure = _figures.new_figure(title=f"Benefit by cross-indexing {self.method}", x="size chosen", y="benefit")
        ends = [self.sizes.min(), self.sizes.max()]
        if self.interval is not None:
            low, high = self.interval
            figure.add_trace(_figures.band(f"{self.confidence_level:.0%} interval", ends, [low, low], [high, high]))
        figure.add_trace(_figures.line("benefit", ends, [self.benefit] * 2))
        figure.add_trace(_figures.line("no benefit", ends, [0, 0], _figures.GREY, line_dash="dot"))
        figure.add_trace(
            go.Scatter(
                x=self.fold_sizes.ravel(),
                y=self.fold_benefits.ravel(),
                mode="markers",
                name="folds",
                marker={"color": _figures.RED, "size": 8, "opacity": 0.6},
            )
        )
        return figure


@card(
    tasks=["evaluation"],
    when="You have scores for many subset sizes (or penalties, or thresholds) on outer folds, and want to know the "
    "best size and what it gains without the optimism of taking the largest.",
    cost="O(R K D) for R repeats, K folds and D sizes; no model is fitted",
    paper="less-biased",
)
def cross_index(
    scores: "ArrayLike",
    method: Indexing = "A",
    *,
    reduce: Reduce = "mean",
    tie: Tie = "smallest",
    sizes: "ArrayLike | None" = None,
    full: int = -1,
    choose_full: bool = True,
    confidence_level: float = 0.95,
    test_ratio: float | None = None,
) -> CrossIndex:
    """Best size, its score and its benefit, without the optimism of the maximum.

    Parameters
    ----------
    scores : array-like of shape (n_folds, n_sizes) or (n_repeats, n_folds, n_sizes)
        Score on each held-out fold of the model of each size that was found without that fold; higher is better.
    method : {"A", "B", "outer"}, default="A"
        Cross-indexing A or B; "outer" takes the largest mean at its word, for comparison.
    reduce : {"mean", "median"}, default="mean"
        How folds are summarised.
    tie : {"smallest", "largest"}, default="smallest"
        Which size wins when scores are equal, to ten digits.
    sizes : array-like of shape (n_sizes,), default=None
        What the columns of ``scores`` stand for: 1, 2, ... by default. Any numbers will do, penalties too.
    full : int, default=-1
        Column of the model to compare with: the last by default, with all features.
    choose_full : bool, default=True
        Whether that model may be chosen itself. False where it is no size of the method: the columns of a table as they
        are, beside numbers of new columns that were made of them.
    confidence_level : float, default=0.95
        Confidence level of the interval of the benefit.
    test_ratio : float, default=None
        Rows in a fold over rows trained on, for the interval; ``1 / (n_folds - 1)`` by default.

    Returns
    -------
    estimate : CrossIndex
        Size, score, benefit, its interval, and what each fold chose. It plots itself.

    See Also
    --------
    selection_curve : Makes the scores.

    Notes
    -----
    The interval is the corrected resampled t interval [2]_ of the benefits ``b`` measured on the ``m`` folds of all
    repeats: ``mean(b) +- t[n_folds - 1] * sd(b) * sqrt(1 / m + test_ratio)``. The second term under the root makes up
    for training sets that overlap; without it the interval would be far too short, and more repeats would shrink it to
    nothing. For the same reason Student's t has the degrees of freedom of one repeat: more of them deal the same rows
    again. It covers the chance of the rows that were drawn and of the folds; it holds for models trained on
    ``1 - 1 / n_folds`` of the rows. For B, what was measured on a fold is averaged over the sizes that the other folds
    chose, because the recorded scores themselves share most of their folds.

    A's estimates vary more than B's. B chooses each size on one fold, so with small folds it prefers small sizes, and
    can be too low.

    Neither is wholly free of bias: the other folds, which choose the size, were scored by models that have learnt from
    this one. On pure noise of 60 rows and 1,000 columns, naive Bayes with 5 folds is left with about 3 points of
    benefit by A and 2 by B, where the largest mean claims 9; more folds make it more (5 and 3 points with 10). The
    interval covers zero there all the same: at 95% in 92% to 99% of 200 tables, with 5 or 10 folds, once or repeated.
    To be quite sure, put the whole procedure into one more loop: ``cross_val_score(NestedSelectionCV(...), X, y)``.

    References
    ----------
    .. [1] Reunanen, J. (2006). Less biased measurement of feature selection benefits. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 198-208.
    .. [2] Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.

    Examples
    --------
    >>> from fewer.evaluate import cross_index
    >>> scores = [[0.90, 0.60, 0.70], [0.52, 0.80, 0.71], [0.60, 0.71, 0.81]]
    >>> cross_index(scores, "outer").score.__round__(3)
    0.74
    >>> cross_index(scores, "A")
    CrossIndex: cross-indexing A
      best size 2.333 (chosen by the folds: 1 to 3)
      score 0.6700; with everything 0.7400
      benefit -0.0700, 95% interval -0.5462 to +0.4062
    """
    _check_choice("method", method, get_args(Indexing))
    _check_choice("reduce", reduce, get_args(Reduce))
    _check_choice("tie", tie, get_args(Tie))
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level={confidence_level} must be between 0 and 1, 0.95 for example.")
    table, flat = checked_scores(scores)
    _, n_folds, n_sizes = table.shape
    candidates = _checked_sizes(sizes, n_sizes)
    if not -n_sizes <= full < n_sizes:
        raise ValueError(f"full={full} is no column of scores, which has {n_sizes}.")
    if n_sizes == 1 and not choose_full:
        raise ValueError("there is nothing to choose: scores have one column, and choose_full=False leaves it out.")
    found = indexed(table, candidates, method=method, reduce=reduce, tie=tie, full=full, choose_full=choose_full)
    summary = np.mean if reduce == "mean" else np.median
    # With repeats, each is an estimate of its own, and the estimate is their mean.
    size = float(np.mean(summary(candidates[found.chosen], axis=1)))
    score = float(np.mean(summary(found.recorded, axis=1)))
    full_score = float(np.mean(summary(found.full, axis=1)))
    interval = None
    if method != "outer" and reduce == "mean":
        interval = corrected_interval(found.benefits, confidence_level, test_ratio or 1 / (n_folds - 1))
    shown = (lambda values: values[0]) if flat else (lambda values: values)
    return CrossIndex(
        method=method,
        size=size,
        score=score,
        full_score=full_score,
        benefit=score - full_score,
        interval=interval,
        confidence_level=confidence_level,
        sizes=candidates,
        fold_sizes=shown(candidates[found.chosen]),
        fold_scores=shown(found.recorded),
        fold_benefits=shown(found.benefits),
    )


def indexed(
    scores: np.ndarray,
    sizes: np.ndarray,
    *,
    method: Indexing,
    reduce: Reduce,
    tie: Tie,
    full: int,
    choose_full: bool = True,
) -> Indexed:
    """Cross-indexing of each repeat by itself; ``scores`` are (repeats, folds, sizes)."""
    summary = np.mean if reduce == "mean" else np.median
    order = np.argsort(sizes if tie == "smallest" else -sizes, kind="stable")
    if not choose_full:
        order = order[order != full % len(sizes)]
    n_folds = scores.shape[1]
    others = ~np.eye(n_folds, dtype=bool)
    if method == "outer":
        best = _best_columns(summary(scores, axis=1), order)
        chosen = np.repeat(best[:, None], n_folds, axis=1)
    elif method == "A":
        elsewhere = np.stack([summary(scores[:, others[fold]], axis=1) for fold in range(n_folds)], axis=1)
        chosen = _best_columns(elsewhere, order)
    else:
        chosen = _best_columns(scores, order)
    # scored[r, l, k]: score on fold l at the size that belongs to fold k
    scored = np.take_along_axis(scores, np.repeat(chosen[:, None, :], n_folds, axis=1), axis=2)
    own = np.diagonal(scored, axis1=1, axis2=2)
    everything = scores[:, :, full]
    if method != "B":
        return Indexed(chosen, own, everything, own - everything)
    recorded = np.stack([summary(scored[:, others[fold], fold], axis=1) for fold in range(n_folds)], axis=1)
    full_elsewhere = np.stack([summary(everything[:, others[fold]], axis=1) for fold in range(n_folds)], axis=1)
    on_fold = (scored.sum(axis=2) - own) / (n_folds - 1)
    return Indexed(chosen, recorded, full_elsewhere, on_fold - everything)


def corrected_interval(benefits: np.ndarray, confidence_level: float, test_ratio: float) -> tuple[float, float]:
    """Interval of the mean benefit over folds whose training sets overlap (Nadeau and Bengio).

    Parameters
    ----------
    benefits : ndarray of shape (n_folds,) or (n_repeats, n_folds)
        Benefit measured on each fold.
    confidence_level : float
        Confidence level of the interval.
    test_ratio : float
        Rows in a fold over rows trained on.

    Returns
    -------
    low, high : float
        The interval; of no width when the benefits are all equal: their variance cannot be estimated then.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import corrected_interval
    >>> low, high = corrected_interval(np.array([0.01, 0.03, 0.02, 0.05, 0.04]), 0.95, 1 / 4)
    >>> round(low, 4), round(high, 4)
    (0.0006, 0.0594)
    """
    from scipy.special import stdtrit

    error = benefits.std(ddof=1) * np.sqrt(1 / benefits.size + test_ratio)
    # Repeats deal the same rows again: they steady the mean, but do not show how other rows would vary.
    reach = float(stdtrit(benefits.shape[-1] - 1, (1 + confidence_level) / 2) * error)
    middle = float(benefits.mean())
    return middle - reach, middle + reach


def checked_scores(scores: "ArrayLike") -> tuple[np.ndarray, bool]:
    """Scores as repeats x folds x sizes, and whether there was one repeat without an axis of its own."""
    table = np.asarray(scores, dtype=float)
    if table.ndim not in (2, 3) or 0 in table.shape:
        raise ValueError(
            f"scores of shape {table.shape} are neither folds x sizes nor repeats x folds x sizes; each needs a length."
        )
    flat = table.ndim == 2
    table = table[None] if flat else table
    if table.shape[1] < 2:
        raise ValueError("cross-indexing needs two folds or more: one to choose the size on, another to score it.")
    if not np.isfinite(table).all():
        repeat, fold, column = np.argwhere(~np.isfinite(table))[0]
        where = f"fold {fold}, column {column}" if flat else f"repeat {repeat}, fold {fold}, column {column}"
        raise ValueError(f"scores hold {table[repeat, fold, column]} ({where}); leave that size out, or fit it again.")
    return table, flat


def _checked_sizes(sizes: "ArrayLike | None", n_sizes: int) -> np.ndarray:
    if sizes is None:
        return np.arange(1, n_sizes + 1)
    candidates = np.asarray(sizes)
    if candidates.shape != (n_sizes,) or candidates.dtype.kind not in "iuf":
        raise ValueError(f"sizes must be {n_sizes} numbers, one for each column of scores.")
    return candidates


def _best_columns(means: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Of the columns in this order, the one with the largest value along the last axis; of equal values, the first."""
    return order[first_of_best(means[..., order])]


def _check_choice(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ValueError(f"{name}={given!r} is not known; choose one of {', '.join(map(repr, known))}.")
