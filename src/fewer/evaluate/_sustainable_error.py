"""Errors over the number of columns per class, and the smallest one that its neighbours share.

In every fold the selector ranks the columns once, on the rows held in; the sets of all sizes are read off that ranking.
The curve of errors is averaged over ``window`` consecutive sizes, and its minimum is the *sustainable error*. As a
minimum over sizes it is optimistic: in :func:`nested_sustainable_error` the size is chosen without the rows that the
error is measured on.

Yu, G. et al. (2010). Matched gene selection and committee classifier for molecular classification of heterogeneous
diseases. Journal of Machine Learning Research 11, 2141-2167.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer.catalogue import method
from fewer.evaluate._sustainable_folds import curve_of_folds, folds_of, new_task, run_folds
from fewer.evaluate._sustainable_result import NestedSustainableError, SustainableErrorCurve

if TYPE_CHECKING:
    from numpy.random import RandomState

    from fewer.evaluate._tasks import Where


@method(
    tasks=["evaluation"],
    when="You choose the same number of columns for every class, and want to see the error for each number, from one "
    "ranking in each fold. For a figure to report, use nested_sustainable_error.",
    cost="O(K) fits of the selector for K folds, whatever the number of sizes; a committee of support vector machines "
    "shares its work over the sizes, other learners are fitted for each",
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
    engine: "Where" = None,
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
    engine : Engine, int or None, default=None
        Where the folds run: an engine, a number of processes on this machine, or None for this process.
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
    nested_sustainable_error : With the size chosen inside, for an honest figure.
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
    found = run_folds(folds, task, engine=engine, progress=progress)
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
    engine: "Where" = None,
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
    engine : Engine, int or None, default=None
        Where the outer folds run: an engine, a number of processes on this machine, or None for this process.
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
    found = run_folds(folds, task, engine=engine, progress=progress)
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
