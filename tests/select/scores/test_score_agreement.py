"""Which scores agree, and the baseline that takes any of them."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fewer.select import SelectTop, fisher_score, score_agreement


def test_correlations_are_rank_correlations_of_the_scores():
    X, y = load_breast_cancer(return_X_y=True)
    agreement = score_agreement(X, y, ["fisher", "kolmogorov_smirnov", "relieff"], random_state=0)
    assert agreement.names == ("fisher", "kolmogorov_smirnov", "relieff")
    assert agreement.correlations == pytest.approx(spearmanr(agreement.values.T).statistic)
    assert agreement.values[0] == pytest.approx(fisher_score(X, y))
    assert np.array_equal(agreement.values[2], SelectTop("relieff", random_state=0).fit(X, y).scores_)


def test_names_functions_and_estimators_may_be_mixed():
    X, y = load_breast_cancer(return_X_y=True)

    def first_value(X, y):
        return X[0]

    agreement = score_agreement(X[:, :4], y, [fisher_score, first_value, LinearDiscriminantAnalysis()])
    assert agreement.names == ("fisher", "first_value", "LinearDiscriminantAnalysis")
    assert 0.5 < agreement.values[2].min() <= agreement.values[2].max() <= 1


def test_usual_scores_suit_the_target():
    X, y = load_diabetes(return_X_y=True)
    assert score_agreement(X, y).names[:2] == ("pearson", "spearman")
    assert score_agreement(X, y > 100).names[0] == "fisher"
    assert score_agreement(X).names == ("variance", "laplacian")


def test_it_prints_as_a_table_and_says_who_is_least_alike():
    X = np.random.default_rng(0).normal(size=(50, 10))
    y = X[:, 0] > 0

    def against(X, y):
        return -fisher_score(X, y)

    said = repr(score_agreement(X, y, ["fisher", against]))
    assert "2 scores over 10 columns" in said
    assert "-1.00" in said
    three = score_agreement(X, y, ["fisher", "anova", against])
    assert three.reading == "Most similar: fisher and anova (1.00). Least similar: fisher and against (-1.00)."
    figure = three.plot()
    assert np.array_equal(figure.data[0].z, three.correlations)


def test_a_score_that_is_the_same_for_all_columns_cannot_be_compared():
    X = np.random.default_rng(1).normal(size=(50, 10))
    agreement = score_agreement(X, X[:, 0] > 0, ["fisher", lambda X, y: np.ones(X.shape[1])])
    assert np.isnan(agreement.correlations[0, 1])
    assert "No two scores" in agreement.reading
    assert agreement.plot().data


def test_one_score_is_refused():
    with pytest.raises(ValueError, match="two scores or more"):
        score_agreement(np.eye(3), [0, 1, 0], ["fisher"])


def test_a_name_without_a_list_is_taken_as_one_score():
    with pytest.raises(ValueError, match="two scores or more to compare, in a list; got 'fisher'"):
        score_agreement(np.eye(3), [0, 1, 0], "fisher")
