"""Clusters of words with the same information about the class, and their sums as new columns.

With joint shares ``p(c, w)`` of classes and words, a clustering keeps ``I(C; cluster)`` of ``I(C; W)``. What it loses
is ``sum_j sum_{w in j} p(w) KL(p(C|w) || p(C|j))``. Agglomerative: merge the two clusters that lose least. Divisive:
k-means with the divergence KL as distance.

*Kernels* merge the two clusters that lose least information, again and again, with few clusters open at a time. The
loss of a merge is ``g(a) + g(b) - g(a + b)`` for clusters with joint shares a and b of the classes, where ``g(v) =
sum_c v_c ln v_c - v ln v`` and ``v = sum_c v_c``: what ``I(class; cluster)`` falls by.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import (
    Interval,
    StrOptions,
    check_feature_names_in,
    encoded_classes,
    fit_context,
    fit_steps,
    refuse_documents,
    validated,
    warn_caller,
)
from fewer._kernels._arrays import copy_into
from fewer.catalogue import method

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


def class_sums(X: Any, codes: np.ndarray) -> np.ndarray:
    """Sum of each column over the rows of each class, a row for each column."""
    n_classes = int(codes.max()) + 1
    members = sparse.csr_array((np.ones(len(codes), dtype=X.dtype), (codes, np.arange(len(codes)))))
    sums = members @ X
    return np.asarray(sums.todense() if sparse.issparse(sums) else sums, dtype=np.float64).reshape(n_classes, -1).T


def nearest_to(distribution: np.ndarray, sums: np.ndarray) -> int:
    """The cluster whose class distribution is nearest to the one given."""
    return int(np.argmax(log_distributions(sums) @ distribution))


@method(
    tasks=["classification"],
    when="Counts of very many words, of which many are redundant: a few sums of words keep much of their information "
    "about the class, where as few single words would not. Not for columns with signs, nor where single words must be "
    "named.",
    cost="O(entries stored), then O(p w K) for K classes: agglomerative with w clusters open at a time, divisive with "
    "w clusters, for each iteration.",
    paper="word-clusters",
    examples=lambda: [WordClusters(2), WordClusters(3, method="divisive")],
    depends_on_shift="it takes counts, whose zero means that nothing was there",
)
class WordClusters(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """Add up words that have the same information about the class.

    Words are clustered by their class distributions ``P(C|w)``, so that the sums of the words of each cluster keep as
    much as possible of ``I(C; W)``, the information that the words have about the class.

    Parameters
    ----------
    n_clusters : int, default=50
        Clusters, and columns of the new table. There are fewer if there are fewer words with different class
        distributions.
    method : {"agglomerative", "divisive"}, default="agglomerative"
        Merge the two clusters that lose least information, again and again; or k-means with the Kullback-Leibler
        divergence as distance, which is faster with many words.
    window : int, default=200
        For "agglomerative": clusters open at a time. Words enter by the information that they carry, most first; with
        at least as many places as words, the merging is the exact greedy one.
    max_iter : int, default=100
        For "divisive": iterations at most.

    Attributes
    ----------
    labels_ : ndarray of shape (n_features,)
        Cluster of each word. A word that never occurs in training goes to the cluster that is nearest to the class
        frequencies.
    n_clusters_ : int
        Clusters found.
    class_distributions_ : ndarray of shape (n_clusters, n_classes)
        ``P(C|cluster)``.
    classes_ : ndarray of shape (n_classes,)
        The classes, in sorted order.
    information_ : float
        ``I(C; W)`` in nats, before.
    information_kept_ : float
        ``I(C; cluster)``, after; never more.
    n_iter_ : int
        Merges, or iterations.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.select.TextFeatureScorer : Keeps the best words instead.

    Notes
    -----
    A merge of two words loses ``(p(v) + p(w)) JS(P(C|v), P(C|w))``, the weighted Jensen-Shannon divergence of their
    class distributions. Words with the same distribution are merged first, without any loss. A callback that stops an
    agglomerative fit keeps the clusters so far, more than were asked for.

    References
    ----------
    .. [1] Bekkerman, R., El-Yaniv, R., Tishby, N. and Winter, Y. (2003). Distributional word clusters vs. words for
       text categorization. Journal of Machine Learning Research 3, 1183-1208.
    .. [2] Dhillon, I. S., Mallela, S. and Kumar, R. (2003). A divisive information-theoretic feature clustering
       algorithm for text classification. Journal of Machine Learning Research 3, 1265-1287.
    .. [3] Baker, L. D. and McCallum, A. K. (1998). Distributional clustering of words for text classification. SIGIR,
       96-103.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import WordClusters
    >>> counts = np.array([[3, 2, 0, 0, 1], [1, 1, 0, 0, 1], [0, 0, 2, 1, 1], [0, 0, 1, 2, 1]])
    >>> clusters = WordClusters(n_clusters=3).fit(counts, ["sport", "sport", "trade", "trade"])
    >>> clusters.labels_
    array([0, 0, 1, 1, 2])
    >>> clusters.transform(counts)
    array([[5., 0., 1.],
           [2., 0., 1.],
           [0., 3., 1.],
           [0., 3., 1.]])
    >>> clusters.get_feature_names_out(["goal", "match", "price", "tax", "the"])
    array(['goal+1', 'price+1', 'the'], dtype=object)
    """

    _size_parameter = "n_clusters"
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"agglomerative", "divisive"})],
        "window": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_clusters=50, *, method="agglomerative", window=200, max_iter=100):
        self.n_clusters = n_clusters
        self.method = method
        self.window = window
        self.max_iter = max_iter

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts; none may be negative.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        refuse_documents(X, "WordClusters")
        X, y = validated(self, X, y, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        if X.min() < 0:
            raise ValueError(
                "Negative values in data passed to WordClusters, which adds up counts; it is for columns without "
                "negative values."
            )
        self.classes_, codes = encoded_classes(y, "WordClusters")
        joint = class_sums(X, codes)
        if not joint.any():
            raise ValueError("All entries of the table are zero, so there is no word to put into a cluster.")
        seen = joint.sum(axis=1) > 0
        # Before the counts are divided by their total, so that rounding keeps no equal words apart.
        distinct = distinct_words(joint[seen])
        groups = self._clusters_of_groups(X, y, distinct.joint / joint.sum())
        joint /= joint.sum()
        labels = np.full(len(joint), -1)
        labels[seen] = groups[distinct.group]
        sums = cluster_sums(joint[seen], labels[seen], int(groups.max()) + 1)
        labels[~seen] = nearest_to(np.bincount(codes) / len(codes), sums)
        self._keep(joint, compact(labels))
        return self

    def _clusters_of_groups(self, X: Any, y: Any, joint: np.ndarray) -> np.ndarray:
        """Cluster of each group of words; callbacks see every step."""
        merging = self.method == "agglomerative"
        n_steps = n_reports(len(joint), self.n_clusters) if merging else self.max_iter + 1
        with fit_steps(self, X, y, n_steps=n_steps) as after_step:
            if merging:
                labels = agglomerative_labels(
                    joint, self.n_clusters, window=self.window, on_step=lambda labels: after_step("merges")
                )
                self.n_iter_ = len(joint) - int(labels.max()) - 1
                return labels
            labels, self.n_iter_, converged = divisive_labels(
                joint, self.n_clusters, max_iter=self.max_iter, on_step=lambda labels: after_step("iteration")
            )
        if not converged and self.n_iter_ == self.max_iter:
            message = f"Words still changed their clusters after {self.n_iter_} iterations; raise max_iter."
            warn_caller(message, ConvergenceWarning)
        return labels

    def _keep(self, joint: np.ndarray, labels: np.ndarray) -> None:
        """Set what the clusters are and what they keep."""
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        sums = cluster_sums(joint, labels, self.n_clusters_)
        self.class_distributions_ = sums / sums.sum(axis=1, keepdims=True)
        self.information_ = information(joint)
        self.information_kept_ = information(sums)
        self._heaviest = np.array(
            [members[joint[members].sum(axis=1).argmax()] for members in self._members()], dtype=np.int64
        )

    def _members(self) -> list[np.ndarray]:
        """The words of each cluster."""
        order = np.argsort(self.labels_, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.labels_))[:-1])

    def transform(self, X):
        """Sums of the words of each cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.

        Returns
        -------
        X_new : {ndarray, sparse matrix} of shape (n_samples, n_clusters)
            The sums; sparse if ``X`` is.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        n_words = len(self.labels_)
        membership = sparse.csr_array(
            (np.ones(n_words, dtype=X.dtype), (np.arange(n_words), self.labels_)), shape=(n_words, self.n_clusters_)
        )
        return X @ membership

    def get_feature_names_out(self, input_features=None):
        """The heaviest word of each cluster, and how many others there are: ``"goal+12"``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the words; those seen in ``fit`` by default.

        Returns
        -------
        names : ndarray of str objects
            A name for each cluster.
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        others = np.bincount(self.labels_) - 1
        return np.array(
            [
                f"{names[word]}+{more}" if more else str(names[word])
                for word, more in zip(self._heaviest, others, strict=True)
            ],
            dtype=object,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@njit(cache=True, nogil=True)
def _information(shares):
    total = 0.0
    terms = 0.0
    for share in shares:
        if share > 0.0:
            terms += share * np.log(share)
            total += share
    return terms - total * np.log(total) if total > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _set_losses(table, own, losses, place, n_open):
    """Loss of a merge of one open cluster with each other one."""
    for other in range(n_open):
        total = 0.0
        terms = 0.0
        for code in range(table.shape[1]):
            share = table[place, code] + table[other, code]
            if share > 0.0:
                terms += share * np.log(share)
                total += share
        loss = max(own[place] + own[other] - (terms - total * np.log(total)), 0.0)
        losses[place, other] = loss
        losses[other, place] = loss
    losses[place, place] = np.inf


@njit(cache=True, nogil=True)
def _nearest(losses, place, n_open):
    """The open cluster with which a merge loses least."""
    best = 0
    for other in range(1, n_open):
        if losses[place, other] < losses[place, best]:
            best = other
    return best


@njit(cache=True, nogil=True)
def _open(table, own, losses, nearest, words, place, shares, word):
    """Open a cluster of one word in a free place."""
    copy_into(table[place], shares)
    own[place] = _information(shares)
    words[place] = word
    _set_losses(table, own, losses, place, place + 1)
    nearest[place] = _nearest(losses, place, place + 1)
    for other in range(place):
        if losses[other, place] < losses[other, nearest[other]]:
            nearest[other] = place


@njit(cache=True, nogil=True)
def _merge_closest(table, own, losses, nearest, words, parents, n_open):
    """Merge the two open clusters that lose least, and close the gap with the last one."""
    first = 0
    for place in range(1, n_open):
        if losses[place, nearest[place]] < losses[first, nearest[first]]:
            first = place
    second = nearest[first]
    if second < first:
        first, second = second, first
    parents[words[second]] = words[first]
    for label in range(table.shape[1]):
        table[first, label] += table[second, label]
    own[first] = _information(table[first])
    last = n_open - 1
    copy_into(table[second], table[last])
    own[second], words[second], nearest[second] = own[last], words[last], nearest[last]
    for other in range(last):
        losses[second, other] = losses[last, other]
        losses[other, second] = losses[other, last]
    losses[second, second] = np.inf
    _set_losses(table, own, losses, first, last)
    for place in range(last):
        if place == first or nearest[place] == first or nearest[place] == second:
            nearest[place] = _nearest(losses, place, last)
            continue
        if nearest[place] == last:
            nearest[place] = second
        if losses[place, first] < losses[place, nearest[place]]:
            nearest[place] = first


@njit(cache=True, nogil=True)
def merge_some(joint, order, table, own, losses, nearest, words, parents, n_open, n_entered, n_merges):
    """Some merges; before each, words enter in their order as long as there is a free place.

    Returns the number of open clusters and the number of words that have entered. The other arguments are changed in
    place: ``table`` (places, classes), ``losses`` (places, places) and ``words``, ``nearest``, ``own`` (places)
    describe the open clusters, ``parents`` (words) says into which word's cluster a word has gone.
    """
    for _ in range(n_merges):
        while n_open < len(words) and n_entered < len(order):
            word = order[n_entered]
            _open(table, own, losses, nearest, words, n_open, joint[word], word)
            n_open += 1
            n_entered += 1
        _merge_closest(table, own, losses, nearest, words, parents, n_open)
        n_open -= 1
    return n_open, n_entered
