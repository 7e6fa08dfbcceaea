"""The attributes of a fitted ``PCAMissing``: the model in the units of the table, with all of its columns.

The model itself is kept in scaled units; only ``loadings_`` and ``mean_`` are told in those of the table.
"""

from typing import Any

import numpy as np

from fewer.complete._observed import Observed
from fewer.complete.pca_missing._fits import Fitted
from fewer.complete.pca_missing._plan import DIAGONAL, family_of
from fewer.complete.pca_missing._predictive import Predictive


def fitted_attributes(found: Fitted, chosen: str, table: Observed, scales: np.ndarray) -> dict[str, Any]:
    """The attributes of the fitted estimator; columns with nothing observed have zero loadings and mean."""
    columns = np.flatnonzero(table.column_counts)
    n_features = table.shape[1]
    loadings = np.zeros((n_features, found.loadings.shape[1]))
    mean, mean_variances = np.zeros(n_features), np.zeros(n_features)
    loadings[columns], mean[columns], mean_variances[columns] = found.loadings, found.mean, found.mean_variances
    which = np.zeros(n_features, dtype=np.intp)
    which[columns] = found.covariance_of
    covariances = found.loading_covariances
    if covariances is not None and chosen in DIAGONAL:
        covariances = np.zeros_like(loadings)
        covariances[columns] = found.loading_covariances
        which = np.arange(n_features)
    variances = np.sum(loadings**2, axis=0)
    lengths = np.sqrt(variances)
    known_priors = family_of(chosen).prior_of_loadings
    attributes = {
        "method_": chosen,
        "n_components_": loadings.shape[1],
        "loadings_": loadings * scales[:, None],
        "components_": (loadings / np.where(lengths > 0, lengths, 1.0)).T,
        "mean_": mean * scales,
        "scale_": scales,
        "noise_variance_": found.noise,
        "explained_variance_": variances,
        "prior_variances_": found.loading_priors if known_priors else np.full(loadings.shape[1], np.inf),
        "n_components_effective_": _n_effective(found, table.column_counts[columns]),
        "lower_bound_": found.lower_bound,
        "history_": found.history,
        "n_iter_": len(found.history),
        "_loading_covariances": covariances,
        "_covariance_of": which,
        "_mean_variances": mean_variances,
    }
    model = predictive(attributes)
    posterior = model.scores(table.divided(scales))
    attributes["scores_"] = posterior.means
    if found.scores is not None:
        attributes["scores_"][table.row_counts > 0] = found.scores
    attributes["_score_covariances"] = posterior.covariances
    attributes["_score_covariance_of"] = posterior.covariance_of
    return attributes


def predictive(attributes: dict[str, Any]) -> Predictive:
    """The model, from the attributes of the estimator."""
    return Predictive(
        loadings=attributes["loadings_"] / attributes["scale_"][:, None],
        loading_covariances=attributes["_loading_covariances"],
        covariance_of=attributes["_covariance_of"],
        mean=attributes["mean_"] / attributes["scale_"],
        mean_variances=attributes["_mean_variances"],
        noise=attributes["noise_variance_"],
        method=attributes["method_"],
        n_rounds=attributes["n_iter_"],
    )


def _n_effective(found: Fitted, column_counts: np.ndarray) -> int:
    """Components that noise alone, spread over p columns with n entries each, would not show: above v sqrt(p / n)."""
    variances = np.sum(found.loadings**2, axis=0)
    return int(np.count_nonzero(variances > found.noise * np.sqrt(len(column_counts) / column_counts.mean())))
