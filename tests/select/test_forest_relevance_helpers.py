"""What irrelevant columns cost, and how fast majorities converge."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fewer.datasets import make_simple_relevance
from fewer.select import irrelevant_feature_curve, majority_vote_convergence


def test_noise_costs_accuracy_and_nodes():
    X, y, _ = make_simple_relevance(random_state=0)
    curve = irrelevant_feature_curve(X[:, :2], y, n_noise=[0, 40], n_repeats=8, test_size=0.3, random_state=0)
    assert curve.errors.shape == curve.tree_sizes.shape == (2, 8)
    assert curve.errors[1].mean() > curve.errors[0].mean() + 0.05
    assert curve.tree_sizes[1].mean() > 2 * curve.tree_sizes[0].mean()
    assert "40 noise columns" in repr(curve)


def test_without_noise_it_is_the_learner_itself():
    X, y, _ = make_simple_relevance(random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    first, second = (
        irrelevant_feature_curve(X, y, tree, n_noise=sizes, n_repeats=2, random_state=1) for sizes in ([0], [0, 0])
    )
    assert np.array_equal(first.errors[0], second.errors[1])
    assert first.tree_sizes.min() > 1


@pytest.mark.parametrize(("learner", "has_size"), [(LogisticRegression(), False), (RandomForestRegressor(3), True)])
def test_any_learner_serves(learner, has_size):
    X, y, _ = make_simple_relevance(random_state=0)
    curve = (
        irrelevant_feature_curve(X, y + 0.5 * X[:, 0], learner, n_noise=[5], n_repeats=2, random_state=0)
        if has_size
        else (irrelevant_feature_curve(X, y, learner, n_noise=[5], n_repeats=2, random_state=0))
    )
    assert np.isfinite(curve.errors).all()
    assert np.isfinite(curve.tree_sizes).all() == has_size


@pytest.mark.parametrize("wish", [{"n_noise": []}, {"n_noise": [-1]}, {"n_repeats": 0}])
def test_impossible_wishes_are_refused(wish):
    X, y, _ = make_simple_relevance(random_state=0)
    with pytest.raises(ValueError, match=r"n_noise must hold numbers"):
        irrelevant_feature_curve(X, y, **wish)


def test_certain_and_impossible_votes():
    assert majority_vote_convergence([0.0, 1.0], 7).tolist() == [0, 1]
    assert majority_vote_convergence(0.5, 11) == pytest.approx(0.5)


@pytest.mark.parametrize(("p", "n"), [(1.2, 3), (-0.1, 3), (0.5, 0), (0.5, 2.5)])
def test_no_probability_and_no_number_of_trees(p, n):
    with pytest.raises(ValueError, match="must be"):
        majority_vote_convergence(p, n)
