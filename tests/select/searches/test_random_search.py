"""Random mutation and random subsets: within their bounds, never worse, and the same again by the same seed."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fewer.select import DiscriminantObjective, InconsistencyObjective, RandomMutationSearch, RandomSubsetSearch


def classes(n_columns=10):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, n_columns))
    X[:, 2] += 2 * y
    X[:, 4] -= 2 * y
    return X, y


def parity(n_rows=200, n_columns=10):
    X = np.random.default_rng(0).integers(0, 2, size=(n_rows, n_columns))
    return X, X[:, 3] ^ X[:, 7]


@pytest.mark.parametrize("seed", range(5))
def test_a_mutation_is_kept_unless_it_is_worse(seed):
    X, y = classes()
    search = RandomMutationSearch(DiscriminantObjective(cv=3), n_iter=60, random_state=seed).fit(X, y)
    scores = [step.score for step in search.history_]
    assert scores == sorted(scores)
    assert search.history_[0].action == "started"
    assert search.n_evaluations_ == 61
    assert search.path_scores_[search.n_features_to_select_] == scores[-1]
    with DiscriminantObjective(cv=3).start(X, y, random_state=seed) as scorer:
        scorer.move_to(search.get_support(indices=True))
        assert scorer.score() == pytest.approx(scores[-1])


def test_mutations_cross_plateaus():
    # All subsets of the same number of columns are equal, but for the one that is wanted.
    X = np.arange(6.0)[None, :] + np.zeros((5, 1))

    def wanted(columns, y):
        return 1.0 if {2.0, 4.0} <= set(columns[0]) else 0.0

    found = [RandomMutationSearch(wanted, n_iter=200, random_state=seed).fit(X) for seed in range(10)]
    assert all({2, 4} <= set(search.get_support(indices=True)) for search in found)


def test_mutations_stay_within_bounds():
    X, y = classes()
    search = RandomMutationSearch(DiscriminantObjective(cv=3), max_features=3, n_iter=80, random_state=0).fit(X, y)
    assert {step.size for step in search.history_} <= {1, 2, 3}
    one = RandomMutationSearch(DiscriminantObjective(cv=3), max_features=1, random_state=0).fit(X, y)
    assert one.n_evaluations_ == 1  # there is nothing to toggle
    single = RandomMutationSearch(DiscriminantObjective(cv=3), random_state=0).fit(X[:, :1], y)
    assert single.get_support().tolist() == [True]


def test_the_seed_decides():
    X, y = classes()
    for search in (
        RandomMutationSearch(DiscriminantObjective(cv=3), n_iter=30),
        RandomSubsetSearch(DiscriminantObjective(cv=3), n_iter=30),
    ):
        paths = [search.set_params(random_state=seed).fit(X, y).history_ for seed in (0, 0, 1)]
        assert paths[0] == paths[1] != paths[2]


def test_mutations_stop_when_it_is_enough():
    X, y = classes()
    search = RandomMutationSearch(DiscriminantObjective(cv=3), target_score=0.5, random_state=0).fit(X, y)
    assert search.n_evaluations_ < 20


def test_random_subsets_get_ever_smaller():
    X, y = parity()
    search = RandomSubsetSearch(InconsistencyObjective(), target_score=0.0, random_state=0).fit(X, y)
    assert search.get_support(indices=True).tolist() == [3, 7]
    good = [step.size for step in search.history_ if step.score == 0]
    assert good == sorted(good, reverse=True)
    assert search.n_evaluations_ == 770


def test_a_rate_that_is_tolerated_makes_subsets_smaller():
    X, y = parity()
    y[:6] = 1 - y[:6]  # 3% of the rows are wrong
    search = RandomSubsetSearch(InconsistencyObjective(), target_score=-0.05, n_iter=2000, random_state=0).fit(X, y)
    assert search.get_support(indices=True).tolist() == [3, 7]


def test_what_is_never_good_enough_is_told():
    X, y = classes()
    with pytest.warns(ConvergenceWarning, match=r"None of 20 random subsets reaches target_score=1\.5"):
        search = RandomSubsetSearch(DiscriminantObjective(cv=3), target_score=1.5, n_iter=20, random_state=0).fit(X, y)
    assert search.path_scores_[search.n_features_to_select_] == max(search.path_scores_.values())


def test_columns_are_ranked_by_the_best_subset_that_holds_them():
    values = np.array([0.1, 0.4, 0.2, 0.3])
    X = np.arange(4.0)[None, :] + np.zeros((5, 1))
    search = RandomSubsetSearch(
        lambda S, y: values[S[0].astype(int)].sum(), max_features=2, n_iter=200, random_state=0
    ).fit(X)
    assert search.scores_ == pytest.approx([0.5, 0.7, 0.6, 0.7])
    assert search.ranking_.tolist() == [4, 1, 3, 2]


@pytest.mark.parametrize("search", [RandomMutationSearch, RandomSubsetSearch])
def test_a_bound_beyond_the_number_of_columns_is_no_bound(search):
    X, y = classes()
    free, bounded = (
        search(DiscriminantObjective(), max_features=n, n_iter=20, random_state=0).fit(X, y) for n in (None, 11)
    )
    assert bounded.history_ == free.history_
