"""Columns that are highest in one class, with a linear support vector machine for each class.

The number of columns is that with the smallest cross-validated error, after the errors are averaged over ``window``
consecutive numbers: a minimum due to chance is narrow, and the moving average removes it.

Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous
diseases. Journal of Machine Learning Research 11, 2141-2167.
"""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, encoded_classes, fit_context, validated
from fewer.catalogue import method
from fewer.learn import OVRLinearSVMCommittee
from fewer.select._target import fixed_splits
from fewer.select.per_class._class_statistics import OVEFoldChangeSelector
from fewer.select.per_class._per_class_selector import log_intensities


def smoothed_errors(errors: np.ndarray, window: int) -> np.ndarray:
    """Centred moving average; NaN at the ends, where the window does not fit. A shorter curve has a shorter window.

    Examples
    --------
    >>> import numpy as np
    >>> smoothed_errors(np.array([0.3, 0.0, 0.3, 0.3]), 3).round(2)
    array([nan, 0.2, 0.2, nan])
    """
    window = min(window, len(errors))
    sums = np.cumsum(np.concatenate([[0.0], errors]))
    smoothed = np.full(len(errors), np.nan)
    first = (window - 1) // 2
    smoothed[first : first + len(errors) - window + 1] = (sums[window:] - sums[:-window]) / window
    return smoothed


def argmin_smoothed_error(errors: np.ndarray, window: int) -> int:
    """Index of the smallest smoothed error; of equals, the first."""
    # Sums in another order differ in the last digit, which must not decide between equals.
    return int(np.nanargmin(smoothed_errors(errors, window).round(12)))


def checked_grid(grid: Iterable[int], n_columns: int) -> np.ndarray:
    """Numbers of columns per class in rising order, without those above the number of columns there are."""
    numbers = list(grid)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
            raise ValueError(f"grid holds {number!r}; a number of columns per class is a whole number, at least 1.")
    if not numbers:
        raise ValueError("grid is empty; give numbers of columns per class, such as range(2, 101).")
    possible = [int(number) for number in numbers if number <= n_columns]
    return np.unique(possible or [n_columns])


@method(
    tasks=["classification"],
    when="A rule for several classes from very many columns in one unit, such as gene expression, that names the "
    "markers of each class. Classes that are low rather than high in their columns, or that fall into several groups, "
    "are served badly.",
    cost="O(n p + M p log p + n^2 k M) for M classes with k columns each; 'auto' so much for each fold",
    paper="mgs-committee",
    examples=lambda: [PUGOVRSVM(grid=(1, 2), cv=2)],
    depends_on_scale="C weighs losses against squared weights, which have the inverse squared unit of the columns",
    depends_on_shift="with log_transform=True logarithms are taken of the values as they are",
)
class PUGOVRSVM(ClassifierMixin, BaseEstimator):
    """Markers of each class by fold change against every other, and a committee of machines, one for each class.

    :class:`OVEFoldChangeSelector` keeps the same number of columns for every class, and
    :class:`fewer.learn.OVRLinearSVMCommittee` tells each class from the others by the union.

    Parameters
    ----------
    n_per_class : int or "auto", default="auto"
        Columns for each class. "auto" takes the number in ``grid`` with the smallest cross-validated error, averaged
        over ``window`` consecutive numbers.
    direction : {"up", "down", "both"}, default="up"
        As for :class:`OVEFoldChangeSelector`.
    contrast : {"ove", "ovr-classes", "ovr-samples"}, default="ove"
        As for :class:`OVEFoldChangeSelector`.
    log_transform : bool, default=False
        Whether the table holds raw positive values; the columns are then scored, and the machines trained, on their
        logarithms.
    floor : float or None, default=None
        With ``log_transform``, takes the place of values that are not positive; None refuses them.
    min_score : float or None, default=None
        Smallest log fold change of a column that is kept for a class.
    C : float, default=1.0
        Cost of a row on the wrong side of its margin.
    grid : iterable of int or None, default=None
        Numbers to try with "auto"; 2 to 100 by default. Those above the number of columns are left out.
    window : int, default=5
        Consecutive numbers that an error is averaged over.
    cv : int, "loo", splitter or iterable, default=5
        Folds for "auto". A number makes stratified folds, fewer if every class has fewer rows.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows before they are split into folds, when ``cv`` is a number. None leaves them in their order.

    Attributes
    ----------
    n_per_class_ : int
        Columns for each class.
    selector_ : OVEFoldChangeSelector
        The fitted selector.
    committee_ : OVRLinearSVMCommittee
        The machines, on the columns kept.
    grid_ : ndarray of shape (n_numbers,) or None
        Numbers that were tried; None when ``n_per_class`` is given.
    grid_errors_ : ndarray of shape (n_numbers,) or None
        Their cross-validated errors. The smallest one is optimistic, because it was chosen.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.evaluate.nested_sustainable_error : An honest error of the whole, with the choice inside.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.

    Examples
    --------
    >>> from fewer.datasets import make_gene_blocks
    >>> from fewer.select import PUGOVRSVM
    >>> X, y, truth = make_gene_blocks(random_state=0)
    >>> model = PUGOVRSVM(n_per_class=5).fit(X, y)
    >>> model.selector_.get_support(indices=True)[:10]
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    >>> X_new, y_new, _ = make_gene_blocks(n_per_class=200, random_state=1)
    >>> bool(model.score(X_new, y_new) > 0.88)
    True
    """

    _parameter_constraints = {
        "n_per_class": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "direction": [StrOptions({"up", "down", "both"})],
        "contrast": [StrOptions({"ove", "ovr-classes", "ovr-samples"})],
        "log_transform": ["boolean"],
        "floor": [Interval(Real, 0, None, closed="neither"), None],
        "min_score": [Interval(Real, None, None, closed="neither"), None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "grid": ["array-like", None],
        "window": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object", StrOptions({"loo"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_per_class="auto",
        *,
        direction="up",
        contrast="ove",
        log_transform=False,
        floor=None,
        min_score=None,
        C=1.0,
        grid=None,
        window=5,
        cv=5,
        random_state=None,
    ):
        self.n_per_class = n_per_class
        self.direction = direction
        self.contrast = contrast
        self.log_transform = log_transform
        self.floor = floor
        self.min_score = min_score
        self.C = C
        self.grid = grid
        self.window = window
        self.cv = cv
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Choose the columns and train the machines.

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
        X, y = validated(self, X, y, accept_sparse="csc", dtype=(np.float64, np.float32), ensure_min_samples=2)
        self.classes_, codes = encoded_classes(y, "PUGOVRSVM")
        X = self._on_log_scale(X)
        self.grid_, self.grid_errors_ = None, None
        self.n_per_class_ = self.n_per_class
        if self.n_per_class == "auto":
            self.grid_ = checked_grid(range(2, 101) if self.grid is None else self.grid, X.shape[1])
            self.grid_errors_ = self._errors(X, codes, self.grid_)
            self.n_per_class_ = int(self.grid_[argmin_smoothed_error(self.grid_errors_, self.window)])
        self.selector_ = self._selector(self.n_per_class_).fit(X, y)
        self.n_per_class_ = self.selector_.n_per_class_
        if hasattr(self, "feature_names_in_"):
            self.selector_.feature_names_in_ = self.feature_names_in_  # for its report
        self.committee_ = OVRLinearSVMCommittee(self.C).fit(X[:, self.selector_.support_], y)
        return self

    def _selector(self, n_per_class: int) -> OVEFoldChangeSelector:
        """The selector, for a table on the log scale."""
        return OVEFoldChangeSelector(
            n_per_class, direction=self.direction, contrast=self.contrast, min_score=self.min_score
        )

    def _on_log_scale(self, X: Any) -> Any:
        if not self.log_transform:
            return X
        return log_intensities(X, self.floor, getattr(self, "feature_names_in_", None))

    def _errors(self, X: Any, codes: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """Cross-validated error for every number in the grid, from one ranking for each fold."""
        cv = self.cv
        if isinstance(cv, Integral) or cv is None:
            cv = min(5 if cv is None else int(cv), int(np.bincount(codes).max()))
            if cv < 2:
                raise ValueError(
                    "n_per_class='auto' cross-validates, and no class has two rows; give n_per_class as a number."
                )
        rows = X.tocsr() if hasattr(X, "tocsr") else X
        n_wrong, n_tested = np.zeros(len(grid)), 0
        for train, test in fixed_splits(cv, rows, codes, classifier=True, random_state=self.random_state):
            ranked = self._selector(1).fit(rows[train], codes[train])
            predicted = OVRLinearSVMCommittee(self.C).nested_predictions(
                rows[train],
                codes[train],
                rows[test],
                np.argsort(ranked.ranking_),
                [len(ranked.subset(number)) for number in grid],
            )
            n_wrong += (predicted != codes[test]).sum(axis=1)
            n_tested += len(test)
        return n_wrong / n_tested

    def as_pipeline(self) -> Pipeline:
        """The same as a pipeline of scikit-learn, not fitted: logarithms if asked for, selector and committee.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
            With the steps "select" and "classify", and "log" before them; "auto" becomes the selector's default.
        """
        selector = self._selector(10 if self.n_per_class == "auto" else self.n_per_class)
        steps: list[tuple[str, Any]] = [("select", selector), ("classify", OVRLinearSVMCommittee(self.C))]
        if self.log_transform:
            log = FunctionTransformer(
                log_intensities,
                validate=True,
                accept_sparse=True,
                kw_args={"floor": self.floor},
                feature_names_out="one-to-one",
            )
            steps.insert(0, ("log", log))
        return Pipeline(steps)

    def decision_function(self, X):
        """Decision value of each machine for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        decisions : ndarray of shape (n_samples, n_classes) or (n_samples,)
            A column for each class; for two classes one number, positive for the second.
        """
        kept = self._kept(X)
        return self.committee_.decision_function(kept)

    def predict(self, X):
        """Class with the largest decision value.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        kept = self._kept(X)
        return self.committee_.predict(kept)

    def _kept(self, X: Any) -> Any:
        """The columns kept, on the log scale."""
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csc", dtype=(np.float64, np.float32), reset=False)
        return self._on_log_scale(X[:, self.selector_.support_])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = bool(self.log_transform and self.floor is None)
        return tags
