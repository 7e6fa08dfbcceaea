"""The table of loadings that people publish: columns by factors, with communalities, and what each factor explains."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewer._figures import BLUE, RED, Result, new_figure
from fewer._wording import counted, cut, listed

if TYPE_CHECKING:
    import plotly.graph_objects as go

_NAME_WIDTH = 24
_MANY_COLUMNS = 40


@dataclass(repr=False)
class LoadingsTable(Result):
    """Standardised loadings of columns on factors.

    Attributes
    ----------
    names : list of str
        Columns of the table.
    loadings : ndarray of shape (n_features, n_components)
        Weight of each factor in each column, both with variance 1.
    communalities : ndarray of shape (n_features,)
        Share of each column's variance that the factors explain.
    uniquenesses : ndarray of shape (n_features,)
        The rest: noise of the column's own.
    factor_correlations : ndarray of shape (n_components, n_components)
        Correlations of the factors; the identity unless the rotation is oblique.
    rotation : str or None
        How loadings were rotated.
    chi2, dof, p_value : float
        Test of the hypothesis that so many factors are enough; NaN with missing values, or where it does not exist.
    threshold : float
        Smaller loadings are not printed.
    """

    _data: ClassVar[tuple[str, ...]] = (
        "names",
        "loadings",
        "communalities",
        "uniquenesses",
        "factor_correlations",
        "rotation",
        "chi2",
        "dof",
        "p_value",
    )

    names: list[str]
    loadings: np.ndarray
    communalities: np.ndarray
    uniquenesses: np.ndarray
    factor_correlations: np.ndarray
    rotation: str | None
    chi2: float
    dof: float
    p_value: float
    threshold: float = 0.1

    @property
    def sums_of_squares(self) -> np.ndarray:
        """Variance of the standardised columns that each factor explains, summed over columns."""
        return np.einsum("ik,il,kl->k", self.loadings, self.loadings, self.factor_correlations)

    @property
    def order(self) -> np.ndarray:
        """Columns sorted by the factor that they load on most, and by the size of that loading."""
        best = np.abs(self.loadings).argmax(axis=1)
        return np.lexsort((-np.abs(self.loadings).max(axis=1), best))

    @property
    def reading(self) -> str:
        """What it means, in words."""
        parts = []
        for k in range(self.loadings.shape[1]):
            own = [i for i in self.order if np.abs(self.loadings[i]).argmax() == k and abs(self.loadings[i, k]) >= 0.3]
            if own:
                shown = [("-" if self.loadings[i, k] < 0 else "") + self.names[i] for i in own[:4]]
                parts.append(f"Factor {k + 1}: {listed(shown)}{' and more' if len(own) > 4 else ''}.")
        share = self.sums_of_squares.sum() / len(self.names)
        parts.append(f"The factors explain {share:.0%} of the variance.")
        if np.isfinite(self.p_value):
            verdict = "not enough to explain all correlations" if self.p_value < 0.05 else "enough"
            n_factors = self.loadings.shape[1]
            parts.append(
                f"By the test of fit, {counted(n_factors, 'factor')} {'is' if n_factors == 1 else 'are'} {verdict} "
                f"(chi2 = {self.chi2:.1f}, {self.dof:.0f} degrees of freedom, p = {self.p_value:.2g})."
            )
        return " ".join(parts)

    def __repr__(self) -> str:
        q = self.loadings.shape[1]
        width = min(max([len(name) for name in self.names] + [12]), _NAME_WIDTH)
        factors = [f"{'F' + str(k + 1):>8}" for k in range(q)]
        lines = [
            f"Loadings of {counted(len(self.names), 'column')} on {counted(q, 'factor')}, "
            f"rotation {self.rotation or 'none'}",
            " " * width + "".join(factors) + "  communality  uniqueness",
        ]
        for i in self.order:
            entries = [f"{each:8.2f}" if abs(each) >= self.threshold else " " * 8 for each in self.loadings[i]]
            ends = f"{self.communalities[i]:13.2f}{self.uniquenesses[i]:12.2f}"
            lines.append(f"{cut(self.names[i], width):<{width}}" + "".join(entries) + ends)
        sums = self.sums_of_squares
        shares = sums / len(self.names)
        for title, values in (("sum of sq.", sums), ("share", shares), ("cumulative", np.cumsum(shares))):
            lines.append(f"{title:<{width}}" + "".join(f"{each:8.2f}" for each in values))
        if not np.allclose(self.factor_correlations, np.eye(q)):
            lines.append("correlations of the factors")
            for k, row in enumerate(self.factor_correlations):
                lines.append(f"{'F' + str(k + 1):<{width}}" + "".join(f"{each:8.2f}" for each in row))
        return "\n".join([*lines, self.reading])

    def plot(self) -> "go.Figure":
        """Draw the loadings.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A row for each column of the table, those of one factor side by side; positive loadings blue, negative red.
        """
        import plotly.graph_objects as go

        order = self.order[::-1]
        values = self.loadings[order]
        few = len(order) <= _MANY_COLUMNS
        figure = new_figure(height=max(380, 110 + 22 * len(order)) if few else 600)
        figure.add_trace(
            go.Heatmap(
                z=values,
                x=[f"factor {k + 1}" for k in range(values.shape[1])],
                y=[cut(self.names[i], _NAME_WIDTH) for i in order],
                text=[[f"{each:.2f}" for each in row] for row in values] if few else None,
                texttemplate="%{text}" if few else None,
                zmin=-1,
                zmax=1,
                colorscale=[[0, RED], [0.5, "#f4f4f4"], [1, BLUE]],
                colorbar={"title": {"text": "loading"}, "thickness": 12},
                hovertemplate="%{y}, %{x}: %{z:.3f}<extra></extra>",
            )
        )
        return figure.update_xaxes(side="top")
