"""The estimators: steps, components, resuming, classes, pictures."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

from fewer.learn import (
    ComponentwiseBoostingClassifier,
    ComponentwiseBoostingRegressor,
    LinearLearner,
    SplineLearner,
    TreeLearner,
)
from fewer.learn.boosting import _boost
from tolerances import rounding


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def mixed():
    """A line, a curve, a jump of two columns, and nothing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 5))
    y = X[:, 0] + 2 * np.cos(4 * X[:, 1]) + 2 * ((X[:, 2] > 0) & (X[:, 3] > 0)) + 0.1 * rng.normal(size=300)
    return X, y


LEARNERS = [
    *(LinearLearner(column) for column in range(5)),
    *(SplineLearner(column, df=1, penalized_only=True) for column in range(5)),
    TreeLearner((2, 3), max_depth=2),
]


def naive_boosting(X, y, n_estimators, learning_rate):
    """The algorithm as it is told, without any shortcut, for lines with intercepts and the squared loss."""
    f, selected = np.full(len(y), y.mean()), []
    for _ in range(n_estimators):
        u = y - f
        fits = [np.polynomial.Polynomial.fit(column, u, 1)(column) for column in X.T]
        best = int(np.argmin([((u - fit) ** 2).sum() for fit in fits]))
        f = f + learning_rate * fits[best]
        selected.append(best)
    return f, selected


def test_the_shortcuts_change_nothing(diabetes):
    X, y = diabetes
    f, selected = naive_boosting(X, y, 60, 0.3)
    model = ComponentwiseBoostingRegressor(n_estimators=60, learning_rate=0.3).fit(X, y)
    assert model.selected_.tolist() == selected
    np.testing.assert_allclose(model.predict(X), f, rtol=1e-10)


@pytest.mark.parametrize("room", [0, 10**9])
def test_kept_columns_of_the_gram_matrix_change_nothing_but_the_time(mixed, monkeypatch, room):
    X, y = mixed
    plain = ComponentwiseBoostingRegressor(LEARNERS, n_estimators=300, random_state=0).fit(X, y)
    monkeypatch.setattr(_boost, "_ROOM", room)
    monkeypatch.setattr(_boost, "_REFRESH", 1 if room == 0 else 7)
    other = ComponentwiseBoostingRegressor(LEARNERS, n_estimators=300, random_state=0).fit(X, y)
    np.testing.assert_array_equal(other.selected_, plain.selected_)
    np.testing.assert_allclose(other.predict(X), plain.predict(X), rtol=1e-9)


def test_components_add_up_to_the_prediction(mixed):
    X, y = mixed
    model = ComponentwiseBoostingRegressor(LEARNERS, n_estimators=100, random_state=0).fit(X, y)
    components = model.predict_components(X)
    assert components.shape == (300, 11)
    tolerance = rounding(100, abs(model.offset_) + np.abs(components).sum(axis=1).max())
    np.testing.assert_allclose(model.offset_ + components.sum(axis=1), model.predict(X), rtol=0, atol=tolerance)
    assert (components.any(axis=0) == (model.selection_frequency_ > 0)).all()
    assert {0, 6, 10} <= set(model.selected_)
    assert model.selection_frequency_.sum() == pytest.approx(1)
    assert model.risk_reduction_.sum() == pytest.approx(model.risk_[0] - model.risk_[-1])


def test_stages_are_the_models_of_fewer_steps(mixed):
    X, y = mixed
    model = ComponentwiseBoostingRegressor(LEARNERS, n_estimators=40, random_state=0).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == 41
    for n_estimators in (0, 7, 40):
        tolerance = rounding(40, np.abs(y).max())
        np.testing.assert_allclose(
            stages[n_estimators], model.set_n_estimators(n_estimators).predict(X), rtol=0, atol=tolerance
        )
        assert np.mean((y - stages[n_estimators]) ** 2) == pytest.approx(model.risk_[-1])
        assert model.n_estimators_ == n_estimators


def test_the_risk_of_the_squared_loss_never_rises(mixed):
    X, y = mixed
    for learning_rate in (0.1, 1.0):
        model = ComponentwiseBoostingRegressor(LEARNERS, n_estimators=100, learning_rate=learning_rate, random_state=0)
        risk = model.fit(X, y).risk_
        assert (np.diff(risk) <= rounding(len(y), risk[0])).all()


def test_a_model_goes_on_after_it_was_saved_and_the_table_was_changed(mixed):
    X, y = mixed[0].copy(), mixed[1].copy()
    model = pickle.loads(
        pickle.dumps(ComponentwiseBoostingRegressor(LEARNERS, n_estimators=10, random_state=0).fit(X, y))
    )
    X[:], y[:] = 0, 0
    direct = ComponentwiseBoostingRegressor(LEARNERS, n_estimators=30, random_state=0).fit(*mixed)
    np.testing.assert_array_equal(model.set_n_estimators(30).predict(mixed[0]), direct.predict(mixed[0]))


@pytest.mark.parametrize("wrong", [-1, 2.5, "all"])
def test_a_number_of_steps_that_cannot_be_is_refused(mixed, wrong):
    model = ComponentwiseBoostingRegressor(n_estimators=5).fit(*mixed)
    with pytest.raises(ValueError, match="whole number"):
        model.set_n_estimators(wrong)


def test_a_perfect_fit_ends_the_steps():
    X = np.arange(20.0)[:, None]
    model = ComponentwiseBoostingRegressor(n_estimators=50, learning_rate=1.0).fit(X, 3 * X[:, 0])
    assert model.n_estimators_ < 5
    assert model.set_n_estimators(100).n_estimators_ < 5
    # The mean square of what rounding leaves of targets up to 57, after sums of 20.
    assert 0 <= model.risk_[-1] < rounding(20, 57) ** 2


def test_slopes_and_constants_are_those_of_the_prediction(diabetes):
    X, y = diabetes
    learners = [
        LinearLearner(2),
        LinearLearner((3, 4)),
        LinearLearner((5, 6), df=2),
        LinearLearner(8, fit_intercept=False),
    ]
    with pytest.warns(UserWarning, match="degrees of freedom"):
        model = ComponentwiseBoostingRegressor(learners, n_estimators=80).fit(X, y)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-10)
    assert model.coef_path_.shape == (81, 10)
    np.testing.assert_allclose(model.coef_path_[-1], model.coef_)
    np.testing.assert_array_equal(model.coef_path_[0], 0)


@pytest.mark.parametrize("base_learners", ["linear", "smooth", [LinearLearner((0, 1), df=1), SplineLearner(2, df=2.5)]])
@pytest.mark.filterwarnings("ignore:The learners compete")
def test_sparse_tables_give_the_same_model(base_learners):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6)) * (rng.random((100, 6)) < 0.4)
    y = X[:, 0] + np.abs(X[:, 2]) + 0.1 * rng.normal(size=100)
    dense = ComponentwiseBoostingRegressor(base_learners).fit(X, y)
    thin = ComponentwiseBoostingRegressor(base_learners).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csc_array(X)), dense.predict(X), rtol=1e-9)


def test_trees_ask_for_a_dense_table():
    with pytest.raises(TypeError, match="parse"):
        ComponentwiseBoostingRegressor("tree").fit(sparse.eye_array(20, format="csr"), np.arange(20.0))


def test_several_classes_are_each_told_from_the_rest():
    X, y = load_iris(return_X_y=True)
    model = ComponentwiseBoostingClassifier(n_estimators=60).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.selected_.shape == (3, 60)
    assert model.predict_components(X).shape == (3, 150, 4)
    single = ComponentwiseBoostingClassifier(n_estimators=60).fit(X, y == 1)
    np.testing.assert_allclose(model.coef_[1], single.coef_, rtol=1e-10)
    assert model.score(X, y) > 0.85
    assert list(model.staged_predict(X))[-1].tolist() == model.predict(X).tolist()
    longer = ComponentwiseBoostingClassifier(n_estimators=90).fit(X, y)
    np.testing.assert_array_equal(model.set_n_estimators(90).coef_, longer.coef_)


def test_classes_of_two_kinds_have_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = np.where(rng.random(2000) < chance, "yes", "no")
    for family in ("binomial", "adaexp"):
        model = ComponentwiseBoostingClassifier(family=family, n_estimators=200).fit(X, y)
        assert np.abs(model.predict_proba(X)[:, 1] - chance).max() < 0.06


def test_effects_are_drawn_over_the_range_that_was_seen(mixed):
    X, y = mixed
    model = ComponentwiseBoostingRegressor(LEARNERS, n_estimators=100, random_state=0).fit(X, y)
    effects = {effect.name: effect for effect in model.partial_effects(n_points=50)}
    curve = effects["smooth(x1)"]
    assert curve.points[0][[0, -1]].tolist() == [X[:, 1].min(), X[:, 1].max()]
    rows = np.zeros((50, 5))
    rows[:, 1] = curve.points[0]
    np.testing.assert_allclose(curve.effect, model.predict_components(rows)[:, curve.learner])
    jump = effects["tree(x2, x3)"]
    assert jump.effect.shape == (50, 50)
    assert jump.effect[-1, -1] - jump.effect[0, 0] > 0.5
    figure = model.plot_effects(n_effects=2)
    assert len(figure.data) == 2
    assert "1 more not shown" in figure.layout.title.text
    assert "tree(x2, x3)" in str([note.text for note in model.plot_effects().layout.annotations])
    assert "No learner" in model.set_n_estimators(0).plot_effects().layout.title.text


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_model_of_any_table_is_saved_safely(table, mixed):
    import skops.io

    X, y = table(mixed[0]), mixed[1]
    for learners in [LEARNERS[:10], *([LEARNERS] if table is np.asarray else [])]:
        model = ComponentwiseBoostingRegressor(learners, n_estimators=10, random_state=0).fit(X, y)
        saved = skops.io.dumps(model)
        untrusted = skops.io.get_untrusted_types(data=saved)
        # skops asks about scipy's matrices and scikit-learn's trees whoever holds them.
        assert all(name.startswith(("fewer.", "scipy.sparse.", "sklearn.tree.")) for name in untrusted)
        loaded = skops.io.loads(saved, trusted=untrusted)
        np.testing.assert_array_equal(loaded.set_n_estimators(20).predict(X), model.set_n_estimators(20).predict(X))


def test_columns_far_from_zero_lose_nothing(diabetes):
    X, y = diabetes
    near = ComponentwiseBoostingRegressor(n_estimators=50).fit(X, y)
    far = ComponentwiseBoostingRegressor(n_estimators=50).fit(X + 1e6, y)
    np.testing.assert_array_equal(far.selected_, near.selected_)
    np.testing.assert_allclose(far.predict(X + 1e6), near.predict(X), rtol=1e-6)


def test_effects_print_in_one_line(mixed):
    model = ComponentwiseBoostingRegressor(LEARNERS, n_estimators=30).fit(*mixed)
    shown = [repr(effect) for effect in model.partial_effects()]
    assert any(line.startswith("PartialEffect(smooth(x1): adds -") and ", for x1 from -" in line for line in shown)
    assert all("\n" not in line and len(line) < 120 for line in shown)
