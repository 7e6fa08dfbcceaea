"""The candidates that a study compares: selection methods and learners.

A candidate is a reducer with a path of sizes, and a learner. Preparation (imputing missing values, encoding categories,
scaling) is the same for all and part of every fit. Without a reducer, all features are used; the baseline predicts the
most frequent class, or the mean.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from fewer._wording import argument, did_you_mean, listed, parameter
from fewer.catalogue import LEARNERS, CatalogueError, Learner, find, learner_named
from fewer.catalogue import methods as find_all
from fewer.study._errors import StudyError
from fewer.study.plan._recipes import POSITIVE_SCORES, Counts, Recipe, can_be_scored, learner_recipe, recipe_of

Preset = Literal["quick", "standard", "thorough"]
PRESETS: tuple[Preset, ...] = get_args(Preset)

_MOST_COLUMNS_MADE = 30
# Sizes grow by this factor, or by a larger one where so many of them would not reach all columns.
_GROWTH = 2**0.5
_MOST_SIZES = 16
_MOST_STARTS = 2
# From here on, presets leave out what compares all pairs of rows, and folds are drawn once.
MANY_ROWS = 20_000
# Support vectors take a time between the square and the cube of the rows.
_MANY_FOR_PAIRS = 3_000
# Boosting needs rows: on fewer it neither wins nor is quick.
_ENOUGH_FOR_BOOSTING: dict[str, int] = {"quick": 1000, "standard": 500, "thorough": 500}
# Boosting grows a tree for each class over all columns in every step: above this product, presets leave it out.
_MOST_FOR_BOOSTING = 2_000
# With more classes, boosting took two thirds of the time of quick, and its score was never missed.
_MOST_CLASSES_FOR_BOOSTING = {"quick": 2}
_PAIRWISE_REDUCERS = frozenset({"ReliefF"})
# Reducers that trees learn from best: the others are linear.
_OF_TREES = frozenset({"forest importance", "shadow columns"})
_TREES = frozenset({"extra_trees", "forest", "boosting"})
# Presets try a few numbers of components, one in so many of the path of sizes, and one learner.
_COMPONENTS = "components of counts"
_EVERY_COMPONENTS = 3
_OFFERED = tuple(name for name in LEARNERS if name != "baseline")


@dataclass(frozen=True)
class Candidate:
    """A selection method, or none, and a learner.

    Attributes
    ----------
    labels : tuple of two str
        What tables and figures call what chooses or makes the columns (empty for the baseline), and the learner.
    reducer : Recipe or None
        How columns are chosen, or new ones made of them; None for all features.
    learner : Recipe
        What learns from them.
    sizes : tuple of int
        Numbers of columns to try, chosen or new, besides all; empty without a reducer.
    """

    labels: tuple[str, str]
    reducer: Recipe | None
    learner: Recipe
    sizes: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What tables and figures call it."""
        return ", ".join(label for label in self.labels if label)

    @property
    def is_baseline(self) -> bool:
        """Whether it is the baseline (dummy), which ignores the features."""
        return self.learner.name == "baseline"

    @property
    def makes_columns(self) -> bool:
        """Whether it makes new columns of those of the table."""
        return self.reducer is not None and self.reducer.makes_columns

    @property
    def for_counts(self) -> Counts:
        """How columns come to a candidate for counts or categories, which must not be centred; None for any other."""
        if learner_named(self.learner.name).counts:
            return "raw"
        return self.reducer.for_counts if self.reducer is not None else None

    @property
    def takes_missing(self) -> bool:
        """Whether missing values come to it as they are: what chooses or makes columns needs imputed ones."""
        return self.reducer is None and learner_named(self.learner.name).takes_missing

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "labels": list(self.labels),
            "reducer": self.reducer.to_dict() if self.reducer else None,
            "learner": self.learner.to_dict(),
            "sizes": list(self.sizes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Candidate":
        """The candidate that ``to_dict`` has written."""
        return cls(
            labels=tuple(data["labels"]),
            reducer=Recipe(**data["reducer"]) if data["reducer"] else None,
            learner=Recipe(**data["learner"]),
            sizes=tuple(data["sizes"]),
        )


def size_path(n_columns: int, most: int | None = None) -> tuple[int, ...]:
    """Sizes that grow evenly in the logarithm, below all columns: by 40% each time, or more where there are many.

    Examples
    --------
    >>> size_path(30)
    (1, 2, 3, 4, 6, 8, 12, 17, 24)
    >>> size_path(2308)
    (1, 2, 3, 5, 7, 10, 16, 24, 36, 55, 83, 126, 191, 289, 438, 664, 1006, 1524)
    """
    growth = max(_GROWTH, (n_columns / 3) ** (1 / _MOST_SIZES))
    sizes, size = [], 1.0
    while round(size) < min(n_columns, n_columns if most is None else most + 1):
        if round(size) not in sizes:
            sizes.append(round(size))
        size = size + 1 if size < 3 else size * growth
    return tuple(sizes)


def _reducers(
    preset: Preset, *, classify: bool, sparse: bool, many_rows: bool, weighted: bool, tokens: bool = False
) -> list[tuple[str, Recipe]]:
    """Reducers of a preset, each with its name in tables."""
    from fewer.study.table._weights import takes_weights

    by_strength = ("F test", Recipe("SelectTop", {"score_func": "anova"}))
    if not classify:
        by_strength = ("correlation", Recipe("SelectTop", {"score_func": "pearson"}))
    quick = [
        by_strength,
        ("ridge elimination", Recipe("RidgeRFE")),
        ("forest importance", Recipe("ForestImportanceSelector")),
    ]
    thorough = [
        *quick,
        ("mRMR", Recipe("MRMR")),
        ("ReliefF", Recipe("SelectTop", {"score_func": "relieff"})),
        ("shadow columns", Recipe("ShadowRelevanceSelector")),
    ]
    found = list({"quick": quick, "standard": quick, "thorough": thorough}[preset])
    if tokens and preset != "quick":  # a few fits of each fold take longer than all else in quick
        found.append((_COMPONENTS, Recipe("DiscreteComponentAnalysis")))
    return [
        (name, recipe)
        for name, recipe in found
        if _objection(recipe, sparse=sparse) is None
        and not (many_rows and name in _PAIRWISE_REDUCERS)
        and not (weighted and not takes_weights(recipe.reducer(seed=0)))
    ]


def _learners(
    preset: Preset,
    *,
    classify: bool,
    sparse: bool,
    n_rows: int,
    n_columns: int,
    n_classes: int,
    scoring: str,
    more_scoring: Iterable[str] = (),
) -> list[str]:
    names = {
        "quick": ["ridge", "logistic", "svm", "svm10", "extra_trees", "boosting"],
        "standard": ["ridge", "logistic", "svm", "svm10", "extra_trees", "boosting"],
        "thorough": ["ridge", "logistic", "svm", "svm10", "extra_trees", "boosting", "naive_bayes", "knn"],
    }[preset]
    if scoring in POSITIVE_SCORES:
        names = ["poisson", *(name for name in names if LEARNERS[name].positive)]
    trees = n_classes if n_classes > 2 else 1
    boost = n_rows >= _ENOUGH_FOR_BOOSTING[preset] and trees * n_columns <= _MOST_FOR_BOOSTING
    boost = boost and n_classes <= _MOST_CLASSES_FOR_BOOSTING.get(preset, n_classes)
    return [
        name
        for name in names
        if (LEARNERS[name].regressor or classify)
        and (LEARNERS[name].sparse or not sparse)
        and not (LEARNERS[name].pairwise and n_rows > _MANY_FOR_PAIRS)
        and (boost or name != "boosting")
        and all(can_be_scored(LEARNERS[name].build(classify=classify), each) for each in (scoring, *more_scoring))
    ]


def candidates_for(
    *,
    classify: bool,
    n_columns: int,
    n_units: int | None = None,
    n_rows: int = 0,
    n_classes: int = 0,
    sparse: bool = False,
    counts: bool = False,
    tokens: bool = False,
    negative_target: bool = False,
    weighted: bool = False,
    always: Sequence[str] = (),
    scoring: str = "accuracy",
    more_scoring: Iterable[str] = (),
    preset: Preset = "standard",
    methods: Iterable[str] | None = None,
    learners: Iterable[Any] | None = None,
    sizes: Iterable[int] | None = None,
) -> tuple[Candidate, ...]:
    """The candidates of a study.

    Parameters
    ----------
    classify : bool
        Whether the target consists of classes.
    n_columns : int
        Columns to choose from.
    n_units : int, default=None
        What sizes count, where that is not columns.
    n_rows : int, default=0
        Rows; of very many, presets leave out methods whose time grows with their square.
    n_classes : int, default=0
        Classes of the target; of very many and many columns, presets leave out boosting.
    sparse : bool, default=False
        Whether the table is sparse: what cannot take it is left out of the presets.
    counts : bool, default=False
        Whether it has no negative numbers, so that methods for counts can be asked for.
    tokens : bool, default=False
        Whether it is a sparse table of counts, such as words: presets but quick try components of counts too.
    negative_target : bool, default=False
        Whether the target has numbers below zero, so that learners for counts cannot be asked for.
    weighted : bool, default=False
        Whether rows have weights: learners and selection methods that cannot take them are left out of the presets.
    always : sequence of str, default=()
        Columns that are in every subset: the baseline is ridge with these alone.
    scoring : str, default="accuracy"
        Score of scikit-learn: presets leave out learners without the probabilities that it asks for, and those whose
        predictions may be negative where it must not have such.
    more_scoring : iterable of str, default=()
        Scores that are reported as well: presets leave out learners without the probabilities that they ask for.
    preset : {"quick", "standard", "thorough"}, default="standard"
        A sensible set.
    methods : iterable of str, default=None
        Selectors and extractors of the catalogue, or names of scores, instead of those of the preset.
    learners : iterable of str or estimator, default=None
        Learners instead of those of the preset: names of the catalogue, import paths, or estimators.
    sizes : iterable of int, default=None
        Numbers of columns to try, instead of a path from 1 to all, or to 30 for new columns.

    Returns
    -------
    candidates : tuple of Candidate
        The baseline first, then all features with every learner, then every reducer with every learner.
    """
    if preset not in PRESETS:
        raise StudyError(f"{parameter('preset')} must be one of {', '.join(PRESETS)}, not {preset!r}.")
    if learners is None:
        names = _learners(
            preset,
            classify=classify,
            sparse=sparse,
            n_rows=n_rows,
            n_columns=n_columns,
            n_classes=n_classes,
            scoring=scoring,
            more_scoring=tuple(more_scoring),
        )
        chosen = [learner_recipe(name, scoring) for name in names]
    else:
        chosen = []
        for given in learners:
            recipe = recipe_of(given, scoring)
            chosen += [] if recipe in chosen else [recipe]
    objection_to = partial(
        _learner_objection,
        classify=classify,
        scoring=scoring,
        n_rows=n_rows,
        sparse=sparse,
        counts=counts,
        negative_target=negative_target,
        weighted=weighted,
    )
    if learners is None and weighted:
        chosen = [recipe for recipe in chosen if objection_to(learner_named(recipe.name)) is None]
    for recipe in chosen:
        if objection := objection_to(learner_named(recipe.name)):
            able = [name for name in _OFFERED if objection_to(LEARNERS[name]) is None]
            raise StudyError(f"{objection}; use {', '.join(able)}.")
    reducers = (
        [_reducer_named(name, classify=classify, sparse=sparse, counts=counts) for name in dict.fromkeys(methods)]
        if methods is not None
        else _reducers(
            preset, classify=classify, sparse=sparse, many_rows=n_rows > MANY_ROWS, weighted=weighted, tokens=tokens
        )
    )
    if n_columns < 2:
        raise StudyError("The table has one usable column; a study needs at least two.")
    n_units = n_columns if n_units is None else n_units
    if n_units < 2:
        raise StudyError(
            "There are fewer than two columns, or groups of columns, to choose from: give fewer of them in "
            f"{argument('always')}, or smaller groups in {argument('column_groups')}."
        )
    wanted = None if sizes is None else _checked_sizes(sizes, n_units)
    label = f"ridge with {listed(always)} alone" if always else "most frequent class" if classify else "mean"
    baseline = Candidate(("", label), None, Recipe("baseline"))
    alone = all(recipe.name != "ridge" for recipe in chosen)
    everything = [Candidate(("all features", _label(recipe)), None, recipe) for recipe in chosen]
    reduced = [
        Candidate((label, _label(recipe)), reducer, recipe, _sizes(label, reducer, recipe.name, n_units, wanted))
        for label, reducer in reducers
        for recipe in chosen
        if learners is not None or _go_together(label, recipe.name, alone=alone)
    ]
    return (baseline, *everything, *reduced)


def _label(recipe: Recipe) -> str:
    """What tables call a learner; with the parameters of an estimator that the user has built."""
    learner = learner_named(recipe.name)
    params = "" if learner.name in LEARNERS else ", ".join(f"{name}={value}" for name, value in recipe.params.items())
    return f"{learner.says} ({params})" if params else learner.says


def _go_together(reducer: str, learner: str, *, alone: bool) -> bool:
    """Whether a preset tries the learner behind this reducer.

    Trees learn from rankings by trees best. Logistic regression does about what ridge does, and takes longer at many
    sizes: it is there for all columns, and where it is the only linear learner. New columns are made again for each
    learner, so that one has to do.
    """
    if reducer == _COMPONENTS:
        return learner == ("logistic" if alone else "ridge")
    return (learner not in _TREES or reducer in _OF_TREES) and (learner != "logistic" or alone)


def _sizes(
    label: str, reducer: Recipe, learner: str, n_columns: int, wanted: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Sizes to try: those asked for, or a path; of many, some, where every one costs a fit."""
    if wanted is not None:
        path = wanted
    elif reducer.makes_columns:
        every = _EVERY_COMPONENTS if label == _COMPONENTS else 1
        return size_path(n_columns, _MOST_COLUMNS_MADE)[::-every][::-1]
    else:
        path = size_path(n_columns)
    # From the largest down, so that the sizes near all columns, where such learners do best, are among them.
    return path[:: -learner_named(learner).every][::-1]


def _checked_sizes(sizes: Iterable[int], n_columns: int) -> tuple[int, ...]:
    """Those below the number of columns: all columns are tried anyway."""
    wanted = sorted(set(sizes))
    if wanted and wanted[0] < 1:
        raise StudyError(f"{parameter('sizes')} must be at least 1, not {wanted[0]}.")
    if wanted and wanted[0] >= n_columns:
        raise StudyError(
            f"{parameter('sizes')} must be less than the number of columns ({n_columns:,}), not {wanted[0]:,}."
        )
    return tuple(size for size in wanted if size < n_columns)


def _learner_objection(
    learner: Learner,
    *,
    classify: bool,
    scoring: str,
    n_rows: int,
    sparse: bool,
    counts: bool,
    negative_target: bool,
    weighted: bool = False,
) -> str | None:
    """Why a study of such a table cannot use this learner; None if it can."""
    from fewer.study.table._weights import takes_weights

    said = f"The learner {learner.name!r}"
    if not classify and learner.regressor is None:
        return f"{said} is a classifier, but the target is numeric"
    if classify and learner.classifier is None:
        return f"{said} is a regressor, but the target has classes"
    if sparse and not learner.sparse:
        return f"{said} does not support sparse tables"
    if weighted and not takes_weights(learner.build(classify=classify)):
        return f"{said} does not take weights of the rows"
    if learner.counts and not counts:
        return f"{said} needs non-negative counts, but this table has negative numbers or imputed values"
    if learner.count_targets and negative_target:
        return f"{said} needs a non-negative target, but this one has negative numbers"
    if learner.most_rows is not None and n_rows > learner.most_rows:
        return f"{said} supports at most {learner.most_rows:,} rows, but the table has {n_rows:,}"
    if scoring in POSITIVE_SCORES and not learner.positive:
        return f"{said} may predict negative numbers, for which the score {scoring!r} is not defined"
    return None


def _reducer_named(name: str, *, classify: bool, sparse: bool, counts: bool) -> tuple[str, Recipe]:
    """A selector or extractor of the catalogue, or SelectTop with a score of this name."""
    from fewer.select import score_names

    task: Any = "classification" if classify else "regression"
    name = name.lower() if name.lower() in score_names() else name
    paper = None
    if name in score_names():
        if name not in score_names(task=task) and name not in score_names(task="unsupervised"):
            raise StudyError(f"The score {name!r} is not for {task}; use one of {', '.join(score_names(task=task))}.")
        recipe = Recipe("SelectTop", {"score_func": name})
    else:
        try:
            card = find(name)
        except CatalogueError:
            able = _usable(task, sparse=sparse, counts=counts, paper=None)
            raise StudyError(
                f"There is no selection method {name!r}. {did_you_mean(name, able, 'methods', most=30)} All are listed "
                "by `fewer methods --role selector` and `fewer methods --role extractor`."
            ) from None
        if not {"selector", "extractor"}.intersection(card.roles):
            raise StudyError(
                f"{name} is neither a selector nor an extractor; see `fewer methods --role selector` and `fewer "
                "methods --role extractor`."
            )
        if task not in card.tasks and "unsupervised" not in card.tasks:
            raise StudyError(f"{name} is for {' and '.join(card.tasks)}, but this study is a {task}.")
        name, paper, recipe = card.name, card.paper, Recipe(card.name)
    objection = _objection(recipe, sparse=sparse, counts=counts)
    if objection is not None:
        able = _usable(task, sparse=sparse, counts=counts, paper=paper)
        raise StudyError(f"{name} {objection}; use {', '.join(able)}.")
    return name, _with_few_starts(recipe)


def _with_few_starts(recipe: Recipe) -> Recipe:
    """An extractor with at most two random starts: it is fitted in every fold for every size, hundreds of times."""
    n_init = recipe.reducer(seed=0).get_params().get("n_init")
    if isinstance(n_init, int) and n_init > _MOST_STARTS and recipe.makes_columns:
        return Recipe(recipe.name, {**recipe.params, "n_init": _MOST_STARTS})
    return recipe


def _objection(recipe: Recipe, *, sparse: bool, counts: bool = True) -> str | None:
    """Why a study of such a table cannot use this reducer; None if it can."""
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils import get_tags

    try:
        reducer = recipe.reducer(seed=0)
    except TypeError:
        return "needs arguments that cannot be written into a plan, so it can be used from Python only"
    tags = get_tags(reducer).input_tags
    if not isinstance(reducer, SelectorMixin) and not _gives_sizes(reducer):
        return "has no parameter for the number of columns"
    if sparse and not tags.sparse:
        return "does not support sparse tables"
    if (tags.positive_only or find(recipe.name).counts) and not counts:
        return "needs non-negative counts, but this table has negative numbers or imputed values"
    return None


def _gives_sizes(reducer: Any) -> bool:
    """Whether it makes new columns and has a parameter for their number."""
    return hasattr(reducer, "transform") and getattr(reducer, "_size_parameter", "n_components") in reducer.get_params()


def _usable(task: Any, *, sparse: bool, counts: bool, paper: str | None) -> list[str]:
    """Selectors, extractors and scores that a study of such a table can use; those of the same paper first.

    What needs no target serves any task.
    """
    from fewer.select import score_names

    recipes = {name: Recipe("SelectTop", {"score_func": name}) for name in score_names(task=task)}
    cards = [
        card
        for role in ("selector", "extractor")
        for card in find_all(role=role)
        if {task, "unsupervised"}.intersection(card.tasks)
    ]
    akin = {card.name: Recipe(card.name) for card in cards if paper is not None and card.paper == paper}
    recipes = akin | recipes | {card.name: Recipe(card.name) for card in cards}
    return [name for name, recipe in recipes.items() if _objection(recipe, sparse=sparse, counts=counts) is None]
