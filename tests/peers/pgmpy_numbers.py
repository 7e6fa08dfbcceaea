"""Trees of pgmpy for random tables with classes, written to pgmpy.json beside this file.

``python -m venv FOLDER``, ``FOLDER/bin/pip install pgmpy``, and ``FOLDER/bin/python tests/peers/pgmpy_numbers.py``.

pgmpy is told to direct the edges away from the first column, as fewer does. Left alone, it begins at the column that
shares most information with all others, the class among them.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np


def random_table(rng, n_rows, n_columns, n_classes=3):
    """Codes (a row for each column), levels, classes; columns depend on the class and on one another."""
    n_levels = rng.integers(2, 5, size=n_columns)
    classes = rng.integers(n_classes, size=n_rows)
    codes = np.array(
        [(rng.integers(levels, size=n_rows) + classes * (rng.random(n_rows) < 0.3)) % levels for levels in n_levels]
    )
    codes[1:] = np.where(rng.random(codes[1:].shape) < 0.3, codes[:-1], codes[1:]) % n_levels[1:, None]
    return codes, n_levels, classes


def random_tables():
    """The 20 tables: 300 rows, 8 columns and 3 classes each."""
    rng = np.random.default_rng(0)
    return [random_table(rng, 300, 8) for _ in range(20)]


def main():
    import pandas as pd
    from pgmpy.estimators import TreeSearch

    trees = []
    for codes, _, classes in random_tables():
        table = pd.DataFrame(codes.T).assign(label=classes)
        table.columns = [*map(str, range(len(codes))), "label"]
        search = TreeSearch(table, root_node="0", n_jobs=1)
        found = search.estimate(estimator_type="tan", class_node="label", show_progress=False)
        trees.append(sorted([int(parent), int(child)] for parent, child in found.edges() if parent != "label"))
    numbers = {"versions": {"pgmpy": version("pgmpy"), "numpy": version("numpy")}, "trees": trees}
    Path(__file__).with_name("pgmpy.json").write_text(json.dumps(numbers, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
