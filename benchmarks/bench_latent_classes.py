"""Latent classes beside StepMix: ten random starts each, to the same log-likelihood.

Both sides run EM from ten starts until the likelihood is flat, and keep the best. StepMix (``categorical_nan``) stops
where the mean log-likelihood of a row changes by less than 1e-10, its default; ours where the log-likelihood changes by
less than 1e-8 of its size in three steps. The objective is the log-likelihood of the best start, which must agree to
1e-6 of its size.
"""

from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest

STARTS = 10


@cache
def answers(n_rows: int, n_items: int, n_components: int, n_categories: int, missing: float) -> np.ndarray:
    """Codes of answers of classes with random probabilities, NaN where missing."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(n_categories), size=(n_items, n_components))
    classes = rng.integers(n_components, size=n_rows)
    running = np.cumsum(shares, axis=2)[:, classes]
    codes = (rng.random((n_items, n_rows, 1)) > running).sum(axis=2).T.astype(float)
    codes[rng.random(codes.shape) < missing] = np.nan
    return codes


def classes_of(
    n_rows: int, n_items: int, n_components: int, n_categories: int, missing: float, folder: Path
) -> Contest:
    """The whole fit, from the table to the log-likelihood."""
    X = answers(n_rows, n_items, n_components, n_categories, missing)

    def fewer() -> float:
        from fewer.latent import LatentClass

        return LatentClass(n_components, n_init=STARTS, random_state=0).fit(X).log_likelihood_

    def stepmix() -> float:
        from stepmix.stepmix import StepMix

        options = {"n_init": STARTS, "max_iter": 1000, "random_state": 0, "verbose": 0, "progress_bar": 0}
        model = StepMix(n_components, measurement="categorical_nan" if missing else "categorical", **options).fit(X)
        return float(model.score(X)) * n_rows

    return Contest(ours={"fewer": fewer}, peers={"stepmix": stepmix}, objective=lambda value: value, tolerance=1e-6)


def case(n_rows: int, n_items: int, n_components: int, n_categories: int, missing: float, repeats: int) -> Case:
    """One table."""
    gone = f", {missing:.0%} missing" if missing else ""
    words = f"{n_rows:,} x {n_items} items of {n_categories} answers{gone}, {n_components} classes, {STARTS} starts"
    sizes = (n_rows, n_items, n_components, n_categories, missing)
    return Case(words, lambda folder: classes_of(*sizes, folder), repeats=repeats)


CASES = [
    case(1000, 10, 3, 2, 0.0, 3),
    case(1000, 10, 3, 3, 0.2, 3),
    case(10_000, 20, 5, 3, 0.2, 1),
]
