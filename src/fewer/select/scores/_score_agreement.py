"""Whether scores agree on which columns are good: rank correlations between them.

Scores that look for different things order columns differently; where they disagree, a look at the columns pays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from fewer._figures import Result
from fewer.select._target import holds_numbers
from fewer.select.scores import named_score, score_card, single_column_score

if TYPE_CHECKING:
    import plotly.graph_objects as go


USUAL_SCORES = {
    "classification": ("fisher", "kolmogorov_smirnov", "mutual_information", "relieff"),
    "regression": ("pearson", "spearman", "mutual_information", "relieff"),
    "unsupervised": ("variance", "laplacian"),
}


@dataclass(frozen=True, eq=False, repr=False)
class ScoreAgreement(Result):
    """Rank correlations between scores of columns; made by :func:`score_agreement`.

    Attributes
    ----------
    names : tuple of str
        Names of the scores.
    correlations : ndarray of shape (n_scores, n_scores)
        Rank correlations between them over the columns; NaN for a score that is the same for all columns.
    values : ndarray of shape (n_scores, n_features)
        The scores themselves; the best over the classes where there is one for each.
    """

    names: tuple[str, ...]
    correlations: np.ndarray
    values: np.ndarray

    @property
    def reading(self) -> str:
        """What the correlations say, in plain words."""
        first, second = np.triu_indices(len(self.names), 1)
        apart = self.correlations[first, second]
        if not np.isfinite(apart).any():
            return "No two scores can be compared: they are the same for all columns."
        least, most = np.nanargmin(apart), np.nanargmax(apart)
        least_pair, most_pair = (f"{self.names[first[at]]} and {self.names[second[at]]}" for at in (least, most))
        if len(apart) == 1:
            return f"{least_pair} have a rank correlation of {apart[0]:.2f}."
        return f"Most similar: {most_pair} ({apart[most]:.2f}). Least similar: {least_pair} ({apart[least]:.2f})."

    def __repr__(self) -> str:
        wide = max(len(name) for name in self.names)
        lines = [f"Rank correlations of {len(self.names)} scores over {self.values.shape[1]:,} columns"]
        for at, name in enumerate(self.names):
            entries = " ".join(f"{value:5.2f}" for value in self.correlations[at, : at + 1])
            lines.append(f"  {at + 1:2d} {name:<{wide}} {entries}")
        lines.append("  " + " " * (wide + 4) + " ".join(f"{at + 1:5d}" for at in range(len(self.names))))
        return "\n".join([*lines, self.reading])

    def plot(self) -> "go.Figure":
        """A heat map of the correlations.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Shows itself in a notebook.
        """
        import plotly.graph_objects as go

        from fewer import _figures

        figure = _figures.new_figure(title="Do the scores agree?", height=160 + 44 * len(self.names))
        figure.add_trace(
            go.Heatmap(
                x=self.names,
                y=self.names,
                z=self.correlations,
                zmin=-1,
                zmax=1,
                colorscale=[[0, _figures.RED], [0.5, "#f4f4f4"], [1, _figures.BLUE]],
                text=np.vectorize(lambda value: "" if np.isnan(value) else f"{value:.2f}")(self.correlations),
                texttemplate="%{text}",
                textfont={"color": "#222222"},
                hovertemplate="%{y} and %{x}: %{z:.2f}<extra></extra>",
                colorbar={"title": "rank<br>correlation"},
            )
        )
        figure.update_yaxes(autorange="reversed", showgrid=False)
        return figure


def score_agreement(
    X: Any, y: Any = None, scores: Sequence[Any] | None = None, *, random_state: Any = None
) -> ScoreAgreement:
    """Rank correlations between scores of the columns of a table.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,), default=None
        Target, if the scores need one.
    scores : sequence of str, callables and estimators, or None, default=None
        Names of scores, functions ``(X, y) -> scores``, or estimators, which are cross-validated on one column at a
        time. By default a few that differ in what they look for.
    random_state : int, RandomState instance or None, default=None
        For random scores.

    Returns
    -------
    agreement : ScoreAgreement
        ``correlations`` and ``values``; prints as a table, and ``plot()`` draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewer.select import score_agreement
    >>> X, y = load_iris(return_X_y=True)
    >>> score_agreement(X, y, ["fisher", "kolmogorov_smirnov", "mutual_information"])
    Rank correlations of 3 scores over 4 columns
       1 fisher              1.00
       2 kolmogorov_smirnov  0.95  1.00
       3 mutual_information  0.80  0.95  1.00
                                1     2     3
    Most similar: fisher and kolmogorov_smirnov (0.95). Least similar: fisher and mutual_information (0.80).
    """
    if isinstance(scores, str):
        raise ValueError(f"Give two scores or more to compare, in a list; got {scores!r} only.")
    chosen = usual_scores(y) if scores is None else list(scores)
    if len(chosen) < 2:
        raise ValueError(f"Give two scores or more to compare, got {len(chosen)}.")
    values = np.stack([best_over_classes(score_function(score, random_state)(X, y)) for score in chosen])
    return ScoreAgreement(tuple(score_name(score) for score in chosen), rank_correlations(values), values)


def usual_scores(y: Any) -> list[str]:
    """Some scores that suit the target and look for different things."""
    if y is None:
        return list(USUAL_SCORES["unsupervised"])
    return list(USUAL_SCORES["regression" if holds_numbers(np.asarray(y)) else "classification"])


def score_function(score: Any, random_state: Any = None) -> Callable[..., Any]:
    """A function ``(X, y) -> scores`` for a name, a function or an estimator."""
    if hasattr(score, "fit"):
        return partial(single_column_score, estimator=score, random_state=random_state)
    function = named_score(score) if isinstance(score, str) else score
    card = score_card(function)
    given = function.keywords if isinstance(function, partial) else {}
    if card is not None and card.random and "random_state" not in given:
        return partial(function, random_state=random_state)
    return function


def score_name(score: Any) -> str:
    """What a name, a function or an estimator is called."""
    if isinstance(score, str):
        return score
    if hasattr(score, "fit"):
        return type(score).__name__
    card = score_card(score)
    if card is not None:
        return card.name
    return getattr(score, "__name__", type(score).__name__)


def best_over_classes(given: Any) -> np.ndarray:
    """One number for each column: without p-values, and the best where there is a row for each class."""
    scores = np.asarray(given[0] if isinstance(given, tuple) else given, dtype=float)
    return scores if scores.ndim < 2 else scores.max(axis=0)


def rank_correlations(values: np.ndarray) -> np.ndarray:
    """Correlations between the midranks of the rows; NaN for a row of equals."""
    ranks = rankdata(values, axis=1) - (values.shape[1] + 1) / 2
    norms = np.linalg.norm(ranks, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.clip(ranks @ ranks.T / np.outer(norms, norms), -1, 1)
    np.fill_diagonal(found, np.where(norms > 0, 1.0, np.nan))
    return found
