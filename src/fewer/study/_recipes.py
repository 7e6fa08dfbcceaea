"""How to build a reducer or a learner from plain words: a name and its parameters, ready for JSON.

A plan must be readable, comparable and safe to load, so it holds no objects: names of the catalogue or of the learners
below, and parameters that are numbers, words or lists of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fewer.study._errors import StudyError


def _neighbours(classify: bool) -> Any:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return KNeighborsClassifier(5) if classify else KNeighborsRegressor(5)


def _ridge(classify: bool) -> Any:
    from sklearn.linear_model import Ridge, RidgeClassifier

    return RidgeClassifier() if classify else Ridge()


def _naive_bayes(classify: bool) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _discriminant(classify: bool) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


def _forest(classify: bool) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    return RandomForestClassifier(100) if classify else RandomForestRegressor(100)


def _support_vectors(classify: bool) -> Any:
    from sklearn.svm import SVC, SVR

    return SVC() if classify else SVR()


def _simplest(classify: bool) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier() if classify else DummyRegressor()


@dataclass(frozen=True)
class Learner:
    """A learner that a study can name; ``says`` is what people call it.

    A ``slow`` one is fitted anew for every size. A ``pairwise`` one looks at all pairs of rows, so that its time grows
    with their square.
    """

    name: str
    says: str
    build: Callable[[bool], Any]
    regression: bool = True
    slow: bool = False
    pairwise: bool = False
    sparse: bool = True


LEARNERS: dict[str, Learner] = {
    learner.name: learner
    for learner in (
        Learner("ridge", "ridge", _ridge),
        Learner("knn", "nearest neighbours", _neighbours, pairwise=True),
        Learner("naive_bayes", "naive Bayes", _naive_bayes, regression=False, sparse=False),
        Learner("lda", "linear discriminant", _discriminant, regression=False, sparse=False),
        Learner("forest", "random forest", _forest, slow=True),
        Learner("svm", "SVM", _support_vectors, slow=True, pairwise=True),
        Learner("simplest", "most frequent class, or mean", _simplest),
    )
}


@dataclass(frozen=True)
class Recipe:
    """A name and parameters, from which an estimator is built.

    Attributes
    ----------
    name : str
        A method of the catalogue, or a learner of the study.
    params : mapping of str to number, str, bool, None or list
        Parameters that differ from the defaults.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def learner(self, *, classify: bool, seed: int) -> Any:
        """The learner, not fitted."""
        if self.name not in LEARNERS:
            raise StudyError(f"There is no learner {self.name!r}; there are {', '.join(LEARNERS)}.")
        return seeded(LEARNERS[self.name].build(classify).set_params(**self.params), seed)

    @property
    def makes_columns(self) -> bool:
        """Whether the reducer makes new columns, rather than choosing among those of the table."""
        from sklearn.feature_selection import SelectorMixin

        from fewer.catalogue import find

        implementation: Any = find(self.name).implementation
        return not issubclass(implementation, SelectorMixin)

    @property
    def for_counts(self) -> bool:
        """Whether the reducer takes no negative numbers."""
        from sklearn.utils import get_tags

        return get_tags(self.reducer(seed=0)).input_tags.positive_only

    def reducer(self, *, seed: int) -> Any:
        """The selector or extractor, not fitted."""
        from fewer.catalogue import find

        implementation: Any = find(self.name).implementation
        return seeded(implementation(**self.params), seed)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"name": self.name, "params": dict(self.params)}


def seeded(estimator: Any, seed: int) -> Any:
    """The estimator with this seed, and with one job, wherever it has parameters for them."""
    names = estimator.get_params()
    chance = {name: seed for name in names if name == "random_state" or name.endswith("__random_state")}
    jobs = {name: 1 for name in names if name == "n_jobs" or name.endswith("__n_jobs")}
    return estimator.set_params(**chance, **jobs)
