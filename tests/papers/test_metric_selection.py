"""Schuurmans and Southey (2002), Bengio and Chapados (2003): the size of a model chosen by rows without labels."""

from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from fewer.select import MetricBasedSelection, SelectTop


def in_the_given_order(X, y):
    return -np.arange(X.shape[1], dtype=float)


def polynomials(rng, n_rows=20, degree=15):
    """Powers of x as columns; a sine with noise as target."""
    x = rng.uniform(-1, 1, size=n_rows + 200 + 1000)
    target = np.sin(np.pi * x)
    return np.vander(x, degree + 1, increasing=True)[:, 1:], target, 0.2, n_rows


def columns_of_noise(rng, n_rows=30, n_columns=25):
    """Two useful columns first, and many useless ones."""
    X = rng.normal(size=(n_rows + 200 + 1000, n_columns))
    return X, X[:, 0] + X[:, 1], 0.5, n_rows


@cache
def true_errors(draw, n_draws=60, rule="hybrid"):
    """Error on new rows of the size that each rule takes, and of the best size, for every draw."""
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X, target, noise, n_rows = draw(rng)
        y = target[:n_rows] + noise * rng.normal(size=n_rows)
        train, elsewhere, new = np.split(X, [n_rows, n_rows + 200])
        select = MetricBasedSelection(LinearRegression(), selector=SelectTop(in_the_given_order), rule=rule, cv=10)
        select.fit(train, y, X_unlabelled=elsewhere)
        errors = []
        for size in select.sizes_:
            predicted = LinearRegression().fit(train[:, :size], y).predict(new[:, :size])
            errors.append(np.sqrt(((predicted - target[n_rows + 200 :]) ** 2).mean()))
        chosen = {
            "training": select.train_errors_.argmin(),
            "adjusted": select.adjusted_errors_.argmin(),
            "folds": select.cv_errors_.argmin() if rule == "hybrid" else 0,
            "hybrid": np.flatnonzero(select.sizes_ == select.n_features_to_select_)[0],
            "best": np.argmin(errors),
        }
        found.append([errors[place] for place in chosen.values()])
    return dict(zip(chosen, np.array(found).T, strict=True))


@pytest.mark.claim("metric-selection", 1)
@pytest.mark.slow
def test_distances_on_rows_without_labels_find_the_degree_of_a_polynomial(figure):
    errors = true_errors(polynomials)
    ratios = {name: errors[name] / errors["best"] for name in ("training", "adjusted", "folds")}
    figure(
        "times the best error, median and worst: "
        + "; ".join(f"{name} {np.median(ratio):.3g}, {ratio.max():.3g}" for name, ratio in ratios.items())
    )
    assert np.median(ratios["training"]) > 20
    assert np.median(ratios["adjusted"]) < 1.25
    assert ratios["adjusted"].max() < ratios["folds"].max() / 2


@pytest.mark.claim("metric-selection", 1)
def test_the_training_error_takes_far_too_many_columns_and_distances_do_not(figure):
    errors = true_errors(polynomials, n_draws=12, rule="adjusted")
    training, adjusted = (np.median(errors[name] / errors["best"]) for name in ("training", "adjusted"))
    figure(f"12 draws: {training:.0f} and {adjusted:.2f} times the best error")
    assert training > 20
    assert adjusted < 1.5


@pytest.mark.claim("metric-selection", 2)
@pytest.mark.slow
@pytest.mark.parametrize("draw", [polynomials, columns_of_noise])
def test_the_combination_is_nearly_as_good_as_the_better_of_the_two(draw, figure):
    means = {name: errors.mean() for name, errors in true_errors(draw).items()}
    figure(f"mean error on {draw.__name__}: " + ", ".join(f"{name} {mean:.3f}" for name, mean in means.items()))
    assert means["hybrid"] < 1.25 * min(means["adjusted"], means["folds"])
    assert means["hybrid"] < 0.3 * means["training"]


@pytest.mark.claim("metric-selection", 2)
def test_where_cross_validation_is_right_the_combination_follows_it():
    errors = true_errors(columns_of_noise, n_draws=2)
    assert errors["hybrid"].mean() < 1.25 * errors["folds"].mean()
    assert errors["hybrid"].mean() < 0.5 * errors["training"].mean()
