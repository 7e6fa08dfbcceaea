"""The error of a linear estimator as features are added, measured without test rows.

For each repeat a training set of two normal classes ``N(+-mu, I)`` is drawn with all features; the estimator is fitted
on its first n columns for every n of a grid, and the error of its rule (w, b) is known exactly:

    ( Phi(-(w . mu_n + b) / ||w||) + Phi(-(w . mu_n - b) / ||w||) ) / 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from fewer._figures import Result
from fewer.catalogue import method
from fewer.datasets import make_two_gaussians
from fewer.evaluate.protocol import seeded, values_of, workers
from fewer.theory.planning._two_gaussians import expected_error, linear_rule_error, sorted_strengths

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.random import RandomState
    from numpy.typing import ArrayLike

    from fewer.engine import Engine


class Setting(NamedTuple):
    """What all repeats share."""

    estimator: Any
    mu: np.ndarray
    n_rows: int
    sizes: np.ndarray
    with_std: bool


@dataclass(frozen=True, eq=False, repr=False)
class PeakingCurve(Result):
    """Error over the number of features, for one estimator and one number of rows; made by :func:`peaking_curve`.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of features.
    errors : ndarray of shape (n_repeats, n_sizes)
        Exact error of each fitted rule.
    mean, se : ndarray of shape (n_sizes,)
        Mean over the repeats, and its standard error.
    expected : ndarray of shape (n_sizes,)
        Exact mean error of the mean-difference rule, to compare with.
    learner : str
        Name of the estimator.
    m : int
        Rows of each training set.
    """

    sizes: np.ndarray
    errors: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    expected: np.ndarray
    learner: str
    m: int

    _data = ("learner", "m", "sizes", "mean", "se", "expected", "n_features", "n_repeats")

    @property
    def n_repeats(self) -> int:
        """How many training sets were drawn."""
        return len(self.errors)

    @property
    def n_features(self) -> int:
        """The number of features of the grid with the smallest mean error."""
        return int(self.sizes[np.argmin(self.mean)])

    def __repr__(self) -> str:
        best = int(np.argmin(self.mean))
        return (
            f"PeakingCurve: {self.learner}, {self.m} rows, {self.n_repeats} repeats\n"
            f"  smallest error {self.mean[best]:.4f} +- {self.se[best]:.4f} with {self.n_features:,} of "
            f"{self.sizes[-1]:,} features; {self.mean[-1]:.4f} with all of these"
        )

    def plot(self) -> "go.Figure":
        """Mean error with a band of two standard errors, and the mean-difference rule beside it.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        figure = _figures.new_figure(title=f"{self.learner}, {self.m} training rows", x="features used", y="error")
        width = 2 * self.se
        figure.add_trace(_figures.band("two standard errors", self.sizes, self.mean - width, self.mean + width))
        figure.add_trace(_figures.line(self.learner, self.sizes, self.mean))
        figure.add_trace(
            _figures.line("mean difference, exactly", self.sizes, self.expected, _figures.GREY, line_dash="dot")
        )
        figure.update_xaxes(type="log", dtick=1)
        return figure


@method(
    tasks=["evaluation"],
    when="You wonder whether a linear estimator stands many weak features: see its error rise as they are added.",
    cost="repeats x sizes fits of the estimator; the mean-difference rule takes O(m p) a repeat for all sizes",
    paper="fs-necessary",
)
def peaking_curve(
    estimator: Any,
    mu: "ArrayLike",
    m: int,
    sizes: "Sequence[int] | np.ndarray | None" = None,
    *,
    n_repeats: int = 200,
    with_std: bool = False,
    random_state: "int | RandomState | None" = None,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
) -> PeakingCurve:
    """Error of a linear estimator on the first n features of two normal classes, for growing n.

    Parameters
    ----------
    estimator : estimator or "mean_difference"
        Any estimator with ``coef_`` and ``intercept_`` after ``fit``; it learns the classes -1 and +1. Or the rule of
        :func:`expected_error`, for all sizes at once.
    mu : array-like of shape (n_features,)
        Mean of the class +1; that of the class -1 is ``-mu``. Sorted by absolute value here, largest first.
    m : int
        Rows of each training set, half of each class.
    sizes : sequence of int, default=None
        Numbers of features, increasing. By default about 20 from 1 to all, evenly on a log scale.
    n_repeats : int, default=200
        Training sets drawn. Each serves all sizes.
    with_std : bool, default=False
        Whether every feature is divided by its standard deviation in the training set. The most informative
        features have the largest one, so that here this does harm.
    random_state : int, RandomState instance or None, default=None
        Draws the training sets, and serves estimators whose own random state is None.
    engine : Engine or None, default=None
        Where the repeats run; by default in this process. The result does not depend on it.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.

    Returns
    -------
    curve : PeakingCurve
        Mean errors with standard errors. It plots itself.

    Notes
    -----
    An estimator with a parameter, such as C of a support vector machine, keeps it for all sizes. One that chooses it by
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
    >>> from fewer.theory import peaking_curve
    >>> mu = 1 / np.arange(1, 301)
    >>> curve = peaking_curve(SVC(kernel="linear", C=1e-4), mu, m=50, sizes=[1, 5, 300], n_repeats=20, random_state=0)
    >>> curve.n_features
    5
    """
    from sklearn.base import clone
    from sklearn.utils import check_random_state

    strengths = sorted_strengths(mu)
    grid = _default_sizes(len(strengths)) if sizes is None else _checked_sizes(sizes, len(strengths))
    if m < 2 or n_repeats < 1:
        raise ValueError(f"m={m} rows and n_repeats={n_repeats}: at least 2 rows, one of each class, and 1 repeat.")
    if isinstance(estimator, str):
        if estimator != "mean_difference":
            raise ValueError(f"estimator={estimator!r} is not known; give a linear estimator or 'mean_difference'.")
        name = "mean difference"
    else:
        estimator, name = clone(estimator), type(estimator).__name__
    setting = Setting(estimator, strengths, m, grid, with_std)
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_repeats).tolist()
    labels = [f"repeat with the seed {seed}" for seed in seeds]
    done = values_of(
        exact_errors, seeds, setting, engine=workers(engine, n_jobs), description="Peaking curve", labels=labels
    )
    errors = np.array(list(done.values()))
    spread = errors.std(axis=0, ddof=1) if len(errors) > 1 else np.full(len(grid), np.nan)
    return PeakingCurve(
        sizes=grid,
        errors=errors,
        mean=errors.mean(axis=0),
        se=spread / np.sqrt(len(errors)),
        expected=expected_error(strengths, m, n=grid, method="exact"),
        learner=name,
        m=m,
    )


def exact_errors(seed: int, setting: Setting) -> np.ndarray:
    """Exact error for every size, of rules trained on one drawn training set."""
    X, y, _ = make_two_gaussians(setting.n_rows, setting.mu, random_state=seed)
    scales = X.std(axis=0, ddof=1) if setting.with_std else np.ones(X.shape[1])
    X = X / scales
    if isinstance(setting.estimator, str):
        coef = (y @ X) / scales
        lengths = np.sqrt(np.cumsum(coef**2))
        return ndtr(-np.cumsum(coef * setting.mu) / lengths)[setting.sizes - 1]
    learner = seeded(setting.estimator, seed)
    return np.array([_error_with(learner, X[:, :size], y, scales[:size], setting.mu) for size in setting.sizes])


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


def _default_sizes(n_features: int) -> np.ndarray:
    return np.unique(np.geomspace(1, n_features, 20).round().astype(int))


def _checked_sizes(sizes: "Sequence[int] | np.ndarray", n_features: int) -> np.ndarray:
    grid = np.asarray(sizes)
    increasing = grid.ndim == 1 and grid.size > 0 and grid.dtype.kind in "iu" and (np.diff(grid) > 0).all()
    if not increasing or grid[0] < 1 or grid[-1] > n_features:
        raise ValueError(f"sizes={sizes!r} must be increasing whole numbers between 1 and the {n_features} features.")
    return grid
