"""How many columns of a ranking to keep, by distances between models on rows with and without labels.

For models ``h_1, h_2, ...`` of growing size, d is a metric: the rate of disagreement for classes, the root of the mean
squared difference for numbers. On training rows ``d(h, y)`` is the training error. On rows without labels, only
``d(h_k, h_l)`` can be seen. A model that overfits is close to y where it was trained, and far from smaller models
elsewhere.
"""

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.model_selection import check_cv
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import check_random_state, get_tags

from fewer._estimators import HasMethods, Interval, StrOptions, encoded_classes, fit_context, fit_steps, validated
from fewer.catalogue import method
from fewer.select._select_top import SelectTop
from fewer.select._selector import Selector, sampled_rows


def pairwise_distances(predictions: np.ndarray, *, classes: bool, smooth: bool) -> np.ndarray:
    """Distance of every two rows of predictions.

    Rates of disagreement are ``(count + 1) / (n + 2)`` when smooth, so that two models which agree on all of a few rows
    are not taken to be the same.
    """
    n_rows = predictions.shape[1]
    distances = np.empty((len(predictions), len(predictions)))
    for place, own in enumerate(predictions):
        if classes:
            counts = (predictions != own).sum(axis=1)
            distances[place] = (counts + 1) / (n_rows + 2) if smooth else counts / n_rows
        else:
            distances[place] = np.sqrt(((predictions - own) ** 2).mean(axis=1))
    return distances


def triangle_holds(errors: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Which models are no further from any smaller one than their training errors together allow.

    If training errors were true, ``d(h_k, h_l) <= d(h_k, y) + d(h_l, y)`` would hold on other rows as well.
    """
    allowed = errors[:, None] + errors[None, :]
    broken = np.tril(apart > allowed * (1 + 1e-12), -1)
    return ~broken.any(axis=1)


def adjusted_errors(errors: np.ndarray, apart_in_training: np.ndarray, apart_elsewhere: np.ndarray) -> np.ndarray:
    """Training errors, each times the largest ratio by which the model is further from smaller ones on other rows.

    ``d(h_l, y) max_{k < l} d'(h_k, h_l) / d(h_k, h_l)``, with d' on other rows. Models that are the same in training
    but not elsewhere have an infinite ratio, and models that are the same everywhere have ratio one.
    """
    adjusted = errors.copy()
    for place in range(1, len(errors)):
        elsewhere, training = apart_elsewhere[place, :place], apart_in_training[place, :place]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where((training == 0) & (elsewhere == 0), 1.0, elsewhere / training)
        with np.errstate(invalid="ignore"):
            adjusted[place] = np.nan_to_num(errors[place] * ratios.max(), nan=np.inf, posinf=np.inf)
    return adjusted


def trust(apart: float, claimed_error: float) -> float:
    """How much to trust cross-validation, from 0 to 1: less, the further its choice is from another on other rows.

    The error that cross-validation claims, as a share of it and of that distance.
    """
    return 1.0 if apart == 0 else claimed_error / (apart + claimed_error)


# All sizes up to here, then steps that grow with the size.
_ALL_UP_TO = 10
_GROWTH = 1.25


def default_sizes(n_columns: int) -> list[int]:
    """Every size up to ten columns, then about 25% more each time, and all."""
    sizes = list(range(1, min(_ALL_UP_TO, n_columns) + 1))
    while sizes[-1] < n_columns:
        sizes.append(min(round(sizes[-1] * _GROWTH), n_columns))
    return sizes


class PredictionsBySize(NamedTuple):
    """Predictions of the models of all sizes, smallest first, on two sets of rows; the first model is a constant."""

    training: np.ndarray
    elsewhere: np.ndarray


def predictions_by_size(
    model: Any,
    X: Any,
    y: np.ndarray,
    elsewhere: Any,
    order: np.ndarray,
    sizes: list[int],
    *,
    classes: bool,
    on_step: Callable[[int], bool] = lambda size: False,
) -> PredictionsBySize:
    """Fit the model on the first columns of the order, for each size, and predict both sets of rows."""
    constant = np.bincount(y).argmax() if classes else y.mean()
    training, other = [np.full(X.shape[0], constant)], [np.full(elsewhere.shape[0], constant)]
    for size in sizes:
        columns = np.sort(order[:size])
        fitted = clone(model).fit(X[:, columns], y)
        training.append(fitted.predict(X[:, columns]))
        other.append(fitted.predict(elsewhere[:, columns]))
        if on_step(size):
            break
    return PredictionsBySize(np.array(training), np.array(other))


@method(
    tasks=["classification", "regression"],
    when="Few rows with labels, many without, and the question how many columns of a ranking a learner can bear. It "
    "sees how far models of different sizes are apart on rows without labels. Where columns are of ever less use, as "
    "powers of x are, its worst choices are better than those of cross-validation on few rows; with many columns of "
    "noise cross-validation is better. By default the two are combined.",
    cost="One fit of the learner for each size, s of them, and O(s^2 n) for distances; 'hybrid' adds one for each size "
    "and fold.",
    paper="metric-selection",
    examples=lambda: [MetricBasedSelection(GaussianNB(), sizes=(1, 2, 4), cv=2)],
)
class MetricBasedSelection(CallbackSupportMixin, MetaEstimatorMixin, Selector):
    """Choose how many columns to keep by comparing models on rows without labels.

    A learner is fitted on the first columns of a ranking, for a series of sizes. A model that overfits agrees with
    smaller models on the rows that trained it, and not on others: that can be seen without labels.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to fit for each size. It may be another than the one that will use the columns.
    selector : selector or None, default=None
        Ranks the columns: anything that has ``ranking_`` after ``fit``. None for the Fisher score with a classifier,
        and the correlation with a regressor.
    rule : {"hybrid", "adjusted", "triangle"}, default="hybrid"
        "adjusted" takes the smallest training error times the largest ratio between a model's distance from smaller
        models elsewhere and in training. "triangle" takes the largest model that is nowhere further from smaller ones
        than their training errors together allow. "hybrid" combines cross-validation with the metric, and trusts it the
        less, the further the choices of the two are apart on rows without labels: for numbers it takes the smallest
        weighted mean of the cross-validated and the adjusted error; for classes the choice of cross-validation, unless
        its model is further from that of "triangle" than the error that it claims.
    sizes : iterable of int or None, default=None
        Numbers of columns to try. None for all up to ten, and then steps of about 25%.
    unlabelled_size : float, default=0.3
        When ``fit`` gets no rows without labels, this share of the rows is set aside, and their labels are not used.
    cv : int, splitter or iterable, default=5
        Folds for "hybrid".
    random_state : int, RandomState instance or None, default=None
        Draws the rows that are set aside.

    Attributes
    ----------
    sizes_ : ndarray of shape (n_sizes,)
        Numbers of columns tried.
    train_errors_ : ndarray of shape (n_sizes,)
        Distance of each model from the labels it was trained on: an error rate, or the root of the mean squared error.
    adjusted_errors_ : ndarray of shape (n_sizes,)
        The same, adjusted by what is seen on rows without labels.
    consistent_ : ndarray of bool of shape (n_sizes,)
        Whether the triangle inequality holds with all smaller models.
    cv_errors_ : ndarray of shape (n_sizes,) or None
        Cross-validated errors, for "hybrid".
    cv_trust_ : float or None
        For "hybrid", the error that cross-validation claims, as a share of it and of the distance between the two
        choices on rows without labels.
    n_features_to_select_ : int
        Columns kept.
    scores_ : ndarray of shape (n_features,)
        Scores of the selector; where it has none, minus the place of each column.
    ranking_ : ndarray of shape (n_features,)
        Rank of each column, 1 for the best, by the selector on all rows with labels.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    fewer.evaluate.selection_curve : Held-out scores for every size, and an honest estimate.

    Notes
    -----
    A model that always gives the most frequent class, or the mean, stands before the smallest size, so that this one
    too is compared with something. Rates of disagreement in "adjusted" are ``(count + 1) / (n + 2)``.

    "adjusted" is for numbers, where models that overfit go astray without bound. Classes cannot: there, once a model
    fits its training rows perfectly, the ratio is not large enough to tell. Take "triangle" or "hybrid".

    References
    ----------
    .. [1] Schuurmans, D. and Southey, F. (2002). Metric-based methods for adaptive model selection and regularization.
       Machine Learning 48, 51-84.
    .. [2] Bengio, Y. and Chapados, N. (2003). Extensions to metric-based model selection. Journal of Machine Learning
       Research 3, 1209-1227.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from fewer.select import MetricBasedSelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 25))
    >>> y = X[:30, 3] + X[:30, 7] + 0.3 * rng.normal(size=30)
    >>> select = MetricBasedSelection(LinearRegression()).fit(X[:30], y, X_unlabelled=X[30:])
    >>> select.get_support(indices=True)
    array([3, 7])
    >>> int(select.sizes_[select.train_errors_.argmin()])
    25
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"])],
        "selector": [HasMethods(["fit"]), None],
        "rule": [StrOptions({"adjusted", "triangle", "hybrid"})],
        "sizes": ["array-like", None],
        "unlabelled_size": [Interval(Real, 0, 1, closed="neither")],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator,
        *,
        selector=None,
        rule="hybrid",
        sizes=None,
        unlabelled_size=0.3,
        cv=5,
        random_state=None,
    ):
        self.estimator = estimator
        self.selector = selector
        self.rule = rule
        self.sizes = sizes
        self.unlabelled_size = unlabelled_size
        self.cv = cv
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, X_unlabelled=None):
        """Rank the columns, fit the learner for each size, and choose.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with labels.
        y : array-like of shape (n_samples,)
            Their labels, or numbers.
        X_unlabelled : {array-like, sparse matrix} of shape (n_other_samples, n_features), default=None
            Rows without labels, the more the better. None sets aside some of ``X``.

        Returns
        -------
        self : object
            The fitted selector.
        """
        taken: Any = {"accept_sparse": ("csr", "csc") if self._takes_sparse else False, "dtype": "numeric"}
        X, y = self._validated(X, y, y_numeric=not self._classes(), **taken)
        if self._classes():
            y = encoded_classes(y, "MetricBasedSelection").codes
        if X_unlabelled is not None:
            X_unlabelled = validated(self, X_unlabelled, reset=False, **taken)
        sizes = checked_sizes(self.sizes, X.shape[1])
        chooser = self._ranked(X, y)
        self.ranking_ = np.asarray(chooser.ranking_)
        self.scores_ = np.asarray(getattr(chooser, "scores_", -self.ranking_), dtype=float)
        if X_unlabelled is not None:
            train, labels, elsewhere, order = X, y, X_unlabelled, column_order(chooser)
        else:
            train, labels, elsewhere = self._set_aside(X, y)
            order = column_order(self._ranked(train, labels))
        with fit_steps(self, X, y, n_steps=len(sizes)) as after_step:
            found = predictions_by_size(
                self.estimator,
                train,
                labels,
                elsewhere,
                order,
                sizes,
                classes=self._classes(),
                on_step=lambda size: after_step(f"{size} columns"),
            )
            self.sizes_ = np.array(sizes[: len(found.training) - 1])
            self._judge(found, labels)
            self._choose(X, y, found)
        return self

    def _classes(self) -> bool:
        return is_classifier(self.estimator)

    def _ranked(self, X: Any, y: np.ndarray) -> Any:
        """The selector, fitted."""
        chooser = self._ranker().fit(X, y)
        if not hasattr(chooser, "ranking_"):
            raise TypeError(
                f"{type(chooser).__name__} does not rank the columns: after fit it has no ranking_. The selectors of "
                "fewer.select have one."
            )
        return chooser

    def _ranker(self) -> Any:
        if self.selector is not None:
            return clone(self.selector)
        return SelectTop("fisher" if self._classes() else "pearson")

    def _set_aside(self, X: Any, y: np.ndarray) -> tuple[Any, np.ndarray, Any]:
        """Rows to train on, their labels, and the other rows, whose labels nobody will see."""
        rng = check_random_state(self.random_state)
        n_aside = min(max(1, round(self.unlabelled_size * X.shape[0])), X.shape[0] - 1)
        kept = sampled_rows(X.shape[0], X.shape[0] - n_aside, y, classes=self._classes(), rng=rng)
        aside = np.setdiff1d(np.arange(X.shape[0]), kept)
        labels = y[kept]
        if self._classes() and len(np.unique(labels)) < 2:
            raise ValueError(
                f"Of the {len(kept)} rows that are left to train on, all are of one class; lower unlabelled_size="
                f"{self.unlabelled_size}, or give rows without labels as X_unlabelled."
            )
        return X[kept], labels, X[aside]

    def _judge(self, found: PredictionsBySize, labels: np.ndarray) -> None:
        """Set the errors of all sizes, in training and adjusted."""
        classes = self._classes()
        with_labels = np.vstack([found.training, labels])
        plain = pairwise_distances(with_labels, classes=classes, smooth=False)
        smooth = pairwise_distances(with_labels, classes=classes, smooth=True)
        elsewhere = {how: pairwise_distances(found.elsewhere, classes=classes, smooth=how) for how in (False, True)}
        self.train_errors_ = plain[-1, 1:-1]
        self.adjusted_errors_ = adjusted_errors(smooth[-1, :-1], smooth[:-1, :-1], elsewhere[True])[1:]
        self.consistent_ = triangle_holds(plain[-1, :-1], elsewhere[False])[1:]

    def _choose(self, X: Any, y: np.ndarray, found: PredictionsBySize) -> None:
        """Set the number of columns kept."""
        self.cv_errors_: np.ndarray | None = None
        self.cv_trust_: float | None = None
        consistent = np.flatnonzero(self.consistent_)
        by_triangle = int(consistent[-1]) if len(consistent) else 0
        by_adjustment = int(self.adjusted_errors_.argmin())
        best = by_triangle if self.rule == "triangle" else by_adjustment
        if self.rule == "hybrid":
            self.cv_errors_ = errors = self._cross_validated(X, y)
            best = self._choice_of_both(errors, found, by_triangle if self._classes() else by_adjustment)
        self.n_features_to_select_ = int(self.sizes_[best])

    def _choice_of_both(self, cv_errors: np.ndarray, found: PredictionsBySize, by_metric: int) -> int:
        """Place of the size chosen by cross-validation as far as it is to be trusted, else by the metric."""
        by_folds = int(cv_errors.argmin())
        pair = found.elsewhere[[by_folds + 1, by_metric + 1]]
        apart = pairwise_distances(pair, classes=self._classes(), smooth=False)[0, 1]
        self.cv_trust_ = weight = trust(apart, cv_errors[by_folds])
        if self._classes():  # the triangle inequality gives a size, and no errors to average
            return by_folds if weight >= 0.5 else by_metric
        if weight == 1.0:
            return by_folds
        return int((weight * cv_errors + (1 - weight) * self.adjusted_errors_).argmin())

    def _cross_validated(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Error of each size, ranked and fitted without the rows that it is measured on."""
        losses = np.zeros(len(self.sizes_))
        n_tested = 0
        for train, test in check_cv(self.cv, y, classifier=self._classes()).split(X, y):
            order = column_order(self._ranked(X[train], y[train]))
            found = predictions_by_size(
                self.estimator, X[train], y[train], X[test], order, self.sizes_.tolist(), classes=self._classes()
            )
            wrong = found.elsewhere[1:] != y[test] if self._classes() else (found.elsewhere[1:] - y[test]) ** 2
            losses += wrong.sum(axis=1)
            n_tested += len(test)
        return losses / n_tested if self._classes() else np.sqrt(losses / n_tested)

    @property
    def _takes_sparse(self) -> bool:
        return all(get_tags(part).input_tags.sparse for part in (self.estimator, self._ranker()))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        parts = [get_tags(part) for part in (self.estimator, self._ranker())]
        tags.input_tags.positive_only = any(part.input_tags.positive_only for part in parts)
        return tags


def column_order(chooser: Any) -> np.ndarray:
    """Columns from best to worst."""
    return np.argsort(chooser.ranking_, kind="stable")


def checked_sizes(sizes: Iterable[int] | None, n_columns: int) -> list[int]:
    """Sizes to try, smallest first."""
    if sizes is None:
        return default_sizes(n_columns)
    given = list(sizes)
    for size in given:
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise ValueError(f"sizes holds {size!r}; a size is a whole number of columns, at least 1.")
    found = sorted({min(int(size), n_columns) for size in given})
    if not found:
        raise ValueError("sizes is empty; give the numbers of columns to try, or None.")
    return found
