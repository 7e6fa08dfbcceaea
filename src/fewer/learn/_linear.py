"""What linear models of several families share: row weights, one class against the rest, and the choice along a path.

With more than two classes there is one model for each class against the rest; their probabilities are made to sum to
one. Along a path of penalties, scores of folds choose the best point, or the strongest penalty within one standard
error of it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if

from fewer._estimators import check_sample_weight


def row_weights(X: Any, y: Any, sample_weight: Any, class_weight: Any = None) -> np.ndarray | None:
    """Weights of the rows, by their own and by their classes; None if all weigh the same."""
    if sample_weight is None and class_weight is None:
        return None
    weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is None:
        return weights
    labels, codes = np.unique(y, return_inverse=True)
    return weights * compute_class_weight(class_weight, classes=labels, y=y)[codes]


class Standardised(NamedTuple):
    """Columns of mean 0 and standard deviation 1, and what they were before; constant columns have the latter at 1."""

    table: np.ndarray
    mean: np.ndarray
    spread: np.ndarray


def standardised(X: np.ndarray, weights: np.ndarray) -> Standardised:
    """Columns by the weighted mean and standard deviation of rows whose weights sum to 1."""
    mean = weights @ X
    table = X - mean
    spread = np.sqrt(np.einsum("i,ij,ij->j", weights, table, table))
    # What rounding leaves of a constant column is not a column of its own.
    spread = np.where(spread > 1e-13 * np.abs(X).max(axis=0, initial=0), spread, 1.0)
    table /= spread
    return Standardised(table, mean, spread)


def one_vs_rest_targets(y: np.ndarray, classes: np.ndarray) -> list[np.ndarray]:
    """+1 for a class and -1 for the rest, for each class; only for the second if there are two."""
    return [np.where(y == label, 1.0, -1.0) for label in (classes[1:] if len(classes) == 2 else classes)]


class OneVsRestProbabilities:
    """Probabilities of classifiers with the log loss, from one decision for each class against the rest."""

    decision_function: Callable[..., np.ndarray]

    @available_if(lambda self: self.loss == "log")
    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            With more than two classes, those of each against the rest, made to sum to one.
        """
        scores = expit(self.decision_function(X))
        if scores.ndim == 1:
            return np.column_stack([1 - scores, scores])
        return scores / np.maximum(scores.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def chosen_point(scores: np.ndarray, rule: str) -> tuple[int, int]:
    """The point to take and the best point, from scores of folds (rows) at penalties that get weaker to the right.

    "one_se" takes the first point whose mean is within one standard error of the best mean.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.5, 0.70, 0.74], [0.5, 0.80, 0.80], [0.5, 0.60, 0.62]])
    >>> chosen_point(scores, "one_se"), chosen_point(scores, "best")
    ((1, 2), (2, 2))
    """
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    if rule == "best" or len(scores) < 2:
        return best, best
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return int(np.argmax(means >= means[best] - error)), best


def choice_figure(
    penalties: np.ndarray, scores: np.ndarray, chosen: float, best: float, axis: str, title: str = ""
) -> Any:
    """Mean score of the folds with its standard error against the penalty, and what was chosen."""
    from fewer._figures import BLUE, GREEN, GREY, line, new_figure, translucent

    means = scores.mean(axis=0)
    figure = new_figure(x=axis, y="score on held-out rows", title=title)
    if len(scores) > 1:
        errors = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
        figure.add_scatter(
            x=np.r_[penalties, penalties[::-1]], y=np.r_[means + errors, (means - errors)[::-1]], fill="toself",
            fillcolor=translucent(BLUE), line={"width": 0}, name="one standard error", hoverinfo="skip",
        )  # fmt: skip
    figure.add_trace(line("mean of the folds", penalties, means, BLUE))
    figure.update_xaxes(type="log")
    marks = {best: ("best", {"color": GREY, "dash": "dot"}, "left"), chosen: ("chosen", {"color": GREEN}, "right")}
    for place, (word, style, side) in marks.items():
        figure.add_vline(x=place, line=style)
        # On a logarithmic axis a text stands at the logarithm of its place.
        figure.add_annotation(
            x=np.log10(place), y=1, yref="paper", text=word, showarrow=False, xanchor=side, yanchor="bottom"
        )
    return figure
