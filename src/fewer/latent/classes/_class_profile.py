"""The table of latent classes that is published: sizes, item probabilities, standard errors; and its figure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fewer._figures import PALETTE, Result, new_figure
from fewer._wording import counted, cut, listed, percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

_CLEAR = 0.8
_WIDEST = 28


@dataclass(repr=False)
class ClassProfile(Result):
    """Sizes of latent classes, and how each answers the items.

    Attributes
    ----------
    items : list of str
        Names of the items.
    categories : list of list
        Answers of each item.
    sizes : ndarray of shape (n_components,)
        Share of each class.
    size_errors : ndarray of shape (n_components,)
        Their standard errors.
    probabilities : list of ndarray of shape (n_components, n_categories)
        For each item, probabilities of the answers in each class.
    errors : list of ndarray of shape (n_components, n_categories)
        Their standard errors; NaN for probabilities of 0 or 1.
    item_information : ndarray of shape (n_items,)
        Share of the entropy of the class that an item alone explains: 1 determines the class.
    entropy : float
        Relative entropy of the posteriors: 1 where every row belongs to one class.
    classification_table : ndarray of shape (n_components, n_components)
        Expected number of rows of each class (rows) among those assigned to each class (columns).
    log_likelihood : float
        Of the training rows.
    n_parameters : int
        Free parameters.
    n_rows : float
        Rows, by weight.
    starts : tuple of int
        How many starts reached the best optimum, and how many there were.
    error_type : str
        Where standard errors come from: "information", "draws" or "variational".
    """

    _data: ClassVar[tuple[str, ...]] = (
        "items",
        "categories",
        "sizes",
        "size_errors",
        "probabilities",
        "errors",
        "item_information",
        "entropy",
        "classification_table",
        "log_likelihood",
        "bic",
        "aic",
        "n_parameters",
        "n_rows",
        "starts",
        "error_type",
    )

    items: list[str]
    categories: list[list[Any]]
    sizes: np.ndarray
    size_errors: np.ndarray
    probabilities: list[np.ndarray]
    errors: list[np.ndarray]
    item_information: np.ndarray
    entropy: float
    classification_table: np.ndarray
    log_likelihood: float
    n_parameters: int
    n_rows: float
    starts: tuple[int, int]
    error_type: str

    @property
    def bic(self) -> float:
        """``-2 log L + n_parameters log n``: less is better."""
        return float(-2 * self.log_likelihood + self.n_parameters * np.log(self.n_rows))

    @property
    def aic(self) -> float:
        """``-2 log L + 2 n_parameters``: less is better."""
        return float(-2 * self.log_likelihood + 2 * self.n_parameters)

    @property
    def separating_items(self) -> list[str]:
        """Names of the items, those that tell the classes apart best first."""
        return [self.items[place] for place in np.argsort(-self.item_information, kind="stable")]

    @property
    def reading(self) -> str:
        """What it means, in words."""
        if len(self.sizes) == 1:
            return "There is one class: the probabilities are the shares of the answers in the table."
        best = self.separating_items[:3]
        said = [f"The classes differ most in {listed(best, 3)}."]
        belong = "belong clearly" if self.entropy >= _CLEAR else "do not belong clearly"
        said.append(f"Rows {belong} to one class (relative entropy {self.entropy:.2f}).")
        reached, n_starts = self.starts
        if self.error_type == "information":
            said.append(f"{reached} of {counted(n_starts, 'start')} reached the best optimum.")
            if reached == 1 < n_starts:
                said.append("Raise n_init: there may be a better one.")
            if np.isnan(self.size_errors).all():
                said.append("There are no standard errors: the information matrix is singular or too large.")
        elif self.error_type == "variational":
            said.append("Standard deviations of variational Bayes are too small; those of solver='gibbs' are not.")
        return " ".join(said)

    def _lines(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Label, probabilities and standard errors of each line; of two answers the second is enough."""
        found = []
        for name, answers, shares, errors in zip(
            self.items, self.categories, self.probabilities, self.errors, strict=True
        ):
            for place in range(1 if len(answers) == 2 else 0, len(answers)):
                found.append((f"{name} = {_written(answers[place])}", shares[:, place], errors[:, place]))
        return found

    def __repr__(self) -> str:
        lines = [f"{counted(len(self.sizes), 'latent class', 'latent classes')} of {self.n_rows:,.10g} rows"]
        rows = [("size", self.sizes, self.size_errors), *self._lines()]
        width = min(max(len(label) for label, _, _ in rows), _WIDEST)
        lines.append(" " * width + "".join(f"{f'class {k}':>14}" for k in range(len(self.sizes))))
        for label, shares, errors in rows:
            cells = [
                f"{share:.2f}" + ("       " if np.isnan(error) else f" ({error:.2f})")
                for share, error in zip(shares, errors, strict=True)
            ]
            lines.append(f"{cut(label, width):<{width}}" + "".join(f"{cell:>14}" for cell in cells).rstrip())
        figures = f"log-likelihood {self.log_likelihood:.2f}, {counted(self.n_parameters, 'parameter')}"
        lines.append(f"{figures}, BIC {self.bic:.2f}, AIC {self.aic:.2f}")
        return "\n".join([*lines, self.reading])

    def plot(self) -> "go.Figure":
        """Draw the profiles: a line for each class if all items have two answers, and a table of shades otherwise.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Error bars are twice the standard errors.
        """
        if all(len(each) <= 2 for each in self.categories):
            return self._profile_lines()
        return self._shades()

    def _names(self) -> list[str]:
        return [f"class {k} ({percent(round(float(size), 3))})" for k, size in enumerate(self.sizes)]

    def _profile_lines(self) -> "go.Figure":
        import plotly.graph_objects as go

        lines = [each for each in self._lines() if not np.isnan(each[1]).any()]
        figure = new_figure(y="probability", height=420)
        for k, name in enumerate(self._names()):
            errors = np.array([np.nan_to_num(error[k]) for _, _, error in lines])
            shares = np.array([share[k] for _, share, _ in lines])
            above, below = np.minimum(2 * errors, 1 - shares), np.minimum(2 * errors, shares)
            figure.add_trace(
                go.Scatter(
                    x=[cut(label, 30) for label, _, _ in lines],
                    y=shares,
                    error_y={"array": above, "arrayminus": below, "symmetric": False, "thickness": 1},
                    mode="lines+markers",
                    name=name,
                    line={"color": PALETTE[k % len(PALETTE)]},
                )
            )
        figure.update_layout(legend={"y": 1.02, "yanchor": "bottom"}, margin={"t": 40})
        return figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%")

    def _shades(self) -> "go.Figure":
        import plotly.graph_objects as go

        lines = self._lines()
        shares = np.array([share for _, share, _ in lines])
        figure = new_figure(height=110 + 22 * len(lines))
        figure.add_trace(
            go.Heatmap(
                z=shares,
                x=self._names(),
                y=[cut(label, 40) for label, _, _ in lines],
                text=[[f"{value:.2f}" for value in row] for row in shares],
                texttemplate="%{text}",
                colorscale=[[0, "rgba(47, 127, 181, 0)"], [1, PALETTE[0]]],
                zmin=0,
                zmax=1,
                showscale=False,
                ygap=1,
                hovertemplate="%{y}, %{x}: %{z:.3f}<extra></extra>",
            )
        )
        figure.update_layout(margin={"b": 20, "t": 40})
        figure.update_xaxes(side="top", ticks="", showline=False)
        return figure.update_yaxes(autorange="reversed", ticks="", showline=False, showgrid=False)


def _written(answer: Any) -> str:
    """A category as people write it: 1 rather than 1.0."""
    if isinstance(answer, float) and answer.is_integer():
        return str(int(answer))
    return str(answer)


@dataclass(repr=False)
class ProfileTable(Result):
    """Sizes of latent profiles, and the means of the columns in each.

    Attributes
    ----------
    columns : list of str
        Names of the columns.
    sizes : ndarray of shape (n_components,)
        Share of each profile.
    size_errors : ndarray of shape (n_components,)
        Their standard errors.
    means : ndarray of shape (n_components, n_features)
        Means of the columns.
    mean_errors : ndarray of shape (n_components, n_features)
        Their standard errors.
    deviations : ndarray of shape (n_components, n_features)
        Standard deviations within profiles.
    standardized : ndarray of shape (n_components, n_features)
        Means in standard deviations of the column, from its mean.
    entropy : float
        Relative entropy of the posteriors: 1 where every row belongs to one profile.
    log_likelihood : float
        Of the training rows.
    n_parameters : int
        Free parameters.
    n_rows : float
        Rows, by weight.
    starts : tuple of int
        How many starts reached the best optimum, and how many there were.
    """

    _data: ClassVar[tuple[str, ...]] = ()

    columns: list[str]
    sizes: np.ndarray
    size_errors: np.ndarray
    means: np.ndarray
    mean_errors: np.ndarray
    deviations: np.ndarray
    standardized: np.ndarray
    entropy: float
    log_likelihood: float
    n_parameters: int
    n_rows: float
    starts: tuple[int, int]

    @property
    def bic(self) -> float:
        """``-2 log L + n_parameters log n``: less is better."""
        return float(-2 * self.log_likelihood + self.n_parameters * np.log(self.n_rows))

    @property
    def separating_columns(self) -> list[str]:
        """Names of the columns, those that tell the profiles apart best first."""
        apart = self.sizes @ (self.standardized - self.sizes @ self.standardized) ** 2
        return [self.columns[place] for place in np.argsort(-apart, kind="stable")]

    @property
    def reading(self) -> str:
        """What it means, in words."""
        if len(self.sizes) == 1:
            return "There is one profile: the means are those of the table."
        reached, n_starts = self.starts
        return (
            f"The profiles differ most in {listed(self.separating_columns[:3], 3)}. Relative entropy "
            f"{self.entropy:.2f}: 1 means that every row belongs to one profile. {reached} of "
            f"{counted(n_starts, 'start')} reached the best optimum."
        )

    def __repr__(self) -> str:
        lines = [f"{counted(len(self.sizes), 'latent profile')} of {self.n_rows:,.10g} rows: means (standard errors)"]
        rows = [("size", self.sizes, self.size_errors)]
        rows += [(name, self.means[:, j], self.mean_errors[:, j]) for j, name in enumerate(self.columns)]
        width = min(max(len(label) for label, _, _ in rows), 28)
        lines.append(" " * width + "".join(f"{f'profile {k}':>20}" for k in range(len(self.sizes))))
        for label, values, errors in rows:
            cells = [
                f"{value:.4g}" + ("" if np.isnan(error) else f" ({error:.2g})")
                for value, error in zip(values, errors, strict=True)
            ]
            lines.append(f"{cut(label, width):<{width}}" + "".join(f"{cell:>20}" for cell in cells))
        figures = f"log-likelihood {self.log_likelihood:.2f}, {counted(self.n_parameters, 'parameter')}"
        return "\n".join([*lines, f"{figures}, BIC {self.bic:.2f}", self.reading])

    def plot(self) -> "go.Figure":
        """Draw the means of the columns in each profile, in standard deviations from the mean of the table.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A line for each profile.
        """
        import plotly.graph_objects as go

        figure = new_figure(y="mean, in standard deviations", height=420)
        for k, size in enumerate(self.sizes):
            name = f"profile {k} ({percent(round(float(size), 3))})"
            shade = {"color": PALETTE[k % len(PALETTE)]}
            labels = [cut(each, 30) for each in self.columns]
            figure.add_trace(go.Scatter(x=labels, y=self.standardized[k], mode="lines+markers", name=name, line=shade))
        return figure.update_layout(legend={"y": 1.02, "yanchor": "bottom"}, margin={"t": 40})
