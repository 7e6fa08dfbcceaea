"""What learning online costs: the sums, the best fixed weights, the bound, and what is refused."""

import json

import numpy as np
import pytest
from scipy import sparse

from fewer.learn import L1LinearClassifier, RDAClassifier, RDARegressor
from fewer.theory import regret_curve


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=300) > 0, "yes", "no")


def test_the_sums_are_those_of_a_model_watched_row_by_row(rows):
    X, y = rows
    model = RDAClassifier(alpha=0.02, gamma=3.0)
    curve = regret_curve(model, X, y, at=[50, 300])
    watched, costs = RDAClassifier(alpha=0.02, gamma=3.0), [np.log(2)]
    for i in range(299):
        watched.partial_fit(X[i : i + 1], y[i : i + 1], classes=["no", "yes"])
        sign = 1 if y[i + 1] == "yes" else -1
        z = watched.decision_function(X[i + 1 : i + 2])[0]
        costs.append(np.logaddexp(0, -sign * z) + 0.02 * np.abs(watched.coef_).sum())
    assert curve.online == pytest.approx([np.sum(costs[:50]), np.sum(costs)])
    best = L1LinearClassifier(C=1 / (0.02 * 300)).fit(X, y)
    assert curve.fixed[1] == pytest.approx(best.objective_[0] * 0.02 * 300, rel=1e-6)
    assert not hasattr(model, "coef_")


def test_the_best_fixed_weights_are_not_dearer_than_others(rows):
    X, y = rows
    model = RDAClassifier(alpha=0.02, gamma=3.0, fit_intercept=False)
    rng = np.random.default_rng(0)
    best = regret_curve(model, X, y)
    for _ in range(5):
        other = regret_curve(model, X, y, against=rng.normal(size=10))
        assert (best.fixed <= other.fixed + 1e-6).all()
        assert np.array_equal(best.online, other.online)


@pytest.mark.parametrize("rho", [0.0, 0.05])
def test_the_bound_holds_where_gamma_is_left_to_the_rows(rows, rho):
    X, y = rows
    curve = regret_curve(RDAClassifier(alpha=0.02, rho=rho), sparse.csr_array(X), y)
    assert (curve.regret <= curve.bound).all()
    assert curve.steps[-1] == 300


def test_numbers_have_a_regret_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    curve = regret_curve(RDARegressor(alpha=0.1), X, X[:, 0] + 0.1 * rng.normal(size=200))
    assert (curve.regret <= curve.bound).all()
    assert (curve.regret > 0).all()


def test_a_strongly_convex_penalty_has_the_bound_of_logarithms(rows):
    X, y = rows
    zeros = np.zeros(10)
    plain = regret_curve(
        RDAClassifier(penalty="l1l2", alpha_l2=0.5, fit_intercept=False), X, y, against=zeros, at=[100]
    )
    assert plain.bound[0] <= (np.linalg.norm(X, axis=1).max() ** 2) * (6 + np.log(100))
    free = regret_curve(RDAClassifier(penalty="l1l2", alpha_l2=0.5), X, y, against=np.zeros(11), at=[100])
    assert free.bound[0] > plain.bound[0]


def test_a_curve_prints_draws_and_becomes_data(rows):
    curve = regret_curve(RDAClassifier(alpha=0.02), *rows)
    assert "300 rows" in repr(curve)
    assert len(curve.plot().data) == 2
    assert json.dumps(curve.to_dict())
    assert curve.to_dict()["regret"] == pytest.approx(curve.regret)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (RDAClassifier(batch_size=2), "batch_size=1"),
        (RDAClassifier(penalty="l1_ball"), "p_norm=2"),
        (RDAClassifier(penalty="l2"), "against="),
        (RDAClassifier("hinge"), "against="),
    ],
)
def test_what_has_no_bound_or_no_known_best_is_refused(rows, model, told):
    with pytest.raises(ValueError, match=told):
        regret_curve(model, *rows)


def test_three_classes_are_refused():
    with pytest.raises(ValueError, match="one against the rest"):
        regret_curve(RDAClassifier(), np.eye(6), [0, 1, 2, 0, 1, 2])
