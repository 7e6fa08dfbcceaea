"""What does not fit together is refused before anything runs, in words that say what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from fewer.datasets import load
from fewer.evaluate import NestedEvaluation, NestedSelectionCV, permutation_test, selection_curve
from fewer.theory import selection_bias_experiment

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 6))
LABELS = np.repeat(["ill", "well"], 30)
AMOUNT = np.arange(60) * 10

EVALUATIONS = {
    "curve": lambda learner, X, y: selection_curve(SelectKBest(k=1), learner, X, y, cv=2, random_state=0),
    "experiment": lambda learner, X, y: selection_bias_experiment(SelectKBest(k=1), learner, X, y, n_repeats=1),
    "estimator": lambda learner, X, y: NestedSelectionCV(SelectKBest(k=1), learner, cv=2).fit(X, y),
    "nested": lambda learner, X, y: NestedEvaluation(make_pipeline(SelectKBest(k=1), learner)).run(X, y),
    "permutations": lambda learner, X, y: permutation_test(learner, X, y, scoring="r2", n_permutations=20),
}
each_evaluation = pytest.mark.parametrize("evaluate", EVALUATIONS.values(), ids=EVALUATIONS)


@each_evaluation
def test_a_classifier_does_not_take_a_quantity(evaluate):
    with pytest.raises(ValueError, match=r"60 different numbers in 60 rows.*Use a regressor"):
        evaluate(GaussianNB(), X, AMOUNT)


@each_evaluation
def test_a_regressor_does_not_take_words(evaluate):
    with pytest.raises(ValueError, match=r"words such as 'ill'.*Use a classifier"):
        evaluate(Ridge(), X, LABELS)


@each_evaluation
def test_rows_without_a_target_are_counted(evaluate):
    gaps = LABELS.astype(object)
    gaps[[4, 9]] = None
    with pytest.raises(ValueError, match=r"missing in 2 of 60 rows \(first in row 4\)"):
        evaluate(GaussianNB(), X, gaps)


def test_a_data_set_is_taken_apart_by_its_owner():
    wine = load("wine")
    with pytest.raises(TypeError, match=r"pass data\.X and data\.y"):
        selection_curve(SelectKBest(k=1), GaussianNB(), wine, wine.y)


def test_labels_of_pandas_with_a_gap_are_refused():
    labels = pd.Series(LABELS, dtype="string")
    labels[7] = pd.NA
    with pytest.raises(ValueError, match=r"missing in 1 of 60 rows \(first in row 7\)"):
        permutation_test(GaussianNB(), X, labels, n_permutations=20)


@pytest.mark.parametrize("y", [np.arange(60) % 12, (np.arange(60) % 2).astype(float), np.arange(60) % 2 == 0])
def test_numbers_can_be_classes(y):
    assert len(selection_curve(SelectKBest(k=1), GaussianNB(), X, y, cv=2, random_state=0).sizes) == 6


def test_any_sparse_format_serves():
    def scores(X):
        return selection_curve(SelectKBest(k=1), LogisticRegression(), X, LABELS, random_state=0).scores

    np.testing.assert_array_equal(scores(coo_matrix(X)), scores(coo_matrix(X).tocsr()))


def test_within_class_permutations_need_classes():
    with pytest.raises(ValueError, match="numbers instead of classes"):
        permutation_test(Ridge(), X, AMOUNT, null="features_within_class", scoring="r2", n_permutations=20)


def test_a_word_is_no_number_of_folds():
    with pytest.raises(TypeError, match="cv='five' is neither a number of folds"):
        selection_curve(SelectKBest(k=1), GaussianNB(), X, LABELS, cv="five")


def test_sizes_are_several():
    with pytest.raises(TypeError, match=r"sizes=5 is one number.*sizes=\[5, 10, 20\]"):
        selection_curve(SelectKBest(k=1), GaussianNB(), X, LABELS, sizes=5)
    with pytest.raises(ValueError, match="sizes is empty"):
        selection_curve(SelectKBest(k=1), GaussianNB(), X, LABELS, sizes=[])


def test_a_class_that_no_fold_keeps_is_named_with_its_rows():
    rare = np.where(np.arange(60) == 0, "rare", LABELS)
    with pytest.raises(ValueError, match=r"no row of class 'rare' to learn from \(it has 1 in all\)"):
        selection_curve(SelectKBest(k=1), GaussianNB(), X, rare, cv=3)


def test_a_model_is_made_a_selector_by_a_wrapper():
    with pytest.raises(TypeError, match=r"Wrap it: SelectFromModel\(LogisticRegression\(\.\.\.\)\)"):
        selection_curve(LogisticRegression(), GaussianNB(), X, LABELS, random_state=0)


def test_a_curve_that_keeps_all_columns_says_so_instead_of_an_interval_without_width():
    amount = X.sum(axis=1)
    assert "every fold chooses all 6 columns" in repr(
        selection_curve(SelectKBest(f_regression), Ridge(1e-6), X, amount, random_state=0)
    )
    assert "one size" in repr(selection_curve(SelectKBest(k=1), GaussianNB(), X[:, :1], LABELS, random_state=0))


def test_a_target_without_end_is_refused():
    amount = X[:, 0].copy()
    amount[3] = np.inf
    with pytest.raises(ValueError, match="Input y contains infinity"):
        selection_curve(SelectKBest(f_regression, k=1), Ridge(), X, amount, random_state=0)
