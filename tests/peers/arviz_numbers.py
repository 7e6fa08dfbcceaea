"""Numbers of ArviZ for one matrix of log-likelihoods, written to arviz.json beside this file.

``python -m pip install --target FOLDER arviz``, and ``PYTHONPATH=FOLDER python tests/peers/arviz_numbers.py``.
"""

import json
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import norm


def shared_log_lik(n_chains=4, n_draws=250):
    """Rows of a normal distribution with known variance, some of them far out, under draws of its mean.

    The draws are normal quantiles in the order of the golden ratio, which any language computes alike.
    """
    golden = (np.sqrt(5) - 1) / 2
    place = np.arange(1, n_chains * n_draws + 1)
    means = 0.2 + 0.4 * norm.ppf((place * golden) % 1)
    rows = np.array([-2.0, -1.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0, 5.0, 8.0])
    log_lik = norm.logpdf(rows, loc=means[:, None], scale=0.8)
    return log_lik.reshape(n_chains, n_draws, len(rows))


def main():
    import arviz as az

    log_lik = shared_log_lik()
    posterior = {"mean": log_lik[:, :, 4]}
    data = az.from_dict(posterior=posterior, log_likelihood={"x": log_lik})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loo, waic = az.loo(data, pointwise=True, reff=0.7), az.waic(data, pointwise=True)
        smoothed = az.psislw(-log_lik.reshape(-1, log_lik.shape[2]).T)
    numbers = {
        "version": az.__version__,
        "elpd_loo": float(loo.elpd_loo),
        "p_loo": float(loo.p_loo),
        "loo_i": np.asarray(loo.loo_i).tolist(),
        "pareto_k": np.asarray(loo.pareto_k).tolist(),
        "elpd_waic": float(waic.elpd_waic),
        "p_waic": float(waic.p_waic),
        "waic_i": np.asarray(waic.waic_i).tolist(),
        "pareto_k_reff_1": np.asarray(smoothed[1]).tolist(),
    }
    Path(__file__).with_name("arviz.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
