"""Titterington (2006), latent structure analysis: latent classes, missing answers, and the bootstrap test."""

from itertools import product

import numpy as np
import pytest

from fewer.latent import LatentClass, match_components, select_n_components
from tolerances import rounding

SIZES = np.array([0.5, 0.3, 0.2])
YES = np.array([[0.9] * 8, [0.9] * 4 + [0.1] * 4, [0.1] * 8])


def answers(seed, n_rows=500):
    """Eight binary items of three classes."""
    rng = np.random.default_rng(seed)
    return (rng.random((n_rows, 8)) < YES[rng.choice(3, n_rows, p=SIZES)]).astype(float)


def with_missing(X, seed):
    X = X.copy()
    X[np.random.default_rng(1000 + seed).random(X.shape) < 0.2] = np.nan
    return X


def chosen_and_worst(tables):
    """Number of classes that BIC picks for each table, and the largest error of the probabilities of three classes."""
    chosen, worst = [], []
    for X in tables:
        model = LatentClass(random_state=0)
        chosen.append(select_n_components(model, X, [1, 2, 3, 4, 5], criterion="bic").n_components)
        three = model.set_params(n_components=3).fit(X)
        assert (np.diff(three.objective_path_) >= -1e-9 * abs(three.objective_path_[0])).all()
        yes = np.column_stack([each[:, 1] for each in three.probabilities_])
        partners = match_components(YES, yes).partners
        worst.append(np.abs(yes[partners] - YES).max())
    return np.array(chosen), np.array(worst)


def brute_force(model, X):
    """Log-likelihood by summing the probabilities of all completions of the missing answers."""
    total = 0.0
    for row in X:
        missing = np.flatnonzero(np.isnan(row))
        chance = 0.0
        for filling in product([0.0, 1.0], repeat=len(missing)):
            full = row.copy()
            full[missing] = filling
            factors = [shares[:, int(answer)] for shares, answer in zip(model.probabilities_, full, strict=True)]
            chance += float(model.weights_ @ np.prod(factors, axis=0))
        total += np.log(chance)
    return total


@pytest.mark.claim("latent-structure", 1)
def test_bic_finds_three_classes_and_their_answers(figure):
    chosen, worst = chosen_and_worst(answers(seed) for seed in range(5))
    figure(f"BIC picks 3 in {np.sum(chosen == 3)} of 5; largest error {worst.max():.3f}")
    assert (chosen == 3).sum() >= 4
    assert worst.max() < 0.12


@pytest.mark.slow
@pytest.mark.claim("latent-structure", 1)
def test_bic_finds_three_classes_in_thirty_tables(figure):
    chosen, worst = chosen_and_worst(answers(seed) for seed in range(30))
    figure(
        f"BIC picks 3 in {np.sum(chosen == 3)} of 30; error {worst.mean():.3f} on average, {worst.max():.3f} at most"
    )
    assert (chosen == 3).sum() >= 28
    assert worst.max() < 0.12


@pytest.mark.claim("latent-structure", 2)
def test_missing_answers_are_summed_out_exactly(figure):
    X = with_missing(answers(0, 60), 0)
    model = LatentClass(3, random_state=0).fit(X)
    gap = abs(model.log_likelihood_ - brute_force(model, X))
    figure(f"log-likelihood of 60 rows differs by {gap:.1e} from brute force")
    assert gap < max(1e-10, rounding(60 * 256, abs(model.log_likelihood_)))
    assert model.score_samples(X).sum() == pytest.approx(model.log_likelihood_, abs=1e-10)


@pytest.mark.claim("latent-structure", 2)
def test_bic_finds_three_classes_with_missing_answers(figure):
    chosen, _ = chosen_and_worst(with_missing(answers(seed), seed) for seed in range(4))
    figure(f"BIC picks 3 in {np.sum(chosen == 3)} of 4")
    assert (chosen == 3).sum() >= 3


@pytest.mark.slow
@pytest.mark.claim("latent-structure", 2)
def test_bic_finds_three_classes_in_thirty_tables_with_missing_answers(figure):
    chosen, _ = chosen_and_worst(with_missing(answers(seed), seed) for seed in range(30))
    figure(f"BIC picks 3 in {np.sum(chosen == 3)} of 30")
    assert (chosen == 3).sum() >= 25


def two_against_three(n_classes, seed, n_resamples):
    """p-value of the bootstrap test of two classes against three, on a table with so many."""
    rng = np.random.default_rng(500 + seed)
    sizes = SIZES[:n_classes] / SIZES[:n_classes].sum()
    X = (rng.random((300, 8)) < YES[rng.choice(n_classes, 300, p=sizes)]).astype(float)
    options = {"criterion": "bootstrap", "n_resamples": n_resamples, "random_state": seed}
    return select_n_components(LatentClass(n_init=5, random_state=0), X, [2, 3], **options).tests[0].p_value


@pytest.mark.claim("latent-structure", 8)
def test_the_bootstrap_test_tells_two_classes_from_three(figure):
    kept = np.array([two_against_three(2, seed, 19) for seed in range(4)])
    rejected = np.array([two_against_three(3, seed, 19) for seed in range(2)])
    figure(f"2 classes: {np.sum(kept > 0.05)} of 4 have p > .05; 3 classes: {np.sum(rejected <= 0.05)} of 2 have .05")
    # One of four at a level of 5% is nothing unusual (19%), two are (1.4%).
    assert (kept > 0.05).sum() >= 3
    assert (rejected <= 0.05).all()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.claim("latent-structure", 8)
def test_the_bootstrap_test_keeps_its_level_in_forty_tables(figure):
    kept = np.array([two_against_three(2, seed, 99) for seed in range(40)])
    figure(f"{np.sum(kept > 0.05)} of 40 tables with 2 classes have p > .05")
    assert (kept > 0.05).sum() >= 36


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.claim("latent-structure", 8)
def test_the_bootstrap_test_has_power_in_forty_tables(figure):
    rejected = np.array([two_against_three(3, seed, 99) for seed in range(40)])
    figure(f"{np.sum(rejected < 0.05)} of 40 tables with 3 classes have p < .05")
    assert (rejected < 0.05).sum() >= 36
