"""The winner on all rows: how few columns nearly suffice."""

from types import SimpleNamespace

import numpy as np

from fewer.study._final import smallest_good_size


def test_the_smallest_good_size_is_within_one_standard_error_of_the_difference():
    """Errors are sd * sqrt(1/4 + 1/4): 0.082 where 0.1 is lacking, and 0.071 where 0.05 is."""
    behind = np.array([[0, 0, 0], [0.2, 0.2, 0], [0, 0, 0], [0.2, 0, 0]])
    winner = SimpleNamespace(scores=(0.9 - behind)[None], sizes=np.array([1, 2, 8]), test_ratio=0.25)
    assert smallest_good_size(winner) == 2
    winner.scores = (0.9 + behind)[None]
    assert smallest_good_size(winner) == 1
