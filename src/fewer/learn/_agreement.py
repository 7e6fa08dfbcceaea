"""Views that agree: a semi-supervised classifier whose views must predict the same on rows without labels.

    min  sum_v L_v(w_v) + c sum_{unlabelled x} A(p_1(x), ..., p_V(x)),    A = -V log sum_y (prod_v p_v(y))^(1/V),

where ``L_v`` is the log-loss of view v on labelled rows with a normal prior on its weights. ``A`` is the smallest sum
of divergences ``KL(q || p_v)`` from one distribution q, which is the normalised geometric mean; for two views it is
twice the Bhattacharyya distance. EM: q for each unlabelled row, then each view is fitted to labels and to q.

Views that tell fewer classes apart agree on what they share: with labels z in common, ``q(z)`` is the geometric mean of
``p_v(z)``, and ``q_v(y) = p_v(y | z) q(z)``.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import (
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
    fit_steps,
    get_column_indices,
    validated,
    warn_caller,
)
from fewer._kernels._scipy_solvers import minimize
from fewer._wording import listed_values
from fewer.catalogue import method
from fewer.learn._partly_labelled import any_label, encoded_known, known_labels


class Agreement(NamedTuple):
    """Logs of the common distribution (n, n_common) and of each view's own (n, n_labels), and divergences."""

    common: np.ndarray
    views: list[np.ndarray]
    divergence: np.ndarray


def agreement(log_probabilities: list[np.ndarray], maps: list[np.ndarray] | None = None) -> Agreement:
    """The distributions nearest to those of the views that agree on common labels.

    Parameters
    ----------
    log_probabilities : list of ndarray of shape (n, n_labels)
        Log-probabilities of the labels of each view.
    maps : list of ndarray of shape (n_labels,), default=None
        Common label, from 0 on, of each label of each view; by default all labels are common.

    Returns
    -------
    found : Agreement
        The smallest ``sum_v KL(q_v || p_v)`` of each row, and where it is reached.

    Examples
    --------
    >>> first, second = np.log([[0.7, 0.2, 0.1]]), np.log([[0.1, 0.6, 0.3]])
    >>> np.exp(agreement([first, second]).common).round(4)
    array([[0.3374, 0.4417, 0.2209]])
    """
    shared = log_probabilities if maps is None else _merged(log_probabilities, maps)
    mean = np.mean(shared, axis=0)
    level = logsumexp(mean, axis=1, keepdims=True)
    common = mean - level
    views = [common] * len(shared)
    if maps is not None:
        views = [
            own + (common - theirs)[:, labels]
            for own, theirs, labels in zip(log_probabilities, shared, maps, strict=True)
        ]
    return Agreement(common, views, -len(shared) * level[:, 0])


def _merged(log_probabilities: list[np.ndarray], maps: list[np.ndarray]) -> list[np.ndarray]:
    """Log-probabilities of the common labels, view by view."""
    n_common = 1 + max(int(labels.max()) for labels in maps)
    return [
        np.column_stack([logsumexp(logs[:, labels == common], axis=1) for common in range(n_common)])
        for logs, labels in zip(log_probabilities, maps, strict=True)
    ]


class LogLinear(NamedTuple):
    """Weights of columns (p, k), and intercepts (k,)."""

    coef: np.ndarray
    intercept: np.ndarray

    def log_probabilities(self, X: Any) -> np.ndarray:
        scores = np.asarray(X @ self.coef) + self.intercept
        return scores - logsumexp(scores, axis=1, keepdims=True)

    def penalty(self, C: float) -> float:
        return float(np.sum(self.coef**2) / (2 * _variance(C, self.coef.shape[1])))


def _variance(C: float, n_labels: int) -> float:
    """With two labels the prior is that of the difference of their weights, as in binary logistic regression."""
    return C / 2 if n_labels == 2 else C


def fitted_log_linear(X: Any, targets: np.ndarray, C: float, start: LogLinear, tol: float = 1e-9) -> LogLinear:
    """Multinomial logistic regression on weighted shares of classes (n, k), by L-BFGS.

    Minimises ``-sum_i sum_y t_iy log p(y | x_i) + ||w||^2 / (2 C)``; intercepts are free. With two classes w is the
    difference of their weights.
    """
    n_columns, n_labels = start.coef.shape
    totals = targets.sum(axis=1, keepdims=True)
    scale, C = max(float(totals.sum()), 1.0), _variance(C, n_labels)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        coef = flat[:-n_labels].reshape(n_columns, n_labels)
        scores = np.asarray(X @ coef) + flat[-n_labels:]
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        residual = totals * np.exp(logs) - targets
        value = -np.sum(targets * logs) + np.sum(coef**2) / (2 * C)
        gradient = np.concatenate([(np.asarray(X.T @ residual) + coef / C).ravel(), residual.sum(axis=0)])
        return float(value) / scale, gradient / scale

    options = {"maxiter": 2000, "maxfun": 4000, "gtol": tol, "ftol": 1e-15, "maxcor": 20}
    flat = np.concatenate([start.coef.ravel(), start.intercept])
    found = minimize(loss, flat, jac=True, method="L-BFGS-B", options=options).x
    # Only differences of intercepts matter.
    return LogLinear(found[:-n_labels].reshape(n_columns, n_labels), found[-n_labels:] - found[-n_labels:].mean())


class Labels(NamedTuple):
    """Labels that each view tells apart, by class (maps), and the common label of each (shared, and by class)."""

    of_classes: list[np.ndarray]
    common_of_labels: list[np.ndarray]
    common_of_classes: np.ndarray

    @property
    def maps(self) -> list[np.ndarray] | None:
        """For `agreement`; None where all views tell all classes apart."""
        plain = all(len(labels) == len(self.common_of_classes) for labels in self.common_of_labels)
        return None if plain else self.common_of_labels


def labels_of_views(classes: np.ndarray, label_maps: Any, n_views: int) -> Labels:
    """What the views have in common: the finest labels that none of them tells apart less.

    Examples
    --------
    >>> found = labels_of_views(np.array(["cat", "dog", "oak"]), [None, {"cat": "animal", "dog": "animal"}], 2)
    >>> found.common_of_classes, found.common_of_labels[1]
    (array([0, 0, 1]), array([0, 1]))
    """
    if label_maps is None:
        plain = np.arange(len(classes))
        return Labels([plain] * n_views, [plain] * n_views, plain)
    if len(label_maps) != n_views:
        raise ValueError(f"label_maps has {len(label_maps)} entries, and there are {n_views} views.")
    of_classes = []
    for each in label_maps:
        given = {} if each is None else dict(each)
        unknown = [label for label in given if label not in set(classes.tolist())]
        if unknown:
            raise ValueError(f"label_maps names the class {unknown[0]!r}, and y has {listed_values(classes.tolist())}.")
        names = [("common", given[label]) if label in given else ("own", label) for label in classes.tolist()]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        of_classes.append(np.array([numbers[name] for name in names]))
    n_classes = len(classes)
    links = np.concatenate([np.equal.outer(labels, labels)[None] for labels in of_classes]).any(axis=0)
    _, common = connected_components(sparse.csr_array(links), directed=False)
    _, first = np.unique(common, return_index=True)
    common = np.argsort(np.argsort(first))[common]
    if common.max() == 0:
        raise ValueError("label_maps leaves nothing to agree on: all classes have one common label.")
    common_of_labels = []
    for labels in of_classes:
        own = np.empty(labels.max() + 1, dtype=int)
        own[labels] = common[np.arange(n_classes)]
        common_of_labels.append(own)
    return Labels(of_classes, common_of_labels, common)


def class_log_probabilities(found: Agreement, labels: Labels) -> np.ndarray:
    """Log-probabilities of the classes: of common labels by agreement, within them by the views that look closer."""
    if labels.maps is None:
        return found.common
    common = labels.common_of_classes
    within = np.zeros((len(found.common), len(common)))
    n_looking = np.zeros(len(common))
    for own, of_classes in zip(found.views, labels.of_classes, strict=True):
        sizes = np.array([len(np.unique(of_classes[common == each])) for each in common])
        looking = sizes > 1
        within += np.where(looking, own[:, of_classes], 0.0)
        n_looking += looking
    within /= np.maximum(n_looking, 1)
    logs = np.empty_like(within)
    for each in np.unique(common):
        members = np.flatnonzero(common == each)
        total = logsumexp(within[:, members], axis=1, keepdims=True)
        logs[:, members] = within[:, members] - total + found.common[:, [each]]
    return logs


@method(
    tasks=["classification"],
    when="Few labels, many rows without, and columns that fall into two or more parts each of which could tell the "
    "classes apart by itself: words and links of a page, sound and image, two laboratories.",
    cost="O(n p k) time for a step of a view's fit",
    paper="posterior-regularization",
    examples=lambda: [
        AgreementClassifier(random_state=0),
        AgreementClassifier(C=10.0, unlabeled_weight=2.0, random_state=0),
    ],
    depends_on_scale="the prior on the weights is in the units of the columns",
)
class AgreementClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Semi-supervised classifier of several views that are trained to agree on rows without labels.

    Every view is a log-linear classifier (multinomial logistic regression) on columns of its own.

    Parameters
    ----------
    views : list of lists of int or str, default=None
        Columns of each view, by position or, in a frame, by name; two random halves by default.
    C : float, default=1.0
        Variance of the normal prior of the weights: the inverse of a ridge penalty, as in scikit-learn's
        ``LogisticRegression``. Intercepts are free.
    unlabeled_weight : float or "equal", default="equal"
        Weight of a row without a label; with "equal" all of them together weigh as much as those with one.
    label_maps : list of dict or None, default=None
        For views that do not tell all classes apart: a dict for each view, from classes to what the view tells of
        them, or None for a view that tells all apart. Classes that a dict leaves out are told apart. Views agree on
        what they have in common.
    unlabeled_value : object, default=-1
        What ``y`` holds for rows without a label; None stands for missing values (None, NaN). Give another one if -1
        is a class of yours.
    max_iter : int, default=100
        Maximum number of iterations of EM.
    tol : float, default=1e-6
        Stop when the objective changes by less than this share of its size.
    random_state : int, RandomState instance or None, default=None
        Draws the halves.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    views_ : list of ndarray
        Columns of each view.
    coefs_ : list of ndarray of shape (n_labels, n_columns)
        Weights of each view.
    intercepts_ : list of ndarray of shape (n_labels,)
        Intercepts of each view.
    agree0_ : AgreementClassifier
        The views as they were before EM, fitted to labelled rows alone, and combined in the same way: a baseline that
        shows what training together adds.
    objective_path_ : ndarray of shape (n_iter,)
        Penalised log-losses of labelled rows plus the weighted divergences of rows without labels; it falls.
    n_iter_ : int
        Iterations of EM.
    converged_ : bool
        Whether it ended by ``tol``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    sklearn.semi_supervised.SelfTrainingClassifier : One view, which learns from its own surest predictions.

    Notes
    -----
    Agreement helps where views make different errors. Views that see the same, such as copies of the same columns,
    agree from the start and gain nothing.

    References
    ----------
    .. [1] Ganchev, K., Graca, J., Gillenwater, J. and Taskar, B. (2010). Posterior regularization for structured latent
       variable models. Journal of Machine Learning Research 11, 2001-2049.

    Examples
    --------
    Ten labels of 500 rows; -1 stands for no label.

    >>> import numpy as np
    >>> from fewer.learn import AgreementClassifier
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=500)
    >>> X = np.column_stack([truth, truth]) * 4.0 + rng.normal(size=(500, 2))
    >>> y = np.where(np.arange(500) < 10, truth, -1)
    >>> model = AgreementClassifier([[0], [1]]).fit(X, y)
    >>> bool(model.score(X, truth) > 0.98)
    True
    """

    _parameter_constraints = {
        "views": ["array-like", None],
        "C": [Interval(Real, 0, None, closed="neither")],
        "unlabeled_weight": [Interval(Real, 0, None, closed="left"), StrOptions({"equal"})],
        "label_maps": [list, tuple, None],
        "unlabeled_value": "no_validation",
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        views=None,
        *,
        C=1.0,
        unlabeled_weight="equal",
        label_maps=None,
        unlabeled_value=-1,
        max_iter=100,
        tol=1e-6,
        random_state=None,
    ):
        self.views = views
        self.C = C
        self.unlabeled_weight = unlabeled_weight
        self.label_maps = label_maps
        self.unlabeled_value = unlabeled_value
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the views together.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes, and ``unlabeled_value`` where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        names_of = X  # a frame knows its columns by name
        known, y = known_labels(self, y)
        options = {"accept_sparse": "csr", "dtype": np.float64}
        X, y = validated(self, X, np.where(known, y, any_label(y, known)) if not known.all() else y, **options)
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = encoded_known(self, y[known & (weights > 0)], all_known=bool(known.all()))
        self.views_ = self._columns(names_of, X.shape[1])
        self._labels = labels_of_views(self.classes_, self.label_maps, len(self.views_))
        labelled, unlabelled = np.flatnonzero(known & (weights > 0)), np.flatnonzero(~known & (weights > 0))
        masses = weights[labelled]
        price = self.unlabeled_weight
        if price == "equal":
            price = float(masses.sum() / weights[unlabelled].sum()) if len(unlabelled) else 0.0
        soft = price * weights[unlabelled]
        # Columns about their means: the intercept is free, so that this changes only how fast the fit is.
        self._means = np.zeros(X.shape[1]) if sparse.issparse(X) else np.average(X, axis=0, weights=weights)
        tables = [self._view(X, columns) for columns in self.views_]
        hard = [
            masses[:, None] * np.eye(labels.max() + 1)[labels[codes]] for labels in self._labels.of_classes
        ]  # of labelled rows, view by view
        models = [_nothing(table.shape[1], shares.shape[1]) for table, shares in zip(tables, hard, strict=True)]
        stacked = [_stacked(table, labelled, unlabelled) for table in tables]
        path: list[float] = []
        self.converged_ = stopped = False
        with fit_steps(self, X, y, n_steps=len(models) + self.max_iter) as after_step:
            for number, (table, shares) in enumerate(zip(tables, hard, strict=True)):
                models[number] = fitted_log_linear(table[labelled], shares, self.C, models[number])
                stopped = after_step("view")
                if stopped:
                    break
            self.agree0_ = self._untrained(models)
            while len(path) < self.max_iter and not self.converged_ and not stopped:
                found = agreement(
                    [model.log_probabilities(table[unlabelled]) for model, table in zip(models, tables, strict=True)],
                    self._labels.maps,
                )
                losses = [
                    model.penalty(self.C) - float(np.sum(shares * model.log_probabilities(table[labelled])))
                    for model, table, shares in zip(models, tables, hard, strict=True)
                ]
                path.append(sum(losses) + float(soft @ found.divergence))
                self.converged_ = not soft.any() or (
                    len(path) > 1 and abs(path[-2] - path[-1]) <= self.tol * abs(path[-2])
                )
                stopped = after_step("iteration")
                if self.converged_ or stopped:
                    break
                models = [
                    fitted_log_linear(table, np.vstack([shares, soft[:, None] * np.exp(q)]), self.C, model)
                    for table, shares, q, model in zip(stacked, hard, found.views, models, strict=True)
                ]
            self._keep(models)
            self.objective_path_ = np.array(path)
            self.n_iter_ = len(path)
        if not self.converged_ and not stopped:
            gain = abs(path[-1] - path[-2]) / max(abs(path[-2]), 1e-300) if len(path) > 1 else np.inf
            warn_caller(
                f"The objective still changed by {gain:.2g} of its size after {self.n_iter_} iterations; raise "
                "max_iter or tol.",
                ConvergenceWarning,
            )
        if len(np.unique(self._class_logs(X[labelled]).argmax(axis=1))) == 1:
            warn_caller(
                "All labelled rows are predicted to be of one class: the penalty is too strong for the unit of the "
                "columns. Bring the columns to one scale (StandardScaler), or take a larger C."
            )
        return self

    def _columns(self, X: Any, n_columns: int) -> list[np.ndarray]:
        """Columns of the views."""
        if self.views is None:
            if n_columns < 2:
                raise ValueError(f"X has {n_columns} column (n_features = 1), and two views need one column each.")
            order = check_random_state(self.random_state).permutation(n_columns)
            return [np.sort(order[: n_columns // 2]), np.sort(order[n_columns // 2 :])]
        if len(self.views) < 2:
            raise ValueError(f"views has {len(self.views)} entry, and at least two views can agree.")
        for each in self.views:
            if isinstance(each, str | Integral):
                raise ValueError(f"views must be lists of columns, such as [[0, 1], [2, 3]]; {each!r} is not a list.")
        found = [np.asarray(get_column_indices(X, list(each)), dtype=int) for each in self.views]
        empty = [number for number, columns in enumerate(found) if not len(columns)]
        if empty:
            raise ValueError(f"View {empty[0]} has no column.")
        return found

    def _view(self, X: Any, columns: np.ndarray) -> Any:
        return X[:, columns] if sparse.issparse(X) else X[:, columns] - self._means[columns]

    def _keep(self, models: list[LogLinear]) -> None:
        means = [self._means[columns] for columns in self.views_]
        self.coefs_ = [model.coef.T for model in models]
        self.intercepts_ = [model.intercept - mean @ model.coef for model, mean in zip(models, means, strict=True)]

    def _untrained(self, models: list[LogLinear]) -> "AgreementClassifier":
        """The classifier with these views."""
        found = clone(self)
        known = ("classes_", "views_", "n_features_in_", "feature_names_in_", "_labels", "_means")
        found.__dict__.update({name: value for name, value in vars(self).items() if name in known})
        found._keep(models)
        return found

    def _view_logs(self, X: Any) -> list[np.ndarray]:
        models = [LogLinear(coef.T, intercept) for coef, intercept in zip(self.coefs_, self.intercepts_, strict=True)]
        return [model.log_probabilities(X[:, columns]) for model, columns in zip(models, self.views_, strict=True)]

    def _class_logs(self, X: Any) -> np.ndarray:
        return class_log_probabilities(agreement(self._view_logs(X), self._labels.maps), self._labels)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities on which the views agree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._class_logs(self._checked(X))

    def predict_proba(self, X):
        """Probabilities of the classes on which the views agree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return softmax(self.predict_log_proba(X), axis=1)

    def predict(self, X):
        """The most probable class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        found = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[found]

    def view_proba(self, X):
        """Probabilities of each view by itself.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : list of ndarray of shape (n_samples, n_labels)
            One array for each view; its columns are the classes, or what the view tells of them by ``label_maps``, in
            the order in which they come among the classes.
        """
        return [np.exp(logs) for logs in self._view_logs(self._checked(X))]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _nothing(n_columns: int, n_labels: int) -> LogLinear:
    return LogLinear(np.zeros((n_columns, n_labels)), np.zeros(n_labels))


def _stacked(table: Any, first: np.ndarray, second: np.ndarray) -> Any:
    """Some rows after others."""
    return table[np.concatenate([first, second])]
