"""Standard errors of latent classes from the observed information, and how clearly rows belong to classes.

In the logits of class sizes and of answers, with v_nk the complete-data score of row n in class k, the observed
information is (Louis, 1982)

    I = sum_n w_n (E[B_n] - Cov[v_nz | y_n]),

the complete-data information less the posterior covariance of the scores. Standard errors of probabilities follow by
the delta method. Categories that nobody in a class chooses lie on the boundary: they have no standard error and are
held fixed.
"""

from typing import NamedTuple

import numpy as np

from fewer.latent.classes._class_steps import Classes, class_posteriors
from fewer.latent.classes._items import Patterns

MOST_PARAMETERS = 600
"""Beyond, no standard errors are computed: the information matrix takes longer than the fit."""

_FEWEST = 0.05  # expected answers of a category, below which its probability lies on the boundary
_SINGULAR = 1e-9


class _Cells(NamedTuple):
    """Categories of a class whose logits are free, by their rows, and the item of each."""

    rows: np.ndarray
    items: np.ndarray


def _free_cells(theta: np.ndarray, answered: np.ndarray, patterns: Patterns, ordinal: np.ndarray) -> _Cells:
    """All categories but the most frequent one of each item, and those on the boundary.

    Of an ordinal item, all categories but the first: its intercepts and slopes are free.
    """
    rows, items = [], []
    for item, (start, size) in enumerate(zip(patterns.offsets, patterns.n_categories, strict=True)):
        own = np.arange(start, start + size)
        if ordinal[item]:
            kept = own[1:]
        else:
            kept = own[theta[own] * answered[item] > _FEWEST]
            kept = kept[kept != start + theta[own].argmax()]
        rows.append(kept)
        items.append(np.full(len(kept), item))
    return _Cells(np.concatenate(rows), np.concatenate(items))


class Information(NamedTuple):
    """What the rows of a table tell about the parameters of a model with classes.

    ``scores[k]`` are those of rows that belong to class k (rows, parameters of the class), for the logit of its size
    first. The parameters of all classes, one class after another, are ``design`` times the free ones, whose covariance
    is None where they are not identified.
    """

    posteriors: np.ndarray
    scores: list[np.ndarray]
    design: np.ndarray
    covariance: np.ndarray | None


def class_information(
    patterns: Patterns, classes: Classes, ordinal: np.ndarray
) -> tuple[Information, list[_Cells], np.ndarray]:
    """The information of distinct rows, the cells that are free, and expected answers of each item (items, K)."""
    weights, theta = classes
    n_classes = len(weights)
    posteriors = class_posteriors(patterns.blocks, classes)[0]
    masses = patterns.weights
    observed = (patterns.codes >= 0).astype(np.float64)
    answered = observed.T @ (masses[:, None] * posteriors)
    cells = [_free_cells(theta[:, k], answered[:, k], patterns, ordinal) for k in range(n_classes)]
    # Class 0 is the reference of the sizes. Each class has a column for its size, and one for each free cell.
    scores = []
    for k, (rows, items) in enumerate(cells):
        chosen = patterns.codes[:, items] == rows - patterns.offsets[items]
        scores.append(np.column_stack([np.ones(len(masses)), chosen - observed[:, items] * theta[rows, k]]))
    starts = np.concatenate([[0], np.cumsum([each.shape[1] for each in scores])])
    information = size_information(weights, masses, starts) - score_covariance(posteriors, masses, scores)
    for k, (rows, items) in enumerate(cells):
        here = slice(starts[k] + 1, starts[k + 1])
        same = items[:, None] == items
        shares = theta[rows, k]
        information[here, here] += answered[items, k][:, None] * same * (np.diag(shares) - np.outer(shares, shares))
    design = _free_parameters(cells, starts, ordinal)
    covariance = inverse_information(design.T @ information @ design)
    return Information(posteriors, scores, design, covariance), cells, answered


def standard_errors(patterns: Patterns, classes: Classes, ordinal: np.ndarray) -> Classes:
    """Standard errors of class sizes and probabilities; NaN on the boundary, and everywhere if I is singular."""
    weights, theta = classes
    n_classes = len(weights)
    known, cells, answered = class_information(patterns, classes, ordinal)
    if known.covariance is None:
        return Classes(np.full(n_classes, np.nan), np.full(theta.shape, np.nan))
    covariance = known.design @ known.covariance @ known.design.T
    starts = np.concatenate([[0], np.cumsum([each.shape[1] for each in known.scores])])
    at_sizes = starts[:-1]
    of_weights = size_errors(weights, covariance[np.ix_(at_sizes, at_sizes)])
    of_theta = np.full(theta.shape, np.nan)
    for k, (rows, items) in enumerate(cells):
        for item in np.unique(items):
            own = np.flatnonzero(items == item)
            all_rows = np.arange(patterns.offsets[item], patterns.offsets[item] + patterns.n_categories[item])
            places = starts[k] + 1 + own
            slopes = theta[all_rows, k][:, None] * ((all_rows[:, None] == rows[own]) - theta[rows[own], k])
            found = deviations(slopes, covariance[np.ix_(places, places)])
            fixed = theta[all_rows, k] * answered[item, k] <= _FEWEST
            of_theta[all_rows, k] = np.where(fixed, np.nan, found)
    return Classes(of_weights, of_theta)


def _free_parameters(cells: list[_Cells], starts: np.ndarray, ordinal: np.ndarray) -> np.ndarray:
    """Free parameters behind the sizes and cells of all classes, as a matrix (sizes and cells, free parameters)."""
    n_classes, n_all = len(cells), int(starts[-1])
    columns = []
    single = np.eye(n_all)
    for k, each in enumerate(cells):
        columns += [single[starts[k]]] if k else []
        columns += [single[starts[k] + 1 + place] for place in np.flatnonzero(~ordinal[each.items])]
    for item in np.flatnonzero(ordinal):
        own = np.flatnonzero(cells[0].items == item)
        for place in own:  # an intercept, the same in all classes
            column = np.zeros(n_all)
            for k in range(n_classes):
                column[starts[k] + 1 + np.flatnonzero(cells[k].items == item)[place - own[0]]] = 1
            columns.append(column)
        for k in range(1, n_classes):  # a slope
            column = np.zeros(n_all)
            places = starts[k] + 1 + np.flatnonzero(cells[k].items == item)
            column[places] = np.arange(1, len(places) + 1)
            columns.append(column)
    return np.column_stack(columns) if columns else np.zeros((n_all, 0))


def score_covariance(posteriors: np.ndarray, masses: np.ndarray, scores: list[np.ndarray]) -> np.ndarray:
    """Posterior covariance of the complete-data scores, summed over rows.

    ``scores[k]`` has the scores of rows that belong to class k (rows, parameters of the class), for its logit of the
    size in the first column; the result has the parameters of all classes, one class after another.
    """
    starts = np.concatenate([[0], np.cumsum([each.shape[1] for each in scores])])
    found = np.zeros((starts[-1], starts[-1]))
    for k, own in enumerate(scores):
        for other in range(k + 1):
            shift = (posteriors[:, k] if k == other else 0.0) - posteriors[:, k] * posteriors[:, other]
            block = own.T @ ((masses * shift)[:, None] * scores[other])
            across = (slice(starts[k], starts[k + 1]), slice(starts[other], starts[other + 1]))
            found[across] = block
            found[across[::-1]] = block.T
    return found


def size_information(weights: np.ndarray, masses: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Complete-data information of the logits of the class sizes, among zeros for all other parameters."""
    found = np.zeros((starts[-1], starts[-1]))
    found[np.ix_(starts[:-1], starts[:-1])] = masses.sum() * (np.diag(weights) - np.outer(weights, weights))
    return found


def size_errors(weights: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Standard errors of class sizes from the covariance of their logits."""
    return deviations(np.diag(weights) - np.outer(weights, weights), covariance)


def inverse_information(information: np.ndarray) -> np.ndarray | None:
    """Inverse of the information; None where it is singular, so that parameters are not identified."""
    if not len(information):
        return information
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    scaled = information / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] < _SINGULAR:
        return None
    return (vectors / values) @ vectors.T / np.outer(scale, scale)


def deviations(slopes: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Standard errors of functions with these slopes (functions, parameters)."""
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, covariance, slopes), 0))


def relative_entropy(posteriors: np.ndarray, masses: np.ndarray) -> float:
    """``1 - H / log K``: 1 where every row belongs to one class, and 0 where nothing is known."""
    n_classes = posteriors.shape[1]
    if n_classes == 1:
        return 1.0
    entropies = -np.sum(posteriors * np.log(np.maximum(posteriors, 1e-300)), axis=1)
    return float(1 - masses @ entropies / (masses.sum() * np.log(n_classes)))


def classification_table(posteriors: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Expected number of rows of each class (rows) among those assigned to each class (columns)."""
    n_classes = posteriors.shape[1]
    assigned = np.eye(n_classes)[posteriors.argmax(axis=1)]
    return (masses[:, None] * posteriors).T @ assigned


def item_information(classes: Classes, offsets: np.ndarray) -> np.ndarray:
    """Mutual information of each item and the class, as a share of the entropy of the class: 1 determines it."""
    weights, theta = classes
    if len(weights) == 1:
        return np.zeros(len(offsets))
    overall = theta @ weights
    gains = (theta * np.log(np.maximum(theta, 1e-300) / np.maximum(overall, 1e-300)[:, None])) @ weights
    entropy = -float(weights @ np.log(np.maximum(weights, 1e-300)))
    return np.maximum(np.add.reduceat(gains, offsets), 0) / max(entropy, 1e-300)
