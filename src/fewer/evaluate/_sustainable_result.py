"""What a curve of errors over the number of columns per class says, with its pictures."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewer._figures import Result
from fewer.evaluate._marked_point import mark_point
from fewer.select.per_class import argmin_smoothed_error

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class SustainableErrorCurve(Result):
    """Errors over the number of columns per class; made by :func:`sustainable_error_curve`.

    Attributes
    ----------
    grid : ndarray of shape (n_sizes,)
        Columns per class.
    errors : ndarray of shape (n_sizes,)
        Share of the rows held out that are mistaken.
    sustained : ndarray of shape (n_sizes,)
        Its centred moving average; NaN at the ends, where the window does not fit.
    n_columns : ndarray of shape (n_sizes,)
        Columns in all, on average over the folds.
    wrong : ndarray of bool of shape (n_sizes, n_held_out)
        Which rows held out are mistaken.
    held_out : ndarray of shape (n_held_out,)
        Positions of these rows in the table.
    window : int
        Sizes that the average is over.
    """

    grid: np.ndarray
    errors: np.ndarray
    sustained: np.ndarray
    n_columns: np.ndarray
    wrong: np.ndarray
    held_out: np.ndarray
    window: int

    _data = (
        "grid",
        "errors",
        "sustained",
        "n_columns",
        "window",
        "n_per_class",
        "sustainable_error",
        "lowest_n_per_class",
        "lowest_error",
    )

    @property
    def n_per_class(self) -> int:
        """Columns per class with the smallest sustained error; of equals, the smallest number."""
        return int(self.grid[argmin_smoothed_error(self.errors, self.window)])

    @property
    def sustainable_error(self) -> float:
        """Smallest sustained error. Optimistic, because it was chosen on the rows that it is measured on."""
        return float(self.sustained[argmin_smoothed_error(self.errors, self.window)])

    @property
    def lowest_error(self) -> float:
        """Smallest error of any size, more optimistic still."""
        return float(self.errors.min())

    @property
    def lowest_n_per_class(self) -> int:
        """Columns per class with the smallest error; of equals, the smallest number."""
        return int(self.grid[self.errors.argmin()])

    def __repr__(self) -> str:
        return (
            f"SustainableErrorCurve: {len(self.grid)} sizes from {self.grid[0]} to {self.grid[-1]} columns per class, "
            f"{len(self.held_out):,} rows held out\n"
            f"  sustainable error {self.sustainable_error:.4f} with {self.n_per_class} per class (window "
            f"{self.window}); lowest {self.lowest_error:.4f} with {self.lowest_n_per_class}\n"
            "  both are minima over the sizes, and so optimistic: see nested_sustainable_error"
        )

    def plot(self) -> "go.Figure":
        """The errors over the number of columns per class, their moving average, and its minimum.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        from fewer import _figures

        figure = _figures.new_figure(title="Error by number of columns", x="columns per class", y="error held out")
        figure.add_trace(_figures.line("error", self.grid, self.errors, _figures.GREY))
        figure.add_trace(_figures.line(f"mean of {self.window} sizes", self.grid, self.sustained))
        error, name = self.sustainable_error, "sustainable error (optimistic)"
        mark_point(figure, self.n_per_class, error, f"{error:.3f}", name=name, position="bottom center")
        return figure


@dataclass(frozen=True, eq=False, repr=False)
class NestedSustainableError(Result):
    """Error with the number of columns chosen inside of every fold; made by :func:`nested_sustainable_error`.

    Attributes
    ----------
    error : float
        Share of the rows held out that are mistaken.
    n_per_class : ndarray of shape (n_folds,)
        Columns per class that were chosen for each fold, without its rows.
    wrong : ndarray of bool of shape (n_held_out,)
        Which rows held out are mistaken.
    held_out : ndarray of shape (n_held_out,)
        Positions of these rows in the table.
    curve : SustainableErrorCurve
        The curve on the same folds, whose minimum is what the choice seems to cost when it is not nested.
    """

    error: float
    n_per_class: np.ndarray
    wrong: np.ndarray
    held_out: np.ndarray
    curve: SustainableErrorCurve

    _data = ("error", "optimism", "n_per_class", "curve")

    @property
    def optimism(self) -> float:
        """By how much the minimum of the sustained curve is smaller than the nested error."""
        return self.error - self.curve.sustainable_error

    def __repr__(self) -> str:
        low, middle, high = np.percentile(self.n_per_class, [0, 50, 100])
        return (
            f"NestedSustainableError: {self.error:.4f} over {len(self.held_out):,} rows held out in "
            f"{len(self.n_per_class)} folds\n"
            f"  columns per class {middle:.4g} (median; {low:.4g} to {high:.4g})\n"
            f"  the minimum of the curve, which is not nested, is {self.curve.sustainable_error:.4f}: optimism "
            f"{self.optimism:+.4f}"
        )

    def plot(self) -> "go.Figure":
        """The curve of errors with its minimum, and the nested error as a line.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        from fewer import _figures

        figure = self.curve.plot()
        ends = self.curve.grid[[0, -1]]
        figure.add_trace(_figures.line("nested error", ends, [self.error] * 2, _figures.GREEN, line_dash="dash"))
        return figure
