"""scikit-learn's forests, bit for bit, without what it repeats for each tree.

On some hundred rows, a tree is grown in a tenth of a millisecond, and scikit-learn takes ten times as long to clone it,
to set its parameters and to check the target once more. Here the target is encoded once, and one splitter grows all
trees, each from its own seed.
"""

from typing import Any

import numpy as np

from fewer._estimators._support_vectors import machine_predictions

# Above so many cells, trees take longer to grow than to prepare.
_CELLS = 2_000_000


def fitted(estimator: Any, X: Any, y: Any) -> Any:
    """``estimator.fit(X, y)``; extra trees of scikit-learn are grown in less time on a small table, the same ones.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,)
        Their target.

    Returns
    -------
    estimator : estimator
        The same one, fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = fitted(ExtraTreesClassifier(random_state=0), X, y)
    >>> bool((forest.predict_proba(X) == ExtraTreesClassifier(random_state=0).fit(X, y).predict_proba(X)).all())
    True
    """
    return _grown(estimator, X, np.asarray(y)) if _is_plain_forest(estimator, X, y) else estimator.fit(X, y)


def predicted(model: Any, X: Any) -> np.ndarray:
    """``model.predict(X)``; of extra trees that ``fitted`` would grow, and of RBF machines, in less time."""
    by_machine = machine_predictions(model, X)
    if by_machine is not None:
        return by_machine
    if not (_is_extra_trees(model) and _is_small(X) and model.n_outputs_ == 1 and X.shape[1] == model.n_features_in_):
        return model.predict(X)
    rows = np.ascontiguousarray(X, dtype=np.float32)
    found = np.zeros((len(rows), getattr(model, "n_classes_", 1)))
    for tree in model.estimators_:
        found += tree.tree_.predict(rows)
    found /= len(model.estimators_)
    return model.classes_.take(np.argmax(found, axis=1), axis=0) if hasattr(model, "classes_") else found[:, 0]


def forest_importances(forest: Any) -> np.ndarray:
    """``forest.feature_importances_``; of extra trees, in less time."""
    trees = [each.tree_ for each in forest.estimators_ if each.tree_.node_count > 1]
    if not (_is_extra_trees(forest) and trees):
        return forest.feature_importances_
    mean = np.mean([tree.compute_feature_importances() for tree in trees], axis=0, dtype=np.float64)
    return np.asarray(mean / np.sum(mean))


def boosting_gains(model: Any) -> np.ndarray | None:
    """How much the splits on each column lower the loss of scikit-learn's histogram boosting, as shares of the total.

    None for other models: this one has no ``feature_importances_``. Without any split, all shares are 0.
    """
    if not hasattr(model, "_predictors"):
        return None
    found = np.zeros(model.n_features_in_)
    for tree in (each for step in model._predictors for each in step):
        splits = tree.nodes[tree.nodes["is_leaf"] == 0]
        np.add.at(found, splits["feature_idx"], np.maximum(splits["gain"], 0.0))
    if model.is_categorical_ is not None and model._preprocessor is not None:  # it puts categories first
        found[np.argsort(~model.is_categorical_, kind="stable")] = found.copy()
    return found / (found.sum() or 1.0)


def _is_extra_trees(estimator: Any) -> bool:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    return type(estimator) in (ExtraTreesClassifier, ExtraTreesRegressor) and estimator.n_jobs in (None, 1)


def _is_small(X: Any) -> bool:
    """Whether it is a small dense table of numbers without missing values."""
    is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    return is_table and 0 < X.size <= _CELLS and bool(np.isfinite(X.sum()))


def _is_plain_forest(estimator: Any, X: Any, y: Any) -> bool:
    """Whether every tree sees all rows, has no limit on its leaves, and is not pruned."""
    return (
        _is_extra_trees(estimator)
        and _is_small(X)
        and np.ndim(y) == 1
        and not (estimator.bootstrap or estimator.oob_score or estimator.warm_start or estimator.verbose)
        and (estimator.max_samples, estimator.max_leaf_nodes, estimator.monotonic_cst) == (None, None, None)
        and estimator.ccp_alpha == 0
        and not getattr(estimator, "_skl_callbacks", None)
    )


def _grown(forest: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """The forest; scikit-learn grows the first tree, and so checks parameters, rows and target."""
    from sklearn.base import is_classifier
    from sklearn.utils import check_random_state

    from fewer._estimators._sklearn import (
        CRITERIA_CLF,
        CRITERIA_REG,
        DENSE_SPLITTERS,
        DepthFirstTreeBuilder,
        Tree,
    )

    n_trees, random_state = forest.n_estimators, forest.random_state
    forest.n_estimators, forest.random_state = min(n_trees, 1), 0
    try:
        forest.fit(X, y)
    finally:
        forest.n_estimators, forest.random_state = n_trees, random_state
    random_state = check_random_state(random_state)
    first, classify = forest.estimators_[0], is_classifier(forest)
    rows = np.ascontiguousarray(X, dtype=np.float32)
    n_rows, n_columns = rows.shape
    target = np.searchsorted(forest.classes_, y) if classify else y
    target = np.ascontiguousarray(target, dtype=np.float64).reshape(-1, 1)
    n_classes = np.array([forest.n_classes_ if classify else 1], dtype=np.intp)
    weight = forest._sample_weight
    leaf = _number_of_rows(forest.min_samples_leaf, n_rows)
    node = max(_number_of_rows(forest.min_samples_split, n_rows), 2, 2 * leaf)
    leaf_weight = forest.min_weight_fraction_leaf * (n_rows if weight is None else np.sum(weight))
    depth = np.iinfo(np.int32).max if forest.max_depth is None else forest.max_depth
    chance = np.random.RandomState(0)
    criterion = (CRITERIA_CLF if classify else CRITERIA_REG)[forest.criterion](1, n_classes if classify else n_rows)
    splitter = DENSE_SPLITTERS["random"](criterion, first.max_features_, leaf, leaf_weight, chance, None)
    builder = DepthFirstTreeBuilder(splitter, node, leaf, leaf_weight, depth, forest.min_impurity_decrease)
    forest.estimators_ = []
    for _ in range(n_trees):
        tree = object.__new__(type(first))
        vars(tree).update(vars(first))  # as a copy, which would also check the version of what it unpickles
        tree.random_state = random_state.randint(np.iinfo(np.int32).max)
        tree.tree_ = Tree(n_columns, n_classes, 1)
        chance.seed(tree.random_state)
        builder.build(tree.tree_, rows, target, weight, None)
        forest.estimators_.append(tree)
    return forest


def _number_of_rows(given: float, n_rows: int) -> int:
    return int(given) if isinstance(given, int | np.integer) else int(np.ceil(given * n_rows))
