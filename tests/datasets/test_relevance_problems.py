"""Problems with a few relevant columns among irrelevant ones."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from fewer.datasets import make_friedman_classes, make_simple_relevance


def test_classes_of_the_simple_problem_follow_its_formula():
    X, y, truth = make_simple_relevance(n_samples=501, n_features=4, random_state=0)
    response = X[:, 0] ** 2 + 2 * X[:, 1]
    assert np.array_equal(y, response > np.median(response))
    assert truth["support"].tolist() == [True, True, False, False]
    assert X.min() >= 0
    assert X.max() <= 1


def test_friedmans_classes_cut_friedmans_function():
    X, y, truth = make_friedman_classes(n_samples=2000, noise=0.0, random_state=3)
    expected = make_friedman1(n_samples=2000, noise=0.0, random_state=3)
    assert np.array_equal(X, expected[0])
    np.testing.assert_allclose(truth["response"], expected[1])
    assert np.array_equal(y, truth["response"] > 14)
    assert 0.4 < y.mean() < 0.6


@pytest.mark.parametrize(
    ("make", "wish"), [(make_simple_relevance, {"n_features": 1}), (make_friedman_classes, {"n_features": 4})]
)
def test_too_few_columns_are_refused(make, wish):
    with pytest.raises(ValueError, match=r"n_features=\d"):
        make(**wish)
