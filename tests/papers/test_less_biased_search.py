"""Less biased measurement of feature selection benefits (Reunanen 2006): the floating search used there."""

import pytest
from sklearn.model_selection import StratifiedKFold

from fewer.datasets import load
from fewer.select import NearestNeighbourObjective, SequentialSearch


class BestPerSize:
    """A callback that notes the best score of every size after each step."""

    def __init__(self):
        self.snapshots = []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if fitted_estimator is not None:
            self.snapshots.append(dict(fitted_estimator.path_scores_))


@pytest.mark.claim("less-biased", 7)
@pytest.mark.parametrize("inner", ["loo", 5])
def test_floating_search_never_loses_a_best_and_rarely_loses_to_forward_search(inner, figure):
    wine = load("wine")
    at_least, n_pairs, n_steps = 0, 0, 0
    for repeat in range(10):
        rows, _ = next(StratifiedKFold(2, shuffle=True, random_state=repeat).split(wine.X, wine.y))
        X, y = wine.X[rows], wine.y[rows]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        objective = NearestNeighbourObjective(cv=inner)
        noted = BestPerSize()
        forward = SequentialSearch(objective, random_state=repeat).fit(X, y)
        floating = SequentialSearch(objective, direction="floating", random_state=repeat).set_callbacks(noted).fit(X, y)
        for before, after in zip(noted.snapshots, noted.snapshots[1:], strict=False):
            assert all(after[size] >= score for size, score in before.items())
        n_steps += len(noted.snapshots)
        at_least += sum(floating.path_scores_[size] >= forward.path_scores_[size] for size in range(1, 14))
        n_pairs += 13
    figure(f"{inner}: {n_steps} steps without a loss; as good as SFS in {at_least / n_pairs:.1%} of {n_pairs} pairs")
    assert n_steps > 130
    assert at_least / n_pairs >= 0.95
