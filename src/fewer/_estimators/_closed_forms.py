"""Which estimators have a closed form, and why others have to be fitted: one registry for searches, curves and tests.

A closed form predicts the held-out rows for many sets of columns, or for many labellings, from work that all of them
share. Whether there is one depends on the estimator, on the steps before it and on the score. The mathematics stand in
the rooms that use them; what is covered is decided here. A new closed form is one more :class:`_Learner` in the
registry, and the function that each caller looks up by its name. An estimator of ours has a method
``_predicts_as(use)``, which gives one in the registry with the same predictions, or what stands against it in words; or
it gives itself, with the name of its own closed form in ``_closed_form_name``.
"""

import logging
from collections.abc import Callable, Iterable
from functools import cache
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from fewer._estimators._prediction_scores import asks_for_predictions

Use = Literal["search", "path", "labels"]
"""Subsets that differ by a column, subsets of growing size, or permuted labels."""

NEIGHBOURS = "nearest neighbours"
RIDGE = "ridge regression"
RIDGE_BY_LOO = "ridge regression with its penalty chosen by leave-one-out"
SUPPORT_VECTORS = "support vector machines"
DISCRIMINANT = "linear discriminant analysis"
NAIVE_BAYES = "Gaussian naive Bayes"
OCCURRENCES = "naive Bayes of occurrences"

SLOW = 60.0
"""Seconds from which on a user should know why something takes long."""

# Below this, squared singular values cannot be told from rounding.
_SMALLEST_TOLERANCE = 1e-6


class FastRoute(NamedTuple):
    """Whether a closed form took the place of fits, and why, or why not; it is true where one did.

    Attributes
    ----------
    taken : bool
        Whether predictions came from a closed form.
    reason : str
        Which one, or what stood against it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from fewer.select import SequentialSearch
    >>> X, y = load_iris(return_X_y=True)
    >>> SequentialSearch(KNeighborsClassifier(), n_features_to_select=2).fit(X, y).fast_route_
    FastRoute(taken=True, reason='closed form of nearest neighbours')
    >>> SequentialSearch(LogisticRegression(), n_features_to_select=1).fit(X, y).fast_route_.reason
    'LogisticRegression has no closed form'
    """

    taken: bool
    reason: str

    def __bool__(self) -> bool:
        return self.taken


NOT_KNOWN = FastRoute(False, "not known")


class ClosedForm(NamedTuple):
    """A closed form of an estimator: its name, the steps before the last one, and the last one."""

    name: str
    steps: list[Any]
    model: Any

    @property
    def route(self) -> FastRoute:
        """What a fitted object says."""
        return FastRoute(True, f"closed form of {self.name}")


class _Learner(NamedTuple):
    name: str
    declines: Callable[[Any, Use], str]
    """What stands against the closed form of such an estimator; nothing where it holds."""


def closed_form(
    estimator: Any,
    scoring: Any,
    use: Use,
    *,
    knows_step: Callable[[Any], bool] | None = None,
    takes_scorer: Callable[[Any], bool] = asks_for_predictions,
) -> ClosedForm | FastRoute:
    """The closed form of an estimator with this score, or the reason why there is none.

    Parameters
    ----------
    estimator : estimator
        Not fitted: one of scikit-learn's or of ours, or a pipeline that ends with it.
    scoring : str, callable or None
        As in scikit-learn.
    use : {"search", "path", "labels"}
        What for.
    knows_step : callable, default=None
        Whether the caller knows what a step before the last one does; by default, scalers of columns are known.
    takes_scorer : callable, default=asks_for_predictions
        Whether the caller can score by this.
    """
    steps, model = pipeline_parts(estimator)
    # By the very class, as in the registry.
    predicts_as = vars(type(model)).get("_predicts_as")
    if predicts_as is not None:
        same = predicts_as(model, use)
        if isinstance(same, str):
            return FastRoute(False, f"the closed form of {type(model).__name__} does not cover {same}")
        more_steps, model = pipeline_parts(same)
        steps = [*steps, *more_steps]
    learner = _registry().get(type(model))
    own_name = vars(type(model)).get("_closed_form_name")
    if own_name is not None:
        learner, knows_step = _Learner(own_name, lambda model, use: ""), lambda step: False
    if learner is None:
        return FastRoute(False, f"{type(model).__name__} has no closed form")
    reason = learner.declines(model, use)
    if reason:
        return FastRoute(False, f"the closed form of {learner.name} does not cover {reason}")
    for step in steps:
        if not (knows_step or scales_columns)(step):
            return FastRoute(False, f"the closed form of {learner.name} does not cover the step {type(step).__name__}")
    if scoring is not None and not _covered(estimator, scoring, takes_scorer):
        name = repr(scoring) if isinstance(scoring, str) else getattr(scoring, "__name__", type(scoring).__name__)
        return FastRoute(False, f"scoring={name} needs more than predictions")
    return ClosedForm(learner.name, steps, model)


def _covered(estimator: Any, scoring: Any, takes_scorer: Callable[[Any], bool]) -> bool:
    from sklearn.metrics import check_scoring

    return takes_scorer(scoring) or takes_scorer(check_scoring(estimator, scoring=scoring))


def pipeline_parts(estimator: Any) -> tuple[list[Any], Any]:
    """Steps before the last of a pipeline, and the last; an estimator by itself has none."""
    from sklearn.pipeline import Pipeline

    if type(estimator) is not Pipeline:
        return [], estimator
    steps = [step for _, step in estimator.steps]
    return [step for step in steps[:-1] if step is not None and not isinstance(step, str)], steps[-1]


@cache
def _registry() -> dict[type, _Learner]:
    """By the very classes: a class derived from one of them may do anything."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.svm import SVC, SVR

    neighbours, ridge = _Learner(NEIGHBOURS, _unlike_neighbours), _Learner(RIDGE, _unlike_ridge)
    by_loo = _Learner(RIDGE_BY_LOO, _unlike_ridge_by_loo)
    machine = _Learner(SUPPORT_VECTORS, _unlike_support_vectors)
    return {
        KNeighborsClassifier: neighbours,
        KNeighborsRegressor: neighbours,
        RidgeClassifier: ridge,
        Ridge: ridge,
        RidgeClassifierCV: by_loo,
        RidgeCV: by_loo,
        SVC: machine,
        SVR: machine,
        TransformedTargetRegressor: machine,
        LinearDiscriminantAnalysis: _Learner(DISCRIMINANT, _unlike_discriminant),
        GaussianNB: _Learner(NAIVE_BAYES, _unlike_naive_bayes),
    }


def _unlike_neighbours(model: Any, use: Use) -> str:
    if callable(model.weights) or model.weights not in ("uniform", "distance"):
        return "weights other than 'uniform' and 'distance'"
    if use == "labels":
        own = callable(model.metric) or model.metric == "precomputed"
        return f"metric={model.metric!r}" if own else ""
    euclidean = (model.metric == "minkowski" and model.p == 2) or model.metric in ("euclidean", "l2")
    return "" if euclidean and not model.metric_params else "distances other than the Euclidean"


def _unlike_ridge(model: Any, use: Use) -> str:
    if model.solver not in ("auto", "cholesky", "svd"):
        return f"solver={model.solver!r}, which stops short of the exact solution"
    if model.positive:
        return "positive=True"
    if not (isinstance(model.alpha, Real) and float(model.alpha) > 0):
        return f"alpha={model.alpha!r}: it takes one positive number"
    if use != "path" and getattr(model, "class_weight", None) is not None:
        return "class_weight"
    return "fit_intercept=False" if use == "search" and not model.fit_intercept else ""


def _unlike_ridge_by_loo(model: Any, use: Use) -> str:
    if use != "path":
        return "anything but subsets of growing size"
    if model.cv is not None or model.scoring is not None:
        return "penalties chosen by cv or scoring"
    if not np.all(np.asarray(model.alphas, dtype=float) > 0):
        return f"alphas={model.alphas!r}: they must be positive"
    per_target = getattr(model, "alpha_per_target", False)
    return "alpha_per_target, or store_cv_results" if per_target or model.store_cv_results else ""


def _unlike_support_vectors(model: Any, use: Use) -> str:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    if use != "path":
        return "anything but subsets of growing size"
    if type(model) is TransformedTargetRegressor:
        scaler = model.transformer
        plain = type(scaler) is StandardScaler and scaler.with_mean and scaler.with_std
        if not plain or model.func is not None or model.inverse_func is not None:
            return "targets that are transformed otherwise than by StandardScaler"
        model = model.regressor
    if type(model) not in (SVC, SVR) or model.kernel != "rbf":
        return "estimators other than SVC and SVR with the RBF kernel"
    if model.max_iter != -1 or model.verbose:
        return "max_iter, or verbose"
    return "break_ties" if getattr(model, "break_ties", False) else ""


def _unlike_discriminant(model: Any, use: Use) -> str:
    if model.solver != "svd" or model.shrinkage is not None or model.covariance_estimator is not None:
        return "solvers other than 'svd', or shrinkage"
    if model.n_components is not None:
        return "n_components"
    if model.priors is not None and (use != "labels" or len(model.priors) > 2):
        return "priors of your own"
    small = use != "labels" and model.tol < _SMALLEST_TOLERANCE
    return f"tol={model.tol}, below {_SMALLEST_TOLERANCE}" if small else ""


def _unlike_naive_bayes(model: Any, use: Use) -> str:
    if model.priors is not None and use == "search":
        return "priors of your own"
    return "var_smoothing=0" if use == "search" and not model.var_smoothing > 0 else ""


def by_column(step: Any) -> bool:
    """Whether a step changes every column by itself, without the target, so that it commutes with taking columns."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    return type(step) in (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


def scales_columns(step: Any) -> bool:
    """Whether a step shifts and stretches every column, and does nothing else."""
    return by_column(step) and not getattr(step, "clip", False)


def column_scales(steps: Iterable[Any], X: np.ndarray) -> np.ndarray:
    """What such steps, fitted on these rows, multiply each column by."""
    from sklearn.base import clone
    from sklearn.preprocessing import MinMaxScaler

    scales = np.ones(X.shape[1])
    for step in steps:
        fitted = clone(step).set_output(transform="default")
        X = fitted.fit_transform(X)
        own = getattr(fitted, "scale_", None)
        if own is not None:
            scales *= own if isinstance(fitted, MinMaxScaler) else 1 / own
    return scales


def plain_table(X: Any) -> np.ndarray | FastRoute:
    """The table as numbers of double precision, all finite, or the reason why it is none."""
    from scipy import sparse

    if sparse.issparse(X):
        return FastRoute(False, "closed forms are for dense tables, and X is sparse")
    table = X if isinstance(X, np.ndarray) else np.asarray(X)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        return FastRoute(False, "closed forms are for tables of numbers, and X holds something else")
    table = table.astype(np.float64, copy=False)
    # What is to be done about missing values, the estimator knows.
    return table if np.isfinite(table).all() else FastRoute(False, "X has missing or infinite values")


def note_slow(what: str, seconds: float, route: FastRoute, show: Callable[[str], Any] | None = None) -> None:
    """Log a warning where fits will take more than a minute, and ``show`` it in the progress line."""
    words = slow_words(seconds, route)
    if words:
        logging.getLogger("fewer").warning("%s will take %s.", what, words)
        if show is not None:
            show(words)


def slow_words(seconds: float, route: FastRoute) -> str:
    """How long fits will take and why they are needed, where that is more than a minute; else nothing."""
    if seconds <= SLOW or route.taken:
        return ""
    minutes = seconds / 60
    took = f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.0f} hours"
    return f"about {took}: {route.reason}"
