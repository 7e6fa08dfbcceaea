"""Reunanen's finding on real data: how far estimates of a selection's benefit are off.

``python -m benchmarks.reunanen docs/data/selection_bias.json`` runs nearest neighbours with forward and floating
searches on five tables, 30 splits each, and writes the biases beside those of the paper (tables 3 and 5). It takes
some minutes on two cores; a table that the file already holds is not run again, unless ``--afresh``.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fewer import __version__
from fewer.datasets import load, make_waveform
from fewer.engine import Engine
from fewer.select import NearestNeighbourObjective, SequentialSearch
from fewer.theory import selection_bias_experiment

SEARCHES = ("forward", "floating")
COMMAND = "python -m benchmarks.reunanen docs/data/selection_bias.json"


@dataclass(frozen=True)
class Table:
    """A table of the paper: how to get it, how many rows to search on, and the paper's biases in points by search."""

    read: Callable[[], tuple[np.ndarray, np.ndarray]]
    search_rows: int
    paper: dict[str, tuple[int, int, int, int]]
    scaled: bool = True


def numeric(name: str) -> tuple[np.ndarray, np.ndarray]:
    dataset = load(name)
    return np.asarray(dataset.X, dtype=float), np.asarray(dataset.y, dtype=str)


def mushroom() -> tuple[np.ndarray, np.ndarray]:
    """A column for each value of each category, as in the paper."""
    dataset = load("mushroom")
    return OneHotEncoder(sparse_output=False).fit_transform(dataset.X.to_pandas()), np.asarray(dataset.y, dtype=str)


def waveform() -> tuple[np.ndarray, np.ndarray]:
    problem = make_waveform(random_state=0)
    assert problem.y is not None
    return problem.X, problem.y


TABLES = {
    "sonar": Table(lambda: numeric("sonar"), 105, {"forward": (18, 4, -2, -2), "floating": (20, 6, 0, -1)}),
    "ionosphere": Table(lambda: numeric("ionosphere"), 176, {"forward": (9, 4, 0, 0), "floating": (9, 3, -1, 0)}),
    "wdbc": Table(lambda: numeric("wdbc"), 284, {"forward": (5, 2, 0, 0), "floating": (4, 1, -1, -1)}),
    # The paper searches on 1,000 and 813 rows of these; fewer rows keep the run short, and more is left to bias.
    "waveform": Table(waveform, 400, {"forward": (5, 2, 1, 0), "floating": (6, 2, 0, -1)}),
    "mushroom": Table(mushroom, 200, {"forward": (1, 0, 0, -2), "floating": (2, 0, 0, -2)}, scaled=False),
}


def measured(name: str, direction: str, n_repeats: int, engine: Engine) -> dict[str, Any]:
    """Biases of one table and search, in points, beside the paper's."""
    table = TABLES[name]
    X, y = table.read()
    search = SequentialSearch(NearestNeighbourObjective(cv=5), direction=direction, random_state=0)
    started = time.perf_counter()
    found = selection_bias_experiment(
        make_pipeline(StandardScaler(), search) if table.scaled else search,
        KNeighborsClassifier(1),
        X,
        y,
        train_size=table.search_rows,
        n_repeats=n_repeats,
        engine=engine,
        random_state=0,
        progress=True,
    )
    return {
        "data": name,
        "search": direction,
        "rows": len(X),
        "search_rows": table.search_rows,
        "columns": X.shape[1],
        "repeats": n_repeats,
        "size": {key: round(row["size"], 1) for key, row in found.summary.items()},
        "estimated": {key: round(100 * row["estimated"], 2) for key, row in found.summary.items()},
        "true": {key: round(100 * row["true"], 2) for key, row in found.summary.items()},
        "bias": {key: round(100 * row["bias"], 2) for key, row in found.summary.items()},
        "sd": {key: round(100 * row["sd"], 2) for key, row in found.summary.items()},
        "paper": dict(zip(found.summary, table.paper[direction], strict=True)),
        "seconds": round(time.perf_counter() - started, 1),
    }


def main(
    file: Annotated[Path, typer.Argument(help="JSON file to write.")],
    repeats: Annotated[int, typer.Option(help="Random splits of each table.")] = 30,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = 2,
    afresh: Annotated[bool, typer.Option("--afresh", help="Run what the file already holds again.")] = False,
) -> None:
    """Measure the biases and write them, table by table."""
    results = [] if afresh or not file.exists() else json.loads(file.read_text(encoding="utf-8"))["results"]
    done = {(row["data"], row["search"], row["repeats"]) for row in results}
    with Engine.local(jobs) as engine:
        for name in TABLES:
            for direction in SEARCHES:
                if (name, direction, repeats) in done:
                    continue
                results.append(measured(name, direction, repeats, engine))
                page = {"command": COMMAND, "fewer": __version__, "learner": "1-NN", "inner": "5-fold"}
                file.write_text(json.dumps(page | {"results": results}, indent=1) + "\n", encoding="utf-8")
                typer.echo(f"{name} {direction}: {results[-1]['bias']} in {results[-1]['seconds']} s")


if __name__ == "__main__":
    typer.run(main)
