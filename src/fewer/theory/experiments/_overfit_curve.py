"""How a search for hyper-parameters over-fits: its criterion, and the truth, after every iteration.

The criterion falls with each iteration, for that is what the search is for. The loss on rows that it has not seen falls
with it at first. Where it turns up, the search has begun to fit the accidents of the sample.

Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
performance evaluation. Journal of Machine Learning Research 11, 2079-2107, Figure 2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer._figures import Result, plain
from fewer.catalogue import method
from fewer.evaluate.protocol import (
    Table,
    checked_table,
    frozen,
    is_search,
    rows_of,
    scoring_of,
    seeded,
    tunes_itself,
    values_of,
    workers,
)
from fewer.theory.experiments._split_criterion import squared_errors

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.engine import Engine

# With at least this many realisations, they are the units; with fewer, this many parts of the test rows.
_UNITS = 10


@dataclass(frozen=True, eq=False, repr=False)
class OverfitCurve(Result):
    """Criterion and true loss along a search; made by :func:`selection_overfit_curve`.

    Attributes
    ----------
    criterion : ndarray of shape (n_repeats, n_iterations + 1)
        What the search minimised, before its first iteration and after each. A search that ended sooner than others
        stays where it ended.
    parts : ndarray of shape (n_repeats, n_parts, n_iterations + 1)
        Loss on rows that the search has not seen, for each part of them.
    """

    criterion: np.ndarray
    parts: np.ndarray

    _data = ("turn", "rise", "rise_se", "overfits")

    @property
    def held_out(self) -> np.ndarray:
        """Loss on rows that the search has not seen, for each realisation and iteration."""
        return self.parts.mean(axis=1)

    @property
    def turn(self) -> int:
        """Iteration after which the mean loss on unseen rows is smallest."""
        return int(np.argmin(self.held_out.mean(axis=0)))

    @property
    def _rises(self) -> np.ndarray:
        """Rise from the turn to the end for each unit, after the turn that the other half of them shows.

        If the same figures gave the turn and the rise after it, chance alone would make every curve rise.
        """
        units = self.held_out if len(self.held_out) >= _UNITS else self.parts.mean(axis=0)
        halves = units[::2], units[1::2]
        turns = [int(np.argmin(half.mean(axis=0))) for half in halves]
        return np.concatenate([half[:, -1] - half[:, turn] for half, turn in zip(halves, reversed(turns), strict=True)])

    @property
    def rise(self) -> float:
        """How much the loss on unseen rows rises from its turn to the end of the search; no rise is about 0."""
        return float(self._rises.mean())

    @property
    def rise_se(self) -> float:
        """Standard error of the rise: over realisations, or over parts of the test rows when those are few."""
        return float(self._rises.std(ddof=1) / np.sqrt(len(self._rises)))

    @property
    def overfits(self) -> bool:
        """Whether the rise is more than chance would give in one of 20 searches that do not over-fit.

        By Wilcoxon's signed-rank test, for now and then a search runs away and its loss is huge.
        """
        from scipy.stats import wilcoxon

        rises = self._rises
        return bool(rises.any() and wilcoxon(rises, alternative="greater").pvalue < 0.05)

    def __repr__(self) -> str:
        mean, criterion = self.held_out.mean(axis=0), self.criterion.mean(axis=0)
        n, last = self.criterion.shape[0], self.criterion.shape[1] - 1
        lines = [
            f"OverfitCurve: {n} repeat{'s' * (n > 1)}, {last} iteration{'s' * (last > 1)}",
            f"  criterion {criterion[0]:.4f} -> {criterion[-1]:.4f}",
            f"  unseen rows {mean[0]:.4f} -> {mean[self.turn]:.4f} after iteration {self.turn} -> {mean[-1]:.4f}",
        ]
        if self.overfits:
            lines.append(f"  over-fits the criterion: {self.rise:+.4f} (standard error {self.rise_se:.4f}) since then")
        else:
            lines.append(f"  no over-fitting that these rows can show ({self.rise:+.4f}, se {self.rise_se:.4f})")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON.

        Returns
        -------
        data : dict
            Both curves, averaged over realisations, and the turn.
        """
        means = {"criterion": self.criterion.mean(axis=0), "held_out": self.held_out.mean(axis=0)}
        return plain(means) | super().to_dict() | {"n_repeats": len(self.criterion)}

    def plot(self) -> "go.Figure":
        """Both curves, averaged over realisations, with the turn marked.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        iterations, held_out = np.arange(self.criterion.shape[1]), self.held_out
        mean = held_out.mean(axis=0)
        figure = _figures.new_figure(
            title="The search over-fits" if self.overfits else "No over-fitting that these rows can show",
            x="iteration of the search",
            y="loss",
        )
        if len(held_out) > 1:
            se = held_out.std(axis=0, ddof=1) / np.sqrt(len(held_out))
            figure.add_trace(
                _figures.band("two standard errors", iterations, mean - 2 * se, mean + 2 * se, _figures.RED)
            )
        figure.add_trace(_figures.line("criterion", iterations, self.criterion.mean(axis=0), _figures.BLUE))
        figure.add_trace(_figures.line("unseen rows", iterations, mean, _figures.RED))
        if self.overfits:
            figure.add_vline(
                x=self.turn, line={"color": _figures.GREY, "dash": "dot"}, annotation_text=f"turn: {self.turn}"
            )
        return figure


class Trajectory(NamedTuple):
    criterion: np.ndarray
    learners: list[Any]  # unfitted, with the choice after each iteration; the same object while it stays


@method(
    tasks=["evaluation"],
    when="You tune many hyper-parameters on few rows, and want to see whether the search should have stopped sooner.",
    cost="O(r) searches and O(r t) fits, for r realisations of t iterations",
    paper="selection-bias",
    handles=["missing", "sparse", "categorical"],
)
def selection_overfit_curve(
    estimator: Any,
    X: Any,
    y: Any,
    generator: Callable[..., Any] | None = None,
    *,
    n_repeats: int = 1,
    n_test: int = 4096,
    test_size: float = 0.5,
    scoring: Any = None,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool = False,
) -> OverfitCurve:
    """Criterion of a search, and the loss on unseen rows, after every iteration.

    Parameters
    ----------
    estimator : estimator
        ``KernelRidgeClassifierLOO``, whose iterations are the steps of its optimiser and whose losses are mean squared
        errors; or a search such as ``RandomizedSearchCV``, whose iterations are its candidates, the best so far
        counting, and whose losses are scores with their sign turned.
    X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        Table.
    y : array-like of shape (n_samples,)
        Target.
    generator : callable, default=None
        ``generator(n_samples, random_state=seed)`` gives (X, y, ...) from the population of the table, as the functions
        ``fewer.datasets.make_NAME`` do; it draws the test rows, and training sets of the same size for further
        realisations. Without it, a part of the table is held out, another one in each realisation.
    n_repeats : int, default=1
        Training sets to average over.
    n_test : int, default=4096
        Test rows of the generator.
    test_size : float, default=0.5
        Share of the rows to hold out when there is no generator.
    scoring : str or callable, default=None
        Score for a search; by default its own.
    engine : Engine or None, default=None
        Where to run; by default in this process.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws everything.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    curve : OverfitCurve
        Both losses, the iteration where the true one turns up, and how much it rises from there. It plots itself.

    References
    ----------
    .. [1] Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
       performance evaluation. Journal of Machine Learning Research 11, 2079-2107.

    Examples
    --------
    >>> from fewer.datasets import make_twonorm
    >>> from fewer.theory import selection_overfit_curve
    >>> from fewer.learn import KernelRidgeClassifierLOO
    >>> X, y, _ = make_twonorm(n_samples=60, random_state=0)
    >>> model = KernelRidgeClassifierLOO(kernel="ard", solver="lbfgs")
    >>> selection_overfit_curve(model, X, y, make_twonorm, random_state=0).overfits
    True
    """
    from sklearn.utils import check_random_state

    if not (is_search(estimator) or tunes_itself(estimator)):
        raise TypeError(
            f"{type(estimator).__name__} keeps no record of its search; pass KernelRidgeClassifierLOO (with select) "
            "or a search such as RandomizedSearchCV."
        )
    if n_repeats < 1:
        raise ValueError(f"n_repeats={n_repeats} must be at least 1.")
    table = Table(*checked_table(X, y, learner=estimator), scoring_of(estimator, scoring))
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_repeats)
    done = values_of(
        _curves,
        [(number, int(seed)) for number, seed in enumerate(seeds)],
        (estimator, table, generator, n_test, test_size),
        engine=workers(engine, n_jobs),
        progress=progress,
        description="Searches",
        labels=[f"repeat {number}" for number in range(n_repeats)],
    )
    longest = max(len(criterion) for criterion, _ in done.values())
    return OverfitCurve(
        np.array([_held_to(longest, criterion) for criterion, _ in done.values()]),
        np.array([_held_to(longest, parts) for _, parts in done.values()]),
    )


def _held_to(length: int, curve: np.ndarray) -> np.ndarray:
    """The curve, kept at its last value up to a length."""
    missing = length - curve.shape[-1]
    return np.concatenate([curve, np.repeat(curve[..., -1:], missing, axis=-1)], axis=-1)


def _curves(task: tuple[int, int], shared: tuple[Any, Any, Any, int, float]) -> tuple[np.ndarray, np.ndarray]:
    """Criterion, and loss on each part of the test rows, along one search."""
    (number, seed), (estimator, table, generator, n_test, test_size) = task, shared
    X, y, X_test, y_test = _rows(estimator, table, generator, n_test, test_size, number, seed)
    searched = seeded(estimator, seed).fit(X, y)
    trajectory = _trajectory(searched)
    parts = np.array_split(np.random.default_rng(seed).permutation(len(y_test)), _UNITS)
    losses: list[np.ndarray] = []
    for position, learner in enumerate(trajectory.learners):
        if position and learner is trajectory.learners[position - 1]:
            losses.append(losses[-1])
            continue
        losses.append(_losses(learner.fit(X, y), X_test, y_test, parts, estimator, table.scoring))
    return trajectory.criterion, np.transpose(losses)


def _rows(
    estimator: Any, table: Any, generator: Any, n_test: int, test_size: float, number: int, seed: int
) -> tuple[Any, ...]:
    if generator is None:
        from sklearn.base import is_classifier
        from sklearn.model_selection import train_test_split

        by_class = table.y if is_classifier(estimator) else None
        positions = np.arange(len(table.y))
        train, test = train_test_split(positions, test_size=test_size, random_state=seed, stratify=by_class)
        return rows_of(table.X, train), table.y[train], rows_of(table.X, test), table.y[test]
    # Two seeds from one, so that training and test rows are drawn apart.
    train_seed, test_seed = (int(word) for word in np.random.SeedSequence(seed).generate_state(2))
    X_test, y_test, *_ = generator(n_test, random_state=test_seed)
    if number == 0:
        return table.X, table.y, X_test, y_test
    X, y, *_ = generator(len(table.y), random_state=train_seed)
    return X, y, X_test, y_test


def _trajectory(searched: Any) -> Trajectory:
    """The choice after each iteration of a fitted search."""
    if is_search(searched):
        results = searched.cv_results_
        name = searched.refit if isinstance(searched.refit, str) else "score"
        scores = np.asarray(results[f"mean_test_{name}"], dtype=float)
        # A candidate that failed is never the best so far.
        best = np.maximum.accumulate(np.nan_to_num(scores, nan=-np.inf))
        if not np.isfinite(best[0]):
            raise ValueError("the first candidate of the search could not be scored; see its error_score.")
        chosen = [int(np.flatnonzero(scores == value)[0]) for value in best]
        learners = {number: frozen(searched, results["params"][number]) for number in set(chosen)}
        return Trajectory(-best, [learners[number] for number in chosen])
    path = searched.selection_path_
    points = list(zip(path["alpha"].tolist(), list(path["gamma"]), strict=True))
    learners_along: list[Any] = []
    for position, (alpha, gamma) in enumerate(points):
        if position and points[position - 1][0] == alpha and np.array_equal(points[position - 1][1], gamma):
            learners_along.append(learners_along[-1])
        else:
            learners_along.append(frozen(searched, {"alpha": alpha, "gamma": gamma}))
    return Trajectory(path["press"] / searched.loo_residuals_.size, learners_along)


def _losses(fitted: Any, X: Any, y: np.ndarray, parts: list[np.ndarray], estimator: Any, scoring: Any) -> np.ndarray:
    """Loss on each part of the test rows."""
    if not is_search(estimator):
        errors = squared_errors(fitted, X, y)
        return np.array([errors[part].mean() for part in parts])
    from sklearn.metrics import check_scoring

    scorer = check_scoring(fitted, scoring=scoring)
    return np.array([-scorer(fitted, rows_of(X, part), y[part]) for part in parts])
