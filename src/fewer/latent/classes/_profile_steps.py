"""Steps of the latent profile model: posteriors of classes, maximum likelihood, standard errors.

    p(x_n) = sum_k eta_k prod_j N(x_nj; mu_kj, sigma_kj^2),

the product over the entries that are there. In an EM step, with responsibilities r_nk, means and variances are those of
the observed entries, weighted by r; no variance falls below a share of that of its column.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from fewer._kernels._arrays import read_only
from fewer.latent.classes._class_information import (
    Information,
    inverse_information,
    score_covariance,
    size_errors,
    size_information,
)
from fewer.latent.classes._class_steps import settled_shares
from fewer.latent.mixtures._class_mixture import kmeans_labels

_HARD = 0.9


class Profiles(NamedTuple):
    """Class sizes (K,), means (K, p) and variances (K, p)."""

    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray


@njit(cache=True, nogil=True)
def _densities(row, X, logs, means, precisions, joint):
    """Fills ``joint`` with log densities of a row and each class, observed entries only; the largest of them."""
    top = -np.inf
    for k in range(means.shape[0]):
        total = logs[k, means.shape[1]]
        for j in range(means.shape[1]):
            value = X[row, j]
            if value == value:
                gap = value - means[k, j]
                total += logs[k, j] - 0.5 * gap * gap * precisions[k, j]
        joint[k] = total
        top = max(top, total)
    return top


@njit(cache=True, nogil=True)
def _posterior_rows(X, logs, means, precisions, found, scores):
    joint = np.empty(means.shape[0])
    for row in range(X.shape[0]):
        top = _densities(row, X, logs, means, precisions, joint)
        total = 0.0
        for k in range(joint.size):
            found[row, k] = math.exp(joint[k] - top)
            total += found[row, k]
        scores[row] = math.log(total) + top
        for k in range(joint.size):
            found[row, k] /= total


@njit(cache=True, nogil=True)
def _moments(X, members, sums):
    """Adds up observed entries of each class: their masses, sums and squares, ``sums`` of shape (3, K, p)."""
    for row in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[row, j]
            if value == value:
                for k in range(members.shape[1]):
                    mass = members[row, k]
                    sums[0, k, j] += mass
                    sums[1, k, j] += mass * value
                    sums[2, k, j] += mass * value * value


def profile_posteriors(X: np.ndarray, profiles: Profiles) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the classes (rows, K), and log-densities of rows (NaN entries are missing)."""
    weights, means, variances = profiles
    logs = np.column_stack([-0.5 * np.log(2 * np.pi * variances), np.log(weights)])
    found, scores = np.empty((len(X), len(weights))), np.empty(len(X))
    arrays = [read_only(np.ascontiguousarray(each)) for each in (X, logs, means, 1 / variances)]
    _posterior_rows(arrays[0], arrays[1], arrays[2], arrays[3], found, scores)
    return found, scores


class ProfileClimb:
    """EM; states are one vector of class sizes, means, and log variances."""

    def __init__(self, X: np.ndarray, masses: np.ndarray, n_components: int, tied: bool, floor: float):
        self.X, self.masses, self.n_components, self.tied = (
            read_only(np.ascontiguousarray(X)),
            masses,
            n_components,
            tied,
        )
        self.log_floor = math.log(max(floor, 1e-300))

    def profiles(self, vector: np.ndarray) -> Profiles:
        """Sizes, means and variances."""
        k, p = self.n_components, self.X.shape[1]
        means, logs = vector[k : k + k * p].reshape(k, p), vector[k + k * p :].reshape(-1, p)
        return Profiles(vector[:k], means, np.broadcast_to(np.exp(logs), (k, p)))

    def settled(self, vector: np.ndarray) -> np.ndarray:
        """Sizes that sum to 1, and no variance below the floor."""
        k, p = self.n_components, self.X.shape[1]
        logs = np.clip(vector[k + k * p :], self.log_floor, 50.0)
        return np.concatenate([settled_shares(vector[:k]), vector[k : k + k * p], logs])

    def maximised(self, members: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Parameters from the masses of rows in classes; a class without an observed entry keeps its mean."""
        k, p = self.n_components, self.X.shape[1]
        sums = np.zeros((3, k, p))
        _moments(self.X, read_only(np.ascontiguousarray(members)), sums)
        masses = np.maximum(sums[0], 1e-300)
        means = sums[1] / masses
        squares = np.maximum(sums[2] - sums[1] * means, 0)
        if before is not None:
            empty = sums[0] < 1e-12
            means = np.where(empty, before[k : k + k * p].reshape(k, p), means)
        if self.tied:
            variances = (squares.sum(axis=0) / np.maximum(sums[0].sum(axis=0), 1e-300))[None]
        else:
            variances = squares / masses
        logs = np.log(np.maximum(variances, 1e-300))
        sizes = members.sum(axis=0)
        return self.settled(np.concatenate([sizes / sizes.sum(), means.ravel(), logs.ravel()]))

    def step(self, vector: np.ndarray) -> tuple[np.ndarray, float]:
        """The next vector, and the log-likelihood of this one."""
        found, scores = profile_posteriors(self.X, self.profiles(vector))
        return self.maximised(found * self.masses[:, None], vector), float(self.masses @ scores)

    def starting_members(self, random: np.random.RandomState) -> np.ndarray:
        """From k-means with missing entries at the mean of their column; every class has some share of each row."""
        labels = kmeans_labels(np.nan_to_num(self.X, nan=0.0), self.masses, self.n_components, random)
        members = np.full((len(self.X), self.n_components), (1 - _HARD) / self.n_components)
        members[np.arange(len(self.X)), labels] += _HARD
        return members * self.masses[:, None]

    def start(self, random: np.random.RandomState) -> np.ndarray:
        """Parameters of these classes."""
        return self.maximised(self.starting_members(random))


def profile_information(X: np.ndarray, masses: np.ndarray, profiles: Profiles, tied: bool) -> Information:
    """What rows tell about sizes, means and log variances of the profiles."""
    weights, means, variances = profiles
    n_classes, n_columns = means.shape
    found = profile_posteriors(X, profiles)[0]
    there = ~np.isnan(X)
    scores, complete = [], []
    for k in range(n_classes):
        gaps = np.nan_to_num(X - means[k])
        scaled = gaps / variances[k]
        scores.append(np.column_stack([np.ones(len(X)), scaled, (gaps * scaled - there) / 2]))
        own = masses * found[:, k]
        blocks = [own @ there / variances[k], own @ scaled, own @ (gaps * scaled) / 2]
        complete.append(np.block([[np.diag(blocks[0]), np.diag(blocks[1])], [np.diag(blocks[1]), np.diag(blocks[2])]]))
    starts = np.arange(n_classes + 1) * (1 + 2 * n_columns)
    information = size_information(weights, masses, starts) - score_covariance(found, masses, scores)
    for k, each in enumerate(complete):
        information[starts[k] + 1 : starts[k + 1], starts[k] + 1 : starts[k + 1]] += each
    # The size of class 0 is the reference; log variances may be the same for all classes.
    columns = np.arange(n_columns)
    places = [starts[k] + 1 + columns for k in range(n_classes)]
    free = np.eye(starts[-1])
    of_logs = [free[:, each + n_columns] for each in places]
    of_logs = [np.sum(of_logs, axis=0)] if tied else of_logs
    design = np.column_stack([free[:, starts[1:-1]], *(free[:, each] for each in places), *of_logs])
    return Information(found, scores, design, inverse_information(design.T @ information @ design))


def mean_errors(X: np.ndarray, masses: np.ndarray, profiles: Profiles, tied: bool) -> Profiles:
    """Standard errors of sizes and means, from the observed information; NaN if it is singular.

    The variances of the result are NaN.
    """
    n_classes, n_columns = profiles.means.shape
    _, _, design, covariance = profile_information(X, masses, profiles, tied)
    nothing = np.full((n_classes, n_columns), np.nan)
    if covariance is None:
        return Profiles(np.full(n_classes, np.nan), nothing, nothing)
    covariance = design @ covariance @ design.T
    starts = np.arange(n_classes) * (1 + 2 * n_columns)
    places = starts[:, None] + 1 + np.arange(n_columns)
    of_means = np.sqrt(np.maximum(np.diag(covariance)[places], 0))
    return Profiles(size_errors(profiles.weights, covariance[np.ix_(starts, starts)]), of_means, nothing)
