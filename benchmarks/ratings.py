"""``python -m benchmarks.ratings``: SoftImpute and MMMF on a table of the shape of MovieLens, 140,000 x 27,000.

Twenty million entries of rank 20 with noise, drawn so that some rows and columns have many and most have few; a
hundredth of them is held out. Each model runs in a process of its own. Seconds, peak memory and the error at the
held-out entries go to benchmarks/results/ratings.json. It takes some minutes and 4 GB.
"""

import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.files import FOLDER
from benchmarks.results import machine_facts, versions

SHAPE, N_OBSERVED, RANK, NOISE = (140_000, 27_000), 20_000_000, 20, 1.0
MODELS: dict[str, dict[str, Any]] = {
    "SoftImpute": {"max_rank": RANK, "n_alphas": 3, "eps": 0.1, "tol": 1e-3},
    "MMMF": {"rank": RANK, "tol": 1e-3},
}


def ratings() -> tuple[sparse.csr_array, sparse.csr_array]:
    """The table to fit, and the entries held out; row and column sizes fall off like those of ratings."""
    rng = np.random.default_rng(0)
    rows, columns = (np.sort((n * rng.random(N_OBSERVED) ** 2).astype(np.int64)) for n in SHAPE)
    cells = np.unique(rows * SHAPE[1] + rng.permutation(columns))
    rows, columns = cells // SHAPE[1], cells % SHAPE[1]
    scores, loadings = (rng.normal(size=(n, RANK), scale=RANK**-0.25) for n in SHAPE)
    values = NOISE * rng.normal(size=len(cells))
    for start in range(0, len(cells), 1 << 20):
        some = slice(start, start + (1 << 20))
        values[some] += np.einsum("ij,ij->i", scores[rows[some]], loadings[columns[some]])
    held_out = rng.random(len(cells)) < 0.01
    return tuple(
        sparse.csr_array((values[kept], (rows[kept], columns[kept])), shape=SHAPE) for kept in (~held_out, held_out)
    )


def fitted(name: str) -> dict[str, Any]:
    """Seconds, gigabytes and error of one model, which has this process to itself."""
    from fewer import complete

    table, unseen = ratings()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(complete, name)(random_state=0, **MODELS[name]).fit(table)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    where = unseen.tocoo()
    wrong = model.predict_entries(where.row, where.col) - where.data
    return {
        "name": name,
        "options": MODELS[name],
        "observed": int(table.nnz),
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "peak_gigabytes": peak,
        "gigabytes_before": before,
        "rank": int(model.rank_),
        "steps": int(model.n_iter_),
        "error": float(np.sqrt(np.mean(wrong**2))),
        "spread": float(np.std(where.data)),
        "noise": NOISE,
    }


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(fitted(sys.argv[1])))
        return
    runs = []
    for name in MODELS:
        command = [sys.executable, "-m", "benchmarks.ratings", name]
        output = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(output.stdout.splitlines()[-1]))
        print(runs[-1], flush=True)
    packages = ("fewer", "numpy", "scipy", "scikit-learn", "numba")
    document = {"machine": machine_facts(), "versions": versions(packages), "runs": runs}
    path = FOLDER / "results" / "ratings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
