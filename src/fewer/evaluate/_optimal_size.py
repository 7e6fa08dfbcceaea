"""How many columns a training set can carry: the n that minimises the error of the mean-difference rule.

n_opt(m) = argmax_n  s_n / sqrt(n / m + s_n),    s_n = mu_1^2 + ... + mu_n^2,    |mu_1| >= |mu_2| >= ...
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtr

from fewer._figures import Result
from fewer.catalogue import method as card
from fewer.evaluate._marked_point import mark_point
from fewer.evaluate._two_gaussians import checked_rows, exact_error, separation, sorted_strengths

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class OptimalSize(Result):
    """How many columns to use, when it is known how much each tells; made by :func:`optimal_n_features`.

    Attributes
    ----------
    n_features : int
        Number of columns with the smallest error; 0 when no column tells anything.
    error : float
        Error with that many columns.
    error_all : float
        Error with all columns.
    bayes_error : float
        Error of the best rule there is, which knows the means.
    errors : ndarray of shape (n_features_in,)
        Error with the 1, 2, ... best columns.
    order : ndarray of shape (n_features_in,)
        Columns by how much they tell, most first.
    m : float
        Rows of the training set.
    """

    n_features: int
    error: float
    error_all: float
    bayes_error: float
    errors: np.ndarray
    order: np.ndarray
    m: float

    def __repr__(self) -> str:
        return (
            f"OptimalSize: {self.n_features:,} of {len(self.errors):,} columns for {self.m:g} rows\n"
            f"  error {self.error:.4f}; with all columns {self.error_all:.4f}; at best {self.bayes_error:.4f}"
        )

    def plot(self) -> "go.Figure":
        """The error over the number of columns, with the best number marked.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        from fewer import _figures

        sizes = np.arange(1, len(self.errors) + 1)
        figure = _figures.new_figure(
            title=f"Error with {self.m:g} training rows", x="columns used, best first", y="error"
        )
        figure.add_trace(_figures.line("expected error", sizes, self.errors))
        figure.add_trace(
            _figures.line("best possible", sizes[[0, -1]], [self.bayes_error] * 2, _figures.GREY, line_dash="dot")
        )
        if self.n_features:
            mark_point(figure, self.n_features, self.error, f"{self.n_features:,}", name="best")
        figure.update_xaxes(type="log", dtick=1)
        return figure


@card(
    tasks=["evaluation"],
    when="Before a study of two classes: you can guess how strongly the columns differ between them, and want to know "
    "how many columns your number of rows can carry.",
    cost="O(p) with the formula; the exact error takes O(200 p)",
    paper="fs-necessary",
)
def optimal_n_features(mu: "ArrayLike", m: float, *, method: Literal["approx", "exact"] = "approx") -> OptimalSize:
    """Number of columns that a training set of m rows can carry.

    Parameters
    ----------
    mu : array-like of shape (n_features,)
        Half the distance between the two class means in each column, in units of the standard deviation within the
        classes, in any order.
    m : float
        Rows of the training set.
    method : {"approx", "exact"}, default="approx"
        The formula of the paper, or the exact error.

    Returns
    -------
    best : OptimalSize
        The best number of columns, the whole error curve, and the errors to compare with. It plots itself.

    See Also
    --------
    plan_n_features : The same from a table, where nobody knows the means.

    Notes
    -----
    The setting: two equally likely normal classes with the identity as covariance, and a rule that projects on the
    estimated difference of means.

    - A column with ``mu_j = 0`` always does harm.
    - Whether a column helps depends on those already in use, although the columns are independent of each other.
    - If the sum of ``mu_j^2`` converges, the error tends to 1/2 as columns are added: a finite number is best.
    - Any n that grows with m such that ``n / m`` tends to 0 gets the best possible error in the end.
    - With all ``mu_j`` equal, or ``s_n = n^a`` for 1/2 < a < 1, using everything is best, even though ``mu_j`` tends
      to 0 in the second case. So "keep column j if ``|mu_j| > c / sqrt(m)``" is no rule in general.

    References
    ----------
    .. [1] Navot, A., Gilad-Bachrach, R., Navot, Y. & Tishby, N. (2006). Is feature selection still necessary? In
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 127-138.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.evaluate import optimal_n_features
    >>> optimal_n_features(1 / np.arange(1, 1001), m=100)
    OptimalSize: 10 of 1,000 columns for 100 rows
      error 0.1138; with all columns 0.3150; at best 0.0999
    """
    strengths, m = sorted_strengths(mu), checked_rows(m)
    sizes, s = np.arange(1, len(strengths) + 1), np.cumsum(strengths**2)
    if method == "approx":
        # Where the error is almost 0, f still tells sizes apart.
        separations = separation(sizes, m, s)
        errors, best = ndtr(-separations), int(np.argmax(separations))
    elif method == "exact":
        errors = exact_error(sizes, m, s)
        best = int(np.argmin(errors))
    else:
        raise ValueError(f"method={method!r} is not known; choose 'approx' or 'exact'.")
    return OptimalSize(
        n_features=best + 1 if s[-1] > 0 else 0,
        error=float(errors[best]),
        error_all=float(errors[-1]),
        bayes_error=float(ndtr(-np.sqrt(s[-1]))),
        errors=errors,
        order=np.argsort(-np.abs(np.asarray(mu, dtype=float)), kind="stable"),
        m=m,
    )
