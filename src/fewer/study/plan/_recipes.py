"""How to build a reducer, a learner or an imputer from plain words: a name and its parameters, ready for JSON.

A plan must be readable, comparable and safe to load, so it contains no objects: names of the catalogue, import paths
that the user has typed, and parameters that are numbers, words or lists of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from inspect import signature
from typing import Any, Literal

from fewer.catalogue import (
    CatalogueError,
    Imputer,
    card_of,
    find,
    import_path_of,
    imputer_named,
    is_import_path,
    learner_named,
)
from fewer.study._errors import StudyError
from fewer.study.plan._scoring import scorer_named

# How a candidate that takes no negative numbers gets them: scaled by the largest entry of a column, or as they are.
# One that makes columns of categories gets codes: one column for each of the table, missing values stay missing.
Counts = Literal["scaled", "raw", "codes"] | None
# Leaves of regression trees have one row, those of classification trees several.
_MOST_ROWS_OF_A_TREE = {True: 100_000, False: 50_000}
# Scores that are not defined for predictions below zero, some of them not for zero either.
POSITIVE_SCORES = frozenset(
    {
        "neg_mean_poisson_deviance",
        "neg_mean_gamma_deviance",
        "neg_mean_squared_log_error",
        "neg_root_mean_squared_log_error",
    }
)
# Scores that count every class alike: learners weight the classes likewise.
BALANCED_SCORES = frozenset({"balanced_accuracy", "recall_macro", "f1_macro", "jaccard_macro"})


def learner_recipe(name: str, scoring: str) -> "Recipe":
    """The learner of this name, with the loss that the score asks for where its predictions must be positive."""
    if scoring not in POSITIVE_SCORES:
        return Recipe(name)
    if name == "boosting":
        return Recipe(name, {"loss": "gamma" if "gamma" in scoring else "poisson"})
    # Leaves of this criterion are never zero; targets of the gamma deviance are not zero themselves.
    return Recipe(name, {"criterion": "poisson"} if name in ("extra_trees", "forest") else {})


def can_be_scored(learner: Any, scoring: str) -> bool:
    """Whether the learner gives what the score asks for: predictions, decision values or probabilities."""
    asked = getattr(scorer_named(scoring), "_response_method", "predict")
    return any(hasattr(learner, name) for name in ((asked,) if isinstance(asked, str) else asked))


@dataclass(frozen=True)
class Recipe:
    """A name and parameters, from which an estimator is built.

    Attributes
    ----------
    name : str
        A method or learner of the catalogue, or an import path.
    params : mapping of str to number, str, bool, None or list
        Parameters that differ from the defaults.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_imported(self) -> bool:
        """Whether building it imports a module that the plan names."""
        return is_import_path(self.name)

    def learner(self, *, classify: bool, classes: int = 0, seed: int) -> Any:
        """The learner, not fitted; ``classes`` is their number if all of them count alike in the score, else 0."""
        try:
            learner = learner_named(self.name)
        except CatalogueError as error:
            raise StudyError(str(error)) from None
        return seeded(learner.build(classify=classify, n_classes=classes, params=self.params), seed)

    @property
    def makes_columns(self) -> bool:
        """Whether the reducer makes new columns, rather than choosing among those of the table."""
        return "selector" not in find(self.name).roles

    @cached_property
    def for_counts(self) -> Counts:
        """How columns come to a reducer that takes no negative numbers, or categories; None for any other."""
        from sklearn.utils import get_tags

        card = find(self.name)
        tags = get_tags(self.reducer(seed=0)).input_tags
        positive = tags.positive_only
        if tags.categorical and "selector" not in card.roles:
            return "codes"
        # What makes new columns of non-negative ones is a model of counts; scores of single columns compare them.
        if card.counts or (positive and "selector" not in card.roles):
            return "raw"
        return "scaled" if positive else None

    def reducer(self, *, seed: int) -> Any:
        """The selector or extractor, not fitted."""
        implementation: Any = find(self.name).implementation
        return seeded(implementation(**self.params), seed)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"name": self.name, "params": dict(self.params)}


def recipe_of(learner: Any, scoring: str) -> Recipe:
    """The recipe of a learner that the user has given: a name, an import path, or an estimator."""
    if not isinstance(learner, str):
        return _recipe_of_estimator(learner)
    try:
        return learner_recipe(learner_named(learner).name, scoring)
    except CatalogueError as error:
        raise StudyError(str(error)) from None


def _recipe_of_estimator(estimator: Any) -> Recipe:
    """The name or import path of an estimator, and the parameters in which it differs from a new one."""
    kind = type(estimator)
    if not hasattr(estimator, "get_params"):
        raise StudyError(f"learners must be names or estimators of scikit-learn, not {estimator!r}.")
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        raise StudyError(
            f"{kind.__name__} is defined in this script, notebook or function, where worker processes and later "
            "sessions do not find it. Put it into a module, and import it from there."
        )
    default = kind().get_params(deep=False)
    params = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name not in ("random_state", "n_jobs") and not _same(value, default[name])
    }
    for name, value in params.items():
        if not all(is_plain(each) for each in (value if isinstance(value, list | tuple) else [value])):
            raise StudyError(
                f"The parameter {name} of {kind.__name__} is a {type(value).__name__}, which cannot be written into a "
                "plan. Use numbers, strings and lists of them, or a subclass with this value as its default."
            )
    params = {name: list(value) if isinstance(value, tuple) else value for name, value in params.items()}
    return Recipe(import_path_of(kind) if card_of(kind) is None else kind.__name__, params)


def _same(value: Any, other: Any) -> bool:
    return value is other or (type(value) is type(other) and is_plain(value) and value == other)


def is_plain(value: Any) -> bool:
    """Whether it is a number, a word, a truth value or None."""
    return value is None or isinstance(value, (str, bool, float)) or (isinstance(value, int) and abs(value) < 2**63)


def of_moderate_size(learner: Any, n_rows: int) -> Any:
    """The learner; if it is a forest and there are very many rows, each of its trees sees a random sample of them.

    Trees grow with their rows: 100 of them on 1,000,000 rows take gigabytes of memory and of the model's file.
    """
    from sklearn.base import is_classifier

    most = _MOST_ROWS_OF_A_TREE[is_classifier(learner)]
    if n_rows > most and {"bootstrap", "max_samples"} <= learner.get_params().keys():
        learner.set_params(bootstrap=True, max_samples=most)
    return learner


def seeded(estimator: Any, seed: int) -> Any:
    """The estimator with this seed, and with one job, wherever it has parameters for them."""
    kind: Any = type(estimator)
    if _is_flat(estimator):  # what follows does the same, and takes as long as a small fit
        for name, value in (("random_state", seed), ("n_jobs", 1)):
            if name in _parameters(kind):
                setattr(estimator, name, value)
        return estimator
    names = estimator.get_params()
    chance = {name: seed for name in names if name == "random_state" or name.endswith("__random_state")}
    jobs = {name: 1 for name in names if name == "n_jobs" or name.endswith("__n_jobs")}
    return estimator.set_params(**chance, **jobs)


def _is_flat(estimator: Any) -> bool:
    """Whether it has scikit-learn's own way to set parameters, and none of them has parameters itself."""
    from sklearn.base import BaseEstimator

    kind: Any = type(estimator)
    if (kind.get_params, kind.set_params) != (BaseEstimator.get_params, BaseEstimator.set_params):
        return False
    return not any(hasattr(getattr(estimator, name), "get_params") for name in _parameters(kind))


@cache
def _parameters(kind: type) -> tuple[str, ...]:
    return tuple(signature(kind).parameters)


def study_imputer(name: str, *, sparse: bool = False) -> Imputer:
    """The imputer of this name, in any case, if it can be used on such a table."""
    try:
        imputer = imputer_named(name)
    except CatalogueError as error:
        raise StudyError(str(error)) from None
    if sparse and imputer.from_others:
        raise StudyError(
            f"{imputer.name} would treat the zeros of a sparse table as missing values; use median or mean."
        )
    return imputer
