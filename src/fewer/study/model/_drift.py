"""Whether the columns of new rows are distributed as those of the study.

A *profile* has, for each column, the range of its n values and their counts between deciles, or the counts of its
categories, and of the missing ones. With m new rows it is tested up to three ways, and three times the smallest p-value
counts, adjusted for the number of columns (Holm 1979):

- the distribution, by the chi-squared test of two samples on counts, where cells with an expected count below 5 are
  put together;
- the range, on either side: the k largest of all n + m values are all new with the probability
  ``m (m - 1) ... (m - k + 1) / ((n + m) ... (n + m - k + 1))`` if all rows are exchangeable;
- categories that the study did not have: with k rows in the most frequent of them, the same probability times the
  number of categories with at least k rows in both tables together, any of which might have been in the new rows alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fewer._wording import counted, listed

if TYPE_CHECKING:
    from fewer.io import Dataset

_DECILES = np.arange(1, 10) / 10
_FEWEST_EXPECTED = 5


@dataclass(frozen=True)
class ColumnDrift:
    """A column of new rows beside the same column in the study.

    Attributes
    ----------
    name : str
        The column.
    p_value : float
        Of all tests of this column, adjusted for the number of columns.
    distance : float
        Total variation distance of the two distributions: the share of rows that would have to change.
    n_below, n_above : int
        Rows below the lowest and above the highest value in the study.
    unseen : tuple of str
        Categories that the study did not have.
    n_unseen : int
        Rows with one of them.
    missing, missing_in_study : float
        Share of missing values.
    drifted : bool
        Whether the p-value is at most the significance level.
    """

    name: str
    p_value: float
    distance: float
    n_below: int = 0
    n_above: int = 0
    unseen: tuple[str, ...] = ()
    n_unseen: int = 0
    missing: float = 0.0
    missing_in_study: float = 0.0
    drifted: bool = False

    def __str__(self) -> str:
        facts = [f"{self.distance:.0%} of the rows are distributed differently (adjusted p = {self.p_value:.2g})"]
        if self.n_below:
            facts.append(f"{counted(self.n_below, 'row')} below the range of the study")
        if self.n_above:
            facts.append(f"{counted(self.n_above, 'row')} above the range of the study")
        if self.unseen:
            facts.append(f"{counted(self.n_unseen, 'row')} with categories not in the study ({listed(self.unseen)})")
        if abs(self.missing - self.missing_in_study) >= 0.01:
            facts.append(f"{self.missing:.0%} missing values ({self.missing_in_study:.0%} in the study)")
        return f"{self.name}: {'; '.join(facts)}"


def column_profiles(dataset: "Dataset") -> dict[str, dict[str, Any]]:
    """Ranges and counts of all columns, as plain data.

    Parameters
    ----------
    dataset : Dataset
        Rows of a study.

    Returns
    -------
    profiles : dict of str to dict
        ``{"missing": 0, "range": [low, high], "edges": [...], "counts": [...]}`` of numbers, ``{"missing": 0,
        "categories": {value: count}}`` of strings.

    Examples
    --------
    >>> from fewer.io import Dataset
    >>> profiles = column_profiles(Dataset.from_frame({"age": [1.5, 2.5, None, 9.5], "sex": ["f", "m", "f", "f"]}))
    >>> profiles["age"]["range"], profiles["age"]["missing"], profiles["sex"]["categories"]
    ([1.5, 9.5], 1, {'f': 3, 'm': 1})
    """
    return {name: _profile(values) for name, values in _columns(dataset, dataset.columns)}


def drift_of(
    dataset: "Dataset", profiles: Mapping[str, Mapping[str, Any]], *, significance_level: float = 0.05
) -> tuple[ColumnDrift, ...]:
    """New rows beside the profiles of a study.

    Parameters
    ----------
    dataset : Dataset
        New rows, with all columns of the profiles.
    profiles : mapping of str to mapping
        As ``column_profiles`` has made them.
    significance_level : float, default=0.05
        Probability that any column is said to have drifted where none has.

    Returns
    -------
    columns : tuple of ColumnDrift
        All columns, smallest p-value first.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.io import Dataset
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> profiles = column_profiles(Dataset.from_frame({"old": x, "moved": x}))
    >>> [each.name for each in drift_of(Dataset.from_frame({"old": x, "moved": x + 2}), profiles) if each.drifted]
    ['moved']
    """
    from dataclasses import replace

    found = [_column_drift(name, values, profiles[name]) for name, values in _columns(dataset, profiles)]
    found.sort(key=lambda each: (each.p_value, -each.distance))
    adjusted = np.maximum.accumulate([(len(found) - place) * each.p_value for place, each in enumerate(found)] or [0.0])
    return tuple(
        replace(each, p_value=min(1.0, float(p)), drifted=bool(p <= significance_level))
        for each, p in zip(found, adjusted, strict=False)
    )


def are_profiles(data: Any) -> bool:
    """Whether plain data from a file can be used as profiles."""
    return isinstance(data, dict) and all(isinstance(name, str) and _is_profile(each) for name, each in data.items())


def _is_profile(data: Any) -> bool:
    def numbers(values: Any, kind: Any) -> bool:
        return isinstance(values, list) and all(isinstance(each, kind) for each in values)

    if not isinstance(data, dict) or not isinstance(data.get("missing"), int):
        return False
    if "categories" in data:
        categories = data["categories"]
        return isinstance(categories, dict) and numbers(list(categories.values()), int)
    return (
        numbers(data.get("range"), (int, float))
        and len(data["range"]) in (0, 2)
        and numbers(data.get("edges"), (int, float))
        and numbers(data.get("counts"), int)
        and len(data["counts"]) == len(data["edges"]) + 1
    )


def _columns(dataset: "Dataset", names: Any) -> Any:
    """Each column as strings or as numbers, missing ones as None or nan."""
    for name in names:
        column: Any = dataset.X[:, dataset.columns.index(name)]
        if isinstance(column, pl.Series):
            is_number = column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)
            yield name, column.cast(pl.Float64).to_numpy() if is_number else column.cast(pl.String)
        else:
            yield name, np.asarray(column.toarray().ravel() if dataset.is_sparse else column, dtype=float)


def _profile(values: Any) -> dict[str, Any]:
    if isinstance(values, pl.Series):
        counts = values.drop_nulls().value_counts(sort=True)
        known = sorted(zip(*counts.get_columns(), strict=True), key=lambda pair: (-pair[1], pair[0]))
        return {"missing": values.null_count(), "categories": {str(value): int(n) for value, n in known}}
    known = values[~np.isnan(values)]
    if not len(known):
        return {"missing": len(values), "range": [], "edges": [], "counts": [0]}
    edges = np.unique(np.quantile(known, _DECILES, method="inverted_cdf"))
    return {
        "missing": int(len(values) - len(known)),
        "range": [float(known.min()), float(known.max())],
        "edges": edges.tolist(),
        "counts": _between(known, edges).tolist(),
    }


def _between(values: np.ndarray, edges: Any) -> np.ndarray:
    """How many values are up to each edge, and beyond the last."""
    return np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)


def _column_drift(name: str, values: Any, profile: Mapping[str, Any]) -> ColumnDrift:
    facts: dict[str, Any] = {}
    tails = []
    if "categories" in profile:
        values = values if isinstance(values, pl.Series) else pl.Series(values).fill_nan(None).cast(pl.String)
        n_missing, known = values.null_count(), profile["categories"]
        now: dict[str, int] = dict(values.drop_nulls().value_counts().iter_rows())
        unseen = sorted(set(now) - set(known))
        facts = {"unseen": tuple(unseen), "n_unseen": sum(now[value] for value in unseen)}
        largest = max((now[value] for value in unseen), default=0)
        if largest:  # of all categories that are so frequent, any might have been the one
            alike = sum(known.get(value, 0) + now.get(value, 0) >= largest for value in {*known, *now})
            tails = [min(1.0, alike * _tail_p_value(largest, sum(known.values()), sum(now.values())))]
        # In an order that both tables have the same say in: rare categories are put together for the test.
        in_order = sorted({*known, *now}, key=lambda value: (-known.get(value, 0) - now.get(value, 0), value))
        before, after = ([table.get(value, 0) for value in in_order] for table in (known, now))
    else:
        values = values.cast(pl.Float64, strict=False).to_numpy() if isinstance(values, pl.Series) else values
        numbers = values[~np.isnan(values)]
        n_missing, before = len(values) - len(numbers), list(profile["counts"])
        after = _between(numbers, profile["edges"]).tolist()
        if profile["range"]:
            low, high = profile["range"]
            facts = {"n_below": int((numbers < low).sum()), "n_above": int((numbers > high).sum())}
            tails = [_tail_p_value(n, sum(before), len(numbers)) for n in facts.values()]
    counts = np.array([[*before, profile["missing"]], [*after, n_missing]], dtype=float)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    p_value = min(1.0, 3 * min([_counts_p_value(counts), *tails]))
    return ColumnDrift(
        name,
        p_value,
        float(np.abs(shares[0] - shares[1]).sum() / 2),
        **facts,
        missing=float(shares[1, -1]),
        missing_in_study=float(shares[0, -1]),
    )


def _tail_p_value(k: int, n: int, m: int) -> float:
    """Probability that the k most extreme of n + m exchangeable values are all among the m."""
    place = np.arange(k)
    return float(np.exp(np.log(m - place).sum() - np.log(n + m - place).sum()))


def _counts_p_value(counts: np.ndarray) -> float:
    """Chi-squared test of two rows of counts; neighbouring cells are put together until enough is expected in each."""
    from scipy.stats import chi2_contingency

    cells = [np.zeros(2)]
    share = counts.sum(axis=1).min() / max(counts.sum(), 1)
    for cell in counts.T:
        if cells[-1].sum() * share >= _FEWEST_EXPECTED:
            cells.append(np.zeros(2))
        cells[-1] = cells[-1] + cell
    if len(cells) > 1 and cells[-1].sum() * share < _FEWEST_EXPECTED:
        last = cells.pop()
        cells[-1] = cells[-1] + last
    return float(chi2_contingency(np.array(cells).T, correction=False).pvalue) if len(cells) > 1 else 1.0
