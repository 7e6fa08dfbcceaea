"""What all filters that see redundancy do with tables of any shape, and when a callback stops them."""

import numpy as np
import pytest

from fewer.select import CFS, FCBF, MRMR, KollerSahami, redundancy_groups

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
