"""PLSDiscriminant: between-class directions, classifiers on top, missing values, bad input."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from fewer.evaluate import score_components
from fewer.extract import PLSDiscriminant, PLSRegressor, with_components


def wide(n_rows=60, n_columns=300, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    return rng.normal(size=(n_rows, n_columns)) + rng.normal(size=(3, n_columns))[y], np.array(["a", "b", "c"])[y]


def test_without_orthonormal_classes_it_is_pls2_on_indicators():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    indicators = (y[:, None] == np.arange(2)).astype(float)
    expected = PLSRegressor(4).fit(X, indicators).transform(X)
    np.testing.assert_allclose(PLSDiscriminant(4, orthonormalised=False).fit(X, y).transform(X), expected, atol=1e-9)


def test_two_classes_give_the_difference_of_means_first():
    X, y = wide()
    two = y != "c"
    model = PLSDiscriminant().fit(X[two], y[two])
    difference = X[y == "a"].mean(axis=0) - X[y == "b"].mean(axis=0)
    cosine = model.x_weights_[:, 0] @ difference / np.linalg.norm(difference)
    assert abs(cosine) == pytest.approx(1)
    assert model.n_components_ == 1


def test_deflation_gives_more_than_classes_and_sb_does_not():
    X, y = wide()
    assert PLSDiscriminant(7).fit(X, y).n_components_ == 7
    with pytest.warns(UserWarning, match="n_components=7 are asked for, and there are 2"):
        assert PLSDiscriminant(7, deflation="sb").fit(X, y).n_components_ == 2


@pytest.mark.parametrize("deflation", ["pls2", "sb"])
def test_the_first_components_are_those_of_a_smaller_fit(deflation):
    X, y = load_digits(return_X_y=True)
    small, large = (PLSDiscriminant(k, deflation=deflation).fit(X[:300], y[:300]) for k in (2, 5))
    np.testing.assert_allclose(large.transform(X)[:, :2], small.transform(X), atol=1e-8)


def test_any_classifier_serves():
    X, y = wide()
    for classifier in (KNeighborsClassifier(3), RidgeClassifier()):
        model = PLSDiscriminant(2, estimator=classifier).fit(X, y)
        assert model.score(X, y) > 0.95
        assert type(model.estimator_) is type(classifier)
        assert not hasattr(classifier, "classes_")
        assert hasattr(model, "predict_proba") == hasattr(classifier, "predict_proba")
    assert model.decision_function(X).shape == (60, 3)
    default = PLSDiscriminant(2).fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(default.transform(X), y)
    np.testing.assert_allclose(default.predict_proba(X), lda.predict_proba(default.transform(X)), atol=1e-10)


def test_the_path_ends_with_the_prediction():
    X, y = wide()
    model = PLSDiscriminant(3).fit(X, y)
    path = model.predict_path(X)
    assert path.shape == (3, 60)
    assert np.array_equal(path[-1], model.predict(X))
    assert np.array_equal(path[0], PLSDiscriminant(1).fit(X, y).predict(X))


def test_sparse_is_dense_and_float32_stays():
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 100), density=0.2, rng=rng, format="csr")
    y = np.arange(60) % 3
    for model in (PLSDiscriminant(3), PLSDiscriminant(deflation="sb"), PLSDiscriminant(2, scale=True)):
        dense = model.fit(X.toarray(), y).transform(X.toarray())
        np.testing.assert_allclose(model.fit(X, y).transform(X), dense, atol=1e-9)
        assert model.fit(X.astype(np.float32), y).transform(X.astype(np.float32)).dtype == np.float32


def test_what_cannot_be_told_apart_is_refused():
    X, _ = wide()
    with pytest.raises(ValueError, match="one class only"):
        PLSDiscriminant().fit(X, np.full(60, "a"))
    with pytest.raises(ValueError, match="means of all classes are the same"):
        PLSDiscriminant().fit(np.vstack([X, X]), np.repeat(["a", "b"], 60))
    with pytest.raises(ValueError, match="continuous"):
        PLSDiscriminant().fit(X, np.linspace(0, 1, 60))


def test_a_class_of_one_row_is_borne():
    X, y = wide()
    y = np.where(np.arange(60) == 5, "alone", y)
    assert PLSDiscriminant().fit(X, y).transform(X).shape == (60, 3)


@pytest.mark.parametrize(("model", "learner"), [(PLSDiscriminant(), RidgeClassifier()), (PLSRegressor(), Ridge())])
def test_one_fit_serves_every_size_of_a_study(model, learner):
    X, labels = wide()
    y = labels if isinstance(model, PLSDiscriminant) else X[:, :20].sum(axis=1)
    train, test = slice(0, 40), slice(40, 60)
    found = score_components(model, learner, X[train], y[train], X[test], y[test], sizes=[1, 2, 5])
    assert found.sizes == [1, 2, 5, 300]
    for size, score in zip([1, 2, 5], found.scores, strict=False):
        pipeline = make_pipeline(with_components(model, size), learner).fit(X[train], y[train])
        assert score == pytest.approx(pipeline.score(X[test], y[test]))


def wine_with_missing(share=0.1):
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    return X, np.where(np.random.default_rng(0).random(X.shape) < share, np.nan, X), np.array(["a", "b", "c"])[y]


def test_missing_values_cost_little():
    X, missing, y = wine_with_missing()
    whole, model = PLSDiscriminant(3).fit(X, y), PLSDiscriminant(3).fit(missing, y)
    assert model.score(X, y) > whole.score(X, y) - 0.03
    assert model.score(missing, y) > whole.score(X, y) - 0.05
    np.testing.assert_allclose(model.transform(X), (X - model.mean_) @ model.components_.T, atol=1e-10)
    assert model.predict_path(missing).shape == (3, 178)
    assert np.isfinite(model.predict_proba(np.full((1, 13), np.nan))).all()


def test_missing_values_are_refused_with_the_cure_where_all_directions_come_at_once():
    _, missing, y = wine_with_missing()
    with pytest.raises(ValueError, match='Or take deflation="pls2"'):
        PLSDiscriminant(deflation="sb").fit(missing, y)
    with pytest.raises(ValueError, match="NaN"):
        PLSDiscriminant().fit(sparse.csr_array(missing), y)


def test_predictions_do_not_depend_on_the_output_that_is_set():
    X, _, y = wine_with_missing()
    plain = PLSDiscriminant(3).fit(X, y)
    framed = PLSDiscriminant(3).set_output(transform="pandas").fit(X, y)
    np.testing.assert_array_equal(framed.predict(X), plain.predict(X))
    np.testing.assert_array_equal(framed.predict_path(X), plain.predict_path(X))


def test_as_many_rows_as_classes_are_too_few_for_its_own_classifier():
    X = np.random.default_rng(0).normal(size=(4, 6))
    with pytest.raises(ValueError, match=r"4 rows and 4 classes: PLSDiscriminant .* more rows than classes"):
        PLSDiscriminant(2).fit(X, list("abcd"))
    model = PLSDiscriminant(2, estimator=KNeighborsClassifier(1)).fit(X, list("abcd"))
    assert model.transform(X).shape == (4, 2)
