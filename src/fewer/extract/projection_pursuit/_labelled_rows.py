"""Rows in the order of their classes."""

from typing import NamedTuple

import numpy as np

from fewer._estimators import warn_caller

FEW_ROWS = 5


class LabelledRows(NamedTuple):
    """The classes, which rows to take in which order, and where each class with rows to take begins among them."""

    classes: np.ndarray
    rows: np.ndarray
    begins: np.ndarray


def labelled_rows(classes: np.ndarray, codes: np.ndarray, who: str) -> LabelledRows:
    """Rows of classes with two or more rows, class by class; ``codes`` are places among the classes."""
    sizes = np.bincount(codes)
    if (sizes < 2).any():
        _tell_of_single_rows(classes[sizes < 2], int(np.count_nonzero(sizes > 1)), who)
    few = np.flatnonzero((sizes > 1) & (sizes < FEW_ROWS))
    if len(few):
        warn_caller(
            f"Class {classes.tolist()[few[0]]!r} has {sizes[few[0]]} rows only: from fewer than {FEW_ROWS} {who} can "
            "tell little about the shape of a distribution. Merge small classes, or leave them out."
        )
    kept = np.flatnonzero(sizes > 1)
    rows = np.argsort(codes, kind="stable")
    rows = rows[np.isin(codes[rows], kept)]
    return LabelledRows(classes, rows, np.append(0, np.cumsum(sizes[kept])))


def _tell_of_single_rows(classes: np.ndarray, n_others: int, who: str) -> None:
    if n_others < 2:
        raise ValueError(
            f"{who} needs at least two classes with two or more rows each: the density of a class at a row is made of "
            "the other rows of that class."
        )
    names = ", ".join(repr(name) for name in classes[:5].tolist())
    warn_caller(f"Classes with a single row have no density and are left out of the search: {names}.")
