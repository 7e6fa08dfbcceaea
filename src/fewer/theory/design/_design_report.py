"""What sparse methods can be trusted with on a design: what is certified, what refuted, and what unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from fewer._figures import Result
from fewer._kernels._cone_factors import coherence
from fewer.catalogue import method
from fewer.theory.design._cones import scaled_design
from fewer.theory.design._restricted_properties import (
    RestrictedEigenvalue,
    RestrictedNullspace,
    likely_supports,
    restricted_eigenvalue,
    restricted_nullspace,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class DesignReport(Result):
    """What a design is good for; made by :func:`design_report`.

    Attributes
    ----------
    n_samples, n_features : int
        Size of the design.
    coherence : float
        Largest correlation (mean product) of two columns.
    ks : tuple of int
        Numbers of true columns that were looked at.
    eigenvalues : dict
        Brackets of the restricted eigenvalue, by ``(k, a)``.
    nullspaces : dict
        Whether the restricted nullspace property holds, by ``k``.
    condition_numbers : dict
        Largest condition number of k columns that was found, by ``k``: how far the design is from restricted isometry,
        which is sufficient but not needed.
    """

    n_samples: int
    n_features: int
    coherence: float
    ks: tuple[int, ...]
    eigenvalues: dict[tuple[int, float], RestrictedEigenvalue]
    nullspaces: dict[int, RestrictedNullspace]
    condition_numbers: dict[int, float]

    def to_frame(self) -> "pl.DataFrame":
        """A row for each number of columns and each cone.

        Returns
        -------
        frame : polars.DataFrame
            The bracket, compatibility, verdicts, and the largest condition number.
        """
        import polars as pl

        rows = [
            {
                "k": k,
                "a": a,
                "lower": bracket.lower,
                "upper": bracket.upper,
                "compatibility": bracket.compatibility,
                "eigenvalue": eigenvalue_verdict(bracket),
                "nullspace": _VERDICTS[self.nullspaces[k].verdict],
                "condition_number": self.condition_numbers[k],
            }
            for (k, a), bracket in self.eigenvalues.items()
        ]
        return pl.DataFrame(rows)

    @property
    def reading(self) -> str:
        """What is certified, what is refuted and what is unknown, in words."""
        return " ".join(self._statements())

    def _statements(self) -> list[str]:
        said = [
            _statement(
                "basis pursuit finds every vector from data without noise",
                {k: _VERDICTS[found.verdict] for k, found in self.nullspaces.items()},
            )
        ]
        for a, guarantee in _GUARANTEES.items():
            verdicts = {k: eigenvalue_verdict(found) for (k, width), found in self.eigenvalues.items() if width == a}
            if verdicts:
                said.append(_statement(guarantee, verdicts))
        return said

    def __repr__(self) -> str:
        lines = [
            f"DesignReport: {self.n_samples:,} rows x {self.n_features:,} columns, coherence {self.coherence:.2f}",
            "   k   a  gamma^2 from      to   phi^2 <=  eigenvalue  nullspace",
        ]
        for (k, a), found in self.eigenvalues.items():
            lines.append(
                f"{k:4d} {a:3g}  {found.lower:12.4f} {found.upper:7.4f} {found.compatibility:10.4f}  "
                f"{eigenvalue_verdict(found):10}  {_VERDICTS[self.nullspaces[k].verdict]}"
            )
        return "\n".join([*lines, *(f"  {statement}" for statement in self._statements())])

    def plot(self) -> "go.Figure":
        """Brackets of the restricted eigenvalue over the number of true columns.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        figure = _figures.new_figure(
            title="What is certified, and what is possible at most",
            x="k: true columns",
            y="restricted eigenvalue",
        )
        widths = sorted({a for _, a in self.eigenvalues})
        for a, colour in zip(widths, _figures.PALETTE, strict=False):
            brackets = [self.eigenvalues[k, a] for k in self.ks]
            figure.add_trace(_figures.line(f"at most, a = {a:g}", self.ks, [found.upper for found in brackets], colour))
            certified = _figures.line(f"certified, a = {a:g}", self.ks, [found.lower for found in brackets], colour)
            certified.line.dash = "dot"
            figure.add_trace(certified)
        figure.update_xaxes(dtick=1)
        figure.update_yaxes(rangemode="tozero")
        return figure


_VERDICTS = {"holds": "certified", "fails": "refuted", "unknown": "unknown"}
_GUARANTEES = {
    1.0: "the error of the Dantzig selector shrinks as it should (a = 1)",
    3.0: "the error of the Lasso shrinks as it should (a = 3)",
}


def eigenvalue_verdict(bracket: RestrictedEigenvalue) -> str:
    """One word; nothing is said to hold that is not proved."""
    return "certified" if bracket.certified else "refuted" if bracket.refuted else "unknown"


def _statement(guarantee: str, verdicts: dict[int, str]) -> str:
    parts = []
    for verdict in ("certified", "unknown", "refuted"):
        ks = [str(k) for k, found in verdicts.items() if found == verdict]
        if ks:
            parts.append(f"{verdict} for k = {', '.join(ks)}")
    return f"That {guarantee}: {'; '.join(parts)}."


@method(
    tasks=["evaluation"],
    when="Before you trust which columns a sparse model keeps: it shows for how many true columns the guarantees of "
    "the Lasso, the Dantzig selector and basis pursuit are proved on your own design, refuted, or unknown.",
    cost="O(p) linear programs and some hundred least-squares fits for each k, so p up to some hundred",
    paper="restricted-eigenvalue",
)
def design_report(
    X: Any,
    k_grid: int | Sequence[int] = (1, 2, 3),
    a: float | Sequence[float] = (1.0, 3.0),
    *,
    random_state: Any = None,
) -> DesignReport:
    """Which guarantees of sparse methods hold on a design.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Design. Its columns are scaled to mean square 1, which changes every number; centre them first if the model
        will have an intercept.
    k_grid : int or sequence of int, default=(1, 2, 3)
        Numbers of true columns.
    a : float or sequence of float, default=(1, 3)
        Widths of the cone: 1 for the Dantzig selector, 3 for the Lasso.
    random_state : int, RandomState instance or None, default=None
        Draws supports and starts of the searches.

    Returns
    -------
    report : DesignReport
        Verdicts, in numbers and in words; it plots itself.

    See Also
    --------
    restricted_eigenvalue : One bracket.
    restricted_nullspace : One verdict on basis pursuit.

    Notes
    -----
    To verify these properties is a hard problem, so "unknown" is a common and an honest answer.

    References
    ----------
    .. [1] Raskutti, G., Wainwright, M. J. and Yu, B. (2010). Restricted eigenvalue properties for correlated Gaussian
       designs. JMLR 11, 2241-2259.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.theory import design_report
    >>> X = np.random.default_rng(0).normal(size=(15, 20))
    >>> report = design_report(X, k_grid=(1, 8), random_state=0)
    >>> report.nullspaces[1].verdict, report.nullspaces[8].verdict
    ('holds', 'fails')
    """
    scaled = scaled_design(X, "design_report")
    n_samples, p = scaled.shape
    ks = tuple(sorted({int(k) for k in np.atleast_1d(k_grid)}))
    widths = sorted({float(width) for width in np.atleast_1d(a)})
    if not ks or not widths or ks[0] < 1 or ks[-1] > p:
        raise ValueError(f"k_grid must hold numbers from 1 to the {p} columns, and a at least one number.")
    draws = check_random_state(random_state)
    sigma = scaled.T @ scaled / n_samples
    brackets = {
        (k, width): restricted_eigenvalue(sigma, k=k, a=width, n_init=2, precomputed=True, random_state=draws)
        for k in ks
        for width in widths
    }
    nullspaces = {k: restricted_nullspace(scaled, k=k, random_state=draws) for k in ks}
    conditions = {k: _largest_condition(sigma, likely_supports(sigma, k, 5, draws)) for k in ks}
    return DesignReport(n_samples, p, coherence(sigma), ks, brackets, nullspaces, conditions)


def _largest_condition(sigma: np.ndarray, supports: list[np.ndarray]) -> float:
    return max(float(np.linalg.cond(sigma[np.ix_(columns, columns)])) for columns in supports)
