import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fewer.extract import landmark_dim, margin_dim, margin_report, perceptron_mistake_bound


def parted_rows(seed, n_rows=200, gap=0.3):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=8)
    X = rng.normal(size=(4 * n_rows, 8))
    cosines = X @ w / (np.linalg.norm(X, axis=1) * np.linalg.norm(w))
    kept = np.flatnonzero(np.abs(cosines) > gap)[:n_rows]
    return X[kept], np.where(cosines[kept] > 0, "yes", "no"), w


@pytest.mark.parametrize("seed", range(5))
def test_a_perceptron_makes_no_more_mistakes_than_the_bound(seed):
    X, y, w = parted_rows(seed)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) * np.where(y == "yes", 1, -1)[:, None]
    plane, mistakes = np.zeros(8), 0
    for _ in range(50):
        for row in rows:
            if row @ plane <= 0:
                plane += row
                mistakes += 1
    assert 0 < mistakes <= perceptron_mistake_bound(X, y, w)


def test_the_bound_is_one_over_the_squared_smallest_cosine_whatever_the_units():
    X = np.array([[3.0, 4.0], [-4.0, 3.0], [-1.0, 0.0]])
    assert perceptron_mistake_bound(X, [1, 0, 0], [1, 0]) == pytest.approx(1 / 0.6**2)
    assert perceptron_mistake_bound(1e3 * X, [1, 0, 0], [1e-3, 0]) == pytest.approx(1 / 0.6**2)
    assert perceptron_mistake_bound(sparse.csr_array(X), [1, 0, 0], [1, 0]) == pytest.approx(1 / 0.6**2)
    assert perceptron_mistake_bound(X, [0, 1, 1], [1, 0]) == np.inf


def test_the_report_tells_margins_and_sizes():
    X, y, w = parted_rows(0)
    report = margin_report(w, X, y, quantile=0, eps=0.2, delta=0.1)
    assert report.gamma == report.margins.min() > 0.3
    assert report.error == 0
    assert report.effective_dim == report.mistake_bound == perceptron_mistake_bound(X, y, w)
    assert report.projection_dim == margin_dim(report.gamma, 0.2, 0.1)
    assert report.landmark_dim == landmark_dim(report.gamma, 0.2, 0.1)
    assert "no fewer than there are columns" in report.reading
    assert json.loads(json.dumps(report.to_dict()))["projection_dim"] == report.projection_dim


def test_the_margin_of_all_but_a_share_leaves_just_these_rows_out():
    X, y, w = parted_rows(0)
    y = np.where(np.arange(200) < 10, np.where(y == "yes", "no", "yes"), y)
    assert margin_report(w, X, y, quantile=0.05).gamma > 0.3
    below = margin_report(w, X, y, quantile=0.045)
    assert below.gamma < 0
    assert below.projection_dim is below.landmark_dim is None
    assert "5% of the rows are on the wrong side" in below.reading
    assert "no margin" in repr(below)
    assert below.to_dict()["effective_dim"] is None


def test_an_intercept_is_a_plane_in_one_more_column():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression().fit(X, y)
    report = margin_report(model, X, y)
    assert report.error == pytest.approx(1 - model.score(X, y))
    length = np.sqrt(np.mean(np.sum(X**2, axis=1)))
    w = np.append(model.coef_[0], model.intercept_ / length)
    ones = np.column_stack([X, np.full(len(X), length)])
    expected = np.where(y == 1, 1, -1) * (ones @ w) / (np.linalg.norm(ones, axis=1) * np.linalg.norm(w))
    np.testing.assert_allclose(report.margins, expected)
    np.testing.assert_allclose(margin_report(model, sparse.csr_array(X), y).margins, expected)


def test_pipelines_and_all_kinds_of_linear_models_are_taken():
    X, y = load_breast_cancer(return_X_y=True)
    for learner in (LinearSVC(), Perceptron(), LogisticRegression(fit_intercept=False)):
        model = make_pipeline(StandardScaler(), learner).fit(X, y)
        assert margin_report(model, X, y).error == pytest.approx(1 - model.score(X, y))


def test_the_picture_has_every_row_and_the_margin():
    X, y, w = parted_rows(0)
    figure = margin_report(w, X, y).plot()
    assert len(figure.data[0].x) == 200
    assert len(figure.layout.shapes) == 2


def test_what_is_no_plane_is_told_with_the_cure():
    X, y, w = parted_rows(0)
    with pytest.raises(TypeError, match=r"KNeighborsClassifier has no coef_.*take a linear model"):
        margin_report(KNeighborsClassifier().fit(X, y), X, y)
    with pytest.raises(TypeError, match=r"LinearSVC has no coef_.*Fit it first"):
        margin_report(LinearSVC(), X, y)
    table, species = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="two classes, and y has 3; set one of them against the others"):
        margin_report(LinearSVC().fit(table, species), table, species)
    with pytest.raises(ValueError, match="This model has 3 planes"):
        margin_report(LinearSVC().fit(table, species), table, species == 0)
    with pytest.raises(ValueError, match="w has 3 entries, and X has 8 columns"):
        margin_report(w[:3], X, y)
    with pytest.raises(ValueError, match="not all zero"):
        perceptron_mistake_bound(X, y, np.zeros(8))
    with pytest.raises(ValueError, match="quantile=1 is a share"):
        margin_report(w, X, y, quantile=1)
    with pytest.raises(ValueError, match="eps=2 must be above 0 and below 1"):
        margin_report(w, X, y, eps=2)
    X[7] = 0
    with pytest.raises(ValueError, match="Row 7 is all zeros"):
        perceptron_mistake_bound(X, y, w)


def test_a_table_of_other_columns_is_told_with_the_model():
    X, y, _ = parted_rows(0)
    with pytest.raises(ValueError, match="LogisticRegression was fitted to 8 columns, and X has 3"):
        margin_report(LogisticRegression().fit(X, y), X[:, :3], y)


def test_classes_that_the_model_does_not_know_are_told():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="y holds the class 'z', and the model was fitted to 'a' and 'b'"):
        margin_report(model, X, np.where(y == "a", "z", y))
