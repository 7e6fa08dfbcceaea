"""What aspects show: their words, their purest rows, the class that each ranks best, and how many are in use."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fewer._figures import Result
from fewer._wording import listed
from fewer.catalogue import method
from fewer.latent._components import TopFeatures, plot_rows, top_features
from fewer.latent.aspects._aspect_base import TopicPrecision

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TOP_ROWS = 10


@dataclass(repr=False)
class AspectReport(Result):
    """What the aspects of a model show on a table.

    Attributes
    ----------
    features : TopFeatures
        The features that stand for each aspect.
    top_rows : ndarray of int of shape (n_components, 10)
        Rows with the largest share of each aspect.
    shares : ndarray of shape (n_samples, n_components)
        Share of each aspect in each row.
    effective_number : float
        ``exp`` of the entropy of the mean shares: as many equally frequent aspects would be as many.
    dominated : float
        Share of the rows of which one aspect has more than half.
    precision : TopicPrecision or None
        How purely aspects rank the classes, where there are any.
    """

    _data: ClassVar[tuple[str, ...]] = ("features", "top_rows", "effective_number", "dominated", "precision")

    features: TopFeatures
    top_rows: np.ndarray
    shares: np.ndarray
    effective_number: float
    dominated: float
    precision: TopicPrecision | None

    def __repr__(self) -> str:
        lines = [
            f"{len(self.top_rows)} aspects, {self.effective_number:.1f} in effect; one aspect has more than half of "
            f"{self.dominated:.0%} of the rows"
        ]
        for number, (names, weight) in enumerate(zip(self.features.names, self.features.weights, strict=True)):
            line = f"  {number}  {weight:5.1%}  {listed(names, len(names))}"
            if self.precision is not None:
                best = self.precision.best_class[number]
                at = self.precision.precision[number, self.top_rows.shape[1] - 1]
                line += f" | {self.precision.classes[best]}: {at:.0%} of the first {self.top_rows.shape[1]} rows"
            lines.append(line)
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Draw the top features of the aspects.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A panel for each aspect.
        """
        return self.features.plot()

    def plot_rows(self, row_names: Sequence[str] | None = None, y: Any = None) -> "go.Figure":
        """Draw rows by aspects: those that one aspect dominates, and mixtures.

        Parameters
        ----------
        row_names : sequence of str, default=None
            Names of the rows, on hovering.
        y : array-like of shape (n_samples,), default=None
            Classes, by which rows are sorted first.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Each row a bar.
        """
        return plot_rows(_Known(), self.shares, row_names=row_names, y=y)


class _Known:
    """Shares that are known already."""

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X


@method(
    tasks=["evaluation"],
    when="Aspects or topics were found and are to be read: words, purest rows, and the classes that they rank.",
    cost="O(nnz k + n k log n)",
    handles=("sparse",),
)
def aspect_report(model: Any, X: Any, y: Any = None, *, n_features: int = 8) -> AspectReport:
    """What the aspects of a fitted model show on a table.

    Parameters
    ----------
    model : fitted PLSA or AspectModel
        The model.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or iterable of str
        Rows, of the fit or new ones.
    y : array-like of shape (n_samples,), default=None
        Classes, which the fit has not seen.
    n_features : int, default=8
        Features to name for each aspect.

    Returns
    -------
    report : AspectReport
        It prints itself; ``plot()`` draws the features, ``plot_rows()`` the rows, and ``precision.plot()`` the classes.

    Examples
    --------
    >>> from fewer.latent import PLSA, aspect_report
    >>> texts = ["rain wind rain", "wind rain", "bread jam", "jam bread jam", "rain wind wind rain"]
    >>> model = PLSA(2, early_stopping=False, random_state=0).fit(texts)
    >>> aspect_report(model, texts, ["weather", "weather", "food", "food", "weather"], n_features=2)
    2 aspects, 2.0 in effect; one aspect has more than half of 100% of the rows
      0  64.3%  rain, wind | weather: 60% of the first 5 rows
      1  35.7%  jam, bread | food: 40% of the first 5 rows
    """
    shares = np.asarray(model.transform(X), dtype=np.float64)
    mean = shares.mean(axis=0)
    positive = mean[mean > 0]
    n_top = min(_TOP_ROWS, len(shares))
    return AspectReport(
        features=top_features(model, n_features=n_features),
        top_rows=np.argsort(-shares, axis=0, kind="stable")[:n_top].T,
        shares=shares,
        effective_number=float(np.exp(-np.sum(positive * np.log(positive)))),
        dominated=float(np.mean(shares.max(axis=1) > 0.5)),
        precision=None if y is None else model.topic_precision_recall(y, X),
    )
