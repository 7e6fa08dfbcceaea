"""Why did a model predict this for a row? The contribution of each column to the response.

With f the response of a model, x the row and b rows to compare with, the contribution of column j is

    c_j = f(x) - mean of f(x with column j of b) over all b.

Where f is a sum of functions of one column each (linear and additive models), contributions add up,

    c_1 + ... + c_p = f(x) - mean of f(b),

and are the Shapley values of the row. Whether they do is checked for each row, so that no list of models is needed.
Where they do not, the model is not additive, and the package ``shap`` estimates Shapley values of the same response.

The response is the prediction for numbers (its logarithm where a learner has a log link), and for classes how far the
predicted class is ahead of the next one: the log of the ratio of their probabilities, or the difference of their
decision values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy import sparse

from fewer._figures import Result, plain
from fewer._wording import argument, counted, cut, printable, signed
from fewer.study._errors import StudyError
from fewer.study.model._model import StudyModel, as_trained, unseen_categories_named

if TYPE_CHECKING:
    from fewer.io import Dataset

_MOST_ROWS = 100
# Rows with replaced columns are predicted together, up to so many cells.
_CELLS = 2_000_000
# Contributions of an additive model add up but for rounding.
_GAP = 1e-6
# Logarithms of smaller probabilities are cut: additive models have tiny ones, forests have zeros.
_SMALLEST = 1e-300
_VISIBLE = 1e-3
_SHOWN = 15
_BAR = 20


@dataclass(frozen=True)
class Contribution:
    """What a column contributes to the response of a row.

    Attributes
    ----------
    column : str
        Its name.
    value : str
        Its value in the row.
    contribution : float
        Above zero, it speaks for the prediction.
    """

    column: str
    value: str
    contribution: float


@dataclass(frozen=True, repr=False)
class RowExplanation(Result):
    """The prediction for a row, and what each column contributes to it.

    Attributes
    ----------
    row : int
        Number of the row in its table, from 1.
    predicted : str
        What is predicted.
    against : str
        For classes, the next one, which the predicted class is compared with.
    response : str
        What the contributions add up to, in words.
    value : float
        The response of the row.
    expected : float
        Its mean over the rows to compare with.
    n_rows : int
        Rows to compare with.
    method : {"additive", "shap"}
        Contributions of an additive model, exact; or estimated Shapley values.
    contributions : tuple of Contribution
        The largest in size first.
    """

    row: int
    predicted: str
    against: str
    response: str
    value: float
    expected: float
    n_rows: int
    method: str
    contributions: tuple[Contribution, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        found = {name: plain(value) for name, value in vars(self).items()}
        return found | {"contributions": [plain(vars(each)) for each in self.contributions]}

    def __repr__(self) -> str:
        against = f" rather than {printable(self.against)}" if self.against else ""
        lines = [
            f"Row {self.row:,}: {printable(self.predicted)}{against}",
            f"{self.response} {self.value:.4g}; {self.expected:.4g} on average over "
            f"{counted(self.n_rows, 'row')}. {'Contributions' if self.method == 'additive' else 'Shapley values'}:",
        ]
        shown = self.contributions[:_SHOWN]
        largest = max((abs(each.contribution) for each in shown), default=0.0) or 1.0
        names = [cut(f"{printable(each.column)} = {printable(each.value)}", 44) for each in shown]
        width = max(map(len, names), default=0)
        for name, each in zip(names, shown, strict=True):
            bar = ("+" if each.contribution >= 0 else "-") * round(_BAR * abs(each.contribution) / largest)
            lines.append(f"  {name:<{width}}  {_signed(each.contribution):>9}  {bar}".rstrip())
        rest = self.contributions[_SHOWN:]
        if rest:
            others = counted(len(rest), "other column")
            lines.append(f"  {others:<{width}}  {_signed(sum(each.contribution for each in rest)):>9}")
        return "\n".join(lines)


def _signed(value: float) -> str:
    return signed(value) if abs(value) >= 0.001 or value == 0 else f"{value:+.1e}"


def explain_row(
    model: StudyModel, dataset: "Dataset", row: int, *, background: "Dataset | None" = None, shap: bool = False
) -> RowExplanation:
    """What each column contributes to the prediction for a row.

    Parameters
    ----------
    model : StudyModel
        Of a finished study.
    dataset : Dataset
        A table with the columns that the model needs.
    row : int
        Number of the row, from 1.
    background : Dataset, default=None
        Rows to compare with, at most 100 of them evenly spread; by default those of the table.
    shap : bool, default=False
        Shapley values by the package ``shap``, for any model; otherwise exact contributions, for linear and additive
        models only.

    Returns
    -------
    explanation : RowExplanation
        The contributions add up to the response of the row minus its mean.

    Examples
    --------
    >>> import fewer
    >>> wine = fewer.datasets.load("wine")
    >>> study = fewer.run_study(
    ...     wine, preset="quick", methods=["anova"], learners=["ridge"], n_repeats=1, n_permutations=0, n_jobs=1
    ... )
    >>> found = fewer.study.explain_row(study.model, wine, 1)
    >>> found.predicted
    'class_0'
    >>> total = sum(each.contribution for each in found.contributions)
    >>> abs(total - (found.value - found.expected)) < 1e-9
    True
    """
    if not 1 <= row <= dataset.n_rows:
        raise StudyError(
            f"{argument('row')} must be from 1 to {dataset.n_rows:,}, the rows of {dataset.source}, not {row}."
        )
    others = dataset if background is None else background
    for table in (dataset, others):
        model.check_columns(table)
    if others.n_rows < 2:
        raise StudyError(
            "A row is compared with others, but the table has one row only: give a table to compare with "
            f"({argument('background')})."
        )
    kept = dataset.keep(model.columns)
    some = np.unique(np.linspace(0, others.n_rows - 1, min(others.n_rows, _MOST_ROWS)).astype(int))
    x, rows = (
        as_trained(model, kept.take(np.array([row - 1]))),
        as_trained(model, others.keep(model.columns).take(some)),
    )
    with unseen_categories_named(model, x):
        predicted, against, words, response = _response(model, x, _VISIBLE if shap else _SMALLEST)
        value, base = float(response(x)[0]), response(rows)
        if not shap:
            found = _contributions(response, x, rows, value)
            gap = abs(found.sum() - (value - base.mean()))
            if gap > _GAP * max(1.0, np.abs(found).sum(), abs(value), np.abs(base).max()):
                raise StudyError(
                    f"{type(model.pipeline[-1]).__name__} is not additive in the columns, so their contributions do "
                    f"not add up ({found.sum():.4g} instead of {value - base.mean():.4g}). Shapley values share out "
                    f"the rest: use {argument('shap', True)}, which needs the package shap."
                )
        else:
            found = _shap_values(response, x, rows)
    shown = kept.to_polars(dense=True).select(list(model.columns)).row(row - 1)
    order = np.argsort(-np.abs(found), kind="stable")
    return RowExplanation(
        row,
        predicted,
        against,
        words,
        value,
        float(base.mean()),
        len(some),
        "shap" if shap else "additive",
        tuple(Contribution(model.columns[j], _short(shown[j]), float(found[j])) for j in order),
    )


def _short(value: Any) -> str:
    return "missing" if value is None or value != value else f"{value:.4g}" if isinstance(value, float) else str(value)


Response = Callable[[Any], np.ndarray]


def _response(model: StudyModel, x: Any, smallest: float) -> tuple[str, str, str, Response]:
    """What is predicted for a row, the class that it is compared with, and the response, in words and as a function."""
    pipeline = model.pipeline
    predicted = pipeline.predict(x)[0]
    if model.task == "regression":
        if hasattr(pipeline[-1], "_get_loss"):  # generalised linear models of scikit-learn, with a log link
            return f"{predicted:.4g}", "", f"log of {model.target}", lambda X: np.log(pipeline.predict(X))
        return f"{predicted:.4g}", "", model.target, lambda X: np.asarray(pipeline.predict(X), dtype=float)
    name = next((name for name in ("predict_proba", "decision_function") if hasattr(pipeline, name)), None)
    if name is None:
        raise StudyError(f"{type(pipeline[-1]).__name__} gives neither probabilities nor decision values to explain.")

    def values(X: Any) -> np.ndarray:
        found = np.asarray(getattr(pipeline, name)(X), dtype=float)
        if name == "predict_proba":
            return np.log(np.maximum(found, smallest))
        return np.column_stack([np.zeros(len(found)), found]) if found.ndim == 1 else found

    classes, of_row = list(pipeline.classes_), values(x)[0]
    first = classes.index(predicted)
    second = max((place for place in range(len(classes)) if place != first), key=lambda place: of_row[place])
    words = "log of the ratio of probabilities" if name == "predict_proba" else "difference of decision values"

    def ahead(X: Any) -> np.ndarray:
        found = values(X)
        return found[:, first] - found[:, second]

    return str(predicted), str(classes[second]), words, ahead


def _contributions(response: Response, x: Any, rows: Any, value: float) -> np.ndarray:
    """Response of the row minus its mean with each column taken from the rows to compare with."""
    n, p = rows.shape
    at_once = max(1, _CELLS // max(1, n * p))
    found = []
    for start in range(0, p, at_once):
        columns = range(start, min(start + at_once, p))
        together = _stacked([_replaced(x, rows, column) for column in columns])
        found.append(value - response(together).reshape(len(columns), n).mean(axis=1))
    return np.concatenate(found)


def _replaced(x: Any, rows: Any, column: int) -> Any:
    """The row once for each row to compare with, with one column taken from there."""
    if isinstance(x, pl.DataFrame):
        return x[[0] * len(rows)].with_columns(rows[:, column])
    some = np.repeat(x.toarray() if sparse.issparse(x) else np.asarray(x), rows.shape[0], axis=0)
    other = rows[:, [column]]
    some[:, column] = (other.toarray() if sparse.issparse(other) else np.asarray(other))[:, 0]
    return sparse.csr_array(some) if sparse.issparse(x) else some


def _stacked(parts: list[Any]) -> Any:
    if isinstance(parts[0], pl.DataFrame):
        return pl.concat(parts)
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _shap_values(response: Response, x: Any, rows: Any) -> np.ndarray:
    """Shapley values by permutations of the columns; categories are passed on as the numbers of their rows."""
    try:
        import shap
    except ImportError:
        raise StudyError(
            "Shapley values need the package shap, which is not installed: pip install 'fewer[shap]'."
        ) from None
    everything = pl.concat([x, rows]) if isinstance(x, pl.DataFrame) else _stacked([x, rows])
    n, p = everything.shape
    # Every cell is the number of the row that its value comes from, so that columns of any kind can be mixed.
    places = np.repeat(np.arange(n, dtype=float)[:, None], p, axis=1)

    def of_places(chosen: np.ndarray) -> np.ndarray:
        return response(_mixed(everything, np.asarray(chosen, dtype=int)))

    explainer = shap.PermutationExplainer(of_places, places[1:], seed=0)
    return np.asarray(explainer(places[:1], max_evals=max(500, 10 * (2 * p + 1)), silent=True).values)[0]


def _mixed(everything: Any, places: np.ndarray) -> Any:
    """Rows whose cells come from the rows that are named."""
    if isinstance(everything, pl.DataFrame):
        return pl.DataFrame({name: everything[name].gather(places[:, j]) for j, name in enumerate(everything.columns)})
    dense = everything.toarray() if sparse.issparse(everything) else np.asarray(everything)
    mixed = np.take_along_axis(dense, places, axis=0)
    return sparse.csr_array(mixed) if sparse.issparse(everything) else mixed
