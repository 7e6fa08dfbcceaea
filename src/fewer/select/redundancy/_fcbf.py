"""Fast correlation-based filter: drop each column that is closer to a better one than to the target.

With the symmetric uncertainty SU of levels, go through the columns from the highest SU with the target on; a column p
that is still there drops every later column q with ``SU(p, q) >= SU(q, target)``. What is left are the predominant
columns.

Yu, L. and Liu, H. (2003). Feature selection for high-dimensional data: a fast correlation-based filter solution. ICML,
856-863.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks

from fewer._estimators import Interval, StrOptions, fit_context, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.select._discretise import N_BINS, discretise
from fewer.select._information import ROUNDING, Information
from fewer.select._ranking import places_of_order
from fewer.select._selector import Selector
from fewer.select.redundancy._target import target_levels, task_of


class Predominant(NamedTuple):
    """The predominant columns, best first, and for each column the one that dropped it (-1 if none did)."""

    columns: list[int]
    dropped_by: np.ndarray


def predominant_columns(
    with_target: np.ndarray,
    with_column: Callable[[int, np.ndarray], np.ndarray],
    *,
    threshold: float,
    on_step: Callable[[Predominant], bool] = lambda found: False,
) -> Predominant:
    """Columns that no better one is closer to than the target is.

    Parameters
    ----------
    with_target : ndarray of shape (n_columns,)
        Symmetric uncertainty of each column with the target.
    with_column : callable
        From a column and an array of others to the symmetric uncertainty of each of these with it.
    threshold : float
        Columns with less than this, or with nothing, are left out.
    on_step : callable
        Called after each column found; may return True to stop and keep what there is.

    Returns
    -------
    found : Predominant
        The columns and who dropped the others.
    """
    found = Predominant([], np.full(len(with_target), -1))
    order = np.argsort(-with_target, kind="stable")
    left = order[(with_target[order] >= threshold) & (with_target[order] > 0)]
    while len(left):
        best, left = int(left[0]), left[1:]
        found.columns.append(best)
        if len(left):
            closer = with_column(best, left) >= with_target[left] - ROUNDING
            found.dropped_by[left[closer]] = best
            left = left[~closer]
        if on_step(found):
            break
    return found


@method(
    tasks=["classification", "regression"],
    when="A wide table with many columns that say the same, and a quick list without them, whose length need not be "
    "set. Columns are compared in pairs only, so those that are useful only together (XOR) are missed.",
    cost="O(n p k) for k columns kept, often far less; cuts by description length sort the columns, O(n p log n).",
    paper="fcbf",
)
class FCBF(CallbackSupportMixin, Selector):
    """Keep the columns that no better column is closer to than the target is.

    Parameters
    ----------
    threshold : float, default=0.0
        Least symmetric uncertainty with the target. Columns that share nothing with the target are never kept.
    discretisation : {"mdl", "equal_frequency", "equal_width"}, default="mdl"
        How columns are cut into levels: by description length, which leaves columns that tell nothing about the
        target in one piece; or into bins. Binned columns with at most ``n_bins`` values keep them.
    n_bins : int, default=5
        Levels at most, for bins and for a numeric target.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes numbers with fractions, and whole numbers of very many kinds, for regression and
        everything else for classes.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Symmetric uncertainty of each column with the target.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the best: the columns kept by their score, then the others by theirs.
    dropped_by_ : ndarray of shape (n_features,)
        For each column the better one that made it redundant; -1 for those kept, and for those without a use.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    CFS : Looks at subsets instead of pairs.
    MRMR : For a given number of columns.

    References
    ----------
    .. [1] Yu, L. and Liu, H. (2003). Feature selection for high-dimensional data: a fast correlation-based filter
       solution. ICML, 856-863.
    .. [2] Fayyad, U. and Irani, K. (1993). Multi-interval discretization of continuous-valued attributes for
       classification learning. IJCAI, 1022-1027.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import FCBF
    >>> wine = load("wine")
    >>> select = FCBF(threshold=0.3).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['alcohol', 'flavanoids', 'color_intensity', 'hue', 'od280/od315_of_diluted_wines', 'proline']
    """

    _takes_sparse = True
    _parameter_constraints = {
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "discretisation": [StrOptions({"mdl", "equal_frequency", "equal_width"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "task": [StrOptions({"auto", "classification", "regression"})],
    }

    def __init__(self, *, threshold=0.0, discretisation="mdl", n_bins=N_BINS, task="auto"):
        self.threshold = threshold
        self.discretisation = discretisation
        self.n_bins = n_bins
        self.task = task

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the predominant columns.

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
        levels = target_levels(y, task_of(y, self.task), self.n_bins, "FCBF")
        information = Information(discretise(X, levels, method=self.discretisation, n_bins=self.n_bins))
        with_target = information.symmetric_uncertainty_with_target(levels)
        with fit_steps(self, X, y) as after_step:
            found = predominant_columns(
                with_target,
                information.symmetric_uncertainty_with_column,
                threshold=self.threshold,
                on_step=lambda found: after_step("keep-column", lambda: self._attributes(found, with_target)),
            )
            self._set(self._attributes(found, with_target))
        if not found.columns:
            warn_caller(
                f"No column reaches threshold={self.threshold:g} (highest symmetric uncertainty with the target: "
                f"{with_target.max():.3g}); the best one is kept."
            )
        return self

    def _attributes(self, found: Predominant, with_target: np.ndarray) -> dict[str, object]:
        """What was found, as the attributes of a fitted selector."""
        kept = np.array(found.columns or [int(np.argmax(with_target))])
        by_score = np.argsort(-with_target, kind="stable")
        others = by_score[~np.isin(by_score, kept)]
        return {
            "scores_": with_target,
            "ranking_": places_of_order(np.concatenate([kept, others])),
            "dropped_by_": found.dropped_by.copy(),
            "n_features_to_select_": len(kept),
        }
