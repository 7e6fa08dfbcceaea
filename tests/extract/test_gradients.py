"""Gradients of a target, and the directions, coordinates and graphs that come from them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from fewer.extract import (
    GradientDiffusionMap,
    GradientGraph,
    GradientLearner,
    GradientOuterProduct,
    plot_loadings,
    plot_projection,
)
from fewer.extract.gradients import _gradient_graph, _pair_problem
from fewer.extract.gradients._gradient_diffusion_map import _nearest_of_each
from tolerances import rounding


def waves(n_rows=120, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2


def classes(n_rows=90, n_columns=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return X, np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]


def closest(first, second):
    """Largest difference, relative to the size."""
    return np.abs(first - second).max() / np.abs(second).max()


def test_the_gradient_of_a_linear_function_is_its_coefficients():
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = GradientLearner(alpha_f=1e-8, alpha_grad=1e-8, max_iter=1000).fit(X, X @ [2.0, 0.0, -1.0] + 7)
    assert np.abs(model.gradient(X[:10] / 2) - [2, 0, -1]).max() < 0.05
    assert np.abs(model.predict(X) - (X @ [2.0, 0.0, -1.0] + 7)).max() < 0.2


def test_without_the_function_the_coefficients_solve_the_older_equations():
    X, y = waves(20, 3)
    model = GradientLearner(joint=False, solver="direct", alpha_grad=1e-3).fit(X, y)
    W = rbf_kernel(X, gamma=0.5 / model.weight_bandwidth_**2)
    K = rbf_kernel(X, gamma=0.5 / model.kernel_bandwidth_**2)
    differences = X[None] - X[:, None]
    B = np.einsum("ij,ijs,ijt->ist", W, differences, differences)
    right = np.einsum("ij,ij,ijs->is", W, y[None] - y[:, None], differences)
    c = model.gradient_coef_
    assert closest(20**2 * 1e-3 * c + np.einsum("ist,it->is", B, K @ c), right) < 1e-10
    assert closest((K + 20 * 1e-4 * np.eye(20)) @ model.dual_coef_, y - y.mean()) < 1e-10


def test_the_logistic_loss_reaches_the_minimum_of_a_general_optimiser():
    X, _ = waves(8, 2)
    y = np.where(X[:, 0] > 0, 1, -1)
    reg = 1e-3
    model = GradientLearner("logistic", alpha_f=reg, alpha_grad=reg, tol=1e-10).fit(X, y)
    W = rbf_kernel(X, gamma=0.5 / model.weight_bandwidth_**2)
    K = rbf_kernel(X, gamma=0.5 / model.kernel_bandwidth_**2)

    def objective(flat):
        theta = flat.reshape(8, 3)
        values = K @ theta
        steps = np.einsum("ip,ijp->ij", values[:, 1:], X[:, None] - X[None])
        loss = np.sum(W * np.logaddexp(0, -y[:, None] * (values[None, :, 0] + steps))) / 8**2
        return loss + reg * np.einsum("ia,ij,ja->", theta, K, theta)

    ours = np.column_stack([model.dual_coef_, model.gradient_coef_]).ravel()
    theirs = optimize.minimize(objective, np.zeros(24), method="BFGS", options={"gtol": 1e-9})
    assert objective(ours) <= theirs.fun + 1e-10
    exact = GradientLearner("logistic", alpha_f=reg, alpha_grad=reg, tol=1e-10, solver="direct").fit(X, y)
    assert closest(model.gradients_, exact.gradients_) < 1e-6


@pytest.mark.parametrize("joint", [True, False])
def test_the_target_s_origin_and_unit_and_the_table_s_rotation_are_respected(joint):
    X, y = waves()
    learner = GradientLearner(joint=joint, tol=1e-10, max_iter=500)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    plain = learner.fit(X, y).gradients_
    assert closest(learner.fit(X + 5, y).gradients_, plain) < 1e-6
    assert closest(learner.fit(X, 3 * y + 1000).gradients_, 3 * plain) < 1e-6
    assert closest(learner.fit(X @ turn, y).gradients_, plain @ turn) < 1e-6


def test_columns_that_add_no_dimension_change_nothing():
    X, y = waves(60, 3)
    learner = GradientLearner(tol=1e-10, max_iter=500)
    plain = learner.fit(X, y).gradients_
    wide = np.hstack([X, np.full((60, 100), 2.5)])
    assert closest(learner.fit(wide, y).gradients_[:, :3], plain) < 1e-6
    assert np.abs(learner.gradients_[:, 3:]).max() < 1e-10


@pytest.mark.parametrize("shape", [(80, 6), (20, 60)])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_tables_give_what_dense_ones_give(shape, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    y = X[:, 0] - X[:, 1]
    learner = GradientLearner(tol=1e-10, max_iter=500)
    plain = learner.fit(X, y).gradient(X)
    assert closest(learner.fit(form(X), y).gradient(form(X)), plain) < 1e-6
    for extractor in (GradientOuterProduct(2), GradientDiffusionMap(2)):
        plain = extractor.fit(X, y).transform(X)
        assert closest(extractor.fit(form(X), y).transform(form(X)), plain) < 1e-4


def test_classes_by_name_are_told_each_against_the_others():
    X, y = classes()
    for loss in ("squared", "logistic"):
        model = GradientLearner(loss).fit(X, y)
        assert model.gradients_.shape == (3, 90, 5)
        assert model.classes_.tolist() == ["high", "low", "middle"]
        assert model.score(X, y) > 0.75
        mean_slopes = model.gradients_.mean(axis=1)[:, 0]
        assert mean_slopes[0] > 0 > mean_slopes[1]
    probabilities = model.predict_proba(X)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X)).all()


def test_two_classes_have_one_function_which_turns_with_their_order():
    X, _ = classes()
    there = X[:, 0] > 0
    up = GradientLearner("logistic").fit(X, np.where(there, "b", "a"))
    down = GradientLearner("logistic").fit(X, np.where(there, "a", "b"))
    assert up.gradients_.shape == (90, 5)
    assert closest(up.gradients_, -down.gradients_) < 1e-8
    assert up.predict_proba(X).shape == (90, 2)


def test_numbers_have_neither_probabilities_nor_decisions():
    X, y = waves()
    model = GradientLearner().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "decision_function")


def test_a_kernel_of_one_s_own_is_used():
    X, y = waves(60, 3)
    plain = GradientLearner(kernel_bandwidth=2.0).fit(X, y)
    own = GradientLearner(kernel=lambda A, B: rbf_kernel(A, B, gamma=1 / 8)).fit(X, y)
    assert closest(own.gradient(X[:5]), plain.gradient(X[:5])) < 1e-6


def test_large_problems_are_solved_by_steps_whatever_is_asked(monkeypatch):
    X, y = waves(60, 3)
    monkeypatch.setattr("fewer.extract.gradients._gradient_learner.MOST_UNKNOWNS", 100)
    assert GradientLearner(solver="direct").fit(X, y).n_iter_ > 2


def test_some_leading_eigenvectors_precondition_as_well(monkeypatch):
    X, y = waves(150, 3)
    plain = GradientLearner().fit(X, y)
    monkeypatch.setattr(_pair_problem, "_ALL_EIGENVECTORS_UP_TO", 100)
    monkeypatch.setattr(_pair_problem, "_LEADING_EIGENVECTORS", 60)
    few = GradientLearner().fit(X, y)
    assert few.n_iter_ <= plain.n_iter_ + 10
    assert closest(few.gradients_, plain.gradients_) < 1e-3


def test_a_fit_that_is_not_finished_says_how_far_it_came():
    X, y = waves()
    with pytest.warns(ConvergenceWarning, match=r"After 2 steps .*e-0\d of the equations is left"):
        GradientLearner(max_iter=2).fit(X, y)


def test_rows_without_neighbours_are_told():
    X, y = waves()
    with pytest.warns(UserWarning, match="have neighbours that count for less than 5 rows"):
        GradientLearner(weight_bandwidth=0.1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GradientLearner().fit(*waves(20, 60))


def test_what_cannot_be_learnt_is_refused():
    X, y = waves()
    with pytest.raises(ValueError, match="All columns are constant"):
        GradientLearner().fit(np.full((5, 2), 0.1), np.arange(5.0))
    with pytest.raises(ValueError, match="joint=False is for loss='squared'"):
        GradientLearner("logistic", joint=False).fit(X, y > 0)
    with pytest.raises(ValueError, match="let loss='squared'"):
        GradientLearner("logistic").fit(X, y)
    with pytest.raises(ValueError, match=r"NaN, in column 'b' \(row 3\)"):
        GradientOuterProduct().fit(pd.DataFrame({"a": y, "b": np.where(np.arange(120) == 3, np.nan, y)}), y)
    with pytest.raises(ValueError, match="The gradient is 0 everywhere: y is constant"):
        GradientOuterProduct().fit(X, np.full(120, 0.5))


def test_a_constant_target_has_no_gradient():
    X, _ = waves()
    model = GradientLearner().fit(X, np.full(120, 0.5))
    assert not model.gradients_.any()
    assert np.allclose(model.predict(X), 0.5)


def test_equal_rows_and_a_single_column_do_no_harm():
    X, y = waves(40, 2)
    X = X[:, :1]
    assert GradientOuterProduct(1).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3)).components_ == 1
    mostly_equal = np.zeros((30, 2))
    mostly_equal[:5] = np.random.default_rng(0).normal(size=(5, 2))
    assert np.isfinite(GradientLearner().fit(mostly_equal, mostly_equal[:, 0]).gradients_).all()


def test_the_outer_product_is_the_mean_over_rows_and_the_sum_over_classes():
    X, y = classes()
    found = GradientOuterProduct(None).fit(X, y)
    assert found.estimator_.loss == "logistic"
    slopes = found.estimator_.gradients_
    expected = np.einsum("kis,kit->st", slopes, slopes) / 90
    assert closest(found.gop_, expected) < 1e-10
    assert closest(found.feature_scores_, np.diag(expected)) < 1e-10
    assert closest(found.eigenvalues_, np.linalg.eigvalsh(expected)[::-1]) < 1e-10
    assert np.allclose(found.components_ @ found.components_.T, np.eye(5))
    assert np.allclose(found.transform(X), (X - X.mean(axis=0)) @ found.components_.T)


def test_fewer_directions_are_the_first_of_more():
    X, y = waves()
    more = GradientOuterProduct(3).fit(X, y)
    assert np.array_equal(GradientOuterProduct(1).fit(X, y).components_, more.components_[:1])
    with pytest.warns(UserWarning, match="n_components=9 are asked for, and there are 4"):
        assert GradientOuterProduct(9).fit(X, y).components_.shape == (4, 4)
    between = np.sqrt(more.eigenvalues_[1] * more.eigenvalues_[2])
    assert GradientOuterProduct(None, epsilon=between).fit(X, y).n_components_ == 2
    with pytest.raises(ValueError, match="No eigenvalue is above epsilon=100"):
        GradientOuterProduct(epsilon=100).fit(X, y)


def test_whole_numbers_are_classes_if_few_and_a_quantity_if_many():
    X, y = waves()
    assert GradientOuterProduct(1).fit(X, (y > 0).astype(int)).estimator_.loss == "logistic"
    assert GradientOuterProduct(1).fit(X, np.argsort(np.argsort(y))).estimator_.loss == "squared"


def test_single_precision_stays():
    X, y = classes()
    single = X.astype(np.float32)
    for extractor in (GradientOuterProduct(2), GradientDiffusionMap(2)):
        new = extractor.fit(single, y).transform(single)
        assert new.dtype == np.float32
        assert closest(new, extractor.fit(X, y).transform(X)) < 1e-3
    assert GradientLearner("logistic").fit(single, y).gradients_.dtype == np.float32


def test_without_a_target_the_map_is_a_plain_diffusion_map():
    X, _ = waves(40, 3)
    found = GradientDiffusionMap(3, sigma1=4.0, sigma2=np.inf, t=2).fit(X)
    W = rbf_kernel(X, gamma=1 / 4)
    walk = W / W.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(walk)
    order = np.argsort(-values.real)[1:4]
    assert np.allclose(found.eigenvalues_, values.real[order])
    for column, vector in zip(found.embedding_.T, vectors.real[:, order].T, strict=True):
        assert abs(column @ vector) / np.linalg.norm(column) / np.linalg.norm(vector) > 1 - 1e-8
    assert closest(walk @ found.embedding_, found.embedding_ * found.eigenvalues_) < 1e-8
    assert found.estimator_ is None


@pytest.mark.parametrize("options", [{}, {"change": "function"}, {"t": 0}, {"t": 2.5}, {"sigma2": 0.3}])
def test_new_rows_go_where_training_rows_like_them_are(options):
    X, y = waves(60, 3)
    found = GradientDiffusionMap(2, **options).fit(X, y)
    assert closest(found.transform(X), found.embedding_) < 1e-8
    assert closest(found.transform(X[:1] + 1e-6), found.embedding_[:1]) < 1e-3
    assert np.isfinite(found.transform(X[:2] + 1e4)).all()


def test_likeness_is_what_the_formula_says():
    X, y = waves(20, 3)
    found = GradientDiffusionMap(1, sigma1=3.0, sigma2=0.5).fit(X, y)
    F = found.estimator_.gradients_
    W = np.empty((20, 20))
    for i in range(20):
        for j in range(20):
            step = X[i] - X[j]
            W[i, j] = np.exp(-step @ step / 3 - ((F[i] + F[j]) @ step / 2) ** 2 / 0.5)
    walk = W / W.sum(axis=1, keepdims=True)
    assert closest(walk @ found.embedding_, found.embedding_ * found.eigenvalues_) < 1e-8


def test_rows_without_a_target_shape_the_map_and_not_the_gradient():
    X, y = waves(80, 3)
    known = np.arange(80) < 30
    label = np.where(y > np.median(y), 1, 0)
    targets = {
        "nan": np.where(known, y, np.nan),
        "none": np.where(known, np.where(label, "up", "down"), None),
        "minus": np.where(known, label, -1),
    }
    for target in targets.values():
        found = GradientDiffusionMap(2).fit(X, target)
        assert found.estimator_.X_fit_.shape == (30, 3)
        assert found.embedding_.shape == (80, 2)
    assert GradientDiffusionMap(2).fit(X, np.where(label, 1, -1)).estimator_.X_fit_.shape == (80, 3)
    with pytest.raises(ValueError, match="No row of y has a target"):
        GradientDiffusionMap().fit(X, np.full(80, np.nan))


def test_a_map_among_neighbours_is_near_the_whole_one():
    angle = np.sort(np.random.default_rng(0).uniform(0, np.pi, size=150))
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    near = GradientDiffusionMap(1, sigma1=0.02, sigma2=np.inf, n_neighbors=30).fit(X)
    whole = GradientDiffusionMap(1, sigma1=0.02, sigma2=np.inf).fit(X)
    assert abs(np.corrcoef(near.embedding_[:, 0], whole.embedding_[:, 0])[0, 1]) > 0.99
    assert abs(np.corrcoef(near.transform(X)[:, 0], near.embedding_[:, 0])[0, 1]) > 0.99
    parts = np.vstack([X, X + 100])
    with pytest.warns(UserWarning, match="has 2 components"):
        GradientDiffusionMap(1, sigma2=np.inf, n_neighbors=30).fit(parts)


def test_rows_as_near_as_the_last_neighbour_are_neighbours_too():
    squared_distances = np.array([[2.0, 1.0, 0.0, 1.0, 1.0], [0.0, 3.0, 1.0, 2.0, 4.0]])
    expected = [[False, True, True, True, True], [True, False, True, False, False]]
    assert _nearest_of_each(squared_distances, 2).tolist() == expected
    assert _nearest_of_each(squared_distances, 9).all()
    repeated = np.repeat([[0.0, 0.0], [1.0, 2.0], [5.0, 3.0], [7.0, 7.0]], 10, axis=0)
    with pytest.warns(UserWarning, match="has 4 components"):
        found = GradientDiffusionMap(1, sigma2=np.inf, n_neighbors=2).fit(repeated)
    np.testing.assert_allclose(np.ptp(found.embedding_.reshape(4, 10), axis=1), 0, atol=rounding(40))


def test_iterated_eigenvectors_are_those_of_the_whole_matrix(monkeypatch):
    X, y = waves(150, 3)
    whole = GradientDiffusionMap(2).fit(X, y)
    monkeypatch.setattr("fewer.extract.gradients._gradient_diffusion_map._DENSE_UP_TO", 100)
    assert closest(GradientDiffusionMap(2).fit(X, y).embedding_, whole.embedding_) < 1e-6


def test_too_many_coordinates_are_as_many_as_there_are():
    X, y = waves(12, 2)
    with pytest.warns(UserWarning, match="n_components=50 are asked for, and there are 11"):
        found = GradientDiffusionMap(50).fit(X, y)
    assert found.transform(X).shape == (12, found.n_components_)
    assert found.n_components_ <= 11


def test_the_graph_is_the_pseudo_inverse_s():
    X, y = waves(200, 5)
    graph = GradientGraph(epsilon=1e-4, floor=0).fit(X, y)
    product = GradientOuterProduct(None).fit(X, y)
    kept = product.eigenvalues_ > 1e-4
    J = (product.components_[kept].T / product.eigenvalues_[kept]) @ product.components_[kept]
    R = -J / np.sqrt(np.outer(np.diag(J), np.diag(J)))
    np.fill_diagonal(R, 0)
    assert graph.n_directions_ == kept.sum()
    assert np.abs(graph.partial_correlations_.toarray() - R).max() < 1e-8
    assert closest(graph.inverse_diagonal_, np.diag(J)) < 1e-8
    assert (np.diff(np.abs(graph.edge_values_)) <= 0).all()


def test_only_the_strongest_edges_are_kept_in_blocks_as_at_once(monkeypatch):
    X, y = waves(40, 30)
    whole = GradientGraph(n_edges=20).fit(X, y)
    assert whole.edges_.shape == (20, 2)
    assert whole.partial_correlations_.nnz == 40
    assert np.abs(whole.edge_values_).min() >= np.sort(np.abs(GradientGraph().fit(X, y).edge_values_))[-20]
    monkeypatch.setattr(_gradient_graph, "_PAIRS_AT_ONCE", 100)
    assert np.array_equal(GradientGraph(n_edges=20).fit(X, y).edges_, whole.edges_)


def test_columns_that_do_not_matter_get_no_edges():
    X, _ = waves(200, 6)
    graph = GradientGraph().fit(X, X[:, 1] + X[:, 4])
    assert np.flatnonzero(graph.relevant_).tolist() == [1, 4]
    assert graph.edges_.tolist() == [[1, 4]]


def test_eigenvalues_below_those_of_a_shuffled_target_are_noise():
    X, _ = waves(80, 4)
    y = X[:, 0] - X[:, 1]
    graph = GradientGraph(epsilon="permutation", n_permutations=5, random_state=0).fit(X, y)
    assert graph.eigenvalues_[1] < graph.epsilon_ < graph.eigenvalues_[0]
    with pytest.raises(ValueError, match="No eigenvalue is above epsilon="):
        GradientGraph(epsilon=1e6).fit(X, y)


def test_pictures_name_what_they_show():
    X, y = waves(80, 4)
    frame = pd.DataFrame(X, columns=["height", "weight", "width", "depth"])
    graph = GradientGraph(floor=0.01).fit(frame, y)
    drawn = {note.text for note in graph.plot().layout.annotations}
    assert drawn == {frame.columns[column] for column in np.flatnonzero(graph.relevant_)}
    assert len(graph.plot(n_columns=2).layout.annotations) == 2
    extractor = GradientOuterProduct(2).fit(frame, y)
    assert list(extractor.get_feature_names_out()) == ["gradientouterproduct0", "gradientouterproduct1"]
    assert plot_projection(extractor, frame, y).data
    assert plot_loadings(extractor, frame).data


def test_callbacks_see_the_steps_of_the_learner():
    from sklearn.callback import ProgressBar

    X, y = waves(40, 3)
    for estimator in (GradientOuterProduct(), GradientDiffusionMap(), GradientGraph()):
        seen = estimator.set_callbacks(ProgressBar()).fit(X, y)
        plain = type(estimator)().fit(X, y)
        assert np.array_equal(seen.eigenvalues_, plain.eigenvalues_)


@pytest.mark.parametrize("model", [GradientOuterProduct(), GradientDiffusionMap(), GradientGraph()])
def test_one_class_is_told_in_the_name_of_who_was_asked(model):
    with pytest.raises(
        ValueError, match=f"^{type(model).__name__} needs at least two classes, and y has one class only"
    ):
        model.fit(np.eye(6), np.full(6, "only"))


def test_new_columns_of_the_learner_are_those_of_its_outer_product():
    X, y = waves()
    for target in (y, np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]):
        loss = "squared" if target is y else "logistic"
        learner = GradientLearner(loss, n_components=3).fit(X, target)
        directions = GradientOuterProduct(3, estimator=GradientLearner(loss)).fit(X, target)
        np.testing.assert_allclose(learner.transform(X), directions.transform(X), atol=1e-8)
        assert learner.get_feature_names_out().tolist() == [f"gradientlearner{place}" for place in range(3)]
    with pytest.warns(
        UserWarning, match="n_components=9 are asked for, and there are 4, along which the target changes"
    ):
        GradientLearner(n_components=9).fit(X, y)


def test_a_learner_of_a_constant_target_has_no_new_columns():
    model = GradientLearner().fit(np.eye(6)[:, :3], np.ones(6))
    assert model.transform(np.eye(3)).shape == (3, 0)
    assert model.predict(np.eye(3)).tolist() == [1, 1, 1]


def test_the_graph_keeps_the_columns_that_matter():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde"))
    y = 2 * X["a"] + X["d"]
    graph = GradientGraph().fit(X, y)
    assert graph.get_feature_names_out().tolist() == ["a", "d"]
    np.testing.assert_array_equal(graph.transform(X), X[["a", "d"]])
    assert graph.ranking_[[0, 3]].tolist() == [1, 2]
    assert sorted(graph.ranking_) == [1, 2, 3, 4, 5]
    assert GradientGraph(n_features_to_select=1).fit(X, y).get_feature_names_out().tolist() == ["a"]
    with pytest.warns(UserWarning, match="n_features_to_select=9 columns are asked for, and the table has 5"):
        GradientGraph(n_features_to_select=9).fit(X, y)


def test_very_many_edges_are_told(monkeypatch):
    monkeypatch.setattr("fewer.extract.gradients._gradient_graph._MOST_EDGES", 20)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 60)), rng.normal(size=30)
    with pytest.warns(UserWarning, match="the 20 strongest are kept. Raise floor"):
        assert len(GradientGraph().fit(X, y).edges_) == 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(GradientGraph(n_edges=20).fit(X, y).edges_) == 20


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("unit", [1e6, 1e12])
def test_columns_too_large_for_the_penalty_are_told_and_a_larger_one_is_used(loss, unit):
    X, y = waves(n_rows=40)
    with pytest.warns(
        ConvergenceWarning, match=r"alpha_grad=0.0001 is too small for columns in this unit.*StandardScaler"
    ):
        model = GradientLearner(loss, max_iter=20).fit(unit * X, y > np.median(y))
    assert np.isfinite(model.gradients_).all()


def test_a_solution_that_ends_at_once_is_yielded_with_its_error():
    ends = iter([_pair_problem.Iterate(np.zeros((2, 1)), 0.5)])
    assert [error for _, error in _pair_problem.in_step([ends], 1e-6)] == [0.5]
