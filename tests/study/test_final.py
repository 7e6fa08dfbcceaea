"""The winner on all rows: how few columns nearly suffice."""

import numpy as np

from fewer.study._final import smallest_good_size
from fewer.study._scores import CandidateScores


def winner(scores, *, makes_columns=False):
    sizes = np.array([1, 2, 8])
    return CandidateScores(1, "it", sizes, scores[None], (), 0.25, 0.95, makes_columns=makes_columns)


def test_the_smallest_good_size_is_within_one_standard_error_of_the_difference():
    """Errors are sd * sqrt(1/4 + 1/4): 0.082 where 0.1 is lacking, and 0.071 where 0.05 is."""
    behind = np.array([[0, 0, 0], [0.2, 0.2, 0], [0, 0, 0], [0.2, 0, 0]])
    assert smallest_good_size(winner(0.9 - behind)) == 2
    assert smallest_good_size(winner(0.9 + behind)) == 1


def test_new_columns_are_not_compared_with_those_of_the_table():
    scores = np.array([[0.5, 0.6, 0.9], [0.5, 0.6, 0.9], [0.4, 0.6, 0.9]])
    assert smallest_good_size(winner(scores)) == 8
    assert smallest_good_size(winner(scores, makes_columns=True)) == 2
