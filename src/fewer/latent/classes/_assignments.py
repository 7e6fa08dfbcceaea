"""Assignments of rows to latent classes, how often they are wrong, and how well this is known.

With posteriors r_nt, and W_n the most likely class of row n,

    D_ts = P(W = s | class t) = sum_n r_nt 1[W_n = s] / sum_n r_nt.

A row changes D by itself, and through the parameters phi of the classes, whose information is I, with its score s_n:

    IF_n(D_ts) = r_nt (1[W_n = s] - D_ts) / sum_n r_nt + dD_ts/dphi' I^-1 s_n.

What is estimated with D has, for each row, the influence that it would have with a known D, plus the derivative in D
times this one. The sum of their squares is the covariance (Gong and Samaniego, 1981; Bakk, Oberski and Vermunt, 2014).
"""

from typing import Any, NamedTuple

import numpy as np

from fewer._estimators import warn_caller
from fewer.latent._latent_model import row_weights
from fewer.latent.classes._class_information import MOST_PARAMETERS, Information, classification_table

_UNCLEAR = 1e-3


def assignment_errors(posteriors: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """``D``: probabilities of being assigned to each class (columns), of the rows of each class (rows)."""
    table = classification_table(posteriors, masses)
    return table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300)


class StepOne(NamedTuple):
    """What each row adds to ``D`` (rows, K, K), the weights of all rows, and which of them step three takes."""

    influence: np.ndarray
    masses: np.ndarray
    kept: np.ndarray


class Assignments(NamedTuple):
    """``D``, and the rows that step three takes: their classes W and weights; ``step_one`` is None if D is known."""

    errors: np.ndarray
    assigned: np.ndarray
    masses: np.ndarray
    step_one: StepOne | None = None

    def covariance(self, scores: np.ndarray, slopes: np.ndarray, bread: np.ndarray) -> np.ndarray:
        """Robust covariance of estimates.

        ``scores`` (rows, parameters) are those of the rows that are taken, ``slopes`` (parameters, K, K) derivatives of
        their sum in ``D``, and ``bread`` is the inverse of the information.
        """
        masses = self.masses
        if self.step_one is not None:
            influence, masses, kept = self.step_one
            through = influence.reshape(len(influence), -1) @ slopes.reshape(len(slopes), -1).T
            through[kept] += scores
            scores = through
        changes = scores @ bread
        return changes.T @ (masses[:, None] * changes)


def error_influence(known: Information, masses: np.ndarray) -> np.ndarray:
    """What each row adds to ``D`` (rows, K, K), itself and through the parameters of step one."""
    posteriors = known.posteriors
    n_classes = posteriors.shape[1]
    sizes = np.maximum(masses @ posteriors, 1e-300)
    gaps = np.eye(n_classes)[posteriors.argmax(axis=1)][:, None] - assignment_errors(posteriors, masses)
    own = posteriors[:, :, None] * gaps / sizes[:, None]
    slopes = []
    for k, scores in enumerate(known.scores):
        shifts = (np.arange(n_classes) == k) - posteriors[:, [k]]
        slopes.append(np.einsum("n,nt,nts,np->tsp", masses, shifts, own, scores, optimize=True))
    starts = np.concatenate([[0], np.cumsum([each.shape[1] for each in known.scores])])
    rows = np.column_stack([posteriors[:, [k]] * each for k, each in enumerate(known.scores)])
    rows[:, starts[:-1]] -= sizes / masses.sum()
    through = rows @ known.design @ known.covariance @ known.design.T
    return own + np.tensordot(through, np.concatenate(slopes, axis=2), axes=(1, 2))


def assignments(model: Any, X: Any, sample_weight: Any, kept: np.ndarray) -> Assignments:
    """D from all rows; classes and weights of the rows that are kept."""
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has no predict_proba: the three-step method needs a model with one class for each "
            "row, such as LatentClass or LatentProfile."
        )
    posteriors = model.predict_proba(X)
    if len(posteriors) != len(kept):
        raise ValueError(f"X has {len(posteriors)} rows, and there are {len(kept)} rows of what is compared with it.")
    masses = row_weights(sample_weight, posteriors)
    masses = np.ones(len(posteriors)) if masses is None else masses
    if posteriors.shape[1] < 2:
        raise ValueError("The model has one class, and there is nothing to compare.")
    errors = assignment_errors(posteriors, masses)
    if np.linalg.svd(errors, compute_uv=False)[-1] < _UNCLEAR:
        raise ValueError(
            "A class has no assigned row, so that the assignments cannot be corrected: take fewer classes."
        )
    found = Assignments(errors, posteriors.argmax(axis=1)[kept], masses[kept])
    if not hasattr(model, "_information"):
        return found
    why = f"more than {MOST_PARAMETERS}"
    if model.n_parameters_ <= MOST_PARAMETERS:
        known, of_row = model._information(X, masses)
        if known.covariance is not None:
            sums = np.bincount(of_row, weights=masses, minlength=len(known.posteriors))
            return found._replace(step_one=StepOne(error_influence(known, sums)[of_row], masses, kept))
        why = "not identified"
    warn_caller(
        f"Standard errors take the classes as known, since their parameters are {why}: they are too small where rows "
        "do not belong clearly to one class."
    )
    return found
