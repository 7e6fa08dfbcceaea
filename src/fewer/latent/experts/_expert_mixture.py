"""What the mixtures of experts share as estimators: checked rows in standard units, priors, and fitted attributes.

Columns are standardised for the fit, so that priors mean the same in every table; attributes are in the units of the
table. A column that is constant, or never observed, in training counts as missing everywhere.
"""

from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, encoded_classes, validated
from fewer.latent._latent_model import LatentModel, row_weights, warn_of_constant_columns
from fewer.latent._normal_wishart import single_normal_wishart
from fewer.latent.experts._incomplete_rows import Mixture
from fewer.latent.experts._variational import Priors
from fewer.latent.mixtures._class_mixture import kmeans_labels

# An expert counts where its weight is larger than this, as in the paper.
DOMINANT = 0.005
# Added to the variances of standardised columns, so that collinear columns have a precision matrix.
_RIDGE = 1e-3


class Training(NamedTuple):
    """Standardised rows with NaN, signs of the labels (n, C), weights, and the rows of the table that they are."""

    Z: np.ndarray
    signs: np.ndarray
    weights: np.ndarray
    rows: np.ndarray


class ExpertMixture(ClassifierMixin, LatentModel):
    """Base of the mixtures of experts: standardised rows, priors, and fitted attributes in the units of the table."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LatentModel._parameter_constraints,
        "concentration_shape_prior": [Interval(Real, 0, None, closed="neither")],
        "concentration_rate_prior": [Interval(Real, 0, None, closed="neither")],
        "mean_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "degrees_of_freedom_prior": [Interval(Real, 0, None, closed="neither"), None],
        "coef_shape_prior": [Interval(Real, 0, None, closed="neither")],
        "coef_rate_prior": [Interval(Real, 0, None, closed="neither")],
        "coef_mean_precision_prior": [Interval(Real, 0, None, closed="neither")],
        "sparse_experts": ["boolean"],
    }

    concentration_shape_prior: float
    concentration_rate_prior: float
    mean_precision_prior: float
    degrees_of_freedom_prior: float | None
    coef_shape_prior: float
    coef_rate_prior: float
    coef_mean_precision_prior: float
    sparse_experts: bool
    init: str
    classes_: np.ndarray

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Checked rows that have an observed entry and a weight; sets the classes and the units of the columns."""
        X, y = validated(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
        weights = row_weights(sample_weight, X)
        weights = np.ones(len(X)) if weights is None else weights
        rows = np.flatnonzero((weights > 0) & ~np.isnan(X).all(axis=1))
        if not len(rows):
            raise ValueError(f"{type(self).__name__} needs observed values, and every entry of X is missing.")
        X, y, weights = X[rows], y[rows], weights[rows]
        self.classes_, codes = encoded_classes(y, type(self).__name__)
        self._center, self._scale, self._varies = column_units(X, weights)
        warn_of_constant_columns(self, np.flatnonzero(~self._varies))
        chosen = codes[:, None] == (np.arange(len(self.classes_)) if len(self.classes_) > 2 else [1])
        return Training(self._standardised(X), np.where(chosen, 1.0, -1.0), weights, rows)

    def _standardised(self, X: np.ndarray) -> np.ndarray:
        """Rows in units of the training table; columns that were constant there count as missing."""
        Z = (X - self._center) / self._scale
        Z[:, ~self._varies] = np.nan
        return Z

    def _priors(self, training: Training) -> Priors:
        """Priors in standardised units: the gates are expected to look like the whole table."""
        filled = np.nan_to_num(training.Z)
        n_columns = filled.shape[1]
        degrees = self.degrees_of_freedom_prior
        if degrees is not None and degrees <= n_columns - 1:
            raise ValueError(
                f"degrees_of_freedom_prior={degrees} must be larger than n_features - 1, which is {n_columns - 1}."
            )
        degrees = n_columns + 2.0 if degrees is None else float(degrees)
        covariance = (filled * training.weights[:, None]).T @ filled / training.weights.sum()
        covariance[np.diag_indices(n_columns)] += np.where(self._varies, _RIDGE, 1.0)
        gates = single_normal_wishart(np.zeros(n_columns), self.mean_precision_prior, degrees * covariance, degrees)
        return Priors(
            gates,
            self.coef_shape_prior,
            self.coef_rate_prior,
            self.coef_mean_precision_prior,
            self.sparse_experts,
            self.concentration_shape_prior,
            self.concentration_rate_prior,
        )

    def _shares(self, training: Training, n_components: int, random: np.random.RandomState) -> np.ndarray:
        """Responsibilities to start from."""
        n_rows = len(training.Z)
        if self.init == "random":
            return random.dirichlet(np.full(n_components, 0.1), size=n_rows)
        labels = kmeans_labels(np.nan_to_num(training.Z), training.weights, n_components, random)
        return (labels[:, None] == np.arange(n_components)).astype(np.float64)

    def _keep_mixture(self, mixture: Mixture, covariances: np.ndarray) -> np.ndarray:
        """Set the attributes of the mixture in the units of the table, largest weight first; gives the order."""
        order = np.argsort(-mixture.weights, kind="stable")
        slopes = mixture.coef[order, :, :-1] / self._scale
        self.weights_ = mixture.weights[order]
        self.means_ = mixture.means[order] * self._scale + self._center
        self.precisions_ = mixture.precisions[order] / np.outer(self._scale, self._scale)
        self.coef_ = slopes
        self.intercept_ = mixture.coef[order, :, -1] - slopes @ self._center
        # w in the units of the table is T w, with the shift of the intercept in the last row of T.
        units = np.diag(np.append(1 / self._scale, 1.0))
        units[-1, :-1] = -self._center / self._scale
        self.coef_cov_ = units @ covariances[order] @ units.T
        if len(self.classes_) == 2:
            self.coef_, self.intercept_ = self.coef_[:, 0], self.intercept_[:, 0]
            self.coef_cov_ = self.coef_cov_[:, 0]
        self.n_experts_ = int(np.count_nonzero(self.weights_ > DOMINANT))
        self.n_components_ = len(self.weights_)
        p, n_outputs = mixture.means.shape[1], mixture.coef.shape[1]
        each = p + p * (p + 1) // 2 + n_outputs * (p + 1)
        self.n_parameters_ = self.n_experts_ * each + self.n_experts_ - 1
        self.score_type_ = "log-likelihood"
        return order

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return self._standardised(X)

    def _class_probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Of probabilities (n, C) of single outputs: of each class against the others, or of the second of two."""
        if outputs.shape[1] == 1:
            return np.column_stack([1 - outputs[:, 0], outputs[:, 0]])
        outputs = np.maximum(outputs, 1e-300)
        return outputs / outputs.sum(axis=1, keepdims=True)

    def _log_units(self, Z: np.ndarray) -> np.ndarray:
        """Log densities in the units of the table, less those of standardised rows."""
        return np.isnan(Z) @ np.log(self._scale) - np.log(self._scale).sum()

    def _in_units_of_the_table(self, Z: np.ndarray, X: Any) -> np.ndarray:
        X = np.asarray(validated(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"))
        return np.where(np.isnan(X), Z * self._scale + self._center, X)

    def _drawn_rows(self, mixture: Mixture, n_samples: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows and classes that are drawn from a mixture."""
        random = check_random_state(random_state)
        chosen = random.choice(len(mixture.weights), n_samples, p=mixture.weights / mixture.weights.sum())
        factors = np.linalg.cholesky(mixture.precisions)
        noise = random.normal(size=(n_samples, mixture.means.shape[1], 1))
        Z = mixture.means[chosen] + np.linalg.solve(factors.transpose(0, 2, 1)[chosen], noise)[..., 0]
        labels = np.einsum("np,ncp->nc", Z, mixture.coef[chosen, :, :-1]) + mixture.coef[chosen, :, -1]
        labels += random.normal(size=labels.shape)
        codes = labels.argmax(axis=1) if labels.shape[1] > 1 else (labels[:, 0] > 0).astype(int)
        return Z * self._scale + self._center, self.classes_[codes]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def column_units(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of the observed entries of columns, and which of them vary."""
    observed = ~np.isnan(X)
    totals = weights @ observed
    first = X[observed.argmax(axis=0), np.arange(X.shape[1])]  # NaN where nothing is observed
    shifted = np.where(observed, X - first, 0.0)
    center = first + weights @ shifted / np.maximum(totals, 1e-300)
    deviations = np.where(observed, X - center, 0.0)
    largest = np.abs(deviations).max(axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    spread = safe * np.sqrt(weights @ (deviations / safe) ** 2 / np.maximum(totals, 1e-300))
    # A spread of rounding errors is none.
    varies = spread > 1e-12 * np.abs(np.where(observed, X, 0.0)).max(axis=0)
    return np.where(totals > 0, center, 0.0), np.where(varies, spread, 1.0), varies
