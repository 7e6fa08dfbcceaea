"""Forests that are grown and asked in less time are those of scikit-learn, bit for bit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier

from fewer._estimators import fitted, forest_importances, model_score, predicted

CLASSES, NUMBERS = load_wine(return_X_y=True), load_diabetes(return_X_y=True)
FORESTS = [
    ExtraTreesClassifier(7, random_state=3),
    ExtraTreesClassifier(7, random_state=3, class_weight="balanced", criterion="entropy"),
    ExtraTreesClassifier(7, random_state=3, class_weight="balanced_subsample", min_samples_leaf=0.02),
    ExtraTreesClassifier(7, random_state=3, max_features=None, max_depth=3, min_samples_split=0.1),
    ExtraTreesClassifier(7, random_state=3, min_weight_fraction_leaf=0.05, min_impurity_decrease=0.01),
    ExtraTreesClassifier(7, random_state=3, bootstrap=True, max_samples=50),
    ExtraTreesClassifier(7, random_state=3, max_leaf_nodes=5, ccp_alpha=0.01),
    RandomForestClassifier(7, random_state=3),
    ExtraTreesRegressor(7, random_state=3),
    ExtraTreesRegressor(7, random_state=3, max_features=1 / 3, min_samples_leaf=3),
    ExtraTreesRegressor(7, random_state=3, criterion="poisson"),
]


def table_of(forest):
    return NUMBERS if isinstance(forest, ExtraTreesRegressor) else CLASSES


def is_same(one, other):
    """Whether all trees are equal in every node, and all else in its representation."""
    same = [
        np.array_equal(mine.tree_.__getstate__()[part], theirs.tree_.__getstate__()[part])
        for mine, theirs in zip(one.estimators_, other.estimators_, strict=True)
        for part in ("nodes", "values")
    ]
    hidden = {"estimators_", "tree_"}
    pairs = [(one, other), *zip(one.estimators_, other.estimators_, strict=True)]
    return all(same) and all(
        repr(value) == repr(vars(theirs)[name])
        for mine, theirs in pairs
        for name, value in vars(mine).items()
        if name not in hidden
    )


@pytest.mark.parametrize("forest", FORESTS, ids=repr)
def test_the_trees_are_those_of_scikit_learn(forest):
    X, y = table_of(forest)
    mine, theirs = fitted(clone(forest), X, y), clone(forest).fit(X, y)
    assert is_same(mine, theirs)
    np.testing.assert_array_equal(predicted(mine, X), theirs.predict(X))
    np.testing.assert_array_equal(forest_importances(mine), theirs.feature_importances_)


@pytest.mark.parametrize("labels", ["words", "two", "gaps"])
def test_classes_of_any_kind(labels):
    X, y = CLASSES
    y = {"words": np.array(["a", "b", "c"])[y], "two": y == 1, "gaps": 10 * y - 5}[labels]
    forest = ExtraTreesClassifier(5, random_state=0)
    mine, theirs = fitted(clone(forest), X, y), clone(forest).fit(X, y)
    assert is_same(mine, theirs)
    np.testing.assert_array_equal(predicted(mine, X), theirs.predict(X))


def test_a_generator_goes_on_as_with_scikit_learn():
    X, y = CLASSES
    mine, theirs = np.random.RandomState(5), np.random.RandomState(5)
    fitted(ExtraTreesClassifier(4, random_state=mine), X, y)
    ExtraTreesClassifier(4, random_state=theirs).fit(X, y)
    assert mine.randint(1000) == theirs.randint(1000)


@pytest.mark.parametrize("kind", ["sparse", "missing", "float32", "fortran"])
def test_tables_of_other_kinds(kind):
    X, y = CLASSES
    gaps = np.where(np.arange(X.size).reshape(X.shape) % 17, X, np.nan)
    X = {
        "sparse": sparse.csr_matrix(X),
        "missing": gaps,
        "float32": X.astype(np.float32),
        "fortran": np.asfortranarray(X),
    }[kind]
    forest = ExtraTreesClassifier(5, random_state=0)
    mine, theirs = fitted(clone(forest), X, y), clone(forest).fit(X, y)
    assert is_same(mine, theirs)
    np.testing.assert_array_equal(predicted(mine, X), theirs.predict(X))


@pytest.mark.filterwarnings("ignore:overflow")
def test_what_scikit_learn_refuses_is_refused():
    X, y = CLASSES
    with pytest.raises(ValueError, match="n_estimators"):
        fitted(ExtraTreesClassifier(0), X, y)
    with pytest.raises(ValueError, match="inconsistent"):
        fitted(ExtraTreesClassifier(5), X, y[:-1])
    with pytest.raises(ValueError, match="too large"):
        fitted(ExtraTreesClassifier(5), X * 1e300, y)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"])
def test_the_score_of_a_model_is_that_of_the_scorer(scoring):
    from sklearn.metrics import get_scorer

    X, y = CLASSES
    model = ExtraTreesClassifier(5, max_depth=2, random_state=0).fit(X[::2], y[::2])
    assert model_score(model, X[1::2], y[1::2], scoring) == pytest.approx(get_scorer(scoring)(model, X[1::2], y[1::2]))
