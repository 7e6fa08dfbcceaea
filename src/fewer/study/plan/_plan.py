"""The plan of a study: everything that decides its numbers, before any of them is known.

A plan is data: it can be printed, saved as JSON, compared, put into a report and run again. Two runs of one plan on one
table give the same numbers.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from fewer._options import described, named, names_in, options_of, with_options
from fewer._wording import argument, counted, did_you_mean, listed, parameter
from fewer.study._errors import StudyError
from fewer.study.files._checked_file import CHECKSUM, matches_checksum, with_checksum, without_checksum, write_checked
from fewer.study.plan._budget import seconds_in, time_words
from fewer.study.plan._candidates import MANY_ROWS, Candidate, Preset, candidates_for
from fewer.study.plan._plan_file import check_entries, plan_text, with_baseline
from fewer.study.plan._recipes import study_imputer
from fewer.study.plan._scoring import is_score, scorer_named
from fewer.study.questions import own_questions, question_named

if TYPE_CHECKING:
    from fewer.study.table._study_data import StudyData

VERSION = 7
Splitting = Literal["stratified", "shuffled", "grouped", "in order of time"]

# Folds, repeats and permutations: quick for a first look, thorough for a paper.
_EFFORT: dict[str, tuple[int, int, int]] = {"quick": (5, 2, 99), "standard": (5, 10, 199), "thorough": (10, 10, 999)}
# From here on, quick and standard draw folds half as often: they are large, and differ less.
_ENOUGH_ROWS = 400
# With very many rows, repeated folds give nearly the same scores, and each permutation is slow: one in so many is made.
_MANY_ROWS_SHARE = 5
# So many times as often, folds are drawn at most where the outcome is close; on tables of up to so many cells. On small
# tables, quick draws them more often, because it begins with few.
_MOST_REPEATS = 2
_MOST_REPEATS_OF_SMALL = {"quick": 5}
_CELLS_FOR_MORE_REPEATS = 100_000
_CELLS_OF_SMALL = 40_000
# Below this share of an equal share of the rows, a class is rare, and the score counts all classes alike.
RARE_SHARE = 0.4

# Formats that are read, and entries that the older ones do not have, with what they are without them.
_READ = (6, VERSION)
_ADDED: dict[str, Any] = {
    "max_repeats": None,
    "budget": None,
    "skipped": [],
    "untested": [],
    "weights": None,
    "always": [],
    "column_groups": {},
}

# A share of the gain, or the rule of one standard error.
Parsimony = float | Literal["one_se"]


class UntrustedPlanError(StudyError):
    """A plan from a file that would import modules."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(
            f"This plan imports {listed(paths)}, which executes code of that module. If you trust the plan, load it "
            f"with {argument('trust', True)}."
        )


@dataclass(frozen=True)
class Plan:
    """What a study will do.

    Attributes
    ----------
    source : str
        What the table is called.
    fingerprint : str
        Fingerprint of the rows and columns that are learnt from.
    target : str
        Column to predict.
    task : {"binary", "multiclass", "regression"}
        What it asks for.
    n_rows, n_columns : int
        Size of the table.
    splitting : {"stratified", "shuffled", "grouped", "in order of time"}
        How folds are made.
    candidates : tuple of Candidate
        What is compared.
    {options}
    more_scoring : tuple of str
        Scores that are reported beside ``scoring``, which decides.
    weights : str or None
        Column with the weight of each row.
    skipped : tuple of int
        Places of candidates that are left out, because an earlier run of the plan had a time limit.
    untested : tuple of str
        Questions whose permutation tests are left out for the same reason.
    reading : mapping
        How the table was read, so that it can be read again.
    version : int
        Format version of plans.
    """

    source: str
    fingerprint: str
    target: str
    task: str
    n_rows: int
    n_columns: int
    splitting: Splitting
    n_folds: int
    n_repeats: int
    scoring: str
    candidates: tuple[Candidate, ...]
    n_permutations: int
    max_repeats: int | None = named("max_repeats").default
    confidence: float = named("confidence").default
    margin: float = named("margin").default
    parsimony: Parsimony = named("parsimony").default
    racing: float = named("racing").default
    cost: str | None = named("cost").default
    budget: float | None = named("budget").default
    seed: int = named("seed").default
    preset: str = named("preset").default
    impute: str = named("impute").default
    more_scoring: tuple[str, ...] = ()
    weights: str | None = None
    always: tuple[str, ...] = ()
    column_groups: Mapping[str, list[str]] = field(default_factory=dict)
    questions: tuple[str, ...] = field(default_factory=lambda: own_questions())
    skipped: tuple[int, ...] = ()
    untested: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    @property
    def classify(self) -> bool:
        """Whether this is a classification study."""
        return self.task in ("binary", "multiclass")

    @property
    def metrics(self) -> tuple[str, ...]:
        """All scores that are reported; the first decides."""
        return self.scoring, *self.more_scoring

    @property
    def level(self) -> float:
        """Significance level of the tests."""
        return 1 - self.confidence

    @property
    def races(self) -> bool:
        """Whether candidates that are clearly behind get no more folds; the rule of one standard error needs all."""
        return self.racing > 0 and self.parsimony != "one_se"

    @property
    def may_repeat(self) -> bool:
        """Whether folds are drawn more often than planned where the outcome is close; not within a time limit."""
        return self.budget is None and self.max_repeats is not None and self.max_repeats > self.n_repeats

    @property
    def n_evaluations(self) -> int:
        """Candidates times folds times repeats; racing leaves some of them out."""
        return (len(self.candidates) - len(self.skipped)) * self.n_folds * self.n_repeats

    @property
    def identity(self) -> str:
        """Hash of all entries except the path of the table: plans with the same hash give the same numbers."""
        data = {key: value for key, value in self.to_dict().items() if key not in ("source", "reading")}
        return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=16).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        return data | {
            "more_scoring": list(self.more_scoring),
            "always": list(self.always),
            "column_groups": {name: list(columns) for name, columns in self.column_groups.items()},
            "questions": list(self.questions),
            "skipped": list(self.skipped),
            "untested": list(self.untested),
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "reading": dict(self.reading),
        }

    def to_json(self) -> str:
        """The plan as JSON, with a checksum."""
        return json.dumps(with_checksum(self.to_dict()), indent=2, ensure_ascii=False)

    def save(self, path: "str | Path") -> None:
        """Write the plan as JSON, with a checksum."""
        write_checked(path, self.to_dict())

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Plan":
        """The plan that ``to_dict`` has written."""
        if not isinstance(data, Mapping):
            raise StudyError("This is not a plan of fewer.")
        if not matches_checksum(data):
            raise StudyError(
                "This plan does not match its checksum: it is damaged, or it was changed since it was written. To use "
                f"a plan that you have changed yourself, remove its entry {CHECKSUM!r}."
            )
        data = without_checksum(data)
        if data.get("version") not in _READ:
            raise StudyError(
                f"This plan has format version {data.get('version')!r}; this version of fewer reads {VERSION}. Make a "
                "new plan with `fewer study`."
            )
        known = {each.name for each in fields(cls)}
        data = {**_ADDED, **data, "version": VERSION}
        if unexpected := sorted(set(data) - known):
            raise StudyError(f"This is not a plan of fewer: unexpected entries: {', '.join(unexpected)}.")
        if missing := sorted(known - set(data)):
            raise StudyError(f"This is not a plan of fewer: missing entries: {', '.join(missing)}.")
        data["candidates"] = with_baseline(data["candidates"])
        check_entries(data, get_args(Splitting))
        candidates = tuple(Candidate.from_dict(candidate) for candidate in data["candidates"])
        lists = {name: tuple(data[name]) for name in ("questions", "more_scoring", "always", "skipped", "untested")}
        plan = cls(**{**data, **lists, "candidates": candidates})
        _check_plan(plan)
        return plan

    @classmethod
    def load(cls, path: "str | Path", *, trust: bool = False) -> "Plan":
        """A plan from a JSON file, or from the report of a study.

        Parameters
        ----------
        path : str or Path
            The file.
        trust : bool, default=False
            Whether modules that the plan names may be imported: importing a module executes its code.

        Returns
        -------
        plan : Plan
            All of its methods, learners and scores exist here.
        """
        try:
            data = json.loads(plan_text(Path(path)))
        except StudyError:
            raise
        except (ValueError, RecursionError):  # not JSON, or nested deeper than any plan
            raise StudyError(f"{path} contains no plan; give the report.html or the plan.json of a study.") from None
        plan = cls.from_dict(data)
        plan.check_recipes(trust=trust)
        return plan

    def check_recipes(self, *, trust: bool) -> None:
        """Raise for a score, a method or a parameter that does not exist here, and for imports without trust."""
        paths = {each.learner.name: None for each in self.candidates if each.learner.is_imported}
        if paths and not trust:
            raise UntrustedPlanError(list(paths))
        for name in self.metrics:
            if not is_score(name):
                raise StudyError(f"There is no score {name!r}, which the plan requires.")
        study_imputer(self.impute)
        for name in self.questions:
            question_named(name)
        for candidate in self.candidates:
            try:
                candidate.learner.learner(classify=self.classify, seed=self.seed)
                if candidate.reducer is not None:
                    candidate.reducer.reducer(seed=self.seed)
            except (TypeError, ValueError, AttributeError) as error:
                if type(error).__module__.startswith("fewer."):
                    raise
                raise StudyError(f"The candidate {candidate.name!r} of the plan cannot be built: {error}") from error

    def differences(self, other: "Plan") -> list[str]:
        """Entries in which another plan differs, as texts."""
        said = []
        for each in fields(self):
            if each.name in ("source", "reading", "candidates"):
                continue
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if mine != theirs:
                said.append("the table itself" if each.name == "fingerprint" else f"{each.name} ({mine} and {theirs})")
        if self.candidates != other.candidates:
            said.append("the candidates")
        return said

    def __str__(self) -> str:
        repeats = "" if self.n_repeats == 1 else f", {self.n_repeats} times"
        if self.may_repeat:
            repeats += f"; up to {self.max_repeats} times where the outcome is close"
        lines = [
            f"Plan of a study of {self.source}: {self.n_rows:,} rows, {self.n_columns:,} columns",
            f"  target        {self.target} ({self.task}), scored by {self._scores_in_words()}",
            f"  folds         {self.n_folds}, {self.splitting}{repeats}",
            f"  candidates    {len(self.candidates) - len(self.skipped)}: {self._candidates_in_words()}",
            f"  sizes         {self._sizes_in_words()}",
            f"  evaluations   {self.n_evaluations:,}{self._racing_in_words()}",
            f"  permutations  {self.n_permutations} for each test",
            f"  seed          {self.seed}",
        ]
        if self.weights is not None:
            lines.append(f"  weights       {self.weights}, in fits and scores")
        if self.always:
            lines.append(f"  always in     {listed(self.always)}")
        if self.column_groups:
            lines.append(f"  groups        {counted(len(self.column_groups), 'group')} of columns; sizes count groups")
        if self.budget is not None:
            lines.append(f"  time limit    {time_words(self.budget)}: less is done if the first fold is slow")
        if self.impute != "median":
            lines.append(f"  missing       imputed by {study_imputer(self.impute).says}")
        return "\n".join(lines)

    def _scores_in_words(self) -> str:
        return f"{self.scoring}; also reported: {', '.join(self.more_scoring)}" if self.more_scoring else self.scoring

    def _racing_in_words(self) -> str:
        if not self.races:
            return ""
        return " at most: candidates and sizes that are clearly worse after three folds are stopped early"

    def _candidates_in_words(self) -> str:
        """The learners of each selection method; methods with the same learners together."""
        pairs = [
            candidate.labels
            for number, candidate in enumerate(self.candidates)
            if not candidate.is_baseline and number not in self.skipped
        ]
        learners_of: dict[str, list[str]] = {}
        for reducer, learner in pairs:
            learners_of.setdefault(reducer, []).append(learner)
        reducers_with: dict[tuple[str, ...], list[str]] = {}
        for reducer, learners in learners_of.items():
            reducers_with.setdefault(tuple(learners), []).append(reducer)
        baseline = next(candidate.name for candidate in self.candidates if candidate.is_baseline)
        combined = [
            f"{', '.join(reducers)}, {'each ' if len(reducers) > 1 else ''}with {', '.join(learners)}"
            for learners, reducers in reducers_with.items()
        ]
        return "; ".join([*combined, f"the baseline ({baseline})"])

    def _sizes_in_words(self) -> str:
        sizes = sorted({size for candidate in self.candidates for size in candidate.sizes or ()})
        return f"{listed([f'{size:,}' for size in sizes], 12)}; and all" if sizes else "all"


_options_kept = [option for option in options_of("plan") if option.name in {each.name for each in fields(Plan)}]
Plan.__doc__ = described(Plan.__doc__ or "", _options_kept, with_defaults=False)


@with_options("plan")
def make_plan(data: "StudyData", *, reading: Mapping[str, Any] | None = None, options: Mapping[str, Any]) -> Plan:
    """The plan of a study of this table.

    Parameters
    ----------
    data : StudyData
        The table.
    reading : mapping, default=None
        How the table was read.
    {options}

    Returns
    -------
    plan : Plan
        Nothing has been run.
    """
    from fewer.study.table._columns import column_groups_of

    preset = options["preset"]
    imputer = study_imputer(options["impute"], sparse=data.dataset.is_sparse)
    scoring, *more_scoring = _scores_asked_for(options["scoring"], data)
    always = _always(options["always"], data)
    groups = column_groups_of(
        options["column_groups"], (each.name for each in data.columns), data.dataset.columns, always
    )
    in_groups = sum(map(len, groups.values()))
    candidates = candidates_for(
        classify=data.is_classification,
        n_columns=data.dataset.n_columns,
        n_units=data.dataset.n_columns - len(always) - in_groups + len(groups),
        weighted=data.weights is not None,
        always=always,
        n_rows=data.dataset.n_rows,
        n_classes=0 if data.dataset.classes is None else len(data.dataset.classes),
        sparse=data.dataset.is_sparse,
        counts=data.holds_counts and not (imputer.from_others and data.dataset.has_missing),
        tokens=data.holds_tokens,
        negative_target=data.has_negative_target,
        scoring=scoring,
        more_scoring=more_scoring,
        preset=preset,
        methods=options["methods"],
        learners=options["learners"],
        sizes=options["sizes"],
    )
    by_preset = zip(
        ("n_folds", "n_repeats", "n_permutations"), _effort(preset, data, options["confidence"]), strict=True
    )
    effort: dict[str, Any] = {name: number if options[name] is None else options[name] for name, number in by_preset}
    plan = Plan(
        source=data.dataset.source,
        fingerprint=data.fingerprint,
        target=str(data.dataset.target),
        task=data.dataset.task,
        n_rows=data.dataset.n_rows,
        n_columns=data.dataset.n_columns,
        splitting=_splitting(data),
        scoring=scoring,
        more_scoring=tuple(more_scoring),
        candidates=candidates,
        weights=data.weighted_by,
        always=always,
        column_groups=groups,
        preset=preset,
        impute=imputer.name,
        **effort,
        max_repeats=_max_repeats(options, effort["n_repeats"], data),
        **{name: options[name] for name in ("confidence", "margin", "parsimony", "racing", "seed")},
        questions=tuple(dict.fromkeys((*own_questions(), *(options["questions"] or ())))),
        cost=options["cost"],
        budget=seconds_in(options["budget"]),
        reading=dict(reading or {}),
    )
    for name in plan.questions:
        question_named(name)
    _check_plan(plan)
    _check_folds(plan, data)
    return plan


def _always(names: Iterable[str] | None, data: "StudyData") -> tuple[str, ...]:
    """Columns that are in every subset; an error for one that is not there, or not learnt from."""
    from fewer.io import unknown_column

    why = {each.name: each.left_out for each in data.columns}
    found = tuple(dict.fromkeys(names or ()))
    for name in found:
        if name not in why:
            raise unknown_column(data.dataset.source, name, data.dataset.columns, argument("always"))
        if why[name]:
            raise StudyError(
                f"The column {name!r} cannot be in every subset ({argument('always')}): it is left out, because "
                f"{why[name]}. To use it anyway, list it in {argument('keep')}."
            )
    return found


def _effort(preset: Preset, data: "StudyData", confidence: float) -> tuple[int, int, int]:
    """Folds, repeats and permutations of a preset for this table."""
    folds, repeats, permutations = _EFFORT[preset]
    if preset != "thorough" and data.dataset.n_rows >= _ENOUGH_ROWS:
        repeats //= 2
    if data.dataset.n_rows > MANY_ROWS:
        repeats = 1
        permutations = max(permutations // _MANY_ROWS_SHARE, min(permutations, fewest_permutations(confidence)))
    return _folds_there_can_be(data, folds), 1 if data.in_order_of_time else repeats, permutations


def _max_repeats(options: Mapping[str, Any], n_repeats: int, data: "StudyData") -> int | None:
    """How often folds are drawn at most; None for never more often than planned."""
    asked = options["max_repeats"]
    if asked is not None or options["n_repeats"] is not None or options["budget"] is not None or data.in_order_of_time:
        return asked
    if _cells(data) > _CELLS_FOR_MORE_REPEATS:
        return None
    small = data.dataset.n_rows < _ENOUGH_ROWS and _cells(data) <= _CELLS_OF_SMALL
    return n_repeats * (_MOST_REPEATS_OF_SMALL.get(options["preset"], _MOST_REPEATS) if small else _MOST_REPEATS)


def _cells(data: "StudyData") -> int:
    return data.dataset.n_rows * data.dataset.n_columns


def _splitting(data: "StudyData") -> Splitting:
    if data.in_order_of_time:
        return "in order of time"
    if data.groups is not None:
        return "grouped"
    return "stratified" if data.is_classification else "shuffled"


def _folds_there_can_be(data: "StudyData", wanted: int) -> int:
    """As many folds as wanted, or as the rarest class or the groups allow."""
    import numpy as np

    most = data.dataset.n_rows // 2
    if data.groups is not None:
        most = min(most, int(data.groups.max()) + 1)
    elif data.is_classification and not data.in_order_of_time:
        most = min(most, int(np.unique(np.asarray(data.dataset.y), return_counts=True)[1].min()))
    return max(2, min(wanted, most))


def _scores_asked_for(scoring: str | Iterable[str] | None, data: "StudyData") -> list[str]:
    """The score that decides, then those that are reported as well."""
    asked = names_in([scoring]) if isinstance(scoring, str) else list(scoring or ())
    return [_checked_scoring(name, data) for name in dict.fromkeys(asked)] or [_default_scoring(data)]


def _default_scoring(data: "StudyData") -> str:
    import numpy as np

    if not data.is_classification:
        return "r2"
    counts = np.unique(np.asarray(data.dataset.y), return_counts=True)[1]
    rare = counts.min() / counts.sum() * len(counts) < RARE_SHARE
    return "balanced_accuracy" if rare else "accuracy"


def _checked_scoring(scoring: str, data: "StudyData") -> str:
    """A score that can be computed for this target: tried on the most frequent class, or the mean."""
    import warnings

    import numpy as np
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if not is_score(scoring):
        from sklearn.metrics import get_scorer_names

        near = did_you_mean(scoring, get_scorer_names(), "scores")
        common = (
            "Common ones are accuracy, balanced_accuracy, f1_macro, roc_auc, neg_log_loss, neg_brier_score, r2, "
            "neg_mean_absolute_error."
        )
        raise StudyError(
            f"There is no score {scoring!r} in scikit-learn or fewer. {near if near.startswith('Did') else common}"
        )
    X, y = np.zeros((data.dataset.n_rows, 1)), data.dataset.y
    baseline = (DummyClassifier() if data.is_classification else DummyRegressor()).fit(X, y)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weights = {} if data.weights is None else {"sample_weight": data.weights}
            scorer_named(scoring)(baseline, X, y, **weights)
    except (ValueError, TypeError, AttributeError) as error:
        others = (
            "accuracy, balanced_accuracy, f1_macro or roc_auc_ovr"
            if data.is_classification
            else "r2, neg_mean_absolute_error or neg_root_mean_squared_error"
        )
        weighted = "" if data.weights is None else ", with weights of the rows"
        what = f"{len(data.dataset.classes)} classes" if data.dataset.classes is not None else "numeric values"
        raise StudyError(
            f"The score {scoring!r} cannot be used for the target {data.dataset.target!r}, which has {what}{weighted}; "
            f"use {others}. (The reason: {str(error).rstrip('.')}.)"
        ) from None
    return scoring


def _check_plan(plan: Plan) -> None:
    if plan.n_folds < 2:
        raise StudyError(f"{parameter('n_folds')} must be at least 2, not {plan.n_folds}.")
    if plan.n_folds > plan.n_rows:
        raise StudyError(
            f"{parameter('n_folds')} must be at most the number of rows ({plan.n_rows}), not {plan.n_folds}."
        )
    if plan.n_repeats < 1:
        raise StudyError(f"{parameter('n_repeats')} must be at least 1, not {plan.n_repeats}.")
    if plan.max_repeats is not None and plan.max_repeats < plan.n_repeats:
        raise StudyError(
            f"{parameter('max_repeats')} must be at least the number of repeats ({plan.n_repeats}), not "
            f"{plan.max_repeats}."
        )
    if plan.splitting == "in order of time" and max(plan.n_repeats, plan.max_repeats or 1) > 1:
        raise StudyError(f"Folds in time order do not change between repeats; use {argument('n_repeats', 1)}.")
    if plan.n_permutations < 0:
        raise StudyError(
            f"{parameter('n_permutations')} must be at least 0 (0 for no tests), not {plan.n_permutations}."
        )
    if not 0 <= plan.margin < 1:
        raise StudyError(f"{parameter('margin')} must be at least 0 and less than 1, not {plan.margin}.")
    if plan.parsimony != "one_se" and (isinstance(plan.parsimony, str) or not 0 <= plan.parsimony < 1):
        raise StudyError(
            f"{parameter('parsimony')} must be at least 0 and less than 1, or 'one_se', not {plan.parsimony}."
        )
    if not plan.racing >= 0:
        raise StudyError(f"{parameter('racing')} must be at least 0, not {plan.racing}.")
    if plan.budget is not None:
        seconds_in(plan.budget)
    if plan.cost is not None:
        costs_in(plan.cost)
        if plan.task != "binary":
            what = "numbers" if plan.task == "regression" else "more than two classes"
            raise StudyError(
                f"{parameter('cost')} is for a target with two classes, but {plan.target!r} consists of {what}."
            )
    if not 0 < plan.confidence < 1:
        raise StudyError(f"{parameter('confidence')} must be between 0 and 1, not {plan.confidence}.")
    if not 0 <= plan.seed < 2**32:
        raise StudyError(f"{parameter('seed')} must be at least 0 and at most {2**32 - 1}, not {plan.seed}.")
    fewest = fewest_permutations(plan.confidence)
    if 0 < plan.n_permutations < fewest:
        raise StudyError(
            f"With {counted(plan.n_permutations, 'permutation')} the smallest p-value is "
            f"{1 / (1 + plan.n_permutations):.3f}, which cannot reach the significance level "
            f"{1 - plan.confidence:.3g}. Use {fewest:,} or more, or 0 for no tests."
        )


def costs_in(text: str) -> tuple[float, float]:
    """Costs of a positive row that is missed and of a negative one that is called positive.

    Examples
    --------
    >>> costs_in("FN=5,FP=1")
    (5.0, 1.0)
    """
    try:
        found = {name.strip().upper(): float(value) for name, value in (each.split("=") for each in text.split(","))}
        costs = found.pop("FN"), found.pop("FP")
    except (ValueError, KeyError, AttributeError):
        found, costs = {}, (0.0, 0.0)
    if found or not all(0 < cost < math.inf for cost in costs):
        raise StudyError(f"{parameter('cost')} must be two positive numbers such as FN=5,FP=1, not {text!r}.")
    return costs


def _check_folds(plan: Plan, data: "StudyData") -> None:
    """Whether the rows of this table can be split so."""
    import numpy as np

    from fewer.study.work._work import table_folds

    if plan.splitting == "stratified":
        labels, counts = np.unique(np.asarray(data.dataset.y), return_counts=True)
        if counts.min() < 2:
            raise StudyError(
                f"The class {str(labels[counts.argmin()])!r} of {plan.target!r} has one row, which cannot be in both a "
                "training set and a test fold. Remove the row, or merge classes."
            )
        if plan.n_folds > counts.max():
            raise StudyError(
                f"No class of {plan.target!r} has more than {counts.max()} rows, too few for {plan.n_folds} folds."
            )
    table_folds(plan, data, n_repeats=1)


def fewest_permutations(confidence: float) -> int:
    """The smallest number whose least p-value, 1 / (1 + permutations), reaches the significance level.

    Examples
    --------
    >>> fewest_permutations(0.95), fewest_permutations(0.99)
    (19, 99)
    """
    return math.ceil(1 / (1 - confidence) - 1e-6) - 1
