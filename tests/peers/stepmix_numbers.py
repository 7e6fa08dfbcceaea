"""Latent classes of votes with missing answers by StepMix, added to ``classes.json``.

In an environment of its own: ``pip install stepmix==3.0.0`` and ``python tests/peers/stepmix_numbers.py``.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("classes.json")


def main():
    """Fit the classes, and write them into the file."""
    from stepmix.stepmix import StepMix

    peers = json.loads(FILE.read_text())
    X = np.array([[float(vote) for vote in row] for row in peers["tables"]["votes"]])
    rows, columns = np.indices(X.shape)
    X[(7 * rows + 3 * columns + rows * columns) % 6 == 0] = np.nan
    found = {}
    for name, k in (("two", 2), ("three", 3)):
        options = {"n_init": 20, "max_iter": 20000, "abs_tol": 1e-14, "rel_tol": 0.0, "random_state": 0}
        model = StepMix(n_components=k, measurement="binary_nan", verbose=0, progress_bar=0, **options).fit(X)
        sizes = model.get_parameters()["weights"]
        order = np.argsort(-sizes)
        yes = model.get_parameters()["measurement"]["pis"][order]
        found[name] = {
            "log_likelihood": float(model.score(X) * len(X)),
            "sizes": sizes[order].tolist(),
            "probabilities": yes.tolist(),
        }
    peers["stepmix"] = found
    peers["versions"]["stepmix"] = version("stepmix")
    FILE.write_text(json.dumps(peers, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
