"""Correspondence analysis, canonical correspondence analysis and LDA: Zhu (2001), chapters 1 to 3."""

import numpy as np
import pytest
from scipy import linalg, stats
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fewer.extract import (
    CanonicalCorrespondenceAnalysis,
    CorrespondenceAnalysis,
    GaussianResponseModel,
    OptimalScoringLDA,
    cooccurrence_to_labeled,
)


def cosines(first, second):
    """|cos| between columns."""
    first, second = (each / np.linalg.norm(each, axis=0) for each in (first, second))
    return np.abs(np.sum(first * second, axis=0))


def described_counts(seed=0):
    rng = np.random.default_rng(seed)
    X, C = rng.normal(size=(30, 3)), rng.normal(size=(3, 4))
    return X, rng.poisson(2 + 1.5 * np.exp(0.4 * X @ C))


def discriminants(X, y, weights):
    """LDA by its definition: eigenvalues and vectors of between against within, both weighted."""
    mean = weights @ X / weights.sum()
    within, between = np.zeros((2, X.shape[1], X.shape[1]))
    for label in np.unique(y):
        own, share = X[y == label], weights[y == label]
        centre = share @ own / share.sum()
        within += ((own - centre).T * share) @ (own - centre)
        between += share.sum() * np.outer(centre - mean, centre - mean)
    values, vectors = linalg.eigh(between, within)
    return values[::-1], vectors[:, ::-1]


@pytest.mark.claim("zhu-cca-lda", 1)
def test_canonical_correspondence_analysis_is_lda_on_occurrences(figure):
    X, Y = described_counts()
    model = CanonicalCorrespondenceAnalysis().fit(X, Y)
    expanded, labels = cooccurrence_to_labeled(Y, X)
    lda = LinearDiscriminantAnalysis(solver="svd").fit(expanded, labels)
    off = 1 - cosines(model.axes_, lda.scalings_[:, :3]).min()
    assert off < 1e-10
    repeated, _ = discriminants(expanded, labels, np.ones(len(labels)))
    weighted, vectors = discriminants(*cooccurrence_to_labeled(Y, X, return_weights=True))
    gap = np.abs(model.eigenvalues_ - repeated / (1 + repeated)).max()
    figure(f"1 - |cos| {off:.0e}, eigenvalues off by {gap:.0e}")
    assert gap < 1e-10
    np.testing.assert_allclose(weighted, repeated, atol=1e-10)
    assert cosines(model.axes_, vectors).min() > 1 - 1e-10


@pytest.mark.claim("zhu-cca-lda", 2)
def test_solvers_agree_and_inertia_is_chi_square(figure):
    X, Y = described_counts()
    for model in (CanonicalCorrespondenceAnalysis, CorrespondenceAnalysis):
        data = (X, Y) if model is CanonicalCorrespondenceAnalysis else (Y,)
        first, second = ("eig", "iterative") if model is CanonicalCorrespondenceAnalysis else ("svd", "power")
        closed = model(None, solver=first).fit(*data)
        iterated = model(None, solver=second).fit(*data)
        np.testing.assert_allclose(closed.row_scores_, iterated.row_scores_, atol=1e-6)
        np.testing.assert_allclose(closed.column_scores_, iterated.column_scores_, atol=1e-6)
    assert ((closed.eigenvalues_ >= 0) & (closed.eigenvalues_ < 1)).all()
    chi_square = stats.chi2_contingency(Y).statistic
    found = closed.eigenvalues_.sum() * Y.sum()
    figure(f"chi-square {found:.6f} for {chi_square:.6f}")
    assert found == pytest.approx(chi_square, rel=1e-8)


@pytest.mark.claim("zhu-cca-lda", 3)
@pytest.mark.filterwarnings("ignore:30 rows in 29 dimensions")
def test_with_one_column_for_each_row_it_is_correspondence_analysis(figure):
    _, Y = described_counts()
    constrained = CanonicalCorrespondenceAnalysis().fit(np.eye(30), Y)
    plain = CorrespondenceAnalysis(None).fit(Y)
    np.testing.assert_allclose(constrained.eigenvalues_, plain.eigenvalues_, atol=1e-10)
    angle = linalg.subspace_angles(constrained.row_scores_, plain.row_scores_).max()
    figure(f"angle {angle:.0e}")
    assert angle < 1e-8
    np.testing.assert_allclose(cosines(constrained.row_scores_, plain.row_scores_), 1, atol=1e-8)


@pytest.mark.claim("zhu-cca-lda", 4)
def test_iris(figure):
    X, y = load_iris(return_X_y=True)
    by_counts = CanonicalCorrespondenceAnalysis().fit(X, np.eye(3)[y])
    by_labels = CanonicalCorrespondenceAnalysis().fit(X, y)
    figure("{:.5f} and {:.5f}".format(*by_counts.eigenvalues_))
    np.testing.assert_allclose(by_counts.eigenvalues_, [0.96987, 0.22203], atol=1e-4)
    np.testing.assert_allclose(by_counts.axes_, by_labels.axes_, rtol=1e-10)
    assert cosines(by_counts.axes_, LinearDiscriminantAnalysis().fit(X, y).scalings_).min() > 1 - 1e-10


@pytest.mark.claim("zhu-cca-lda", 5)
@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_optimal_scoring_with_least_squares_is_lda(data, figure):
    X, y = data(return_X_y=True)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    off = 1 - cosines(OptimalScoringLDA().fit(X, y).components_.T, lda.scalings_[:, :2]).min()
    figure(f"1 - |cos| {off:.0e}")
    assert off < 1e-8


@pytest.mark.claim("zhu-cca-lda", 6)
def test_lda_is_blind_to_a_class_between_the_halves_of_another(figure):
    found = []
    for seed in range(50):
        X = np.random.default_rng(seed).uniform(size=(200, 2))
        y = (np.abs(X[:, 0] - 0.5) < 1 / 6).astype(int)
        found.append(cosines(OptimalScoringLDA().fit(X, y).components_.T, np.array([[1.0], [0.0]]))[0])
    near = np.mean(np.array(found) > 0.95)
    figure(f"|cos| > 0.95 in {near:.0%}, median {np.median(found):.2f}")
    assert near < 0.35


@pytest.mark.claim("zhu-cca-lda", 7)
def test_gaussian_responses(figure):
    by_ca, by_likelihood = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        places, optima = rng.uniform(-2, 2, 60), rng.uniform(-2, 2, 8)
        Y = rng.poisson(np.exp(2 - (places[:, None] - optima) ** 2 / 2))
        model = GaussianResponseModel().fit(Y)
        assert model.log_likelihood_ >= model.initial_log_likelihood_
        for found, scores in ((by_ca, CorrespondenceAnalysis(1).fit(Y)), (by_likelihood, model)):
            found.append(abs(stats.spearmanr(scores.row_scores_[:, 0], places).statistic))
    figure(f"|Spearman| {np.mean(by_ca):.3f} by CA, {np.mean(by_likelihood):.3f} by likelihood")
    assert np.mean(by_ca) > 0.95
    assert np.mean(by_likelihood) >= np.mean(by_ca)


@pytest.mark.claim("zhu-cca-lda", 8)
def test_bad_counts_are_refused_and_empty_rows_told():
    X, Y = described_counts()
    negative, incomplete, empty = (Y.astype(float) for _ in range(3))
    negative[3, 2], incomplete[3, 2], empty[4] = -1, np.nan, 0
    fits = [
        lambda Y: CorrespondenceAnalysis().fit(Y),
        lambda Y: GaussianResponseModel().fit(Y),
        lambda Y: CanonicalCorrespondenceAnalysis().fit(X, Y),
    ]
    for fit in fits:
        with pytest.raises(ValueError, match="Negative values"):
            fit(negative)
        with pytest.raises(ValueError, match="NaN"):
            fit(incomplete)
        with pytest.warns(UserWarning, match="1 rows .*hold no counts"):
            fit(empty)
    for mismatched in (
        lambda: CanonicalCorrespondenceAnalysis().fit(X[:-1], Y),
        lambda: cooccurrence_to_labeled(Y, X[:-1]),
        lambda: GaussianResponseModel().fit(Y, covariates=X[:-1]),
    ):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            mismatched()
