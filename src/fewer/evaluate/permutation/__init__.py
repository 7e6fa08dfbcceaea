"""Permutation tests: is the error of a procedure better than on randomised versions of the data?"""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate.permutation._permutation_test import interaction_test, permutation_test
    from fewer.evaluate.permutation._randomize import Null, randomize
    from fewer.evaluate.permutation._result import (
        Discoveries,
        PermutationResult,
        benjamini_hochberg,
        permutation_verdict,
    )
    from fewer.evaluate.permutation._statistic import seed_sequence

__all__ = [
    "Discoveries",
    "Null",
    "PermutationResult",
    "benjamini_hochberg",
    "interaction_test",
    "permutation_test",
    "permutation_verdict",
    "randomize",
    "seed_sequence",
]

__getattr__, __dir__ = lazy_names(__name__)
