"""Mixtures with classes: projections, weights, rank, shrinkage, re-seeding, predictions for items."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fewer.datasets import make_waveform
from fewer.latent import (
    AspectModelWithCovariates,
    MixtureDiscriminantAnalysis,
    SharedMixtureDiscriminant,
    select_n_components,
)
from fewer.latent.mixtures._class_mixture import kmeans_labels, reduced_means
from fewer.learn import LVQClassifier, SeparateKMeansClassifier
from tolerances import rounding


def waves(n_rows=200, seed=0):
    X, y, _ = make_waveform(n_rows, n_noise=0, random_state=seed)
    return X, y


def test_coordinates_have_unit_variance_within_sub_classes():
    X, y = waves()
    model = MixtureDiscriminantAnalysis(3, n_init=1, random_state=0).fit(X, y)
    assert model.transform(X).shape == (200, 8)
    assert model.scalings_.T @ model.covariance_ @ model.scalings_ == pytest.approx(np.eye(8), abs=1e-8)
    assert (np.diff(model.explained_variance_ratio_) <= rounding(8)).all()  # shares of one; those of nothing are equal
    means = (model.means_ - model.xbar_) @ model.scalings_
    between = (means.T * model.weights_) @ means
    assert between == pytest.approx(np.diag(np.diag(between)), abs=1e-8)
    assert model.class_given_component_.sum(axis=1) == pytest.approx(1)


def test_one_sub_class_projects_as_lda():
    X, y = waves()
    ours = MixtureDiscriminantAnalysis(1, reg_covar=0, n_init=1).fit(X, y).transform(X)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).transform(X)
    for axis in range(2):
        assert abs(np.corrcoef(ours[:, axis], theirs[:, axis])[0, 1]) == pytest.approx(1, abs=1e-6)


def test_a_reduced_rank_keeps_means_in_few_dimensions():
    X, y = waves()
    model = MixtureDiscriminantAnalysis(3, n_components=2, n_init=1, random_state=0).fit(X, y)
    centred = model.means_ - model.weights_ @ model.means_
    assert np.linalg.matrix_rank(centred, tol=1e-6 * np.linalg.norm(centred)) == 2
    assert model.transform(X).shape == (200, 2)
    rng = np.random.default_rng(0)
    means, within = rng.normal(size=(5, 4)), np.cov(rng.normal(size=(4, 50)))
    moved = reduced_means(means, np.ones(5), within, 4)
    assert moved == pytest.approx(means, abs=1e-10)  # five means span four dimensions


def test_k_means_sees_weights_as_repetitions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 8 * (np.arange(60) % 3)[:, None]
    weights = rng.integers(1, 4, size=60)
    labels = kmeans_labels(X, weights.astype(float), 3, np.random.RandomState(0))
    assert len(np.unique(labels)) == 3
    assert all(len(np.unique(labels[k::3])) == 1 for k in range(3))
    repeated = kmeans_labels(np.repeat(X, weights, axis=0), np.ones(weights.sum()), 3, np.random.RandomState(0))
    assert np.array_equal(np.repeat(labels, weights), repeated)


def test_shared_components_report_unclear_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(3, size=300)
    with pytest.warns(UserWarning, match="components have no class with a share"):
        SharedMixtureDiscriminant(2, n_init=1, random_state=0).fit(X, y)


@pytest.mark.parametrize("covariance_type", ["tied", "full", "diag"])
def test_rows_that_are_drawn_come_from_the_mixture(covariance_type):
    X, y = waves(400)
    model = SharedMixtureDiscriminant(4, covariance_type=covariance_type, n_init=2, random_state=0).fit(X, y)
    drawn, labels = model.sample(6000, random_state=0)
    assert drawn.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.25)
    assert drawn.std(axis=0) == pytest.approx(X.std(axis=0), rel=0.15)
    assert set(labels) <= set(y)
    assert model.score_samples(drawn).mean() == pytest.approx(model.score_samples(X).mean(), abs=1.5)
    assert model.transform(X).sum(axis=1) == pytest.approx(1)


def test_items_have_their_names():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": np.r_[rng.normal(25, 3, 40), rng.normal(70, 3, 40)]})
    bought = pd.DataFrame({"games": np.r_[np.full(40, 5), np.zeros(40)], "garden": np.r_[np.ones(40), np.full(40, 4)]})
    model = AspectModelWithCovariates(2, random_state=0).fit(people, bought)
    assert list(model.classes_) == ["games", "garden"]
    probabilities = model.predict_proba(pd.DataFrame({"age": [25.0, 70.0]}))
    assert probabilities[:, 0] == pytest.approx([5 / 6, 0], abs=0.01)
    assert list(model.predict(pd.DataFrame({"age": [25.0, 70.0]}))) == ["games", "garden"]
    with pytest.raises(ValueError, match="X has 80 rows, and y has 79"):
        model.fit(people, bought[:79])
    with pytest.raises(ValueError, match=r"Negative values .* 'games'"):
        model.fit(people, -bought)


def test_learning_moves_prototypes_to_the_boundary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    X[:, 1] *= 3
    y = (X[:, 0] > 0.5).astype(int)
    still = SeparateKMeansClassifier(1, random_state=0).fit(X, y)
    moved = LVQClassifier(1, learning_rate=0.1, n_epochs=30, random_state=0).fit(X, y)
    assert moved.score(X, y) > still.score(X, y)
    assert moved.prototypes_.shape == (2, 2)
    assert moved.n_iter_ == 30


def test_counts_of_items_have_a_likelihood_and_choose_the_number_of_aspects():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-3, 1, size=(60, 2)), rng.normal(3, 1, size=(60, 2))])
    shares = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], 60, axis=0)
    Y = np.array([rng.multinomial(5, each) for each in shares])
    model = AspectModelWithCovariates(2, n_init=2, reg_covar=1e-12, random_state=0).fit(X, Y)
    sparse_items = sparse.csr_array(Y)
    assert model.score_samples(X, Y).sum() == pytest.approx(model.objective_path_[-1], rel=1e-4)
    assert model.score_samples(X, sparse_items) == pytest.approx(model.score_samples(X, Y))
    assert model.score(X, sparse_items) == pytest.approx(np.sum(Y * model.predict_log_proba(X)) / Y.sum())
    one = AspectModelWithCovariates(n_init=1, random_state=0)
    for items, criterion in ((Y, "auto"), (sparse_items, "cv"), (Y, "bic")):
        assert select_n_components(one, X, [1, 2], y=items, criterion=criterion).n_components == 2
    with pytest.raises(ValueError, match="y has 2 items, and the model was fitted to 3"):
        model.score(X, Y[:, :2])


@pytest.mark.parametrize("kind", [MixtureDiscriminantAnalysis, SharedMixtureDiscriminant])
def test_the_objective_is_the_log_likelihood_in_the_units_of_the_table(kind):
    X, y = waves()
    model = kind(3, n_init=2, reg_covar=0, tol=1e-10, max_iter=2000, random_state=0).fit(100 * X, y)
    assert model.objective_path_[-1] == pytest.approx(model.score_samples(100 * X, y).sum(), rel=1e-6)
    assert model.objectives_.max() == model.objective_path_[-1]


@pytest.mark.parametrize("unknown", ["b", "z"])
def test_rows_of_an_unknown_class_have_no_score(unknown):
    """Between the known ones, or after them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.array(["a", "c"])[rng.integers(0, 2, 60)]
    model = MixtureDiscriminantAnalysis(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=f"'{unknown}', which was not seen in fit"):
        model.score_samples(X[:2], [unknown, "a"])
    with pytest.raises(ValueError, match="1 labels, and X has 2 rows"):
        model.score_samples(X[:2], ["a"])
