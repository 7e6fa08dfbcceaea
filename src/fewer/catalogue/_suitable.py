"""Whether a method takes a table as it is, asked before any work is done."""

from typing import TYPE_CHECKING

from fewer.catalogue._discover import methods
from fewer.catalogue._method import Method, Trait

if TYPE_CHECKING:
    from fewer.io import Dataset

_CURES: dict[Trait, str] = {
    "missing": "fill the holes inside the folds, for example with sklearn.impute.SimpleImputer in a Pipeline",
    "sparse": "convert it yourself if it fits into memory (X.toarray())",
    "categorical": "encode these columns inside the folds, for example with sklearn.preprocessing.OneHotEncoder",
}


class UnsuitableDataError(ValueError):
    """A table of a kind that the method cannot take."""


def check_takes(card: Method, dataset: "Dataset") -> None:
    """Raise :class:`UnsuitableDataError` unless the method takes this table as it is.

    Parameters
    ----------
    card : Method
        Card of the method.
    dataset : Dataset
        The table.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.catalogue import check_takes, find
    >>> from fewer.io import read_table
    >>> check_takes(find("ReconstructionPCA"), read_table(np.array([[1.0, np.nan], [2.0, 3.5], [0.5, 2.0]])))
    Traceback (most recent call last):
    ...
    fewer.catalogue...UnsuitableDataError: ReconstructionPCA takes no missing values, and x1 has 1...
    """
    _check_task(card, dataset)
    needed = traits_of(dataset)
    for trait, where in needed.items():
        if trait in card.handles:
            continue
        peers = [
            other.name
            for other in methods(room=card.room, handles=tuple(needed))
            if set(other.tasks) & set(card.tasks) and other.name != card.name
        ]
        raise UnsuitableDataError(f"{card.name} takes {where}. {_advice(peers, card.room, _CURES[trait])}")


def traits_of(dataset: "Dataset") -> dict[Trait, str]:
    """What makes this table difficult, each with words that say where."""
    traits: dict[Trait, str] = {}
    if dataset.is_sparse:
        traits["sparse"] = "no sparse tables, and this one is sparse"
    if dataset.has_missing:
        counts = dataset.missing_by_column
        holes = [(name, int(count)) for name, count in zip(dataset.columns, counts, strict=True) if count]
        first, count = holes[0]
        more = len(holes) - 1
        others = f", as {'has' if more == 1 else 'have'} {more} other column{'' if more == 1 else 's'}" if more else ""
        traits["missing"] = f"no missing values, and {first} has {count}{others}"
    words = [] if dataset.is_sparse else _words_of(dataset)
    if words:
        verb = f" and {len(words) - 1} more are not" if len(words) > 1 else " is not"
        traits["categorical"] = f"numbers only, and {words[0]}{verb}"
    return traits


def _words_of(dataset: "Dataset") -> list[str]:
    """Columns of strings, categories or dates; an integer identifier is a number all the same."""
    import polars as pl

    if not isinstance(dataset.X, pl.DataFrame):
        return []
    unusual = {
        name
        for name, kind in zip(dataset.columns, dataset.kinds, strict=True)
        if kind in ("categorical", "text", "date", "identifier")
    }
    return [name for name, dtype in dataset.X.schema.items() if name in unusual and not dtype.is_numeric()]


def _check_task(card: Method, dataset: "Dataset") -> None:
    task = {"binary": "classification", "multiclass": "classification"}.get(dataset.task, dataset.task)
    if task == "none":
        if not {"unsupervised", "evaluation"} & set(card.tasks):
            peers = [other.name for other in methods(room=card.room, task="unsupervised")]
            advice = _advice(peers, card.room, "name a target column")
            raise UnsuitableDataError(f"{card.name} needs a target, and the table has none. {advice}")
    elif not {task, "unsupervised", "evaluation"} & set(card.tasks):
        peers = [other.name for other in methods(room=card.room, task=task)]
        raise UnsuitableDataError(
            f"{card.name} is for {' and '.join(card.tasks)}, and the target {dataset.target!r} asks for {task}. "
            + _advice(peers, card.room, f"read the table with another task= than {dataset.task!r}")
        )


def _advice(peers: list[str], room: str, cure: str) -> str:
    if peers:
        return f"{', '.join(peers[:3])} in fewer.{room} can; or {cure}."
    return f"No method in fewer.{room} takes it yet: {cure}."
