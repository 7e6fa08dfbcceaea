"""Filters of redundancy on odd tables, and the correlations that they are made of."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_selection import f_classif, f_regression

from fewer.select import CFS, FCBF, MRMR, KollerSahami, redundancy_groups
from fewer.select.redundancy import _similarity
from fewer.select.redundancy._similarity import Correlations
from tolerances import rounding

SELECTORS = [
    MRMR(3),
    MRMR(3, relevance="f", redundancy="correlation", criterion="quotient"),
    CFS(),
    CFS(measure="pearson"),
    FCBF(),
    KollerSahami(3),
]


def make_wide():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 1500))
    X[:, 700] += 6 * y
    return X, y


def tables():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 5)) + y[:, None] * [0, 0, 3, 1, 0]
    return {
        "integers": (rng.integers(0, 5, size=(60, 4)) + y[:, None], y),
        "float32": (X.astype(np.float32), y),
        "booleans": (X > 1, y),
        "copies only": (np.repeat(X[:, 2:3], 6, axis=1), y),
        "constants only": (np.full((60, 4), 0.1), y),
        "one column": (X[:, 2:3], y),
        "two rows": (X[:2], y[:2]),
        "huge offset": (X + 1e9, y),
        "tiny": (X * 1e-200, y),
    }


@pytest.mark.parametrize("select", SELECTORS, ids=str)
def test_a_wide_table_gives_the_column_that_matters_first(select):
    X, y = make_wide()
    fitted = select.fit(X, y)
    assert fitted.ranking_[700] == 1
    assert sorted(fitted.ranking_) == list(range(1, 1501))
    assert fitted.get_support().sum() == fitted.n_features_to_select_ < 100


@pytest.mark.parametrize("table", tables())
@pytest.mark.parametrize("select", SELECTORS, ids=str)
@pytest.mark.filterwarnings("ignore:No column:UserWarning")
def test_odd_tables_give_a_whole_order_and_something_to_keep(select, table):
    X, y = tables()[table]
    fitted = select.fit(X, y)
    assert sorted(fitted.ranking_) == list(range(1, X.shape[1] + 1))
    kept = fitted.get_support().sum()
    assert 1 <= kept <= X.shape[1]
    assert not np.isnan(fitted.scores_).any()
    if table == "copies only" and not isinstance(select, MRMR | KollerSahami):
        assert kept == 1


@pytest.mark.parametrize("table", tables())
def test_odd_tables_have_groups(table):
    X, _ = tables()[table]
    found = redundancy_groups(X)
    if table == "copies only":
        assert [len(group) for group in found.groups] == [6]
    if table in ("constants only", "one column"):
        assert found.groups == ()


class StopAfter:
    """A callback that stops a fit after some steps."""

    def __init__(self, n_steps):
        self.n_steps = n_steps

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        if context.parent is None:
            return False
        self.n_steps -= 1
        return self.n_steps <= 0


def test_a_fit_that_is_stopped_keeps_what_it_has():
    rng = np.random.default_rng(2)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 8)) + np.outer(y, [2, 2, 2, 2, 2, 0, 0, 0])
    for select in (MRMR(6), FCBF(), CFS()):
        whole = np.argsort(select.fit(X, y).ranking_)
        stopped = select.set_callbacks(StopAfter(2)).fit(X, y)
        assert stopped.n_features_to_select_ == 2
        assert np.array_equal(np.argsort(stopped.ranking_)[:2], whole[:2])
    eliminated = KollerSahami(3)
    last = np.argsort(eliminated.fit(X, y).ranking_)[-2:]
    stopped = eliminated.set_callbacks(StopAfter(2)).fit(X, y)
    assert np.array_equal(np.argsort(stopped.ranking_)[-2:], last)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 6)) * [1.0, 10.0, 0.1, 1.0, 3.0, 1.0] + [5.0, 0.0, -3.0, 0.0, 0.0, 0.0]
X[:, 3] = X[:, 0] + 0.5 * RNG.normal(size=30)
X[:, 5] = 7.0
X[RNG.random(X.shape) < 0.2] = 0.0
X[:, 5] = 7.0
EXPECTED = np.zeros((6, 6))
EXPECTED[:5, :5] = np.corrcoef(X[:, :5].T)

ROUTES = {
    "all pairs at once": lambda: Correlations(X, n_asked=6),
    "one by one": lambda: Correlations(X, n_asked=0),
    "float32": lambda: Correlations(X.astype(np.float32), n_asked=0),
    "sparse": lambda: Correlations(sparse.csc_array(X), n_asked=6),
}


@pytest.mark.parametrize("cells", [2**21, 50], ids=["centred", "in blocks"])
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_gives_the_correlations_of_numpy(route, cells, monkeypatch):
    monkeypatch.setattr(_similarity, "_CELLS_AT_ONCE", cells)
    found, y = ROUTES[route](), X[:, 0] - X[:, 1]
    # Sums of squares about zero are larger than those about the mean.
    off_centre = np.mean(X[:, :5] ** 2, axis=0) / np.var(X[:, :5], axis=0)
    near = {"abs": 1e-6 if route == "float32" else rounding(30, condition=off_centre.max())}
    assert found.varies.tolist() == [True] * 5 + [False]
    for column in range(6):
        assert found.with_column(column) == pytest.approx(EXPECTED[column], **near)
    first, second = np.array([3, 0]), np.array([1, 4, 2])
    assert found.between(first, second) == pytest.approx(EXPECTED[np.ix_(first, second)], **near)
    assert found.with_target(y)[:5] == pytest.approx(np.corrcoef(X[:, :5].T, y)[-1, :-1], **near)
    assert found.with_target(np.full(30, 0.3)).tolist() == [0.0] * 6


@pytest.mark.parametrize("table", [X, sparse.csc_array(X)], ids=["dense", "sparse"])
def test_f_statistics_are_those_of_scikit_learn(table):
    found, classes = Correlations(table), np.arange(30) % 3
    assert found.f_statistics_of_classes(classes)[:5] == pytest.approx(f_classif(X[:, :5], classes)[0])
    assert found.f_statistics_of_numbers(X[:, 4] ** 2)[:5] == pytest.approx(f_regression(X[:, :5], X[:, 4] ** 2)[0])


def test_f_is_infinite_where_nothing_is_left_to_explain():
    classes = np.repeat([0, 1], 5)
    assert Correlations(classes[:, None] * 2.0).f_statistics_of_classes(classes).tolist() == [np.inf]
