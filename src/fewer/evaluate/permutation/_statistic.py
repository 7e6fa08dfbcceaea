"""The statistic of a permutation test: the cross-validated error of a whole procedure on one data set.

The same protocol runs on the data as they are and on every randomised version of them: the folds are drawn again for
each (a stratified splitter follows the randomised labels), a fresh clone is fitted on the other folds, and the error
is the mean over the folds. What is random in it, folds that are shuffled without a seed and estimators without a
``random_state``, gets a seed of its own for each data set, so that results do not depend on who computes what.

Under permuted labels, what does not depend on labels is computed once: distances, scatter matrices and steps that
ignore labels. A closed form (``fewer.evaluate.fast``) then predicts all labellings together. Where its answer depends
on rounding or on the order of tied rows, it reports that, and that fold is fitted the plain way, so that results are
those of plain fits.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from typing import Protocol as Interface

import numpy as np

from fewer._estimators import (
    DISCRIMINANT,
    NAIVE_BAYES,
    ClosedForm,
    FastRoute,
    asks_for_predictions,
    closed_form,
    scales_columns,
    score_of_predictions,
)
from fewer.catalogue import card_of

REPEAT, PERMUTATION = 0, 1
"""What a seed is for: a repeat on the original data, or a randomised version."""


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """The root of all seeds of one test."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.SeedSequence(None if random_state is None else int(random_state))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4).tolist())
    raise ValueError(f"random_state must be an int, a Generator, a RandomState or None, not {random_state!r}.")


def run_seeds(root: np.random.SeedSequence, purpose: int, index: int) -> tuple[np.random.SeedSequence, np.ndarray]:
    """Seeds of one data set: one to draw it, two integers to draw its folds and to seed its estimators."""
    draw, run = np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, purpose, index)).spawn(2)
    return draw, run.generate_state(2)


@dataclass(frozen=True)
class Protocol:
    """How a procedure is judged on one data set.

    Attributes
    ----------
    estimator : estimator
        The whole procedure; cloned for each fold.
    cv : splitter
        Its splits may depend on the labels.
    score : callable
        ``score(fitted, X, y)``, one number.
    groups : ndarray or None
        Rows are exchanged inside of these only.
    open_seeds : tuple of str
        Parameters of the estimator that hold a random state without a fixed seed.
    open_folds : bool
        Whether the splitter shuffles without a fixed seed.
    as_error : bool
        Whether 1 minus the score is reported.
    """

    estimator: Any
    cv: Any
    score: Callable[[Any, Any, Any], float]
    groups: np.ndarray | None
    open_seeds: tuple[str, ...]
    open_folds: bool
    as_error: bool

    @property
    def is_random(self) -> bool:
        """Whether two runs on the same data can differ."""
        return self.open_folds or bool(self.open_seeds)

    @property
    def fold_groups(self) -> np.ndarray | None:
        """The groups, for a splitter that asks for them; others would warn that they ignore them."""
        from fewer._estimators import GroupsConsumerMixin

        own = type(self.cv).__module__.startswith("sklearn.")
        return None if own and not isinstance(self.cv, GroupsConsumerMixin) else self.groups

    def splitter(self, seed: int) -> Any:
        """The splitter, with its seed when it has none of its own."""
        return _with_seed(self.cv, seed) if self.open_folds else self.cv

    def fold_scores(self, X: Any, y: np.ndarray, seeds: np.ndarray, only: Any = None) -> np.ndarray:
        """Score on each fold, or on some of them by number."""
        from sklearn.base import clone

        from fewer._estimators import safe_split

        seeded = {
            name: int(seed)
            for name, seed in zip(
                self.open_seeds, np.random.SeedSequence(int(seeds[1])).generate_state(len(self.open_seeds)), strict=True
            )
        }
        scores = []
        for number, (train, test) in enumerate(self.splitter(int(seeds[0])).split(X, y, self.fold_groups)):
            if only is not None and number not in only:
                continue
            model = clone(self.estimator)
            if seeded:
                model.set_params(**seeded)
            X_train, y_train = safe_split(model, X, y, train)
            X_test, y_test = safe_split(model, X, y, test, train)
            scores.append(self.score(model.fit(X_train, y_train), X_test, y_test))
        return np.asarray(scores, dtype=float)

    def value(self, fold_scores: np.ndarray) -> float:
        """What is reported of the scores of all folds."""
        mean = float(np.mean(fold_scores))
        return 1.0 - mean if self.as_error else mean

    def statistic(self, X: Any, y: np.ndarray, seeds: np.ndarray) -> float:
        """The error (or score) of the procedure on one data set."""
        return self.value(self.fold_scores(X, y, seeds))


def accuracy(model: Any, X: Any, y: np.ndarray) -> float:
    """Share of rows whose label is predicted."""
    return float(np.mean(np.asarray(model.predict(X)) == y))


def protocol_for(estimator: Any, y: np.ndarray, cv: Any, scoring: Any, groups: Any) -> Protocol:
    """The protocol that the arguments of :func:`permutation_test` describe."""
    from sklearn.base import is_classifier
    from sklearn.metrics import check_scoring

    if isinstance(scoring, str) and scoring == "error" and not is_classifier(estimator):
        raise ValueError(
            f'scoring="error" counts wrong labels, and {type(estimator).__name__} does not predict labels; choose a '
            'score where higher is better, such as scoring="r2" or scoring="neg_mean_absolute_error".'
        )
    counts_labels = isinstance(scoring, str) and scoring in ("error", "accuracy")
    splitter = _splitter(cv, y, is_classifier(estimator))
    return Protocol(
        estimator=estimator,
        cv=splitter,
        score=accuracy if counts_labels else check_scoring(estimator, scoring=scoring),
        groups=None if groups is None else np.asarray(groups),
        open_seeds=_open_seeds(estimator),
        open_folds=_shuffles_without_seed(splitter),
        as_error=counts_labels and scoring == "error",
    )


def _splitter(cv: Any, y: np.ndarray, classifier: bool) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    if cv is None:
        rarest = int(np.unique(y, return_counts=True)[1].min()) if classifier else len(y)
        cv = min(10, max(2, rarest))
    if isinstance(cv, int | np.integer):
        return StratifiedKFold(int(cv), shuffle=True) if classifier else KFold(int(cv), shuffle=True)
    return check_cv(cv, y, classifier=classifier)


def _shuffles_without_seed(splitter: Any) -> bool:
    if not hasattr(splitter, "random_state") or isinstance(splitter.random_state, int | np.integer):
        return False
    return bool(getattr(splitter, "shuffle", True))


def _open_seeds(estimator: Any) -> tuple[str, ...]:
    if not hasattr(estimator, "get_params"):
        raise TypeError(
            f"estimator must be a scikit-learn estimator, such as DecisionTreeClassifier(), not {estimator!r}."
        )
    return tuple(
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if (name == "random_state" or name.endswith("__random_state")) and not isinstance(value, int | np.integer)
    )


def _with_seed(splitter: Any, seed: int) -> Any:
    seeded = copy.copy(splitter)
    seeded.random_state = seed
    return seeded


LARGEST_COPY = 500_000_000
"""Bytes that the transformed folds of a pipeline may take."""


class Route(Interface):
    """Predicts the left-out rows of every fold for many labellings of the same rows."""

    name: str

    def predict(self, labels: np.ndarray, folds: np.ndarray, n_folds: int, n_classes: int) -> tuple[Any, Any]:
        """Predicted labels (n_labellings, n_rows), and which folds are in doubt (n_labellings, n_folds).

        ``labels`` are codes from 0, ``folds`` the number of the fold that leaves a row out, or -1; both of the shape
        (n_labellings, n_rows).
        """


@dataclass(frozen=True)
class SharedWork:
    """A route, and the folds that it is for.

    Attributes
    ----------
    name : str
        What is shared.
    whole : Route or None
        Route on all rows, for folds that change with the labels.
    fixed : tuple or None
        For folds that do not depend on labels: of each, its training rows, its test rows, and the route on the
        training rows followed by the test rows, after the steps that ignore labels.
    """

    name: str
    whole: Route | None
    fixed: tuple[tuple[np.ndarray, np.ndarray, Route], ...] | None

    def batch_size(self, n_permutations: int, n_workers: int) -> int:
        """How many permutations make a task: many, so that they share; few enough to show progress."""
        return max(1, min(250, -(-n_permutations // (2 * n_workers if n_workers > 1 else 1))))

    def statistics(
        self, protocol: Protocol, X: Any, y: np.ndarray, orders: np.ndarray, seeds: np.ndarray
    ) -> np.ndarray:
        """Statistic of each permutation of the labels."""
        classes, codes = np.unique(y, return_inverse=True)
        labels = codes[orders]
        if self.fixed is not None:
            scores, doubtful = self._fixed_scores(protocol, labels, classes)
        else:
            scores, doubtful = self._whole_scores(protocol, X, labels, classes, seeds)
        values = np.empty(len(labels))
        for i in range(len(labels)):
            again = np.flatnonzero(doubtful[i])
            if len(again):
                scores[i, again] = protocol.fold_scores(X, y[orders[i]], seeds[i], only=set(again.tolist()))
            values[i] = protocol.value(scores[i])
        return values

    def _fixed_scores(self, protocol: Protocol, labels: np.ndarray, classes: np.ndarray) -> tuple:
        assert self.fixed is not None
        scores = np.empty((len(labels), len(self.fixed)))
        doubtful = np.empty_like(scores, dtype=bool)
        for number, (train, test, route) in enumerate(self.fixed):
            stacked = np.ascontiguousarray(labels[:, np.concatenate([train, test])])
            folds = np.broadcast_to(np.repeat([-1, 0], [len(train), len(test)]), stacked.shape)
            predicted, doubt = route.predict(stacked, folds, 1, len(classes))
            left_out = slice(len(train), None)
            scores[:, number] = _scores(protocol, stacked[:, left_out], predicted[:, left_out], classes)
            doubtful[:, number] = doubt[:, 0]
        return scores, doubtful

    def _whole_scores(
        self, protocol: Protocol, X: Any, labels: np.ndarray, classes: np.ndarray, seeds: np.ndarray
    ) -> tuple:
        assert self.whole is not None
        folds = fold_numbers(protocol, X, labels, classes, seeds)
        n_folds = int(folds.max()) + 1
        predicted, doubtful = self.whole.predict(labels, folds, n_folds, len(classes))
        if protocol.score is accuracy:
            flat = (folds + n_folds * np.arange(len(folds))[:, None]).ravel()
            right = np.bincount(flat, weights=(predicted == labels).ravel(), minlength=len(folds) * n_folds)
            sizes = np.bincount(flat, minlength=len(folds) * n_folds)
            return (right / sizes).reshape(-1, n_folds), doubtful
        scores = np.empty((len(labels), n_folds))
        for i in range(len(labels)):
            for fold in range(n_folds):
                rows = folds[i] == fold
                scores[i, fold] = _scores(protocol, labels[i : i + 1, rows], predicted[i : i + 1, rows], classes)[0]
        return scores, doubtful


def _scores(protocol: Protocol, labels: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Score of each labelling on the same rows."""
    if protocol.score is accuracy:
        return (labels == predicted).mean(axis=1)
    rate = partial(score_of_predictions, protocol.score)
    return np.array([rate(classes[true], classes[guess]) for true, guess in zip(labels, predicted, strict=True)])


def shared_work_for(protocol: Protocol, X: Any, y: np.ndarray) -> tuple[SharedWork | None, FastRoute]:
    """What can be shared between label permutations; None, and why, when every permutation is fitted by itself."""
    from sklearn.base import is_classifier

    if not is_classifier(protocol.estimator):
        return None, FastRoute(False, "closed forms of label permutations are for classes")
    form = closed_form(
        protocol.estimator, protocol.score, "labels", knows_step=_ignores_labels, takes_scorer=_needs_labels_only
    )
    if isinstance(form, FastRoute):
        return None, form
    splits = _label_free_splits(protocol, X, y)
    if splits is None:
        work = _shared_by_all_rows(protocol, form, X)
    elif len(splits) * X.shape[0] * X.shape[1] * 8 > LARGEST_COPY:
        work = f"the tables of all folds would take more than {LARGEST_COPY / 1e6:.0f} MB"
    else:
        work = _shared_by_folds(form, X, y, splits)
    return (None, FastRoute(False, work)) if isinstance(work, str) else (work, form.route)


def _shared_by_all_rows(protocol: Protocol, form: ClosedForm, X: Any) -> SharedWork | str:
    """For folds that change with the labels."""
    build = _builder_behind(form)
    if build is None:
        names = ", ".join(type(step).__name__ for step in form.steps)
        return f"{names}, before {form.name}, depends on the folds, and these on the labels; use cv=KFold(...)"
    if not _leaves_each_row_out_once(protocol):
        return f"{type(protocol.cv).__name__} depends on the labels, and may leave a row out more than once"
    table = _plain_table(X)
    whole = None if table is None else build(table, None)
    return _not_on_this_table(form) if whole is None else SharedWork(whole.name, whole, None)


def _shared_by_folds(form: ClosedForm, X: Any, y: np.ndarray, splits: list) -> SharedWork | str:
    """For folds that do not."""
    fixed = []
    for train, test in splits:
        route = _fold_route(_route_builder(form), form.steps, X, y, train, test)
        if route is None:
            return _not_on_this_table(form)
        fixed.append((train, test, route))
    return SharedWork(fixed[0][2].name, None, tuple(fixed))


def _not_on_this_table(form: ClosedForm) -> str:
    return f"the closed form of {form.name} needs a dense table of numbers in double precision, not nearly collinear"


def _needs_labels_only(score: Any) -> bool:
    """Whether a score is computed from true and predicted labels alone."""
    return score is accuracy or asks_for_predictions(score)


def _ignores_labels(step: Any) -> bool:
    """Whether a step makes the same of the table whatever the labels, and each time."""
    from sklearn import decomposition, impute, preprocessing

    blind = (
        preprocessing.StandardScaler,
        preprocessing.MinMaxScaler,
        preprocessing.MaxAbsScaler,
        preprocessing.RobustScaler,
        preprocessing.Normalizer,
        preprocessing.PowerTransformer,
        preprocessing.PolynomialFeatures,
        preprocessing.OneHotEncoder,
        preprocessing.OrdinalEncoder,
        impute.SimpleImputer,
        decomposition.PCA,
    )
    # Of ours, what is for tables without a target; a user's subclass has no card of its own and may look.
    card = card_of(type(step))
    known = type(step) in blind or (card is not None and card.tasks == ("unsupervised",))
    return known and not _is_random(step)


def _is_random(step: Any) -> bool:
    return "random_state" in step.get_params() and not isinstance(step.random_state, int | np.integer)


def _route_builder(form: ClosedForm) -> Callable[[np.ndarray, int | None], Route | None]:
    """Builds the route of an estimator from a table, and the number of training rows at its top (None: all)."""
    from fewer.evaluate.fast import routes_of

    build = routes_of(form).label_permutations
    assert build is not None  # closed_form accepts no estimator without it
    return partial(build, form.model)


def _builder_behind(form: ClosedForm) -> Callable[[np.ndarray, int | None], Route | None] | None:
    """Builds the route of an estimator on all rows, when it is known what the steps would do in every fold.

    Discriminants divide every column by its own standard deviation, so they undo whatever a scaler did before; naive
    Bayes knows what a StandardScaler divides by. Distances and penalties change with the scales of each fold.
    """
    from sklearn.preprocessing import StandardScaler

    build: Any = _route_builder(form)
    if not form.steps or (form.name == DISCRIMINANT and all(map(scales_columns, form.steps))):
        return build
    if form.name == NAIVE_BAYES and len(form.steps) == 1 and type(form.steps[0]) is StandardScaler:
        return partial(build, standardised=bool(form.steps[0].with_std))
    return None


def _fold_route(
    build: Callable, steps: list, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> Route | None:
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    from fewer._estimators import safe_indexing

    held_in, left_out = safe_indexing(X, train), safe_indexing(X, test)
    if steps:
        prepare = make_pipeline(*(clone(step) for step in steps))
        held_in = prepare.fit_transform(held_in, y[train])
        left_out = prepare.transform(left_out)
    upper, lower = _plain_table(held_in), _plain_table(left_out)
    return None if upper is None or lower is None else build(np.vstack([upper, lower]), len(train))


def _plain_table(X: Any) -> np.ndarray | None:
    """The table as numbers of double precision, all finite; None when it is something else."""
    if hasattr(X, "tocsr"):
        return None
    try:
        table = np.asarray(X)
        if table.dtype.kind not in "biuf" or table.dtype == np.float32 or table.dtype == np.float16:
            return None
        table = table.astype(float)
    except (TypeError, ValueError):
        return None
    return table if table.ndim == 2 and np.isfinite(table).all() else None


def _label_free_splits(protocol: Protocol, X: Any, y: np.ndarray) -> list | None:
    """The splits, when they are the same whatever the labels are."""
    from sklearn import model_selection

    from fewer._estimators import CVIterableWrapper

    blind = (
        model_selection.KFold,
        model_selection.LeaveOneOut,
        model_selection.LeavePOut,
        model_selection.RepeatedKFold,
        model_selection.ShuffleSplit,
        model_selection.GroupKFold,
        model_selection.LeaveOneGroupOut,
        model_selection.PredefinedSplit,
        model_selection.TimeSeriesSplit,
        CVIterableWrapper,
    )
    if type(protocol.cv) not in blind or protocol.open_folds:
        return None
    return [(np.asarray(train), np.asarray(test)) for train, test in protocol.cv.split(X, y, protocol.fold_groups)]


def _leaves_each_row_out_once(protocol: Protocol) -> bool:
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    return type(protocol.cv) in (StratifiedKFold, KFold, GroupKFold, StratifiedGroupKFold)


def fold_numbers(protocol: Protocol, X: Any, labels: np.ndarray, classes: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Number of the fold that leaves each row out, for every labelling."""
    from sklearn.model_selection import StratifiedKFold

    folds = np.empty(labels.shape, dtype=np.int64)
    for i, own in enumerate(labels):
        splitter = protocol.splitter(int(seeds[i][0]))
        if type(splitter) is StratifiedKFold:
            folds[i] = stratified_folds(own, len(classes), splitter)
        else:
            for number, (_, test) in enumerate(splitter.split(X, classes[own], protocol.fold_groups)):
                folds[i, test] = number
    return folds


def stratified_folds(labels: np.ndarray, n_classes: int, splitter: Any) -> np.ndarray:
    """The folds of scikit-learn's StratifiedKFold, without its checks, which would take longer than the rest.

    Classes in the order in which they appear share out the folds in turn; inside a class the folds come in blocks,
    shuffled when the splitter shuffles.
    """
    from sklearn.utils import check_random_state

    rows_of = [np.flatnonzero(labels == label) for label in range(n_classes)]
    rows_of.sort(key=lambda rows: rows[0])
    n_splits = splitter.n_splits
    owner = np.repeat(np.arange(n_classes), [len(rows) for rows in rows_of])
    turns = np.arange(len(labels)) % n_splits
    allocation = np.bincount(owner * n_splits + turns, minlength=n_classes * n_splits).reshape(n_classes, n_splits)
    rng = check_random_state(splitter.random_state) if splitter.shuffle else None
    folds = np.empty(len(labels), dtype=np.int64)
    for rows, shares in zip(rows_of, allocation, strict=True):
        own = np.repeat(np.arange(n_splits), shares)
        if rng is not None:
            rng.shuffle(own)
        folds[rows] = own
    return folds
