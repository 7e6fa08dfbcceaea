"""Common principal components, ranked by how well they separate classes.

In coordinates with total covariance I, an orthogonal U of axes that the covariances S_k of all classes have in common,
as nearly as possible, minimises

    sum_k n_k log( det diag(U'S_k U) / det(U'S_k U) ),

which is zero if all S_k are diagonal in it [1]_. Sweeps rotate one pair of axes after the other and never raise it.
Axis u_j with variances lambda_jk is ranked by its likelihood ratio

    LR(u_j) = - sum_k pi_k log lambda_jk.

If all S_k are diagonal in these axes, LR of any direction a is ``-sum_k pi_k log sum_j w_j lambda_jk`` with
``w_j = (a'u_j)^2``: convex in w, which adds up to 1, so that no direction has a larger LR than the best axis.

References
----------
.. [1] Flury, B. N. and Gautschi, W. (1986). An algorithm for simultaneous orthogonal transformation of several positive
   definite symmetric matrices to nearly diagonal form. SIAM Journal on Scientific and Statistical Computing 7, 169-184.
"""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import stats
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.extract._centred_table import rank_tolerance, uncorrelated
from fewer.extract.gaussian_directions._moments import SlicedExtractor, group_moments, refuse_flat_classes

_TURNS = 20
_STILL = 1e-14
# Logs are rounded: a turn that raises their sum by no more than this share of the weights has not raised it.
_ROUNDING = 1e-14


@njit(cache=True, nogil=True)
def _plane_turn(planes, weights):
    """Cosine and sine of the rotation of one plane that minimises the weighted sum of log products of diagonals.

    ``planes`` has one row ``(t_jj, t_jl, t_ll)`` for each matrix. Given a rotation with diagonals d_1 and d_2, the next
    one has the eigenvectors of ``sum_k n_k (d_k1 - d_k2) / (d_k1 d_k2) T_k``.
    """
    cosine, sine = 1.0, 0.0
    for _ in range(_TURNS):
        a, b, c = 0.0, 0.0, 0.0
        for k in range(planes.shape[0]):
            first, cross, second = planes[k]
            d1 = cosine * cosine * first + 2 * cosine * sine * cross + sine * sine * second
            d2 = sine * sine * first - 2 * cosine * sine * cross + cosine * cosine * second
            share = weights[k] * (d1 - d2) / (d1 * d2)
            a += share * first
            b += share * cross
            c += share * second
        # The smaller of the two angles that diagonalise: axes keep their places.
        angle = 0.5 * np.arctan2(2 * b, a - c)
        if angle > np.pi / 4:
            angle -= np.pi / 2
        elif angle < -np.pi / 4:
            angle += np.pi / 2
        turned = np.cos(angle), np.sin(angle)
        change = abs(turned[0] * sine - turned[1] * cosine)
        cosine, sine = turned
        if change < _STILL:
            break
    before, after = 0.0, 0.0
    for k in range(planes.shape[0]):
        first, cross, second = planes[k]
        d1 = cosine * cosine * first + 2 * cosine * sine * cross + sine * sine * second
        d2 = sine * sine * first - 2 * cosine * sine * cross + cosine * cosine * second
        before += weights[k] * (np.log(first) + np.log(second))
        after += weights[k] * (np.log(d1) + np.log(d2))
    if after > before + _ROUNDING * weights.sum():
        return 1.0, 0.0
    return cosine, sine


@njit(cache=True, nogil=True)
def sweep_of_turns(matrices, axes, weights):
    """Turn every pair of axes once, ``matrices`` (A'S_k A) and ``axes`` (A) in place; gives the largest sine."""
    n_matrices, n_dims = matrices.shape[:2]
    planes = np.empty((n_matrices, 3))
    largest = 0.0
    for j in range(n_dims - 1):
        for m in range(j + 1, n_dims):
            for k in range(n_matrices):
                planes[k, 0] = matrices[k, j, j]
                planes[k, 1] = matrices[k, j, m]
                planes[k, 2] = matrices[k, m, m]
            cosine, sine = _plane_turn(planes, weights)
            largest = max(largest, abs(sine))
            if sine == 0.0:
                continue
            for i in range(n_dims):
                kept = axes[i, j]
                axes[i, j] = cosine * kept + sine * axes[i, m]
                axes[i, m] = cosine * axes[i, m] - sine * kept
            for k in range(n_matrices):
                for i in range(n_dims):
                    kept = matrices[k, i, j]
                    matrices[k, i, j] = cosine * kept + sine * matrices[k, i, m]
                    matrices[k, i, m] = cosine * matrices[k, i, m] - sine * kept
                for i in range(n_dims):
                    kept = matrices[k, j, i]
                    matrices[k, j, i] = cosine * kept + sine * matrices[k, m, i]
                    matrices[k, m, i] = cosine * matrices[k, m, i] - sine * kept
    return largest


class CommonAxes(NamedTuple):
    """Axes as columns, variances along them (classes, axes), the objective, and the largest turn of the last sweep."""

    axes: np.ndarray
    variances: np.ndarray
    objective: float
    turn: float


def common_axes(covariances: np.ndarray, counts: np.ndarray, tol: float, max_iter: int) -> Iterator[CommonAxes]:
    """What each sweep leads to, from the axes of the pooled covariance on, until no pair turns by more than ``tol``."""
    weights = counts.astype(np.float64)
    start = np.linalg.eigh(np.tensordot(weights / weights.sum(), covariances, axes=1))[1]
    axes = np.ascontiguousarray(start)
    matrices = np.ascontiguousarray(axes.T @ covariances @ axes)
    log_determinants = np.linalg.slogdet(covariances)[1]
    for _ in range(max_iter):
        turn = sweep_of_turns(matrices, axes, weights)
        variances = np.einsum("kii->ki", matrices)
        objective = float(weights @ (np.log(variances).sum(axis=1) - log_determinants))
        yield CommonAxes(axes.copy(), variances.copy(), objective, turn)
        if turn <= tol:
            return


_CURE = "leave columns out, have PCA as the step before, or use GaussianLRDiscriminant with shrinkage."
_REJECTED = 0.01


@method(
    tasks=["classification", "regression"],
    when="Classes have their axes in common and differ in spread along them; all directions are wanted at once.",
    cost="O(n p^2 + s c p^3) time for c classes and s sweeps; O(n p + c p^2) memory",
    paper="zhu-qda-save-cpc",
)
class CPCDiscriminant(CallbackSupportMixin, SlicedExtractor):
    """Axes that the covariances of all classes have in common, those that separate the classes best first.

    Parameters
    ----------
    n_components : int, default=2
        Number of axes, up to that of the columns; None for all.
    tol : float, default=1e-10
        Stop when a sweep rotates no pair of axes by a larger angle.
    max_iter : int, default=200
        Maximum number of sweeps.
    n_slices : int, default=None
        Number of slices of a numeric target. By default its values are classes if they are whole numbers with repeats,
        and are cut into ten slices otherwise, fewer where these would have fewer rows than twice the columns.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The axes; new columns are uncorrelated and have unit variance.
    scores_ : ndarray of shape (n_components,)
        Likelihood ratio of each axis, for a row, decreasing.
    variances_ : ndarray of shape (n_components, n_classes)
        Variance of each class along each axis.
    objectives_ : ndarray of shape (n_iter,)
        Objective after each sweep.
    fit_statistic_ : float
        The objective reached: 0 if the axes are exactly common to all classes, and chi-square distributed if they are
        so in the population and classes are normal.
    p_value_ : float
        P-value of the hypothesis that they are.
    classes_ : ndarray of shape (n_classes,)
        The classes, or the mean target of each slice.
    mean_ : ndarray of shape (n_features,)
        Column means of the training table.
    whitening_ : ndarray of shape (n_features, n_dimensions)
        From centred rows to uncorrelated coordinates of unit variance.
    n_iter_ : int
        Sweeps made.
    n_components_ : int
        Number of axes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    GaussianLRDiscriminant : The best directions whether or not axes are common.

    Notes
    -----
    Where classes have their axes in common, no direction separates them better than the first of these. Where they have
    not, there is a warning, and the axes are candidates only.

    References
    ----------
    .. [1] Zhu, M. (2001). Feature extraction and dimension reduction with applications to classification and the
       analysis of co-occurrence data. PhD dissertation, Stanford University, chapter 5.
    .. [2] Flury, B. (1984). Common principal components in k groups. Journal of the American Statistical Association
       79, 892-898.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import CPCDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["inner", "outer"], 500)
    >>> X = rng.normal(size=(1000, 3)) * np.where((y == "outer")[:, None], [1, 2, 5], 1)
    >>> CPCDiscriminant().fit(X, y).variances_.round(1)
    array([[0.1, 1.9],
           [0.4, 1.6]])
    """

    _parameter_constraints = {
        **SlicedExtractor._parameter_constraints,
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_components=2, tol=1e-10, max_iter=200, n_slices=None):
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_slices = n_slices

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the axes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes, or numbers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, codes = self._sliced(X, y, with_covariances=True)
        coordinates = uncorrelated(X)
        n_dims = coordinates.to.shape[1]
        kept = self._number_of_components(n_dims, "the dimensions of the table")
        moments, counts = group_moments(X, codes, coordinates), np.bincount(codes)
        refuse_flat_classes(moments, self.classes_, counts, rank_tolerance(X), _CURE)
        with fit_steps(self, X, y) as after_step:
            objectives, stopped = [], False
            for found in common_axes(moments.covariances, counts, self.tol, self.max_iter):
                objectives.append(found.objective)
                stopped = after_step("sweep")
                if stopped:
                    break
            scores = -moments.priors @ np.log(found.variances)
            order = np.argsort(-scores, kind="stable")[:kept]
            self.scores_ = scores[order]
            self.variances_ = found.variances.T[order]
            self.objectives_ = np.array(objectives)
            self.n_iter_ = len(objectives)
            self.fit_statistic_ = max(found.objective, 0.0)
            freedom = (len(counts) - 1) * n_dims * (n_dims - 1) / 2
            self.p_value_ = float(stats.chi2.sf(self.fit_statistic_, freedom)) if freedom else 1.0
            self._keep(coordinates, found.axes[:, order], X.dtype)
        if not stopped:
            self._warn_of_the_fit(found.turn)
        return self

    def _warn_of_the_fit(self, turn: float) -> None:
        if turn > self.tol:
            warn_caller(
                f"Sweep {self.n_iter_} still rotated a pair of axes by {turn:.1e}; tol={self.tol:g} was asked for. "
                "Raise max_iter, or tol if that is accurate enough.",
                ConvergenceWarning,
            )
        if self.p_value_ < _REJECTED:
            warn_caller(
                f"The classes have no axes in common (fit_statistic_ {self.fit_statistic_:.1f}, p = "
                f"{self.p_value_:.1g}): the axes found are a compromise, and other directions may separate the "
                "classes better. GaussianLRDiscriminant finds them."
            )
