"""Latent classes: tables of any kind, solvers, standard errors, ordinal items, what is printed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewer.latent import LatentClass, component_stability
from fewer.latent.classes._class_information import standard_errors
from fewer.latent.classes._class_steps import ClassClimb, Classes, ClassPosterior, class_posteriors
from fewer.latent.classes._items import response_patterns
from tolerances import rounding

SIZES = np.array([0.6, 0.4])


def survey(n_rows=400, n_items=5, seed=0, missing=0.1):
    """Items with three answers: class 0 mostly gives the first, class 1 the last."""
    rng = np.random.default_rng(seed)
    classes = rng.choice(2, n_rows, p=SIZES)
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])[classes]
    codes = (rng.random((n_rows, n_items, 1)) > np.cumsum(shares, axis=1)[:, None, :]).sum(axis=2).astype(float)
    codes[rng.random(codes.shape) < missing] = np.nan
    return codes, classes


def test_the_larger_class_comes_first_and_rows_are_told_apart():
    X, truth = survey()
    model = LatentClass(2, random_state=0).fit(X)
    assert model.weights_[0] > model.weights_[1]
    assert np.mean(model.predict(X) == truth) > 0.85
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1)
    assert len(model.objectives_) == 10
    assert model.n_best_starts_ == 10
    assert model.n_parameters_ == 1 + 2 * 5 * 2
    assert model.bic(X) == pytest.approx(model.profile().bic)


def test_frames_text_and_numbers_give_the_same_classes():
    X, _ = survey(150)
    numbers = LatentClass(2, random_state=0).fit(X)
    words = np.array(["a", "b", "c", None], dtype=object)[np.where(np.isnan(X), 3, X).astype(int)]
    names = [f"q{item}" for item in range(X.shape[1])]
    text = pd.DataFrame(words, columns=names)
    tables = {
        "objects": words,
        "pandas": text,
        "pandas categories": text.astype(pd.CategoricalDtype(["a", "b", "c", "never chosen"])),
        "pandas numbers": pd.DataFrame(X, columns=names).astype("Int64"),
        "polars": pl.DataFrame({name: words[:, item].tolist() for item, name in enumerate(names)}),
        "polars enum": pl.DataFrame(
            {name: words[:, item].tolist() for item, name in enumerate(names)},
            schema=dict.fromkeys(names, pl.Enum(["a", "b", "c"])),
        ),
        "objects of numbers": X.astype(object),
    }
    for table in tables.values():
        model = LatentClass(2, random_state=0).fit(table)
        np.testing.assert_array_equal(model.transform(table), numbers.transform(X))
        assert model.n_parameters_ == numbers.n_parameters_


def test_declared_order_of_categories_is_kept():
    text = pd.DataFrame({"size": ["small", "large", "medium"] * 20, "seen": [True, False, None] * 20})
    text["size"] = pd.Categorical(text["size"], ["small", "medium", "large"], ordered=True)
    text["other"] = text["size"].astype(str)
    model = LatentClass(2, ordinal="auto", n_init=1, random_state=0).fit(text)
    assert model.categories_[0].tolist() == ["small", "medium", "large"]
    assert model.categories_[2].tolist() == ["large", "medium", "small"]
    assert model.ordinal_.tolist() == [True, False, False]
    given = LatentClass(2, categories=[["small", "medium", "large"], [0, 1], ["small", "medium", "large"]], n_init=1)
    assert given.fit(text).categories_[2].tolist() == ["small", "medium", "large"]


def test_a_weight_is_a_repetition():
    X, _ = survey(120)
    weights = np.random.default_rng(1).integers(0, 4, size=120)
    weighted = LatentClass(2, random_state=0).fit(X, sample_weight=weights)
    repeated = LatentClass(2, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(weighted.components_, repeated.components_)
    np.testing.assert_array_equal(weighted.weight_errors_, repeated.weight_errors_)
    assert weighted.n_rows_ == weights.sum()
    assert weighted.score(X, sample_weight=weights) == pytest.approx(weighted.log_likelihood_ / weights.sum())


@pytest.mark.parametrize("ordinal", [False, True])
def test_standard_errors_are_those_of_the_numerical_hessian(ordinal):
    X, _ = survey(300, n_items=4, missing=0.15)
    codes = np.where(np.isnan(X), -1, X).astype(np.int64)
    mask = np.array([ordinal, False, ordinal, False])
    model = LatentClass(2, ordinal=mask, tol=1e-13, random_state=0).fit(X)
    patterns = response_patterns(codes, np.ones(len(codes)), np.full(4, 3))
    classes = Classes(model.weights_, np.ascontiguousarray(model.components_.T * 4))

    def free(classes):
        """Logits against the first class and category; an ordinal item has intercepts of class 0, then a slope."""
        logits = np.log(classes.theta)
        found = [np.log(classes.weights[1] / classes.weights[0])]
        for item in range(4):
            own = logits[3 * item : 3 * item + 3]
            found += (own[1:] - own[0])[:, 0].tolist()
            other = own[1:, 1] - own[0, 1]
            found += [other[0] - found[-2]] if mask[item] else other.tolist()
        return np.array(found)

    def built(vector):
        place, theta = 1, np.empty((12, 2))
        for item in range(4):
            first = np.array([0, vector[place], vector[place + 1]])
            second = first + vector[place + 2] * np.arange(3) if mask[item] else np.r_[0, vector[place + 2 : place + 4]]
            place += 3 if mask[item] else 4
            for k, logits in enumerate((first, second)):
                theta[3 * item : 3 * item + 3, k] = np.exp(logits) / np.exp(logits).sum()
        return Classes(np.array([1, np.exp(vector[0])]) / (1 + np.exp(vector[0])), theta)

    def log_likelihood(vector):
        return float(patterns.weights @ class_posteriors(patterns.blocks, built(vector))[1])

    at = free(classes)
    step = 1e-4
    size = len(at)
    hessian, slopes = np.empty((size, size)), np.empty((24, size))
    eye = step * np.eye(size)
    for i in range(size):
        slopes[:, i] = (built(at + eye[i]).theta - built(at - eye[i]).theta).ravel() / (2 * step)
        for j in range(size):
            corners = [log_likelihood(at + a * eye[i] + b * eye[j]) * a * b for a in (-1, 1) for b in (-1, 1)]
            hessian[i, j] = sum(corners) / (4 * step**2)
    covariance = np.linalg.inv(-hessian)
    expected = np.sqrt(np.diag(slopes @ covariance @ slopes.T)).reshape(12, 2)
    found = standard_errors(patterns, classes, mask)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-3)
    share = classes.weights[1]
    np.testing.assert_allclose(found.weights, share * (1 - share) * np.sqrt(covariance[0, 0]), rtol=1e-3)


def test_two_answers_have_no_order():
    X, _ = survey(300)
    X = np.where(np.isnan(X), np.nan, np.minimum(X, 1))
    nominal = LatentClass(2, random_state=0, tol=1e-12).fit(X)
    ordinal = LatentClass(2, ordinal=[0, 1, 2, 3, 4], random_state=0, tol=1e-12).fit(X)
    assert ordinal.n_parameters_ == nominal.n_parameters_
    assert ordinal.log_likelihood_ == pytest.approx(nominal.log_likelihood_, abs=1e-5)
    np.testing.assert_allclose(ordinal.weight_errors_, nominal.weight_errors_, rtol=1e-3)


def test_ordinal_items_have_fewer_parameters_and_a_likelihood_that_never_falls():
    X, truth = survey(500)
    nominal = LatentClass(2, random_state=0).fit(X)
    ordinal = LatentClass(2, ordinal=np.ones(5, dtype=bool), random_state=0).fit(X)
    assert ordinal.n_parameters_ == 1 + 5 * (2 + 1)
    assert ordinal.log_likelihood_ < nominal.log_likelihood_ + 1e-6
    # Ten restrictions that hold in the model that the table was drawn from cost about ten halves.
    assert nominal.log_likelihood_ - ordinal.log_likelihood_ < 15
    assert (np.diff(ordinal.objective_path_) >= -1e-9 * abs(ordinal.objective_path_[0])).all()
    assert np.mean(ordinal.predict(X) == truth) > 0.85
    slopes = [np.log(each[:, 2] / each[:, 1]) - np.log(each[:, 1] / each[:, 0]) for each in ordinal.probabilities_]
    np.testing.assert_allclose([each[0] - each[1] for each in slopes], 0, atol=1e-6)


def test_the_bound_rises_and_lies_below_the_evidence():
    X, _ = survey(30, n_items=3, missing=0)
    codes = X.astype(np.int64)
    patterns = response_patterns(codes, np.ones(30), np.full(3, 3))
    model = LatentClass(2, solver="variational_bayes", random_state=0).fit(X)
    assert (np.diff(model.objective_path_) >= -rounding(1000, abs(model.lower_bound_))).all()
    # The evidence by draws from the prior.
    rng = np.random.RandomState(0)
    prior = ClassPosterior(patterns, 2, (1.0, 1.0))
    flat = np.ones(2 + 18)
    draws = [patterns.weights @ class_posteriors(patterns.blocks, prior.drawn(flat, rng))[1] for _ in range(20000)]
    top = max(draws)
    weights = np.exp(np.array(draws) - top)
    evidence = top + np.log(weights.mean())
    error = weights.std() / weights.mean() / np.sqrt(len(draws))
    assert model.lower_bound_ < evidence + 4 * error
    # The bound loses less than a nat for each of the 13 parameters.
    assert evidence - 13 < model.log_evidence() < evidence + 1


def test_all_solvers_agree_on_a_clear_table():
    X, _ = survey(1500, seed=2)
    by_em = LatentClass(2, random_state=0).fit(X)
    by_bayes = LatentClass(2, solver="variational_bayes", random_state=0).fit(X)
    by_gibbs = LatentClass(2, solver="gibbs", n_draws=300, n_burn_in=100, random_state=0).fit(X)
    for each in (by_bayes, by_gibbs):
        gaps = (each.components_ - by_em.components_) * 5 / np.concatenate(by_em.probability_errors_, axis=1)
        assert np.abs(gaps).max() < 1
    errors = [np.concatenate(each.probability_errors_, axis=1) for each in (by_em, by_bayes, by_gibbs)]
    # 600 draws that depend on one another have standard deviations that are known to some 10%.
    np.testing.assert_allclose(errors[2], errors[0], rtol=0.4)
    assert errors[1].mean() < errors[0].mean()
    assert "too small" in by_bayes.profile().reading
    assert by_gibbs.draws_.theta.shape == (600, 15, 2)
    assert by_gibbs.draws_.log_likelihoods.shape == (2, 300)


def test_dic_counts_the_parameters_of_a_clear_table():
    X, _ = survey(1500, seed=2)
    for solver in ("gibbs", "variational_bayes"):
        model = LatentClass(2, solver=solver, n_draws=300, n_burn_in=100, random_state=0).fit(X)
        found = model.dic(X, n_draws=300)
        assert 12 < found.n_effective < 28  # there are 21
        assert found.value == pytest.approx(model.aic(X), abs=15)
    with pytest.raises(ValueError, match="DIC needs draws"):
        LatentClass(2, n_init=1).fit(X).dic(X)


def test_draws_of_chains_that_disagree_about_the_order_are_relabelled():
    X, _ = survey(400, seed=3)
    model = LatentClass(2, solver="gibbs", n_chains=6, n_draws=50, n_burn_in=50, random_state=1).fit(X)
    chains = model.draws_.theta.reshape(6, 50, 15, 2)[:, :, 0, 0].mean(axis=1)
    assert np.ptp(chains) < 0.15
    assert model.dic(X).n_effective > 0


def test_odd_tables():
    X, _ = survey(80)
    X[:, 1] = np.nan
    X[:, 2] = 7
    X[3] = np.nan
    model = LatentClass(2, n_init=2, random_state=0).fit(X)
    np.testing.assert_allclose(model.predict_proba(X)[3], model.weights_)
    assert model.score_samples(X)[3] == pytest.approx(0, abs=rounding(2))  # the logarithm of the sum of the weights
    assert len(model.categories_[1]) == 0
    assert model.sample(4, random_state=0)[0].shape == (4, 5)
    assert "class 1" in repr(model.profile())
    new = X.copy()
    new[0, 0] = 9  # never seen: it tells nothing of the class, and is not likely
    gone = X.copy()
    gone[0, 0] = np.nan
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(gone))
    assert model.score_samples(new)[0] < model.score_samples(gone)[0] - np.log(50)
    one = LatentClass(1).fit(X)
    assert one.entropy_ == 1
    np.testing.assert_allclose(one.probabilities_[0][0], [np.mean(X[~np.isnan(X[:, 0]), 0] == s) for s in range(3)])


def test_a_table_with_too_few_items_is_not_identified():
    X, _ = survey(100, n_items=2)
    with pytest.warns(UserWarning, match="14 parameters cannot be identified from a table of 9 different rows"):
        LatentClass(3, n_init=1, random_state=0).fit(X)


def test_a_smoothing_prior_keeps_probabilities_away_from_zero():
    X = np.array([[0.0, 0, 0, 0]] * 20 + [[1.0, 1, 1, 1]] * 15)
    model = LatentClass(2, category_prior=2.0, n_init=3, random_state=0).fit(X)
    np.testing.assert_allclose([each[0, 1] for each in model.probabilities_], 1 / 22, rtol=1e-3)
    sharp = LatentClass(2, n_init=3, random_state=0).fit(X)
    assert sharp.probabilities_[0][0, 1] < 1e-9
    assert np.isnan(sharp.probability_errors_[0]).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"category_prior": 0.5}, "has no posterior mode: solver='em' needs at least 1"),
        ({"ordinal": [0], "solver": "gibbs"}, "is for nominal items"),
        ({"ordinal": [9]}, "ordinal names the column 9, which X does not have"),
        ({"ordinal": ["age"]}, "ordinal names the column 'age'"),
        ({"ordinal": [True]}, "ordinal has 1 entries, and X has 5 columns"),
        ({"categories": [[0, 1, 2]]}, "categories has 1 lists, and X has 5 columns"),
        ({"categories": [[0, 1]] * 5}, r"holds 2.0, which is not in categories\[0\]: 0, 1"),
        ({"categories": [[0, 1, 1]] * 5}, "contains a duplicate"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    X, _ = survey(50)
    with pytest.raises(ValueError, match=message):
        LatentClass(2, **params).fit(X)


def test_a_column_of_other_values_is_reported():
    X, _ = survey(60)
    model = LatentClass(2, n_init=1, random_state=0).fit(X)
    X[:, 1] += 10
    with pytest.warns(UserWarning, match=r"Column 1 holds values that were not seen in fit, such as 1\d\.0"):
        model.predict(X)


def test_gibbs_refuses_parts_of_rows():
    X, _ = survey(50)
    with pytest.raises(ValueError, match="whole numbers"):
        LatentClass(2, solver="gibbs").fit(X, sample_weight=np.full(50, 0.5))


def test_measurements_are_reported():
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.warns(UserWarning, match="60 different values in 60 rows, and each counts as a category"):
        LatentClass(2, n_init=1, max_iter=5, tol=1e-2).fit(X)


def test_samples_follow_the_model():
    X, _ = survey(800)
    words = np.array(["a", "b", "c", None], dtype=object)[np.where(np.isnan(X), 3, X).astype(int)]
    model = LatentClass(2, random_state=0).fit(words)
    drawn, classes = model.sample(4000, random_state=0)
    np.testing.assert_allclose(np.bincount(classes) / 4000, model.weights_, atol=4 * 0.5 / np.sqrt(4000))
    share = np.mean(drawn[classes == 1, 2] == "c")
    assert share == pytest.approx(model.probabilities_[2][1, 2], abs=4 * 0.5 / np.sqrt((classes == 1).sum()))
    again = model._for_samples().fit(drawn)
    np.testing.assert_allclose(again.components_, model.components_, atol=0.02)


def test_the_profile_names_the_items_that_separate_and_draws_them():
    X, _ = survey(400)
    X[:, 0] = np.random.default_rng(5).integers(3, size=400)
    frame = pd.DataFrame(X, columns=["weather", "one", "two", "three", "four"])
    profile = LatentClass(2, random_state=0).fit(frame).profile()
    assert profile.separating_items[-1] == "weather"
    assert "The classes differ most in" in profile.reading
    assert "of 10 starts reached the best optimum" in profile.reading
    assert profile.classification_table.sum() == pytest.approx(400)
    lines = repr(profile).splitlines()
    assert lines[0] == "2 latent classes of 400 rows"
    assert sum("weather = " in line for line in lines) == 3
    assert profile.plot().data[0].type == "heatmap"
    binary = LatentClass(2, random_state=0).fit(np.minimum(X, 1)).profile()
    assert [trace.mode for trace in binary.plot().data] == ["lines+markers"] * 2
    assert set(profile.to_dict()) >= {"bic", "sizes", "entropy"}


def test_classes_are_stable_over_samples_of_rows():
    X, _ = survey(300)
    found = component_stability(LatentClass(2, n_init=3, random_state=0), X, n_repeats=5)
    assert (found.frequencies == 1).all()


def test_starts_do_not_depend_on_the_order_of_rows():
    X, _ = survey(100)
    order = np.random.default_rng(0).permutation(100)
    first = LatentClass(3, n_init=2, random_state=0).fit(X)
    second = LatentClass(3, n_init=2, random_state=0).fit(X[order])
    np.testing.assert_array_equal(first.components_, second.components_)


def test_very_many_items_do_not_underflow():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 40)
    X = (rng.random((80, 600)) < np.where(classes[:, None], 0.95, 0.05)).astype(float)
    model = LatentClass(2, n_init=2, random_state=0).fit(X)
    assert np.isfinite(model.log_likelihood_)
    assert len(np.unique(model.predict(X)[:40])) == 1
    codes = X.astype(np.int64)
    patterns = response_patterns(codes, np.ones(80), np.full(600, 2))
    climber = ClassClimb(patterns, 2, (1.0, 1.0), np.zeros(600, dtype=bool))
    shares = np.where(codes[:, :, None] == 1, 0.3, 0.7) * np.ones(2)
    vector = np.concatenate([[0.5, 0.5], np.tile([[0.7], [0.3]], (600, 2)).ravel()])
    assert climber.step(vector)[1] == pytest.approx(np.log(shares[:, :, 0]).sum(), rel=rounding(shares.size))
