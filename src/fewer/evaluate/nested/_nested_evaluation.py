"""Nested evaluation: the estimator and the procedure that selects for it, judged as one.

Every outer training set runs the full selection afresh, and its test rows are never seen by it:

    score_r = score(search.fit(train_r), test_r),    optimism_r = best inner score_r - score_r.

Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
performance evaluation. Journal of Machine Learning Research 11, 2079-2107, Section 5.1.
"""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._figures import Result, plain
from fewer.catalogue import method
from fewer.evaluate.protocol._selection import (
    check_selection_inside,
    chosen_parameters,
    column_names,
    criterion_reached,
    is_search,
    scoring_name,
    scoring_of,
    selected_columns,
)
from fewer.evaluate.protocol._table import Fold, checked_table, outer_folds
from fewer.evaluate.protocol._tasks import Table, all_folds, fitted_on, score_on, values_of, workers

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.engine import Engine

# With fewer realisations, the mean is not precise enough.
_FEW = 20


@dataclass(frozen=True, eq=False)
class Realisation:
    """One outer fold: what was chosen on its training rows, and how that did on its test rows.

    Attributes
    ----------
    repeat, fold : int
        Which fold of which repeat.
    score : float
        Score on the rows held out.
    parameters : dict
        Hyper-parameters that were chosen.
    features : tuple or None
        Names of the columns that were kept; None when no step selects or they are not known.
    criterion : float
        Score that the search believed to have reached; NaN when it keeps none.
    optimism : float
        ``criterion - score``; NaN when the two are not the same measure.
    n_train, n_test : int
        Rows on either side.
    """

    repeat: int
    fold: int
    score: float
    parameters: dict[str, Any]
    features: tuple[Any, ...] | None
    criterion: float
    optimism: float
    n_train: int
    n_test: int


@dataclass(frozen=True, eq=False, repr=False)
class NestedResult(Result):
    """Held-out scores of an estimator with its selection; made by :meth:`NestedEvaluation.run`.

    Attributes
    ----------
    realisations : tuple of Realisation
        One for each outer fold of each repeat.
    scoring : str
        Name of the score.
    """

    realisations: tuple[Realisation, ...]
    scoring: str = "score"

    _data = ("scoring", "mean", "se", "corrected_se", "optimism")

    @property
    def scores(self) -> np.ndarray:
        """Score of each realisation."""
        return np.array([realisation.score for realisation in self.realisations])

    @property
    def mean(self) -> float:
        """Mean score."""
        return float(self.scores.mean())

    @property
    def se(self) -> float:
        """Standard error of the mean over realisations, as the literature gives it: as if they shared no rows."""
        return float(self.scores.std(ddof=1) / np.sqrt(len(self.scores)))

    @property
    def corrected_se(self) -> float:
        """Standard error that allows for the rows that realisations share (Nadeau and Bengio 2003)."""
        shared = np.mean([realisation.n_test / realisation.n_train for realisation in self.realisations])
        return float(self.scores.std(ddof=1) * np.sqrt(1 / len(self.scores) + shared))

    def interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the score that the whole procedure reaches with this number of rows.

        The corrected resampled t interval: the mean and ``corrected_se``, with as many degrees of freedom as one repeat
        has, because repeats deal the same rows again and do not show how other rows would vary. On pure noise
        at 95% it covers in 94% to 99% of tables with 5 folds, and in 91% to 96% with 10 or 20: the more folds, the
        more rows their training sets share.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Its confidence level.

        Returns
        -------
        low, high : float
            The interval; NaN with a single realisation, and when all scores are equal: they do not show how far off
            other rows would be.
        """
        from scipy.special import stdtrit

        if not 0 < confidence_level < 1:
            raise ValueError(f"confidence_level={confidence_level} must lie between 0 and 1.")
        if np.ptp(self.scores) == 0:
            return np.nan, np.nan
        n_folds = max(realisation.fold for realisation in self.realisations) + 1
        reach = float(stdtrit(min(n_folds, len(self.realisations)) - 1, (1 + confidence_level) / 2)) * self.corrected_se
        return self.mean - reach, self.mean + reach

    @property
    def optimism(self) -> float:
        """By how much the best score of the search was too good, on average; NaN when it is not known."""
        return float(np.mean([realisation.optimism for realisation in self.realisations]))

    @property
    def feature_frequencies(self) -> dict[Any, float]:
        """Share of the realisations in which each column was kept, the most frequent first."""
        counts = Counter(name for realisation in self.realisations for name in realisation.features or ())
        return {name: count / len(self.realisations) for name, count in counts.most_common()}

    @property
    def parameter_counts(self) -> dict[str, int]:
        """How often each choice of parameters was made, the most frequent first."""
        counts = Counter(_in_words(realisation.parameters) for realisation in self.realisations)
        return dict(counts.most_common())

    def __repr__(self) -> str:
        n = len(self.realisations)
        lines = [f"NestedResult: {self.scoring} {self.mean:.4f} over {n} realisation{'s' * (n > 1)}"]
        low, high = self.interval()
        if n > 1 and np.isnan(low):
            lines.append("  no interval: all realisations have the same score")
        elif n > 1:
            lines.append(
                f"  95% interval {low:.4f} to {high:.4f}; standard error {self.corrected_se:.4f}, "
                f"{self.se:.4f} if no rows were shared"
            )
        if np.isfinite(self.optimism):
            lines.append(
                f"  the search itself believed in {self.mean + self.optimism:.4f}: optimism {self.optimism:+.4f}"
            )
        choices = self.parameter_counts
        if any(choices):
            words, count = next(iter(choices.items()))
            if len(choices) == 1:
                lines.append(f"  always the same choice: {words}")
            else:
                lines.append(f"  {len(choices)} different choices; the most frequent, {count} of {n}: {words}")
        if self.feature_frequencies:
            always = sum(share == 1 for share in self.feature_frequencies.values())
            lines.append(f"  columns kept at least once: {len(self.feature_frequencies)}; always: {always}")
        if n < _FEW:
            lines.append(f"  few realisations: raise n_repeats for {_FEW} or more, 100 for small tables")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON.

        Returns
        -------
        data : dict
            The summary, and every realisation.
        """
        every = [plain(vars(realisation)) for realisation in self.realisations]
        return super().to_dict() | {"interval": plain(self.interval()), "realisations": every}

    def plot(self) -> "go.Figure":
        """What the search believed against what held, one point for each realisation.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        import plotly.graph_objects as go

        from fewer import _figures

        criteria = np.array([realisation.criterion for realisation in self.realisations])
        texts = [_in_words(realisation.parameters) for realisation in self.realisations]
        comparable = np.isfinite([realisation.optimism for realisation in self.realisations]).all()
        figure = _figures.new_figure(
            title=f"{self.scoring} {self.mean:.3f} on rows never seen",
            x="best score of the search" if comparable else "realisation",
            y=f"{self.scoring} on the rows held out",
        )
        x = criteria if comparable else np.arange(1, len(criteria) + 1)
        ends = np.array([x.min(), x.max()])
        figure.add_trace(
            go.Scatter(
                x=x,
                y=self.scores,
                mode="markers",
                name="realisations",
                text=texts,
                marker={"color": _figures.translucent(_figures.BLUE, 0.6), "size": 8},
            )
        )
        low, high = self.interval()
        if np.isfinite(low):
            figure.add_trace(_figures.band("95% interval of the mean", ends, np.full(2, low), np.full(2, high)))
        figure.add_trace(_figures.line("mean", ends, [self.mean] * 2, _figures.BLUE))
        if not comparable:
            figure.update_xaxes(tickformat="d", dtick=1 if len(x) <= 20 else None)
        else:
            both = [min(x.min(), self.scores.min()), max(x.max(), self.scores.max())]
            figure.add_trace(_figures.line("no optimism", both, both, _figures.GREY, line_dash="dot"))
        return figure


@method(
    tasks=["evaluation"],
    when="Features or hyper-parameters are chosen by looking at the rows, and you want to report how well the whole "
    "procedure will do on new ones.",
    cost="O(r) searches on training sets, for r realisations (outer folds times repeats)",
    paper="selection-bias",
    handles=["missing", "sparse", "categorical"],
    examples=list,  # not an estimator: it has nothing to fit
)
@dataclass(frozen=True, eq=False)
class NestedEvaluation:
    """Unbiased score of an estimator together with its selection of features and hyper-parameters.

    Parameters
    ----------
    search : estimator
        A predictor that makes all its choices in ``fit``: a search such as ``GridSearchCV`` around a pipeline, a
        pipeline with a selection step, an estimator that tunes itself. Anything chosen outside is refused.
    cv : int, splitter or iterable of (train, test), default=5
        Outer folds. A number makes shuffled folds, stratified for classifiers, whole groups where there are groups.
    n_repeats : int, default=1
        How often the outer folds are drawn anew. Use many: 100 realisations for small tables, 20 for large ones.
    scoring : str or callable, default=None
        Score on the rows held out, higher being better. By default that of the search.
    random_state : int, RandomState instance or None, default=None
        Draws the folds, and seeds everything inside the search that draws and has no seed of its own.

    See Also
    --------
    protocol_audit : How much better the common shortcuts would have looked on the same folds.

    References
    ----------
    .. [1] Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
       performance evaluation. Journal of Machine Learning Research 11, 2079-2107.
    .. [2] Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from fewer.evaluate import NestedEvaluation
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 500)), np.repeat(["a", "b"], 30)  # there is nothing to find
    >>> search = GridSearchCV(make_pipeline(SelectKBest(), GaussianNB()), {"selectkbest__k": [5, 10, 20]})
    >>> result = NestedEvaluation(search, n_repeats=4, random_state=0).run(X, y)
    >>> low, high = result.interval()
    >>> low < 0.5 < high, bool(result.optimism > 0)
    (True, True)
    """

    search: Any
    cv: Any = 5
    n_repeats: int = 1
    scoring: Any = None
    random_state: Any = None

    def run(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        engine: "Engine | None" = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> NestedResult:
        """Run the whole search on every outer training set, and score what it gives on the rows held out.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
            The whole table, before anything was chosen.
        y : array-like of shape (n_samples,)
            Target.
        groups : array-like of shape (n_samples,), default=None
            Rows that belong together, for the outer folds and those of the search.
        engine : Engine or None, default=None
            Where to run; by default in this process.
        n_jobs : int or None, default=None
            In place of an engine: number of processes on this machine, -1 for all cores.
        progress : bool, default=False
            Whether to show a progress bar.

        Returns
        -------
        result : NestedResult
            Scores, choices and optimism of every realisation. After Ctrl-C, of those that were done.
        """
        from sklearn.base import is_classifier
        from sklearn.utils import check_random_state

        check_selection_inside(self.search)
        table = Table(*checked_table(X, y, groups, learner=self.search), scoring_of(self.search, self.scoring))
        random = check_random_state(self.random_state)
        folds = all_folds(
            outer_folds(
                self.cv,
                table.X,
                table.y,
                classifier=is_classifier(self.search),
                n_repeats=self.n_repeats,
                groups=table.groups,
                random_state=random,
            )
        )
        seeds = random.randint(np.iinfo(np.int32).max, size=len(folds))
        done = values_of(
            realised,
            [(*fold, int(seed)) for fold, seed in zip(folds, seeds, strict=True)],
            (self.search, table, comparable_criterion(self.search, table.scoring)),
            engine=workers(engine, n_jobs),
            progress=progress,
            description="Nested evaluation",
            labels=[f"repeat {repeat}, fold {number}" for repeat, number, _ in folds],
        )
        return NestedResult(tuple(done.values()), scoring_name(table.scoring, self.search))


def realised(task: tuple[int, int, Fold, int], shared: tuple[Any, Table, bool]) -> Realisation:
    """One outer fold: select and fit on its training rows, score its test rows."""
    (repeat, number, fold, seed), (search, table, comparable) = task, shared
    fitted = fitted_on(search, table, fold.train, seed)
    score, criterion = score_on(fitted, table, fold.test), criterion_reached(fitted)
    columns = selected_columns(fitted, table.X)
    return Realisation(
        repeat=repeat,
        fold=number,
        score=score,
        parameters=chosen_parameters(fitted),
        features=None if columns is None else tuple(column_names(table.X)[columns]),
        criterion=criterion,
        optimism=criterion - score if comparable else np.nan,
        n_train=len(fold.train),
        n_test=len(fold.test),
    )


def comparable_criterion(search: Any, scoring: Any) -> bool:
    """Whether the search optimises the very score that it is evaluated by."""
    from sklearn.base import is_classifier

    if not is_search(search):
        return False
    default = "accuracy" if is_classifier(search) else "r2"
    return (scoring_of(search, None) or default) == (scoring or default)


def _in_words(parameters: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={' '.join(repr(value).split())}"
        for name, value in parameters.items()
    )
