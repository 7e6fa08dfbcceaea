"""Factorisation with missing entries, unequal noise, smooth rows and known columns; see ``_em.py``.

Weights of entries are inverse noise variances, zero for missing entries. A table of ``c * F`` rows holds c coordinates
of F frames: first all frames of the first coordinate, then all of the second. The noise of one frame's c coordinates in
a column may be correlated; its inverse covariance is a c x c block. Where some of them are missing, the block becomes
that of the others, as if the missing had never been measured.

From image coordinates to shape and motion: a factorisation ``W = M S`` of points seen from many sides is found up to an
invertible map Q. Rows of M are a camera's axes if ``m_t' Q Q' m_t = n_t' Q Q' n_t = 1`` and ``m_t' Q Q' n_t = 0`` in
every frame t: linear equations for ``Q Q'`` [1]_.

.. [1] Tomasi, C. and Kanade, T. (1992). Shape and motion from image streams under orthography: a factorization method.
   International Journal of Computer Vision 9, 137-154.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._completer import Completer, usable_rank
from fewer.complete._observed import Observed
from fewer.complete.factorization._em import (
    Fit,
    Model,
    Motion,
    expected,
    fitted,
    frames,
    random_columns,
    starting_columns,
)


def entry_weights(X: np.ndarray, weights: np.ndarray | None, n_coordinates: int) -> np.ndarray:
    """Blocks of shape (n_frames, n_columns, c, c), scaled so that the mean weight of an observed entry is 1."""
    n_rows, n_columns = X.shape
    n_frames = n_rows // n_coordinates
    seen = ~np.isnan(X).reshape(n_coordinates, n_frames, n_columns).transpose(1, 2, 0)
    if weights is None:
        weights = np.ones((n_rows, n_columns))
    if weights.ndim == 2:
        plain = weights.reshape(n_coordinates, n_frames, n_columns).transpose(1, 2, 0)
        blocks = np.zeros((n_frames, n_columns, n_coordinates, n_coordinates))
        at = np.arange(n_coordinates)
        blocks[..., at, at] = np.where(seen, plain, 0.0)
    else:
        blocks = _of_the_seen(weights, seen)
    diagonal = np.einsum("fpcc->fpc", blocks)
    mean = diagonal[seen].mean() if seen.any() else 1.0
    return blocks / mean if mean > 0 else blocks


def _of_the_seen(blocks: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Inverse covariances of the observed coordinates alone."""
    found = np.where((seen[..., :, None] & seen[..., None, :]), blocks, 0.0)
    partly = seen.any(axis=-1) & ~seen.all(axis=-1)
    for frame, column in zip(*np.nonzero(partly), strict=True):
        kept, gone = np.flatnonzero(seen[frame, column]), np.flatnonzero(~seen[frame, column])
        block = blocks[frame, column]
        cross = block[np.ix_(kept, gone)]
        inner = block[np.ix_(gone, gone)]
        found[frame, column][np.ix_(kept, kept)] -= cross @ np.linalg.pinv(inner) @ cross.T
    return found


def weights_complaint(weights: np.ndarray, shape: tuple[int, int], n_coordinates: int) -> str | None:
    """What is wrong with given weights, in words; None when they are fine."""
    n_rows, n_columns = shape
    blocks = (n_rows // n_coordinates, n_columns, n_coordinates, n_coordinates)
    if weights.shape not in (shape, blocks):
        return (
            f"weights have the shape {weights.shape}; they must have that of the table, {shape}, or be blocks of shape "
            f"{blocks}: frames, columns, and inverse covariances of the {n_coordinates} coordinates."
        )
    if not np.isfinite(weights).all():
        return "weights hold NaN or infinity; give weight 0 to entries that must not count."
    if weights.ndim == 2 and (weights < 0).any():
        return "weights hold negative numbers; they are inverse variances of the noise."
    if weights.ndim == 4 and (
        not np.allclose(weights, weights.swapaxes(2, 3)) or np.linalg.eigvalsh(weights).min() < -1e-8 * weights.max()
    ):
        return "blocks of weights must be inverse covariances: symmetric, with no negative eigenvalue."
    return None


PROCESS_SHARES = (1e-2, 1e-3, 1e-3)
_LARGEST_DENSE = 1 << 24


class FactorizationBase(Completer):
    """What both factorisations share: their table as an array, and how a row is filled from the fitted columns."""

    latent_var: float
    noise_var_: float

    def _training_array(self, X) -> np.ndarray:
        table = self._training_table(X)
        if table.dense is None and table.shape[0] * table.shape[1] > _LARGEST_DENSE:
            raise ValueError(
                f"{type(self).__name__} works on whole tables, and this sparse one of {table.shape[0]:,} x "
                f"{table.shape[1]:,} is too large for that; use MMMF, SoftImpute or PCAMissing."
            )
        empty = int((table.row_counts == 0).sum())
        if empty:
            warn_caller(
                f"Nothing is observed of {empty} of {table.shape[0]} rows: their scores are those of the prior."
            )
        self._dtype = table.dtype.name
        return table.with_nan().astype(np.float64)

    def _scores_of(self, table: Observed) -> np.ndarray:
        return self._latent_of(table).means.astype(table.dtype)

    def _latent_of(self, table: Observed):
        """Each row alone, whatever ties the rows of the fit had."""
        X = table.with_nan().astype(np.float64)
        weights = (~np.isnan(X)).astype(np.float64)[..., None, None]
        columns = self.loadings_.astype(np.float64)
        return expected(frames(X, 1), weights, columns, self.noise_var_, Model(self.latent_var))

    def score(self, X, y=None):
        """Mean log-likelihood of what is observed of rows, each alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing values (NaN); in a sparse one, what is not stored is missing.
        y : Ignored
            Not used.

        Returns
        -------
        score : float
            Higher is better.
        """
        table = self._new_table(X).without(self.n_observed_ == 0)
        return self._latent_of(table).log_likelihood / table.shape[0]


@method(
    tasks=["unsupervised"],
    when="A table with missing values and unequal noise, known for each entry, or with rows that follow in time.",
    cost="O(n p k^2 + (n + p) k^3) time for a step; O(n p) memory",
    paper="sfm-factorization",
    depends_on_scale="with a number for noise_var or with affine=True, variances have the squared unit of the table",
    depends_on_shift="it fits the table as it is, with a prior that has mean zero",
)
class WeightedFactorization(FactorizationBase):
    """Impute missing entries by factors that weigh every entry by its noise, and rows by their neighbours in time.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the model, r; in an affine one the last is the offset of the row.
    weights : array-like, default=None
        Inverse variances of the noise: one for each entry, of the shape of the table; or inverse covariances of the
        coordinates, of shape (n_frames, n_features, n_coordinates, n_coordinates). They are brought to a mean of 1.
        Weights of missing entries are ignored.
    n_coordinates : int, default=1
        Rows that are measured together: the table holds all frames of the first coordinate, then all of the second ...,
        so that it has n_frames times n_coordinates rows. Noise may be correlated among them, and they share a time.
    affine : bool, default=False
        The last component of every column is 1, so that each row has an offset of its own.
    temporal : {"second_order"}, default=None
        Frames follow each other in time, with position, velocity and acceleration that change little by little.
    process_var : tuple of 3 floats, default=None
        How much position, velocity and acceleration may change from frame to frame (variances); by default 0.01, 0.001
        and 0.001 times the variance of the table.
    col_prior : array-like of shape (n_components, n_features), default=None
        What the components are expected to be.
    col_prior_weight : float, default=1.0
        How firmly: the weight w in ``exp(-w * ||S - S0||_F^2)``; only with ``col_prior``.
    latent_var : float, default=10.0
        Prior variance of rows' coordinates. A finite one is needed: with more and more, components shrink towards zero.
    noise_var : float or array-like of shape (n_samples, n_features), default=None
        Variance of the noise at the mean weight, or that of each entry. By default it is estimated.
    max_iter : int, default=200
        Steps of EM at most.
    tol : float, default=1e-6
        Stop when a step raises the log-likelihood of an observed entry by no more than this, on average.
    n_init : int, default=1
        Starts. The first is from ``col_prior`` or singular vectors, others are drawn at random; the most likely fit is
        kept.
    missing_values : int, float, np.nan, None or pandas.NA, default=np.nan
        What stands for a missing value; None and ``pandas.NA`` mean the same as NaN. In a sparse table, entries that
        are not stored are missing, too.
    add_indicator : bool, default=False
        Whether ``transform`` appends, for each column with missing values in ``fit``, a column of 1 where the entry was
        missing and 0 elsewhere.
    keep_empty_features : bool, default=False
        Keep columns of which nothing is observed, filled with 0, in what ``transform`` gives.
    random_state : int, RandomState instance or None, default=None
        Draws the starts after the first.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        S: what each column is made of.
    scores_ : ndarray of shape (n_samples, n_components)
        Expected coordinates of the rows, given all that is observed.
    score_cov_ : ndarray of shape (n_samples, n_components, n_components)
        Their covariances.
    noise_var_ : float
        Variance of the noise at a weight of 1.
    log_likelihood_ : float
        Of what is observed.
    log_likelihoods_ : ndarray of shape (n_iter + 1,)
        At the start and after each step.
    n_iter_ : int
        Steps taken.
    loadings_ : ndarray of shape (n_features, n_components)
        ``components_`` transposed; the model is ``scores_ @ loadings_.T``.
    mean_ : ndarray of shape (n_features,)
        Zero: columns have no offsets, rows have them in an affine model.
    n_observed_ : ndarray of int of shape (n_features,)
        Observed entries of each column.
    indicator_ : MissingIndicator or None
        The columns that ``add_indicator`` appends an indicator of; None without it.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SubspaceSegmentation : Columns that belong to different things in motion.
    metric_upgrade : Shape and motion from image coordinates.
    PCAMissing : Offsets of columns, and as sure as it can be.

    Notes
    -----
    ``transform`` fills each row from the fitted components alone, as a row of its own with equal noise: neither time
    nor weights are known of new rows. The training table with all that is known of it is ``reconstruct(scores_)``.

    Components are found up to an invertible map of the latent space.

    References
    ----------
    .. [1] Gruber, A. and Weiss, Y. (2006). Incorporating constraints and prior knowledge into factorization algorithms:
       an application to 3D recovery. Subspace, Latent Structure and Feature Selection, LNCS 3940, 151-162.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import WeightedFactorization
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 20))
    >>> table = np.where(rng.random(truth.shape) < 0.3, np.nan, truth + 0.01 * rng.normal(size=truth.shape))
    >>> filled = WeightedFactorization(n_components=2).fit_transform(table)
    >>> bool(np.abs(filled - truth).max() < 0.1)
    True
    """

    _parameter_constraints = {
        **Completer._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "weights": ["array-like", None],
        "n_coordinates": [Interval(Integral, 1, None, closed="left")],
        "affine": ["boolean"],
        "temporal": [StrOptions({"second_order"}), None],
        "process_var": [tuple, list, None],
        "col_prior": ["array-like", None],
        "col_prior_weight": [Interval(Real, 0, None, closed="left")],
        "latent_var": [Interval(Real, 0, None, closed="neither")],
        "noise_var": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        weights=None,
        n_coordinates=1,
        affine=False,
        temporal=None,
        process_var=None,
        col_prior=None,
        col_prior_weight=1.0,
        latent_var=10.0,
        noise_var=None,
        max_iter=200,
        tol=1e-6,
        n_init=1,
        missing_values=np.nan,
        add_indicator=False,
        keep_empty_features=False,
        random_state=None,
    ):
        super().__init__(
            missing_values=missing_values, add_indicator=add_indicator, keep_empty_features=keep_empty_features
        )
        self.n_components = n_components
        self.weights = weights
        self.n_coordinates = n_coordinates
        self.affine = affine
        self.temporal = temporal
        self.process_var = process_var
        self.col_prior = col_prior
        self.col_prior_weight = col_prior_weight
        self.latent_var = latent_var
        self.noise_var = noise_var
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        table = self._training_array(X)
        rank = usable_rank(self.n_components, (table.shape[0], table.shape[1] + self.affine))
        weights, noise_var = self._noise(table)
        blocks = entry_weights(table, weights, self.n_coordinates)
        model = self._model(table, rank, noise_var)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        values = frames(table, self.n_coordinates)
        with fit_steps(self, X) as after_step:
            best: Fit | None = None
            for start in range(self.n_init):
                if start > 0:
                    columns = random_columns(table, rank, self.latent_var, self.affine, rng)
                elif model.prior is not None:
                    columns = model.prior
                else:
                    columns = starting_columns(table, rank, self.latent_var, self.affine)
                found = fitted(
                    values,
                    blocks,
                    columns,
                    model,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    on_step=lambda log_likelihood: after_step("step"),
                )
                if best is None or found.latent.log_likelihood > best.latent.log_likelihood:
                    best = found
                if found.stopped:
                    break
            assert best is not None
            self._keep(best, table.shape[0])
        if not (best.converged or best.stopped):
            rise = (best.log_likelihoods[-1] - best.log_likelihoods[-2]) / abs(best.log_likelihoods[-1])
            warn_caller(
                f"Step {self.n_iter_} still raised the log-likelihood by {rise:.1e} of it; tol={self.tol:g} was asked. "
                "Raise max_iter, or tol if that is near enough.",
                ConvergenceWarning,
            )

    def _noise(self, table: np.ndarray) -> tuple[np.ndarray | None, float | None]:
        """Weights of entries, and the noise at a weight of 1 where it is given."""
        if table.shape[0] % self.n_coordinates:
            raise ValueError(f"{table.shape[0]} rows cannot hold {self.n_coordinates} coordinates of each frame.")
        weights = None if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        if self.noise_var is not None and np.ndim(self.noise_var) > 0:
            if weights is not None:
                raise ValueError("Give either weights or a noise_var for each entry: one is the inverse of the other.")
            variances = np.broadcast_to(np.asarray(self.noise_var, dtype=np.float64), table.shape)
            weights = 1 / np.where(np.isnan(table), 1.0, variances)
            return weights, float(1 / weights[~np.isnan(table)].mean())
        if weights is not None:
            if weights.shape == table.shape:
                weights = np.where(np.isnan(table), 1.0, weights)  # weights of missing entries are ignored
            complaint = weights_complaint(weights, table.shape, self.n_coordinates)
            if complaint:
                raise ValueError(complaint)
        return weights, None if self.noise_var is None else float(self.noise_var)

    def _model(self, table: np.ndarray, rank: int, noise_var: float | None) -> Model:
        prior = None
        if self.col_prior is not None:
            prior = np.asarray(self.col_prior, dtype=np.float64).T
            if prior.shape != (table.shape[1], rank):
                raise ValueError(f"col_prior has the shape {prior.T.shape}; components have {(rank, table.shape[1])}.")
        motion = None
        if self.temporal is not None:
            size = float(np.nanvar(table)) or 1.0
            given = self.process_var or tuple(share * size for share in PROCESS_SHARES)
            if len(given) != 3:
                raise ValueError(f"process_var takes three variances, not {len(given)}.")
            motion = Motion(*map(float, given))
        weight = 0.0 if prior is None else float(self.col_prior_weight)
        return Model(self.latent_var, motion, self.affine, prior, weight, noise_var)

    def _keep(self, best: Fit, n_rows: int) -> None:
        c = self.n_coordinates
        n_frames, k = best.latent.means.shape
        r = k // c
        means = best.latent.means.reshape(n_frames, c, r).transpose(1, 0, 2).reshape(n_rows, r)
        spread = best.latent.covariances.reshape(n_frames, c, r, c, r)
        at = np.arange(c)
        self.scores_ = means.astype(self._dtype)
        self.score_cov_ = spread[:, at, :, at, :].reshape(n_rows, r, r).astype(self._dtype)
        self.loadings_ = best.columns.astype(self._dtype)
        self.loadings_[self.n_observed_ == 0] = 0
        self.components_ = self.loadings_.T
        self.mean_ = np.zeros(len(self.loadings_), dtype=self._dtype)
        self.noise_var_ = float(best.noise_var)
        self.log_likelihood_ = best.latent.log_likelihood
        self.log_likelihoods_ = np.array(best.log_likelihoods)
        self.n_iter_ = len(best.log_likelihoods) - 1


class MetricUpgrade(NamedTuple):
    """Camera axes and points after the map Q; ``metric`` is False where no map makes the axes orthonormal."""

    motion: np.ndarray
    shape: np.ndarray
    Q: np.ndarray
    metric: bool


def metric_upgrade(motion: np.ndarray, shape: np.ndarray) -> MetricUpgrade:
    """Turn an affine reconstruction of points into one with right angles and lengths.

    Parameters
    ----------
    motion : array-like of shape (2 * n_frames, 3)
        Camera axes up to a map: horizontal ones of all frames, then vertical ones (``scores_`` of an affine
        ``WeightedFactorization`` without their last column).
    shape : array-like of shape (3, n_points)
        Points up to the inverse map (``components_`` without its last row).

    Returns
    -------
    upgrade : MetricUpgrade
        ``motion @ Q``, ``Q^-1 @ shape``, ``Q``, and whether it is metric: where noise leaves no such map, Q is the
        identity, with a warning. What is left open is a rotation, and whether the points are seen in a mirror.

    References
    ----------
    .. [1] Tomasi, C. and Kanade, T. (1992). Shape and motion from image streams under orthography: a factorization
       method. International Journal of Computer Vision 9, 137-154.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import metric_upgrade
    >>> angles = np.linspace(0, 1, 8)
    >>> across = np.column_stack([np.cos(angles), np.sin(angles) * 0.6, np.sin(angles) * 0.8])
    >>> up = np.column_stack([0 * angles, 0 * angles + 0.8, 0 * angles - 0.6])
    >>> map = np.array([[2.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.1, 0.0, 0.7]])
    >>> points = np.random.default_rng(0).normal(size=(3, 5))
    >>> found = metric_upgrade(np.vstack([across, up]) @ map, np.linalg.inv(map) @ points)
    >>> bool(np.allclose(found.shape.T @ found.shape, points.T @ points))
    True
    """
    motion, shape = np.asarray(motion, dtype=float), np.asarray(shape, dtype=float)
    if motion.ndim != 2 or motion.shape[1] != 3 or len(motion) % 2 or shape.ndim != 2 or len(shape) != 3:
        raise ValueError(
            f"motion must have 3 columns and two rows for each frame, shape 3 rows; they are {motion.shape} and "
            f"{shape.shape}. An affine factorisation has a fourth, the offsets: leave it out."
        )
    if not (np.isfinite(motion).all() and np.isfinite(shape).all()):
        raise ValueError("motion and shape must be complete and finite; fit a completer to the table first.")
    across, up = np.split(motion, 2)
    equations = np.vstack([_products(across, across), _products(up, up), _products(across, up)])
    wanted = np.concatenate([np.ones(len(motion)), np.zeros(len(across))])
    entries = np.linalg.lstsq(equations, wanted)[0]
    upper, lower = np.triu_indices(3)
    square = np.zeros((3, 3))
    square[upper, lower] = entries
    square[lower, upper] = entries
    eigenvalues = np.linalg.eigvalsh(square)
    if not eigenvalues[0] > 1e-9 * abs(eigenvalues[-1]):
        warn_caller(
            "No map makes the camera's axes orthonormal (the points may be seen from too few sides, or with too much "
            "noise): the reconstruction stays affine."
        )
        return MetricUpgrade(motion, shape, np.eye(3), False)
    Q = np.linalg.cholesky(square)
    return MetricUpgrade(motion @ Q, np.linalg.solve(Q, shape), Q, True)


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Coefficients of a symmetric matrix's upper triangle in ``a' L b``, one row for each pair (a, b)."""
    upper, lower = np.triu_indices(3)
    both = first[:, upper] * second[:, lower] + first[:, lower] * second[:, upper]
    return np.where(upper == lower, both / 2, both)
