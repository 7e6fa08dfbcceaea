"""Trees between columns for classification: orders beside greedy search over all edges, and beside WEKA's and pgmpy's.

WEKA is Java: the environment variable ``WEKA_JAR`` names its archive, and the time includes the start of the machine.
"""

import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Case, Contest, UnavailableError, real_file


def accuracy_in_folds(structure: str, X: np.ndarray, y: np.ndarray) -> float:
    from sklearn.model_selection import StratifiedKFold

    from fewer.graph import TANClassifier

    rates = [
        TANClassifier(structure).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    ]
    return float(np.mean(rates))


def orders(folder: Path) -> Contest:
    """Digits in 5 folds; accuracies within 3 points of greedy search."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Contest(
        ours={each: partial(accuracy_in_folds, each, X, y) for each in ("omi-cr", "omisp-cr", "ocr-cr")},
        peers={"greedy search over all edges": lambda: accuracy_in_folds("cr", X, y)},
        objective=lambda rate: rate,
        tolerance=0.03,
    )


def split_levels(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Levels of a real table in a training half and a test half, cut on the former; and the codes of the classes."""
    from fewer.datasets import PackageMissingError, load
    from fewer.extract import MDLDiscretizer
    from fewer.io import read_table

    try:
        if name == "Isolet":
            dataset = read_table(real_file("Isolet.mat"))
        else:
            dataset = load(name)
    except PackageMissingError as error:
        raise UnavailableError(str(error)) from error
    X, y = np.asarray(dataset.X, dtype=float), np.unique(np.asarray(dataset.y), return_inverse=True)[1]
    train = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    cut = MDLDiscretizer().fit(X[train], y[train])
    levels = cut.transform(X).astype(int)
    return levels[train], y[train], levels[~train], y[~train]


def write_arff(path: Path, X: np.ndarray, y: np.ndarray, n_levels: np.ndarray, n_classes: int) -> None:
    sizes = [*n_levels, n_classes]
    head = [f"@attribute x{place} {{{','.join(map(str, range(size)))}}}" for place, size in enumerate(sizes)]
    rows = [",".join(map(str, row)) for row in np.column_stack([X, y])]
    path.write_text("\n".join(["@relation levels", *head, "@data", *rows, ""]))


def weka_accuracy(folder: Path) -> float:
    """Share of the test rows that WEKA's tree-augmented naive Bayes classifies right."""
    jar = os.environ.get("WEKA_JAR")
    if jar is None or not Path(jar).exists():
        raise ModuleNotFoundError("WEKA_JAR does not name WEKA's archive", name="weka")
    said = subprocess.run(
        [
            "java", "-Xmx4g", "-cp", jar, "weka.classifiers.bayes.BayesNet", "-t", folder / "train.arff", "-T",
            folder / "test.arff", "-D", "-v", "-o", "-Q", "weka.classifiers.bayes.net.search.local.TAN", "--", "-S",
            "BAYES", "-E", "weka.classifiers.bayes.net.estimate.SimpleEstimator", "--", "-A", "0.5",
        ],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    (line,) = [line for line in said.splitlines() if line.startswith("Correctly Classified Instances")]
    return float(line.split()[-2]) / 100


def trees(name: str, folder: Path) -> Contest:
    """The generative tree on the same levels, half of the rows for training; accuracies within 2 points."""
    X, y, X_test, y_test = split_levels(name)
    n_levels = np.maximum(X.max(axis=0), X_test.max(axis=0)) + 1
    n_classes = int(max(y.max(), y_test.max())) + 1
    write_arff(folder / "train.arff", X, y, n_levels, n_classes)
    write_arff(folder / "test.arff", X_test, y_test, n_levels, n_classes)

    def fewer(structure: str) -> float:
        from fewer.graph import TANClassifier

        model = TANClassifier(structure, smoothing="dirichlet", cell_prior=0.5, discrete=True)
        return model.fit(X, y).score(X_test, y_test)

    return Contest(
        ours={"fewer": lambda: fewer("cmi"), "fewer, omi-cr": lambda: fewer("omi-cr")},
        peers={"weka": lambda: weka_accuracy(folder)},
        objective=lambda rate: round(rate, 3),
        tolerance=0.05,
    )


def tree_edges(folder: Path) -> Contest:
    """Edges of the generative tree of 24 columns of digits, beside pgmpy."""
    X, y, *_ = split_levels("digits")
    X = X[:, :24]

    def fewer() -> Any:
        from fewer.graph import TANClassifier

        return {
            frozenset(map(int, edge)) for edge in np.argwhere(TANClassifier("cmi", discrete=True).fit(X, y).adjacency_)
        }

    def pgmpy() -> Any:
        import pandas as pd
        from pgmpy.estimators import TreeSearch

        frame = pd.DataFrame(np.column_stack([X, y]))
        edges = TreeSearch(frame, root_node=0, n_jobs=1).estimate(
            estimator_type="tan", class_node=24, show_progress=False
        )
        return {frozenset(map(int, edge)) for edge in edges.edges() if 24 not in edge}

    return Contest(
        ours={"fewer": fewer},
        peers={"pgmpy": pgmpy},
        objective=lambda edges: [sorted(edge) for edge in sorted(edges, key=sorted)],
        tolerance=0,
    )


CASES = [
    Case("order or greedy search, digits", orders, repeats=1),
    Case("tree of letters, 10,000 rows x 16 columns", lambda folder: trees("letter", folder), repeats=3),
    Case("tree of Isolet, 780 rows x 617 columns", lambda folder: trees("Isolet", folder), repeats=1),
    Case("edges of a tree, 898 rows x 24 columns", tree_edges, repeats=1),
]
