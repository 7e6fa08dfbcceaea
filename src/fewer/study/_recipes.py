"""How to build a reducer or a learner from plain words: a name and its parameters, ready for JSON.

A plan must be readable, comparable and safe to load, so it holds no objects: names of the catalogue or of the learners
below, and parameters that are numbers, words or lists of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fewer.study._errors import StudyError

# Penalties that generalised cross-validation chooses from; prepared columns have unit variance.
_ALPHAS = tuple(10 ** (power / 2) for power in range(-4, 11))
# Scores that count every class alike: learners weight the classes likewise.
BALANCED_SCORES = frozenset({"balanced_accuracy", "recall_macro", "f1_macro", "jaccard_macro"})


def _neighbours(classify: bool, classes: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return KNeighborsClassifier(5) if classify else KNeighborsRegressor(5)


def _ridge(classify: bool, classes: int) -> Any:
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV

    return RidgeClassifierCV(_ALPHAS, class_weight=_weight(classes)) if classify else RidgeCV(_ALPHAS)


def _logistic(classify: bool, classes: int) -> Any:
    from fewer.learn import RidgePathClassifierCV

    return RidgePathClassifierCV(class_weight=_weight(classes))


def _naive_bayes(classify: bool, classes: int) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB(priors=_alike(classes))


def _discriminant(classify: bool, classes: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(priors=_alike(classes))


def _forest(classify: bool, classes: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    return RandomForestClassifier(100, class_weight=_weight(classes)) if classify else RandomForestRegressor(100)


def _extra_trees(classify: bool, classes: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    return ExtraTreesClassifier(100, class_weight=_weight(classes)) if classify else ExtraTreesRegressor(100)


def _boosting(classify: bool, classes: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    weight = _weight(classes)
    return HistGradientBoostingClassifier(class_weight=weight) if classify else HistGradientBoostingRegressor()


def _support_vectors(classify: bool, classes: int, C: float = 1.0) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    if classify:
        return SVC(C=C, class_weight=_weight(classes))
    # The penalty and the width of the tube are in units of the target.
    return TransformedTargetRegressor(SVR(C=C), transformer=StandardScaler())


def _weight(classes: int) -> str | None:
    return "balanced" if classes else None


def _alike(classes: int) -> list[float] | None:
    return [1 / classes] * classes if classes else None


def _simplest(classify: bool, classes: int) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier() if classify else DummyRegressor()


@dataclass(frozen=True)
class Learner:
    """A learner that a study can name; ``says`` is what people call it.

    ``build`` takes whether the target holds classes, and the number of classes if all of them count alike, else 0. A
    learner that is fitted anew for every size gets ``every`` second or third size only. A ``pairwise`` one looks at all
    pairs of rows, so that its time grows with their square.
    """

    name: str
    says: str
    build: Callable[[bool, int], Any]
    regression: bool = True
    every: int = 1
    pairwise: bool = False
    sparse: bool = True


LEARNERS: dict[str, Learner] = {
    learner.name: learner
    for learner in (
        Learner("ridge", "ridge", _ridge),
        Learner("logistic", "logistic regression", _logistic, regression=False),
        Learner("svm", "SVM", _support_vectors, pairwise=True),
        Learner("svm10", "SVM (C=10)", partial(_support_vectors, C=10.0), pairwise=True),
        Learner("extra_trees", "extra trees", _extra_trees, every=3),
        Learner("knn", "nearest neighbours", _neighbours, pairwise=True),
        Learner("naive_bayes", "naive Bayes", _naive_bayes, regression=False, sparse=False),
        Learner("lda", "linear discriminant", _discriminant, regression=False, sparse=False),
        Learner("forest", "random forest", _forest, every=3),
        Learner("boosting", "gradient boosting", _boosting, every=3, sparse=False),
        Learner("simplest", "most frequent class, or mean", _simplest),
    )
}


def can_be_scored(learner: Any, scoring: str) -> bool:
    """Whether the learner gives what the score asks for: predictions, decision values or probabilities."""
    from sklearn.metrics import get_scorer

    asked = getattr(get_scorer(scoring), "_response_method", "predict")
    return any(hasattr(learner, name) for name in ((asked,) if isinstance(asked, str) else asked))


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

    def learner(self, *, classify: bool, classes: int = 0, seed: int) -> Any:
        """The learner, not fitted; ``classes`` is their number if all of them count alike in the score, else 0."""
        if self.name not in LEARNERS:
            raise StudyError(f"There is no learner {self.name!r}; there are {', '.join(LEARNERS)}.")
        return seeded(LEARNERS[self.name].build(classify, classes).set_params(**self.params), seed)

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
