"""What all searches share: checkpoints, paths, filters by name, and curves over sizes."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from fewer.evaluate import selection_curve
from fewer.select import (
    BranchAndBoundSearch,
    ConflictsObjective,
    CrossValidatedScore,
    ExhaustiveSearch,
    MahalanobisObjective,
    NaiveBayesObjective,
    RandomMutationSearch,
    RandomSubsetSearch,
    RidgeObjective,
    SequentialSearch,
)
from fewer.select.searches._search import SearchPath, SearchStep, ranking_by_trials


def classes(n_columns=7, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, n_columns))
    X[:, 2] += y
    X[:, 4] -= y
    return X @ rng.normal(size=(n_columns, n_columns)), y  # every column tells something


class PowerCutError(Exception):
    """What ends a process in these tests."""


class FailingScorer:
    """Counts the steps of a scorer, and fails after some."""

    def __init__(self, scorer, n_steps):
        self.scorer, self.left = scorer, n_steps

    def __getattr__(self, name):
        inner = getattr(self.scorer, name)
        if name not in ("score_added", "score_removed", "score"):
            return inner
        if self.left == 0:
            raise PowerCutError
        self.left -= 1
        return inner

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scorer.close()


class Flaky:
    """An objective whose scorer fails after some steps, and which counts them."""

    def __init__(self, monkeypatch, objective, n_steps):
        started = type(objective).start
        self.scorer = None

        def start(own, *arguments, **options):
            self.scorer = FailingScorer(started(own, *arguments, **options), n_steps)
            return self.scorer

        monkeypatch.setattr(type(objective), "start", start)


RIDGE, DISTANCE = RidgeObjective(cv=3), MahalanobisObjective()
SEARCHES = {
    "forward": SequentialSearch(RIDGE),
    "floating": SequentialSearch(RIDGE, direction="floating"),
    "backward stepwise": SequentialSearch(RIDGE, direction="backward_stepwise"),
    "plus-minus": SequentialSearch(RIDGE, direction="plus_minus"),
    "exhaustive": ExhaustiveSearch(RIDGE, n_features_to_select=3),
    "branch and bound": BranchAndBoundSearch(DISTANCE, n_features_to_select=4),
    "random mutation": RandomMutationSearch(RIDGE, random_state=3),
    "random subsets": RandomSubsetSearch(RIDGE, n_iter=40, random_state=3),
    "floating backward": SequentialSearch(RIDGE, direction="floating_backward"),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("n_steps", [1, 2])
def test_an_interrupted_search_ends_like_an_undisturbed_one(name, n_steps, tmp_path, monkeypatch):
    X, y = classes()
    undisturbed = clone(SEARCHES[name]).fit(X, y)
    objective = RIDGE if name != "branch and bound" else DISTANCE
    resumable = clone(SEARCHES[name]).set_params(checkpoint=tmp_path / "search.jsonl")
    with monkeypatch.context() as patch:
        Flaky(patch, objective, n_steps)
        with pytest.raises(PowerCutError):
            resumable.fit(X, y)
    resumed = clone(resumable).fit(X, y)
    assert resumed.history_ == undisturbed.history_
    assert resumed.subset_path_ == undisturbed.subset_path_
    assert resumed.path_scores_ == undisturbed.path_scores_
    assert np.array_equal(resumed.scores_, undisturbed.scores_, equal_nan=True)
    assert np.array_equal(resumed.ranking_, undisturbed.ranking_)
    assert resumed.n_evaluations_ == undisturbed.n_evaluations_


def test_what_is_known_is_not_computed_again(tmp_path, monkeypatch):
    X, y = classes()
    search = SequentialSearch(RIDGE, checkpoint=str(tmp_path / "search"))
    first = search.fit(X, y).history_
    Flaky(monkeypatch, RIDGE, 0)  # not a single score is left to compute
    assert clone(search).fit(X, y).history_ == first


def test_half_a_line_is_forgotten(tmp_path):
    X, y = classes()
    path = tmp_path / "search"
    search = SequentialSearch(RIDGE, checkpoint=path)
    expected = search.fit(X, y).history_
    whole = path.read_bytes()
    for cut in (len(whole) - 5, len(whole) // 2):
        path.write_bytes(whole[:cut])
        assert clone(search).fit(X, y).history_ == expected
        assert path.read_bytes() == whole


def test_random_searches_without_a_seed_go_on_with_the_one_they_drew(tmp_path, monkeypatch):
    X, y = classes()
    search = RandomMutationSearch(RIDGE, n_iter=30, checkpoint=tmp_path / "search")
    with monkeypatch.context() as patch:
        Flaky(patch, RIDGE, 10)
        with pytest.raises(PowerCutError):
            search.fit(X, y)
    seed = json.loads((tmp_path / "search").read_text().splitlines()[0])["seed"]
    resumed = clone(search).fit(X, y)
    assert json.loads((tmp_path / "search").read_text().splitlines()[0])["seed"] == seed
    assert resumed.n_evaluations_ == 31
    assert clone(search).fit(X, y).history_ == resumed.history_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, search: (X + 1e-9, y, search), "the table has changed"),
        (lambda X, y, search: (X, 1 - y, search), "the target has changed"),
        (lambda X, y, search: (X, y, search.set_params(direction="floating")), "one of their parameters has changed"),
        (lambda X, y, search: (X, y, search.set_params(objective__alpha=2.0)), "one of their parameters has changed"),
        (lambda X, y, search: (X, y, search.set_params(objective=NaiveBayesObjective())), "has changed"),
    ],
)
def test_anything_else_than_the_same_search_is_refused(change, message, tmp_path):
    X, y = classes()
    search = SequentialSearch(RidgeObjective(cv=3), n_features_to_select=2, checkpoint=tmp_path / "search").fit(X, y)
    before = (tmp_path / "search").read_bytes()
    X, y, search = change(X, y, clone(search))
    with pytest.raises(ValueError, match=f"{message} since.*delete the file"):
        search.fit(X, y)
    assert (tmp_path / "search").read_bytes() == before


def test_the_number_of_workers_does_not_matter(tmp_path):
    X, y = classes()
    search = SequentialSearch(NaiveBayesObjective(), n_features_to_select=2, checkpoint=tmp_path / "search")
    one = search.fit(X, y).history_
    assert clone(search).set_params(n_jobs=2).fit(X, y).history_ == one


def test_estimators_can_be_kept_too(tmp_path):
    X, y = classes()
    search = SequentialSearch(GaussianNB(), n_features_to_select=2, cv=3, checkpoint=tmp_path / "search")
    first = search.fit(X, y).history_
    assert clone(search).fit(X, y).history_ == first == clone(search).set_params(checkpoint=None).fit(X, y).history_


def test_other_files_are_left_alone(tmp_path):
    X, y = classes()
    (tmp_path / "notes.txt").write_text("shopping list")
    with pytest.raises(ValueError, match="not a checkpoint"):
        SequentialSearch(RIDGE, checkpoint=tmp_path / "notes.txt").fit(X, y)
    assert (tmp_path / "notes.txt").read_text() == "shopping list"
    with pytest.raises(ValueError, match="is a folder"):
        SequentialSearch(RIDGE, checkpoint=tmp_path).fit(X, y)


def test_what_cannot_be_recognised_later_is_refused(tmp_path):
    X, y = classes()
    with pytest.raises(ValueError, match="cannot be pickled"):
        SequentialSearch(lambda X, y: 0.0, checkpoint=tmp_path / "search").fit(X, y)
    folds = KFold(3, shuffle=True)
    with pytest.raises(ValueError, match="give it a random_state"):
        SequentialSearch(CrossValidatedScore(GaussianNB(), cv=folds), checkpoint=tmp_path / "search").fit(X, y)
    with pytest.raises(ValueError, match="give it a random_state"):
        SequentialSearch(GaussianNB(), cv=folds, checkpoint=tmp_path / "search").fit(X, y)


def test_a_file_that_two_searches_wrote_to_is_told(tmp_path):
    X, y = classes()
    path = tmp_path / "search"
    SequentialSearch(RIDGE, n_features_to_select=3, checkpoint=path).fit(X, y)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[2], lines[1]]))
    with pytest.raises(ValueError, match="does not fit"):
        SequentialSearch(RIDGE, n_features_to_select=3, checkpoint=path).fit(X, y)


def path_of(scores):
    path = SearchPath(8)
    for size, score in scores.items():
        path.note(SearchStep("found", None, size, score), list(range(size)))
    return path


def test_of_equal_scores_the_smallest_size_is_the_best():
    path = path_of({3: 0.5, 5: 0.9, 6: 0.9 + 1e-14, 7: 0.6})
    assert path.best_size == 5
    assert path.best_size_up_to(4) == 3
    assert path.best_size_up_to(2) == 3  # none is so small


def test_the_smallest_size_that_is_good_enough():
    path = path_of({3: 0.5, 5: 0.9, 7: 0.95})
    assert [path.smallest_reaching(target) for target in (None, 0.4, 0.9 + 1e-14, 0.92, 1.0)] == [None, 3, 5, 7, None]


def test_a_subset_gives_way_to_a_better_one_of_its_size_only():
    path = path_of({2: 0.5})
    path.note(SearchStep("found", None, 2, 0.4), [3, 4])
    assert path.subsets == {2: (0, 1)}
    path.note(SearchStep("found", None, 2, 0.6), [4, 3])
    assert (path.subsets, path.scores, len(path.history)) == ({2: (3, 4)}, {2: 0.6}, 3)


def test_chosen_columns_rank_first_and_then_by_what_was_tried():
    path = SearchPath(5)
    path.tried[:] = [0.1, 0.5, 0.3, float("nan"), 0.5]
    assert ranking_by_trials(path, (0, 2)).tolist() == [2, 3, 1, 5, 4]


def two_classes(n_columns=7):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, n_columns))
    X[:, 2] += y
    X[:, 4] -= y
    return X, y


def parity(n_columns=10):
    X = np.random.default_rng(1).integers(0, 2, size=(200, n_columns))
    return X, X[:, 0] ^ X[:, 5]


RIDGE_4 = RidgeObjective(cv=4)


def test_focus_is_the_exhaustive_search_that_stops_when_it_is_enough():
    X, y = parity(n_columns=30)  # far too many for all subsets, and no trouble for those of one and two columns
    search = ExhaustiveSearch("conflicts", target_score=0.0).fit(X, y)
    assert search.get_support(indices=True).tolist() == [0, 5]
    assert search.n_evaluations_ == 30 + 30 * 29 / 2
    named = ExhaustiveSearch(ConflictsObjective(), target_score=0.0).fit(X, y)
    assert named.history_ == search.history_


def test_focus_gives_up_at_the_limit_and_says_so():
    X, y = parity()
    y[:1] = 1 - y[:1]
    with pytest.warns(ConvergenceWarning, match=r"No subset of up to 2 columns reaches target_score=0\.0"):
        search = ExhaustiveSearch("conflicts", target_score=0.0, limit=100).fit(X, y)
    assert search.get_support(indices=True).tolist() == [0, 5]
    few = ExhaustiveSearch("conflicts", max_features=1, target_score=0.0).fit(X, y)
    assert few.get_support().sum() == 1


def test_filters_end_when_nothing_is_left_to_gain():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(100, 8))
    y = X[:, 1] + 2 * X[:, 6]
    for criterion in ("conflicts", "class_entropy", "inconsistency_rate", "mdl"):
        search = SequentialSearch(criterion, target_score=None if criterion == "mdl" else 0.0).fit(X, y)
        assert search.get_support(indices=True).tolist() == [1, 6]
        assert max(search.subset_path_) == (8 if criterion == "mdl" else 2)


@pytest.mark.parametrize(
    "search",
    [ExhaustiveSearch(RIDGE_4, target_score=0.6), RandomSubsetSearch(RIDGE_4, target_score=0.6, random_state=0)],
)
def test_the_smallest_subset_that_is_enough_is_kept(search):
    X, y = two_classes()
    search.fit(X, y)
    size = search.n_features_to_select_
    assert search.path_scores_[size] >= 0.6
    assert all(score < 0.6 for smaller, score in search.path_scores_.items() if smaller < size)


def test_unknown_words_are_refused():
    X, y = two_classes()
    with pytest.raises(ValueError, match="direction"):
        SequentialSearch(RIDGE_4, direction="sideways").fit(X, y)
    with pytest.raises(ValueError, match="objective"):
        SequentialSearch("beauty").fit(X, y)


def test_parameters_reach_into_the_criterion():
    search = SequentialSearch(RidgeObjective()).set_params(objective__alpha=3.0)
    assert search.objective.alpha == 3.0


@pytest.mark.parametrize(
    "search",
    [SequentialSearch(RIDGE_4, direction="floating"), RandomMutationSearch(RIDGE_4, n_iter=30, random_state=0)],
)
def test_a_curve_over_sizes_is_read_off_one_search_in_each_fold(search):
    X, y = two_classes()
    curve = selection_curve(search, GaussianNB(), X, y, cv=3, random_state=0)
    met = {7} if isinstance(search, RandomMutationSearch) else set(range(1, 8))  # a walk meets some sizes only
    assert met <= set(curve.sizes) <= set(range(1, 8))
    assert curve.sizes[-1] == 7
