"""Sequential searches: forward, backward, floating, stepwise, and rounds."""

from itertools import combinations, pairwise

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

from fewer.select import (
    ConflictsObjective,
    CrossValidatedScore,
    DiscriminantObjective,
    NearestNeighbourObjective,
    SequentialSearch,
)
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


def test_sparse_tables_and_missing_values_are_taken_where_the_estimator_takes_them():
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


# Forward goes 0, 01, 012; but 12 beats both of the latter, and 123 beats all.
SCORES = {frozenset(subset): 0.1 * len(subset) for size in range(1, 5) for subset in combinations(range(4), size)} | {
    frozenset([0]): 0.5,
    frozenset([0, 1]): 0.6,
    frozenset([0, 1, 2]): 0.7,
    frozenset([1, 2]): 0.75,
    frozenset([1, 2, 3]): 0.9,
    frozenset([0, 1, 2, 3]): 0.65,
}


def steps(search):
    return [(step.action, step.column) for step in search.history_]


def four_classes(seed=0, n_columns=8):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, n_columns))
    X[:, 2] += y
    X[:, 4] -= y
    return X, y


def test_a_stepwise_search_takes_the_best_of_all_neighbours():
    search = SequentialSearch(table_of_scores(SCORES), direction="forward_stepwise").fit(NAMED)
    assert steps(search) == [("added", 0), ("added", 1), ("added", 2), ("removed", 0), ("added", 3)]
    assert search.get_support().tolist() == [False, True, True, True]


def test_a_stepwise_search_stops_where_no_neighbour_is_better():
    scores = SCORES | {frozenset([1, 2]): 0.65}
    search = SequentialSearch(table_of_scores(scores), direction="forward_stepwise").fit(NAMED)
    assert steps(search) == [("added", 0), ("added", 1), ("added", 2)]
    backward = SequentialSearch(table_of_scores(SCORES), direction="backward_stepwise").fit(NAMED)
    assert steps(backward) == [("started", None), ("removed", 0)]
    assert backward.get_support().tolist() == [False, True, True, True]


@pytest.mark.parametrize("direction", ["forward_stepwise", "backward_stepwise"])
@pytest.mark.parametrize("seed", range(4))
def test_no_single_column_improves_the_end_of_a_stepwise_search(direction, seed):
    X, y = four_classes(seed)
    objective = NearestNeighbourObjective()
    search = SequentialSearch(objective, direction=direction).fit(X, y)
    inside = search.get_support(indices=True)
    outside = np.setdiff1d(np.arange(8), inside)
    best = search.path_scores_[len(inside)]
    with objective.start(X, y) as scorer:
        scorer.move_to(inside)
        assert scorer.score() == best == max(search.path_scores_.values())
        assert (scorer.score_added(outside) <= best).all()
        assert len(inside) == 1 or (scorer.score_removed(inside) < best).all()  # equal would have been removed


def test_a_removal_that_costs_nothing_is_taken():
    search = SequentialSearch(lambda X, y: 1.0, direction="backward_stepwise").fit(NAMED)
    assert search.get_support().sum() == 1
    X = np.random.default_rng(0).integers(0, 2, size=(100, 6))
    found = SequentialSearch(ConflictsObjective(), direction="backward_stepwise").fit(X, X[:, 1] & X[:, 4])
    assert found.get_support(indices=True).tolist() == [1, 4]


@pytest.mark.parametrize("direction", ["forward_stepwise", "backward_stepwise"])
def test_a_stepwise_search_keeps_at_most_as_many_as_it_is_told(direction):
    X, y = four_classes()
    for most in (1, 3):
        search = SequentialSearch(NearestNeighbourObjective(), direction=direction, n_features_to_select=most).fit(X, y)
        assert 1 <= search.get_support().sum() <= most


def test_a_stepwise_search_that_may_lose_is_refused():
    with pytest.raises(ValueError, match=r"tol=-0\.1 is negative"):
        SequentialSearch(lambda X, y: 1.0, direction="forward_stepwise", tol=-0.1).fit(NAMED)
    search = SequentialSearch(table_of_scores(SCORES), direction="forward_stepwise", tol=0.2).fit(NAMED)
    assert steps(search) == [("added", 0)]


def test_rounds_add_and_remove():
    search = SequentialSearch(table_of_scores(SCORES), direction="plus_minus", n_features_to_select=2).fit(NAMED)
    # The best single column was only needed to get to the pair, and is dropped in the end.
    assert steps(search) == [("added", 0), ("added", 1), ("removed", 1), ("added", 1), ("added", 2), ("removed", 0)]
    assert search.get_support().tolist() == [False, True, True, False]
    backward = SequentialSearch(
        table_of_scores(SCORES), direction="plus_minus", plus=1, minus=2, n_features_to_select=3
    ).fit(NAMED)
    assert steps(backward) == [("started", None), ("removed", 0), ("removed", 3), ("added", 3)]


@pytest.mark.parametrize(("plus", "minus"), [(2, 1), (5, 4), (3, 1), (1, 2), (1, 4), (3, 4)])
@pytest.mark.parametrize("size", [1, 3, 7, 8, None])
def test_rounds_of_any_length_arrive(plus, minus, size):
    X, y = four_classes()
    search = SequentialSearch(
        DiscriminantObjective(cv=3), direction="plus_minus", plus=plus, minus=minus, n_features_to_select=size
    ).fit(X, y)
    assert search.get_support().sum() == (search.n_features_to_select_ if size is None else size)
    assert sorted(search.ranking_) == list(range(1, 9))
    sizes = [step.size for step in search.history_]
    assert all(abs(after - before) == 1 for before, after in pairwise(sizes))
    for step in search.history_:
        assert search.path_scores_[step.size] >= step.score


def test_rounds_that_lead_nowhere_are_refused():
    with pytest.raises(ValueError, match="plus=2 and minus=2 are equal"):
        SequentialSearch(lambda X, y: 1.0, direction="plus_minus", minus=2).fit(NAMED)


def test_rounds_stop_when_they_gain_too_little():
    gains = [0.5, 0.3, 0.05, 0.01, 0.0]
    named = np.arange(5.0)[None, :] + np.zeros((5, 1))
    search = SequentialSearch(lambda X, y: sum(gains[int(n)] for n in X[0]), direction="plus_minus", tol=0.1).fit(named)
    assert [step.size for step in search.history_] == [1, 2, 1, 2, 3, 2, 3, 4, 3]
    assert search.get_support().tolist() == [True, True, True, True, False]  # the best subset on the way


@pytest.mark.parametrize(
    ("direction", "kept"),
    [
        ("forward", [0, 1]),
        ("backward", [0, 1]),
        ("floating", [0, 1]),
        ("forward_stepwise", [0, 1]),
        ("plus_minus", [0, 1]),
    ],
)
def test_a_search_ends_with_the_smallest_subset_that_is_good_enough(direction, kept):
    gains = [0.5, 0.3, 0.15, 0.05]

    def total(X, y):
        return sum(gains[int(n)] for n in X[0])

    search = SequentialSearch(total, direction=direction, target_score=0.75).fit(NAMED)
    assert search.get_support(indices=True).tolist() == kept
    never = SequentialSearch(total, direction=direction, target_score=7.0).fit(NAMED)
    assert never.get_support().all()


@pytest.mark.parametrize("direction", ["forward_stepwise", "backward_stepwise", "plus_minus"])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_tables_with_hardly_any_column(direction, n_columns):
    X, y = four_classes(n_columns=8)
    search = SequentialSearch(NearestNeighbourObjective(), direction=direction).fit(X[:, :n_columns], y)
    assert 1 <= search.get_support().sum() <= n_columns
