"""How missing values can be imputed in a study: column by column, or from the other columns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fewer.study._errors import StudyError
from fewer.study._recipes import seeded


def _by_column(strategy: str) -> Callable[[], Any]:
    def build() -> Any:
        from sklearn.impute import SimpleImputer

        return SimpleImputer(strategy=strategy, keep_empty_features=True)

    return build


def _neighbours() -> Any:
    from sklearn.impute import KNNImputer

    return KNNImputer(keep_empty_features=True)


def _completer(name: str) -> Callable[[], Any]:
    def build() -> Any:
        from fewer.catalogue import find

        implementation: Any = find(name).implementation
        return implementation(keep_empty_features=True)

    return build


@dataclass(frozen=True)
class Imputer:
    """An imputer that a study can name.

    Attributes
    ----------
    name : str
        In plans and on the command line.
    says : str
        The words after "imputed by".
    build : callable
        Makes it, not fitted.
    from_others : bool
        Whether it looks at other columns, so that these are needed wherever it is used, and must be on one scale.
    """

    name: str
    says: str
    build: Callable[[], Any]
    from_others: bool = True

    def made(self, seed: int) -> Any:
        """The imputer, not fitted."""
        return seeded(self.build(), seed)


IMPUTERS: dict[str, Imputer] = {
    imputer.name: imputer
    for imputer in (
        Imputer("median", "the median of the column", _by_column("median"), from_others=False),
        Imputer("mean", "the mean of the column", _by_column("mean"), from_others=False),
        Imputer("knn", "the five most similar rows", _neighbours),
        Imputer("PCAMissing", "principal components (PCAMissing)", _completer("PCAMissing")),
        Imputer("SoftImputeCV", "low-rank completion (SoftImputeCV)", _completer("SoftImputeCV")),
    )
}


def imputer_named(name: str, *, sparse: bool) -> Imputer:
    """The imputer of this name, in any case, if it can be used on such a table."""
    by_name = {each.lower(): imputer for each, imputer in IMPUTERS.items()}
    if name.lower() not in by_name:
        raise StudyError(f"impute must be one of {', '.join(IMPUTERS)}, not {name!r}.")
    imputer = by_name[name.lower()]
    if sparse and imputer.from_others:
        raise StudyError(
            f"{imputer.name} would treat the zeros of a sparse table as missing values; use median or mean."
        )
    return imputer
