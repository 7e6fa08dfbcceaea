"""Koller and Sahami's selection as a selector; the elimination itself is in ``_blanket_elimination.py``."""

from numbers import Integral

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps
from fewer.catalogue import method
from fewer.select._discretise import N_BINS, discretise
from fewer.select._information import Information
from fewer.select._ranking import places_of_order
from fewer.select._selector import Selector
from fewer.select.redundancy._blanket_elimination import Elimination, blanket_elimination
from fewer.select.redundancy._target import target_levels, task_of


@method(
    tasks=["classification", "regression"],
    when="Up to a few thousand columns, of which many are made redundant by one or two others; every column gets its "
    "place, from the first removed to the last one left. With few rows keep the blankets small. Columns that are "
    "useful only together (XOR) are lost among noise.",
    cost="O(n p^2) for blankets of one or more columns, O(n p) without.",
    paper="koller-sahami",
    examples=lambda: [KollerSahami(n_features_to_select=3)],
)
class KollerSahami(CallbackSupportMixin, Selector):
    """Remove, one by one, the column that tells least about the target beyond the columns nearest to it.

    The columns nearest to column i, its approximate Markov blanket M, are the K columns j with the least
    ``I(target; i | j)``. The column with the least ``I(target; i | M)`` is removed, which is the expected
    Kullback-Leibler divergence between the distributions of the target with and without it; and so on.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Columns to keep; all of them, with a warning, if the table has fewer.
    blanket_size : int, default=1
        K, the columns in a blanket. With 0 each column is judged by itself, by its mutual information with the target.
        Each more divides the rows into smaller groups, so 1 or 2 is as much as most tables carry.
    discretisation : {"equal_frequency", "equal_width", "mdl"}, default="equal_frequency"
        How columns are cut into levels: into bins, where columns with at most ``n_bins`` values keep them; or by
        description length, which leaves columns that tell nothing by themselves in one piece.
    n_bins : int, default=5
        Levels at most, for bins and for a numeric target.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes numbers with fractions, and whole numbers of very many kinds, for regression and
        everything else for classes.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        What each column told about the target beyond its blanket when it was removed, in nats. For the last one, what
        it tells by itself.
    relevance_ : ndarray of shape (n_features,)
        What each column tells by itself: its mutual information with the target.
    ranking_ : ndarray of shape (n_features,)
        Place of each column: 1 for the last one left, 2 for the one removed before, and so on.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    FCBF : Much faster on wide tables, by pairs of columns.

    References
    ----------
    .. [1] Koller, D. and Sahami, M. (1996). Toward optimal feature selection. ICML, 284-292.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import KollerSahami
    >>> wine = load("wine")
    >>> select = KollerSahami(n_features_to_select=3).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['flavanoids', 'color_intensity', 'proline']
    """

    _takes_sparse = True
    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "blanket_size": [Interval(Integral, 0, None, closed="left")],
        "discretisation": [StrOptions({"mdl", "equal_frequency", "equal_width"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "task": [StrOptions({"auto", "classification", "regression"})],
    }

    def __init__(
        self,
        n_features_to_select=10,
        *,
        blanket_size=1,
        discretisation="equal_frequency",
        n_bins=N_BINS,
        task="auto",
    ):
        self.n_features_to_select = n_features_to_select
        self.blanket_size = blanket_size
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.task = task

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Remove columns until one is left, and keep the last ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes or numbers.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = self._validated(X, y)
        levels = target_levels(y, task_of(y, self.task), self.n_bins, "KollerSahami")
        information = Information(discretise(X, levels, method=self.discretisation, n_bins=self.n_bins))
        self.relevance_ = information.with_target(levels)
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        with fit_steps(self, X, y, n_steps=X.shape[1] - 1) as after_step:
            found = blanket_elimination(
                information,
                levels,
                blanket_size=self.blanket_size,
                on_step=lambda so_far: after_step("remove-column", lambda: self._attributes(so_far)),
            )
            self._set(self._attributes(found))
        return self

    def _attributes(self, found: Elimination) -> dict[str, object]:
        """What the elimination has come to, as the attributes of a fitted selector."""
        left = np.flatnonzero(found.left)
        left = left[np.lexsort((left, -found.losses[left]))]
        removed = np.array(found.removed, dtype=int)[::-1]
        return {
            "scores_": found.losses.copy(),
            "relevance_": self.relevance_,
            "ranking_": places_of_order(np.concatenate([left, removed])),
            "n_features_to_select_": self.n_features_to_select_,
        }
