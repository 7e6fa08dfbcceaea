"""Parametric bootstrap of the likelihood ratio: are k components enough, or are more needed?

The likelihood ratio of a mixture with k and with more components has no chi-squared law, because the smaller model lies
on the boundary of the larger one. Its law under the smaller model is simulated (McLachlan, 1987): tables of the same
size, with the same missing entries, are drawn from the fitted smaller model, both models are fitted to each, and

    p = (1 + number of simulated ratios that reach the observed one) / (number of tables + 1).

References
----------
.. [1] McLachlan, G. J. (1987). On bootstrapping the likelihood ratio test statistic for the number of components in a
   normal mixture. Applied Statistics 36, 318-324.
"""

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import clone

from fewer._estimators import write_whole
from fewer._figures import Result
from fewer._wording import p_digits
from fewer.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Callable

_FORMAT = "fewer bootstrap test 1"


@dataclass(repr=False)
class BootstrapTest(Result):
    """Bootstrap test of a number of components against a larger one.

    Attributes
    ----------
    n_small, n_large : int
        The numbers of components.
    statistic : float
        Twice the gain in log-likelihood on the table.
    null_statistics : ndarray of shape (n_resamples,)
        The same on tables drawn from the smaller model.
    p_value : float
        Share of tables, this one included, whose statistic is at least as large.
    """

    _data: ClassVar[tuple[str, ...]] = ("n_small", "n_large", "statistic", "null_statistics", "p_value")

    n_small: int
    n_large: int
    statistic: float
    null_statistics: np.ndarray

    @property
    def p_value(self) -> float:
        """``(1 + #{simulated >= observed}) / (n_resamples + 1)``."""
        reached = int(np.sum(self.null_statistics >= self.statistic))
        return (1 + reached) / (len(self.null_statistics) + 1)

    def __repr__(self) -> str:
        return (
            f"{self.n_small} against {self.n_large} components: likelihood ratio {self.statistic:.2f}, simulated "
            f"{self.null_statistics.mean():.2f} on average, p = {p_digits(self.p_value)}"
        )


class _Experiment(NamedTuple):
    """What every simulated table needs: the fitted smaller model, both models to fit, and where entries are missing."""

    drawing: Any
    small: Any
    large: Any
    missing: np.ndarray | None
    n_rows: int


def _simulated(seed: int, experiment: _Experiment) -> float:
    """Likelihood ratio of one table drawn from the smaller model."""
    drawn = experiment.drawing.sample(experiment.n_rows, random_state=seed)
    X = drawn[0] if isinstance(drawn, tuple) else drawn
    if experiment.missing is not None:
        X = np.array(X, dtype=object if np.asarray(X).dtype.kind not in "biuf" else np.float64)
        X[experiment.missing] = None if X.dtype == object else np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a model says about the user's table it has said before
        return likelihood_ratio(_seeded(experiment.small, seed).fit(X), _seeded(experiment.large, seed).fit(X), X)


def likelihood_ratio(small: Any, large: Any, X: Any) -> float:
    """Twice the gain in log-likelihood; a larger model that ends in a worse optimum counts as no gain."""
    return max(2 * float(np.sum(large.score_samples(X)) - np.sum(small.score_samples(X))), 0.0)


def _seeded(estimator: Any, seed: int) -> Any:
    estimator = clone(estimator)
    return estimator.set_params(random_state=seed) if "random_state" in estimator.get_params() else estimator


def _missing_entries(X: Any) -> np.ndarray | None:
    """Which entries are missing; None if there are none."""
    if sparse.issparse(X):
        return None
    if hasattr(X, "columns") and hasattr(X, "shape"):
        import narwhals.stable.v1 as nw

        columns = nw.from_native(X, eager_only=True).iter_columns()
        table = np.column_stack([np.array(each.to_list(), dtype=object) for each in columns])
    else:
        table = np.asarray(X)
    if table.dtype.kind == "f":
        found = np.isnan(table)
    elif table.dtype.kind == "O":
        gone = [each is None or type(each).__name__ == "NAType" or each != each for each in table.ravel()]
        found = np.array(gone, dtype=bool).reshape(table.shape)
    else:
        return None
    return found if found.any() else None


def bootstrap_test(
    small: Any,
    large: Any,
    X: Any,
    *,
    sizes: tuple[int, int],
    seeds: "np.ndarray",
    engine: Engine,
    known: dict[int, float],
    note: "Callable[[int, float], None]",
) -> BootstrapTest:
    """Test of two fitted models; ``known`` has what earlier runs simulated, ``note`` is called with each new value."""
    models = [each._for_samples() if hasattr(each, "_for_samples") else clone(each) for each in (small, large)]
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    experiment = _Experiment(small, models[0], models[1], _missing_entries(X), n_rows)
    todo = [place for place in range(len(seeds)) if place not in known]
    run = engine.run(
        _simulated,
        [int(seeds[place]) for place in todo],
        shared=experiment,
        labels=[f"simulated table {place + 1}" for place in todo],
        short_tasks=True,
    )
    for outcome in run:
        place = todo[outcome.index]
        known[place] = outcome.unwrap()
        note(place, known[place])
    if run.interrupted:
        raise KeyboardInterrupt("interrupted; with checkpoint=, the next call goes on from here.")
    null = np.array([known[place] for place in range(len(seeds))])
    return BootstrapTest(*sizes, likelihood_ratio(small, large, X), null)


@contextmanager
def simulated_values(
    path: "str | os.PathLike[str] | None", header: dict[str, Any]
) -> Iterator[tuple[dict[tuple[int, int], float], "Callable[[int, int, float], None]"]]:
    """Values by test and table that a file holds already, and a function that adds one to it; a line for each.

    A process that is killed loses the line that it was writing, and no more.
    """
    if path is None:
        yield {}, lambda test, place, value: None
        return
    file = Path(path).expanduser()
    if not file.exists() or file.stat().st_size == 0:
        write_whole(file, json.dumps({"format": _FORMAT} | header) + "\n")
    lines = file.read_bytes().split(b"\n")
    try:
        first = json.loads(lines[0])
    except ValueError:
        first = None
    if first != {"format": _FORMAT} | header:
        raise ValueError(
            f"checkpoint={str(path)!r} is not of a bootstrap test of this model, table, candidates and random_state, "
            "and was not changed. Name another file, or delete it."
        )
    known = {(test, place): value for test, place, value in map(json.loads, lines[1:-1])}
    with file.open("r+b") as opened:
        opened.truncate(sum(len(line) + 1 for line in lines[:-1]))
        opened.seek(0, os.SEEK_END)

        def note(test: int, place: int, value: float) -> None:
            opened.write(json.dumps([test, place, value]).encode() + b"\n")
            opened.flush()

        yield known, note


def fingerprint(estimator: Any, X: Any, candidates: list[int], n_resamples: int, seed: int) -> dict[str, Any]:
    """What must be the same for a test to go on from a file."""
    if not isinstance(seed, int):
        raise ValueError("checkpoint= needs random_state to be a number, so that a later run draws the same tables.")
    described = joblib.hash((type(estimator).__qualname__, estimator.get_params()))
    return {"model": described, "table": joblib.hash(X), "candidates": candidates, "n": n_resamples, "seed": seed}
