"""The table of items that people publish: slopes and difficulties with standard errors, and the curves of the items."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fewer._figures import PALETTE, Result, line, new_figure
from fewer._wording import counted, cut, listed

if TYPE_CHECKING:
    import plotly.graph_objects as go

_NAME_WIDTH = 28


@dataclass(repr=False)
class ItemTable(Result):
    """Parameters of items, one row for each answer beyond the first of each item.

    Attributes
    ----------
    names : list of str
        The item of each row.
    answers : list
        The answer of each row, which is compared with the one before it (ordinal items) or with the first (others).
    slopes : ndarray of shape (n_rows, n_components)
        By how much the log-odds of the answer grow with each trait.
    slope_errors : ndarray of shape (n_rows, n_components)
        Standard errors; NaN with several traits, whose slopes are determined up to a rotation only.
    difficulties : ndarray of shape (n_rows,)
        Value of the trait at which the two answers are equally likely; with several traits, the distance of that plane
        from the origin.
    difficulty_errors : ndarray of shape (n_rows,)
        Standard errors by the delta method.
    curves : dict of str to ndarray of shape (n_points,)
        Expected answer to each item, as a share of the highest, over ``points`` of the first trait.
    points : ndarray of shape (n_points,)
        Values of the trait at which the curves are given.
    """

    _data: ClassVar[tuple[str, ...]] = (
        "names",
        "answers",
        "slopes",
        "slope_errors",
        "difficulties",
        "difficulty_errors",
    )

    names: list[str]
    answers: list[Any]
    slopes: np.ndarray
    slope_errors: np.ndarray
    difficulties: np.ndarray
    difficulty_errors: np.ndarray
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    points: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def reading(self) -> str:
        """What it means, in words."""
        sizes = np.sqrt(np.sum(self.slopes**2, axis=1))
        best = list(dict.fromkeys(self.names[row] for row in np.argsort(-sizes, kind="stable")))
        said = f"{listed(best[:3])} {'has' if len(best) == 1 else 'have'} the most information about the trait."
        weak = [name for name in dict.fromkeys(self.names) if max(sizes[np.array(self.names) == name]) < 0.3]
        if weak:
            said += f" {listed(weak[:5])} {'says' if len(weak) == 1 else 'say'} little about it (slopes below 0.3)."
        return said

    def __repr__(self) -> str:
        n_traits = self.slopes.shape[1]
        labels = [cut(f"{name} = {answer}", _NAME_WIDTH) for name, answer in zip(self.names, self.answers, strict=True)]
        width = max([len(each) for each in labels] + [8])
        titles = ["slope"] if n_traits == 1 else [f"slope {k + 1}" for k in range(n_traits)]
        lines = [
            f"{counted(len(dict.fromkeys(self.names)), 'item')}, {counted(n_traits, 'trait')}",
            " " * width + "".join(f"{each:>15}" for each in [*titles, "difficulty"]),
        ]
        for row, label in enumerate(labels):
            entries = [*zip(self.slopes[row], self.slope_errors[row], strict=True)]
            entries.append((self.difficulties[row], self.difficulty_errors[row]))
            lines.append(f"{label:<{width}}" + "".join(f"{_with_error(*each):>15}" for each in entries))
        return "\n".join([*lines, self.reading])

    def plot(self) -> "go.Figure":
        """Draw the curves of the items.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Expected answer to each item, between the first (0) and the last (1), over the first trait.
        """
        figure = new_figure(x="trait", y="expected answer, from first to last")
        for number, (name, curve) in enumerate(self.curves.items()):
            figure.add_trace(line(cut(name, _NAME_WIDTH), self.points, curve, PALETTE[number % len(PALETTE)]))
        return figure.update_yaxes(range=[0, 1])


def _with_error(value: float, error: float) -> str:
    return f"{value:.2f}" + (f" ({error:.2f})" if np.isfinite(error) else "")
