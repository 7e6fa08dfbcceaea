"""A forest whose trees split every node on one random column.

Each tree sees the distinct rows of a bootstrap sample and grows until its leaves are pure. At a node, one column is
drawn and cut where the information gain is largest; nothing prefers good columns to bad ones. That makes the forest a
probe for irrelevant columns: it suffers from each of them, and its splits show how much every column gained.

A tree is its nodes, each left child right after its parent: the column that is split (-1 in a leaf), the place of the
right child, the threshold (rows go left up to it), and the share of each class.
"""

from numbers import Integral
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, encoded_classes, fit_context, fit_steps, validated
from fewer._kernels._arrays import read_only
from fewer._kernels._random_column_trees import NO_CHANCE_LEVEL, GrownTree, grown_trees, ranked_columns
from fewer.catalogue import method


@njit(cache=True, nogil=True)
def add_votes(X, wanted, column, right, threshold, shares, votes):
    """Add to ``votes`` (n_rows, n_classes) the shares of the leaf of every wanted row of a dense table."""
    for row in range(wanted.size):
        if not wanted[row]:
            continue
        node = 0
        while column[node] >= 0:
            node = node + 1 if X[row, column[node]] <= threshold[node] else right[node]
        for label in range(shares.shape[1]):
            votes[row, label] += shares[node, label]


@njit(cache=True, nogil=True)
def add_sparse_votes(starts, columns, values, wanted, column, right, threshold, shares, votes):
    """The same for a table in CSR format with sorted indices."""
    for row in range(wanted.size):
        if not wanted[row]:
            continue
        stored = columns[starts[row] : starts[row + 1]]
        node = 0
        while column[node] >= 0:
            place = np.searchsorted(stored, column[node])
            found = place < stored.size and stored[place] == column[node]
            value = values[starts[row] + place] if found else 0.0
            node = node + 1 if value <= threshold[node] else right[node]
        for label in range(shares.shape[1]):
            votes[row, label] += shares[node, label]


def entries(X: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Single entries of a table, dense or sparse."""
    values = X[rows, columns]
    return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=float).ravel()


def thresholds(X: Any, tree: GrownTree) -> np.ndarray:
    """Middle between the two values next to every cut; 0 in leaves."""
    cuts = np.zeros(len(tree.column))
    split = np.flatnonzero(tree.column >= 0)
    if len(split):
        below, above = (entries(X, rows[split], tree.column[split]) for rows in (tree.below, tree.above))
        middle = below / 2 + above / 2
        cuts[split] = np.where((middle >= above) | (middle < below), below, middle)  # if no number is between the two
    return cuts


class VotingTrees:
    """Grown trees as they vote: column, right child, threshold and class shares of the nodes of each."""

    def __init__(self) -> None:
        self.trees: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    def add(self, X: Any, tree: GrownTree) -> None:
        """Take over a tree that was grown on rows of X."""
        shares = tree.counts / tree.counts.sum(axis=1, keepdims=True)
        self.trees.append((tree.column, tree.right, thresholds(X, tree), shares))

    def add_votes(self, place: int, X: Any, wanted: np.ndarray, votes: np.ndarray) -> None:
        """Add the class shares that one tree gives the wanted rows; X is dense or in CSR format."""
        columns, rights, values, shares = map(read_only, self.trees[place])
        if sparse.issparse(X):
            add_sparse_votes(X.indptr, X.indices, X.data, wanted, columns, rights, values, shares, votes)
        else:
            add_votes(read_only(X), wanted, columns, rights, values, shares, votes)

    def mean_votes(self, X: Any, n_classes: int) -> np.ndarray:
        """Class shares, averaged over all trees."""
        votes = np.zeros((X.shape[0], n_classes))
        everybody = np.ones(X.shape[0], dtype=bool)
        for place in range(len(self.trees)):
            self.add_votes(place, X, everybody, votes)
        return votes / len(self.trees)


def readable_by_rows(X: Any) -> Any:
    """A table that votes can be read from: as it is when dense, else by rows with sorted columns, each once."""
    if not sparse.issparse(X):
        return X
    by_rows = X.tocsr()
    if not by_rows.has_canonical_format:
        by_rows = by_rows.copy()
        by_rows.sum_duplicates()
    return by_rows


@method(
    tasks=["classification"],
    when="As the plain forest that shows what irrelevant columns cost, and the forest behind ForestRelevanceSelector. "
    "It is quick to grow, and good once the irrelevant columns are gone. With many of them, choose columns first.",
    cost="O(T n log(n) depth) for T trees, whatever the number of columns; O(n p) memory for the ranks.",
    paper="rf-relevance",
    examples=lambda: [RandomColumnForestClassifier(30)],
)
class RandomColumnForestClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Forest of trees that split every node on one column, drawn at random.

    Each tree is grown on the distinct rows of a bootstrap sample (about 63% of the rows) until its leaves are pure.
    Prediction averages the class shares of the leaves.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees.
    min_samples_leaf : int, default=1
        Rows that a leaf must have.
    n_jobs : int or None, default=None
        Threads that grow trees.
    random_state : int, RandomState instance or None, default=None
        Draws the samples and the columns.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    tree_sizes_ : ndarray of shape (n_estimators,)
        Nodes of each tree, leaves included.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Class shares of each row by the trees that did not see it; NaN where all did.
    oob_score_ : float
        Accuracy of these; NaN if every tree saw every row.
    n_iter_ : int
        Trees grown; fewer than ``n_estimators`` when a callback stopped the fit.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.select.ForestRelevanceSelector : Which columns gain more than chance in such a forest.
    sklearn.ensemble.RandomForestClassifier : Takes the best of several columns at each node.

    References
    ----------
    .. [1] Rogers, J. and Gunn, S. (2006). Identifying feature relevance using a random forest. In Subspace, Latent
       Structure and Feature Selection, LNCS 3940, 173-184.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.learn import RandomColumnForestClassifier
    >>> wine = load("wine")
    >>> forest = RandomColumnForestClassifier(random_state=0).fit(wine.X, wine.y)
    >>> round(forest.oob_score_, 2)
    0.99
    """

    _parameter_constraints = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(self, n_estimators=100, *, min_samples_leaf=1, n_jobs=None, random_state=None):
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = validated(self, X, y, accept_sparse=("csc", "csr"), dtype=[np.float64, np.float32])
        self.classes_, codes = encoded_classes(y, "RandomColumnForestClassifier")
        by_rows = readable_by_rows(X)
        trees = VotingTrees()
        sizes: list[int] = []
        votes = np.zeros((X.shape[0], len(self.classes_)))

        def keep(tree: GrownTree) -> None:
            trees.add(X, tree)
            left_out = np.ones(X.shape[0], dtype=bool)
            left_out[tree.rows] = False
            trees.add_votes(len(sizes), by_rows, left_out, votes)
            sizes.append(len(tree.column))

        batches = grown_trees(
            ranked_columns(X),
            codes,
            n_classes=len(self.classes_),
            n_columns=X.shape[1],
            n_estimators=self.n_estimators,
            min_leaf=self.min_samples_leaf,
            chance_rule=NO_CHANCE_LEVEL,
            n_jobs=self.n_jobs,
            random_state=check_random_state(self.random_state),
        )
        with fit_steps(self, X, y, n_steps=self.n_estimators) as after_step:
            for tree in (tree for batch in batches for tree in batch):
                keep(tree)
                if after_step("tree", lambda: self._attributes(trees, sizes, votes, codes)):
                    break
            for name, value in self._attributes(trees, sizes, votes, codes).items():
                setattr(self, name, value)
        return self

    def _attributes(self, trees: VotingTrees, sizes: list[int], votes: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
        n_votes = votes.sum(axis=1, keepdims=True)
        shares = np.divide(votes, n_votes, out=np.full_like(votes, np.nan), where=n_votes > 0)
        told = n_votes[:, 0] > 0
        score = float(np.mean(shares[told].argmax(axis=1) == codes[told])) if told.any() else float("nan")
        return {
            "classes_": self.classes_,
            "tree_sizes_": np.array(sizes),
            "oob_decision_function_": shares,
            "oob_score_": score,
            "n_iter_": len(sizes),
            "_trees": trees,
        }

    def predict_proba(self, X):
        """Class shares, averaged over the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self._trees.mean_votes(readable_by_rows(X), len(self.classes_))

    def predict(self, X):
        """Class with the largest share.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
