"""Sequential searches: what they visit, what they keep, and how they stop."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fewer.select import CrossValidatedScore, NearestNeighbourObjective, SequentialSearch
from fewer.select.objectives._cross_validated_score import Trial, _scores_on_engine


def classes(n_rows=60, n_columns=7, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 2] += y
    X[:, 4] -= y
    return X, y


def table_of_scores(values):
    """An objective by a table: columns are told apart by their first entry."""
    return lambda X, y: values[frozenset(int(number) for number in X[0])]


NAMED = np.arange(4.0)[None, :] + np.zeros((5, 1))

# The nest: forward takes 0, 1, 2; but {1, 2} beats {0, 1}, and {1, 2, 3} beats all threes.
MISLEADING = {
    frozenset(subset): 0.1 * len(subset) for size in range(1, 5) for subset in combinations(range(4), size)
} | {
    frozenset([0]): 0.5,
    frozenset([0, 1]): 0.6,
    frozenset([1, 2]): 0.75,
    frozenset([0, 1, 2]): 0.7,
    frozenset([1, 2, 3]): 0.9,
    frozenset([0, 1, 2, 3]): 0.65,
}


def test_forward_can_never_drop_a_column_and_floating_can():
    forward = SequentialSearch(table_of_scores(MISLEADING)).fit(NAMED)
    floating = SequentialSearch(table_of_scores(MISLEADING), direction="floating").fit(NAMED)
    assert forward.subset_path_ == {1: (0,), 2: (0, 1), 3: (0, 1, 2), 4: (0, 1, 2, 3)}
    assert floating.subset_path_ == {1: (0,), 2: (1, 2), 3: (1, 2, 3), 4: (0, 1, 2, 3)}
    assert [(step.action, step.column) for step in floating.history_] == [
        ("added", 0),
        ("added", 1),
        ("added", 2),
        ("removed", 0),
        ("added", 3),
        ("added", 0),
    ]
    assert floating.get_support().tolist() == [False, True, True, True]


def test_a_worse_subset_never_replaces_the_best_of_its_size():
    # From {1, 2} the best third column is 0 again: back to a subset that is known, and then on to all four.
    scores = MISLEADING | {frozenset([1, 2, 3]): 0.3}
    floating = SequentialSearch(table_of_scores(scores), direction="floating").fit(NAMED)
    assert floating.path_scores_ == {1: 0.5, 2: 0.75, 3: 0.7, 4: 0.65}
    assert [step.size for step in floating.history_] == [1, 2, 3, 2, 3, 4]


def test_a_floating_search_goes_on_from_the_best_known_subset():
    # {0, 1, 2} is met first (0.7). After the way back to {1, 2}, all threes with it are worse than that.
    scores = dict(MISLEADING)
    scores[frozenset([0, 1, 2])] = 0.7
    scores[frozenset([1, 2, 3])] = 0.2
    calls = []

    def objective(X, y):
        subset = frozenset(int(number) for number in X[0])
        calls.append(subset)
        # The second time {0, 1, 2} is asked for, it is worse: only a restored subset still has 0.7.
        return 0.6 if subset == {0, 1, 2} and calls.count(subset) > 1 else scores[subset]

    floating = SequentialSearch(objective, direction="floating").fit(NAMED)
    assert [step.action for step in floating.history_] == [
        "added",
        "added",
        "added",
        "removed",
        "added",
        "restored",
        "added",
    ]
    assert floating.subset_path_[3] == (0, 1, 2)
    assert floating.path_scores_[3] == 0.7


def test_rounding_is_no_reason_to_go_back():
    scores = MISLEADING | {frozenset([1, 2]): 0.6 + 2e-16, frozenset([1, 2, 3]): 0.3}
    assert scores[frozenset([1, 2])] > scores[frozenset([0, 1])]
    floating = SequentialSearch(table_of_scores(scores), direction="floating").fit(NAMED)
    assert [step.action for step in floating.history_] == ["added"] * 4


@pytest.mark.parametrize("direction", ["forward", "backward", "floating", "floating_backward"])
@pytest.mark.parametrize("seed", range(2))
def test_fast_and_plain_objective_walk_the_same_path(direction, seed):
    X, y = classes(n_rows=30, n_columns=5, seed=seed)
    fast = SequentialSearch(NearestNeighbourObjective(cv=2), direction=direction).fit(X, y)
    plain = SequentialSearch(KNeighborsClassifier(1), cv=2, direction=direction).fit(X, y)
    assert fast.history_ == plain.history_
    assert fast.subset_path_ == plain.subset_path_
    assert np.array_equal(fast.ranking_, plain.ranking_)
    assert fast.n_evaluations_ == plain.n_evaluations_


@pytest.mark.parametrize("seed", range(5))
def test_floating_paths_hold_up_against_their_own_history(seed):
    X, y = classes(n_rows=50, n_columns=9, seed=seed)
    plain = {d: SequentialSearch(NearestNeighbourObjective(), direction=d).fit(X, y) for d in ("forward", "backward")}
    for direction in ("floating", "floating_backward"):
        search = SequentialSearch(NearestNeighbourObjective(), direction=direction).fit(X, y)
        assert sorted(search.subset_path_) == list(range(1, 10))
        assert all(len(subset) == size for size, subset in search.subset_path_.items())
        for size, score in search.path_scores_.items():
            assert score == max(step.score for step in search.history_ if step.size == size)
        with NearestNeighbourObjective().start(X, y) as scorer:
            for size, subset in search.subset_path_.items():
                scorer.move_to(subset)
                assert scorer.score() == search.path_scores_[size]
        start = plain["forward" if direction == "floating" else "backward"]
        assert np.mean([search.path_scores_[s] >= start.path_scores_[s] for s in range(1, 10)]) >= 0.8


def test_ranking_is_the_order_of_entry():
    X, y = classes()
    search = SequentialSearch(NearestNeighbourObjective()).fit(X, y)
    entered = [step.column for step in search.history_]
    assert [search.ranking_[column] for column in entered] == list(range(1, 8))
    for size, subset in search.subset_path_.items():
        assert set(np.flatnonzero(search.ranking_ <= size)) == set(subset)
    assert [search.scores_[column] for column in entered] == list(search.path_scores_.values())


def test_ranking_backward_is_the_order_of_removal_from_the_end():
    X, y = classes()
    search = SequentialSearch(NearestNeighbourObjective(), direction="backward", n_features_to_select=3).fit(X, y)
    removed = [step.column for step in search.history_ if step.action == "removed"]
    assert [search.ranking_[column] for column in removed] == [7, 6, 5, 4]
    assert search.history_[0][:3] == ("started", None, 7)


def test_columns_that_never_entered_are_ranked_by_their_last_trial():
    values = {0: 0.9, 1: 0.1, 2: 0.3, 3: 0.2}
    search = SequentialSearch(lambda X, y: sum(values[int(n)] for n in X[0]), n_features_to_select=1).fit(NAMED)
    assert search.ranking_.tolist() == [1, 4, 2, 3]
    assert search.scores_ == pytest.approx([0.9, 0.1, 0.3, 0.2])


def test_of_columns_with_equal_scores_the_first_is_taken():
    forward = SequentialSearch(lambda X, y: 1.0, n_features_to_select=2).fit(NAMED)
    assert forward.subset_path_ == {1: (0,), 2: (0, 1)}
    backward = SequentialSearch(lambda X, y: 1.0, direction="backward", n_features_to_select=2).fit(NAMED)
    assert backward.subset_path_ == {4: (0, 1, 2, 3), 3: (1, 2, 3), 2: (2, 3)}
    assert SequentialSearch(lambda X, y: 1.0).fit(NAMED).n_features_to_select_ == 1


def test_search_stops_when_a_step_gains_too_little():
    gains = [0.5, 0.3, 0.05, 0.2]
    search = SequentialSearch(lambda X, y: sum(sorted((gains[int(n)] for n in X[0]), reverse=True)), tol=0.1).fit(NAMED)
    assert search.get_support().tolist() == [True, True, False, True]
    assert max(search.subset_path_) == 3


def test_backward_search_may_pay_for_each_removal():
    costs = [0.5, 0.01, 0.02, 0.4]
    search = SequentialSearch(lambda X, y: sum(costs[int(n)] for n in X[0]), direction="backward", tol=-0.1).fit(NAMED)
    assert search.get_support().tolist() == [True, False, False, True]


@pytest.mark.parametrize("tol", [0.01, None])
def test_tol_agrees_with_scikit_learn(tol):
    X, y = classes(n_rows=80)
    wanted = {"n_features_to_select": "auto"} if tol is not None else {"n_features_to_select": 3}
    theirs = SequentialFeatureSelector(GaussianNB(), cv=4, tol=tol, **wanted).fit(X, y)
    ours = SequentialSearch(GaussianNB(), cv=4, tol=tol, n_features_to_select=None if tol else 3).fit(X, y)
    assert np.array_equal(ours.get_support(), theirs.get_support())


def test_workers_score_subsets_as_this_process_does(workers):
    X, y = classes()
    trial = Trial(X, y, list(KFold(3).split(X)), GaussianNB(), check_scoring(GaussianNB()))
    subsets = [(0,), (1, 2), (0, 3)]
    assert _scores_on_engine(workers, trial, subsets) == [trial.mean_score(subset) for subset in subsets]
    with pytest.raises(ValueError, match=r"could not be scored on columns \(99,\): IndexError"):
        _scores_on_engine(workers, trial, [(0,), (99,)])


@pytest.mark.slow
def test_jobs_do_not_change_the_path():
    X, y = classes()
    one = SequentialSearch(GaussianNB(), n_features_to_select=2).fit(X, y)
    two = SequentialSearch(GaussianNB(), n_features_to_select=2, n_jobs=2).fit(X, y)
    assert one.history_ == two.history_


def test_folds_are_drawn_once_and_by_the_random_state():
    X, y = classes()

    class CountingFolds(KFold):
        drawn = 0

        def split(self, *arguments):
            CountingFolds.drawn += 1
            return super().split(*arguments)

    SequentialSearch(GaussianNB(), cv=CountingFolds(3), n_features_to_select=3).fit(X, y)
    assert CountingFolds.drawn == 1
    seeded = [SequentialSearch(NearestNeighbourObjective(cv=5), random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    assert seeded[0].path_scores_ == seeded[1].path_scores_ != seeded[2].path_scores_


def test_names_of_a_frame_are_kept():
    X, y = classes()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    search = SequentialSearch(GaussianNB(), n_features_to_select=2).set_output(transform="pandas")
    assert list(search.fit_transform(frame, y).columns) == ["c", "e"]


def test_it_works_in_a_pipeline_with_a_pipeline_inside():
    X, y = classes()
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = make_pipeline(SequentialSearch(inner, n_features_to_select=2), KNeighborsClassifier(3)).fit(X, y)
    assert model.score(X, y) > 0.6


def test_sparse_tables_and_holes_are_taken_where_the_estimator_takes_them():
    X, y = classes()
    X[np.abs(X) < 0.5] = 0
    dense = SequentialSearch(LogisticRegression(), n_features_to_select=2).fit(X, y)
    thin = SequentialSearch(LogisticRegression(), n_features_to_select=2).fit(sparse.csr_array(X), y)
    assert np.array_equal(dense.get_support(), thin.get_support())
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        SequentialSearch(NearestNeighbourObjective()).fit(sparse.csr_array(X), y)
    X[0, 0] = np.nan
    tree = DecisionTreeClassifier(random_state=0)
    assert SequentialSearch(tree, n_features_to_select=1, cv=2).fit(X, y).get_support().sum() == 1


def test_regression_searches_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = X[:, 1] + 2 * X[:, 5]
    search = SequentialSearch(LinearRegression(), n_features_to_select=2).fit(X, y)
    assert search.subset_path_ == {1: (5,), 2: (1, 5)}


class StopAfter:
    """A callback that stops the fit after some steps."""

    def __init__(self, n_steps):
        self.n_steps = n_steps
        self.seen = []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if context.parent is None:
            return False
        self.seen.append(int(fitted_estimator.get_support().sum()))
        return len(self.seen) >= self.n_steps


@pytest.mark.parametrize("direction", ["forward", "backward", "floating", "floating_backward"])
def test_a_callback_stops_the_search_and_keeps_what_there_is(direction):
    X, y = classes()
    stop = StopAfter(3)
    search = SequentialSearch(NearestNeighbourObjective(), direction=direction, n_features_to_select=4)
    stopped = clone(search).set_callbacks(stop).fit(X, y)
    assert len(stop.seen) == 3
    assert stopped.get_support().sum() == stop.seen[-1]
    assert stopped.n_evaluations_ < search.fit(X, y).n_evaluations_ or direction == "backward"
    assert stopped.transform(X).shape == (60, stop.seen[-1])


@pytest.mark.parametrize("direction", ["forward", "backward", "floating", "plus_minus"])
def test_more_columns_than_there_are_means_all_with_a_warning(direction):
    with pytest.warns(UserWarning, match="n_features_to_select=8 columns are asked for, and the table has 4"):
        search = SequentialSearch(lambda X, y: -X.shape[1], n_features_to_select=8, direction=direction).fit(NAMED)
    assert search.get_support().all()


def test_an_objective_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="not a number"):
        SequentialSearch(lambda X, y: np.nan).fit(NAMED)


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_an_estimator_that_fails_says_why(n_jobs):
    class Failing(GaussianNB):
        def fit(self, X, y):
            raise ValueError("no rows of class 7")

    X, y = classes()
    with parallel_config("threading"), pytest.raises(ValueError, match="no rows of class 7"):
        SequentialSearch(Failing(), n_jobs=n_jobs).fit(X, y)


@pytest.mark.parametrize("forgotten", [NearestNeighbourObjective, KNeighborsClassifier])
def test_a_class_instead_of_an_instance_is_named(forgotten):
    with pytest.raises(TypeError, match=rf"the class {forgotten.__name__}; give an instance of it"):
        SequentialSearch(forgotten).fit([[0.0, 1.0], [2.0, 1.0]], ["a", "b"])


@pytest.mark.parametrize("objective", [NearestNeighbourObjective(), "conflicts", lambda X, y: -X.shape[1]])
def test_a_scoring_that_the_objective_does_not_look_at_is_reported(objective):
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    with pytest.warns(UserWarning, match="scoring='accuracy' is not used"):
        SequentialSearch(objective, n_features_to_select=1, scoring="accuracy").fit(X, ["a", "a", "b", "b"])


def test_parameters_reach_into_the_objective():
    search = SequentialSearch(CrossValidatedScore(KNeighborsClassifier(), cv=3))
    search.set_params(objective__estimator__n_neighbors=7, objective__cv=4)
    assert search.objective.estimator.n_neighbors == 7
    assert clone(search).objective.cv == 4
    assert search.get_params()["objective__estimator__n_neighbors"] == 7
