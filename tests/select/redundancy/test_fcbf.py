"""The fast correlation-based filter: predominant columns, and who dropped the others."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import normalized_mutual_info_score

from fewer.select import FCBF
from fewer.select.information._levels import ROUNDING, discretise


def predominant(levels, y, threshold):
    """The rule, written out: a column stays unless a better one that stays is closer to it than the target is."""
    with_target = np.array([normalized_mutual_info_score(column, y) for column in levels])
    kept, dropped_by = [], {}
    for column in np.argsort(-with_target, kind="stable"):
        if with_target[column] < threshold or with_target[column] < ROUNDING:
            continue
        for better in kept:
            if normalized_mutual_info_score(levels[better], levels[column]) >= with_target[column] - ROUNDING:
                dropped_by[int(column)] = better
                break
        else:
            kept.append(int(column))
    return kept, dropped_by


@pytest.mark.parametrize("threshold", [0.0, 0.2])
@pytest.mark.parametrize("discretisation", ["mdl", "equal_frequency", "equal_width"])
def test_what_stays_is_what_the_rule_written_out_keeps(threshold, discretisation):
    X, y = load_breast_cancer(return_X_y=True)
    select = FCBF(threshold=threshold, discretisation=discretisation).fit(X, y)
    kept, dropped_by = predominant(discretise(X, y, method=discretisation).codes, y, threshold)
    assert np.argsort(select.ranking_)[: len(kept)].tolist() == kept
    assert select.n_features_to_select_ == len(kept)
    assert {c: int(by) for c, by in enumerate(select.dropped_by_) if by >= 0} == dropped_by


def test_copies_are_dropped_by_the_first_of_them():
    X, y = load_breast_cancer(return_X_y=True)
    plain, tripled = FCBF().fit(X, y), FCBF().fit(np.column_stack([X, X, 2 * X]), y)
    assert np.array_equal(tripled.get_support(), np.concatenate([plain.get_support(), np.zeros(60, dtype=bool)]))
    kept = plain.get_support(indices=True)
    assert np.array_equal(tripled.dropped_by_[30 + kept], kept)


def test_numbers_are_cut_into_intervals():
    X, y = load_diabetes(return_X_y=True)
    select = FCBF(task="regression").fit(X, y)
    levels = discretise(y[:, None]).codes[0]
    assert np.array_equal(select.get_support(), FCBF().fit(X, levels).get_support())
    assert select.get_support()[2]  # the body mass index


def test_sparse_tables_and_words_as_classes_give_the_same():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, size=(300, 50)).astype(float)
    y = np.where(X[:, 4] + X[:, 5] > 0, "spam", "ham")
    full = FCBF().fit(X, y)
    assert np.array_equal(FCBF().fit(sparse.csr_array(X), y).ranking_, full.ranking_)
    assert full.get_support()[[4, 5]].all()


def test_nothing_above_the_threshold_keeps_the_best_with_a_warning():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(
        UserWarning, match=r"No column reaches threshold=0.99 \(highest .*: 0\.\d+\); the best one is kept"
    ):
        select = FCBF(threshold=0.99).fit(X, y)
    assert select.get_support(indices=True).tolist() == [np.argmax(select.scores_)]
    with pytest.warns(UserWarning, match="No column reaches"):
        assert FCBF().fit(np.ones((20, 2)), np.arange(20) % 2).get_support().tolist() == [True, False]
