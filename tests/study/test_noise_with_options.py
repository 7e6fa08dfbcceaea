"""Noise is called noise, whatever else is asked of the study."""

import numpy as np
import pytest

from fewer.facade import run_study
from fewer.io import Dataset

EFFORT = {"preset": "quick", "methods": ["anova"], "learners": ["ridge"], "n_folds": 4, "n_repeats": 1, "n_jobs": 1}
OPTIONS = {
    "always": {"always": ["x5"]},
    "column groups": {"column_groups": {"first": ["x0", "x1", "x2"], "second": ["x3", "x4"]}},
    "weights": {"weights": "w"},
    "all of these": {
        "always": ["x5"],
        "column_groups": {"first": ["x0", "x1", "x2"], "second": ["x3", "x4"]},
        "weights": "w",
        "cost": "FN=5,FP=1",
        "scoring": ["balanced_accuracy", "neg_log_loss"],
    },
    "cost": {"cost": "FN=5,FP=1"},
    "metrics": {"scoring": ["balanced_accuracy", "accuracy"]},
    "time limit": {"budget": "2h"},
}


def noise(seed, *, n_rows=60, n_columns=8):
    """Columns without a signal."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n_rows) % 2)
    columns = {f"x{place}": column for place, column in enumerate(rng.normal(size=(n_columns, n_rows)))}
    weights = {"w": rng.integers(1, 5, n_rows) + 2 * codes}  # one class counts more
    return Dataset.from_frame(columns | weights | {"state": np.array(["ill", "well"])[codes]}, target="state")


@pytest.mark.parametrize("name", OPTIONS)
def test_noise_is_called_noise_with_each_option(name):
    asked = {"drop": [] if "weights" in OPTIONS[name] else ["w"], "n_permutations": 19}
    found = run_study(noise(1), **EFFORT, **OPTIONS[name], **asked).findings.learnable
    assert found.verdict == "no"
    assert found.number > 0.05
