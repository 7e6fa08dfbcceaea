"""Clusters of words that tell the same about the class, by the information that their sums keep.

With joint shares ``p(c, w)`` of classes and words, a clustering keeps ``I(C; cluster)`` of ``I(C; W)``. What it loses
is ``sum_j sum_{w in j} p(w) KL(p(C|w) || p(C|j))``. Agglomerative: merge the two clusters that lose least. Divisive:
k-means with the divergence KL as distance.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from fewer._kernels._word_clusters import merge_some

# How often at most a fit reports how far it has come.
_REPORTS = 20
# Stands for ln 0: never chosen, and times zero it is still zero.
_LOG_OF_ZERO = -1e300

OnStep = Callable[[np.ndarray], bool]


def information(joint: np.ndarray) -> float:
    """``I(C; W)`` in nats, of joint shares with a row for each word."""
    expected = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    return max(float(xlogy(joint, joint / np.where(expected > 0, expected, 1.0)).sum()), 0.0)


def cluster_sums(joint: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Joint shares of the clusters."""
    sums = np.zeros((n_clusters, joint.shape[1]))
    np.add.at(sums, labels, joint)
    return sums


class Distinct(NamedTuple):
    """Words with one class distribution taken together, which loses nothing; ``group`` says which word is in which."""

    joint: np.ndarray
    group: np.ndarray


def distinct_words(joint: np.ndarray) -> Distinct:
    """Groups of words with the same class distribution."""
    shares = joint / joint.sum(axis=1, keepdims=True)
    found, group = np.unique(shares, axis=0, return_inverse=True)
    group = group.ravel()
    return Distinct(cluster_sums(joint, group, len(found)), group)


def agglomerative_labels(
    joint: np.ndarray, n_clusters: int, *, window: int, on_step: OnStep = lambda labels: False
) -> np.ndarray:
    """Cluster of each word, by merging the two clusters that lose least until few are left.

    At most ``window`` clusters are open at a time, and words enter by the information that they carry, most first: with
    as many places as words this is the exact greedy merging, with few it is linear in the number of words.
    """
    n_words, n_classes = joint.shape
    n_places = min(n_words, max(window, n_clusters + 1))
    table, losses, own = np.zeros((n_places, n_classes)), np.full((n_places, n_places), np.inf), np.zeros(n_places)
    nearest, words = np.zeros(n_places, dtype=np.int64), np.zeros(n_places, dtype=np.int64)
    parents = np.arange(n_words)
    order = np.argsort(-information_of_words(joint), kind="stable")
    n_open = n_entered = n_done = 0
    n_merges = max(n_words - n_clusters, 0)
    block = max(1, -(-n_merges // _REPORTS))
    while n_done < n_merges:
        some = min(block, n_merges - n_done)
        n_open, n_entered = merge_some(
            joint, order, table, own, losses, nearest, words, parents, n_open, n_entered, some
        )
        n_done += some
        if on_step(roots(parents)):
            break
    return compact(roots(parents))


def n_reports(n_words: int, n_clusters: int) -> int:
    """How often :func:`agglomerative_labels` calls ``on_step``."""
    n_merges = max(n_words - n_clusters, 0)
    return -(-n_merges // max(1, -(-n_merges // _REPORTS)))


def information_of_words(joint: np.ndarray) -> np.ndarray:
    """What each word adds to ``I(C; W)``."""
    expected = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    return xlogy(joint, joint / np.where(expected > 0, expected, 1.0)).sum(axis=1)


def roots(parents: np.ndarray) -> np.ndarray:
    """The word at the end of each word's chain of parents."""
    found = parents.copy()
    while True:
        further = found[found]
        if np.array_equal(further, found):
            return found
        found = further


def compact(labels: np.ndarray) -> np.ndarray:
    """The same clusters numbered from 0 by their first words."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[codes.ravel()]


class Divided(NamedTuple):
    """Clusters found by k-means with the divergence as distance."""

    labels: np.ndarray
    n_iter: int
    converged: bool


def divisive_labels(
    joint: np.ndarray, n_clusters: int, *, max_iter: int, on_step: OnStep = lambda labels: False
) -> Divided:
    """Cluster of each word, each in the one whose class distribution is nearest to its own in ``KL``.

    It starts with the class that each word speaks for most, split by how clearly it does, or merged if there are more
    classes than clusters.
    """
    n_clusters = min(n_clusters, len(joint))
    weights = joint.sum(axis=1)
    shares = joint / weights[:, None]
    labels = refilled(joint, shares, start_labels(joint, shares, n_clusters), n_clusters)
    if on_step(labels):  # the start is a clustering already
        return Divided(compact(labels), 0, False)
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        similarity = shares @ log_distributions(cluster_sums(joint, labels, n_clusters)).T
        best = similarity.argmax(axis=1)
        # A word moves only if that gains something, so that equally near clusters cannot swap words for ever.
        rows = np.arange(len(labels))
        gains = similarity[rows, best] > similarity[rows, labels] + 1e-12
        moved = refilled(joint, shares, np.where(gains, best, labels), n_clusters)
        converged = bool(np.array_equal(moved, labels))
        labels = moved
        if on_step(labels):
            break
    return Divided(compact(labels), n_iter, converged)


def start_labels(joint: np.ndarray, shares: np.ndarray, n_clusters: int) -> np.ndarray:
    """The class that each word speaks for most, split or merged to at most so many clusters."""
    n_classes = joint.shape[1]
    own = (shares / np.maximum(joint.sum(axis=0), np.finfo(float).tiny)).argmax(axis=1)
    if n_clusters < n_classes:
        merged = agglomerative_labels(
            cluster_sums(joint, own, n_classes) + np.finfo(float).tiny, n_clusters, window=n_classes
        )
        return merged[own]
    weights = joint.sum(axis=1)
    parts = np.full(n_classes, n_clusters // n_classes)
    heaviest = np.argsort(-np.bincount(own, weights=weights, minlength=n_classes), kind="stable")
    parts[heaviest[: n_clusters % n_classes]] += 1
    labels, first = np.empty(len(joint), dtype=np.int64), 0
    for code in range(n_classes):
        members = np.flatnonzero(own == code)
        members = members[np.argsort(shares[members, code], kind="stable")]
        part = np.arange(len(members)) * parts[code] // max(len(members), 1)
        labels[members] = first + part
        first += parts[code]
    return labels


def log_distributions(sums: np.ndarray) -> np.ndarray:
    """Logarithms of the class distributions of the clusters."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(sums) - np.log(sums.sum(axis=1, keepdims=True))
    return np.where(sums > 0, logs, _LOG_OF_ZERO)


def refilled(joint: np.ndarray, shares: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Clusters without a word get the word that fits worst where it is."""
    counts = np.bincount(labels, minlength=n_clusters)
    if (counts > 0).all():
        return labels
    labels = labels.copy()
    for empty in np.flatnonzero(counts == 0):
        logs = log_distributions(cluster_sums(joint, labels, n_clusters))[labels]
        misfit = joint.sum(axis=1) * (xlogy(shares, shares) - shares * logs).sum(axis=1)
        misfit[np.bincount(labels, minlength=n_clusters)[labels] < 2] = -np.inf
        labels[misfit.argmax()] = empty
    return labels
