"""Normal classes with one variance inside of a subspace and one outside: dimensions, estimates, costs, likelihood.

Of the rows of a class, the leading eigenpairs of its covariance and the trace are all that is needed. The dimension of
its subspace is chosen by gaps in the eigenvalues, by BIC, or is given. In the eigenbasis of class i the covariance is
diag(a_i, ..., a_i, b_i, ..., b_i) with d_i times a_i. The cost, minus twice the log of the joint density without
``p log(2 pi)``, of ``t = Q_i'(x - mu_i)`` is

    K_i(x) = |t|^2 / a_i + (|x - mu_i|^2 - |t|^2) / b_i + d_i log a_i + (p - d_i) log b_i - 2 log pi_i.

With ``alpha = b / (a + b)`` and ``sigma^2 = ab / (a + b)``: a common a and b is the isometric model, a common alpha the
homothetic one.

Bouveyron, C., Girard, S. and Schmid, C. (2006). Class-specific subspace discriminant analysis for high-dimensional
data. Subspace, Latent Structure and Feature Selection, LNCS 3940, 139-150.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import warn_caller
from fewer._kernels._numpy_lapack import largest_eigh
from fewer.extract._centred_table import centred_columns_times, centred_gram, column_means, scatter
from fewer.extract._extractor import Extractor, upright


class ClassSpectrum(NamedTuple):
    """Size (a sum of weights), mean, trace of the covariance with divisor n, leading eigenvalues and vectors (p, m)."""

    size: float
    mean: np.ndarray
    trace: float
    eigenvalues: np.ndarray
    vectors: np.ndarray

    @property
    def n_columns(self) -> int:
        return len(self.mean)

    def leading_sums(self) -> np.ndarray:
        """Sums of the 0, 1, 2, ... largest eigenvalues."""
        return np.append(0.0, np.cumsum(self.eigenvalues))


def class_spectrum(X: Any, most: int) -> ClassSpectrum:
    """Spectrum of the rows of a class, up to ``most`` eigenpairs, from the smaller matrix of products."""
    n_rows, n_columns = X.shape
    mean = column_means(X)
    by_columns = n_columns <= n_rows
    products = (scatter(X, mean) if by_columns else centred_gram(X, mean)) / n_rows
    values, vectors = leading_eigenpairs(products, min(most, n_rows - 1))
    if not by_columns:
        vectors = centred_columns_times(X, vectors) / np.sqrt(n_rows * values)
    return ClassSpectrum(n_rows, mean, float(np.trace(products)), values, _turned(vectors))


def spherical_spectrum(X: Any) -> ClassSpectrum:
    """Mean and trace alone, for a class whose directions are not looked for."""
    mean = column_means(X)
    # E|x|^2 - |E x|^2 would cancel where means are large; sparse tables have no other way without becoming dense.
    if hasattr(X, "toarray"):
        trace = max(float(X.multiply(X).sum()) / X.shape[0] - float(mean @ mean), 0.0)
    else:
        trace = float(np.square(X - mean).sum() / X.shape[0])
    return ClassSpectrum(X.shape[0], mean, trace, np.zeros(0), np.zeros((X.shape[1], 0)))


def leading_eigenpairs(S: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``most`` largest eigenvalues of a covariance, decreasing, without those that are rounding, and vectors."""
    size = len(S)
    most = min(most, size)
    if most < 1:
        return np.zeros(0), np.zeros((size, 0))
    values, vectors = largest_eigh(S, most)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > np.finfo(S.dtype).eps * size * max(values[0], 0)
    return values[kept], vectors[:, kept]


def _turned(vectors: np.ndarray) -> np.ndarray:
    return upright(vectors.T).T if vectors.shape[1] else vectors


def noise_floor_of(traces: np.ndarray, sizes: np.ndarray, n_columns: int, share: float) -> float:
    """The least variance allowed: a share of the mean variance of a column within classes."""
    mean = float(sizes @ traces) / (float(sizes.sum()) * n_columns)
    return share * mean if mean > 0 else share


def wanted_dimensions(n_dims: Any, n_classes: int, what: str) -> str | np.ndarray:
    """The name of a rule, or one number for each class."""
    if isinstance(n_dims, str):
        return n_dims
    dims = np.asarray(n_dims)
    if dims.ndim == 0:
        return np.full(n_classes, int(dims))
    if dims.shape != (n_classes,) or dims.dtype.kind not in "iu" or (dims < 0).any():
        raise ValueError(
            f"n_dims has to be one dimension for each of the {n_classes} {what}, whole and not negative; it is "
            f"{n_dims!r}."
        )
    return dims.astype(int)


def most_dimensions(spectrum: ClassSpectrum, floor: float) -> int:
    """As many as leave some variance outside: below the rank, the number of columns, and above the noise floor."""
    p = spectrum.n_columns
    most = min(len(spectrum.eigenvalues), p - 1, max(int(np.ceil(spectrum.size)) - 1, 0))
    outside = (spectrum.trace - spectrum.leading_sums()[: most + 1]) / (p - np.arange(most + 1))
    return int(np.max(np.flatnonzero(outside > floor), initial=min(most, 1)))


def sensible_dimensions(spectrum: ClassSpectrum, floor: float) -> int:
    """At most half of the rows: eigenvalues beyond are noise, and so are their gaps."""
    return min(most_dimensions(spectrum, floor), max(int(spectrum.size / 2), 1))


def scree_dimension(spectrum: ClassSpectrum, threshold: float, floor: float) -> int:
    """The last gap between neighbouring eigenvalues that is at least ``threshold`` times the largest gap."""
    most = sensible_dimensions(spectrum, floor)
    gaps = -np.diff(np.append(spectrum.eigenvalues, 0.0 if len(spectrum.eigenvalues) < 2 else []))[:most]
    if not len(gaps):
        return most
    return int(np.flatnonzero(gaps >= threshold * gaps.max())[-1]) + 1


def bic_dimension(spectrum: ClassSpectrum, floor: float) -> int:
    """The dimension with the largest log-likelihood less half of the parameters times log n."""
    p, n_rows = spectrum.n_columns, spectrum.size
    d = np.arange(sensible_dimensions(spectrum, floor) + 1)
    inside = spectrum.leading_sums()[: len(d)]
    b = np.maximum((spectrum.trace - inside) / (p - d), floor)
    a = np.maximum(np.divide(inside, d, out=np.ones_like(inside), where=d > 0), b)
    log_likelihood = -n_rows / 2 * (d * np.log(a) + (p - d) * np.log(b))
    n_parameters = d * (p - (d + 1) / 2) + 2.0 * (d > 0)
    return int(np.argmax(log_likelihood - n_parameters / 2 * np.log(max(n_rows, 2))))


def chosen_dimensions(
    spectra: list[ClassSpectrum], how: str | np.ndarray, threshold: float, floor: float
) -> np.ndarray:
    """Dimension of every class, by name of the rule, or one number for each class, lowered where it is too large."""
    if isinstance(how, str):
        choose = {
            "scree": lambda spectrum: scree_dimension(spectrum, threshold, floor),
            "bic": lambda spectrum: bic_dimension(spectrum, floor),
        }[how]
        return np.array([choose(spectrum) for spectrum in spectra])
    return np.array([min(int(d), most_dimensions(spectrum, floor)) for d, spectrum in zip(how, spectra, strict=True)])


MODELS = ("full", "isometric", "homothetic", "common_noise")
_CELLS = 1_000_000


class Moments(NamedTuple):
    """Of each class: weight n_i, sum of the leading eigenvalues, trace, dimension; and the number of columns."""

    sizes: np.ndarray
    inside: np.ndarray
    traces: np.ndarray
    dims: np.ndarray
    n_columns: int

    @classmethod
    def of(cls, spectra: list[ClassSpectrum], dims: np.ndarray, n_columns: int | None = None) -> "Moments":
        return cls(
            np.array([spectrum.size for spectrum in spectra], dtype=np.float64),
            np.array([spectrum.eigenvalues[:d].sum() for spectrum, d in zip(spectra, dims, strict=True)]),
            np.array([spectrum.trace for spectrum in spectra]),
            np.asarray(dims),
            spectra[0].n_columns if n_columns is None else n_columns,
        )


class Variances(NamedTuple):
    """Variance of each class inside and outside of its subspace; steps of the iteration, and its last move."""

    a: np.ndarray
    b: np.ndarray
    n_iter: int = 1
    moved: float = 0.0


def estimated_variances(
    moments: Moments,
    model: str,
    floor: float,
    *,
    tol: float = 1e-10,
    max_iter: int = 500,
    on_step: Callable[[], bool] = lambda: False,
) -> Variances:
    """Maximum likelihood estimates of a model, none of the variances below the floor."""
    if model == "homothetic" and moments.dims.any():
        path = homothetic_path(moments, tol=tol, max_iter=max_iter, on_step=on_step)
        alpha, sigma2 = path.alphas[-1], path.sigma2
        moved = abs(path.alphas[-1] - path.alphas[-2])
        return Variances(*_floored(sigma2 / alpha, sigma2 / (1 - alpha), moments, floor), len(path.alphas) - 1, moved)
    sizes, inside, traces, dims, p = moments
    outside = traces - inside
    a = np.divide(inside, dims, out=np.zeros_like(inside), where=dims > 0)
    b = outside / (p - dims)
    if model == "isometric":
        a = np.full_like(a, (sizes @ inside) / max(sizes @ dims, np.finfo(float).tiny))
    if model in ("isometric", "common_noise"):
        b = np.full_like(b, (sizes @ outside) / (sizes @ (p - dims)))
    return Variances(*_floored(a, b, moments, floor))


def _floored(a: np.ndarray, b: np.ndarray, moments: Moments, floor: float) -> tuple[np.ndarray, np.ndarray]:
    b = np.maximum(b, floor)
    # A class without a subspace has one variance.
    return np.where(moments.dims > 0, np.maximum(a, b), b), b


class HomotheticPath(NamedTuple):
    """The common alpha before the first step and after each, and the last scale of each class."""

    alphas: np.ndarray
    sigma2: np.ndarray


def homothetic_path(
    moments: Moments, *, tol: float, max_iter: int, on_step: Callable[[], bool] = lambda: False
) -> HomotheticPath:
    """Scales for the alpha, then alpha for the scales, each in closed form, until alpha moves less than ``tol``."""
    sizes, inside, traces, dims, p = moments
    total = sizes.sum() * p
    share = sizes @ dims / total
    # A class without any variance is left out of the estimate of alpha, to which it adds nothing.
    tiny = np.finfo(np.float64).tiny + np.finfo(np.float64).eps * traces.max() / p
    alphas = [0.5]
    sigma2 = homothetic_scales(moments, alphas[-1], tiny)
    for _ in range(max_iter):
        slope = (sizes / sigma2) @ (2 * inside - traces) / total
        root = np.sqrt(max((slope + 1) ** 2 - 4 * slope * share, 0.0))
        alphas.append(2 * share / (slope + 1 + root))
        sigma2 = homothetic_scales(moments, alphas[-1], tiny)
        if on_step() or abs(alphas[-1] - alphas[-2]) < tol:
            break
    return HomotheticPath(np.array(alphas), sigma2)


def homothetic_scales(moments: Moments, alpha: float, tiny: float = 0.0) -> np.ndarray:
    """sigma_i^2 for a given alpha."""
    return np.maximum(((2 * alpha - 1) * moments.inside + (1 - alpha) * moments.traces) / moments.n_columns, tiny)


def deviance(moments: Moments, a: np.ndarray, b: np.ndarray, log_priors: np.ndarray) -> float:
    """Minus twice the log-likelihood of rows with known classes."""
    sizes, inside, traces, dims, p = moments
    of_row = inside / a + (traces - inside) / b + dims * np.log(a) + (p - dims) * np.log(b) - 2 * log_priors
    return float(sizes @ (of_row + p * np.log(2 * np.pi)))


def count_parameters(model: str, dims: np.ndarray, n_columns: int) -> float:
    """Means, priors, orientations and dimensions of the subspaces, and the variances."""
    k = len(dims)
    variances = {"full": 2 * k, "isometric": 2, "homothetic": k + 1, "common_noise": k + 1}[model]
    return float(k * n_columns + k - 1 + np.sum(dims * (n_columns - (dims + 1) / 2)) + k + variances)


class SubspaceModel(NamedTuple):
    """Everything that the cost of a row depends on: means (classes, columns), subspaces, variances, log priors."""

    means: np.ndarray
    subspaces: list[np.ndarray]
    a: np.ndarray
    b: np.ndarray
    log_priors: np.ndarray
    n_columns: int

    def costs(self, X: Any) -> np.ndarray:
        """K of (rows, classes)."""
        ends = np.cumsum([Q.shape[1] for Q in self.subspaces])
        stacked = np.hstack(self.subspaces)
        # Distances to the common centre are small beside those to the origin, so that little cancels.
        centre = np.zeros(X.shape[1]) if sparse.issparse(X) else self.means.mean(axis=0)
        means = self.means - centre
        shifts = [mean @ Q for mean, Q in zip(means, self.subspaces, strict=True)]
        dims = np.diff(ends, prepend=0)
        constants = dims * np.log(self.a) + (self.n_columns - dims) * np.log(self.b) - 2 * self.log_priors
        K = np.empty((X.shape[0], len(means)))
        for rows in gen_batches(X.shape[0], max(1, _CELLS // X.shape[1])):
            block = X[rows] if sparse.issparse(X) else X[rows] - centre
            along = np.asarray(block @ stacked)
            lengths = row_norms(block, squared=True)[:, None] + row_norms(means, squared=True) - 2 * (block @ means.T)
            for each, (end, shift) in enumerate(zip(ends, shifts, strict=True)):
                t = along[:, end - len(shift) : end] - shift
                inside = np.einsum("ij,ij->i", t, t)
                outside = np.maximum(lengths[:, each] - inside, 0)
                K[rows, each] = inside / self.a[each] + outside / self.b[each] + constants[each]
        return K


class SubspaceExtractor(Extractor):
    """Base of those that have one subspace for each class or cluster."""

    n_components_: int
    _what: ClassVar[str]

    means_: np.ndarray
    subspaces_: list[np.ndarray]
    a_: np.ndarray
    b_: np.ndarray
    dims_: np.ndarray
    priors_: np.ndarray

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def alpha_(self) -> np.ndarray:
        """``b / (a + b)`` of each class."""
        return self.b_ / (self.a_ + self.b_)

    @property
    def sigma_(self) -> np.ndarray:
        """``sqrt(ab / (a + b))`` of each class."""
        return np.sqrt(self.a_ * self.alpha_)

    def _model(self) -> SubspaceModel:
        with np.errstate(divide="ignore"):  # a prior of zero is a cost without bound
            log_priors = np.log(self.priors_)
        return SubspaceModel(self.means_, self.subspaces_, self.a_, self.b_, log_priors, self.means_.shape[1])

    def cost(self, X: Any) -> np.ndarray:
        """What it costs to put a row into each class: the less, the more likely.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        costs : ndarray of shape (n_samples, n_classes)
            Minus twice the log of prior times density, without the constant ``p log(2 pi)``.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self._model().costs(X.tocsr() if hasattr(X, "tocsr") else X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        return softmax(-self.cost(X) / 2, axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        return log_softmax(-self.cost(X) / 2, axis=1)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates in the subspaces of all classes: first axes first, of each class in turn.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with the columns of the training table.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            One column for each axis of each class.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        columns = [(self.subspaces_[each][:, axis], self.means_[each]) for each, axis in self._axes()]
        if not columns:
            return np.zeros((X.shape[0], 0), dtype=X.dtype)
        directions, means = (np.array(part) for part in zip(*columns, strict=True))
        along = X @ directions.T - np.einsum("kp,kp->k", directions, means)
        return np.asarray(along).astype(X.dtype, copy=False)

    def _coordinates(self, X: Any, each: int) -> np.ndarray:
        """Rows in the subspace of one class."""
        X = self._validated(X, reset=False)
        Q = self.subspaces_[each]
        return np.asarray(X @ Q - self.means_[each] @ Q).astype(X.dtype, copy=False)

    def _axes(self) -> list[tuple[int, int]]:
        """Class and axis behind each new column."""
        order = range(int(np.max(self.dims_, initial=0)))
        axes = [(each, axis) for axis in order for each, d in enumerate(self.dims_) if axis < d]
        return axes[: self.n_components_]

    def _settle_components(self, wanted: str | np.ndarray) -> None:
        """Number of new columns; warns of dimensions that differ from those asked for."""
        self._tell_of_lowered(wanted)
        possible = int(np.sum(self.dims_))
        if possible == 0 and (isinstance(wanted, str) or wanted.any()):
            self._tell_of_none()
            self.n_components_ = 0
        else:
            self.n_components_ = self._number_of_components(possible, "dimensions of all subspaces together")

    def _tell_of_lowered(self, wanted: str | np.ndarray) -> None:
        lowered = [] if isinstance(wanted, str) else np.flatnonzero(self.dims_ < wanted).tolist()
        if lowered and np.any(self.dims_):
            first = lowered[0]
            others = f" (and {len(lowered) - 1} more lowered)" if len(lowered) > 1 else ""
            warn_caller(
                f"n_dims={wanted[first]} is more than the rows or columns of {self._what} {self._labels()[first]!r} "
                f"allow, so that it has {self.dims_[first]}{others}: a subspace has fewer dimensions than there are "
                "rows and columns, and leaves some variance outside."
            )

    def _tell_of_none(self) -> None:
        why = "the table has one column only" if self.n_features_in_ == 1 else "no direction stands out"
        warn_caller(
            f"All subspaces have 0 dimensions, for {why}: transform gives no columns, and each {self._what} is a mean "
            "with one variance. Check for constant columns, have more columns or rows, or give n_dims."
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the new columns: class, and axis of its subspace.

        Parameters
        ----------
        input_features : Ignored
            Not used.

        Returns
        -------
        names : ndarray of str
            One name for each new column.
        """
        check_is_fitted(self)
        labels, prefix = self._labels(), type(self).__name__.lower()
        return np.array([f"{prefix}_{labels[each]}_{axis}" for each, axis in self._axes()], dtype=object)

    def _labels(self) -> list[Any]:
        raise NotImplementedError
