"""How many components: one function for every model of the room.

Each candidate is scored by one criterion, more is better:

- *completion*, for counts: on rows held out, a random half of the tokens tells the components of a row, and the mean
  log-probability of the others is the score. A model that adapts to the tokens that it is scored on never looks bad.
- *cv*: held-out score, which is the log-likelihood of rows, or with a target the log-probability of their classes.
- *bic* and *aic*: ``2 log L - n_parameters log n`` and ``2 log L - 2 n_parameters`` on all rows.
- *dic*: minus the deviance information criterion, for models with ``dic(X)``: draws from the posterior.
- *bound*: the approximate log evidence, for models with ``log_evidence()``: variational Bayes.

*bootstrap* goes up from the smallest candidate instead, and stops at the first that the next one does not improve by
more than chance: `fewer.latent._bootstrap_test`.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from fewer._estimators import each_warning_once, safe_indexing, warn_caller
from fewer._figures import BLUE, GREY, RED, Result, mark_point, new_figure
from fewer._wording import counted, p_digits
from fewer.catalogue import method
from fewer.engine import Engine
from fewer.latent._bootstrap_test import BootstrapTest, bootstrap_test, fingerprint, simulated_values
from fewer.latent._latent_model import is_count_table

if TYPE_CHECKING:
    import plotly.graph_objects as go

Criterion = Literal["auto", "completion", "cv", "bic", "aic", "dic", "bound", "bootstrap"]
_UNITS = {
    "completion": "log-probability of a held-out token",
    "cv": "held-out score",
    "bic": "BIC (more is better)",
    "aic": "AIC (more is better)",
    "dic": "DIC (more is better)",
    "bound": "log evidence",
    "bootstrap": "bootstrap test of the likelihood ratio",
}


@dataclass(repr=False)
class SizeChoice(Result):
    """Scores of numbers of components, and the chosen one.

    Attributes
    ----------
    candidates : list of int
        Numbers of components.
    criterion : str
        What was measured.
    scores : ndarray of shape (n_candidates, n_folds)
        More is better; one column for all but "completion" and "cv". For "bootstrap" they are log-likelihoods, NaN
        for candidates that were not reached.
    tests : list of BootstrapTest
        Of "bootstrap": each candidate against the next one.
    significance_level : float
        Of these tests.
    n_components : int
        The candidate with the best mean score; of "bootstrap" the first whose test is not significant.
    n_components_simplest : int
        The smallest candidate that is not worse than the best by more than one standard error of their difference.
    """

    _data: ClassVar[tuple[str, ...]] = (
        "candidates",
        "criterion",
        "scores",
        "n_components",
        "n_components_simplest",
        "tests",
    )

    candidates: list[int]
    criterion: str
    scores: np.ndarray
    tests: list[BootstrapTest] = field(default_factory=list)
    significance_level: float = 0.05

    @property
    def means(self) -> np.ndarray:
        """Mean score of each candidate."""
        return self.scores.mean(axis=1)

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard error of the difference of each candidate from the best, over folds; 0 for a single value."""
        n_folds = self.scores.shape[1]
        if n_folds < 2:
            return np.zeros(len(self.candidates))
        differences = self.scores - self.scores[self.means.argmax()]
        return differences.std(axis=1, ddof=1) / np.sqrt(n_folds)

    @property
    def n_components(self) -> int:
        """The candidate with the best mean score, or the first that the next one does not improve significantly."""
        if self.criterion == "bootstrap":
            kept = [each.n_small for each in self.tests if each.p_value > self.significance_level]
            return kept[0] if kept else self.candidates[-1]
        return self.candidates[int(self.means.argmax())]

    @property
    def n_components_simplest(self) -> int:
        """The smallest candidate within one standard error of the best."""
        if self.criterion == "bootstrap":
            return self.n_components
        near = self.means >= self.means.max() - self.standard_errors
        return min(candidate for candidate, close in zip(self.candidates, near, strict=True) if close)

    @property
    def reading(self) -> str:
        """What it means, in words."""
        if self.criterion == "bootstrap":
            return self._reading_of_tests()
        said = f"{_components(self.n_components, 'has', 'have')} the best {_UNITS[self.criterion]}."
        if self.n_components_simplest < self.n_components:
            said += (
                f" {_components(self.n_components_simplest, 'is', 'are')} not worse by more than one standard error."
            )
        ends = {self.candidates[0], self.candidates[-1]} - {1}
        if self.n_components in ends and len(self.candidates) > 1:
            said += " This is the end of the range: try candidates beyond it."
        return said

    def _reading_of_tests(self) -> str:
        last = self.tests[-1]
        if last.p_value > self.significance_level:
            return (
                f"{_components(last.n_small, 'is', 'are')} enough: {last.n_large} do not fit better than by chance "
                f"(p = {p_digits(last.p_value)})."
            )
        return f"Each candidate fits better than the one before: try more than {self.candidates[-1]} components."

    def __repr__(self) -> str:
        lines = [f"Number of components by {_UNITS[self.criterion]}"]
        if self.criterion == "bootstrap":
            return "\n".join([*lines, *(f"  {each!r}" for each in self.tests), self.reading])
        for candidate, mean, error in zip(self.candidates, self.means, self.standard_errors, strict=True):
            mark = " <- best" if candidate == self.n_components else ""
            lines.append(f"  {candidate:>4}  {mean:.4f}" + (f" +- {error:.4f}" if error else "") + mark)
        return "\n".join([*lines, self.reading])

    def plot(self) -> "go.Figure":
        """Draw the scores over the number of components.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            With standard errors of the differences from the best; of "bootstrap", the likelihood ratio of each test
            beside the simulated ones.
        """
        import plotly.graph_objects as go

        if self.criterion == "bootstrap":
            return self._figure_of_tests()
        figure = new_figure(x="number of components", y=_UNITS[self.criterion])
        figure.add_trace(
            go.Scatter(
                x=self.candidates,
                y=self.means,
                error_y={"array": self.standard_errors, "color": BLUE},
                mode="lines+markers",
                line={"color": BLUE},
                name="mean over folds",
            )
        )
        best = int(self.means.argmax())
        label = str(self.n_components)
        mark_point(figure, self.n_components, self.means[best], label, name="best", position="bottom center")
        figure.update_xaxes(type="log", tickvals=self.candidates, ticktext=[str(each) for each in self.candidates])
        return figure.update_layout(showlegend=False)

    def _figure_of_tests(self) -> "go.Figure":
        import plotly.graph_objects as go

        figure = new_figure(y="likelihood ratio")
        for each in self.tests:
            label = f"{each.n_small} against {each.n_large}, p = {p_digits(each.p_value)}"
            figure.add_trace(
                go.Box(
                    y=np.maximum(each.null_statistics, 0.1),
                    x=[label] * len(each.null_statistics),
                    boxpoints="all",
                    pointpos=0,
                    jitter=0.6,
                    fillcolor="rgba(0,0,0,0)",
                    line={"color": GREY},
                    marker={"color": BLUE, "size": 4},
                    name="simulated",
                )
            )
            mark = {"color": RED, "size": 12, "symbol": "diamond"}
            figure.add_trace(
                go.Scatter(x=[label], y=[max(each.statistic, 0.1)], mode="markers", marker=mark, name="observed")
            )
        return figure.update_layout(showlegend=False).update_yaxes(type="log")


@method(
    tasks=["evaluation"],
    when="The number of topics, aspects, classes, factors or states of a latent-variable model is to be chosen.",
    cost="O(candidates x folds) fits",
    handles=("sparse",),
)
@each_warning_once()
def select_n_components(
    estimator: Any,
    X: Any,
    candidates: Sequence[int],
    *,
    y: Any = None,
    groups: Any = None,
    criterion: Criterion = "auto",
    cv: Any = 5,
    n_resamples: int = 99,
    significance_level: float = 0.05,
    n_jobs: int | None = None,
    engine: Engine | None = None,
    checkpoint: "str | os.PathLike[str] | None" = None,
    random_state: Any = 0,
) -> SizeChoice:
    """Choose the number of components of a latent-variable model.

    Parameters
    ----------
    estimator : estimator
        Any model of ``fewer.latent``, not fitted; other parameters as they are to be used.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or list of str
        Rows.
    candidates : sequence of int
        Numbers of components to compare.
    y : array-like of shape (n_samples,) or (n_samples, n_items), default=None
        Classes, for models that have them, or counts of items, for ``AspectModelWithCovariates``.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay in one fold. Models of sequences, such as `HiddenMarkov`, get them as their sequences.
    criterion : {"auto", "completion", "cv", "bic", "aic", "dic", "bound", "bootstrap"}, default="auto"
        What is compared:

        - "completion": log-probability of held-out tokens, for models of counts;
        - "cv": held-out log-likelihood, or log-probability of the classes where there is a target;
        - "bic", "aic": the likelihood less a penalty for each parameter;
        - "dic": the deviance information criterion, for models with draws from the posterior (``solver="gibbs"``). It
          rejects too few components, and often does not reject too many;
        - "bound": the bound on the log evidence, for models of variational Bayes;
        - "bootstrap": tests of each candidate against the next one, for models with ``sample``.

        "auto" is "cv" with a target, "completion" for counts, and "bic" otherwise. All are reported so that more is
        better: "bic", "aic" and "dic" have the opposite sign of the model's own methods.
    cv : int, splitter or iterable, default=5
        Folds of "completion" and "cv".
    n_resamples : int, default=99
        Tables that "bootstrap" draws from the smaller model, for each test.
    significance_level : float, default=0.05
        Where "bootstrap" goes on to the next candidate.
    n_jobs : int or None, default=None
        Processes of "bootstrap" on this machine; -1 for all cores. None is this process.
    engine : Engine or None, default=None
        Where "bootstrap" runs, instead of ``n_jobs``.
    checkpoint : str, path or None, default=None
        A file to which "bootstrap" adds every simulated value, so that an interrupted call goes on from there.
    random_state : int, RandomState instance or None, default=0
        Shuffles rows into folds, splits tokens, and draws the tables of "bootstrap".

    Returns
    -------
    choice : SizeChoice
        Scores of all candidates; ``n_components`` is the best, and ``plot()`` draws them.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import PLSA, select_n_components
    >>> rng = np.random.default_rng(0)
    >>> topics = np.kron(np.eye(3), np.full(10, 0.1))
    >>> X = np.array([rng.multinomial(60, topics[row % 3]) for row in range(120)])
    >>> select_n_components(PLSA(random_state=0), X, [1, 2, 3], cv=3).n_components
    3
    """
    chosen = _resolved(criterion, estimator, y)
    parameter = getattr(estimator, "_size_parameter", "n_components")
    if parameter not in estimator.get_params():
        raise TypeError(
            f"{type(estimator).__name__} has no parameter {parameter!r}; select_n_components is for models of "
            "fewer.latent and for mixtures and decompositions of scikit-learn."
        )
    if not isinstance(candidates, Iterable):
        raise TypeError(f"candidates must be several numbers of components, such as [1, 2, 3], not {candidates!r}.")
    candidates = [int(each) for each in candidates]
    if not candidates or min(candidates) < 1:
        raise ValueError(f"candidates must be numbers from 1 on, not {candidates}.")
    models = [clone(estimator).set_params(**{parameter: each}) for each in candidates]
    if chosen == "bootstrap":
        _check_bootstrap(estimator, candidates, y, groups, n_resamples, n_jobs, engine)
        if 1 / (n_resamples + 1) > significance_level:
            warn_caller(
                f"No test can be significant: with n_resamples={n_resamples} the smallest p-value is "
                f"{1 / (n_resamples + 1):.2g}. significance_level={significance_level:g} needs at least "
                f"{_fewest_resamples(significance_level)}."
            )
        header = {} if checkpoint is None else fingerprint(estimator, X, candidates, n_resamples, random_state)
        where = nullcontext(engine) if engine is not None else Engine.local(1 if n_jobs is None else n_jobs)
        with simulated_values(checkpoint, header) as journal, where as running:
            return _stepped_up(models, X, candidates, n_resamples, significance_level, random_state, running, journal)
    if chosen in ("dic", "bound"):
        scores = [[_posterior_score(_fitted(model, X, y, groups), X, groups, chosen)] for model in models]
        return SizeChoice(candidates, chosen, np.array(scores))
    if chosen in ("bic", "aic"):
        scores = [[_information(_fitted(model, X, y, groups), X, y, groups, chosen)] for model in models]
        return SizeChoice(candidates, chosen, np.array(scores))
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    random = check_random_state(random_state)
    if isinstance(cv, int):
        if groups is None and _takes_groups(estimator):
            raise ValueError(
                f"{type(estimator).__name__} is for rows in time order, which folds of single rows would separate: "
                "pass the sequence of each row as groups, or use criterion='bic'."
            )
        by_class = y is not None and not is_count_table(y)
        plain, grouped = (StratifiedKFold, StratifiedGroupKFold) if by_class else (KFold, GroupKFold)
        splitter = plain if groups is None else grouped
        cv = splitter(cv, shuffle=True, random_state=random.randint(2**31 - 1))
    seed = int(random.randint(2**31 - 1))
    codes = None if y is None or is_count_table(y) else y
    folds = list(check_cv(cv, codes).split(np.zeros(n_rows), codes, groups))
    scores = [[_held_out(model, X, y, groups, train, test, chosen, seed) for train, test in folds] for model in models]
    return SizeChoice(candidates, chosen, np.array(scores))


def _components(number: int, one: str, many: str) -> str:
    return f"{counted(number, 'component')} {one if number == 1 else many}"


def _fewest_resamples(significance_level: float) -> int:
    return int(np.ceil(1 / significance_level - 1e-9)) - 1


def _resolved(criterion: str, estimator: Any, y: Any) -> str:
    counts = hasattr(estimator, "score_completion")
    if criterion == "auto":
        if y is not None:
            return "cv"
        return "completion" if counts else "bic" if hasattr(estimator, "bic") else "cv"
    if criterion not in _UNITS:
        raise ValueError(f"criterion must be one of auto, {', '.join(_UNITS)}, not {criterion!r}.")
    if criterion == "completion" and not counts:
        raise ValueError(f"criterion='completion' is for models of counts, and {type(estimator).__name__} is not one.")
    if criterion in ("bic", "aic") and not hasattr(estimator, criterion):
        raise ValueError(
            f"criterion={criterion!r} needs a model with the method {criterion}, and {type(estimator).__name__} has "
            "none: use criterion='cv'."
        )
    return criterion


def _check_bootstrap(
    estimator: Any, candidates: list[int], y: Any, groups: Any, n_resamples: int, n_jobs: Any, engine: Any
) -> None:
    who = type(estimator).__name__
    if not hasattr(estimator, "sample"):
        raise ValueError(f"criterion='bootstrap' draws tables from the model, and {who} has no sample method.")
    if y is not None or groups is not None:
        raise ValueError(
            "criterion='bootstrap' draws tables of independent rows without a target: leave y and groups out."
        )
    if len(candidates) < 2 or candidates != sorted(set(candidates)):
        raise ValueError(
            "criterion='bootstrap' goes up from candidate to candidate: give two or more in increasing order, not "
            f"{candidates}."
        )
    if n_resamples < 1:
        raise ValueError(f"n_resamples={n_resamples} must be at least 1.")
    if engine is not None and n_jobs is not None:
        raise ValueError("engine and n_jobs are both given; pass one of them.")


def _stepped_up(
    models: list[Any],
    X: Any,
    candidates: list[int],
    n_resamples: int,
    significance_level: float,
    random_state: Any,
    engine: Engine,
    journal: Any,
) -> SizeChoice:
    """Tests from the smallest candidate on, until one is not significant."""
    seeds = check_random_state(random_state).randint(2**31 - 1, size=(len(models) - 1, n_resamples))
    known, note = journal
    scores = np.full((len(models), 1), np.nan)
    small = models[0].fit(X)
    if getattr(small, "score_type_", "log-likelihood") != "log-likelihood":
        raise ValueError(
            f"criterion='bootstrap' compares log-likelihoods, and {type(small).__name__} has a {small.score_type_} "
            f"here: use criterion={_resolved('auto', small, None)!r}."
        )
    scores[0] = np.sum(small.score_samples(X))
    tests: list[BootstrapTest] = []
    for step, large in enumerate(models[1:]):
        large.fit(X)
        scores[step + 1] = np.sum(large.score_samples(X))
        tests.append(
            bootstrap_test(
                small,
                large,
                X,
                sizes=(candidates[step], candidates[step + 1]),
                seeds=seeds[step],
                engine=engine,
                known={place: value for (test, place), value in known.items() if test == step},
                note=partial(note, step),
            )
        )
        if tests[-1].p_value > significance_level:
            break
        small = large
    return SizeChoice(candidates, "bootstrap", scores, tests, significance_level)


def _posterior_score(model: Any, X: Any, groups: Any, criterion: str) -> float:
    name, example = (
        ("dic", "LatentClass(solver='gibbs')")
        if criterion == "dic"
        else ("log_evidence", "LatentClass(solver='variational_bayes') or VBGaussianMixture")
    )
    if not hasattr(model, name):
        raise ValueError(
            f"criterion={criterion!r} needs a model with the method {name}, such as {example}, and "
            f"{type(model).__name__} has none."
        )
    if criterion == "bound":
        return model.log_evidence()
    return -model.dic(X, **({"groups": groups} if groups is not None and _takes_groups(model) else {})).value


def _takes_groups(estimator: Any) -> bool:
    """Whether it is a model of sequences."""
    return has_fit_parameter(estimator, "groups")


def _fitted(model: Any, X: Any, y: Any, groups: Any) -> Any:
    own = {"groups": groups} if groups is not None and _takes_groups(model) else {}
    return model.fit(X, **own) if y is None else model.fit(X, y, **own)


def _information(model: Any, X: Any, y: Any, groups: Any, criterion: str) -> float:
    own = {"groups": groups} if groups is not None and _takes_groups(model) else {}
    value = getattr(model, criterion)
    return -float(value(X, **own) if y is None else value(X, y, **own))


def _held_out(
    model: Any, X: Any, y: Any, groups: Any, train: np.ndarray, test: np.ndarray, criterion: str, seed: int
) -> float:
    inside, outside = safe_indexing(X, train), safe_indexing(X, test)
    if groups is not None and _takes_groups(model):
        labels = np.asarray(groups)
        return clone(model).fit(inside, groups=labels[train]).score(outside, groups=labels[test])
    if y is None:
        fitted = clone(model).fit(inside)
        return (
            fitted.score_completion(outside, random_state=seed) if criterion == "completion" else fitted.score(outside)
        )
    if is_count_table(y):
        fitted = clone(model).fit(inside, safe_indexing(y, train))
        return float(fitted.score(outside, safe_indexing(y, test)))
    target = np.asarray(y)
    fitted = clone(model).fit(inside, target[train])
    if criterion == "completion":
        return fitted.score_completion(outside, random_state=seed)
    logs = fitted.predict_log_proba(outside)
    places = np.searchsorted(fitted.classes_, target[test])
    return float(np.mean(np.maximum(logs[np.arange(len(places)), places], np.log(1e-12))))
