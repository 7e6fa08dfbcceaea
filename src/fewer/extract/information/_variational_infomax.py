"""The projection that keeps most information about non-Gaussian rows; ``_bound`` has the mathematics."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.extract._centred_table import RowSpace, row_space
from fewer.extract._extractor import LinearExtractor, upright
from fewer.extract.information._bound import Channel, bound
from fewer.extract.information._im_algorithm import (
    Auxiliary,
    Fit,
    Receiver,
    Recipe,
    Starts,
    best_of_starts,
    receiver_of,
)

_SMALL_TABLE = 1_000_000
"""Cells; up to so many, a sparse table is made dense, so that both give the same to the last bit."""
_SMALLEST = 1e-100
"""Mean variance with whose powers one can still reckon, and the inverse of the largest."""
_FLOOR = 0.05
"""Share of the mean variance of a column that is added to the decoders' covariances by default."""


class Decoder(NamedTuple):
    """What is expected of a row given its code and the state of the auxiliary variable: ``N(U y, S)``, about the mean.

    ``S`` is ``floor`` times the identity, but for ``inner`` along the orthonormal ``axes``: in the span of the training
    rows.
    """

    U: np.ndarray
    axes: np.ndarray
    inner: np.ndarray
    floor: float

    @property
    def S(self) -> np.ndarray:  # noqa: N802  # as the paper calls it
        """The covariance, of columns by columns."""
        known = self.inner - self.floor * np.eye(len(self.inner))
        return self.floor * np.eye(len(self.axes)) + self.axes @ known @ self.axes.T


def recipe_for(model: Any, variances: np.ndarray, *, fixed: bool = False) -> Recipe:
    """What the parameters of a model ask for on a table with these variances of columns."""
    reg = _FLOOR * float(variances.mean()) if isinstance(model.reg_covar, str) else float(model.reg_covar)
    channel = Channel(float(model.noise_variance), reg, len(variances))
    return Recipe(channel, model.objective == "hybrid", model.aux == "free", model.max_iter, model.tol, fixed)


def spanned(X: Any, who: str) -> tuple[RowSpace, np.ndarray]:
    """Rows in the coordinates of their span, by decreasing variance, and the variance of each column."""
    if sparse.issparse(X) and X.shape[0] * X.shape[1] <= _SMALL_TABLE:
        X = X.toarray()
    space = row_space(X if sparse.issparse(X) else np.ascontiguousarray(X))
    if not space.rows.shape[1]:
        raise ValueError(f"All rows of X are the same, so there is no information for {who} to keep.")
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.einsum("pr,r,pr->p", space.axes, np.mean(space.rows**2, axis=0), space.axes)
    if not _SMALLEST < variances.mean() < 1 / _SMALLEST:
        raise ValueError(
            f"The columns of X have a mean variance of {variances.mean():.2g}, and {who} multiplies such numbers with "
            "one another: give X in other units, or standardise the columns."
        )
    return space, variances


def gaussian_receiver(Z: np.ndarray, W: np.ndarray, channel: Channel) -> tuple[Receiver, float]:
    """One decoder for all rows, and its bound."""
    pi = np.ones((len(Z), 1))
    receiver = receiver_of(Z, W, pi, Auxiliary(None, None), channel, sent=False)
    return receiver, bound(pi, receiver.decoders, channel, sent=False)


@method(
    tasks=["unsupervised"],
    when="Rows are to be reconstructed from a few noisy numbers (a narrow channel, a short code), and they are "
    "far from Gaussian: clusters of different shape, a few rows with most of the variance. Otherwise PCA, which is its "
    "answer for Gaussian rows.",
    cost="O(J (n r^2 + r^3)) time for each of some hundred moves, for J decoders and r = min(n, p); O(n r) memory",
    paper="avim",
    examples=lambda: [
        VariationalInfoMax(n_init=1, max_iter=3),
        VariationalInfoMax(n_components=3, objective="hybrid", n_init=1, max_iter=3),
        VariationalInfoMax(n_aux=2, aux="free", n_init=2, max_iter=4),
    ],
    depends_on_scale="noise_variance has the squared unit of the columns",
)
class VariationalInfoMax(CallbackSupportMixin, LinearExtractor):
    """Orthonormal directions whose noisy coordinates keep the most information about the rows.

    A row is sent as its coordinates along the directions plus noise, and decoded by one of several linear decoders,
    which an auxiliary variable chooses. Directions, decoders and auxiliary variable together maximise a lower bound on
    the information that the code has about the row. With a single decoder, the answer is PCA.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions.
    n_aux : int, default=3
        Number of decoders.
    noise_variance : float, default=1.0
        Variance of the noise in each coordinate. It is in the units of the table: standardise the columns first, or
        divide all of them by one number.
    objective : {"auxiliary", "hybrid", "gaussian"}, default="auxiliary"
        "auxiliary" if the receiver gets the code only, "hybrid" if it also gets the number of the decoder, which serves
        reconstruction; "gaussian" is PCA, with its decoder.
    aux : {"softmax", "free"}, default="softmax"
        How the auxiliary variable depends on a row: by linear functions of it, or in any way, which is faster and gives
        a larger bound that holds less for new rows.
    reg_covar : float or "auto", default="auto"
        Added to the variances of all decoders, without which the bound has no limit for fewer rows than columns. "auto"
        is a twentieth of the mean variance of a column. Bounds are comparable only with equal ``reg_covar`` and noise.
    max_iter : int, default=100
        Maximum number of steps from each start; one is ten moves of directions and auxiliary variable uphill, or four
        turns of each if the variable is free.
    tol : float, default=1e-4
        A start ends when a step gains less, in nats. Bounds for other rows of the same kind differ by far more.
    n_init : int, default=10
        Number of starts, of which the best is kept. By turns, the auxiliary variable starts at random, hardly depending
        on the rows, and from clusters of them. All take two steps, and the best fifth of each kind goes on. Of more
        than 5,000 rows, as many are drawn to choose the best start.
    init : {"pca", "random"}, default="pca"
        Directions to start with.
    n_jobs : int or None, default=None
        Number of threads for the starts.
    random_state : int, RandomState instance or None, default=None
        Draws the starts, and the noise of ``transform``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions. Of all rotations that keep as much, that with uncorrelated coordinates, by decreasing variance.
    mean_ : ndarray of shape (n_features,)
        Mean of each column.
    decoders_ : list of Decoder
        Each with ``U`` of shape (n_features, n_components) and the covariance ``S``. Fewer than ``n_aux`` if no row
        uses some.
    aux_weights_ : tuple of ndarray or None
        v of shape (n_decoders, n_features) and b of shape (n_decoders,): decoder j has probability proportional to
        ``exp(-(v_j'(x - mean) + b_j))``. None if it is free.
    aux_prior_ : ndarray of shape (n_decoders,)
        Share of the rows for each decoder.
    bound_ : ndarray of shape (n_iter + 1,)
        The bound at the best start and after each of its steps, in nats, without the entropy of the table, which is the
        same for all projections. Its last entry is comparable with ``gaussian_bound_``.
    gaussian_bound_ : float
        The same for PCA with one decoder.
    restart_bounds_ : ndarray of shape (n_init,)
        The bound reached from each start, on the rows that were drawn for it.
    subspace_overlap_ : ndarray of shape (n_components,)
        Cosines of the angles between the directions and as many principal ones, decreasing; all 1 for the same span.
    reg_covar_ : float
        What was added to the decoders' variances.
    n_iter_ : int
        Steps from the best start.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    compare_to_pca : What it gained over PCA, also on new rows.
    information_bound : The bound for any projection.

    Notes
    -----
    The auxiliary variable chooses a decoder, and is not part of the code, so that separating groups of rows has no
    priority. The directions differ from PCA where much variance is carried by few rows, or where groups vary along
    different directions.

    For a table of many rows and many columns, take the leading principal components first: time grows with the cube of
    the smaller number.

    References
    ----------
    .. [1] Agakov, F. and Barber, D. (2006). Auxiliary variational information maximization for dimensionality
       reduction. Subspace, Latent Structure and Feature Selection, LNCS 3940, 103-114.

    Examples
    --------
    Most rows vary along the first column, a few vary wildly along the second:

    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from fewer.extract import VariationalInfoMax
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 4)) * [2.0, 0.2, 0.2, 0.2]
    >>> X[:25, 1] += rng.normal(scale=15, size=25)
    >>> model = VariationalInfoMax(n_components=1, random_state=0).fit(X)
    >>> np.abs(model.components_).argmax(), np.abs(PCA(1).fit(X).components_).argmax()
    (np.int64(0), np.int64(1))
    >>> bool(model.bound_[-1] > model.gaussian_bound_ + 1)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_aux": [Interval(Integral, 1, None, closed="left")],
        "noise_variance": [Interval(Real, 0, None, closed="neither")],
        "objective": [StrOptions({"auxiliary", "hybrid", "gaussian"})],
        "aux": [StrOptions({"softmax", "free"})],
        "reg_covar": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"pca", "random"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    _nested = False
    _takes_sparse = True

    def __init__(
        self,
        n_components=2,
        *,
        n_aux=3,
        noise_variance=1.0,
        objective="auxiliary",
        aux="softmax",
        reg_covar="auto",
        max_iter=100,
        tol=1e-4,
        n_init=10,
        init="pca",
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_aux = n_aux
        self.noise_variance = noise_variance
        self.objective = objective
        self.aux = aux
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "VariationalInfoMax":
        """Find directions and decoders.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : Ignored
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._learn(self._validated(X))

    @with_callbacks
    def _fitted_to(self, X: Any, directions: np.ndarray) -> "VariationalInfoMax":
        """With decoders for given directions, which stay as they are."""
        return self._learn(self._validated(X), directions)

    def _learn(self, X: Any, directions: np.ndarray | None = None) -> "VariationalInfoMax":
        """Directions and decoders; decoders only, if directions are given."""
        space, variances = spanned(X, type(self).__name__)
        recipe = recipe_for(self, variances, fixed=directions is not None)
        Z = space.rows
        if directions is None:
            n_components = self._number_of_components(Z.shape[1], "the rank of the centred table")
            first = principal = np.eye(n_components, Z.shape[1])
        else:
            first, principal = directions @ space.axes, np.eye(min(len(directions), Z.shape[1]), Z.shape[1])
        with fit_steps(self, X) as after_step:
            stopped = False

            def stop() -> bool:
                nonlocal stopped
                stopped = stopped or after_step("im-step")
                return stopped

            receiver, gaussian = gaussian_receiver(Z, first, recipe.channel)
            fit = Fit(first, np.ones((len(Z), 1)), receiver.auxiliary, [gaussian])
            bounds = np.array(fit.trace)
            if self.objective != "gaussian":
                starts = Starts(self.n_init, self.n_aux, self.init == "random")
                rng = check_random_state(self.random_state)
                fit, bounds = best_of_starts(space, first, starts, recipe, rng, self.n_jobs, stop)
                receiver = receiver_of(Z, fit.W, fit.pi, fit.auxiliary, recipe.channel, sent=recipe.sent)
            self._settle(receiver, space, X.dtype)
            self.bound_, self.n_iter_ = np.array(fit.trace), len(fit.trace) - 1
            self.gaussian_bound_ = (
                gaussian_receiver(Z, principal, recipe.channel)[1] if directions is not None else gaussian
            )
            self.restart_bounds_ = bounds
        if fit.gain >= max(self.tol, 1e-12) and not stopped:
            warn_caller(
                f"The bound still gained {fit.gain:.2g} nats in the last of {self.n_iter_} steps; raise max_iter or "
                "tol.",
                ConvergenceWarning,
            )
        return self

    def _settle(self, receiver: Receiver, space: RowSpace, dtype: Any) -> None:
        """Set what a fit leaves, with the directions turned to uncorrelated coordinates."""
        W, decoders, shares = receiver.W, receiver.decoders, receiver.prior
        _, turn = np.linalg.eigh(W @ np.einsum("j,jab->ab", shares, decoders.C) @ W.T)
        components = turn[:, ::-1].T @ W @ space.axes.T
        upwards = np.sign(np.einsum("kp,kp->k", upright(components), components))
        self._receiver = receiver.turned(upwards[:, None] * turn[:, ::-1].T)
        self._axes, self._origin = space.axes, space.mean
        self.components_ = (self._receiver.W @ space.axes.T).astype(dtype)
        self.mean_ = space.mean.astype(dtype)
        floor = receiver.channel.reg
        self.decoders_ = [
            Decoder(space.axes @ U, space.axes, S, floor)
            for U, S in zip(self._receiver.decoders.U, decoders.covariances(), strict=True)
        ]
        self.aux_prior_ = shares
        V, b = receiver.auxiliary
        self.aux_weights_ = None if V is None else (V @ space.axes.T, b)
        self.subspace_overlap_ = np.linalg.svd(W[:, : len(W)], compute_uv=False)
        self.reg_covar_ = floor

    def transform(self, X: Any, noise: bool = False) -> Any:
        """The code of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.
        noise : bool, default=False
            Whether to add the noise of the channel. By default the mean code is given.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Coordinates along the directions.
        """
        codes = super().transform(X)
        if noise:
            drawn = check_random_state(self.random_state).normal(size=codes.shape)
            codes = codes + (np.sqrt(self.noise_variance) * drawn).astype(codes.dtype)
        return codes

    def predict_aux(self, X: Any) -> np.ndarray:
        """Which decoder suits each row best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        z : ndarray of shape (n_samples,)
            Number of the decoder.
        """
        check_is_fitted(self)
        return self._receiver.states(self._along(self._validated(X, reset=False))).argmax(axis=1)

    def inverse_transform(self, X: Any, z: Any = None) -> np.ndarray:
        """Rows expected from their codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes, with or without noise.
        z : array-like of shape (n_samples,), default=None
            Number of the decoder for each, if the receiver knows; otherwise decoders are averaged by their probability
            given the code.

        Returns
        -------
        X_decoded : ndarray of shape (n_samples, n_features)
            Rows in the columns of the training table.
        """
        check_is_fitted(self)
        codes = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        n_components, n_decoders = self.components_.shape[0], len(self.decoders_)
        if codes.shape[1] != n_components:
            raise ValueError(f"A code has {n_components} numbers, and X has {codes.shape[1]} columns.")
        if z is None:
            weights = self._receiver.states_of_codes(codes)
        else:
            z = np.asarray(z)
            if z.shape != (len(codes),) or z.dtype.kind not in "iu" or not np.isin(z, np.arange(n_decoders)).all():
                raise ValueError(
                    f"z must hold one number from 0 to {n_decoders - 1} for each of the {len(codes):,} rows, as "
                    "predict_aux gives them."
                )
            weights = np.eye(n_decoders)[z]
        decoded = np.zeros((len(codes), self._axes.shape[1]))
        for share, U in zip(weights.T, self._receiver.decoders.U, strict=True):
            decoded += share[:, None] * (codes @ U.T)
        return (decoded @ self._axes.T + self._origin).astype(codes.dtype, copy=False)

    def score(self, X: Any, y: Any = None) -> float:
        """The bound on the rows of a table, in nats.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.
        y : Ignored
            Not used.

        Returns
        -------
        bound : float
            Mean over the rows, with the decoders and the prior as fitted; on the training table, the last entry of
            ``bound_``, or a little more if the auxiliary variable is free.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        Z = self._along(X)
        value = self._receiver.bound(Z)
        if Z.shape[1] < X.shape[1]:
            origin = np.asarray(X @ self._origin, dtype=float)
            squares = row_norms(X, squared=True).astype(float) - 2 * origin + self._origin @ self._origin
            value -= 0.5 * float(np.mean(np.maximum(squares - np.sum(Z**2, axis=1), 0))) / self.reg_covar_
        return value

    def _along(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self._axes, dtype=float) - self._origin @ self._axes
