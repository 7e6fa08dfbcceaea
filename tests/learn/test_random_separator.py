import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewer.learn import RandomSeparatorClassifier
from fewer.learn._random_separator import tries_enough

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 10))
Y = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")


def test_the_error_told_is_that_of_its_answers():
    model = RandomSeparatorClassifier(0.3, random_state=0).fit(X, Y)
    assert model.error_ == pytest.approx(1 - model.score(X, Y))
    assert model.error_ <= 0.5 - 0.3 / 6
    assert np.linalg.norm(model.coef_) == pytest.approx(1)
    np.testing.assert_array_equal(model.predict(X), np.where(X @ model.coef_[0] >= 0, "up", "down"))


def test_the_first_plane_that_is_good_enough_is_taken():
    planes = np.random.RandomState(0).normal(size=(16, 10))  # drawn as the estimator draws its first ones
    errors = np.mean((X @ planes.T >= 0) != (Y == "up")[:, None], axis=0)
    for gamma in (0.1, 0.3, 0.6):
        model = RandomSeparatorClassifier(gamma, random_state=0).fit(X, Y)
        assert model.n_tries_ == np.flatnonzero(errors <= 0.5 - gamma / 6)[0] + 1


def test_weights_count_as_rows_that_are_there_several_times():
    weights = RNG.integers(0, 4, size=300)
    rows = np.repeat(np.arange(300), weights)
    weighted = RandomSeparatorClassifier(0.9, random_state=3).fit(X, Y, sample_weight=weights)
    repeated = RandomSeparatorClassifier(0.9, random_state=3).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    assert weighted.error_ == pytest.approx(repeated.error_)


def test_on_noise_the_best_of_all_tries_is_taken_with_a_warning():
    noise = np.random.default_rng(1).choice(["a", "b"], size=300)
    with pytest.warns(ConvergenceWarning, match=r"None of 20 random planes had a training error of 0\.333 or less"):
        model = RandomSeparatorClassifier(1.0, max_tries=20, random_state=0).fit(X, noise)
    assert model.n_tries_ == 20
    assert 0.333 < model.error_ < 0.5


def test_automatic_tries_leave_a_chance_of_one_in_a_thousand():
    for gamma in (0.05, 0.3, 1.0):
        per_try = gamma * (1 / np.pi - 1 / 6)
        assert np.exp(-per_try * tries_enough(gamma)) <= 1e-3 < np.exp(-per_try * (tries_enough(gamma) - 1))


def test_boosted_planes_tell_tumours():
    table, y = load_breast_cancer(return_X_y=True)
    boosted = AdaBoostClassifier(RandomSeparatorClassifier(0.1), n_estimators=60, random_state=0)
    model = make_pipeline(StandardScaler(), boosted).fit(table[::2], y[::2])
    assert model.score(table[1::2], y[1::2]) > 0.92


def test_probabilities_are_the_share_of_right_answers():
    model = RandomSeparatorClassifier(0.3, random_state=0).fit(X, Y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities.max(axis=1), 1 - model.error_)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))


def test_sparse_float32_and_frames_are_taken():
    expected = RandomSeparatorClassifier(0.3, random_state=0).fit(X, Y)
    for form in (sparse.csr_array(X), sparse.csc_matrix(X), X.astype(np.float32), pd.DataFrame(X)):
        model = RandomSeparatorClassifier(0.3, random_state=0).fit(form, Y)
        np.testing.assert_allclose(model.coef_, expected.coef_)
        np.testing.assert_array_equal(model.predict(form), expected.predict(X))


def test_three_classes_and_one_class_are_told():
    with pytest.raises(ValueError, match=r"y has 3 classes\. Use sklearn\.multiclass\.OneVsRestClassifier"):
        RandomSeparatorClassifier().fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="one class only"):
        RandomSeparatorClassifier().fit(X, np.zeros(300))


def test_columns_far_from_the_origin_are_told():
    with pytest.warns(UserWarning, match=r"All rows lie on one side of the plane.*StandardScaler"):
        RandomSeparatorClassifier(random_state=0).fit(X + 1e6, Y)
