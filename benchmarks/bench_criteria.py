"""WAIC and leave-one-out from posterior draws, beside ArviZ."""

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest, UnavailableError


def criterion(name: str, n_draws: int, n_rows: int, folder: Path) -> Contest:
    """Expected log predictive density of rows under draws of a mean, 4 chains."""
    if find_spec("arviz") is None:
        raise UnavailableError("needs the package arviz")
    rng = np.random.default_rng(0)
    rows, means = rng.normal(size=n_rows), rng.normal(0, 0.5, size=(4, n_draws // 4, 1))
    log_lik = -0.5 * (rows - means) ** 2 - 0.5 * np.log(2 * np.pi)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz

    data = arviz.from_dict(posterior={"mean": means[:, :, 0]}, log_likelihood={"x": log_lik})

    def fewer() -> float:
        from fewer.evaluate import bayes_loo, waic

        return waic(log_lik).elpd if name == "waic" else bayes_loo(log_lik, r_eff=1.0).elpd

    def peer() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name == "waic":
                return arviz.waic(data, pointwise=True).elpd_waic
            return arviz.loo(data, pointwise=True, reff=1.0).elpd_loo

    return Contest(ours={"fewer": fewer}, peers={"arviz": peer}, objective=float, tolerance=1e-9)


CASES = [
    Case("WAIC, 4,000 draws x 10,000 rows", lambda folder: criterion("waic", 4_000, 10_000, folder), repeats=3),
    Case("PSIS-LOO, 4,000 draws x 10,000 rows", lambda folder: criterion("loo", 4_000, 10_000, folder), repeats=3),
]
