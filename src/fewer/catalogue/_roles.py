"""Learners and imputers by name: scikit-learn's from the two tables below, all others from their cards.

A table of short names is needed where one name means a classifier or a regressor, depending on the target, or where a
class needs parameters to suit standardised columns. Every other estimator with a card takes part under its own name.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fewer.catalogue._discover import CatalogueError, find
from fewer.catalogue._method import Method, Task

# Penalties that generalised cross-validation chooses from; prepared columns have unit variance.
_ALPHAS = tuple(10 ** (power / 2) for power in range(-4, 11))
# The squared loss has a primal solver, which is some ten times as fast for many rows.
_TUBE = {"epsilon": 0.1, "loss": "squared_epsilon_insensitive", "dual": "auto"}
_PATH = {"rule": "best", "n_alphas": 30}
# What gives the classes equal weight, under the name of the parameter for it.
_EQUAL_WEIGHT = {
    "class_weight": lambda n_classes: "balanced",
    "priors": lambda n_classes: [1 / n_classes] * n_classes,
    "fit_prior": lambda n_classes: False,
}


def imported(path: Any) -> Any:
    """The object at an import path ``module:Name``; anything else is returned as it is."""
    if not isinstance(path, str):
        return path
    module, _, name = path.partition(":")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise CatalogueError(f"{path!r} cannot be imported: {error}.") from None
    return found


def is_import_path(name: str) -> bool:
    """Whether a name is an import path ``module:Name``, and not a name of the catalogue.

    Examples
    --------
    >>> is_import_path("xgboost:XGBClassifier"), is_import_path("ridge")
    (True, False)
    """
    return ":" in name


def import_path_of(implementation: type) -> str:
    """The import path of a class.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import_path_of(Fraction)
    'fractions:Fraction'
    """
    return f"{implementation.__module__}:{implementation.__qualname__}"


@dataclass(frozen=True)
class Learner:
    """A classifier or regressor that a study can name, and what a study must know of it.

    Attributes
    ----------
    name : str
        In plans and on the command line.
    says : str
        What people call it.
    classifier, regressor : type, str or None
        The class, or its import path, for a target of classes and for a numeric one.
    when, cost : str
        As on a card.
    params, regressor_params : mapping
        Parameters that differ from the defaults; the second ones of the regressor only.
    search_space : mapping of str to sequence
        Values of parameters that are chosen by 3-fold cross-validation inside the training rows.
    search_scoring : str or None
        Score of that choice; by default accuracy, balanced where the study's score is, or R2.
    scale_target : bool
        Whether its penalty is in units of the target.
    every : int
        A learner that is fitted anew for every size gets every second or third size only.
    pairwise : bool
        Whether it looks at all pairs of rows, so that its time grows with their square.
    sparse : bool
        Whether it takes sparse tables.
    counts, count_targets : bool
        Whether it needs columns, or targets, without negative numbers; such columns are not scaled.
    positive : bool
        Whether its predictions are above zero if no target is negative.
    most_rows : int or None
        The most rows that it takes, if it solves for all of them at once.
    takes_missing : bool
        Whether it takes missing values as they are, so that nothing is imputed where it gets all columns.
    """

    name: str
    says: str
    classifier: Any = None
    regressor: Any = None
    when: str = ""
    cost: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    regressor_params: Mapping[str, Any] = field(default_factory=dict)
    search_space: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    search_scoring: str | None = None
    scale_target: bool = False
    every: int = 1
    pairwise: bool = False
    sparse: bool = True
    counts: bool = False
    count_targets: bool = False
    positive: bool = False
    most_rows: int | None = None
    takes_missing: bool = False

    def build(self, *, classify: bool, n_classes: int = 0, params: Mapping[str, Any] | None = None) -> Any:
        """The estimator, not fitted.

        Parameters
        ----------
        classify : bool
            Whether the target consists of classes.
        n_classes : int, default=0
            The number of classes if all of them count alike in the score, else 0.
        params : mapping, default=None
            Parameters that differ from those above; what is given is not searched for.

        Returns
        -------
        estimator : estimator
            In a ``GridSearchCV`` if it has a search space.
        """
        implementation = imported(self.classifier if classify else self.regressor)
        own = {**self.params, **({} if classify else self.regressor_params), **(params or {})}
        estimator = implementation(**own)
        if n_classes:
            known = estimator.get_params()
            weight = next((name for name in _EQUAL_WEIGHT if name in known and name not in own), None)
            if weight is not None:
                estimator.set_params(**{weight: _EQUAL_WEIGHT[weight](n_classes)})
        space = {name: list(values) for name, values in self.search_space.items() if name not in (params or {})}
        if self.scale_target and not classify:
            from sklearn.compose import TransformedTargetRegressor
            from sklearn.preprocessing import StandardScaler

            estimator = TransformedTargetRegressor(estimator, transformer=StandardScaler())
            space = {f"regressor__{name}": values for name, values in space.items()}
        if not space:
            return estimator
        from sklearn.model_selection import GridSearchCV

        scoring = self.search_scoring
        if scoring is None and classify:
            scoring = "balanced_accuracy" if n_classes else "accuracy"
        return GridSearchCV(estimator, space, cv=3, scoring=scoring)

    @cached_property
    def card(self) -> Method:
        """Its card, as of a method."""
        implementation = imported(self.classifier or self.regressor)
        pairs = (("classification", self.classifier), ("regression", self.regressor))
        tasks: list[Any] = [task for task, path in pairs if path]
        return Method(
            self.name,
            "learn",
            tuple(tasks),
            self.when,
            self.cost,
            None,
            implementation,
            lambda: [self.build(classify=self.classifier is not None)],
            implementation.__module__.partition(".")[0],
            says=self.says,
            aliases=(self.says,),
            search_space=self.search_space,
            counts=self.counts,
            declared_roles=("learner",),
        )


# scikit-learn's, and ours under the names that people use.
LEARNERS: dict[str, Learner] = {
    learner.name: learner
    for learner in (
        Learner(
            "ridge",
            "ridge",
            "sklearn.linear_model:RidgeClassifierCV",
            "sklearn.linear_model:RidgeCV",
            "Linear effects of many columns; the fastest: all sizes cost little more than one.",
            "O(n p min(n, p)).",
            params={"alphas": _ALPHAS},
        ),
        Learner(
            "logistic",
            "logistic regression",
            "fewer.learn:RidgePathClassifierCV",
            None,
            "As ridge, with probabilities.",
            "O(n p min(n, p)) for each step of Newton's method.",
        ),
        Learner(
            "svm",
            "RBF SVM",
            "sklearn.svm:SVC",
            "sklearn.svm:SVR",
            "Smooth curves and interactions, up to some thousand rows.",
            "O(n^2 p) to O(n^3 p).",
            params={"C": 1.0},
            scale_target=True,
            pairwise=True,
        ),
        Learner(
            "svm10",
            "RBF SVM (C=10)",
            "sklearn.svm:SVC",
            "sklearn.svm:SVR",
            "As svm, with less regularisation.",
            "O(n^2 p) to O(n^3 p).",
            params={"C": 10.0},
            scale_target=True,
            pairwise=True,
        ),
        Learner(
            "extra_trees",
            "extra trees",
            "sklearn.ensemble:ExtraTreesClassifier",
            "sklearn.ensemble:ExtraTreesRegressor",
            "Steps and interactions, whatever the unit.",
            "O(T n log(n) sqrt(p)) for T = 100 trees.",
            # A third of the columns at each split, as forests for numbers do by custom; all take three times as long.
            regressor_params={"max_features": 1 / 3},
            every=3,
            positive=True,
        ),
        Learner(
            "knn",
            "nearest neighbours",
            "sklearn.neighbors:KNeighborsClassifier",
            "sklearn.neighbors:KNeighborsRegressor",
            "Local structure, few columns.",
            "O(n^2 p).",
            pairwise=True,
        ),
        Learner(
            "naive_bayes",
            "naive Bayes",
            "sklearn.naive_bayes:GaussianNB",
            None,
            "Columns that act one by one, very few rows.",
            "O(n p).",
            sparse=False,
        ),
        Learner(
            "lda",
            "linear discriminant",
            "sklearn.discriminant_analysis:LinearDiscriminantAnalysis",
            None,
            "Differences in class means, with fewer columns than rows.",
            "O(n p min(n, p)).",
            sparse=False,
        ),
        Learner(
            "forest",
            "random forest",
            "sklearn.ensemble:RandomForestClassifier",
            "sklearn.ensemble:RandomForestRegressor",
            "Steps and interactions, whatever the unit.",
            "O(T n log(n) sqrt(p)) for T = 100 trees.",
            every=3,
            positive=True,
        ),
        Learner(
            "boosting",
            "gradient boosting",
            "sklearn.ensemble:HistGradientBoostingClassifier",
            "sklearn.ensemble:HistGradientBoostingRegressor",
            "Steps and interactions, from 500 or 1,000 rows on, up to 2,000 classes x columns.",
            "O(T n p) for T = 100 trees of each class.",
            every=3,
            sparse=False,
            positive=True,
        ),
        Learner(
            "lasso",
            "lasso",
            "fewer.learn:L1PathClassifierCV",
            "fewer.learn:L1PathRegressorCV",
            "Linear effects of few columns.",
            "O(n p) for each step of coordinate descent, at 30 penalties.",
            params=_PATH,
            every=2,
        ),
        Learner(
            "elastic_net",
            "elastic net",
            "fewer.learn:L1PathClassifierCV",
            "fewer.learn:L1PathRegressorCV",
            "Linear effects of few columns; correlated ones are kept together.",
            "O(n p) for each step of coordinate descent, at 30 penalties.",
            params={**_PATH, "l1_ratio": 0.5},
            every=2,
        ),
        Learner(
            "linear_svm",
            "linear SVM",
            "sklearn.svm:LinearSVC",
            "sklearn.svm:LinearSVR",
            "Linear borders, text, outliers.",
            "O(n p) for each step, at 4 penalties.",
            regressor_params=_TUBE,
            search_space={"C": [0.001, 0.01, 0.1, 1.0]},
            scale_target=True,
            every=3,
        ),
        Learner(
            "kernel_ridge",
            "kernel ridge",
            "fewer.learn:KernelRidgeClassifierLOO",
            "fewer.learn:KernelRidgeRegressorLOO",
            "Smooth curves and interactions, with width and penalty chosen by leave-one-out; up to 5,000 rows.",
            "O(n^3 + n^2 p) for each step.",
            params={"tol": 0.1},
            every=3,
            pairwise=True,
            sparse=False,
            most_rows=5_000,
        ),
        Learner(
            "fisher",
            "regularised Fisher",
            "fewer.extract:RegularizedFisherCV",
            None,
            "Differences in class means with a ridge penalty, for many columns.",
            "O(n p min(n, p)).",
        ),
        Learner(
            "multinomial_nb",
            "multinomial naive Bayes",
            "sklearn.naive_bayes:MultinomialNB",
            None,
            "Counts, of words for example; they are not scaled.",
            "O(n p).",
            counts=True,
        ),
        Learner(
            "tan",
            "tree-augmented naive Bayes",
            "fewer.graph:TANClassifier",
            None,
            "Levels, or columns that are cut into levels, some of which depend on one another within the classes.",
            "O(n p^2) for each class.",
            params={"structure": "omisp-cr", "smoothing": "dirichlet"},
            every=3,
            sparse=False,
        ),
        Learner(
            "ismb",
            "Markov blankets",
            "fewer.graph:ISMBClassifier",
            None,
            "The same with probabilities that are not too sure; up to 2,000 rows and some dozens of columns.",
            "O(n p^2) for each of some 10 to 50 blankets a row.",
            every=3,
            sparse=False,
            most_rows=2_000,
        ),
        Learner(
            "poisson",
            "Poisson regression",
            None,
            "sklearn.linear_model:PoissonRegressor",
            "Counts and rates: effects multiply, predictions are positive.",
            "O(n p) for each step, at 5 penalties.",
            params={"max_iter": 1000, "tol": 1e-3},
            # The penalty is per row, of columns with unit variance.
            search_space={"alpha": [1e-4, 1e-2, 0.1, 1.0, 10.0]},
            search_scoring="neg_mean_poisson_deviance",
            count_targets=True,
            positive=True,
        ),
        Learner(
            "baseline",
            "most frequent class, or mean",
            "sklearn.dummy:DummyClassifier",
            "sklearn.dummy:DummyRegressor",
            "The baseline: it ignores the features.",
            "O(n).",
        ),
    )
}


def learner_named(name: str) -> Learner:
    """The learner of this name: a short name, a classifier or regressor with a card, or an import path.

    Parameters
    ----------
    name : str
        "ridge", "L1PathClassifierCV", "xgboost:XGBClassifier". An import path is imported.

    Returns
    -------
    learner : Learner
        What a study must know of it.

    Examples
    --------
    >>> learner_named("multinomial_nb").counts
    True
    >>> learner_named("LPBoost").regressor is None
    True
    """
    if name.lower() in LEARNERS:
        return LEARNERS[name.lower()]
    if is_import_path(name):
        return _learner_of(name, imported(name), None)
    card = find(name, role="learner")
    return _learner_of(card.name, card.implementation, card)


def _learner_of(name: str, implementation: Any, card: Method | None) -> Learner:
    """A class with or without a card as a learner: its tags tell what it takes."""
    from sklearn.base import BaseEstimator
    from sklearn.utils import get_tags

    if not (isinstance(implementation, type) and issubclass(implementation, BaseEstimator)):
        raise CatalogueError(f"{name!r} is not an estimator class of scikit-learn.")
    try:
        tags = get_tags(implementation())
    except TypeError as error:
        raise CatalogueError(f"{name} cannot be used by name, because it needs arguments: {error}.") from None
    if tags.estimator_type not in ("classifier", "regressor"):
        raise CatalogueError(f"{name} is neither a classifier nor a regressor.")
    classifies = tags.estimator_type == "classifier"
    return Learner(
        name,
        (card.says if card else "") or implementation.__name__,
        implementation if classifies else None,
        None if classifies else implementation,
        search_space=card.search_space if card else {},
        every=3,
        sparse=tags.input_tags.sparse,
        counts=tags.input_tags.positive_only or bool(card and card.counts),
        count_targets=tags.target_tags.positive_only,
        # Where many values are missing, few rows are complete, and some estimators learn from these only.
        takes_missing=tags.input_tags.allow_nan and not getattr(implementation, "_learns_from_complete_rows", False),
    )


@dataclass(frozen=True)
class Imputer:
    """An imputer that a study can name.

    Attributes
    ----------
    name : str
        In plans and on the command line.
    says : str
        The words after "imputed by".
    implementation : type or str
        The class, or its import path.
    params : mapping
        Parameters that differ from the defaults.
    when, cost : str
        As on a card.
    from_others : bool
        Whether it looks at other columns, so that these are needed wherever it is used, and must be on one scale.
    """

    name: str
    says: str
    implementation: Any
    params: Mapping[str, Any] = field(default_factory=dict)
    when: str = ""
    cost: str = ""
    from_others: bool = True

    def build(self) -> Any:
        """The imputer, not fitted; a column without known values stays in the table, if it has a parameter for that."""
        imputer = imported(self.implementation)(**self.params)
        if "keep_empty_features" in imputer.get_params():
            imputer.set_params(keep_empty_features=True)
        return imputer

    @cached_property
    def card(self) -> Method:
        """Its card, as of a method."""
        tasks: tuple[Task, ...] = ("unsupervised",)
        implementation = imported(self.implementation)
        package = implementation.__module__.partition(".")[0]
        return Method(
            self.name,
            "complete",
            tasks,
            self.when,
            self.cost,
            None,
            implementation,
            lambda: [self.build()],
            package,
            says=self.says,
            declared_roles=("imputer",),
        )


_SIMPLE = "sklearn.impute:SimpleImputer"
IMPUTERS: dict[str, Imputer] = {
    imputer.name: imputer
    for imputer in (
        Imputer(
            "median",
            "the median of the column",
            _SIMPLE,
            {"strategy": "median"},
            "Few values are missing, or columns have outliers.",
            "O(n p).",
            from_others=False,
        ),
        Imputer(
            "mean",
            "the mean of the column",
            _SIMPLE,
            {"strategy": "mean"},
            "Few values are missing.",
            "O(n p).",
            from_others=False,
        ),
        Imputer(
            "knn",
            "the five most similar rows",
            "sklearn.impute:KNNImputer",
            {},
            "Similar rows have similar values.",
            "O(n^2 p).",
        ),
    )
}


def imputer_named(name: str) -> Imputer:
    """The imputer of this name, in any case: a short name, or an estimator of ``fewer.complete`` or with such a card.

    Parameters
    ----------
    name : str
        "median", "knn", "PCAMissing".

    Returns
    -------
    imputer : Imputer
        What a study must know of it.

    Examples
    --------
    >>> imputer_named("pcamissing").says
    'principal components (PCAMissing)'
    """
    if name.lower() in IMPUTERS:
        return IMPUTERS[name.lower()]
    card = find(name, role="imputer")
    return Imputer(card.name, card.says or card.name, card.implementation)


def short_named(role: str | None = None) -> Iterator[Method]:
    """Cards of the learners and imputers that go by a short name; "baseline" is for studies only."""
    if role in (None, "learner"):
        yield from (each.card for each in LEARNERS.values() if each.name != "baseline")
    if role in (None, "imputer"):
        yield from (each.card for each in IMPUTERS.values())
