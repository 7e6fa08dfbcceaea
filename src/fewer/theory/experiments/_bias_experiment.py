"""How far estimates of a selection's benefit are off, measured against rows that no estimate has seen.

The rows are split into a part to search on and a part held out. On the first, each method i estimates a best size
``d_i`` and a benefit ``delta_e`` over the full set; on the second, the benefit ``delta_t`` of the estimator with the
subset of that size is measured. The bias is the mean of ``Delta_i = delta_e - delta_t`` over many splits. Reunanen
(2006), section 6.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer._figures import Result
from fewer.catalogue import method as card
from fewer.evaluate.curves import (
    Job,
    Selected,
    checked_sizes,
    cross_index,
    curve_of,
    fit_selector,
    folds_for,
    inner_scores,
    score_fold,
    size_scores,
)
from fewer.evaluate.protocol import Fold, check_selector, checked_table, rows_of, scoring_name, values_of, workers

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.random import RandomState

    from fewer.engine import Engine

ESTIMATES = ("naive", "outer", "A", "B")


class Trial(NamedTuple):
    """Size, estimated benefit and true benefit, by each of ``ESTIMATES``, for one split."""

    sizes: list[int]
    estimated: list[float]
    true: list[float]


@dataclass(frozen=True, eq=False, repr=False)
class BiasExperiment(Result):
    """How far four estimates of the benefit are off; made by :func:`selection_bias_experiment`.

    Columns of the arrays stand for the estimates: naive, outer, A and B.

    Attributes
    ----------
    sizes : ndarray of shape (n_repeats, 4)
        Size that each estimate found best.
    estimated : ndarray of shape (n_repeats, 4)
        Benefit over the full set, as estimated.
    true : ndarray of shape (n_repeats, 4)
        Benefit over the full set on the held-out rows, with the subset of that size.
    n_features : int
        Columns of the full set.
    scoring : str
        Name of the score.
    """

    sizes: np.ndarray
    estimated: np.ndarray
    true: np.ndarray
    n_features: int
    scoring: str

    _data = ("n_features", "scoring", "summary", "sizes", "estimated", "true")

    @property
    def bias(self) -> np.ndarray:
        """Estimated minus true benefit of each repeat, shape (n_repeats, 4)."""
        return self.estimated - self.true

    @property
    def summary(self) -> dict[str, dict[str, float]]:
        """Mean and standard deviation of the bias, mean size and mean benefits, for each estimate."""
        return {
            name: {
                "size": float(self.sizes[:, place].mean()),
                "estimated": float(self.estimated[:, place].mean()),
                "true": float(self.true[:, place].mean()),
                "bias": float(self.bias[:, place].mean()),
                "sd": float(self.bias[:, place].std(ddof=1)) if len(self.sizes) > 1 else float("nan"),
            }
            for place, name in enumerate(ESTIMATES)
        }

    def __repr__(self) -> str:
        lines = [
            f"BiasExperiment: {len(self.sizes)} splits, {self.n_features} columns, {self.scoring}",
            f"  {'':7}{'size':>7}{'estimated':>11}{'true':>9}{'bias':>9}{'sd':>8}",
        ]
        for name, row in self.summary.items():
            lines.append(
                f"  {name:7}{row['size']:7.1f}{row['estimated']:+11.3f}{row['true']:+9.3f}{row['bias']:+9.3f}"
                f"{row['sd']:8.3f}"
            )
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """The bias of each estimate, with its standard deviation over repeats.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Bars around zero.
        """
        import plotly.graph_objects as go

        from fewer import _figures

        figure = _figures.new_figure(
            title="Estimated minus true benefit of the selection", y=f"bias ({self.scoring})", x="estimate"
        )
        rows = self.summary
        colours = (_figures.RED, _figures.AMBER, _figures.BLUE, _figures.GREEN)
        figure.add_trace(
            go.Bar(
                x=["naive", "largest outer mean", "cross-indexing A", "cross-indexing B"],
                y=[row["bias"] for row in rows.values()],
                error_y={"type": "data", "array": [row["sd"] for row in rows.values()], "color": _figures.GREY},
                marker_color=colours,
                showlegend=False,
            )
        )
        figure.add_hline(y=0, line_color=_figures.GREY)
        return figure


@card(
    tasks=["evaluation"],
    when="You want to see on a table of your own how optimistic the usual estimates of a selection's benefit are, and "
    "whether cross-indexing is unbiased.",
    cost="O(R (K + 1)) selector fits for R splits and K folds",
    paper="less-biased",
    handles=["missing", "sparse", "categorical"],
)
def selection_bias_experiment(
    selector: Any,
    estimator: Any,
    X: Any,
    y: Any,
    *,
    train_size: float | int = 0.5,
    n_repeats: int = 30,
    sizes: Iterable[int] | None = None,
    cv: Any = 5,
    scoring: Any = None,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    random_state: "int | RandomState | None" = None,
    progress: bool = False,
) -> BiasExperiment:
    """Bias of the naive, outer and cross-indexed estimates, measured on rows held out.

    Parameters
    ----------
    selector : selector, or pipeline that ends with one
        As for :func:`selection_curve`.
    estimator : estimator
        Classifier, regressor or pipeline.
    X : array, pandas or polars frame, or scipy sparse of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,)
        The target.
    train_size : float or int, default=0.5
        Share or number of the rows to search on; the rest is held out to measure the true benefit.
    n_repeats : int, default=30
        Number of random splits.
    sizes : iterable of int, default=None
        Numbers of columns to try, as for :func:`selection_curve`.
    cv : int, splitter or iterable of (train, test), default=5
        The outer folds, inside the rows to search on.
    scoring : str, callable or None, default=None
        A score of scikit-learn, higher is better; None for the estimator's own.
    engine : Engine or None, default=None
        Where the splits run; by default in this process.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the splits and the folds.
    progress : bool, default=False
        Show a bar.

    Returns
    -------
    experiment : BiasExperiment
        Sizes, benefits and biases of all splits. It plots itself.

    Notes
    -----
    The naive estimate is the score that guided the search, ``path_scores_``. A selector that keeps none (a filter)
    gets the mistake that goes with it: columns are chosen on all rows, and the chosen ones cross-validated.

    References
    ----------
    .. [1] Reunanen, J. (2006). Less biased measurement of feature selection benefits. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 198-208.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from fewer.theory import selection_bias_experiment
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(80, 200)), np.arange(80) % 2  # nothing to learn
    >>> found = selection_bias_experiment(
    ...     SelectKBest(), KNeighborsClassifier(3), X, y, n_repeats=10, sizes=[2, 5, 10, 20, 50], random_state=0
    ... )
    >>> bool(found.summary["naive"]["bias"] > 0.2), bool(abs(found.summary["A"]["bias"]) < 0.1)
    (True, True)
    """
    from sklearn.utils import check_random_state

    check_selector(selector)
    X, y, _ = checked_table(X, y, learner=estimator)
    job = Job(X, y, selector, estimator, checked_sizes(sizes), scoring)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_repeats)
    tasks = [(int(seed), train_size, cv) for seed in seeds]
    labels = [f"split {number}" for number in range(len(tasks))]
    done = values_of(
        split_trial,
        tasks,
        job,
        engine=workers(engine, n_jobs),
        progress=progress,
        description="Bias experiment",
        labels=labels,
    )
    trials = list(done.values())
    return BiasExperiment(
        sizes=np.array([trial.sizes for trial, _ in trials]),
        estimated=np.array([trial.estimated for trial, _ in trials]),
        true=np.array([trial.true for trial, _ in trials]),
        n_features=max(width for _, width in trials),
        scoring=scoring_name(scoring, estimator),
    )


def split_trial(task: tuple[int, float | int, Any], job: Job) -> tuple[Trial, int]:
    """One split: the estimates, the true benefits, and the number of columns."""
    from sklearn.base import is_classifier
    from sklearn.model_selection import train_test_split

    seed, train_size, cv = task
    rows, held_out = train_test_split(
        np.arange(len(job.y)),
        train_size=train_size,
        random_state=seed,
        stratify=job.y if is_classifier(job.learner) else None,
    )
    X, y = rows_of(job.X, rows), job.y[rows]
    repeats = folds_for(job.learner, X, y, cv=cv, n_repeats=1, groups=None, random_state=seed)
    inside = job._replace(X=X, y=y)
    curve = curve_of(
        [score_fold(fold, inside) for fold in repeats[0]], repeats, learner=job.learner, scoring=job.scoring
    )
    selected, table = fit_selector(job.selector, X, y)
    sizes = [int(size) for size in curve.sizes[:-1] if size < selected.path.n_features] + [selected.path.n_features]
    held_out_scores = dict(
        zip(
            sizes,
            size_scores(
                job.learner,
                table,
                y,
                selected.table(rows_of(job.X, held_out)),
                job.y[held_out],
                selected.path,
                sizes,
                job.scoring,
            )[0],
            strict=True,
        )
    )
    naive_size, naive_benefit = _naive_estimate(selected, table, y, repeats[0], sizes, job)
    indexed = [curve.cross_index(method) for method in ("outer", "A", "B")]
    chosen = [naive_size, *(min(int(found.nearest_size), sizes[-1]) for found in indexed)]
    truth = [float(held_out_scores[size] - held_out_scores[sizes[-1]]) for size in chosen]
    trial = Trial(chosen, [naive_benefit, *(found.benefit for found in indexed)], truth)
    return trial, selected.path.n_features


def _naive_estimate(
    selected: Selected, table: Any, y: np.ndarray, folds: list[Fold], sizes: list[int], job: Job
) -> tuple[int, float]:
    """Size and benefit as believed by the search itself, or by cross-validation after the selection."""
    believed = inner_scores(selected.selector)
    if all(size in believed for size in sizes):
        scores = np.array([[believed[size] for size in sizes]])
    else:
        scores = np.array(
            [
                size_scores(
                    job.learner,
                    rows_of(table, fold.train),
                    y[fold.train],
                    rows_of(table, fold.test),
                    y[fold.test],
                    selected.path,
                    sizes,
                    job.scoring,
                )[0]
                for fold in folds
            ]
        )
    mean = np.repeat(scores.mean(axis=0)[None], 2, axis=0)
    found = cross_index(mean, "outer", sizes=sizes)
    return int(found.size), found.benefit
