"""What a search has found: the best subset of every size, and which size is the best."""

from fewer.select.searches._search import SearchPath, SearchStep, ranking_by_trials


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
