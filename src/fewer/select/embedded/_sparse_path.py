"""Columns by sparse linear models: by the penalty at which they enter, or by how often halves of the rows choose them.

*Path* (:class:`SparsePathSelector`): the stronger the penalty under which a column already has a coefficient, the
better its rank. With several classes, each is fitted against the rest, and a column has the best of its ranks.

*Stability* (:class:`StabilitySelection`): each half of the rows gives the first q columns of a sparse model; a column's
frequency is the share of halves in which it is among them. Keeping those above a threshold bounds how many useless
columns come along on average: ``E[V] <= q^2 / ((2 threshold - 1) p)``, when useless columns are as likely to be chosen
as one another, and less likely than useful ones. Halves come in pairs that share no row (complementary pairs), which
makes the frequencies steadier.
"""

from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from fewer._estimators import (
    HasMethods,
    Interval,
    StrOptions,
    encoded_classes,
    expected_false_bound,
    fit_context,
    number_for_bound,
    paired_halves,
    warn_caller,
)
from fewer.catalogue import method
from fewer.learn import l1_path
from fewer.select._selector import Selector, ranks_of_order
from fewer.select._target import holds_numbers
from fewer.select.embedded._embedded_selector import model_scores


def entry_levels(path) -> np.ndarray:
    """For each column the penalty at which it enters, as a share of the strongest; zero if it never does.

    Columns that enter between the same two points are told apart by their coefficients there, by less than the step.
    """
    entered, n_alphas = path.entered, len(path.Cs)
    levels = np.zeros(path.coefs.shape[1])
    inside = np.flatnonzero(entered < n_alphas)
    levels[inside] = path.Cs[0] / path.Cs[entered[inside]]
    step = path.Cs[0] / path.Cs
    for point in np.unique(entered[inside]):
        together = inside[entered[inside] == point]
        sizes = np.abs(path.coefs[[point]].toarray()[0, together])
        room = (step[point - 1] - step[point]) if point > 0 else 0.0
        levels[together] += 0.5 * room * sizes / max(sizes.max(), np.finfo(float).tiny)
    return levels


def signs_against_rest(y: np.ndarray, who: str) -> list[np.ndarray]:
    """A target of -1 and +1 for each class against the rest; one only when there are two classes."""
    classes, codes = encoded_classes(y, who)
    wanted = [1] if len(classes) == 2 else range(len(classes))
    return [np.where(codes == code, 1.0, -1.0) for code in wanted]


@method(
    tasks=["classification", "regression"],
    when="Columns that matter together in a linear model, ranked for a size curve: a column gets no place for what "
    "others before it already tell. Of alike columns one comes early and the rest late; if all of them are wanted, "
    "take a score, or StabilitySelection with redundancy groups.",
    cost="One path for each class: O(n p) a pass, few passes at each of the penalties.",
    examples=lambda: [SparsePathSelector(n_features_to_select=3, n_alphas=10)],
    aliases=["lasso", "SelectFromModel"],
)
class SparsePathSelector(Selector):
    """Rank columns by where they enter the path of a sparse linear model.

    Parameters
    ----------
    n_features_to_select : int, default=10
        Columns to keep.
    loss : {"auto", "log", "squared_hinge", "squared"}, default="auto"
        Loss of the linear model; "auto" is "log" for classes and "squared" for numbers.
    n_alphas : int, default=100
        Penalties on the path.
    eps : float, default=1e-2
        Weakest penalty over strongest; smaller lets more columns in.
    max_features : int or None, default=None
        The path ends after the first model with more columns than this, which saves time where only the first matter;
        those that have not entered by then are ranked by how near they came. None for the whole path.
    with_std : bool, default=True
        Whether columns are divided by their standard deviations first, for they share one penalty.
    tol : float, default=1e-6
        As in :func:`~fewer.learn.l1_path`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The penalty at which a column enters, as a share of the strongest; zero if it does not enter.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the first to enter. Columns that never enter come last, by how near they came.
    n_features_to_select_ : int
        Columns kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    StabilitySelection : How often columns come back on parts of the rows.
    fewer.learn.l1_path : The path itself.

    References
    ----------
    .. [1] Efron, B., Hastie, T., Johnstone, I. and Tibshirani, R. (2004). Least angle regression. Annals of Statistics
       32, 407-499.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import SparsePathSelector
    >>> cancer = load("breast_cancer")
    >>> select = SparsePathSelector(n_features_to_select=3).fit(cancer.X, cancer.y)
    >>> [cancer.columns[column] for column in select.get_support(indices=True)]
    ['worst radius', 'worst perimeter', 'worst concave points']
    """

    _parameter_constraints = {
        "n_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions({"auto", "log", "squared_hinge", "squared"})],
        "n_alphas": [Interval(Integral, 2, None, closed="left")],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "with_std": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_features_to_select=10,
        *,
        loss="auto",
        n_alphas=100,
        eps=1e-2,
        max_features=None,
        with_std=True,
        tol=1e-6,
    ):
        self.n_features_to_select = n_features_to_select
        self.loss = loss
        self.n_alphas = n_alphas
        self.eps = eps
        self.max_features = max_features
        self.with_std = with_std
        self.tol = tol

    @property
    def _takes_sparse(self):
        return True

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Follow the path and note where the columns enter.

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
        self.n_features_to_select_ = self._number_to_keep(X.shape[1])
        if self.with_std:
            X = StandardScaler(with_mean=False).fit_transform(X)
        loss = self._loss_for(y)
        targets = [y.astype(float)] if loss == "squared" else signs_against_rest(y, "SparsePathSelector")
        levels, nearness = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        grid = {"n_alphas": self.n_alphas, "eps": self.eps, "max_features": self.max_features}
        for target in targets:
            path = l1_path(X, target, loss=loss, tol=self.tol, **grid)
            levels = np.maximum(levels, entry_levels(path))
            nearness = np.maximum(nearness, path.last_slopes)
        self.scores_ = levels
        # Columns that enter first for several classes have one level, but for rounding.
        nearness = np.round(np.where(levels > 0, 0.0, nearness), 6)
        self.ranking_ = ranks_of_order(np.lexsort((np.arange(len(levels)), -nearness, -np.round(levels, 9))))
        return self

    def _loss_for(self, y) -> str:
        if self.loss != "auto":
            return self.loss
        return "squared" if holds_numbers(y) else "log"


# When all colours are used up, they come again, broken.
_DASHES = ("solid", "dash", "dot")


@method(
    tasks=["classification", "regression"],
    when="A list of columns that must not change with the next few rows, with a bound on how many of them are there by "
    "chance. It is cautious: with few rows it keeps few columns, and of alike columns perhaps none, because they take "
    "turns; look at redundancy_groups then.",
    cost="Two sparse models for each pair of halves: O(n p) a pass each.",
    examples=lambda: [StabilitySelection(SparsePathSelector(n_alphas=8), n_pairs=1, n_features_each=3)],
)
class StabilitySelection(MetaEstimatorMixin, Selector):
    """Keep the columns that a sparse model chooses on most halves of the rows.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What chooses on each half: a selector with ``ranking_``, or a model with ``coef_`` or ``feature_importances_``,
        whose zeros are columns not chosen. None for :class:`SparsePathSelector`.
    threshold : float, default=0.7
        Share of the halves in which a column must be chosen; above one half.
    n_features_each : int or None, default=None
        Columns chosen on each half at most; None for the number with which the bound is ``max_false``.
    max_false : float, default=1.0
        The bound on the mean number of useless columns, when ``n_features_each`` is None.
    n_pairs : int, default=50
        Pairs of halves; two fits for each.
    n_jobs : int or None, default=None
        Halves at the same time, in threads.
    random_state : int, RandomState instance or None, default=None
        Draws the halves.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Share of the halves in which each column is chosen.
    ranking_ : ndarray of shape (n_features,)
        Place of each column, 1 for the most often chosen; of equals, such as those never chosen, the one with the
        better mean place over the halves comes first.
    support_ : ndarray of bool of shape (n_features,)
        Which columns are kept.
    stability_path_ : ndarray of shape (n_features_each, n_features)
        Row q - 1 has the share of halves in which each column is among the first q.
    n_features_each_ : int
        Columns chosen on each half at most.
    n_chosen_ : float
        Columns chosen on a half on average; fewer than ``n_features_each_`` where a model had fewer.
    expected_false_ : float
        Bound on the mean number of useless columns among those kept.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    SparsePathSelector : One path on all rows.
    fewer.evaluate.selection_stability : Whether any selector's choices agree.

    References
    ----------
    .. [1] Meinshausen, N. and Buhlmann, P. (2010). Stability selection. Journal of the Royal Statistical Society B 72,
       417-473.
    .. [2] Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability
       selection. Journal of the Royal Statistical Society B 75, 55-80.

    Examples
    --------
    >>> from fewer.datasets import load
    >>> from fewer.select import StabilitySelection
    >>> wine = load("wine")
    >>> select = StabilitySelection(n_pairs=10, n_features_each=4, random_state=0).fit(wine.X, wine.y)
    >>> [wine.columns[column] for column in select.get_support(indices=True)]
    ['alcohol', 'color_intensity', 'od280/od315_of_diluted_wines', 'proline']
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"]), None],
        "threshold": [Interval(Real, 0.5, 1, closed="right")],
        "n_features_each": [Interval(Integral, 1, None, closed="left"), None],
        "max_false": [Interval(Real, 0, None, closed="neither")],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        threshold=0.7,
        n_features_each=None,
        max_false=1.0,
        n_pairs=50,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.n_features_each = n_features_each
        self.max_false = max_false
        self.n_pairs = n_pairs
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _takes_sparse(self):
        return True

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Choose on each half, and count.

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
        X, y = self._validated(X, y, accept_sparse="csr", ensure_min_samples=4)
        n_columns = X.shape[1]
        self.n_features_each_ = min(self._asked_of_each(n_columns), n_columns)
        # Of each path only the first columns count, so it need not go on after them.
        own = self.estimator is None
        chooser = SparsePathSelector(max_features=self.n_features_each_) if own else self.estimator
        rng = check_random_state(self.random_state)
        classes = not holds_numbers(y)
        if classes:
            _refuse_lonely_classes(y)
        halves = paired_halves(y, self.n_pairs, rng, classes)
        orders, chosen = zip(
            *Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(columns_in_order)(clone(chooser), X[rows], y[rows], self.n_features_each_) for rows in halves
            ),
            strict=True,
        )
        path = np.zeros((self.n_features_each_, n_columns))
        for columns in chosen:
            for place, column in enumerate(columns):
                path[place:, column] += 1 / len(chosen)
        self.stability_path_ = path
        self.scores_ = path[-1]
        mean_places = np.mean([ranks_of_order(order) for order in orders], axis=0)
        self.ranking_ = ranks_of_order(np.lexsort((np.arange(n_columns), mean_places, -self.scores_)))
        # Shares are sums of 1/halves: a hair below the threshold is the threshold.
        self.support_ = self.scores_ >= self.threshold - 1e-9
        self.n_chosen_ = float(np.mean([len(columns) for columns in chosen]))
        self.expected_false_ = expected_false_bound(self.n_chosen_, self.threshold, n_columns)
        if self.n_chosen_ == 0:
            warn_caller(
                f"{type(chooser).__name__} chose no column on any half: weaken its penalty, or scale the columns by "
                "StandardScaler as the step before in a pipeline."
            )
        elif not self.support_.any():
            warn_caller(
                f"No column is chosen on {self.threshold:.0%} of the halves; the most frequent one is on "
                f"{self.scores_.max():.0%}. There may be nothing to find, or similar columns replace each other: see "
                "redundancy_groups, or lower threshold."
            )
        return self

    def _asked_of_each(self, n_columns: int) -> int:
        if self.n_features_each is not None:
            return self.n_features_each
        return number_for_bound(self.max_false, self.threshold, n_columns)

    def plot(self, n_columns=10):
        """Frequencies against how many columns are chosen on each half; columns that are kept are named.

        Parameters
        ----------
        n_columns : int, default=10
            How many of the most frequent columns are coloured and named.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The picture.
        """
        from fewer._figures import GREY, PALETTE, new_figure, translucent

        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        figure = new_figure(
            title=f"{int(self.support_.sum())} columns come back on {self.threshold:.0%} of the halves",
            x="columns chosen on each half",
            y="share of halves",
        )
        counts = np.arange(1, self.n_features_each_ + 1)
        ever = np.flatnonzero(self.scores_)
        for place, column in enumerate(ever[np.argsort(self.ranking_[ever])]):
            named = place < n_columns
            turn, colour = divmod(place, len(PALETTE))
            look = {"width": 2, "color": PALETTE[colour], "dash": _DASHES[turn % len(_DASHES)]}
            figure.add_scatter(
                x=counts, y=self.stability_path_[:, column], mode="lines", name=str(names[column]), showlegend=named,
                line=look if named else {"width": 0.7, "color": translucent(GREY, 0.4)},
            )  # fmt: skip
        figure.add_hline(y=self.threshold, line={"color": GREY, "dash": "dot"}, annotation_text="threshold")
        return figure


def _refuse_lonely_classes(y: np.ndarray) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) > 1 and counts.min() < 2:
        lonely = classes.tolist()[int(np.argmin(counts))]
        raise ValueError(
            f"StabilitySelection halves each class, and the class {lonely!r} has one row only; at least two are needed."
        )


def columns_in_order(chooser, X, y, n_most: int) -> tuple[np.ndarray, np.ndarray]:
    """All columns, best first, as a selector ranks them or a model uses them; and those of the first that it chose."""
    chooser.fit(X, y)
    if hasattr(chooser, "ranking_"):
        order = np.argsort(chooser.ranking_, kind="stable")
        scores = getattr(chooser, "scores_", None)
    else:
        scores = model_scores(chooser, X.shape[1])
        order = np.argsort(-scores, kind="stable")
    first = order[:n_most]
    return order, first if scores is None else first[np.asarray(scores)[first] != 0]
