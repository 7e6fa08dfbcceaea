import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_wine, make_circles
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity, linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewer.evaluate import NestedSelectionCV
from fewer.extract import LandmarkFeatures, landmark_dim, margin_dim
from fewer.select import SelectTop
from tolerances import rounding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 6))
NEW = RNG.normal(size=(20, 6))
RBF = {"gamma": 0.1}


def shared_letters(first, second):
    return len(set(first) & set(second)) / len(set(first) | set(second))


def test_the_first_mapping_is_the_kernel_with_rows_of_the_table():
    model = LandmarkFeatures(n_landmarks=7, kernel_params=RBF, random_state=0).fit(X)
    np.testing.assert_array_equal(model.landmarks_, X[model.landmark_rows_])
    assert len(set(model.landmark_rows_)) == 7
    np.testing.assert_allclose(model.transform(NEW), rbf_kernel(NEW, model.landmarks_, gamma=0.1))
    assert model.whitening_ is model.projection_ is model.kernel_matrix_rank_ is None


def test_the_second_mapping_has_the_products_of_nystroem():
    model = LandmarkFeatures(n_landmarks=15, method="F2", kernel_params=RBF, random_state=0).fit(X)
    peer = Nystroem(n_components=15, gamma=0.1).fit(model.landmarks_)
    ours, theirs = model.transform(NEW), peer.transform(NEW)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-10)
    assert model.kernel_matrix_rank_ == 15


def test_the_second_mapping_is_a_cholesky_factor_turned():
    model = LandmarkFeatures(n_landmarks=15, method="F2", kernel_params=RBF, random_state=0).fit(X)
    M = rbf_kernel(model.landmarks_, gamma=0.1)
    by_cholesky = np.linalg.solve(np.linalg.cholesky(M), rbf_kernel(model.landmarks_, NEW, gamma=0.1)).T
    ours = model.transform(NEW)
    np.testing.assert_allclose(ours @ ours.T, by_cholesky @ by_cholesky.T, atol=1e-10)


def test_the_third_mapping_keeps_products_of_the_second_on_average():
    settings = {"n_landmarks": 60, "kernel_params": RBF, "random_state": 0}
    full = LandmarkFeatures(method="F2", **settings).fit(X).transform(X)
    model = LandmarkFeatures(method="F3", n_components=30, **settings).fit(X)
    assert model.projection_.shape == (60, 30)
    np.testing.assert_allclose(model.transform(X), full @ model.projection_, atol=1e-10)
    lengths = np.sum(model.transform(X) ** 2, axis=1) / np.sum(full**2, axis=1)
    assert lengths.mean() == pytest.approx(1, abs=4 * np.sqrt(2 / 30))


@pytest.mark.parametrize("mapping", ["F1", "F2"])
def test_the_first_columns_are_those_of_a_smaller_fit(mapping):
    large = LandmarkFeatures(method=mapping, n_landmarks=30, random_state=0).fit(X)
    small = LandmarkFeatures(method=mapping, n_landmarks=30, n_components=4, random_state=0).fit(X)
    assert large._nested
    np.testing.assert_allclose(small.transform(NEW), large.transform(NEW)[:, :4])


def test_the_first_columns_of_the_second_mapping_vary_most():
    columns = LandmarkFeatures(method="F2", random_state=0).fit_transform(X)
    assert (np.diff(np.sum(columns**2, axis=0)) <= 1e-10).all()


@pytest.mark.parametrize("mapping", ["F1", "F2", "F3"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_table_in_blocks_gives_what_the_whole_table_gives(mapping, form):
    settings = {"n_landmarks": 12, "method": mapping, "n_components": 5, "random_state": 0}
    whole = LandmarkFeatures(**settings).fit(form(X))
    blocks = LandmarkFeatures(**settings)
    for start in (0, 9, 40):
        blocks.partial_fit(form(X)[start : {0: 9, 9: 40, 40: 80}[start]])
    np.testing.assert_array_equal(blocks.landmark_rows_, whole.landmark_rows_)
    # Twelve landmarks give the whitening; the kernel is at most 1.
    condition = np.linalg.cond(rbf_kernel(whole.landmarks_))
    tolerance = rounding(12, condition=condition)
    np.testing.assert_allclose(blocks.transform(form(NEW)), whole.transform(form(NEW)), rtol=0, atol=tolerance)


def test_every_row_is_as_likely_a_landmark():
    counts = np.zeros(20)
    for seed in range(200):
        model = LandmarkFeatures(n_landmarks=5, random_state=seed)
        for block in np.array_split(X[:20], 3):
            model.partial_fit(block)
        counts[model.landmark_rows_] += 1
    assert np.abs(counts - 50).max() < 4 * np.sqrt(200 * 0.25 * 0.75)


@pytest.mark.parametrize(
    ("kernel", "function"),
    [("linear", linear_kernel), ("poly", polynomial_kernel), ("sigmoid", sigmoid_kernel), ("rbf", rbf_kernel)],
)
def test_a_normalised_kernel_is_one_with_itself(kernel, function):
    params = {} if kernel == "linear" else {"gamma": 0.3}
    model = LandmarkFeatures(kernel, n_landmarks=9, normalize_kernel=True, kernel_params=params, random_state=0).fit(X)
    lengths = [np.sqrt(np.diag(function(rows, **params))) for rows in (NEW, model.landmarks_)]
    expected = function(NEW, model.landmarks_, **params) / np.outer(*lengths)
    # Products of rows of six columns; the power 3, or the exponential, magnifies their relative error by as much.
    condition = max(3, 0.3 * np.sum(np.vstack([X, NEW]) ** 2, axis=1).max())
    np.testing.assert_allclose(model.transform(NEW), expected, rtol=0, atol=rounding(6, condition=condition))
    np.testing.assert_allclose(np.diag(model.transform(model.landmarks_)), 1)


def test_normalising_the_linear_kernel_gives_cosines():
    ours = LandmarkFeatures("linear", n_landmarks=9, normalize_kernel=True, random_state=0).fit(X)
    np.testing.assert_allclose(ours.transform(NEW), cosine_similarity(NEW, ours.landmarks_))
    cosines = LandmarkFeatures("cosine", n_landmarks=9, normalize_kernel=True, random_state=0).fit(X)
    np.testing.assert_allclose(cosines.transform(NEW), ours.transform(NEW))


def test_a_row_without_length_cannot_be_normalised():
    spoilt = X.copy()
    spoilt[3] = 0
    with pytest.raises(ValueError, match=r"kernel of row 3 with itself is 0.*Leave such rows out \(1 in all\)"):
        LandmarkFeatures("linear", n_landmarks=80, normalize_kernel=True).fit(spoilt)
    model = LandmarkFeatures("linear", n_landmarks=5, normalize_kernel=True, random_state=0).fit(X)
    with pytest.raises(ValueError, match="kernel of row 3 with itself is 0"):
        model.transform(spoilt)


def test_objects_of_any_kind_are_compared_by_a_function():
    words = ["sand", "hand", "land", "grey", "obey", "they", "tree", "free"]
    model = LandmarkFeatures(shared_letters, n_landmarks=8, random_state=0).fit(words)
    expected = [[shared_letters(word, landmark) for landmark in model.landmarks_] for word in ("band", "knee")]
    np.testing.assert_allclose(model.transform(["band", "knee"]), expected)
    assert sorted(model.landmarks_) == sorted(words)
    again = LandmarkFeatures(shared_letters, n_landmarks=8, random_state=0).fit(np.array(words, dtype=object))
    assert again.landmarks_ == model.landmarks_
    assert len(LandmarkFeatures(shared_letters, n_landmarks=2).fit([list(word) for word in words]).landmarks_) == 2
    blocks = LandmarkFeatures(shared_letters, n_landmarks=3, random_state=0).partial_fit(words[:4])
    assert blocks.partial_fit(words[4:]).landmarks_ == model.landmarks_[:3]


def test_a_function_of_two_rows_is_that_kernel():
    def product(x, y):
        return float(x @ y)

    by_name = LandmarkFeatures("linear", n_landmarks=9, random_state=0).fit(X).transform(NEW)
    np.testing.assert_allclose(LandmarkFeatures(product, n_landmarks=9, random_state=0).fit(X).transform(NEW), by_name)


@pytest.mark.parametrize("kernel", [lambda x, y: np.nan, lambda x, y: "no", lambda x, y: [1.0, 2.0]])
def test_a_function_that_gives_no_number_is_told_so(kernel):
    with pytest.raises(ValueError, match="kernel must give a finite number for any two rows"):
        LandmarkFeatures(kernel, n_landmarks=3).fit(X).transform(NEW)


def test_duplicates_and_constant_columns_cost_rank_and_no_more():
    twice = np.column_stack([np.repeat(X[:10], 4, axis=0), np.ones(40)])
    model = LandmarkFeatures(n_landmarks=40, method="F2", random_state=0).fit(twice)
    assert model.kernel_matrix_rank_ == 10
    columns = model.transform(twice)
    np.testing.assert_allclose(columns @ columns.T, rbf_kernel(twice, **model.kernel_params_), atol=1e-8)


def test_a_likeness_that_is_no_kernel_loses_its_negative_part_with_a_warning():
    with pytest.warns(UserWarning, match='eigenvalues of the landmarks\' matrix are negative.*method="F1"'):
        model = LandmarkFeatures("sigmoid", n_landmarks=30, method="F2", random_state=0).fit(X)
    assert model.kernel_matrix_rank_ < 30
    assert LandmarkFeatures("sigmoid", n_landmarks=30, random_state=0).fit_transform(X).shape == (80, 30)


def test_a_likeness_that_depends_on_the_order_is_for_the_first_mapping():
    def contained(first, second):
        return len(set(first) & set(second)) / len(set(first))

    words = ["sand", "and", "land", "tree"]
    with pytest.raises(ValueError, match=r'not that of y to x.*method="F1"'):
        LandmarkFeatures(contained, n_landmarks=4, method="F2").fit(words)
    assert LandmarkFeatures(contained, n_landmarks=4).fit_transform(words).shape == (4, 4)


def test_a_kernel_of_zeros_is_told():
    with pytest.raises(ValueError, match="no positive similarity"):
        LandmarkFeatures("linear", method="F2").fit(np.zeros((5, 2)))


def test_automatic_sizes_follow_from_the_margin():
    rows = RNG.normal(size=(2000, 3))
    model = LandmarkFeatures(gamma=0.5, eps=0.2, random_state=0).fit(rows)
    assert model.n_components_ == landmark_dim(0.5, 0.2) == 280
    thin = LandmarkFeatures(method="F3", gamma=0.9, eps=0.2, rcond=0, random_state=0).fit(rows)
    assert len(thin.landmark_rows_) == landmark_dim(0.9, 0.1, 0.025)
    assert thin.n_components_ == margin_dim(0.9, 0.2) < thin.kernel_matrix_rank_
    assert len(LandmarkFeatures().fit(rows).landmark_rows_) == 100
    assert len(LandmarkFeatures(n_components=150).fit(rows).landmark_rows_) == 150


def test_more_than_there_is_is_told():
    with pytest.warns(UserWarning, match="margin gamma=0.1 asks for, and there are 80 rows; all of them are taken"):
        LandmarkFeatures(gamma=0.1).fit(X)
    with pytest.warns(UserWarning, match="500 landmarks are asked for, and there are 80 rows"):
        LandmarkFeatures(n_landmarks=500).fit(X)
    with pytest.warns(UserWarning, match="n_components=30 are asked for, and there are 10, one for each landmark"):
        LandmarkFeatures(n_landmarks=10, n_components=30).fit(X)
    with pytest.warns(UserWarning, match="there are 6, the rank of the landmarks' kernel"):
        LandmarkFeatures("linear", method="F2", n_components=30).fit(X)
    with pytest.warns(UserWarning, match='asks for 471 random directions, and the landmarks span 6.*method="F2"'):
        model = LandmarkFeatures("linear", n_landmarks=50, method="F3", gamma=0.3).fit(X)
    np.testing.assert_array_equal(model.projection_, np.eye(6))
    with pytest.raises(ValueError, match="give their number, or gamma"):
        LandmarkFeatures(method="F3").fit(X)


def test_one_row_one_column_and_no_objects():
    assert LandmarkFeatures(method="F2").fit_transform([[1.0]]).shape == (1, 1)
    with pytest.raises(ValueError, match="no objects"):
        LandmarkFeatures(shared_letters).fit([])


def test_float32_sparse_and_frames_give_the_same():
    model = LandmarkFeatures(n_landmarks=20, method="F2", random_state=0).fit(X)
    expected = model.transform(NEW)
    single = LandmarkFeatures(n_landmarks=20, method="F2", random_state=0).fit(X.astype(np.float32))
    assert single.transform(NEW.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.transform(NEW.astype(np.float32)), expected, atol=1e-3)
    thin = LandmarkFeatures(n_landmarks=20, method="F2", random_state=0).fit(sparse.csc_matrix(X))
    np.testing.assert_allclose(np.abs(thin.transform(sparse.csr_array(NEW))), np.abs(expected), atol=1e-8)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    framed = LandmarkFeatures(n_landmarks=20, method="F2", random_state=0).set_output(transform="pandas").fit(frame)
    assert framed.transform(frame).columns[0] == "landmarkfeatures0"


def test_rings_are_parted_in_a_search_for_the_number_of_columns():
    rings, side = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    model = make_pipeline(StandardScaler(), LandmarkFeatures(method="F2", random_state=0), LogisticRegression())
    assert model.fit(rings[:100], side[:100]).score(rings[100:], side[100:]) == 1


def test_it_works_within_a_learner_under_nested_folds():
    table, wine = load_wine(return_X_y=True)
    learner = make_pipeline(StandardScaler(), LandmarkFeatures(method="F2", random_state=0), LogisticRegression())
    search = NestedSelectionCV(SelectTop("anova"), learner, sizes=[2, 13], cv=3, random_state=0).fit(table, wine)
    assert search.score_ > 0.9


def test_texts_without_a_function_to_compare_them_are_told():
    with pytest.raises(ValueError, match="X is a list of texts, and kernel='rbf' compares rows of numbers"):
        LandmarkFeatures().fit(["some", "words"])


@pytest.mark.parametrize(
    ("kernel", "params", "cure"),
    [
        ("rbf", {"gama": 9.0}, "has 'gama', and the kernel 'rbf' takes gamma"),
        ("linear", {"degree": 9}, "no parameters"),
    ],
)
def test_parameters_that_the_kernel_does_not_have_are_told(kernel, params, cure):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=cure):
        LandmarkFeatures(n_landmarks=5, kernel=kernel, kernel_params=params).fit(X)
