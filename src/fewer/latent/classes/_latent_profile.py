"""Latent profile analysis: rows of numbers as a mixture of classes in which the columns are independent and normal.

    p(x_n) = sum_k eta_k prod_j N(x_nj; mu_kj, sigma_kj^2),

the product over the entries that are there, which is exact where entries are missing at random. In an EM step, with
responsibilities r_nk, means and variances are those of the observed entries, weighted by r; no variance falls below a
share of that of its column. Titterington, M. (2006), Some aspects of latent structure analysis.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numba import njit
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, known_column, validated
from fewer._figures import PALETTE, Result, new_figure
from fewer._kernels._arrays import read_only
from fewer._wording import counted, cut, listed, percent
from fewer.catalogue import method
from fewer.latent._latent_model import Stride, accelerated, climb, refuse_empty_columns, row_weights
from fewer.latent.classes._class_information import (
    classification_table,
    inverse_information,
    relative_entropy,
    score_covariance,
    size_errors,
    size_information,
)
from fewer.latent.classes._class_steps import settled_shares
from fewer.latent.classes._row_classes import RowClasses
from fewer.latent.mixtures._class_mixture import kmeans_labels

if TYPE_CHECKING:
    import plotly.graph_objects as go

_SUMS = {"reassoc", "contract", "nsz"}
_MOST_PARAMETERS = 600
_HARD = 0.9


class Profiles(NamedTuple):
    """Class sizes (K,), means (K, p) and variances (K, p)."""

    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray


@njit(cache=True, nogil=True)
def _densities(row, X, logs, means, precisions, joint):
    """Fills ``joint`` with log densities of a row and each class, observed entries only; the largest of them."""
    top = -np.inf
    for k in range(means.shape[0]):
        total = logs[k, means.shape[1]]
        for j in range(means.shape[1]):
            value = X[row, j]
            if value == value:
                gap = value - means[k, j]
                total += logs[k, j] - 0.5 * gap * gap * precisions[k, j]
        joint[k] = total
        top = max(top, total)
    return top


@njit(cache=True, nogil=True)
def _posterior_rows(X, logs, means, precisions, found, scores):
    joint = np.empty(means.shape[0])
    for row in range(X.shape[0]):
        top = _densities(row, X, logs, means, precisions, joint)
        total = 0.0
        for k in range(joint.size):
            found[row, k] = math.exp(joint[k] - top)
            total += found[row, k]
        scores[row] = math.log(total) + top
        for k in range(joint.size):
            found[row, k] /= total


@njit(cache=True, nogil=True)
def _moments(X, members, sums):
    """Adds up observed entries of each class: their masses, sums and squares, ``sums`` of shape (3, K, p)."""
    for row in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[row, j]
            if value == value:
                for k in range(members.shape[1]):
                    mass = members[row, k]
                    sums[0, k, j] += mass
                    sums[1, k, j] += mass * value
                    sums[2, k, j] += mass * value * value


def profile_posteriors(X: np.ndarray, profiles: Profiles) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the classes (rows, K), and log-densities of rows (NaN entries are missing)."""
    weights, means, variances = profiles
    logs = np.column_stack([-0.5 * np.log(2 * np.pi * variances), np.log(weights)])
    found, scores = np.empty((len(X), len(weights))), np.empty(len(X))
    arrays = [read_only(np.ascontiguousarray(each)) for each in (X, logs, means, 1 / variances)]
    _posterior_rows(arrays[0], arrays[1], arrays[2], arrays[3], found, scores)
    return found, scores


class ProfileClimb:
    """EM; states are one vector of class sizes, means, and log variances."""

    def __init__(self, X: np.ndarray, masses: np.ndarray, n_components: int, tied: bool, floor: float):
        self.X, self.masses, self.n_components, self.tied = (
            read_only(np.ascontiguousarray(X)),
            masses,
            n_components,
            tied,
        )
        self.log_floor = math.log(max(floor, 1e-300))

    def profiles(self, vector: np.ndarray) -> Profiles:
        """Sizes, means and variances."""
        k, p = self.n_components, self.X.shape[1]
        means, logs = vector[k : k + k * p].reshape(k, p), vector[k + k * p :].reshape(-1, p)
        return Profiles(vector[:k], means, np.broadcast_to(np.exp(logs), (k, p)))

    def settled(self, vector: np.ndarray) -> np.ndarray:
        """Sizes that sum to 1, and no variance below the floor."""
        k, p = self.n_components, self.X.shape[1]
        logs = np.clip(vector[k + k * p :], self.log_floor, 50.0)
        return np.concatenate([settled_shares(vector[:k]), vector[k : k + k * p], logs])

    def maximised(self, members: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Parameters from the masses of rows in classes; a class without an observed entry keeps its mean."""
        k, p = self.n_components, self.X.shape[1]
        sums = np.zeros((3, k, p))
        _moments(self.X, read_only(np.ascontiguousarray(members)), sums)
        masses = np.maximum(sums[0], 1e-300)
        means = sums[1] / masses
        squares = np.maximum(sums[2] - sums[1] * means, 0)
        if before is not None:
            empty = sums[0] < 1e-12
            means = np.where(empty, before[k : k + k * p].reshape(k, p), means)
        if self.tied:
            variances = (squares.sum(axis=0) / np.maximum(sums[0].sum(axis=0), 1e-300))[None]
        else:
            variances = squares / masses
        logs = np.log(np.maximum(variances, 1e-300))
        sizes = members.sum(axis=0)
        return self.settled(np.concatenate([sizes / sizes.sum(), means.ravel(), logs.ravel()]))

    def step(self, vector: np.ndarray) -> tuple[np.ndarray, float]:
        """The next vector, and the log-likelihood of this one."""
        found, scores = profile_posteriors(self.X, self.profiles(vector))
        return self.maximised(found * self.masses[:, None], vector), float(self.masses @ scores)

    def start(self, random: np.random.RandomState) -> np.ndarray:
        """From k-means with missing entries at the mean of their column; every class has some share of each row."""
        labels = kmeans_labels(np.nan_to_num(self.X, nan=0.0), self.masses, self.n_components, random)
        members = np.full((len(self.X), self.n_components), (1 - _HARD) / self.n_components)
        members[np.arange(len(self.X)), labels] += _HARD
        return self.maximised(members * self.masses[:, None])


def mean_errors(X: np.ndarray, masses: np.ndarray, profiles: Profiles, tied: bool) -> Profiles:
    """Standard errors of sizes and means, from the observed information; NaN if it is singular.

    The variances of the result are NaN.
    """
    weights, means, variances = profiles
    n_classes, n_columns = means.shape
    found = profile_posteriors(X, profiles)[0]
    there = ~np.isnan(X)
    scores, complete = [], []
    for k in range(n_classes):
        gaps = np.nan_to_num(X - means[k])
        scaled = gaps / variances[k]
        scores.append(np.column_stack([np.ones(len(X)), scaled, (gaps * scaled - there) / 2]))
        own = masses * found[:, k]
        blocks = [own @ there / variances[k], own @ scaled, own @ (gaps * scaled) / 2]
        complete.append(np.block([[np.diag(blocks[0]), np.diag(blocks[1])], [np.diag(blocks[1]), np.diag(blocks[2])]]))
    starts = np.arange(n_classes + 1) * (1 + 2 * n_columns)
    information = size_information(weights, masses, starts) - score_covariance(found, masses, scores)
    for k, each in enumerate(complete):
        information[starts[k] + 1 : starts[k + 1], starts[k] + 1 : starts[k + 1]] += each
    # The size of class 0 is the reference; log variances may be the same for all classes.
    columns = np.arange(n_columns)
    places = [starts[k] + 1 + columns for k in range(n_classes)]
    free = np.eye(starts[-1])
    of_logs = [free[:, each + n_columns] for each in places]
    of_logs = [np.sum(of_logs, axis=0)] if tied else of_logs
    design = np.column_stack([free[:, starts[1:-1]], *(free[:, each] for each in places), *of_logs])
    covariance = inverse_information(design.T @ information @ design)
    nothing = np.full((n_classes, n_columns), np.nan)
    if covariance is None:
        return Profiles(np.full(n_classes, np.nan), nothing, nothing)
    covariance = design @ covariance @ design.T
    of_means = np.sqrt(np.maximum(np.diag(covariance)[np.array(places)], 0))
    return Profiles(size_errors(weights, covariance[np.ix_(starts[:-1], starts[:-1])]), of_means, nothing)


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


@method(
    tasks=["unsupervised"],
    when="Scales, measurements or other numbers, with missing values: which types of rows there are, and the mean of "
    "each column in them. Not where columns are correlated within the types: covariances are diagonal.",
    cost="O(n p k) time an iteration",
    paper="latent-structure",
    aliases=("lpa", "latent profile analysis"),
    says="latent profiles",
    examples=lambda: [
        LatentProfile(2, n_init=2, max_iter=30, tol=1e-4),
        LatentProfile(2, covariance_type="tied_diag", n_init=1, max_iter=30, tol=1e-4),
    ],
)
class LatentProfile(RowClasses):
    """Latent profile analysis: normal classes with independent columns, with missing values.

    Parameters
    ----------
    n_components : int, default=2
        Number of profiles.
    covariance_type : {"diag", "tied_diag"}, default="diag"
        Variances of its own for each profile, or the same for all.
    variance_floor : float, default=1e-6
        Smallest variance, as a share of the variance of the column.
    n_init : int, default=10
        Number of starts from k-means; the best is kept.
    max_iter : int, default=1000
        Maximum number of iterations, each of up to three steps of EM.
    tol : float, default=1e-8
        Stop when the log-likelihood changes by less than this share of its size.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Sizes of the profiles, the largest first.
    means_ : ndarray of shape (n_components, n_features)
        Means of the columns in each profile.
    variances_ : ndarray of shape (n_components, n_features)
        Variances of the columns in each profile.
    weight_errors_ : ndarray of shape (n_components,)
        Standard errors of the sizes, from the observed information; NaN where there are more than 600 parameters, or
        the information is singular.
    mean_errors_ : ndarray of shape (n_components, n_features)
        Standard errors of the means, likewise.
    entropy_ : float
        Relative entropy of the posteriors: 1 where every training row belongs to one profile.
    classification_table_ : ndarray of shape (n_components, n_components)
        Expected number of rows of each profile (rows) among those assigned to each profile (columns).
    log_likelihood_ : float
        Of the training rows.
    n_rows_ : float
        Training rows, by weight.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood at the beginning of each iteration, of columns of variance 1.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of profiles.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LatentClass : The same for categories.
    sklearn.mixture.GaussianMixture : With full covariances, for tables without missing values.

    Notes
    -----
    A missing entry (NaN) drops its factor, which is exact where entries are missing at random.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import LatentProfile
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)) + np.where(np.arange(200) < 120, 0, 4)[:, None]
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> model = LatentProfile(2, random_state=0).fit(X)
    >>> model.weights_.round(2), model.means_.round(0) + 0.0
    (array([0.6, 0.4]), array([[0., 0., 0.],
           [4., 4., 4.]]))
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({"diag", "tied_diag"})],
        "variance_floor": [Interval(Real, 0, 1, closed="neither")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        covariance_type="diag",
        variance_floor=1e-6,
        n_init=10,
        max_iter=1000,
        tol=1e-8,
        random_state=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.variance_floor = variance_floor
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the profiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers, NaN where missing.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = validated(self, X, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        weights = row_weights(sample_weight, X)
        weights = np.ones(len(X)) if weights is None else weights
        kept = weights > 0
        X, weights = X[kept].astype(np.float64), weights[kept]
        if len(X) < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} are asked for, and there are {len(X)} rows (n_samples)."
            )
        refuse_empty_columns(self, X)
        standard = self._standardised(X, weights)
        self.n_rows_ = float(weights.sum())
        self.n_components_ = int(self.n_components)
        k, p = self.n_components_, X.shape[1]
        tied = self.covariance_type == "tied_diag"
        self.n_parameters_ = k - 1 + k * p + (p if tied else k * p)
        climber = ProfileClimb(standard, weights, k, tied, float(self.variance_floor))
        step = accelerated(climber.step, climber.settled)
        limits: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        self._climber = climber
        try:
            return self._fit_starts(
                lambda random, on_step: climb(Stride(climber.start(random)), step, on_step=on_step, **limits), X
            )
        finally:
            del self._climber

    def _standardised(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Columns about their mean, with variance 1; the mean and the unit of each are kept."""
        there = ~np.isnan(X)
        masses = np.maximum(weights @ there, 1e-300)
        first = np.nan_to_num(np.take_along_axis(X, there.argmax(axis=0)[None], axis=0)[0])
        # Of large numbers, the mean of differences is more exact than that of the numbers.
        self._offset = first + weights @ np.nan_to_num(X - first) / masses
        centred = X - self._offset
        largest = np.maximum(np.nanmax(np.abs(np.nan_to_num(centred)), axis=0), 1e-300)
        unit = largest * np.sqrt(weights @ np.nan_to_num(centred / largest) ** 2 / masses)
        self._unit = np.where(unit > 1e-10 * np.maximum(np.abs(self._offset), 1e-290), unit, 1.0)
        return centred / self._unit

    def _keep(self, state: Stride) -> None:
        climber = self._climber
        found = climber.profiles(state.vector)
        order = np.argsort(-found.weights, kind="stable")
        found = Profiles(found.weights[order].copy(), found.means[order], found.variances[order])
        self._standard = found
        tied = self.covariance_type == "tied_diag"
        errors = Profiles(*(np.full(each.shape, np.nan) for each in found))
        if self.n_parameters_ <= _MOST_PARAMETERS:
            errors = mean_errors(np.asarray(climber.X), climber.masses, found, tied)
        self.weights_, self.weight_errors_ = found.weights, errors.weights
        self.means_ = found.means * self._unit + self._offset
        self.variances_ = found.variances * self._unit**2
        self.mean_errors_ = errors.means * self._unit
        posteriors, scores = profile_posteriors(climber.X, found)
        self.entropy_ = relative_entropy(posteriors, climber.masses)
        self.classification_table_ = classification_table(posteriors, climber.masses)
        entries = climber.masses @ ~np.isnan(climber.X)
        self.log_likelihood_ = float(climber.masses @ scores - entries @ np.log(self._unit))
        self.score_type_ = "log-likelihood"

    def _class_posteriors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        standard = (X.astype(np.float64) - self._offset) / self._unit
        found, scores = profile_posteriors(standard, self._standard)
        return found, scores - ~np.isnan(standard) @ np.log(self._unit)

    def profile(self):
        """The table of the profiles: sizes, and means of the columns with standard errors.

        Returns
        -------
        profile : ProfileTable
            It prints the table and what it means, and ``plot()`` draws it.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        places = range(self.n_features_in_)
        return ProfileTable(
            columns=[str(known_column(j, self.n_features_in_) if names is None else names[j]) for j in places],
            sizes=self.weights_,
            size_errors=self.weight_errors_,
            means=self.means_,
            mean_errors=self.mean_errors_,
            deviations=np.sqrt(self.variances_),
            standardized=self._standard.means,
            entropy=self.entropy_,
            log_likelihood=self.log_likelihood_,
            n_parameters=self.n_parameters_,
            n_rows=self.n_rows_,
            starts=(self.n_best_starts_, len(self.objectives_)),
        )

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows.
        classes : ndarray of shape (n_samples,)
            The profiles that they were drawn from.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        classes = random.choice(self.n_components_, n_samples, p=self.weights_ / self.weights_.sum())
        noise = random.standard_normal((n_samples, self.n_features_in_))
        return self.means_[classes] + noise * np.sqrt(self.variances_[classes]), classes
