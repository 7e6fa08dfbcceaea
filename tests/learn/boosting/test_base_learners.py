"""Terms of an additive model: their bases, their penalties, and how they compete."""

import numpy as np
import pytest
from scipy import sparse

from fewer.learn import (
    CategoricalLearner,
    ComponentwiseBoostingRegressor,
    LinearLearner,
    SpatialLearner,
    SplineLearner,
    TreeLearner,
)
from fewer.learn.boosting._designs import Smoother


def boosted(learners, X, y, **options):
    return ComponentwiseBoostingRegressor(learners, **options).fit(X, y)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    "learner",
    [
        LinearLearner((0, 1)),
        LinearLearner((0, 1), df=1.5),
        SplineLearner(0),
        SplineLearner(0, df=1, penalized_only=True),
        SplineLearner(0, cyclic=True),
        SplineLearner(0, by=1),
        SpatialLearner((0, 1), n_knots=4),
        CategoricalLearner(2),
        CategoricalLearner(2, df=1),
    ],
    ids=repr,
)
def test_one_full_step_is_the_penalised_least_squares_fit(learner, rng):
    X = np.column_stack([rng.uniform(size=(80, 2)), rng.integers(0, 4, 80)])
    y, weights = rng.normal(size=80), rng.uniform(0.5, 2, 80)
    columns = [0, 1] if isinstance(learner, LinearLearner | SpatialLearner) or getattr(learner, "by", None) else [0]
    columns = [2] if isinstance(learner, CategoricalLearner) else columns
    basis = learner.fitted_basis(X[:, columns])
    matrix = sparse.csr_array(basis.matrix(X[:, columns])).toarray()
    if basis.reduction is not None:
        matrix = matrix @ basis.reduction
    gram = matrix.T @ (weights[:, None] * matrix)
    penalty = np.zeros_like(gram) if basis.penalty is None else basis.penalty
    lam = Smoother.of(gram, basis.penalty, learner.df).penalty
    centred = y - np.average(y, weights=weights)
    expected = matrix @ np.linalg.lstsq(gram + lam * penalty, matrix.T @ (weights * centred), rcond=None)[0]
    model = ComponentwiseBoostingRegressor([learner], n_estimators=1, learning_rate=1.0).fit(
        X, y, sample_weight=weights
    )
    np.testing.assert_allclose(model.predict(X) - model.offset_, expected, atol=1e-8)


def test_a_curve_goes_on_as_a_straight_line_and_says_so(rng):
    X = rng.uniform(-1, 1, size=(200, 1))
    model = boosted([SplineLearner(0)], X, X[:, 0] ** 2)
    end = X.max()
    with pytest.warns(UserWarning, match=r"3 rows lie outside of what smooth\(x0\)"):
        beyond = model.predict([[end + 1], [end + 2], [end + 3]])
    assert np.diff(beyond, n=2) == pytest.approx(0, abs=1e-9)
    slope = (model.predict([[end]]) - model.predict([[end - 1e-6]])) / 1e-6
    assert np.diff(beyond)[0] == pytest.approx(slope[0], rel=1e-3)


def test_a_cyclic_curve_closes(rng):
    X = rng.uniform(0, 24, size=(300, 1))
    X[:2] = [[0], [24]]
    model = boosted([SplineLearner(0, cyclic=True)], X, np.cos(2 * np.pi * X[:, 0] / 24), n_estimators=200)
    start, end, again = model.predict([[0.0], [24.0], [30.0]])
    assert start == pytest.approx(end)
    assert again == pytest.approx(model.predict([[6.0]])[0])
    assert model.score(X, np.cos(2 * np.pi * X[:, 0] / 24)) > 0.99


def test_an_effect_that_varies_with_another_column(rng):
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    assert boosted([SplineLearner(0, by=1)], X, y, n_estimators=300).score(X, y) > 0.98
    assert boosted([LinearLearner(0), LinearLearner(1)], X, y, n_estimators=300).score(X, y) < 0.1


def test_categories_that_were_not_seen_add_nothing(rng):
    X = rng.integers(0, 3, size=(60, 1)).astype(float)
    model = boosted([CategoricalLearner(0)], X, X[:, 0] ** 2)
    with pytest.warns(UserWarning, match="not seen"):
        assert model.predict([[7.0]])[0] == pytest.approx(model.offset_)


def test_rare_categories_are_drawn_towards_zero_most(rng):
    X = np.repeat([0.0, 1.0, 2.0], [50, 50, 2])[:, None]
    y = np.repeat([0.0, 1.0, 1.0], [50, 50, 2])
    model = boosted([CategoricalLearner(0, df=1)], X, y, n_estimators=1, learning_rate=1.0, offset=0.0)
    often, rare = model.predict([[1.0], [2.0]])
    assert 0 < rare < often / 2


def test_a_constant_column_is_left_out_with_a_warning(rng):
    X = np.column_stack([np.full(50, 3.0), rng.normal(size=50)])
    for learners in ("linear", "smooth", [TreeLearner(0), TreeLearner(1)]):
        with pytest.warns(UserWarning, match="its columns are constant"):
            model = boosted(learners, X, X[:, 1])
        assert set(model.selected_) == {1}


def test_a_table_of_constants_leaves_the_offset(rng):
    y = rng.normal(size=20)
    with pytest.warns(UserWarning, match="constant"):
        model = boosted("linear", np.ones((20, 3)), y)
    assert model.n_estimators_ == 0
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), y.mean())


def test_equals_are_decided_for_the_first(rng):
    x = rng.normal(size=50)
    model = boosted("linear", np.column_stack([rng.normal(size=50), x, x, -x]), x)
    assert set(model.selected_[:20]) == {1}


def test_learners_that_differ_in_flexibility_are_named(rng):
    X = rng.normal(size=(100, 2))
    with pytest.warns(UserWarning, match=r"1 for linear\(x0\), 3 for smooth\(x1\)"):
        boosted([LinearLearner(0), SplineLearner(1)], X, X[:, 0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: SplineLearner((0, 1)), "one column"),
        (lambda: SplineLearner(0, df=2), "penalized_only=True"),
        (lambda: SplineLearner(0, penalized_only=True, cyclic=True), "no line to leave out"),
        (lambda: SpatialLearner(0), "two columns"),
        (lambda: SpatialLearner((0, 1), df=3), "too small"),
        (lambda: CategoricalLearner((0, 1)), "one column"),
    ],
)
def test_learners_that_cannot_be_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()


def test_columns_are_found_by_name(rng):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rng.normal(size=(50, 3)), columns=["age", "hip", "waist"])
    model = boosted([LinearLearner("hip"), TreeLearner(("hip", "waist"))], X, X["hip"])
    assert model.learner_names_ == ["linear(hip)", "tree(hip, waist)"]
    with pytest.raises(ValueError, match="'wast', which the table does not have"):
        boosted([LinearLearner("wast")], X, X["hip"])
    with pytest.raises(ValueError, match="columns 0 to 2"):
        boosted([LinearLearner(3)], X, X["hip"])
    with pytest.raises(ValueError, match="no names"):
        boosted([LinearLearner("hip")], X.to_numpy(), X["hip"])


def test_what_is_no_learner_is_refused(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(TypeError, match="no base-learner"):
        boosted(["linear"], X, X[:, 0])
    with pytest.raises(ValueError, match="empty"):
        boosted([], X, X[:, 0])
