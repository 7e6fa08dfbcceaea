"""The error of a linear learner as features are added, measured without test rows.

For each repeat a training set of two normal classes ``N(+-mu, I)`` is drawn with all features; the learner is fitted on
its first n columns for every n of a grid, and the error of its rule (w, b) is known exactly:

    ( Phi(-(w . mu_n + b) / ||w||) + Phi(-(w . mu_n - b) / ||w||) ) / 2.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from fewer.catalogue import method
from fewer.datasets import make_two_gaussians
from fewer.engine import Engine
from fewer.evaluate._two_gaussians import expected_error, linear_rule_error, sorted_strengths

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.random import RandomState
    from numpy.typing import ArrayLike


class Setting(NamedTuple):
    """What all repeats share."""

    estimator: Any
    mu: np.ndarray
    n_rows: int
    sizes: np.ndarray
    prescale: bool


@dataclass(frozen=True, eq=False, repr=False)
class PeakingCurve:
    """Error over the number of features, for one learner and one number of rows; made by :func:`peaking_curve`.

    Attributes
    ----------
    n_grid : ndarray of shape (n_sizes,)
        Numbers of features.
    errors : ndarray of shape (n_repeats, n_sizes)
        Exact error of each fitted rule.
    mean, standard_error : ndarray of shape (n_sizes,)
        Mean over the repeats, and its standard error.
    expected : ndarray of shape (n_sizes,)
        Exact mean error of the mean-difference rule, to compare with.
    learner : str
        Name of the learner.
    m : int
        Rows of each training set.
    """

    n_grid: np.ndarray
    errors: np.ndarray
    mean: np.ndarray
    standard_error: np.ndarray
    expected: np.ndarray
    learner: str
    m: int

    @property
    def n_features(self) -> int:
        """The number of features of the grid with the smallest mean error."""
        return int(self.n_grid[np.argmin(self.mean)])

    def __repr__(self) -> str:
        best = int(np.argmin(self.mean))
        return (
            f"PeakingCurve: {self.learner}, {self.m} rows, {len(self.errors)} repeats\n"
            f"  smallest error {self.mean[best]:.4f} +- {self.standard_error[best]:.4f} with {self.n_features:,}; "
            f"{self.mean[-1]:.4f} with {self.n_grid[-1]:,}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "learner": self.learner,
            "m": self.m,
            "n_grid": self.n_grid.tolist(),
            "mean": self.mean.tolist(),
            "standard_error": self.standard_error.tolist(),
            "expected": self.expected.tolist(),
            "n_repeats": len(self.errors),
        }

    def plot(self) -> "go.Figure":
        """Mean error with a band of two standard errors, and the mean-difference rule beside it.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        from fewer import _figures

        figure = _figures.new_figure(title=f"{self.learner}, {self.m} training rows", x="features used", y="error")
        width = 2 * self.standard_error
        figure.add_trace(_figures.band("two standard errors", self.n_grid, self.mean - width, self.mean + width))
        figure.add_trace(_figures.line(self.learner, self.n_grid, self.mean))
        figure.add_trace(
            _figures.line("mean difference, exactly", self.n_grid, self.expected, _figures.GREY, line_dash="dot")
        )
        figure.update_xaxes(type="log", dtick=1)
        return figure


@method(
    tasks=["evaluation"],
    when="You wonder whether a linear learner stands many weak features: see its error rise as they are added.",
    cost="repeats x sizes fits of the learner; the mean-difference rule takes O(m p) a repeat for all sizes",
    paper="fs-necessary",
)
def peaking_curve(
    estimator: Any,
    mu: "ArrayLike",
    m: int,
    n_grid: "Sequence[int] | np.ndarray | None" = None,
    *,
    n_repeats: int = 200,
    prescale: bool = False,
    random_state: "int | RandomState | None" = None,
    engine: Engine | None = None,
) -> PeakingCurve:
    """Error of a linear learner on the first n features of two normal classes, for growing n.

    Parameters
    ----------
    estimator : estimator or "mean_difference"
        Any estimator with ``coef_`` and ``intercept_`` after ``fit``; it learns the classes -1 and +1. Or the rule of
        :func:`expected_error`, for all sizes at once.
    mu : array-like of shape (n_features,)
        Mean of the class +1; that of the class -1 is ``-mu``. Sorted by absolute value here, largest first.
    m : int
        Rows of each training set, half of each class.
    n_grid : sequence of int, default=None
        Numbers of features, increasing. By default about 20 from 1 to all, evenly on a log scale.
    n_repeats : int, default=200
        Training sets drawn. Each serves all sizes.
    prescale : bool, default=False
        Whether every feature is divided by its standard deviation in the training set. The features that tell most
        have the largest one, so that here this does harm.
    random_state : int, RandomState instance or None, default=None
        Draws the training sets, and serves learners whose own random state is None.
    engine : Engine, default=None
        Where the repeats run; by default in this process, one after the other. The result does not depend on it.

    Returns
    -------
    curve : PeakingCurve
        Mean errors with standard errors. It plots itself.

    Notes
    -----
    A learner with a parameter, such as C of a support vector machine, keeps it for all sizes. One that chooses it by
    cross-validation gives another curve. The classes have equal numbers of rows: with C as small as 1e-4, a support
    vector machine on unequal classes puts almost every row into the larger one. After Ctrl-C the curve is made from
    the repeats that are done.

    References
    ----------
    .. [1] Navot, A., Gilad-Bachrach, R., Navot, Y. & Tishby, N. (2006). Is feature selection still necessary? In
       Subspace, Latent Structure and Feature Selection, LNCS 3940, 127-138.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from fewer.evaluate import peaking_curve
    >>> mu = 1 / np.arange(1, 301)
    >>> curve = peaking_curve(SVC(kernel="linear", C=1e-4), mu, m=50, n_grid=[1, 5, 300], n_repeats=20, random_state=0)
    >>> curve.n_features
    5
    """
    from sklearn.base import clone
    from sklearn.utils import check_random_state

    strengths = sorted_strengths(mu)
    sizes = _default_grid(len(strengths)) if n_grid is None else _checked_grid(n_grid, len(strengths))
    if m < 2 or n_repeats < 1:
        raise ValueError(f"m={m} rows and n_repeats={n_repeats}: at least 2 rows, one of each class, and 1 repeat.")
    if isinstance(estimator, str):
        if estimator != "mean_difference":
            raise ValueError(f"estimator={estimator!r} is not known; give a linear estimator or 'mean_difference'.")
        name = "mean difference"
    else:
        estimator, name = clone(estimator), type(estimator).__name__
    setting = Setting(estimator, strengths, m, sizes, prescale)
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_repeats).tolist()
    with nullcontext(engine) if engine else Engine.local(1) as running:
        run = running.run(exact_errors, seeds, shared=setting, labels=lambda seed: f"repeat with the seed {seed}")
        errors = np.array([outcome.unwrap() for outcome in run.collect()])
    if len(errors) == 0:
        raise KeyboardInterrupt("Stopped before the first repeat was done.")
    spread = errors.std(axis=0, ddof=1) if len(errors) > 1 else np.full(len(sizes), np.nan)
    return PeakingCurve(
        n_grid=sizes,
        errors=errors,
        mean=errors.mean(axis=0),
        standard_error=spread / np.sqrt(len(errors)),
        expected=expected_error(strengths, m, n=sizes, method="exact"),
        learner=name,
        m=m,
    )


def exact_errors(seed: int, setting: Setting) -> np.ndarray:
    """Exact error for every size, of rules trained on one drawn training set."""
    X, y, _ = make_two_gaussians(setting.n_rows, setting.mu, random_state=seed)
    scales = X.std(axis=0, ddof=1) if setting.prescale else np.ones(X.shape[1])
    X = X / scales
    if isinstance(setting.estimator, str):
        coef = (y @ X) / scales
        lengths = np.sqrt(np.cumsum(coef**2))
        return ndtr(-np.cumsum(coef * setting.mu) / lengths)[setting.sizes - 1]
    learner = _seeded(setting.estimator, seed)
    return np.array([_error_with(learner, X[:, :size], y, scales[:size], setting.mu) for size in setting.sizes])


def _seeded(estimator: Any, seed: int) -> Any:
    """A clone whose random states that are None are set, so that the seed alone decides what it learns."""
    from sklearn.base import clone

    copy = clone(estimator)
    unset = [name for name, value in copy.get_params().items() if value is None and name.endswith("random_state")]
    return copy.set_params(**dict.fromkeys(unset, seed)) if unset else copy


def _error_with(learner: Any, X: np.ndarray, y: np.ndarray, scales: np.ndarray, mu: np.ndarray) -> float:
    from sklearn.base import clone

    fitted = clone(learner).fit(X, y)
    coef, intercept = getattr(fitted, "coef_", None), getattr(fitted, "intercept_", None)
    if coef is None or intercept is None:
        raise TypeError(
            f"{type(fitted).__name__} has no coef_ and intercept_, so its error is not known in closed form; give a "
            "linear estimator, and for a support vector machine SVC(kernel='linear') or LinearSVC()."
        )
    coef = np.ravel(coef.toarray() if hasattr(coef, "toarray") else coef)
    return linear_rule_error(coef / scales, intercept, mu[: len(scales)])


def _default_grid(n_features: int) -> np.ndarray:
    return np.unique(np.geomspace(1, n_features, 20).round().astype(int))


def _checked_grid(n_grid: "Sequence[int] | np.ndarray", n_features: int) -> np.ndarray:
    sizes = np.asarray(n_grid)
    increasing = sizes.ndim == 1 and sizes.size > 0 and sizes.dtype.kind in "iu" and (np.diff(sizes) > 0).all()
    if not increasing or sizes[0] < 1 or sizes[-1] > n_features:
        raise ValueError(f"n_grid={n_grid!r} must be increasing whole numbers between 1 and the {n_features} features.")
    return sizes
