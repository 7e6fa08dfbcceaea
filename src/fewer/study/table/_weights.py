"""Weights of the rows: in fits, where an estimator takes them, and in scores.

They reach an estimator by scikit-learn's metadata routing: every part of it that can ask for ``sample_weight`` does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def asking(estimator: Any) -> Any:
    """The estimator with every request for weights set, its own and those of the estimators inside it.

    Scalers ask for none: columns are prepared alike with and without weights. Nor do selectors whose score takes none.
    """
    for part in _parts(estimator):
        if hasattr(part, "set_fit_request"):
            is_scaler = type(part).__module__.startswith("sklearn.preprocessing")
            part.set_fit_request(sample_weight=not is_scaler and getattr(part, "_takes_weights", True))
        if hasattr(part, "set_score_request"):
            part.set_score_request(sample_weight=True)
        scorer = _scorer(part)
        if scorer is not None:
            part.set_params(scoring=scorer.set_score_request(sample_weight=True))
    return estimator


def _scorer(part: Any) -> Any:
    """The scorer of an estimator that chooses a parameter by cross-validation, which must ask for weights as well."""
    from sklearn.base import is_classifier
    from sklearn.metrics import check_scoring, get_scorer

    params = part.get_params(deep=False)
    if "scoring" not in params or not ("cv" in params or "estimator" in params):
        return None
    if "estimator" in params:
        return check_scoring(part.estimator, part.scoring)
    if part.scoring is not None:
        return check_scoring(part, part.scoring)
    if type(part).__module__.startswith("sklearn."):  # a closed form, without a scorer
        return None
    return get_scorer("neg_log_loss" if is_classifier(part) else "neg_mean_squared_error")


def _parts(estimator: Any) -> list[Any]:
    """An estimator and those inside it, fitted ones and steps included."""
    from sklearn.base import BaseEstimator

    found, todo = [estimator], list(vars(estimator).values())
    while todo:
        value = todo.pop()
        if isinstance(value, BaseEstimator):
            found += _parts(value)
        elif isinstance(value, list | tuple):
            todo += value
    return found


def takes_weights(estimator: Any) -> bool:
    """Whether a fit of the estimator uses weights of the rows.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> takes_weights(Ridge()), takes_weights(KNeighborsClassifier())
    (True, False)
    """
    from sklearn import config_context
    from sklearn.base import clone
    from sklearn.utils.metadata_routing import get_routing_for_object

    with config_context(enable_metadata_routing=True):
        try:
            router = get_routing_for_object(asking(clone(estimator)))
            return "sample_weight" in router.consumes("fit", ["sample_weight"])
        except (TypeError, ValueError, AttributeError, NotImplementedError):
            return False


def fit_weighted(estimator: Any, X: Any, y: Any, weights: "np.ndarray | None") -> Any:
    """The estimator, fitted with the weights if there are any and it takes them.

    Parameters
    ----------
    estimator : estimator
        Not fitted; a pipeline or a search as well. Every part that can take weights gets them, except scalers.
    X : array, frame or sparse matrix
        The rows.
    y : array
        Their targets.
    weights : ndarray of shape (n_rows,) or None
        Weight of each row.

    Returns
    -------
    estimator : estimator
        The same, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from fewer.study import fit_weighted
    >>> X, y = np.array([[0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 3.0])
    >>> fit_weighted(LinearRegression(), X, y, np.array([1.0, 3.0, 1.0])).predict(X).round(1) + 0
    array([0. , 1.5, 1.5])
    """
    from sklearn import config_context

    from fewer._estimators import fitted

    if weights is None or not takes_weights(estimator):
        return fitted(estimator, X, y)
    scoring = {id(part): part.scoring for part in _parts(estimator) if hasattr(part, "scoring")}
    with config_context(enable_metadata_routing=True):
        model = asking(estimator).fit(X, y, sample_weight=weights)
    for part in _parts(model):  # what was asked is no part of the model, and need not be saved with it
        vars(part).pop("_metadata_request", None)
        if id(part) in scoring:
            part.scoring = scoring[id(part)]
    return model


def weighted_score(scorer: Any, model: Any, X: Any, y: Any, weights: "np.ndarray | None") -> float:
    """The score of a fitted model, with the weights if there are any."""
    if weights is None:
        return float(scorer(model, X, y))
    return float(scorer(model, X, y, sample_weight=weights))
