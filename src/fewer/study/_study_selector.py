"""A whole study as a selector: ``fit`` plans and runs it on the rows given, and keeps the columns that it chose."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, check_random_state

from fewer._estimators import Interval, StrOptions, fit_context, validated
from fewer.catalogue import method
from fewer.study.answers._answers import findings_of
from fewer.study.files._folder import StudyFolder, TemporaryFolder
from fewer.study.files._journal import Journal
from fewer.study.plan._candidates import PRESETS
from fewer.study.plan._plan import make_plan
from fewer.study.table._study_data import study_data
from fewer.study.work._run import run_plan

if TYPE_CHECKING:
    from fewer.study.answers._findings import Findings


def _examples() -> list[Any]:
    return [StudySelector(methods=["anova"], learners=["ridge"], n_folds=3)]


@method(
    tasks=["classification", "regression"],
    when="The whole choice of a study, with its methods, sizes and learners, is a step of your own pipeline, so that "
    "your cross-validation repeats all of it inside the folds.",
    cost="Candidates times folds times repeats fits: O(n p) each for filters with linear learners.",
    room="select",
    handles=["missing"],
    examples=_examples,
)
class StudySelector(SelectorMixin, BaseEstimator):
    """The columns that a study chooses, as a step of a pipeline.

    Parameters
    ----------
    preset : {"quick", "standard", "thorough"}, default="quick"
        How much is tried.
    methods : iterable of str, default=None
        Selection methods; by default those of the preset.
    learners : iterable of str or estimator, default=None
        Learners; by default those of the preset.
    n_folds : int, default=5
        Folds of the study, inside of the rows that it is fitted on.
    n_repeats : int, default=1
        How often folds are drawn.
    n_permutations : int, default=0
        Permutations for each test; without any, nothing is tested, and the choice is the same.
    budget : float or str, default=None
        Time limit of a fit in seconds, or such as "30m"; a study that would take longer has fewer repeats,
        permutations or candidates. How long the first fold takes then has a say in the result.
    task : {"auto", "classification", "regression"}, default="auto"
        What the target asks for; "auto" takes a target with fractions for regression, any other for classification.
    options : dict, default=None
        More options of ``make_plan``, such as ``{"parsimony": 0.05, "impute": "knn"}``.
    n_jobs : int, default=1
        Worker processes; None for one on each core.
    random_state : int, RandomState instance or None, default=0
        Seed of the study.

    Attributes
    ----------
    findings_ : Findings
        All answers of the study; shows itself in a notebook.
    support_ : ndarray of shape (`n_features_in_`,)
        Whether a column is kept.
    ranking_ : ndarray of shape (`n_features_in_`,)
        Ranks from 1, the columns kept first.
    scores_ : ndarray of shape (`n_features_in_`,)
        Share of the folds in which a column was chosen.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where the table has them.

    Notes
    -----
    Where the winner makes new columns of all columns, all are kept.

    Examples
    --------
    >>> import fewer
    >>> wine = fewer.datasets.load("wine")
    >>> selector = fewer.StudySelector(methods=["anova"], learners=["ridge"]).fit(wine.X, wine.y)
    >>> bool(0 < selector.get_support().sum() <= wine.n_columns)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "preset": [StrOptions(set(PRESETS))],
        "methods": [list, tuple, None],
        "learners": [list, tuple, None],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "n_permutations": [Interval(Integral, 0, None, closed="left")],
        "budget": [Interval(Real, 0, None, closed="neither"), str, None],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "options": [dict, None],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        preset: str = "quick",
        *,
        methods: Any = None,
        learners: Any = None,
        n_folds: int = 5,
        n_repeats: int = 1,
        n_permutations: int = 0,
        budget: float | str | None = None,
        task: str = "auto",
        options: Mapping[str, Any] | None = None,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.preset = preset
        self.methods = methods
        self.learners = learners
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.n_permutations = n_permutations
        self.budget = budget
        self.task = task
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> "StudySelector":
        """Plan a study of these rows, and run it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; missing values are imputed inside the folds.
        y : array-like of shape (n_samples,)
            Classes or numbers.

        Returns
        -------
        self : StudySelector
            Fitted.
        """
        X, y = validated(
            self,
            X,
            y,
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan",
            ensure_min_samples=2,
            ensure_min_features=2,
        )
        self.findings_ = self._findings(X, y)
        place = {_name(j): j for j in range(X.shape[1])}
        chosen = [place[name] for name in self.findings_.chosen]
        listed = dict.fromkeys([*chosen, *(place[column.source] for column in self.findings_.columns)])
        order = [*listed, *(j for j in range(X.shape[1]) if j not in listed)]
        self.support_ = np.isin(np.arange(X.shape[1]), chosen)
        self.ranking_ = np.argsort(order) + 1
        self.scores_ = np.zeros(X.shape[1])
        for column in self.findings_.columns:
            self.scores_[place[column.source]] = column.frequency
        return self

    def _findings(self, X: np.ndarray, y: np.ndarray) -> "Findings":
        from fewer.engine import Engine
        from fewer.io import Dataset

        classify = self.task == "classification" or (
            self.task == "auto" and not type_of_target(y).startswith("continuous")
        )
        names = [_name(j) for j in range(X.shape[1])]
        table = Dataset.from_frame(
            dict(zip(names, X.T, strict=True)), target=y, task="classification" if classify else "regression"
        )
        data = study_data(table, keep=names)
        plan = make_plan(
            data,
            preset=self.preset,
            methods=self.methods,
            learners=self.learners,
            n_folds=self.n_folds,
            n_repeats=self.n_repeats,
            n_permutations=self.n_permutations,
            budget=self.budget,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            **dict(self.options or {}),
        )
        folder = TemporaryFolder()  # deleted with this name, after the journal is closed
        with Journal.create(StudyFolder(folder.path).journal, plan) as journal, Engine.local(self.n_jobs) as engine:
            run_plan(plan, data, journal, engine=engine)
            return findings_of(journal)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags


def _name(place: int) -> str:
    return f"x{place}"
