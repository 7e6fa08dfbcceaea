"""Maps of counts and optimal scoring: special cases, peers, shapes of tables, bad input, the biplot."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, sparse, stats
from sklearn.datasets import load_iris, load_wine, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVR

from fewer.extract import (
    CanonicalCorrespondenceAnalysis,
    CorrespondenceAnalysis,
    GaussianResponseModel,
    OptimalScoringLDA,
    cooccurrence_to_labeled,
    plot_biplot,
)

COUNTS = np.random.default_rng(0).poisson(3 + 4 * np.eye(4).repeat(5, axis=0)[:, [0, 1, 2, 3, 0]])
NAMES = ["tea", "coffee", "milk", "juice", "water"]


def described(seed=0, n_rows=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, rng.poisson(np.exp(0.5 + X @ rng.normal(size=(3, 5)) * 0.6))


def quiet(fit, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(*data, **options)


@pytest.mark.parametrize("scaling", ["row", "column", "symmetric"])
def test_scores_are_each_others_averages_and_rebuild_the_table(scaling):
    model = CorrespondenceAnalysis(None, scaling=scaling).fit(COUNTS)
    np.testing.assert_allclose(model.transform(COUNTS), model.row_scores_, atol=1e-10)
    strength = np.sqrt(model.eigenvalues_)
    # Whatever the scaling, rows times columns give the departures from independence.
    excess = COUNTS * COUNTS.sum() / np.outer(COUNTS.sum(axis=1), COUNTS.sum(axis=0)) - 1
    np.testing.assert_allclose(model.row_scores_ @ model.column_scores_.T, excess, atol=1e-10)
    variances = model.row_masses_ @ model.row_scores_**2
    power = {"row": 2, "column": 0, "symmetric": 1}[scaling]
    np.testing.assert_allclose(variances, strength**power, rtol=1e-8)


def test_inertia_adds_up_to_chi_square():
    model = CorrespondenceAnalysis(2).fit(COUNTS)
    chi_square = stats.chi2_contingency(COUNTS).statistic
    assert model.total_inertia_ * COUNTS.sum() == pytest.approx(chi_square)
    everything = CorrespondenceAnalysis(None).fit(COUNTS)
    assert everything.explained_inertia_ratio_.sum() == pytest.approx(1)
    np.testing.assert_allclose(everything.row_scores_[:, :2], model.row_scores_, atol=1e-8)


def test_a_hand_made_table_has_its_known_axis():
    # Two groups that share nothing: the only axis separates them perfectly.
    model = CorrespondenceAnalysis().fit(np.kron(np.eye(2), [[3, 1], [1, 3]]))
    assert model.eigenvalues_[0] == pytest.approx(1)
    assert len(set(np.sign(model.row_scores_[:, 0]).tolist())) == 2


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_sparse_counts_are_dense_ones(form):
    rng = np.random.default_rng(1)
    for shape in ((30, 8), (8, 30), (400, 300)):
        counts = rng.poisson(0.6, size=shape)
        counts[:, 0] += 1
        counts[0] += 1
        dense = CorrespondenceAnalysis(3).fit(counts)
        stored = CorrespondenceAnalysis(3).fit(form(counts.astype(float)))
        np.testing.assert_allclose(stored.eigenvalues_, dense.eigenvalues_, rtol=1e-8)
        np.testing.assert_allclose(np.abs(stored.row_scores_), np.abs(dense.row_scores_), atol=1e-6)
        assert stored.total_inertia_ == pytest.approx(dense.total_inertia_, rel=1e-8)


def test_a_short_reciprocal_averaging_is_told():
    with pytest.warns(ConvergenceWarning, match="Round 2 still changed an axis"):
        CorrespondenceAnalysis(solver="power", max_iter=2).fit(COUNTS)
    with pytest.warns(ConvergenceWarning, match="use solver='eig'"):
        CanonicalCorrespondenceAnalysis(solver="iterative", max_iter=2).fit(*described())


def test_empty_rows_and_columns_have_no_scores_and_new_ones_are_in_the_middle():
    counts = COUNTS.astype(float)
    counts[2], counts[:, 3] = 0, 0
    with pytest.warns(UserWarning, match="1 rows and 1 columns hold no counts"):
        model = CorrespondenceAnalysis().fit(counts)
    assert np.flatnonzero(np.isnan(model.row_scores_[:, 0])).tolist() == [2]
    assert np.flatnonzero(np.isnan(model.column_scores_[:, 0])).tolist() == [3]
    rest = CorrespondenceAnalysis().fit(np.delete(np.delete(counts, 2, axis=0), 3, axis=1))
    np.testing.assert_allclose(np.delete(model.row_scores_, 2, axis=0), rest.row_scores_, atol=1e-10)
    with pytest.warns(UserWarning, match="2 rows held no counts .* transform gives 0, the middle"):
        new = model.transform([[0, 0, 0, 0, 0], [0, 0, 0, 7, 0], [1, 2, 3, 0, 4], [1, 2, 3, 9, 4]])
    np.testing.assert_allclose(new[:2], 0)
    np.testing.assert_allclose(new[2], new[3], err_msg="a column that training did not know says nothing")


def test_tables_without_axes_are_told():
    with pytest.raises(ValueError, match="same profile"):
        CorrespondenceAnalysis().fit(np.outer([1, 2, 3], [4, 5, 6]))
    with pytest.raises(ValueError, match="two or more of each are needed"):
        quiet(CorrespondenceAnalysis().fit, [[1, 2], [0, 0]])
    with pytest.raises(ValueError, match="in column 'coffee'"):
        CorrespondenceAnalysis().fit(pd.DataFrame(COUNTS - 2.0 * (np.arange(5) == 1) * COUNTS, columns=NAMES))


def test_more_axes_than_there_are():
    with pytest.warns(UserWarning, match="n_components=9 are asked for, and there are 4"):
        assert CorrespondenceAnalysis(9).fit(COUNTS).n_components_ == 4
    # Three kinds of columns, five columns: two axes.
    with pytest.warns(UserWarning, match="along 2 axes the table departs"):
        assert CorrespondenceAnalysis(4).fit(COUNTS[:, [0, 1, 2, 0, 1]]).n_components_ == 2
    with pytest.warns(UserWarning, match="n_components=9 are asked for, and there are 3"):
        CanonicalCorrespondenceAnalysis(9).fit(*described())


@pytest.mark.parametrize("model", [CorrespondenceAnalysis(), GaussianResponseModel()])
def test_float32_and_frames(model):
    quiet(model.fit, COUNTS.astype(np.float32))
    assert model.row_scores_.dtype == model.transform(COUNTS.astype(np.float32)).dtype == np.float32
    framed = quiet(model.fit, pd.DataFrame(COUNTS, columns=NAMES))
    assert list(framed.feature_names_in_) == NAMES
    assert framed.get_feature_names_out()[0] == f"{type(model).__name__.lower()}0"


def test_labels_are_counts_of_one():
    X, y = load_wine(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    by_labels = CanonicalCorrespondenceAnalysis().fit(X, labels)
    by_counts = CanonicalCorrespondenceAnalysis().fit(X, pd.get_dummies(labels).astype(float))
    by_stored = CanonicalCorrespondenceAnalysis().fit(X, sparse.csr_array(np.eye(3)[y]))
    for other in (by_counts, by_stored):
        np.testing.assert_allclose(by_labels.axes_, other.axes_, rtol=1e-8)
    assert by_counts.classes_.tolist() == by_labels.classes_.tolist() == ["a", "b", "c"]
    assert by_stored.classes_.tolist() == [0, 1, 2]
    with pytest.warns(DataConversionWarning):
        column = CanonicalCorrespondenceAnalysis().fit(X, labels[:, None])
    np.testing.assert_allclose(column.axes_, by_labels.axes_)


def test_probabilities_are_those_of_lda():
    X, y = load_wine(return_X_y=True)
    ours = CanonicalCorrespondenceAnalysis().fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    assert ours.score(X, y) == theirs.score(X, y)
    few = CanonicalCorrespondenceAnalysis(1).fit(X, y)
    np.testing.assert_allclose(few.transform(X)[:, 0], ours.transform(X)[:, 0], rtol=1e-8)
    assert few.score(X, y) < ours.score(X, y)


def test_the_score_of_counts_is_that_of_occurrences():
    X, Y = described()
    model = CanonicalCorrespondenceAnalysis().fit(X, Y)
    rows, labels = cooccurrence_to_labeled(Y, X)
    by_hand = np.mean(model.predict(rows) == labels)
    assert model.score(X, Y) == pytest.approx(by_hand)
    assert model.score(X, sparse.csr_array(Y)) == pytest.approx(by_hand)
    doubled = model.score(np.vstack([X, X[:5]]), np.vstack([Y, Y[:5]]))
    assert model.score(X, Y, sample_weight=np.where(np.arange(len(X)) < 5, 2, 1)) == pytest.approx(doubled)
    with pytest.raises(ValueError, match=r"y has shape .* or one label for each row"):
        model.score(X, Y[:, :2])


def test_probabilities_follow_counts_where_columns_say_nothing():
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(400, 2)), rng.poisson([1.0, 3.0, 6.0], size=(400, 3))
    found = CanonicalCorrespondenceAnalysis().fit(X, counts).predict_proba(X).mean(axis=0)
    np.testing.assert_allclose(found, counts.sum(axis=0) / counts.sum(), atol=0.02)


def test_arrows_are_weighted_correlations():
    X, counts = described()
    model = CanonicalCorrespondenceAnalysis().fit(X, counts)
    rows = np.repeat(np.arange(len(X)), counts.sum(axis=1))
    expected = np.corrcoef(X[rows].T, model.row_scores_[rows].T)[:3, 3:]
    np.testing.assert_allclose(model.biplot_scores_, expected, atol=1e-10)
    np.testing.assert_allclose(model.row_scores_[rows].var(axis=0), 1, rtol=1e-10)


def test_copied_and_constant_columns_and_units_change_no_scores():
    X, counts = described()
    plain = CanonicalCorrespondenceAnalysis().fit(X, counts)
    changed = np.column_stack([X * [1e-4, 1, 1e4] + 7, X[:, 0], np.full(len(X), 3.0)])
    found = CanonicalCorrespondenceAnalysis().fit(changed, counts)
    np.testing.assert_allclose(np.abs(found.row_scores_), np.abs(plain.row_scores_), atol=1e-6)


def test_ridge_is_that_of_the_closed_form():
    X, counts = described()
    model = CanonicalCorrespondenceAnalysis(alpha=5.0).fit(X, counts)
    totals, classes = counts.sum(axis=1), counts.sum(axis=0)
    centred = X - totals @ X / totals.sum()
    squares = (centred.T * totals) @ centred + 5 * np.eye(3)
    products = counts.T @ centred
    values, vectors = linalg.eigh((products.T / classes) @ products, squares)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], rtol=1e-8)
    cosines = np.abs(np.sum(model.axes_ * vectors[:, ::-1], axis=0))
    np.testing.assert_allclose(cosines / np.linalg.norm(model.axes_, axis=0) / np.linalg.norm(vectors, axis=0)[::-1], 1)


def test_more_columns_than_rows_are_told_unless_there_is_a_ridge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3000))
    counts = rng.poisson(2.0, size=(20, 4)) + 1
    with pytest.warns(UserWarning, match="20 rows in 19 dimensions"):
        model = CanonicalCorrespondenceAnalysis().fit(X, counts)
    np.testing.assert_allclose(model.eigenvalues_, CorrespondenceAnalysis(None).fit(counts).eigenvalues_, rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CanonicalCorrespondenceAnalysis(alpha=100.0).fit(sparse.csr_array(X), counts)


def test_bad_counts_of_described_rows():
    X, counts = described()
    with pytest.raises(ValueError, match="all counts are in one column"):
        CanonicalCorrespondenceAnalysis().fit(X, counts * [1, 0, 0, 0, 0])
    counts[:, 2] = 0
    with pytest.warns(UserWarning, match="0 rows and 1 columns of y hold no counts"):
        model = CanonicalCorrespondenceAnalysis().fit(X, counts)
    assert np.isnan(model.column_scores_[2]).all()
    np.testing.assert_allclose(model.predict_proba(X)[:, 2], 0)


def test_occurrences_one_by_one_and_weighted():
    Y = pd.DataFrame([[2, 0, 1], [0, 3, 0]], columns=["a", "b", "c"])
    X, y = cooccurrence_to_labeled(Y, [[1.0], [2.0]])
    assert X.ravel().tolist() == [1, 1, 1, 2, 2, 2]
    assert y.tolist() == ["a", "a", "c", "b", "b", "b"]
    X, y, weights = cooccurrence_to_labeled(Y, [[1.0], [2.0]], return_weights=True)
    assert X.ravel().tolist() == [1, 1, 1, 2, 2, 2]
    assert weights.tolist() == [2, 0, 1, 0, 3, 0]
    with pytest.raises(ValueError, match="set return_weights=True"):
        cooccurrence_to_labeled([[0.5, 1]], [[1.0]])
    with pytest.raises(ValueError, match="Negative values"):
        cooccurrence_to_labeled([[-1, 1]], [[1.0]])


@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_least_squares_gives_the_whole_of_lda(data):
    X, y = data(return_X_y=True)
    ours, theirs = OptimalScoringLDA().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    apart = ours.transform(X) - ours.class_means_[np.unique(y, return_inverse=True)[1]]
    np.testing.assert_allclose(apart.T @ apart / len(X), np.eye(2), atol=1e-8)


def test_own_regressors_and_penalties_say_the_same():
    X, y = load_wine(return_X_y=True)
    X = stats.zscore(X)
    plain = OptimalScoringLDA().fit(X, y)
    own = OptimalScoringLDA(estimator=LinearRegression()).fit(X, y)
    np.testing.assert_allclose(np.abs(own.transform(X)), np.abs(plain.transform(X)), atol=1e-8)
    np.testing.assert_allclose(np.abs(own.components_), np.abs(plain.components_), atol=1e-8)
    ridge = OptimalScoringLDA(estimator=Ridge(20.0)).fit(X, y)
    for penalty in (20.0, np.full(13, 20.0), 20.0 * np.eye(13)):
        same = OptimalScoringLDA(penalty=penalty).fit(X, y)
        np.testing.assert_allclose(np.abs(same.transform(X)), np.abs(ridge.transform(X)), atol=1e-8)
        np.testing.assert_allclose(same.eigenvalues_, ridge.eigenvalues_, rtol=1e-8)
        assert same.eigenvalues_[0] < plain.eigenvalues_[0]


def test_a_penalty_on_differences_makes_directions_smooth():
    rng = np.random.default_rng(0)
    time = np.linspace(0, 1, 60)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 60)) + np.where(y[:, None] == 1, 0.5, 0) * np.sin(np.pi * time)
    differences = np.diff(np.eye(60), n=2, axis=0)
    smooth = OptimalScoringLDA(penalty=1e6 * differences.T @ differences + 1e-3 * np.eye(60)).fit(X, y)
    rough = OptimalScoringLDA(penalty=1.0).fit(X, y)

    def roughness(model):
        direction = model.components_[0] / np.linalg.norm(model.components_[0])
        return np.sum((differences @ direction) ** 2)

    assert roughness(smooth) < 1e-3 * roughness(rough)
    assert np.corrcoef(smooth.components_[0], np.sin(np.pi * time))[0, 1] > 0.95


def test_transformed_columns_see_a_ring():
    X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    names = np.array(["ring", "disc"])[y]
    model = OptimalScoringLDA(estimator=make_pipeline(PolynomialFeatures(2), Ridge())).fit(X, names)
    assert model.score(X, names) > 0.95
    assert OptimalScoringLDA().fit(X, names).score(X, names) < 0.65
    with pytest.raises(AttributeError):
        _ = model.components_


def test_a_perfect_fit_is_told():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 50)), np.repeat(["a", "b"], 10)
    with pytest.warns(UserWarning, match="fits the classes exactly along 1 directions"):
        model = OptimalScoringLDA().fit(X, y)
    assert model.score(X, y) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparse_model = OptimalScoringLDA(penalty=10.0).fit(sparse.csr_array(X), y)
    dense_model = OptimalScoringLDA(penalty=10.0).fit(X, y)
    np.testing.assert_allclose(sparse_model.transform(sparse.csr_array(X)), dense_model.transform(X), atol=1e-8)


def test_classes_with_one_mean_have_the_priors_as_probabilities():
    X = np.array([[1.0, 2], [3, 4], [1, 2], [3, 4], [1, 2], [3, 4]])
    found = OptimalScoringLDA().fit(X, [0, 0, 1, 1, 1, 1]).predict_proba(X)
    np.testing.assert_allclose(found, np.tile([1 / 3, 2 / 3], (6, 1)), rtol=1e-6)


def test_optimal_scoring_refuses_what_does_not_fit():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="not both"):
        OptimalScoringLDA(estimator=Ridge(), penalty=1.0).fit(X, y)
    for classifier in (LogisticRegression(), RidgeClassifier()):
        with pytest.raises(ValueError, match="predicts classes, and numbers are needed"):
            OptimalScoringLDA(estimator=classifier).fit(X, y)
    with pytest.raises(ValueError, match=r"3 targets at once.*MultiOutputRegressor\(LinearSVR\(\)\)"):
        OptimalScoringLDA(estimator=LinearSVR()).fit(X, y)
    with pytest.raises(ValueError, match="penalty has shape"):
        OptimalScoringLDA(penalty=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        OptimalScoringLDA().fit(X, np.zeros(150, dtype=int))
    with pytest.warns(UserWarning, match="n_components=5 are asked for, and there are 2"):
        assert OptimalScoringLDA(5).fit(X, y).n_components_ == 2
    assert OptimalScoringLDA(1).fit(X[:, :1], y).n_components_ == 1


def responses(seed=0, n_rows=80, spread=None):
    rng = np.random.default_rng(seed)
    places, optima = rng.uniform(-2, 2, n_rows), np.linspace(-2, 2, 8)
    tolerances = np.ones(8) if spread is None else spread
    means = np.exp(2.5 - (places[:, None] - optima) ** 2 / (2 * tolerances**2))
    return places, optima, means, rng


def test_the_likelihood_has_no_slope_where_the_fit_ends():
    from fewer.extract.correspondence._gaussian_response import Response, gradient

    _, _, means, rng = responses()
    counts = rng.poisson(means).astype(float)
    model = GaussianResponseModel(equal_tolerance=False).fit(counts)
    fitted = Response(model.heights_, model.row_scores_, model.column_scores_, np.log(model.tolerances_))
    slopes = gradient(counts, fitted)
    assert max(np.abs(each).max() for each in slopes[:4]) < 1e-4 * counts.sum()
    np.testing.assert_allclose(model.row_scores_.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(np.log(model.tolerances_).mean(), 0, atol=1e-8)
    np.testing.assert_allclose(model.transform(counts), model.row_scores_, atol=1e-5)


def test_optima_and_tolerances_are_recovered():
    spread = np.array([0.6, 0.8, 1.0, 1.2, 1.4, 1.0, 0.8, 0.7])
    places, optima, means, rng = responses(n_rows=600, spread=spread)
    counts = rng.poisson(means)
    model = GaussianResponseModel(equal_tolerance=False).fit(counts)
    unit = np.exp(np.log(spread).mean())
    sign = np.sign(np.corrcoef(model.column_scores_[:, 0], optima)[0, 1])
    inner = slice(1, 7)
    centred = (optima - places.mean()) / unit
    np.testing.assert_allclose(sign * model.column_scores_[inner, 0], centred[inner], atol=0.15)
    np.testing.assert_allclose(model.tolerances_[inner], (spread / unit)[inner], atol=0.15)
    equal = GaussianResponseModel().fit(counts)
    assert equal.log_likelihood_ < model.log_likelihood_
    np.testing.assert_allclose(equal.tolerances_, 1)


def test_unequal_effort_needs_row_effects():
    places, _, means, rng = responses(n_rows=120)
    counts = rng.poisson(means * rng.choice([0.2, 1, 5], size=120)[:, None])
    filled = counts.sum(axis=1) > 0

    def rank(model):
        return abs(stats.spearmanr(quiet(model.fit, counts[filled]).row_scores_[:, 0], places[filled]).statistic)

    assert rank(GaussianResponseModel(row_effects=True)) > 0.95
    assert rank(GaussianResponseModel(row_effects=True)) > rank(GaussianResponseModel())


def test_covariates_place_rows_without_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) + 5
    places = (X - 5) @ [1.0, -0.5, 0.0]
    counts = rng.poisson(np.exp(2 - (places[:, None] - np.linspace(-2, 2, 7)) ** 2 / 2))
    model = GaussianResponseModel().fit(counts, covariates=X)
    direction = model.coef_[:, 0] / np.linalg.norm(model.coef_[:, 0])
    assert abs(direction @ [1.0, -0.5, 0.0]) / np.sqrt(1.25) > 0.99
    np.testing.assert_allclose(model.scores_from(X), model.row_scores_, atol=1e-8)
    free = GaussianResponseModel().fit(counts)
    assert free.log_likelihood_ >= model.log_likelihood_
    assert model.log_likelihood_ >= model.initial_log_likelihood_
    with pytest.raises(ValueError, match="fitted without covariates"):
        free.scores_from(X)


def test_two_dimensions_of_a_gradient():
    rng = np.random.default_rng(0)
    places, optima = rng.uniform(-2, 2, (150, 2)) * [1.5, 1], rng.uniform(-2, 2, (14, 2)) * [1.5, 1]
    counts = rng.poisson(np.exp(2 - np.sum((places[:, None] - optima) ** 2, axis=2) / 2)) + (np.arange(14) == 0)
    model = quiet(GaussianResponseModel(2).fit, counts)
    assert model.row_scores_[:, 0].var() >= model.row_scores_[:, 1].var()
    # Axes are free to turn: the plane as a whole is that of the truth.
    truth = places - places.mean(axis=0)
    fitted = model.row_scores_ @ linalg.lstsq(model.row_scores_, truth)[0]
    assert np.corrcoef(fitted.ravel(), truth.ravel())[0, 1] > 0.95


def test_a_short_search_is_told():
    _, _, means, rng = responses()
    with pytest.warns(ConvergenceWarning, match="After 3 steps"):
        GaussianResponseModel(max_iter=3).fit(rng.poisson(means))


def test_rows_without_counts_are_in_the_middle_of_the_gradient():
    _, _, means, rng = responses()
    counts = rng.poisson(means)
    model = GaussianResponseModel().fit(counts)
    with pytest.warns(UserWarning, match="row 0 held no counts"):
        np.testing.assert_allclose(model.transform(np.zeros((1, 8))), 0)
    thin = GaussianResponseModel().fit(sparse.csr_array(counts))
    np.testing.assert_allclose(thin.transform(sparse.csr_array(counts)), model.transform(counts), atol=1e-8)
    with pytest.raises(ValueError, match="10,000 x 10,000 cells, which are too many to hold"):
        GaussianResponseModel().fit(sparse.eye_array(10_000, format="csr"))


def test_biplot_shows_rows_columns_and_arrows():
    frame = pd.DataFrame(COUNTS, columns=NAMES)
    model = CorrespondenceAnalysis().fit(frame)
    groups = np.repeat(["p", "q"], 10)
    figure = plot_biplot(model, y=groups, row_names=[f"r{i}" for i in range(20)])
    assert [trace.name for trace in figure.data] == ["p", "q", "columns"]
    np.testing.assert_allclose(figure.data[0].x, model.row_scores_[:10, 0])
    shown = dict(zip(figure.data[2].text, figure.data[2].x, strict=True))
    np.testing.assert_allclose([shown[name] for name in NAMES], model.column_scores_[:, 0])
    assert "% of the inertia" in figure.layout.xaxis.title.text
    X, counts = described()
    arrows = plot_biplot(CanonicalCorrespondenceAnalysis().fit(pd.DataFrame(X, columns=list("uvw")), counts))
    assert [note.text for note in arrows.layout.annotations if note.text] == ["u", "v", "w"]
    assert len(plot_biplot(model, n_columns=2).data[-1].x) == 2


def test_biplot_refuses_what_it_cannot_draw():
    model = CorrespondenceAnalysis(3).fit(COUNTS)
    with pytest.raises(ValueError, match="there are 3, counted from 0"):
        plot_biplot(model, components=(0, 3))
    with pytest.raises(ValueError, match="row_names has 2 entries"):
        plot_biplot(model, row_names=["a", "b"])
    with pytest.raises(ValueError, match="column_names has 1 entries"):
        plot_biplot(model, column_names=["a"])
    with pytest.raises(ValueError, match="A biplot shows two axes"):
        plot_biplot(CorrespondenceAnalysis(1).fit(COUNTS))


def test_covariates_in_the_place_of_y_are_not_passed_over():
    counts = np.random.default_rng(0).poisson(3, size=(12, 4))
    with pytest.raises(ValueError, match=r"did you mean fit\(X, covariates"):
        GaussianResponseModel().fit(counts, np.ones((12, 2)))
