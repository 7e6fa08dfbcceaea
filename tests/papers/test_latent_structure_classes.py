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
