"""Discriminant analysis with a subspace of its own for every class; dimensions may be chosen by cross-validation.

One decomposition for each class and fold serves all candidate dimensions.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.extract.hdda._subspace_model import (
    MODELS,
    ClassSpectrum,
    Moments,
    SubspaceExtractor,
    chosen_dimensions,
    class_spectrum,
    count_parameters,
    deviance,
    estimated_variances,
    noise_floor_of,
    scree_dimension,
    sensible_dimensions,
    spherical_spectrum,
    wanted_dimensions,
)

_ROWS = 2000


def right_answers(
    X: Any, codes: np.ndarray, spectra: list[ClassSpectrum], dims: list[np.ndarray], model: str, floor: float
) -> np.ndarray:
    """How many held-out rows are classified correctly, for each candidate's dimensions."""
    sizes = np.array([spectrum.size for spectrum in spectra])
    log_priors = np.log(sizes / sizes.sum())
    p = spectra[0].n_columns
    variances = [estimated_variances(Moments.of(spectra, each), model, floor) for each in dims]
    right = np.zeros(len(dims), dtype=int)
    for rows in gen_batches(X.shape[0], _ROWS):
        lengths, inside = _squares(X[rows], spectra, max(int(each.max(initial=0)) for each in dims))
        for number, (each, (a, b, *_)) in enumerate(zip(dims, variances, strict=True)):
            own = np.column_stack([squares[:, d] for squares, d in zip(inside, each, strict=True)])
            K = own / a + np.maximum(lengths - own, 0) / b
            K += each * np.log(a) + (p - each) * np.log(b) - 2 * log_priors
            right[number] += np.sum(K.argmin(axis=1) == codes[rows])
    return right


def _squares(X: Any, spectra: list[ClassSpectrum], most: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Squared distances to the means (rows, classes); for each class those along its 0, 1, 2, ... first directions."""
    lengths, inside = np.empty((X.shape[0], len(spectra))), []
    for each, spectrum in enumerate(spectra):
        Q = spectrum.vectors[:, :most]
        if sparse.issparse(X):
            lengths[:, each] = row_norms(X, squared=True) - 2 * (X @ spectrum.mean) + spectrum.mean @ spectrum.mean
            t = X @ Q - spectrum.mean @ Q
        else:
            centred = X - spectrum.mean
            lengths[:, each] = row_norms(centred, squared=True)
            t = centred @ Q
        inside.append(np.column_stack([np.zeros(X.shape[0]), np.cumsum(t * t, axis=1)]))
    return lengths, inside


_THRESHOLDS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
_FOLDS = 5


@method(
    tasks=["classification"],
    when="Classes that differ in how they vary, not only in where they are, with too many columns for the covariances "
    "of QDA. With few rows of a class take model='isometric' or 'common_noise'.",
    cost="O(sum_i n_i p min(n_i, p) + min(n_i, p)^3) time over the classes, O(p sum d_i + min(n_i, p)^2) memory",
    paper="hdda",
    examples=lambda: [HDDA(), HDDA(model="homothetic", n_dims=2), HDDA(n_dims="cv", cv=3)],
)
class HDDA(CallbackSupportMixin, ClassifierMixin, SubspaceExtractor):
    """Discriminant analysis in which every class has a subspace of its own.

    Parameters
    ----------
    model : {"full", "isometric", "homothetic", "common_noise"}, default="full"
        What classes share: nothing; both variances, inside and outside of the subspaces; the ratio of the two; the
        variance outside. The fewer the rows, the more should be shared.
    n_dims : {"scree", "bic", "cv"}, int or list of int, default="scree"
        Dimension of the subspaces: by gaps between eigenvalues, by BIC, or one for all classes with the best held-out
        accuracy; or given, for all classes or for each.
    scree_threshold : float or "cv", default=0.2
        With ``n_dims="scree"``: the last gap counts that is at least this share of the largest. "cv" chooses it by
        held-out rows.
    priors : array-like of shape (n_classes,), default=None
        Probability of each class; by default its share of the rows.
    noise_floor : float, default=1e-8
        No variance is below this share of the mean variance of a column within classes.
    tol : float, default=1e-10
        With ``model="homothetic"``: stop when the ratio of the variances moves less than this.
    max_iter : int, default=500
        Maximum number of steps of that iteration.
    cv : int, splitter or iterable, default=5
        Folds for the choices by "cv"; fewer where a class has fewer rows.
    n_components : int, default=None
        Number of new columns that ``transform`` gives: first axes first, of each class in turn. By default all. It
        makes no difference to ``predict``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    means_ : ndarray of shape (n_classes, n_features)
        Mean of each class.
    subspaces_ : list of ndarray of shape (n_features, n_dims)
        Orthonormal axes of each class's subspace, as columns, by decreasing variance.
    dims_ : ndarray of int of shape (n_classes,)
        Dimension of each.
    a_ : ndarray of shape (n_classes,)
        Variance of each class along every axis of its subspace.
    b_ : ndarray of shape (n_classes,)
        Variance along every direction outside.
    alpha_ : ndarray of shape (n_classes,)
        ``b / (a + b)``: how flat the class is, from 0 to 1/2.
    sigma_ : ndarray of shape (n_classes,)
        ``sqrt(ab / (a + b))``: how large it is.
    priors_ : ndarray of shape (n_classes,)
        Probability of each class.
    eigenvalues_ : list of ndarray
        Leading eigenvalues of the covariance of each class, as many as were computed.
    n_parameters_ : float
        Number of free parameters, dimensions included.
    bic_ : float
        Minus twice the log-likelihood plus ``n_parameters_`` times the log of the number of rows: less is better.
    n_iter_ : int
        Steps of the iteration; 1 where there is none.
    n_components_ : int
        Number of new columns.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    HDDC : The same model, when the classes are to be found.
    RegularizedFisher : For classes that differ in their means alone.
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : A full covariance for every class.

    Notes
    -----
    The units of columns matter: what is large counts as signal. A dimension that is too large for a class, for its rows
    or columns, is lowered, with a warning. A callback that stops the fit leaves the classes not yet looked at without a
    subspace.

    With about as many columns as rows of a class, or more, every training row is classified correctly and probabilities
    are near 0 and 1, even for random labels: each of very many columns adds a little evidence as if it were independent
    of the others. Judge by held-out rows, and take ``sklearn.calibration.CalibratedClassifierCV(HDDA())`` for
    calibrated probabilities.

    References
    ----------
    .. [1] Bouveyron, C., Girard, S. and Schmid, C. (2006). Class-specific subspace discriminant analysis for
       high-dimensional data. Subspace, Latent Structure and Feature Selection, LNCS 3940, 139-150.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from fewer.extract import HDDA
    >>> X, y = load_digits(return_X_y=True)
    >>> model = HDDA("isometric", n_dims=10).fit(X[::5], y[::5])
    >>> bool(model.score(X[1::5], y[1::5]) > 0.95)
    True
    >>> model.transform_class(X, 3).shape
    (1797, 10)
    """

    _what = "class"

    _parameter_constraints = {
        "model": [StrOptions(set(MODELS))],
        "n_dims": [StrOptions({"scree", "bic", "cv"}), Interval(Integral, 0, None, closed="left"), "array-like"],
        "scree_threshold": [Interval(Real, 0, 1, closed="right"), StrOptions({"cv"})],
        "priors": ["array-like", None],
        "noise_floor": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        model="full",
        n_dims="scree",
        scree_threshold=0.2,
        priors=None,
        noise_floor=1e-8,
        tol=1e-10,
        max_iter=500,
        cv=_FOLDS,
        n_components=None,
    ):
        self.model = model
        self.n_dims = n_dims
        self.scree_threshold = scree_threshold
        self.priors = priors
        self.noise_floor = noise_floor
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.n_components = n_components

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "HDDA":
        """Find the subspaces.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Class of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y, accept_sparse="csr")
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        wanted = wanted_dimensions(self.n_dims, len(self.classes_), "classes")
        self.priors_ = self._checked_priors(codes)
        with fit_steps(self, X, y) as after_step:
            how, threshold = self._chosen_rule(X, codes, wanted, after_step)
            spectra = self._spectra(X, codes, _most(how, X.shape[1]), lambda: after_step("class"))
            self._settle(X, spectra, how, threshold, lambda: after_step("homothetic-step"))
            self._settle_components(wanted)
        self._warn_of_single_rows(codes)
        return self

    def _warn_of_single_rows(self, codes: np.ndarray) -> None:
        single = np.flatnonzero(np.bincount(codes) == 1)
        if len(single) and self.model in ("full", "homothetic"):
            names = ", ".join(repr(label) for label in self.classes_[single[:5]].tolist())
            warn_caller(
                f"Classes with a single row have no variance of their own, so that hardly any new row is classified as "
                f"one of them: {names}. Use model='isometric' or 'common_noise', merge such classes, or leave them out."
            )

    def _checked_priors(self, codes: np.ndarray) -> np.ndarray:
        if self.priors is None:
            return np.bincount(codes) / len(codes)
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != self.classes_.shape or (priors < 0).any() or not np.isclose(priors.sum(), 1):
            raise ValueError(
                f"priors has to be {len(self.classes_)} probabilities, one for each class, that sum to 1; it is "
                f"{self.priors!r}."
            )
        return priors / priors.sum()

    def _spectra(self, X: Any, codes: np.ndarray, most: int, stop: Callable[[], bool]) -> list[ClassSpectrum]:
        """Spectrum of each class; once stopped, the others are spheres."""
        spectra, stopped = [], False
        for each in range(len(self.classes_)):
            rows = X[np.flatnonzero(codes == each)]
            spectra.append(spherical_spectrum(rows) if stopped else class_spectrum(rows, most))
            stopped = stopped or stop()
        return spectra

    def _settle(
        self, X: Any, spectra: list[ClassSpectrum], how: Any, threshold: float, stop: Callable[[], bool]
    ) -> None:
        """Set what a fit leaves."""
        floor = self._floor(spectra)
        self.dims_ = chosen_dimensions(spectra, how, threshold, floor)
        moments = Moments.of(spectra, self.dims_)
        variances = estimated_variances(moments, self.model, floor, tol=self.tol, max_iter=self.max_iter, on_step=stop)
        if variances.n_iter == self.max_iter and variances.moved >= self.tol:
            warn_caller(
                f"The ratio of the variances still moved by {variances.moved:.2g} after {self.max_iter} steps; raise "
                "max_iter or tol.",
                ConvergenceWarning,
            )
        self.a_, self.b_, self.n_iter_ = variances.a, variances.b, variances.n_iter
        self.means_ = np.array([spectrum.mean for spectrum in spectra])
        self.subspaces_ = [
            np.ascontiguousarray(spectrum.vectors[:, :d]) for spectrum, d in zip(spectra, self.dims_, strict=True)
        ]
        self.eigenvalues_ = [spectrum.eigenvalues for spectrum in spectra]
        self.n_parameters_ = count_parameters(self.model, self.dims_, X.shape[1])
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors_)
        self.bic_ = deviance(moments, self.a_, self.b_, log_priors) + self.n_parameters_ * np.log(X.shape[0])

    def _floor(self, spectra: list[ClassSpectrum]) -> float:
        traces, sizes = (np.array([getattr(spectrum, name) for spectrum in spectra]) for name in ("trace", "size"))
        return noise_floor_of(traces, sizes, spectra[0].n_columns, self.noise_floor)

    def _chosen_rule(
        self, X: Any, codes: np.ndarray, wanted: str | np.ndarray, after_step: Callable[..., bool]
    ) -> tuple[str | np.ndarray, float]:
        """How dimensions are found, after what held-out rows have to say."""
        by_name = isinstance(wanted, str)
        if by_name and wanted == "cv":
            best = self._best_candidate(X, codes, _common_dimensions, after_step)
            return np.full(len(self.classes_), best + 1), 0.0
        if by_name and wanted == "scree" and self.scree_threshold == "cv":
            return wanted, _THRESHOLDS[self._best_candidate(X, codes, _scree_dimensions, after_step)]
        return wanted, 0.2 if self.scree_threshold == "cv" else float(self.scree_threshold)

    def _best_candidate(
        self, X: Any, codes: np.ndarray, candidates: Callable[..., list[np.ndarray]], after_step: Callable[..., bool]
    ) -> int:
        """Number of the candidate with the best held-out accuracy; of several such the simplest, the first."""
        right = np.zeros(0, dtype=int)
        for train, test in self._splitter(codes).split(X, codes):
            if len(np.unique(codes[train])) < len(self.classes_):
                raise ValueError("A fold has no training row of one of the classes: use other folds, or give n_dims.")
            spectra = self._spectra(X[train], codes[train], X.shape[1], lambda: False)
            floor = self._floor(spectra)
            dims = candidates(spectra, floor)
            told = right_answers(X[test], codes[test], spectra, dims, self.model, floor)
            common = len(told) if not len(right) else min(len(told), len(right))
            right = told if not len(right) else right[:common] + told[:common]
            if after_step("fold"):
                break
        return int(np.argmax(right))

    def _splitter(self, codes: np.ndarray) -> Any:
        if not isinstance(self.cv, Integral):
            return check_cv(self.cv, codes, classifier=True)
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            label = self.classes_.tolist()[np.bincount(codes).argmin()]
            raise ValueError(
                f"Class {label!r} has a single row, so none is left to hold out: give n_dims, or take 'scree' or 'bic'."
            )
        return StratifiedKFold(min(int(self.cv), fewest))

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            One of ``classes_`` for each row.
        """
        check_is_fitted(self)
        return self.classes_[self.cost(X).argmin(axis=1)]

    def transform_class(self, X: Any, label: Any) -> np.ndarray:
        """Coordinates in the subspace of one class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.
        label : object
            One of ``classes_``.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_dims)
            One column for each axis of its subspace.
        """
        check_is_fitted(self)
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            raise ValueError(f"There is no class {label!r}; there are {', '.join(map(repr, self.classes_.tolist()))}.")
        return self._coordinates(X, int(found[0]))

    def _labels(self) -> list[Any]:
        return self.classes_.tolist()


def _most(how: str | np.ndarray, n_columns: int) -> int:
    """How many eigenpairs the rule looks at."""
    return n_columns if isinstance(how, str) else int(np.max(how, initial=0))


def _common_dimensions(spectra: list[ClassSpectrum], floor: float) -> list[np.ndarray]:
    bounds = np.array([sensible_dimensions(spectrum, floor) for spectrum in spectra])
    return [np.minimum(d, bounds) for d in range(1, max(int(bounds.max()), 1) + 1)]


def _scree_dimensions(spectra: list[ClassSpectrum], floor: float) -> list[np.ndarray]:
    return [
        np.array([scree_dimension(spectrum, threshold, floor) for spectrum in spectra]) for threshold in _THRESHOLDS
    ]
