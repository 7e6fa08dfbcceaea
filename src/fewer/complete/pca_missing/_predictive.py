"""What a fitted model says about rows with holes, each from its own observed entries: scores, variances, likelihoods.

The variance of entry i of row j around its expected value is

    mtilde_i + w_i' Sigma_xj w_i + x_j' Sigma_wi x_j + tr(Sigma_xj Sigma_wi),

and v more for the entry itself, noise and all.
"""

from typing import NamedTuple

import numpy as np

from fewer.complete._observed import Observed
from fewer.complete.pca_missing._alternating import Parameters, scores_given
from fewer.complete.pca_missing._fits import packed_covariances
from fewer.complete.pca_missing._grouped_table import GroupedTable
from fewer.complete.pca_missing._packed import for_inner_products, inverses, packed_of, products, unpacked
from fewer.complete.pca_missing._plan import family_of


class ScorePosterior(NamedTuple):
    """Scores of rows; their packed covariances (None for point estimates) come one for each pattern of holes."""

    means: np.ndarray
    covariances: np.ndarray | None
    covariance_of: np.ndarray


class Predictive(NamedTuple):
    """A fitted model in the units of the table; see ``Fitted``, of which it keeps what rows depend on."""

    loadings: np.ndarray
    loading_covariances: np.ndarray | None
    covariance_of: np.ndarray
    mean: np.ndarray
    mean_variances: np.ndarray
    noise: float
    method: str
    n_rounds: int

    def scores(self, table: Observed) -> ScorePosterior:
        """Scores of rows, by one step with the model fixed."""
        grouped = self._grouped(table)
        if self.method == "ls-imputation":
            return ScorePosterior(self._refilled_scores(grouped), None, grouped.rows.labels)
        found = scores_given(grouped, self._parameters(), family_of(self.method))
        return ScorePosterior(found.means, found.covariances, grouped.rows.labels)

    def _refilled_scores(self, grouped: GroupedTable) -> np.ndarray:
        """Scores after filling in and projecting in turn, from column means on, as often as the fit took.

        With orthonormal components V and ``G = V_o' V_o`` over the observed columns, k rounds come to
        ``G^-1 (I - (I - G)^k) V_o' y_o``: least squares that leaves alone what is hardly determined.
        """
        lengths = np.sqrt(np.sum(self.loadings**2, axis=0))
        lengths[lengths == 0] = 1.0
        components = self.loadings / lengths
        shares, axes = np.linalg.eigh(unpacked(grouped.over_columns(grouped.columns.second_moments(components, None))))
        shares = np.clip(shares, 1e-15, 1.0)
        # 1 - (1 - s)^k, without the loss of digits for small s.
        gains = -np.expm1(self.n_rounds * np.log1p(-np.minimum(shares, 1 - 1e-15))) / shares
        projections = packed_of((axes * gains[:, None, :]) @ axes.swapaxes(1, 2))
        return products(grouped.rows.labels, projections, grouped.times(components)) / lengths

    def variances(self, table: Observed, with_noise: bool) -> np.ndarray:
        """Variance of every entry of the rows."""
        scores = self.scores(table)
        assert scores.covariances is not None
        own = packed_of(self.loadings[:, :, None] * self.loadings[:, None, :])
        covariances = self._packed_covariances()
        if covariances is not None:
            own += covariances
        variances = (for_inner_products(scores.covariances) @ own.T)[scores.covariance_of]
        if covariances is not None:
            outer = packed_of(scores.means[:, :, None] * scores.means[:, None, :])
            variances += for_inner_products(outer) @ covariances.T
        return variances + self.mean_variances + (self.noise if with_noise else 0.0)

    def log_likelihoods(self, table: Observed) -> np.ndarray:
        """Log density of what is observed of each row, under a normal law with covariance ``W W' + v I``."""
        grouped, size = self._grouped(table), self.loadings.shape[1]
        labels, noise = grouped.rows.labels, self.noise
        moments = grouped.over_columns(grouped.columns.second_moments(self.loadings, None))
        inverse = inverses(moments, np.full(size, noise))
        right = grouped.times(self.loadings)
        means = products(labels, inverse.matrices, right)
        distances = (grouped.row_squares() - np.sum(right * means, axis=1)) / noise
        counts = table.row_counts
        log_determinants = (counts - size) * np.log(noise) - inverse.log_determinants[labels]
        return -(counts * np.log(2 * np.pi) + log_determinants + distances) / 2

    def _grouped(self, table: Observed) -> GroupedTable:
        # Centred by the model's own mean, so that no digits are lost to large means.
        return GroupedTable(table, self.mean, 1.0, group_columns=False)

    def _packed_covariances(self) -> np.ndarray | None:
        return packed_covariances(self.loading_covariances, self.covariance_of, self.method)

    def _parameters(self) -> Parameters:
        size = self.loadings.shape[1]
        zeros = np.zeros(len(self.mean))
        return Parameters(
            self.loadings, self._packed_covariances(), zeros, zeros, self.noise, np.full(size, np.inf), np.inf
        )
