"""Noisy binary images restored: the hidden Ising model as an estimator. The mathematics is in `_ising`."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, validated
from fewer.catalogue import method
from fewer.latent._latent_model import Climb, LatentModel, row_weights
from fewer.latent.lattices._ising import (
    Noise,
    Parameters,
    gibbs_means,
    gibbs_sweep,
    half_log_odds,
    icm,
    log_partition,
    mean_field,
    row_bounds,
    starting_noise,
    stochastic_em_step,
)

_PRIOR_SWEEPS = 400


@method(
    tasks=["unsupervised"],
    when="Noisy images, maps or signals of two kinds of pixels, whose neighbours are mostly alike: which pixel is of "
    "which kind, and how strongly neighbours go together. Missing pixels are imputed from their neighbours.",
    cost="O(n p) time a sweep",
    paper="latent-structure",
    aliases=["Markov random field", "image denoising", "ICM"],
    depends_on_shift="all pixels share the same two means",
    examples=lambda: [
        HiddenIsing(n_draws=10, n_burn_in=5),
        HiddenIsing(eta=0.3, solver="icm", n_draws=10, n_burn_in=5),
        HiddenIsing(solver="gibbs", n_draws=10, n_burn_in=5),
    ],
)
class HiddenIsing(LatentModel):
    """Restore binary images behind noise, by an Ising model of neighbouring pixels.

    Each row is an image. A hidden pixel is -1 or 1, and its four neighbours tend to be alike; the observed pixel has a
    mean that depends on the hidden one, and normal noise. Pixels that are missing are restored from their neighbours.

    Parameters
    ----------
    image_shape : tuple of two ints, default=None
        Height and width of the images; a row has their product of columns, line by line. By default each row is a
        single line of pixels, such as a signal.
    eta : float, default=None
        Coupling of neighbours: the log-odds that a pixel is 1 grow by ``2 eta`` for each neighbour that is 1 instead
        of being absent. By default it is estimated by pseudolikelihood. Above about 0.44, large parts of an image tend
        to be of one kind whatever the data.
    solver : {"mean_field", "icm", "gibbs"}, default="mean_field"
        How images are restored: means of independent pixels, which maximise a lower bound of the likelihood; the mode
        of each pixel given the others, which is fast and gives no probabilities; or means over draws from the
        posterior, which is exact up to the sampling error.
    n_draws : int, default=60
        Draws of the hidden images over which estimates of the parameters are averaged, and with ``solver="gibbs"``
        restored pixels.
    n_burn_in : int, default=30
        First draws, which are not used.
    noise_floor : float, default=1e-6
        The noise variance is not below this share of the variance of all pixels.
    random_state : int, RandomState instance or None, default=None
        Draws the hidden images.

    Attributes
    ----------
    eta_ : float
        Coupling of neighbours.
    means_ : ndarray of shape (2,)
        Mean of a pixel whose hidden value is -1, and 1.
    noise_variance_ : float
        Variance of the noise.
    log_partition_ : float
        ``log Z(eta)`` of the lattice, the constant of the prior.
    log_partition_exact_ : bool
        Whether it is exact, as for lattices of at most 12 pixels in one direction, or an upper bound.
    objective_path_ : ndarray of shape (n_iter,)
        Pseudo-log-likelihood of the images and of a draw of the hidden ones, in each iteration.
    objectives_ : ndarray of shape (1,)
        The last of them.
    n_iter_ : int
        Number of draws.
    converged_ : bool
        True unless a callback stopped the draws.
    score_type_ : str
        What ``score_samples`` gives: "lower bound".
    n_parameters_ : int
        Two means, a variance, and the coupling unless it is given.
    n_components_ : int
        Number of pixels that ``transform`` gives.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    HiddenMarkov : States along rows in time order.

    Notes
    -----
    The parameters are averages of estimates from draws of the hidden images. The pseudolikelihood of a restoration
    itself overestimates the coupling, and with much noise ends with one kind of pixels everywhere.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83. Springer.
    .. [2] Besag, J. (1986). On the statistical analysis of dirty pictures. Journal of the Royal Statistical Society B
       48, 259-302.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import HiddenIsing
    >>> image = np.where(np.add.outer(np.arange(20), np.arange(20)) < 20, -1, 1)
    >>> noisy = image + np.random.default_rng(0).normal(size=image.shape)
    >>> model = HiddenIsing(image.shape, random_state=0).fit(noisy.reshape(1, -1))
    >>> restored = model.restore(noisy)
    >>> bool(np.mean(restored != image) < 0.25 * np.mean(np.sign(noisy) != image))
    True
    """

    _parameter_constraints = {
        "image_shape": [tuple, list, None],
        "eta": [Interval(Real, 0, None, closed="left"), None],
        "solver": [StrOptions({"mean_field", "icm", "gibbs"})],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_burn_in": [Interval(Integral, 0, None, closed="left")],
        "noise_floor": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }
    n_init = 1
    tol = 0.0

    def __init__(
        self,
        image_shape=None,
        *,
        eta=None,
        solver="mean_field",
        n_draws=60,
        n_burn_in=30,
        noise_floor=1e-6,
        random_state=None,
    ):
        self.image_shape = image_shape
        self.eta = eta
        self.solver = solver
        self.n_draws = n_draws
        self.n_burn_in = n_burn_in
        self.noise_floor = noise_floor
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Estimate the noise and the coupling.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Images, one in each row; NaN for missing pixels.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the images.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = validated(self, X, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        weights = row_weights(sample_weight, X)
        weights = np.ones(len(X)) if weights is None else weights
        images = self._images(X[weights > 0])
        weights = weights[weights > 0]
        observed = ~np.isnan(images)
        mass = weights[:, None, None] * observed
        if not mass.any():
            raise ValueError("No pixel of the images is observed: all entries of X are NaN.")
        first = float(images[observed][0])
        if (images[observed] == first).all():
            raise ValueError(
                f"All observed pixels of n_samples = {len(images)} images have the same value, {first:g}: two levels "
                "and a coupling of neighbours cannot be estimated."
            )
        offset = first + float(np.sum(mass * np.where(observed, images - first, 0.0)) / mass.sum())
        centred = images - offset
        largest = float(np.nanmax(np.abs(centred))) or 1.0
        unit = largest * float(np.sqrt(np.sum(mass * np.nan_to_num(centred / largest) ** 2) / mass.sum())) or 1.0
        standard = centred / unit
        self._offset, self._unit = offset, unit
        n_steps = self.n_burn_in + self.n_draws

        def run(random, on_step):
            noise = starting_noise(standard, weights, self.noise_floor)
            start = np.where(half_log_odds(standard, noise) < 0, -1.0, 1.0)
            now = Parameters(noise, 0.3 if self.eta is None else float(self.eta), start)
            kept, path, stopped = [], [], False
            for number in range(n_steps):
                now, objective = stochastic_em_step(standard, now, self.eta, weights, self.noise_floor, random)
                path.append(objective)
                stopped = on_step()
                if number >= self.n_burn_in or stopped:
                    kept.append([*now.noise, now.eta])
                if stopped:
                    break
            *noise, eta = np.mean(kept, axis=0)
            return Climb((Noise(*noise), float(eta)), np.array(path), not stopped, stopped)

        return self._fit_starts(run, X, n_steps=n_steps)

    def _images(self, X: np.ndarray) -> np.ndarray:
        height, width = self._shape(X.shape[1])
        return X.astype(np.float64).reshape(len(X), height, width)

    def _shape(self, n_columns: int) -> tuple[int, int]:
        if self.image_shape is None:
            return 1, n_columns
        if len(self.image_shape) != 2 or int(np.prod(self.image_shape)) != n_columns:
            raise ValueError(
                f"image_shape={tuple(self.image_shape)} does not fit rows of {n_columns} pixels: height times width "
                "must be the number of columns. Each row of X is an image; a single one is image.reshape(1, -1)."
            )
        return int(self.image_shape[0]), int(self.image_shape[1])

    def _keep(self, state: tuple[Noise, float]) -> None:
        noise, self.eta_ = state
        if noise.low > noise.high:
            noise = Noise(noise.high, noise.low, noise.variance)
        self._standard = np.array(noise)
        self.means_ = self._offset + self._unit * np.array([noise.low, noise.high])
        self.noise_variance_ = noise.variance * self._unit**2
        height, width = self._shape(self.n_features_in_)
        self.log_partition_, self.log_partition_exact_ = log_partition(height, width, self.eta_)
        self.n_components_ = self.n_features_in_
        self.n_parameters_ = 3 + (self.eta is None)
        self.score_type_ = "lower bound"

    def _checked(self, X: Any) -> tuple[np.ndarray, Any]:
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan")
        return (self._images(X) - self._offset) / self._unit, X.dtype

    def transform(self, X):
        """Posterior means of the hidden pixels, between -1 and 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Images, one in each row; NaN for missing pixels.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features)
            Restored images by ``solver``; with "icm" they are -1 and 1.
        """
        images, dtype = self._checked(X)
        fields = half_log_odds(images, Noise(*self._standard))
        if self.solver == "mean_field":
            found = mean_field(fields, self.eta_)
        elif self.solver == "icm":
            found = icm(fields, self.eta_)
        else:
            random = check_random_state(self.random_state if isinstance(self.random_state, Integral) else 0)
            found = gibbs_means(fields, self.eta_, random, n_draws=self.n_draws, n_burn_in=self.n_burn_in)
        return found.reshape(len(fields), -1).astype(dtype)

    def predict(self, X):
        """Restored images.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Images, one in each row; NaN for missing pixels.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_features)
            Hidden pixels, -1 or 1.
        """
        return np.where(self.transform(X) < 0, -1, 1)

    def restore(self, image):
        """Restore one image that is given as a matrix.

        Parameters
        ----------
        image : array-like of shape (height, width)
            Pixels; NaN where missing.

        Returns
        -------
        restored : ndarray of shape (height, width)
            Hidden pixels, -1 or 1.
        """
        image = np.asarray(image, dtype=np.float64)
        check_is_fitted(self)
        shape = self._shape(self.n_features_in_)
        if image.shape != shape:
            raise ValueError(f"image has the shape {image.shape}, and the model was fitted to images of {shape}.")
        return np.where(self.transform(image.reshape(1, -1)) < 0, -1, 1).reshape(shape)

    def score_samples(self, X):
        """Lower bound on the log-likelihood of each image.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Images, one in each row; NaN for missing pixels.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats: the bound by independent pixels (mean field), whatever the solver, with ``log_partition_``.
        """
        images, _ = self._checked(X)
        noise = Noise(*self._standard)
        m = mean_field(half_log_odds(images, noise), self.eta_)
        observed = np.sum(~np.isnan(images), axis=(1, 2))
        return row_bounds(images, m, noise, self.eta_, self.log_partition_) - observed * np.log(self._unit)

    def sample(self, n_samples=1, random_state=None):
        """Draw images from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of images.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Images with noise, one in each row.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        shape = (n_samples, *self._shape(self.n_features_in_))
        z = np.where(random.uniform(size=shape) < 0.5, -1.0, 1.0)
        for _ in range(_PRIOR_SWEEPS):
            z = gibbs_sweep(z, np.zeros(shape), self.eta_, random.uniform(size=shape))
        means = np.where(z > 0, self.means_[1], self.means_[0])
        noise = np.sqrt(self.noise_variance_) * random.standard_normal(shape)
        return (means + noise).reshape(n_samples, -1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
