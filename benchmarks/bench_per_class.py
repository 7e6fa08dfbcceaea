"""Columns for every class beside one-versus-rest peers, elimination beside RFE, and a whole curve of errors."""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def classes(n_rows: int, n_columns: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Each class is a little higher than the others in ten columns of its own."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns))
    for label in range(n_classes):
        X[y == label, 10 * label : 10 * label + 10] += 2.0
    return X, y


def mean_differences(n_rows: int, n_columns: int, n_classes: int, folder: Path) -> Contest:
    """The first hundred columns of every class by their mean minus that of all other rows."""
    X, y = classes(n_rows, n_columns, n_classes)

    def fewer() -> np.ndarray:
        from fewer.select import OVEFoldChangeSelector

        select = OVEFoldChangeSelector(100, contrast="ovr-samples").fit(X, y)
        return np.sort(select.ranking_per_class_[:, :100])

    def plain_numpy() -> np.ndarray:
        # As tools for marker genes do it: for each class the two means, and a sort.
        lists = []
        for label in range(n_classes):
            inside = y == label
            lists.append(np.argsort(X[~inside].mean(axis=0) - X[inside].mean(axis=0), kind="stable")[:100])
        return np.sort(lists)

    return Contest(ours={"fewer": fewer}, peers={"numpy": plain_numpy}, objective=np.asarray, tolerance=0)


def welch(n_rows: int, n_columns: int, n_classes: int, folder: Path) -> Contest:
    """Welch's t of every class against the rest, as scanpy ranks genes by default."""
    X, y = classes(n_rows, n_columns, n_classes)

    def fewer() -> np.ndarray:
        from fewer.select import OVRTStatSelector

        return OVRTStatSelector(100).fit(X, y).class_scores_

    def scanpy() -> np.ndarray:
        import anndata
        import pandas as pd
        from scanpy.tools import rank_genes_groups

        labels = pd.DataFrame({"group": [f"{label:02}" for label in y]}, index=[str(row) for row in range(n_rows)])
        data = anndata.AnnData(X, obs=labels.astype("category"))
        rank_genes_groups(data, "group", method="t-test")
        found = data.uns["rank_genes_groups"]
        scores = np.empty((n_classes, n_columns))
        for label in range(n_classes):
            scores[label, found["names"][f"{label:02}"].astype(int)] = found["scores"][f"{label:02}"]
        return np.abs(scores)

    def scipy() -> np.ndarray:
        from scipy.stats import ttest_ind

        found = [ttest_ind(X[y == label], X[y != label], equal_var=False).statistic for label in range(n_classes)]
        return np.abs(found)

    return Contest(
        ours={"fewer": fewer}, peers={"scipy": scipy, "scanpy": scanpy}, objective=np.asarray, tolerance=1e-5
    )


def one_list(n_rows: int, n_columns: int, n_classes: int, folder: Path) -> Contest:
    """One list for all classes: the BW ratio is the F statistic but for a factor."""
    X, y = classes(n_rows, n_columns, n_classes)

    def fewer() -> np.ndarray:
        from fewer.select import BWRatioSelector

        return BWRatioSelector(10).fit(X, y).get_support()

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import SelectKBest, f_classif

        return SelectKBest(f_classif, k=10 * n_classes).fit(X, y).get_support()

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=np.flatnonzero, tolerance=0)


def elimination(n_rows: int, n_columns: int, n_classes: int, step: int, folder: Path) -> Contest:
    """The ten columns that recursive elimination leaves for each class, with the same number dropped in each round."""
    X, y = classes(n_rows, n_columns, n_classes)

    def fewer() -> np.ndarray:
        from fewer.select import OVRSVMRFESelector

        return np.sort(OVRSVMRFESelector(10, step=step).fit(X, y).selected_per_class_)

    def scikit_learn() -> np.ndarray:
        from sklearn.feature_selection import RFE
        from sklearn.svm import SVC

        machine = SVC(kernel="linear", tol=1e-6)
        found = [RFE(machine, n_features_to_select=10, step=step).fit(X, y == label) for label in range(n_classes)]
        return np.stack([np.flatnonzero(one.support_) for one in found])

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=np.asarray, tolerance=0)


def curve(n_rows: int, n_columns: int, n_classes: int, folder: Path) -> Contest:
    """Cross-validated errors for 2 to 30 columns per class, by five folds."""
    X, y = classes(n_rows, n_columns, n_classes)
    grid = range(2, 31)

    def folds() -> object:
        from sklearn.model_selection import StratifiedKFold

        return StratifiedKFold(5, shuffle=True, random_state=0)

    def fewer() -> np.ndarray:
        from fewer.evaluate import sustainable_error_curve
        from fewer.select import PUGOVRSVM

        return sustainable_error_curve(PUGOVRSVM(), X, y, grid=grid, cv=folds()).errors

    def scikit_learn() -> np.ndarray:
        from sklearn.model_selection import cross_val_predict
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import SVC

        from fewer.select import OVEFoldChangeSelector

        machines = OneVsRestClassifier(SVC(kernel="linear"))
        models = [make_pipeline(OVEFoldChangeSelector(number), machines) for number in grid]
        return np.array([np.mean(cross_val_predict(model, X, y, cv=folds()) != y) for model in models])

    return Contest(
        ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=lambda errors: errors, tolerance=0.05
    )


CASES = [
    Case("class lists by fold change, 200 x 20,000, 14 classes", partial(mean_differences, 200, 20_000, 14)),
    Case("class lists by Welch's t, 200 x 20,000, 14 classes", partial(welch, 200, 20_000, 14)),
    Case("one list, 200 x 20,000, 14 classes", partial(one_list, 200, 20_000, 14)),
    Case("elimination, 60 x 2,000, 3 classes, 100 at a time", partial(elimination, 60, 2_000, 3, 100), repeats=3),
    Case("elimination, 100 x 300, 3 classes, one at a time", partial(elimination, 100, 300, 3, 1), repeats=3),
    Case("errors of 29 sizes, 60 x 5,000, 3 classes", partial(curve, 60, 5_000, 3), repeats=3),
]
