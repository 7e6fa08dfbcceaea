"""Columns by themselves: the scores, and their order."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import f_classif
from sklearn.model_selection import cross_val_score

from fewer import select
from fewer.datasets import make_five_classes
from fewer.select import SelectTop, fisher_score, single_column_score


def test_fisher_score_is_the_f_statistic_without_its_degrees_of_freedom():
    X, y, _ = make_five_classes(random_state=0)
    assert fisher_score(X, y) == pytest.approx(f_classif(X, y)[0] * 4 / (300 - 5))


def test_fisher_score_of_constant_columns():
    y = np.array([0, 0, 1, 1])
    X = np.column_stack([np.ones(4), y, [0, 1, 0, 1]]).astype(float)
    assert fisher_score(X, y).tolist() == [0.0, np.inf, 0.0]


def test_single_columns_are_scored_by_the_estimator():
    X, y, _ = make_five_classes(random_state=1)
    learner = LinearDiscriminantAnalysis()
    expected = [cross_val_score(learner, X[:, [column]], y, cv=5).mean() for column in range(4)]
    assert np.array_equal(single_column_score(X, y, estimator=learner), expected)
    ranked = SelectTop(learner, n_features_to_select=1).fit(X, y)
    assert np.array_equal(ranked.scores_, expected)
    assert ranked.get_support().tolist() == [True, False, False, False]


def test_of_equal_scores_the_first_column_comes_first():
    ranked = SelectTop(lambda X, y: np.array([1.0, 2.0, 2.0, 0.0]), n_features_to_select=2)
    assert ranked.fit(np.eye(4), [0, 1, 0, 1]).ranking_.tolist() == [3, 1, 2, 4]


def test_a_score_for_each_column_is_asked_for():
    with pytest.raises(ValueError, match="a number for each of the 4 columns"):
        SelectTop(lambda X, y: np.ones(3)).fit(np.eye(4), [0, 1, 0, 1])
    ranked = SelectTop(lambda X, y: np.array([1.0, np.nan, 0.0, 0.0])).fit(np.eye(4), [0, 1, 0, 1])
    assert ranked.ranking_.tolist() == [1, 4, 2, 3]


def test_any_score_is_known_by_name():
    X, y, _ = make_five_classes(random_state=0)
    for name, options in {"anova": {}, "mutual_information": {}, "relieff": {"random_state": 0}}.items():
        ranked = SelectTop(name, n_features_to_select=2, random_state=0).fit(X, y)
        given = getattr(select, f"{name}_score")(X, y, **options)
        assert np.array_equal(ranked.scores_, given[0] if isinstance(given, tuple) else given)
    with pytest.raises(ValueError, match=r"no score 'fischer' .*; there are"):
        SelectTop("fischer").fit(X, y)


def test_scores_without_target_and_sparse_tables_are_taken():
    X = sparse.csr_array(np.diag([1.0, 3.0, 2.0, 0.5]))
    assert SelectTop("variance").fit(X).ranking_.tolist() == [3, 1, 2, 4]
    target = [0.1, 0.9, 0.2, 0.3]
    dense = SelectTop("pearson").fit(X.toarray(), target)
    assert SelectTop("pearson").fit(X, target).scores_ == pytest.approx(dense.scores_)
    with pytest.raises(TypeError, match="parse"):
        SelectTop("relieff").fit(X, target)


def test_a_classifier_has_nothing_to_rank_by_with_one_class():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="by LinearDiscriminantAnalysis tells classes apart, and y has one class only"):
        SelectTop(LinearDiscriminantAnalysis()).fit(X, ["a"] * 20)
