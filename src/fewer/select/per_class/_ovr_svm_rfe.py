"""Recursive elimination by linear support vector machines, for each class against all others.

The machine is ``w = X' beta`` for the beta that solves its dual, which needs the products of the rows only. When
columns are dropped, the next machine starts from the last beta, which is nearly right: a few steps in n variables.

The elimination itself is in ``embedded/_elimination.py``.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning

from fewer._estimators import Interval, fit_context, fit_steps, warn_caller
from fewer._kernels._hinge_dual import effort_for, hinge_dual
from fewer._kernels._row_products import centred_products
from fewer.catalogue import method
from fewer.learn import OVRLinearSVMCommittee
from fewer.select.embedded._elimination import Elimination, RowProducts, Weights, elimination
from fewer.select.per_class._per_class_selector import ClassRanking, PerClassSelector


class ProductWeights:
    """Weights of machines on fewer and fewer columns, from products of rows that are kept up to date.

    Calling it with the columns that are left (a subset of those of the call before, ascending) gives their weights.
    """

    def __init__(self, X: Any, products: np.ndarray, signs: np.ndarray, *, C: float, tol: float) -> None:
        self.signs, self.C, self.tol = signs, C, tol
        self.products = RowProducts(X, products)
        self.beta = np.zeros(len(signs))
        self.violation = 0.0

    def __call__(self, left: np.ndarray) -> np.ndarray:
        products = self.products(left)
        cost, max_steps, _ = effort_for(products.diagonal(), self.C)
        _, violation = hinge_dual(products, self.signs, cost, self.tol, max_steps, self.beta)
        self.violation = max(self.violation, violation)
        if np.ptp(products @ self.beta) < 10 * self.tol:
            return np.zeros(len(left))  # the best machine has no weights, and those found are noise
        return self.products.weights(self.beta)


def refitted_weights(X: Any, signs: np.ndarray, *, C: float, tol: float) -> Weights:
    """The same for so many rows that their products would not fit: a machine trained anew for each call."""

    def weights(left: np.ndarray) -> np.ndarray:
        return OVRLinearSVMCommittee(C, tol).fit(X[:, left], signs).coef_[0]

    return weights


# Up to this many rows, the products of all pairs are at most 200 MB.
_MOST_ROWS_IN_PAIRS = 5_000


@method(
    tasks=["classification"],
    when="Columns are to work together in a linear rule, a list for each class: of columns that say the same, fewer "
    "are kept than by a score of single columns. The lists vary more from sample to sample.",
    cost="O(n^2 p) for the products of the rows and their updates, O(n p / step) for the weights of all rounds, for "
    "each class; O(n^2 + n p) memory",
    paper="mgs-committee",
    depends_on_scale="C weighs losses against squared weights, which have the inverse squared unit of the columns",
    depends_on_shift="with log_transform=True logarithms are taken of the values as they are",
    aliases=["RFE", "SVM-RFE"],
)
class OVRSVMRFESelector(CallbackSupportMixin, PerClassSelector):
    """Keep, for each class, the columns that recursive elimination by a support vector machine leaves.

    For each class against all others: train a linear machine, drop the columns with the smallest weights, and repeat.
    Columns should be on one scale.

    Parameters
    ----------
    n_per_class : int, default=10
        Columns to keep for each class. A column may be kept for several, so the union can be smaller than the sum.
    step : float or int, default=0.1
        Columns to drop in a round: a share of those left if it is below 1, else a number; at least one.
    C : float, default=1.0
        Cost of a row on the wrong side of its margin.
    tol : float, default=1e-7
        Largest violation of the conditions of the optimum of a machine, in decision values.
    log_transform : bool, default=False
        Whether the table holds raw positive values, whose logarithms are to be taken for the machines.
    floor : float or None, default=None
        With ``log_transform``, takes the place of values that are not positive; None refuses them.

    Attributes
    ----------
    class_scores_ : ndarray of shape (n_classes, n_features)
        Absolute weight of each column in the last machine of each class that had it. Weights of different rounds do
        not compare: ``ranking_per_class_`` is the order of elimination.
    ranking_per_class_ : ndarray of shape (n_classes, n_features)
        For each class, the columns from the last one left to the first one dropped.
    selected_per_class_ : list of ndarray
        For each class, its columns among those kept, best first.
    support_ : ndarray of bool of shape (n_features,)
        Whether each column is kept: for one class at least.
    scores_ : ndarray of shape (n_features,)
        Largest entry of ``class_scores_`` over the classes.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best: the best column of every class first, then the second best, ...
    n_iter_ : int
        Rounds of elimination for each class; they go on to a single column, so that every ``n_per_class`` can be read
        off one fit.
    n_per_class_ : int
        Columns for each class, at most as many as there are.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.feature_selection.RFE : For any estimator with weights, and one list for all classes.

    Notes
    -----
    Up to 5,000 rows, machines are updated from round to round rather than trained anew, with the same result.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.
    .. [2] Guyon, I., Weston, J., Barnhill, S. and Vapnik, V. (2002). Gene selection for cancer classification using
       support vector machines. Machine Learning 46, 389-422.

    Examples
    --------
    >>> from fewer.datasets import make_gene_blocks
    >>> from fewer.select import OVRSVMRFESelector
    >>> X, y, truth = make_gene_blocks(n_blocks=100, random_state=0)
    >>> select = OVRSVMRFESelector(n_per_class=4).fit(X, y)
    >>> X.shape[1], int(select.get_support().sum())
    (500, 10)
    """

    _parameter_constraints = {
        **PerClassSelector._parameter_constraints,
        "step": [Interval(Real, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, n_per_class=10, *, step=0.1, C=1.0, tol=1e-7, log_transform=False, floor=None):
        self.n_per_class = n_per_class
        self.step = step
        self.C = C
        self.tol = tol
        self.log_transform = log_transform
        self.floor = floor

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Eliminate columns for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted selector. If a callback stops it, columns not eliminated yet are ranked by their weights.
        """
        X, codes = self._log_table_and_codes(X, y)
        with fit_steps(self, X, y) as after_step:
            self._keep(self._ranked(X, codes, lambda n_left: after_step(f"eliminate-to-{n_left}")))
        return self

    def _ranked(self, X: Any, codes: np.ndarray, on_round: Any = lambda n_left: False) -> ClassRanking:
        n_classes = len(self.classes_)
        few_rows = X.shape[0] <= _MOST_ROWS_IN_PAIRS
        products = centred_products(X) if few_rows else None
        found: list[Elimination] = []
        stopped, violation = False, 0.0

        def on_round_unless_stopped(n_left: int) -> bool:
            nonlocal stopped
            stopped = stopped or on_round(n_left)  # the classes that follow have one round each
            return stopped

        # Of two classes, each is the other's rest, and the weights are the same.
        for code in range(n_classes if n_classes > 2 else 1):
            signs = np.where(codes == code, 1.0, -1.0)
            if products is not None:
                weights: Any = ProductWeights(X, products, signs, C=self.C, tol=self.tol)
            else:
                weights = refitted_weights(X, signs, C=self.C, tol=self.tol)
            found.append(elimination(weights, X.shape[1], self.step, on_round_unless_stopped))
            violation = max(violation, getattr(weights, "violation", 0.0))
        self._warn_if_unfinished(violation)
        self.n_iter_ = max(one.n_rounds for one in found)
        found = found if n_classes > 2 else found * 2
        return ClassRanking(np.stack([one.weights for one in found]), np.stack([one.order for one in found]))

    def _warn_if_unfinished(self, violation: float) -> None:
        if violation >= self.tol:
            warn_caller(
                f"A support vector machine has not converged: it violates the optimality conditions by {violation:.2g} "
                f"(tol={self.tol:g}). Scale the columns (StandardScaler), or take a smaller C.",
                ConvergenceWarning,
            )
