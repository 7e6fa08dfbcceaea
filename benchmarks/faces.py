"""Whose face is it? The table of Wolf and Bileschi (2005), on the images that are at hand.

``python -m benchmarks.faces --data FOLDER`` reads Yale.mat and warpAR10P.mat from the folder (or from ``FEWER_DATA``),
takes 3 images of each person for training, 20 times, and writes docs/data/faces.json. It takes some minutes.

Every method projects the images and then names the nearest training image. Its settings (how many components; for
filters also which score and how many columns) are chosen in two ways: as in the paper, where the setting with the
highest recognition rate *on the test images* is reported, and honestly, by leaving out one image of each person in
turn of the training images.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from scipy.io import loadmat
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.cases import UnavailableError, real_file
from fewer import __version__
from fewer.extract import HaarFeatures
from fewer.select import (
    FisherWeightSelector,
    SelectTop,
    VarianceWeightSelector,
    WeightedPCA,
    fisher_score,
    kolmogorov_smirnov_score,
    pearson_score,
)

COMMAND = "python -m benchmarks.faces --data FOLDER"
N_TRAINING = 3
SHARES = np.arange(1, 11) / 10
"""Components tried, as shares of as many as the training rows allow."""
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Columns that a filter keeps."""


@dataclass(frozen=True)
class Faces:
    """A set of images: its file, their height and width, and the paper's figures (percent, standard deviation)."""

    file: str
    image_shape: tuple[int, int]
    paper: dict[tuple[str, str], tuple[float, float]]


DATA = {
    "Yale": Faces(
        "Yale.mat",
        (32, 32),
        {
            ("pixels", "PCA"): (70.0, 2.5),
            ("Haar", "PCA"): (64.5, 2.2),
            ("Haar, best filter", "PCA"): (67.6, 4.9),
            ("Haar, direct weights", "PCA"): (81.2, 2.4),
            ("pixels", "Fisher"): (83.4, 3.2),
            ("Haar", "Fisher"): (81.8, 3.1),
            ("Haar, best filter", "Fisher"): (83.4, 2.7),
            ("Haar, direct weights", "Fisher"): (88.2, 2.4),
        },
    ),
    "AR": Faces(
        "warpAR10P.mat",
        (60, 40),
        {
            ("pixels", "PCA"): (62.9, 2.4),
            ("Haar", "PCA"): (32.2, 1.6),
            ("Haar, best filter", "PCA"): (62.9, 4.4),
            ("Haar, direct weights", "PCA"): (70.6, 1.8),
            ("pixels", "Fisher"): (91.9, 1.3),
            ("Haar", "Fisher"): (90.4, 1.8),
            ("Haar, best filter", "Fisher"): (90.9, 1.6),
            ("Haar, direct weights", "Fisher"): (94.6, 0.8),
        },
    ),
}


def one_against_rest_correlation(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Largest absolute correlation of each column with being a certain person."""
    people = (y[:, None] == np.unique(y)).astype(float)
    scores = np.stack([pearson_score(X, person).scores for person in people.T])
    return scores.max(axis=0)


def kolmogorov_smirnov(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Largest gap between the distributions of any one person and of the rest."""
    return kolmogorov_smirnov_score(X, y, method="asymptotic").scores.max(axis=0)


FILTERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "Pearson": one_against_rest_correlation,
    "Fisher score": fisher_score,
    "Kolmogorov-Smirnov": kolmogorov_smirnov,
}


def all_equal() -> SelectTop:
    """The selector that keeps every column, so that the columns are scaled to norm one and nothing else."""
    return SelectTop(lambda X, y: np.ones(X.shape[1]), fraction=1.0)


def filters(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, SelectTop]]:
    """Every filter with every number of columns; each score is taken once."""
    for name, score in FILTERS.items():
        scores = score(X, y)
        for fraction in FRACTIONS:
            yield f"{name} {fraction:.0%}", SelectTop(lambda X, y, scores=scores: scores, fraction=fraction)


def coordinates(
    columns: str, pixels: np.ndarray, haar: np.ndarray, train: np.ndarray, y: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Principal coordinates of all images from training images alone, for every setting of a way to treat columns."""
    if columns == "pixels":
        yield "", PCA(svd_solver="full").fit(pixels[train]).transform(pixels)[:, : len(train) - 1]
        return
    if columns == "Haar, best filter":
        chosen: Any = filters(haar[train], y[train])
    else:
        chosen = [
            (
                "",
                {
                    "Haar": all_equal,
                    "Haar, direct weights": VarianceWeightSelector,
                    "Haar, iterated weights": lambda: VarianceWeightSelector("iterative", n_directions=10, tol=1e-6),
                    "Haar, Fisher weights": FisherWeightSelector,
                    "pixels, direct weights": VarianceWeightSelector,
                }[columns](),
            )
        ]
    table = pixels if columns.startswith("pixels") else haar
    for setting, selector in chosen:
        yield setting, WeightedPCA(selector=selector).fit(table[train], y[train]).transform(table)


COLUMNS = (
    "pixels",
    "Haar",
    "Haar, best filter",
    "Haar, direct weights",
    "Haar, iterated weights",
    "Haar, Fisher weights",
    "pixels, direct weights",
)


def recognised(points: np.ndarray, train: np.ndarray, test: np.ndarray, y: np.ndarray) -> float:
    """Share of the test images whose nearest training image shows the same person."""
    squares = (points[test] ** 2).sum(axis=1)[:, None] - 2 * points[test] @ points[train].T
    nearest = train[np.argmin(squares + (points[train] ** 2).sum(axis=1), axis=1)]
    return float(np.mean(y[nearest] == y[test]))


def rates(
    columns: str, pixels: np.ndarray, haar: np.ndarray, train: np.ndarray, test: np.ndarray, y: np.ndarray
) -> dict[str, dict[str, float]]:
    """Recognition rates of every setting, after PCA and after Fisher."""
    n_people = len(np.unique(y))
    found: dict[str, dict[str, float]] = {"PCA": {}, "Fisher": {}}
    for setting, points in coordinates(columns, pixels, haar, train, y):
        for share in SHARES:
            name = f"{setting} {share:.0%} of components".strip()
            size = max(1, round(share * points.shape[1]))
            found["PCA"][name] = recognised(points[:, :size], train, test, y)
            size = max(1, round(share * min(points.shape[1], len(train) - n_people)))
            discriminant = LinearDiscriminantAnalysis().fit(points[train, :size], y[train])
            found["Fisher"][name] = recognised(discriminant.transform(points[:, :size]), train, test, y)
    return found


def training_images(y: np.ndarray, seed: int) -> np.ndarray:
    """Some images of each person, one row for each person."""
    rng = np.random.RandomState(seed)
    return np.stack([rng.permutation(np.flatnonzero(y == person))[:N_TRAINING] for person in np.unique(y)])


def measured(name: str, columns: str, n_splits: int, folder: Path | None) -> list[dict[str, Any]]:
    """Recognition rates of one way to treat the columns, with PCA and with Fisher, beside the paper's."""
    faces = DATA[name]
    file = loadmat(folder / faces.file if folder else real_file(faces.file))
    pixels, y = file["X"].astype(float), file["Y"].ravel()
    haar = HaarFeatures(faces.image_shape, order="F").fit_transform(pixels)  # looks at one image at a time
    started = time.perf_counter()
    on_test: dict[str, list[dict[str, float]]] = {"PCA": [], "Fisher": []}
    honest: dict[str, list[float]] = {"PCA": [], "Fisher": []}
    for seed in range(n_splits):
        images = training_images(y, seed)
        train = np.sort(images.ravel())
        outer = rates(columns, pixels, haar, train, np.setdiff1d(np.arange(len(y)), train), y)
        inner = [
            rates(columns, pixels, haar, np.sort(np.delete(images, left, axis=1).ravel()), np.sort(images[:, left]), y)
            for left in range(N_TRAINING)
        ]
        for projection in honest:
            on_test[projection].append(outer[projection])
            means = {key: np.mean([fold[projection][key] for fold in inner]) for key in outer[projection]}
            honest[projection].append(outer[projection][max(means, key=means.__getitem__)])
    rows = []
    for projection, splits in on_test.items():
        by_setting = {key: 100 * np.array([split[key] for split in splits]) for key in splits[0]}
        best = max(by_setting, key=lambda key: by_setting[key].mean())
        inside = 100 * np.array(honest[projection])
        rows.append(
            {
                "data": name,
                "columns": columns,
                "projection": projection,
                "best": round(by_setting[best].mean(), 1),
                "best_sd": round(by_setting[best].std(ddof=1), 1),
                "best_setting": best,
                "honest": round(inside.mean(), 1),
                "honest_sd": round(inside.std(ddof=1), 1),
                "honest_splits": [round(rate, 1) for rate in inside],
                "paper": faces.paper.get((columns, projection)),
                "seconds": round(time.perf_counter() - started, 1),
            }
        )
    return rows


def printed(results: list[dict[str, Any]], console: Console) -> None:
    """The table, best honest rate first."""
    for name in DATA:
        table = Table("columns", "then", "honest", "best on test", "paper", title=f"{name}: percent recognised")
        for row in sorted((row for row in results if row["data"] == name), key=lambda row: -row["honest"]):
            paper = f"{row['paper'][0]} ± {row['paper'][1]}" if row["paper"] else ""
            table.add_row(
                row["columns"],
                row["projection"],
                f"{row['honest']} ± {row['honest_sd']}",
                f"{row['best']} ± {row['best_sd']}",
                paper,
            )
        console.print(table)


def main(
    data: Annotated[Path | None, typer.Option(help="Folder with the .mat files; FEWER_DATA by default.")] = None,
    file: Annotated[Path, typer.Option(help="JSON file to write.")] = Path("docs/data/faces.json"),
    splits: Annotated[int, typer.Option(help="Random choices of training images.")] = 20,
) -> None:
    """Run every method on both sets of faces, print the table and write it."""
    warnings.simplefilter("ignore", UserWarning)  # pixels that never vary, and as few rows of each person as there are
    page = {"command": COMMAND, "fewer": __version__, "training_images": N_TRAINING, "splits": splits}
    results: list[dict[str, Any]] = []
    for name in DATA:
        for columns in COLUMNS:
            try:
                results += measured(name, columns, splits, data)
            except (UnavailableError, FileNotFoundError) as error:
                raise typer.BadParameter(f"{error}. Give --data FOLDER with the face images.") from error
            typer.echo(f"{name}, {columns}: {results[-1]['seconds']} s")
    printed(results, Console())
    file.write_text(json.dumps(page | {"results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
