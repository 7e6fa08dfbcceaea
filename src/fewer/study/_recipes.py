"""How to build a reducer, a learner or an imputer from plain words: a name and its parameters, ready for JSON.

A plan must be readable, comparable and safe to load, so it contains no objects: names of the catalogue, or of the
learners and imputers below, and parameters that are numbers, words or lists of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from fewer.study._errors import StudyError

# Penalties that generalised cross-validation chooses from; prepared columns have unit variance.
_ALPHAS = tuple(10 ** (power / 2) for power in range(-4, 11))
# How a candidate that takes no negative numbers gets them: scaled by the largest entry of a column, or as they are.
Counts = Literal["scaled", "raw"] | None
# Leaves of regression trees have one row, those of classification trees several.
_MOST_ROWS_OF_A_TREE = {True: 100_000, False: 50_000}
# Costs that linear support vector machines choose from.
_COSTS = [0.001, 0.01, 0.1, 1.0]
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

    if classify:
        return ExtraTreesClassifier(100, class_weight=_weight(classes))
    # A third of the columns at each split, as forests for numbers do by custom; all of them take three times as long.
    return ExtraTreesRegressor(100, max_features=1 / 3)


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


def _sparse_path(classify: bool, classes: int, l1_ratio: float = 1.0) -> Any:
    from fewer.learn import L1PathClassifierCV, L1PathRegressorCV

    options: dict[str, Any] = {"l1_ratio": l1_ratio, "rule": "best", "n_alphas": 30}
    return L1PathClassifierCV(class_weight=_weight(classes), **options) if classify else L1PathRegressorCV(**options)


def _linear_support_vectors(classify: bool, classes: int) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC, LinearSVR

    if classify:
        scoring = "balanced_accuracy" if classes else "accuracy"
        return GridSearchCV(LinearSVC(class_weight=_weight(classes)), {"C": _COSTS}, cv=3, scoring=scoring)
    # The squared loss has a primal solver, which is some ten times as fast for many rows.
    tube = LinearSVR(epsilon=0.1, loss="squared_epsilon_insensitive", dual="auto")
    of_target = TransformedTargetRegressor(tube, transformer=StandardScaler())
    return GridSearchCV(of_target, {"regressor__C": _COSTS}, cv=3)


def _kernel_ridge(classify: bool, classes: int) -> Any:
    from fewer.learn import KernelRidgeClassifierLOO, KernelRidgeRegressorLOO

    return KernelRidgeClassifierLOO(tol=0.1) if classify else KernelRidgeRegressorLOO(tol=0.1)


def _fisher(classify: bool, classes: int) -> Any:
    from fewer.extract import RegularizedFisherCV

    return RegularizedFisherCV()


def _tree_augmented(classify: bool, classes: int) -> Any:
    from fewer.graph import TANClassifier

    return TANClassifier("omisp-cr", smoothing="dirichlet")


def _blankets(classify: bool, classes: int) -> Any:
    from fewer.graph import ISMBClassifier

    return ISMBClassifier()


def _multinomial(classify: bool, classes: int) -> Any:
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB(fit_prior=not classes)


def _poisson(classify: bool, classes: int) -> Any:
    from sklearn.linear_model import PoissonRegressor
    from sklearn.model_selection import GridSearchCV

    # The penalty is per row, of columns with unit variance.
    alphas = [1e-4, 1e-2, 0.1, 1.0, 10.0]
    return GridSearchCV(
        PoissonRegressor(max_iter=1000, tol=1e-3), {"alpha": alphas}, cv=3, scoring="neg_mean_poisson_deviance"
    )


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

    ``build`` takes whether the target consists of classes, and the number of classes if all of them count alike, else
    0. A learner that is fitted anew for every size gets ``every`` second or third size only. A ``pairwise`` one looks
    at all pairs of rows, so that its time grows with their square. One for ``counts`` takes no negative columns, one
    for ``count_targets`` no negative targets. Predictions of a ``positive`` one are above zero if no target is
    negative. One that solves for all rows at once takes ``most_rows``.
    """

    name: str
    says: str
    build: Callable[[bool, int], Any]
    classes: bool = True
    regression: bool = True
    every: int = 1
    pairwise: bool = False
    sparse: bool = True
    counts: bool = False
    count_targets: bool = False
    positive: bool = False
    most_rows: int | None = None


LEARNERS: dict[str, Learner] = {
    learner.name: learner
    for learner in (
        Learner("ridge", "ridge", _ridge),
        Learner("logistic", "logistic regression", _logistic, regression=False),
        Learner("svm", "RBF SVM", _support_vectors, pairwise=True),
        Learner("svm10", "RBF SVM (C=10)", partial(_support_vectors, C=10.0), pairwise=True),
        Learner("extra_trees", "extra trees", _extra_trees, every=3, positive=True),
        Learner("knn", "nearest neighbours", _neighbours, pairwise=True),
        Learner("naive_bayes", "naive Bayes", _naive_bayes, regression=False, sparse=False),
        Learner("lda", "linear discriminant", _discriminant, regression=False, sparse=False),
        Learner("forest", "random forest", _forest, every=3, positive=True),
        Learner("boosting", "gradient boosting", _boosting, every=3, sparse=False, positive=True),
        Learner("lasso", "lasso", _sparse_path, every=2),
        Learner("elastic_net", "elastic net", partial(_sparse_path, l1_ratio=0.5), every=2),
        Learner("linear_svm", "linear SVM", _linear_support_vectors, every=3),
        Learner("kernel_ridge", "kernel ridge", _kernel_ridge, every=3, pairwise=True, sparse=False, most_rows=5_000),
        Learner("fisher", "regularised Fisher", _fisher, regression=False),
        Learner("tan", "tree-augmented naive Bayes", _tree_augmented, regression=False, every=3, sparse=False),
        Learner("ismb", "Markov blankets", _blankets, regression=False, every=3, sparse=False, most_rows=2_000),
        Learner("multinomial_nb", "multinomial naive Bayes", _multinomial, regression=False, counts=True),
        Learner("poisson", "Poisson regression", _poisson, classes=False, count_targets=True, positive=True),
        Learner("simplest", "most frequent class, or mean", _simplest),
    )
}


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
            raise StudyError(f"learner must be one of {', '.join(LEARNERS)}, not {self.name!r}.")
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
    names = estimator.get_params()
    chance = {name: seed for name in names if name == "random_state" or name.endswith("__random_state")}
    jobs = {name: 1 for name in names if name == "n_jobs" or name.endswith("__n_jobs")}
    return estimator.set_params(**chance, **jobs)


def _by_column(strategy: str) -> Callable[[], Any]:
    def build() -> Any:
        from sklearn.impute import SimpleImputer

        return SimpleImputer(strategy=strategy, keep_empty_features=True)

    return build


def _knn_imputer() -> Any:
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
        Imputer("knn", "the five most similar rows", _knn_imputer),
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
