from pathlib import Path

import numpy as np
import pytest

from benchmarks import Case, Contest
from benchmarks.memory import growth_in_megabytes

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is measured on Linux")


def filled(megabytes):
    return np.ones(megabytes * 2**20, dtype=np.uint8)


def test_the_peak_counts_what_the_contender_needs_and_not_what_the_preparation_did():
    def prepare(folder):
        filled(300)  # given back before the contender starts
        contenders = {"small": lambda: filled(1).sum(), "large": lambda: filled(100).sum()}
        return Contest(ours=contenders, peers={"peer": int}, objective=float)

    case = Case("toy", prepare)
    assert 95 < growth_in_megabytes(case, "large") < 130
    assert growth_in_megabytes(case, "small") < 30
