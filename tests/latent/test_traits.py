"""Latent traits: likelihood, information, kinds of items, missing answers, weights, and what users are warned of."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import integrate

from fewer.latent import LatentTrait, select_n_components
from fewer.latent.classes._items import indicator_matrix, response_patterns
from fewer.latent.traits._trait_model import Traits, quadrature_nodes
from tolerances import rounding


def binary_items(n_rows=500, slopes=(1.5, 1.0, 2.0, 1.2, 0.8), seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n_rows)
    logits = np.outer(z, slopes) - np.linspace(-1, 1, len(slopes))
    return (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int), z


def graded_items(n_rows=800, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n_rows)
    steps = np.array([-0.5, 0.0, 0.8])
    logits = np.cumsum(np.column_stack([np.zeros(n_rows), *(1.4 * (z - b) for b in steps)]), axis=1)
    odds = np.exp(logits)
    running = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    return np.column_stack([np.sum(rng.random((n_rows, 1)) > running[:, :-1], axis=1) for _ in range(6)]), z


def test_the_likelihood_is_the_integral_over_the_trait():
    X = graded_items(200)[0].astype(float)
    X[::3, 1] = np.nan
    X[5] = np.nan
    model = LatentTrait(ordinal=[0, 1, 2], n_quadrature=121).fit(X)
    scores = model.score_samples(X)
    for row in range(8):

        def density(z, row=row):
            chances = model.item_probabilities([[z]])
            seen = [chances[item][0, int(value)] for item, value in enumerate(X[row]) if not np.isnan(value)]
            return np.prod(seen) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)

        assert scores[row] == pytest.approx(np.log(integrate.quad(density, -9, 9, limit=200)[0]), abs=1e-6)
    # A sum and a mean over the 121 nodes of a normal distribution, whose mean distance from zero is below one.
    assert scores[5] == pytest.approx(0, abs=rounding(121))
    assert model.transform(X)[5] == pytest.approx(0, abs=rounding(121))


def test_probabilities_of_all_rows_sum_to_one():
    X, _ = binary_items(300)
    model = LatentTrait().fit(X)
    everything = np.array(list(product([0, 1], repeat=5)))
    assert np.exp(model.score_samples(everything)).sum() == pytest.approx(1, abs=1e-10)


def test_information_is_minus_the_second_derivative_of_the_log_likelihood():
    X, _ = graded_items(150)
    sizes = np.full(6, 4)
    patterns = response_patterns(X, np.ones(150), sizes)
    ordinal = np.array([True, True, True, False, False, False])
    traits = Traits(indicator_matrix(patterns.codes, sizes), patterns.weights, sizes, ordinal, quadrature_nodes(1, 15))
    vector = traits.start(np.random.RandomState(0), perturbed=False)
    found = traits.information(vector)
    rng, step = np.random.default_rng(0), 2e-3
    for _ in range(3):
        u = rng.normal(size=len(vector))
        u /= np.linalg.norm(u)
        around = [traits.em_step(vector + k * step * u)[1] for k in (-1, 0, 1)]
        numeric = -(around[0] - 2 * around[1] + around[2]) / step**2
        assert u @ found @ u == pytest.approx(numeric, rel=1e-3)


def test_em_never_lowers_the_likelihood():
    model = LatentTrait(tol=1e-12).fit(graded_items()[0])
    assert (np.diff(model.objective_path_) >= -1e-9).all()
    assert model.converged_


def test_ordinal_items_have_the_steps_that_generated_them():
    X, z = graded_items(3000)
    model = LatentTrait(ordinal=list(range(6))).fit(X)
    table = model.item_table()
    assert np.abs((table.slopes[:, 0] - 1.4) / table.slope_errors[:, 0]).max() < 4
    gaps = (table.difficulties.reshape(6, 3) - [-0.5, 0.0, 0.8]) / table.difficulty_errors.reshape(6, 3)
    assert np.abs(gaps).max() < 4
    nominal = LatentTrait().fit(X)
    assert nominal.n_parameters_ == 6 * 3 * 2
    assert model.n_parameters_ == 6 * (3 + 1)
    assert nominal.score(X) > model.score(X)
    assert model.bic(X) < nominal.bic(X)
    assert np.corrcoef(model.transform(X)[:, 0], z)[0, 1] > 0.85


def test_text_categoricals_and_frames_are_taken_as_they_are():
    X, _ = binary_items()
    expected = LatentTrait().fit(X)
    words = np.where(X == 1, "yes", "no")
    for table in (pd.DataFrame(words), pl.DataFrame(words), words, pd.DataFrame(words, dtype="category")):
        found = LatentTrait().fit(table)
        assert found.score(table) == expected.score(X)  # the same codes, the same steps
    levels = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    graded = np.minimum(graded_items()[0], 2)
    frame = pd.DataFrame(np.array(["low", "middle", "high"])[graded]).astype(levels)
    auto = LatentTrait(ordinal="auto").fit(frame)
    assert auto.ordinal_.all()
    assert auto.categories_[0].tolist() == ["low", "middle", "high"]
    assert auto.score(frame) == LatentTrait(ordinal=list(range(6))).fit(graded).score(graded)


def test_an_answer_that_was_not_there_counts_as_missing():
    X, _ = binary_items()
    model = LatentTrait().fit(X)
    odd, missing = X[:3].astype(float), X[:3].astype(float)
    odd[:, 2], missing[:, 2] = 7, np.nan
    assert model.score_samples(odd) == pytest.approx(model.score_samples(missing))


def test_weights_are_repetitions():
    X, _ = binary_items(100)
    weights = np.arange(100) % 3
    weighted = LatentTrait(tol=1e-11).fit(X, sample_weight=weights)
    repeated = LatentTrait(tol=1e-11).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-5)


def test_two_traits_come_back_with_a_rotation():
    rng = np.random.default_rng(0)
    slopes = np.kron(np.eye(2), np.full((1, 5), 2.0))
    logits = rng.normal(size=(1500, 2)) @ slopes + np.linspace(-1, 1, 10)
    X = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int)
    model = LatentTrait(2, rotation="oblimin").fit(X)
    plain = LatentTrait(2).fit(X)
    # A mean over 1,500 rows and 10 items, with slopes turned by products of two.
    assert model.score(X) == pytest.approx(plain.score(X), rel=rounding(1500 * 10))
    large = np.abs(model.components_)
    assert min(large[0, :5].min(), large[1, 5:].min()) > 1.3 or min(large[1, :5].min(), large[0, 5:].min()) > 1.3
    assert np.sort(large, axis=0)[0].max() < 0.5
    assert abs(model.trait_correlations_[0, 1]) < 0.2
    assert model.covariance_ is None
    assert np.isnan(model.item_table().slope_errors).all()
    assert select_n_components(LatentTrait(tol=1e-6), X, [1, 2]).n_components == 2


def test_more_than_three_traits_are_integrated_by_draws():
    X, _ = binary_items(300)
    model = LatentTrait(4, n_draws=300, max_iter=20, tol=1e-5, random_state=0).fit(X)
    assert model.transform(X).shape == (300, 4)
    assert model.score(X) >= LatentTrait().fit(X).score(X) - 0.02


def test_rows_that_the_model_draws_have_its_parameters():
    model = LatentTrait(ordinal=[0, 1]).fit(np.where(graded_items(1000)[0] == 1, "b", "a"))
    drawn = model.sample(4000, random_state=0)
    again = LatentTrait().fit(drawn)
    np.testing.assert_allclose(np.abs(again.components_), np.abs(model.components_), atol=0.35)


def test_too_few_nodes_are_reported():
    X, _ = binary_items(400, slopes=(2, 2, 2, 2, 2, 2))
    assert LatentTrait().fit(X).quadrature_error_ < 1e-6
    with pytest.warns(UserWarning, match="the integral over the trait is not exact. Raise n_quadrature"):
        LatentTrait(n_quadrature=7, max_iter=100, tol=1e-6).fit(X)


def test_constant_and_steep_items():
    X, _ = binary_items(400)
    same = LatentTrait().fit(np.column_stack([X, np.ones(400)]))
    assert same.score(np.column_stack([X, np.ones(400)])) == pytest.approx(LatentTrait().fit(X).score(X), rel=1e-9)
    assert len(same.slopes_[5]) == 0
    with pytest.raises(ValueError, match="nothing that a trait could explain"):
        LatentTrait().fit(np.ones((5, 2)))
    steep = np.column_stack([X, X[:, 0], X[:, 0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LatentTrait(max_iter=200).fit(steep)
    assert any("separate the rows nearly perfectly" in str(each.message) for each in caught)
    with pytest.raises(ValueError, match="which X does not have"):
        LatentTrait(ordinal=["q9"]).fit(X)


def test_the_item_table_prints_and_draws():
    X, _ = graded_items(400)
    frame = pd.DataFrame(X, columns=[f"item {number}" for number in range(6)])
    table = LatentTrait(ordinal=["item 0"]).fit(frame).item_table()
    shown = repr(table)
    assert "6 items, 1 trait" in shown
    assert "item 0 = 3" in shown
    assert "have the most information about the trait" in table.reading
    assert len(table.plot().data) == 6
    assert len(table.to_dict()["slopes"]) == 18


def test_measurements_and_other_answers_are_named():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["no", "yes"], 60), "c": rng.choice(["no", "yes"], 60)})
    with pytest.warns(UserWarning, match="Column a has 60 different values in 60 rows.*FactorAnalysis"):
        LatentTrait(max_iter=2, n_quadrature=5).fit(X)
    model = LatentTrait(max_iter=20).fit(X[["b", "c"]])
    with pytest.warns(UserWarning, match="Column b holds values that were not seen in fit, such as 1"):
        model.transform(X[["b", "c"]].assign(b=1))
    assert "b = yes" in repr(model.item_table())
