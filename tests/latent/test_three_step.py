"""The bias-adjusted three-step method: simulated truth, special cases, what is printed."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fewer.latent import LatentClass, LatentProfile, three_step_covariates, three_step_outcome
from fewer.latent.classes._assignments import Assignments, assignment_errors
from fewer.latent.classes._three_step import adjusted_regression


def people(seed, n_rows=1000):
    """Six items of two classes that are hard to tell apart; what they depend on, and what depends on them."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n_rows)
    old = rng.random(n_rows) < 1 / (1 + np.exp(1 - age))
    items = (rng.random((n_rows, 6)) < np.where(old, 0.75, 0.3)[:, None]).astype(float)
    income = rng.normal(np.where(old, 3.0, 1.0), np.where(old, 1.5, 1.0))
    votes = np.where(rng.random(n_rows) < np.where(old, 0.7, 0.2), "a", "b")
    return items, age, income, votes


def fitted(items):
    """The model, and its class of those who say yes more often."""
    model = LatentClass(2, n_init=3, random_state=0).fit(items)
    return model, int(model.probabilities_[0][:, 1].argmax())


@pytest.mark.parametrize("method", ["ml", "bch"])
def test_estimates_are_unbiased_where_plain_ones_are_not(method):
    slopes, incomes, shares, plain, errors = [], [], [], [], []
    for seed in range(20):
        items, age, income, votes = people(seed)
        model, old = fitted(items)
        sign = 1 if old == 1 else -1
        regression = three_step_covariates(model, items, age[:, None], method=method)
        slopes.append(sign * regression.coefficients[0, 1])
        errors.append(regression.standard_errors[0, 1])
        incomes.append(three_step_outcome(model, items, income, method=method).estimates[old, 0])
        shares.append(three_step_outcome(model, items, votes, method=method).estimates[old, 0])
        plain.append(income[model.predict(items) == old].mean())
    for found, truth in ((slopes, 1.0), (incomes, 3.0), (shares, 0.7)):
        assert abs(np.mean(found) - truth) < 3.5 * np.std(found, ddof=1) / np.sqrt(20)
    assert np.mean(plain) < 3 - 0.2
    # A standard deviation of 20 values is known to 16%.
    assert np.mean(errors) == pytest.approx(np.std(slopes, ddof=1), rel=0.55)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ml", "bch"])
def test_intervals_cover_the_truth(method):
    """Over 300 tables of 500 rows, intervals of twice the standard error cover 93 to 97%."""
    truth, covered = np.array([1.0, -1.0, 3.0, 1.0, 0.7, 0.2]), []
    for seed in range(1000, 1150):
        items, age, income, votes = people(seed, 500)
        model, old = fitted(items)
        sign = 1 if old == 1 else -1
        regression = three_step_covariates(model, items, age, method=method)
        means, shares = (three_step_outcome(model, items, each, method=method) for each in (income, votes))
        both = [old, 1 - old]
        found = [sign * regression.coefficients[0, [1, 0]], means.estimates[both, 0], shares.estimates[both, 0]]
        errors = [
            regression.standard_errors[0, [1, 0]],
            means.standard_errors[both, 0],
            shares.standard_errors[both, 0],
        ]
        covered.append(np.abs(np.concatenate(found) - truth) < 1.96 * np.concatenate(errors))
    # 150 tables know a share of 95% to 1.8 points.
    assert np.mean(covered, axis=0).min() > 0.95 - 3 * 0.018


def test_with_certain_classes_it_is_plain_logistic_regression():
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(400), 5 + 2 * rng.normal(size=(400, 2))])
    classes = rng.integers(3, size=400) * (design[:, 1] > 4)
    expected = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(design[:, 1:], classes)
    for method in ("ml", "bch"):
        found, covariance = adjusted_regression(design, Assignments(np.eye(3), classes, np.ones(400)), method)
        np.testing.assert_allclose(found[:, 1:], expected.coef_[1:] - expected.coef_[0], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found[:, 0], expected.intercept_[1:] - expected.intercept_[0], rtol=1e-3, atol=3e-3)
        assert covariance.shape == (6, 6)


@pytest.mark.parametrize("method", ["ml", "bch"])
@pytest.mark.parametrize("kind", [LatentClass, LatentProfile])
def test_covariances_are_those_of_small_changes_of_weights_in_all_steps(kind, method):
    rng = np.random.default_rng(0)
    n_rows = 60
    old = rng.random(n_rows) < 0.5
    age = rng.normal(np.where(old, 0.5, 0.0))
    if kind is LatentClass:
        items = (rng.random((n_rows, 5)) < np.where(old, 0.75, 0.25)[:, None]).astype(float)
    else:
        items = rng.normal(size=(n_rows, 3)) + 1.5 * old[:, None]
    items[rng.random(items.shape) < 0.05] = np.nan
    answers = np.where(rng.random(n_rows) < np.where(old, 0.7, 0.3), "a", "b")
    number = rng.normal(np.where(old, 2.0, 1.0))
    age[:5] = np.nan  # these rows are in step one alone

    def found(weights):
        model = kind(2, n_init=1, tol=1e-14, max_iter=5000, random_state=0).fit(items, sample_weight=weights)
        options = {"method": method, "sample_weight": weights}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            regression = three_step_covariates(model, items, age, **options)
        outcomes = [three_step_outcome(model, items, each, **options) for each in (number, answers)]
        estimates = [regression.coefficients, *(each.estimates for each in outcomes)]
        return [each.ravel() for each in estimates], [each.covariance for each in (regression, *outcomes)]

    # Steps of 1e-3 are a thousand times what EM leaves open, and bend by a thousandth.
    estimates, covariances = found(np.ones(n_rows))
    moved = [found(1 + 1e-3 * (np.arange(n_rows) == row))[0] for row in range(n_rows)]
    for place, covariance in enumerate(covariances):
        changes = np.array([(each[place] - estimates[place]) * 1e3 for each in moved])
        squares = changes.T @ changes
        np.testing.assert_allclose(covariance, squares, rtol=0, atol=5e-3 * np.abs(squares).max())


def test_errors_of_step_one_count_and_models_without_them_are_taken_as_known():
    items, age, income, _ = people(0, 300)
    model, _ = fitted(items)

    class Known:
        predict_proba = staticmethod(model.predict_proba)

    for method in ("ml", "bch"):
        allowed = three_step_covariates(model, items, age, method=method)
        known = three_step_covariates(Known(), items, age, method=method)
        np.testing.assert_array_equal(allowed.coefficients, known.coefficients)
        # The share of each class depends on where step one draws the line between them.
        assert allowed.standard_errors[0, 0] > 1.2 * known.standard_errors[0, 0]
    with pytest.warns(UserWarning, match="cannot be identified"):
        few = LatentClass(2, n_init=2, random_state=0).fit(items[:, :2])
    with pytest.warns(UserWarning, match="take the classes as known, since their parameters are not identified"):
        three_step_outcome(few, items[:, :2], income)


def test_assignment_errors_are_shares_of_each_class():
    posteriors = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    found = assignment_errors(posteriors, np.array([1.0, 1.0, 2.0]))
    np.testing.assert_allclose(found, [[1.5 / 1.9, 0.4 / 1.9], [0.5 / 2.1, 1.6 / 2.1]])


def test_means_of_numbers_and_shares_agree_and_sum_to_one():
    items, _, _, votes = people(0)
    model, _ = fitted(items)
    for method in ("ml", "bch"):
        shares = three_step_outcome(model, items, votes, method=method)
        np.testing.assert_allclose(shares.estimates.sum(axis=1), 1)
        assert shares.categories == ["a", "b"]
        np.testing.assert_allclose(shares.standard_errors[:, 0], shares.standard_errors[:, 1])
        assert shares.p_value == pytest.approx(shares.pair_p_values[0, 1])
        assert shares.p_value < 1e-6
    number = three_step_outcome(model, items, (votes == "a").astype(float), method="bch")
    np.testing.assert_allclose(number.estimates[:, 0], shares.estimates[:, 0])
    np.testing.assert_allclose(number.standard_errors[:, 0], shares.standard_errors[:, 0])


def test_an_outcome_without_a_difference_is_not_significant():
    items = people(1)[0]
    noise = np.random.default_rng(5).normal(size=len(items))
    model, _ = fitted(items)
    for method in ("ml", "bch"):
        found = three_step_outcome(model, items, noise, method=method)
        assert found.p_value > 0.01
        assert "do not differ more than by chance" in found.reading or found.p_value <= 0.05


def test_a_weight_is_a_repetition_and_missing_rows_are_left_out():
    items, age, income, _ = people(2, 300)
    weights = np.random.default_rng(0).integers(1, 4, size=300)
    model, _ = fitted(items)
    again = [np.repeat(each, weights, axis=0) for each in (items, age, income)]
    for method in ("ml", "bch"):
        weighted = three_step_outcome(model, items, income, method=method, sample_weight=weights)
        repeated = three_step_outcome(model, again[0], again[2], method=method)
        np.testing.assert_allclose(weighted.estimates, repeated.estimates, rtol=1e-6)
        np.testing.assert_allclose(weighted.standard_errors, repeated.standard_errors, rtol=1e-6)
        first = three_step_covariates(model, items, age[:, None], method=method, sample_weight=weights)
        second = three_step_covariates(model, again[0], again[1][:, None], method=method)
        np.testing.assert_allclose(first.coefficients, second.coefficients, rtol=1e-4, atol=1e-6)
    gone = np.where(np.arange(300) < 10, np.nan, income)
    with pytest.warns(UserWarning, match="10 rows without the outcome are left out"):
        assert three_step_outcome(model, items, gone).n_rows == 290
    with pytest.warns(UserWarning, match="10 rows without all covariates are left out"):
        assert three_step_covariates(model, items, gone[:, None]).n_rows == 290


def test_results_print_and_draw():
    items, age, income, votes = people(3, 400)
    model, _ = fitted(items)
    table = pd.DataFrame({"age": age, "height": np.random.default_rng(0).normal(170, 10, 400)})
    regression = three_step_covariates(model, items, table)
    assert regression.names == ["intercept", "age", "height"]
    lines = repr(regression).splitlines()
    assert lines[0] == "Covariates of 2 latent classes (maximum likelihood), log odds against class 0"
    assert lines[3].startswith("age")
    assert regression.covariate_p_values[1] < 1e-3 < regression.covariate_p_values[2]
    np.testing.assert_allclose(regression.covariate_p_values, regression.p_values[0])
    assert len(regression.plot().data) == 1
    for outcome, word in ((income, "Means"), (votes, "Shares")):
        found = three_step_outcome(model, items, outcome)
        assert repr(found).startswith(f"{word} of the outcome in 2 latent classes (BCH weights)")
        assert "The classes differ (p " in repr(found)
        assert len(found.plot().data) == len(found.categories or [0])
        assert set(found.to_dict()) >= {"estimates", "p_value"}


def test_profiles_are_taken_too():
    rng = np.random.default_rng(0)
    high = rng.random(500) < 0.4
    X = rng.normal(size=(500, 4)) + 2 * high[:, None]
    model = LatentProfile(2, n_init=2, random_state=0).fit(X)
    found = three_step_outcome(model, X, rng.normal(np.where(high, 1.0, 0.0)))
    assert (np.abs(found.estimates[:, 0] - [0, 1]) < 4 * found.standard_errors[:, 0]).all()


def test_wrong_input_is_refused():
    items, _, income, _ = people(4, 200)
    model, _ = fitted(items)
    with pytest.raises(ValueError, match="'method' parameter of three_step_outcome must be"):
        three_step_outcome(model, items, income, method="naive")
    with pytest.raises(ValueError, match="X has 200 rows, and there are 199 rows"):
        three_step_outcome(model, items, income[:-1])
    with pytest.raises(ValueError, match="one column is needed"):
        three_step_outcome(model, items, items)
    with pytest.raises(ValueError, match="outcome has 1 category, and two are needed"):
        three_step_outcome(model, items, np.full(200, "a"))
    with pytest.raises(ValueError, match="outcome has 200 categories, such as"):
        three_step_outcome(model, items, income.astype(str))
    with pytest.raises(ValueError, match="Column 'party' holds text"):
        three_step_covariates(model, items, pd.DataFrame({"party": ["a", "b"] * 100}))
    with pytest.raises(ValueError, match="has one class"):
        three_step_outcome(LatentClass(1).fit(items), items, income)
    model.components_ = np.tile(model.components_.mean(axis=0), (2, 1))
    with pytest.raises(ValueError, match="cannot be corrected"):
        three_step_outcome(model, items, income)


def test_one_covariate_or_outcome_may_be_a_series_or_a_frame_of_one_column():
    items, age, income, _ = people(4, 200)
    model, _ = fitted(items)
    frame = pd.DataFrame({"age": age})
    expected = three_step_covariates(model, items, frame)
    found = three_step_covariates(model, items, frame["age"])
    assert found.names == expected.names == ["intercept", "age"]
    np.testing.assert_array_equal(found.coefficients, expected.coefficients)
    np.testing.assert_array_equal(
        three_step_outcome(model, items, pd.DataFrame({"income": income})).estimates,
        three_step_outcome(model, items, income).estimates,
    )


def test_covariates_without_coefficients_of_their_own_are_refused():
    items, age, income, _ = people(4, 200)
    model, _ = fitted(items)
    with pytest.raises(ValueError, match="Covariate 'site' is constant"):
        three_step_covariates(model, items, pd.DataFrame({"age": age, "site": 1.0}))
    with pytest.raises(ValueError, match="Covariate 'months' is determined by those before it"):
        three_step_covariates(model, items, pd.DataFrame({"age": age, "months": 12 * age + 3}))
    with pytest.raises(ValueError, match="No row is left: all 200 rows are without all covariates"):
        three_step_covariates(model, items, pd.DataFrame({"age": age, "site": np.nan}))
    for nothing in (np.full(200, np.nan), np.full(200, None)):
        with pytest.raises(ValueError, match="No row is left: all 200 rows are without the outcome"):
            three_step_outcome(model, items, nothing)
    with pytest.raises(TypeError, match="ndarray has no predict_proba"):
        three_step_outcome(items, items, income)


@pytest.mark.parametrize("method", ["ml", "bch"])
def test_a_covariate_that_separates_the_classes_has_no_standard_error(method):
    rng = np.random.default_rng(0)
    high = rng.random(300) < 0.5
    items = (rng.random((300, 8)) < np.where(high, 0.95, 0.05)[:, None]).astype(int)
    model = LatentClass(2, n_init=3, random_state=0).fit(items)
    covariates = pd.DataFrame({"age": rng.normal(size=300), "class": model.predict(items).astype(float)})
    with pytest.warns(UserWarning, match="separated nearly perfectly by .*class:"):
        found = three_step_covariates(model, items, covariates, method=method)
    assert np.isnan(found.standard_errors[0, [0, 2]]).all()
    assert np.isnan(found.covariate_p_values[2])
    # The weights of BCH may be negative, so that its objective has no maximum at all.
    assert method == "bch" or np.isfinite(found.standard_errors[0, 1])
    assert "class" in repr(found)


def test_columns_of_printed_shares_do_not_touch():
    rng = np.random.default_rng(0)
    high = rng.random(300) < 0.5
    items = (rng.random((300, 8)) < np.where(high, 0.95, 0.05)[:, None]).astype(int)
    model = LatentClass(2, n_init=3, random_state=0).fit(items)
    for outcome in (np.where(high, "high", "low"), 1e6 * high + 1e-7):
        for line in repr(three_step_outcome(model, items, outcome)).splitlines()[2:-1]:
            assert ")  " in line
