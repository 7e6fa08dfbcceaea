"""Errors over the number of columns per class, and the smallest one that its neighbours share.

In every fold the selector ranks the columns once, on the training rows; the sets of all sizes are read off that
ranking, and as they are nested, estimators that can share their work over them. The curve of errors is averaged over
``window`` consecutive sizes, and its minimum is the *sustainable error*. As a minimum over sizes it is optimistic: in
:func:`nested_sustainable_error` the size is chosen without the rows that the error is measured on.

Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous
diseases. Journal of Machine Learning Research 11, 2141-2167.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewer._figures import Result, mark_point
from fewer.catalogue import method
from fewer.evaluate.curves._fold_scores import fit_selector, fitted_learner
from fewer.evaluate.curves._subset_path import SubsetPath, path_predictions
from fewer.evaluate.protocol._selection import check_selector
from fewer.evaluate.protocol._table import Fold, checked_table, columns_of, outer_folds, rows_of
from fewer.evaluate.protocol._tasks import values_of, workers
from fewer.learn import OVRLinearSVMCommittee
from fewer.select.per_class import argmin_smoothed_error, checked_grid, smoothed_errors

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.random import RandomState

    from fewer.engine import Engine
    from fewer.evaluate.protocol._tasks import Where


@dataclass(frozen=True, eq=False, repr=False)
class SustainableErrorCurve(Result):
    """Errors over the number of columns per class; made by :func:`sustainable_error_curve`.

    Attributes
    ----------
    grid : ndarray of shape (n_sizes,)
        Columns per class.
    errors : ndarray of shape (n_sizes,)
        Share of the rows held out that are mistaken.
    sustained : ndarray of shape (n_sizes,)
        Its centred moving average; NaN at the ends, where the window does not fit.
    n_columns : ndarray of shape (n_sizes,)
        Columns in all, on average over the folds.
    wrong : ndarray of bool of shape (n_sizes, n_held_out)
        Which rows held out are mistaken.
    held_out : ndarray of shape (n_held_out,)
        Positions of these rows in the table.
    window : int
        Sizes that the average is over.
    """

    grid: np.ndarray
    errors: np.ndarray
    sustained: np.ndarray
    n_columns: np.ndarray
    wrong: np.ndarray
    held_out: np.ndarray
    window: int

    _data = (
        "grid",
        "errors",
        "sustained",
        "n_columns",
        "window",
        "n_per_class",
        "sustainable_error",
        "lowest_n_per_class",
        "lowest_error",
    )

    @property
    def n_per_class(self) -> int:
        """Columns per class with the smallest sustained error; of equals, the smallest number."""
        return int(self.grid[argmin_smoothed_error(self.errors, self.window)])

    @property
    def sustainable_error(self) -> float:
        """Smallest sustained error. Optimistic, because it was chosen on the rows that it is measured on."""
        return float(self.sustained[argmin_smoothed_error(self.errors, self.window)])

    @property
    def lowest_error(self) -> float:
        """Smallest error of any size, more optimistic still."""
        return float(self.errors.min())

    @property
    def lowest_n_per_class(self) -> int:
        """Columns per class with the smallest error; of equals, the smallest number."""
        return int(self.grid[self.errors.argmin()])

    def __repr__(self) -> str:
        return (
            f"SustainableErrorCurve: {len(self.grid)} sizes from {self.grid[0]} to {self.grid[-1]} columns per class, "
            f"{len(self.held_out):,} rows held out\n"
            f"  sustainable error {self.sustainable_error:.4f} with {self.n_per_class} per class (window "
            f"{self.window}); lowest {self.lowest_error:.4f} with {self.lowest_n_per_class}\n"
            "  both are minima over the sizes, and so optimistic: see nested_sustainable_error"
        )

    def plot(self) -> "go.Figure":
        """The errors over the number of columns per class, their moving average, and its minimum.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        figure = _figures.new_figure(title="Error by number of columns", x="columns per class", y="error held out")
        figure.add_trace(_figures.line("error", self.grid, self.errors, _figures.GREY))
        figure.add_trace(_figures.line(f"mean of {self.window} sizes", self.grid, self.sustained))
        error, name = self.sustainable_error, "sustainable error (optimistic)"
        mark_point(figure, self.n_per_class, error, f"{error:.3f}", name=name, position="bottom center")
        return figure


@dataclass(frozen=True, eq=False, repr=False)
class NestedSustainableError(Result):
    """Error with the number of columns chosen inside of every fold; made by :func:`nested_sustainable_error`.

    Attributes
    ----------
    error : float
        Share of the rows held out that are mistaken.
    n_per_class : ndarray of shape (n_folds,)
        Columns per class that were chosen for each fold, without its rows.
    wrong : ndarray of bool of shape (n_held_out,)
        Which rows held out are mistaken.
    held_out : ndarray of shape (n_held_out,)
        Positions of these rows in the table.
    curve : SustainableErrorCurve
        The curve on the same folds, whose minimum is what the choice seems to cost when it is not nested.
    """

    error: float
    n_per_class: np.ndarray
    wrong: np.ndarray
    held_out: np.ndarray
    curve: SustainableErrorCurve

    _data = ("error", "optimism", "n_per_class", "curve")

    @property
    def optimism(self) -> float:
        """By how much the minimum of the sustained curve is smaller than the nested error."""
        return self.error - self.curve.sustainable_error

    def __repr__(self) -> str:
        low, middle, high = np.percentile(self.n_per_class, [0, 50, 100])
        return (
            f"NestedSustainableError: {self.error:.4f} over {len(self.held_out):,} rows held out in "
            f"{len(self.n_per_class)} folds\n"
            f"  columns per class {middle:.4g} (median; {low:.4g} to {high:.4g})\n"
            f"  the minimum of the curve, which is not nested, is {self.curve.sustainable_error:.4f}: optimism "
            f"{self.optimism:+.4f}"
        )

    def plot(self) -> "go.Figure":
        """The curve of errors with its minimum, and the nested error as a line.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        from fewer import _figures

        figure = self.curve.plot()
        ends = self.curve.grid[[0, -1]]
        figure.add_trace(_figures.line("nested error", ends, [self.error] * 2, _figures.GREEN, line_dash="dash"))
        return figure


class Task(NamedTuple):
    """What all folds share. ``inner_cv`` is None when the size is not chosen inside."""

    X: Any
    y: np.ndarray
    selector: Any
    learner: Any
    grid: np.ndarray
    window: int
    inner_cv: Any = None


class FoldErrors(NamedTuple):
    """Which rows held out are mistaken, (n_sizes, n_rows); columns of each size; the place chosen inside, if any."""

    wrong: np.ndarray
    n_columns: np.ndarray
    chosen: int | None


def new_task(estimator: Any, X: Any, y: Any, *, grid: Iterable[int], window: int) -> Task:
    """Table, parts of the estimator and sizes, checked."""
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise ValueError(f"window={window!r} must be a whole number, at least 1.")
    selector, learner = selector_and_learner(estimator)
    X, y, _ = checked_table(X, y, learner=learner)
    return Task(X, y, selector, learner, checked_grid(grid, X.shape[1]), int(window))


def selector_and_learner(estimator: Any) -> tuple[Any, Any]:
    """The two parts of a pipeline; steps before the selector stay with it."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    if hasattr(estimator, "as_pipeline"):
        estimator = estimator.as_pipeline()
    if not isinstance(estimator, Pipeline) or len(estimator.steps) < 2:
        raise TypeError(
            f"estimator is a {type(estimator).__name__}; pass a PUGOVRSVM, or a pipeline that ends with a selector and "
            "a classifier, such as make_pipeline(OVRSNRSelector(), OVRLinearSVMCommittee())."
        )
    for _, step in estimator.steps[:-1]:
        if not isinstance(step, str):  # "passthrough"
            check_selector(step)
    before, learner = clone(estimator).steps[:-1], estimator.steps[-1][1]
    if "n_per_class" in before[-1][1].get_params():
        before[-1][1].set_params(n_per_class=1)  # all numbers are read off the ranking, so its own does not matter
    return (before[0][1] if len(before) == 1 else Pipeline(before)), learner


def folds_of(cv: Any, X: Any, y: np.ndarray, random_state: Any) -> list[Fold]:
    """The folds; a list of (train, test) may have a single one, a fixed split."""
    from sklearn.model_selection import LeaveOneOut

    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv={cv!r} is neither 'loo', nor a number of folds, nor a splitter.")
        cv = LeaveOneOut()
    if isinstance(cv, Sequence) and len(cv) == 1:
        return [Fold(*(np.asarray(rows) for rows in cv[0]))]
    repeats = outer_folds(cv, X, y, classifier=True, n_repeats=1, groups=None, random_state=random_state)
    return [fold for folds in repeats for fold in folds]


def run_folds(folds: list[Fold], task: Task, *, engine: "Where", progress: bool) -> list[FoldErrors]:
    """What came of every fold, in their order."""
    labels = [f"fold {place}" for place in range(len(folds))]
    done = values_of(
        fold_errors,
        folds,
        task,
        engine=engine,
        progress=progress,
        description="Sustainable error",
        labels=labels,
        only_all=True,  # an error over some of the rows would pass for that of the table
    )
    return [done[place] for place in range(len(folds))]


def fold_errors(fold: Fold, task: Task) -> FoldErrors:
    """Errors of all sizes on one fold. Nothing that is fitted or chosen sees the rows held out."""
    X_train, y_train = rows_of(task.X, fold.train), task.y[fold.train]
    chosen = None
    if task.inner_cv is not None:
        cv, seed = task.inner_cv
        inside = task._replace(X=X_train, y=y_train, inner_cv=None)
        inner_folds = folds_of(cv, X_train, y_train, seed)
        found = [fold_errors(inner, inside) for inner in inner_folds]
        chosen = argmin_smoothed_error(curve_of_folds(found, inner_folds, inside).errors, task.window)
    selected, table = fit_selector(task.selector, X_train, y_train)
    n_columns = sizes_of(selected, task.grid, len(np.unique(y_train)))
    predicted = nested_set_predictions(
        task.learner, table, y_train, selected.table(rows_of(task.X, fold.test)), selected.path, n_columns
    )
    return FoldErrors(predicted != task.y[fold.test], np.array(n_columns), chosen)


def sizes_of(selected: Any, grid: np.ndarray, n_classes: int) -> list[int]:
    """Columns in all, for each number per class."""
    subset: Callable[[int], np.ndarray] | None = getattr(selected.selector, "subset", None)
    if subset is not None:
        return [len(subset(int(number))) for number in grid]
    return [min(int(number) * n_classes, selected.path.n_features) for number in grid]


def nested_set_predictions(
    learner: Any, X: Any, y: np.ndarray, X_new: Any, path: SubsetPath, n_columns: list[int]
) -> np.ndarray:
    """Predictions (sizes, new rows), by shared work where the estimator allows it."""
    sizes, places = np.unique(n_columns, return_inverse=True)
    if type(learner) is OVRLinearSVMCommittee and path.order is not None:
        found = learner.nested_predictions(as_numbers(X), y, as_numbers(X_new), path.order, sizes.tolist())
        return found[places]
    shared, _ = path_predictions(learner, X, y, X_new, path, sizes.tolist())
    if shared is None:
        fits = ((fitted_learner(learner, X, y, path.columns(size)), path.columns(size)) for size in sizes.tolist())
        shared = np.stack([fit.predict(columns_of(X_new, columns)) for fit, columns in fits])
    return shared[places]


def as_numbers(X: Any) -> Any:
    """A sparse matrix as it is, anything else as an array of floating-point numbers without missing values."""
    from sklearn.utils import check_array

    return check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))


def curve_of_folds(found: list[FoldErrors], folds: list[Fold], task: Task) -> SustainableErrorCurve:
    """All rows held out together."""
    wrong = np.concatenate([fold.wrong for fold in found], axis=1)
    errors = wrong.mean(axis=1)
    return SustainableErrorCurve(
        grid=task.grid,
        errors=errors,
        sustained=smoothed_errors(errors, task.window),
        n_columns=np.mean([fold.n_columns for fold in found], axis=0),
        wrong=wrong,
        held_out=np.concatenate([fold.test for fold in folds]),
        window=task.window,
    )


@method(
    tasks=["evaluation"],
    when="You choose the same number of columns for every class, and want to see the error for each number, from one "
    "ranking in each fold. For a figure to report, use nested_sustainable_error.",
    cost="O(K) fits of the selector for K folds, whatever the number of sizes; a committee of support vector machines "
    "shares its work over the sizes, other estimators are fitted for each",
    paper="mgs-committee",
    handles=["sparse"],
)
def sustainable_error_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    grid: Iterable[int] = range(2, 101),
    window: int = 5,
    cv: Any = "loo",
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    random_state: "int | RandomState | None" = None,
    progress: bool = False,
) -> SustainableErrorCurve:
    """Cross-validated error for every number of columns per class, with the selection inside of every fold.

    Parameters
    ----------
    estimator : PUGOVRSVM or Pipeline
        Not fitted. A pipeline ends with a selector and a classifier. A selector without lists for each class, such as
        ``SelectKBest``, gives as many columns as there are classes times the number per class.
    X : array, pandas or polars frame, or scipy sparse of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,)
        Classes.
    grid : iterable of int, default=range(2, 101)
        Columns per class; those above the number of columns are left out.
    window : int, default=5
        Consecutive sizes that an error is averaged over.
    cv : int, "loo", splitter or iterable of (train, test), default="loo"
        The folds; "loo" leaves out one row at a time. A number makes shuffled, stratified folds.
    engine : Engine or None, default=None
        Where the folds run; by default in this process.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.
    progress : bool, default=False
        Show a bar.

    Returns
    -------
    curve : SustainableErrorCurve
        The errors, their moving average, its minimum and where it is. It plots itself.

    See Also
    --------
    nested_sustainable_error : With the size chosen inside, for an unbiased estimate.
    selection_curve : For any selector, over the number of columns in all.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.

    Examples
    --------
    >>> from fewer.datasets import make_gene_blocks
    >>> from fewer.evaluate import sustainable_error_curve
    >>> from fewer.select import PUGOVRSVM
    >>> X, y, _ = make_gene_blocks(n_blocks=100, random_state=0)
    >>> curve = sustainable_error_curve(PUGOVRSVM(), X, y, grid=range(2, 21), cv=5, random_state=0)
    >>> bool(curve.lowest_error <= curve.sustainable_error < 0.2)
    True
    """
    task = new_task(estimator, X, y, grid=grid, window=window)
    folds = folds_of(cv, task.X, task.y, random_state)
    found = run_folds(folds, task, engine=workers(engine, n_jobs), progress=progress)
    return curve_of_folds(found, folds, task)


@method(
    tasks=["evaluation"],
    when="The error to report when the number of columns per class is chosen by cross-validation: the choice is made "
    "again inside of every fold, so that no row helps to choose the size that it is tested with.",
    cost="O(K J) fits of the selector for K outer and J inner folds, whatever the number of sizes",
    paper="mgs-committee",
    handles=["sparse"],
)
def nested_sustainable_error(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    grid: Iterable[int] = range(2, 101),
    window: int = 5,
    cv: Any = "loo",
    inner_cv: Any = 5,
    engine: "Engine | None" = None,
    n_jobs: int | None = None,
    random_state: "int | RandomState | None" = None,
    progress: bool = False,
) -> NestedSustainableError:
    """Error with the number of columns per class chosen inside of every fold.

    For each outer fold, :func:`sustainable_error_curve` of the rows held in chooses the number; selector and classifier
    are fitted with it, and tested on the rows held out.

    Parameters
    ----------
    estimator : PUGOVRSVM or Pipeline
        As for :func:`sustainable_error_curve`.
    X : array, pandas or polars frame, or scipy sparse of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,)
        Classes.
    grid : iterable of int, default=range(2, 101)
        Columns per class; those above the number of columns are left out.
    window : int, default=5
        Consecutive sizes that an error is averaged over.
    cv : int, "loo", splitter or iterable of (train, test), default="loo"
        The outer folds.
    inner_cv : int, "loo" or splitter, default=5
        The folds of the rows held in, which choose the number.
    engine : Engine or None, default=None
        Where the outer folds run; by default in this process.
    n_jobs : int or None, default=None
        In place of an engine: number of processes on this machine, -1 for all cores.
    random_state : int, RandomState instance or None, default=None
        Draws the folds; the inner ones are the same for the same number of rows.
    progress : bool, default=False
        Show a bar.

    Returns
    -------
    nested : NestedSustainableError
        The error, the number chosen in each fold, and the curve that is not nested, to compare. It plots itself.

    See Also
    --------
    sustainable_error_curve : The curve alone.

    References
    ----------
    .. [1] Yu, G., Feng, Y., Miller, D. J., Xuan, J., Hoffman, E. P., Clarke, R., Davidson, B., Shih, I.-M. and Wang, Y.
       (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous diseases.
       Journal of Machine Learning Research 11, 2141-2167.

    Examples
    --------
    >>> from fewer.datasets import make_gene_blocks
    >>> from fewer.evaluate import nested_sustainable_error
    >>> from fewer.select import PUGOVRSVM
    >>> X, y, _ = make_gene_blocks(n_blocks=100, random_state=0)
    >>> nested = nested_sustainable_error(PUGOVRSVM(), X, y, grid=range(2, 21), cv=5, random_state=0)
    >>> bool(nested.error < 0.2)
    True
    """
    from sklearn.utils import check_random_state

    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    task = new_task(estimator, X, y, grid=grid, window=window)._replace(inner_cv=(inner_cv, seed))
    folds = folds_of(cv, task.X, task.y, seed)
    found = run_folds(folds, task, engine=workers(engine, n_jobs), progress=progress)
    chosen = [fold.chosen for fold in found if fold.chosen is not None]
    wrong = np.concatenate([fold.wrong[place] for fold, place in zip(found, chosen, strict=True)])
    curve = curve_of_folds(found, folds, task)
    return NestedSustainableError(float(wrong.mean()), task.grid[chosen], wrong, curve.held_out, curve)


def overlap_rate(first: Iterable[Any], second: Iterable[Any]) -> float:
    """Share of the columns that two lists have in common, of the longer one.

    Parameters
    ----------
    first, second : iterable
        Names or positions of columns; what is listed twice counts once.

    Returns
    -------
    rate : float
        ``|A and B| / max(|A|, |B|)``: 1 for equal lists, and for two empty ones.

    See Also
    --------
    selection_stability : For many lists, corrected for chance.

    Examples
    --------
    >>> from fewer.evaluate import overlap_rate
    >>> overlap_rate(["MYC", "TP53"], ["MYC", "BRCA1", "CD99", "TP53"])
    0.5
    """
    one, other = set(first), set(second)
    longest = max(len(one), len(other))
    return len(one & other) / longest if longest else 1.0
