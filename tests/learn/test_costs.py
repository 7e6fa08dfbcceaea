"""Classifiers for errors of unequal cost."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fewer.evaluate import cost_curve
from fewer.learn import (
    CompositeLossClassifier,
    MetaCostClassifier,
    SigmoidRiskClassifier,
    ThresholdedLogisticRegression,
    WeightedLogisticRegression,
)
from fewer.learn.costs._costs import cheapest_step
from fewer.theory import gaussian_plane_risk, min_risk_plane
from tolerances import rounding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * [1, 10, 0.1, 1] + [0, 50, 0, -3]
Y = np.where(X[:, 0] + 0.1 * (X[:, 1] - 50) + RNG.logistic(size=300) > 0.8, "ill", "well")
Y = np.where(Y == "ill", "well", "ill")  # so that the second class in sorted order is the common one


def test_costs_can_be_a_pair_a_share_or_one_for_each_row():
    share = np.mean(Y == "well")
    by_share = WeightedLogisticRegression(0.7).fit(X, Y)
    pair = ((1 - 0.7) / (1 - share), 0.7 / share)
    by_pair = WeightedLogisticRegression(pair).fit(X, Y)
    rows = np.where(Y == "well", pair[1], pair[0])
    by_rows = WeightedLogisticRegression().fit(X, Y, cost=rows)
    by_weights = WeightedLogisticRegression().fit(X, Y, sample_weight=rows)
    np.testing.assert_allclose(by_share.coef_, by_pair.coef_, rtol=1e-9)
    np.testing.assert_allclose(by_share.coef_, by_rows.coef_, rtol=1e-9)
    # Weights of rows change the mean and the standard deviation, and with these the penalty; it is small here.
    np.testing.assert_allclose(by_share.coef_, by_weights.coef_, rtol=0.01)
    assert by_share.effective_sample_size_ < 300
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = by_rows.predict_proba
    with pytest.raises(ValueError, match="costs of their own"):
        by_rows.expected_cost(X, Y)
    np.testing.assert_allclose(by_rows.expected_cost(X, Y, cost=pair), by_pair.expected_cost(X, Y))


def test_rows_of_no_cost_do_not_count():
    costs = np.ones(300)
    costs[:50] = 0
    with_them = WeightedLogisticRegression(alpha=0).fit(X, Y, cost=costs)
    without = WeightedLogisticRegression(alpha=0).fit(X[50:], Y[50:])
    np.testing.assert_allclose(with_them.coef_, without.coef_, rtol=1e-6)


def test_thresholds_move_without_a_new_fit_also_for_each_row():
    model = ThresholdedLogisticRegression(alpha=0.001).fit(X, Y)
    assert model.threshold_ == 0
    few = model.predict(X, cost=(10.0, 1.0))
    again = ThresholdedLogisticRegression((10.0, 1.0), alpha=0.001).fit(X, Y)
    np.testing.assert_array_equal(few, again.predict(X))
    assert np.sum(few == "well") < np.sum(model.predict(X) == "well")
    each = np.ones((300, 2))
    each[:150, 0] = 10
    mixed = model.predict(X, cost=each)
    np.testing.assert_array_equal(mixed[:150], few[:150])
    np.testing.assert_array_equal(mixed[150:], model.predict(X)[150:])


def test_probabilities_do_not_depend_on_class_costs():
    # With many rows and a right model, the tilt by cost is taken back.
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(20_000, 2))
    y = rng.random(20_000) < 1 / (1 + np.exp(-Z[:, 0]))
    plain = WeightedLogisticRegression().fit(Z, y).predict_proba(Z)
    tilted = WeightedLogisticRegression((1, 5)).fit(Z, y).predict_proba(Z)
    # The standard error of a probability is about 1 / sqrt(20,000), larger for the rarer side of the costs.
    assert np.abs(plain - tilted).max() < 0.05


def test_separated_classes_need_a_penalty():
    Z = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with pytest.warns(ConvergenceWarning, match="alpha must be above 0"):
        WeightedLogisticRegression(alpha=0, max_iter=8).fit(Z, [0, 0, 1, 1])
    # Also where so many steps are taken that the gradient is near zero.
    with pytest.warns(ConvergenceWarning, match="A plane separates the classes"):
        ThresholdedLogisticRegression(alpha=0).fit(X, X[:, 0] > 0)
    with pytest.warns(ConvergenceWarning, match="A plane separates the classes"):
        CompositeLossClassifier(alpha=0).fit(X, X[:, 0] > 0)


def test_dependent_columns_are_taken():
    doubled = np.column_stack([X, X[:, 0], np.ones(300)])
    model = WeightedLogisticRegression(alpha=0).fit(doubled, Y)
    plain = WeightedLogisticRegression(alpha=0).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(doubled), plain.decision_function(X), atol=1e-5)


def test_the_best_of_several_starts_is_kept():
    one = SigmoidRiskClassifier((1, 3), n_init=1, random_state=3).fit(X, Y)
    many = SigmoidRiskClassifier((1, 3), n_init=8, random_state=3).fit(X, Y)
    assert many.risk_ <= one.risk_
    weighted = SigmoidRiskClassifier((1, 3), n_init=1, init="weighted", random_state=3).fit(X, Y)
    assert weighted.risk_ <= one.risk_


def test_the_step_itself_is_minimised_from_each_start():
    signs, weights = np.where(Y == "well", 1.0, -1.0), np.where(Y == "well", 3.0, 1.0)
    decisions, changes = RNG.normal(size=300), np.where(np.arange(300) < 20, 0.0, RNG.normal(size=300))
    places = np.sort(-decisions[20:] / changes[20:])
    between = np.concatenate([[places[0] - 1], (places[1:] + places[:-1]) / 2, [places[-1] + 1]])
    costs = [weights @ (signs * (decisions + t * changes) <= 0) for t in between]
    found = cheapest_step(decisions, changes, signs, weights)
    assert found.cost == min(costs) == weights @ (signs * (decisions + found.length * changes) <= 0)
    # With one column, every plane is a threshold in one of two directions.
    one = SigmoidRiskClassifier((1, 3), risk="step", n_init=2, random_state=0).fit(X[:, :1], Y)
    cuts = np.append(X[:, 0], np.inf)[:, None]
    above = ((X[:, 0] >= cuts) != (signs > 0)) @ weights
    below = ((X[:, 0] < cuts) != (signs > 0)) @ weights
    # Whole numbers, over 300 in one place and as a mean in the other.
    assert one.risk_ == pytest.approx(min(above.min(), below.min()) / 300, rel=rounding(1))
    smooth, step = (
        SigmoidRiskClassifier((1, 3), n_init=3, risk=risk, random_state=0).fit(X, Y) for risk in ("sigmoid", "step")
    )
    assert step.risk_ == pytest.approx(step.expected_cost(X, Y), rel=rounding(1))
    assert step.risk_ < smooth.expected_cost(X, Y)


def test_metacost_relabels_towards_the_expensive_class():
    tree = DecisionTreeClassifier(max_depth=3)
    cheap = MetaCostClassifier(tree, n_estimators=10, random_state=0).fit(X, Y)
    dear = MetaCostClassifier(tree, cost=(1, 10), n_estimators=10, random_state=0).fit(X, Y)
    assert np.sum(dear.predict(X) == "well") > np.sum(cheap.predict(X) == "well")
    assert set(Y[dear.relabelled_]) == {"ill"}
    always = MetaCostClassifier(LogisticRegression(), cost=(1, 1e6), n_estimators=3, random_state=0).fit(X, Y)
    assert (always.predict(X) == "well").all()


def test_costs_may_be_given_to_fit_of_all_classifiers():
    models = (
        ThresholdedLogisticRegression(),
        WeightedLogisticRegression(),
        SigmoidRiskClassifier(n_init=2, random_state=0),
        MetaCostClassifier(n_estimators=3, random_state=0),
    )
    for model in models:
        ours = clone(model).fit(X, Y, cost=(1, 4)).predict(X)
        np.testing.assert_array_equal(ours, clone(model).set_params(cost=(1, 4)).fit(X, Y).predict(X))
        # A row of weight 0 is as good as absent.
        weights = np.where(np.arange(300) < 250, 1.0, 0.0)
        strange = np.where(np.arange(300) < 250, Y, "ill")
        first, second = (clone(model).fit(X, labels, sample_weight=weights).predict(X) for labels in (Y, strange))
        np.testing.assert_array_equal(first, second)
    sizes = [model.fit(X, Y, cost=(1, 4)).effective_sample_size_ for model in models[1:3]]
    np.testing.assert_allclose(*sizes)


def test_costs_of_rows_are_refused_where_they_cannot_be_used():
    rows = np.ones(300)
    with pytest.raises(ValueError, match="to predict"):
        ThresholdedLogisticRegression().fit(X, Y, cost=rows)
    with pytest.raises(ValueError, match="use WeightedLogisticRegression"):
        MetaCostClassifier(n_estimators=2).fit(X, Y, cost=rows)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        MetaCostClassifier(KNeighborsClassifier(), n_estimators=2).fit(X, Y, sample_weight=rows)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ((1.0, -1.0), "two positive costs"),
        ((1.0, 2.0, 3.0), "entry for each of 300 rows"),
        (np.full(300, np.nan), "in row 0"),
        (np.full(200, 1.0), "entry for each of 300 rows"),
    ],
)
def test_wrong_costs_are_refused(cost, message):
    with pytest.raises(ValueError, match=message):
        WeightedLogisticRegression().fit(X, Y, cost=cost)


def test_a_share_outside_of_zero_and_one_is_refused():
    with pytest.raises(ValueError, match="cost"):
        WeightedLogisticRegression(1.5).fit(X, Y)
    with pytest.raises(ValueError, match="pcf=0"):
        min_risk_plane(([0], [1]), (np.eye(1), np.eye(1)), 0)


def test_a_curve_of_probabilities_is_that_of_a_moved_threshold():
    by_cost = cost_curve(ThresholdedLogisticRegression(), X, Y, pcfs=[0.2, 0.5, 0.8])

    class Probabilities(ThresholdedLogisticRegression):
        def __init__(self, alpha=1e-4):
            super().__init__(alpha=alpha)

        def predict(self, X):
            return super().predict(X)

    by_probability = cost_curve(Probabilities(), X, Y, pcfs=[0.2, 0.5, 0.8])
    np.testing.assert_array_equal(by_cost.costs, by_probability.costs)
    assert by_cost.costs.shape == (3, 300)
    refitted = cost_curve(WeightedLogisticRegression(), X, Y, pcfs=[0.5])
    assert refitted.normalized_cost[0] < 1
    assert "clearly less" in by_cost.reading
    assert len(by_cost.plot().data) == 2


def test_costs_reach_a_step_of_a_pipeline_which_may_impute():
    alone = cost_curve(WeightedLogisticRegression(alpha=0.01), X, Y, pcfs=[0.2, 0.8], alphas=[0.01, 1.0])
    pipeline = make_pipeline(SimpleImputer(), WeightedLogisticRegression())
    found = cost_curve(pipeline, X, Y, pcfs=[0.2, 0.8], alphas=[0.01, 1.0])
    np.testing.assert_array_equal(found.costs, alone.costs)
    np.testing.assert_array_equal(found.alphas, alone.alphas)
    holes = X.copy()
    holes[::9, 1] = np.nan
    assert np.isfinite(cost_curve(pipeline, holes, Y, pcfs=0.3).normalized_cost).all()
    with pytest.raises(ValueError, match="NaN"):
        cost_curve(WeightedLogisticRegression(), holes, Y)
    with pytest.raises(ValueError, match="no parameter alpha"):
        cost_curve(DecisionTreeClassifier(), X, Y, alphas=[1.0])


def test_costs_of_no_row_and_of_a_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="cost is 0 for every row"):
        WeightedLogisticRegression().fit(X, Y, cost=np.zeros(300))
    with pytest.raises(ValueError, match=r"of shape \(300, 2\), and have \(300,\)"):
        ThresholdedLogisticRegression().fit(X, Y).predict(X, cost=np.ones(300))


def test_the_other_class_can_be_the_positive_one():
    first = cost_curve(WeightedLogisticRegression(), X, Y, pcfs=[0.3])
    second = cost_curve(WeightedLogisticRegression(), X, Y, pcfs=[0.7], pos_label="ill")
    np.testing.assert_allclose(first.normalized_cost, second.normalized_cost, rtol=1e-9)
    np.testing.assert_allclose(first.positive_share, 1 - second.positive_share)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pcfs": [0.0]}, "between 0 and 1"),
        ({"pos_label": "sick"}, "not a class"),
        ({"y": np.arange(300) % 3}, "3 classes"),
    ],
)
def test_wrong_arguments_of_the_curve_are_refused(options, message):
    target = options.pop("y", Y)
    with pytest.raises(ValueError, match=message):
        cost_curve(WeightedLogisticRegression(), X, target, **options)


def test_labels_and_classes_that_do_not_fit_are_refused():
    model = WeightedLogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="X has 300 rows, and y has the shape"):
        model.expected_cost(X, Y[:5])
    with pytest.raises(ValueError, match="'dead', which is not one of the classes"):
        model.expected_cost(X, np.full(300, "dead"))
    for means, covariances, message in (
        (([0, 0], [1]), (np.eye(2), np.eye(2)), "of the same columns"),
        (([0, 0], [1, 1]), (np.zeros((2, 2)), np.eye(2)), "positive definite"),
        (([0, np.nan], [1, 1]), (np.eye(2), np.eye(2)), "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            min_risk_plane(means, covariances, 0.3)
    with pytest.raises(ValueError, match="not all 0"):
        gaussian_plane_risk([0, 0], 0, ([0, 0], [1, 1]), (np.eye(2), np.eye(2)), 0.3)
