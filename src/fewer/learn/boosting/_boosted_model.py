"""What the boosted regressor and classifier share: steps, fitted attributes, warnings, effects and their figure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, check_sample_weight, fit_context, fit_steps, validated, warn_caller
from fewer.learn.boosting._base_learners import TreeLearner, column_values
from fewer.learn.boosting._boost import TOO_LONG, Booster
from fewer.learn.boosting._designs import FittedLearners, Prepared, listed_learners, prepared
from fewer.learn.boosting._families import Family

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, repr=False)
class PartialEffect:
    """What one learner adds to the prediction; made by ``partial_effects`` of a boosted model.

    Attributes
    ----------
    name : str
        The learner.
    learner : int
        Its place among the learners.
    columns : tuple of str
        Its columns.
    points : tuple of ndarray
        Values of each column at which the effect is given.
    effect : ndarray of shape (n_points,) or (n_points, n_points)
        What it adds; for two columns, the first runs along the rows.
    """

    name: str
    learner: int
    columns: tuple[str, ...]
    points: tuple[np.ndarray, ...]
    effect: np.ndarray

    def __repr__(self) -> str:
        ranges = " and ".join(
            f"{column} from {values[0]:.3g} to {values[-1]:.3g}"
            for column, values in zip(self.columns, self.points, strict=True)
        )
        return f"PartialEffect({self.name}: adds {self.effect.min():.3g} to {self.effect.max():.3g}, for {ranges})"


class _FewColumns:
    """A table of which only some columns are known, for learners that ask for no others."""

    def __init__(self, values: np.ndarray, columns: Sequence[int]) -> None:
        self._values = values
        self._place = {column: place for place, column in enumerate(columns)}

    def __getitem__(self, key: tuple[slice, Sequence[int]]) -> np.ndarray:
        return self._values[:, [self._place[int(column)] for column in key[1]]]


def partial_effect(
    learners: FittedLearners, learner: int, total: Any, X: Any, names: Sequence[str], n_points: int
) -> PartialEffect:
    """The effect of one learner on one or two columns, between their extremes in X."""
    columns = learners.columns[learner]
    seen = column_values(X, columns)
    points = tuple(_points(seen[:, place], n_points) for place in range(len(columns)))
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*points, indexing="ij")], axis=1)
    effect = learners.values(_FewColumns(grid, columns), learner, total)
    shown = tuple(str(names[column]) for column in columns)
    return PartialEffect(
        learners.names[learner], learner, shown, points, effect.reshape([len(axis) for axis in points])
    )


def _points(values: np.ndarray, n_points: int) -> np.ndarray:
    """The distinct values where they are few, and equally spaced ones otherwise."""
    distinct = np.unique(values)
    return distinct if len(distinct) <= min(n_points, 12) else np.linspace(distinct[0], distinct[-1], n_points)


SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "base_learners": [StrOptions({"linear", "smooth", "tree"}), list, tuple],
    "n_estimators": [Interval(Integral, 0, None, closed="left")],
    "learning_rate": [Interval(Real, 0, 1, closed="right")],
    "offset": [Real, None],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Training:
    """What a model keeps so that it can go on: the rows, a target for each path, the weights, a seed for trees."""

    X: Any
    targets: list[np.ndarray]
    weights: np.ndarray
    seed: int


class ComponentwiseBoosting(CallbackSupportMixin, BaseEstimator):
    """What the regressor and the classifier share; each target has a path of steps of its own."""

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Make the steps.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table; sparse ones unless there are trees.
        y : array-like of shape (n_samples,) or (n_samples, 2)
            Classes; for a regressor numbers, counts, or times and events.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows' losses; a row of weight zero is as if it were not there.

        Returns
        -------
        self : object
            The fitted model.
        """
        X, y = self._table_and_target(X, y)
        self._fitted_to(self._training(X, y, sample_weight), X, y)
        return self

    def _table_and_target(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        raise NotImplementedError

    def _family(self) -> Family:
        raise NotImplementedError

    def _checked_table(self, X: Any, **options: Any) -> Any:
        formats = ("csc", "csr") if self._takes_sparse() else False
        return validated(self, X, dtype=np.float64, accept_sparse=formats, **options)

    def _takes_sparse(self) -> bool:
        learners = self.base_learners
        if isinstance(learners, str):
            return learners != "tree"
        return not any(isinstance(learner, TreeLearner) for learner in learners)

    def _targets(self, y: np.ndarray) -> list[np.ndarray]:
        """A target for each path."""
        raise NotImplementedError

    def _training(self, X: Any, y: np.ndarray, sample_weight: Any) -> Training:
        """Without the rows that have no weight."""
        weights = check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=False
        )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if not (weights > 0).all():
            rows = np.flatnonzero(weights > 0)
            X, y, weights = X[rows], y[rows], weights[rows]
        return Training(X, self._targets(y), weights, seed)

    def _fitted_to(self, training: Training, X: Any, y: Any) -> None:
        """Make the steps, watched by callbacks, and keep them."""
        ready = self._prepared(training)
        _warn_of_learners(ready)
        boosters = [
            Booster.started(
                ready, self._family(), target, training.weights, learning_rate=self.learning_rate, offset=self.offset
            )
            for target in training.targets
        ]
        self._learners, self._steps, self._rows = ready.learners, [booster.steps for booster in boosters], training
        with fit_steps(self, X, y, n_steps=self.n_estimators) as after_step:
            for step in range(self.n_estimators):
                moved = [booster.advance() for booster in boosters]
                if not any(moved) or after_step("iteration", lambda reached=step + 1: self._attributes(reached)):
                    break
            self._keep(self.n_estimators)
        self._warn_of_divergence()
        self._warn_of_a_target_out_of_reach(training.targets)

    def _prepared(self, training: Training) -> Prepared:
        names = getattr(self, "feature_names_in_", None)
        learners = listed_learners(self.base_learners, training.X.shape[1])
        return prepared(learners, training.X, training.weights, None if names is None else list(names), training.seed)

    def _keep(self, n_estimators: int) -> None:
        for name, value in self._attributes(n_estimators).items():
            setattr(self, name, value)

    def _attributes(self, n_estimators: int) -> dict[str, Any]:
        """What the model has after so many steps."""
        n_learners = len(self._learners.names)
        lengths = [min(n_estimators, len(steps.selected)) for steps in self._steps]
        counts = sum(steps.counts(n_estimators, n_learners) for steps in self._steps)
        reductions = [steps.risk_reduction(n_estimators, n_learners) for steps in self._steps]
        risks = [steps.risks[: length + 1] for steps, length in zip(self._steps, lengths, strict=True)]
        longest = max(lengths)
        parts = [self._linear_part(steps.offset, steps.totals(n_estimators)) for steps in self._steps]
        return {
            "learner_names_": self._learners.names,
            "n_estimators_": longest,
            "offset_": self._one_or_all([steps.offset for steps in self._steps]),
            "selected_": self._one_or_all(
                [np.array(steps.selected[:n_estimators], dtype=int) for steps in self._steps]
            ),
            "risk_": np.mean([np.pad(risk, (0, longest + 1 - len(risk)), mode="edge") for risk in risks], axis=0),
            "selection_frequency_": counts / max(sum(lengths), 1),
            "risk_reduction_": np.mean(reductions, axis=0),
            "coef_": self._one_or_all([slopes for _, slopes in parts]),
            "intercept_": self._one_or_all([constant for constant, _ in parts]),
        }

    def _one_or_all(self, by_path: list[Any]) -> Any:
        """The only entry, or all of them: as an array where they are alike."""
        if len(by_path) == 1:
            return by_path[0]
        return np.array(by_path) if len({np.shape(entry) for entry in by_path}) == 1 else by_path

    def _linear_part(self, constant: float, totals: dict[int, Any]) -> tuple[float, np.ndarray]:
        slopes = np.zeros(self.n_features_in_)
        for learner, total in totals.items():
            added, columns, coefficients = self._learners.linear_part(learner, total)
            constant += added
            np.add.at(slopes, columns, coefficients)
        return constant, slopes

    @property
    def coef_path_(self) -> Any:
        """Slopes of the linear learners by column, before the first step and after each."""
        check_is_fitted(self)
        paths = []
        for steps in self._steps:
            path = np.zeros((min(self.n_estimators_, len(steps.selected)) + 1, self.n_features_in_))
            for step in range(len(path) - 1):
                path[step + 1] = path[step]
                _, columns, slopes = self._learners.linear_part(steps.selected[step], steps.step_total(step))
                np.add.at(path[step + 1], columns, slopes)
            paths.append(path)
        return self._one_or_all(paths)

    def set_n_estimators(self, n_estimators: int):
        """Cut the model back to fewer steps, or go on to more, exactly as if it had been fitted so.

        Steps that were cut off are kept, so that going on from there costs nothing.

        Parameters
        ----------
        n_estimators : int
            Number of steps.

        Returns
        -------
        self : object
            The same model, changed.
        """
        check_is_fitted(self)
        if not isinstance(n_estimators, Integral) or n_estimators < 0:
            raise ValueError(f"n_estimators={n_estimators!r} must be a whole number, 0 or more.")
        if any(len(steps.selected) < n_estimators and not steps.ended for steps in self._steps):
            ready = self._prepared(self._rows)
            for target, steps in zip(self._rows.targets, self._steps, strict=True):
                booster = Booster(ready, self._family(), target, self._rows.weights, steps)
                while len(steps.selected) < n_estimators and booster.advance():
                    pass
            self._warn_of_divergence()
        self._keep(n_estimators)
        return self

    def _warn_of_divergence(self) -> None:
        for steps in self._steps:
            if steps.ended == TOO_LONG:
                warn_caller(
                    f"Boosting ended after {len(steps.selected)} steps, because {TOO_LONG}: the steps are too long. "
                    f"Decrease learning_rate (now {self.learning_rate:g}); with large counts, to about 0.1 divided by "
                    "their mean.",
                    ConvergenceWarning,
                )

    def _warn_of_a_target_out_of_reach(self, targets: list[np.ndarray]) -> None:
        family = self._family()
        if family.longest_step is None:
            return
        reach = self.n_estimators * self.learning_rate * family.longest_step
        low, high = np.quantile(targets[0], [0.1, 0.9])
        if reach < (high - low) / 2:
            warn_caller(
                f"{self.n_estimators} steps of {type(family).__name__} move no prediction by more than {reach:.3g}, "
                f"and y has an 80% range of {high - low:.3g}: bring y to a scale of about 1, by "
                "TransformedTargetRegressor, or raise n_estimators."
            )

    def _checked_new(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._checked_table(X, reset=False)
        return sparse.csc_array(X) if sparse.issparse(X) else X

    def _margins(self, X: Any) -> list[np.ndarray]:
        """f of each path at the rows of X."""
        X = self._checked_new(X)
        self._warn_of_rows_outside(X)
        margins = []
        for steps in self._steps:
            margin = np.full(X.shape[0], steps.offset)
            for learner, total in steps.totals(self.n_estimators_).items():
                margin += self._learners.values(X, learner, total)
            margins.append(margin)
        return margins

    def _warn_of_rows_outside(self, X: Any) -> None:
        outside = {}
        for learner in sorted({learner for steps in self._steps for learner in steps.selected[: self.n_estimators_]}):
            n_rows = self._learners.n_outside(X, learner)
            if n_rows:
                outside[self._learners.names[learner]] = n_rows
        if outside:
            name, n_rows = max(outside.items(), key=lambda item: item[1])
            rows = "1 row lies" if n_rows == 1 else f"{n_rows:,} rows lie"
            others = "1 more term is" if len(outside) == 2 else f"{len(outside) - 1} more terms are"
            more = "" if len(outside) == 1 else f", and {others} affected likewise"
            warn_caller(
                f"{rows} outside of what {name} was fitted on{more}; curves go on as straight lines there, and "
                "categories that were not seen count as zero."
            )

    def _staged_margins(self, X: Any) -> Iterator[list[np.ndarray]]:
        """f of each path before the first step and after each; the arrays are reused."""
        margins = [np.full(X.shape[0], steps.offset) for steps in self._steps]
        yield margins
        for step in range(self.n_estimators_):
            for margin, steps in zip(margins, self._steps, strict=True):
                if step < len(steps.selected):
                    margin += self._learners.values(X, steps.selected[step], steps.step_total(step))
            yield margins

    def predict_components(self, X):
        """Contribution of each learner to the prediction; with the offset they add up to f.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table.

        Returns
        -------
        components : ndarray of shape (n_samples, n_learners) or (n_classes, n_samples, n_learners)
            A column for each learner, zero for those that were never taken; with more than two classes, one table for
            each class against the rest.
        """
        X = self._checked_new(X)
        tables = []
        for steps in self._steps:
            components = np.zeros((X.shape[0], len(self._learners.names)))
            for learner, total in steps.totals(self.n_estimators_).items():
                components[:, learner] = self._learners.values(X, learner, total)
            tables.append(components)
        return self._one_or_all(tables)

    def partial_effects(self, *, n_points: int = 100, path: int = 0) -> list[PartialEffect]:
        """What each learner that was taken adds, over the range of its columns, the most useful first.

        Parameters
        ----------
        n_points : int, default=100
            Points along each column.
        path : int, default=0
            With more than two classes, the place of the class.

        Returns
        -------
        effects : list of PartialEffect
            Learners on more than two columns are left out, for they cannot be drawn.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{column}" for column in range(self.n_features_in_)])
        totals = self._steps[path].totals(self.n_estimators_)
        order = sorted(totals, key=lambda learner: -self.risk_reduction_[learner])
        return [
            partial_effect(self._learners, learner, totals[learner], self._rows.X, names, n_points)
            for learner in order
            if 1 <= len(self._learners.columns[learner]) <= 2
        ]

    def plot_effects(self, *, n_effects: int = 9, n_points: int = 100, path: int = 0):
        """Draw what the most useful learners add.

        Parameters
        ----------
        n_effects : int, default=9
            Learners shown at most.
        n_points : int, default=100
            Points along each column.
        path : int, default=0
            With more than two classes, the place of the class.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A panel for each learner: curves for one column, maps for two.
        """
        effects = self.partial_effects(n_points=n_points, path=path)
        shares = self.risk_reduction_ / max(self.risk_reduction_.sum(), np.finfo(float).tiny)
        return effects_figure(effects[:n_effects], shares, n_left_out=max(len(effects) - n_effects, 0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse()
        return tags


def refuse_other_models(model: Any, who: str) -> None:
    """Raise for models that are not boosted ones."""
    if not isinstance(model, ComponentwiseBoosting):
        raise TypeError(
            f"{who} takes a ComponentwiseBoostingRegressor or ComponentwiseBoostingClassifier, and got "
            f"{type(model).__name__}; of a pipeline, pass the last step, and the table that reaches it."
        )


def _warn_of_learners(ready: Prepared) -> None:
    """Of learners that cannot fit anything, and of some that are more flexible than others."""
    dropped = ready.dropped
    if len(dropped):
        more = "" if len(dropped) == 1 else f", and {len(dropped) - 1} more"
        warn_caller(f"The learner {ready.learners.names[dropped[0]]} is left out{more}: its columns are constant.")
    freedom = ready.degrees_of_freedom
    known = freedom[~np.isnan(freedom)]
    if len(known) and known.max() - known.min() > 0.01:
        low, high = np.nanargmin(freedom), np.nanargmax(freedom)
        warn_caller(
            f"The learners compete with different degrees of freedom beyond a constant: {freedom[low]:.3g} for "
            f"{ready.learners.names[low]}, {freedom[high]:.3g} for {ready.learners.names[high]}. The more flexible "
            "ones are taken more often for that alone; give all the same df, as far as the columns have enough "
            "distinct values for it."
        )


def effects_figure(effects: "list[PartialEffect]", shares: np.ndarray, n_left_out: int) -> "go.Figure":
    """A panel for each effect: curves on a common scale, maps for two columns."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    from fewer import _figures

    if not effects:
        return _figures.new_figure(title="No learner on one or two columns was taken")
    n_columns = min(3, len(effects))
    n_rows = -(-len(effects) // n_columns)
    figure = make_subplots(
        rows=n_rows,
        cols=n_columns,
        subplot_titles=[f"{effect.name}: {shares[effect.learner]:.0%}" for effect in effects],
        vertical_spacing=0.35 / n_rows,
    )
    style = _figures.new_figure(height=120 + 240 * n_rows).layout
    more = f"; {n_left_out} more not shown" if n_left_out else ""
    figure.update_layout(
        template=style.template, height=style.height, paper_bgcolor=style.paper_bgcolor,
        plot_bgcolor=style.plot_bgcolor, font=style.font, showlegend=False, margin={"l": 60, "r": 20, "t": 80, "b": 50},
        title={"text": f"What each term adds, and its share in the fall of the risk{more}", "x": 0},
    )  # fmt: skip
    curves = [effect.effect for effect in effects if effect.effect.ndim == 1]
    span = _padded_range(np.concatenate(curves)) if curves else None
    axis = {"showgrid": False, "zeroline": False, "ticks": "outside", "linecolor": _figures.GREY, "showline": True}
    for place, effect in enumerate(effects):
        row, column = place // n_columns + 1, place % n_columns + 1
        figure.update_xaxes(axis | {"title": {"text": effect.columns[0], "standoff": 4}}, row=row, col=column)
        if effect.effect.ndim == 1:
            few = len(effect.points[0]) <= 12
            trace = go.Scatter(
                x=effect.points[0], y=effect.effect, name=effect.name, mode="markers+lines" if few else "lines",
                line={"color": _figures.BLUE, "width": 2, "shape": "hv" if "tree" in effect.name else "linear"},
            )  # fmt: skip
            figure.update_yaxes(
                axis | {"range": span, "showgrid": True, "gridcolor": _figures.translucent(_figures.GREY, 0.25)},
                row=row,
                col=column,
            )
        else:
            trace = go.Heatmap(
                x=effect.points[0], y=effect.points[1], z=effect.effect.T, colorscale="RdBu_r", zmid=0,
                showscale=len(effects) == 1, hovertemplate="%{x:.4g}, %{y:.4g}: %{z:.4g}<extra></extra>",
            )  # fmt: skip
            figure.update_yaxes(axis | {"title": {"text": effect.columns[1], "standoff": 4}}, row=row, col=column)
        figure.add_trace(trace, row=row, col=column)
    figure.update_annotations(font={"size": 13, "color": _figures.GREY})
    return figure


def _padded_range(values: np.ndarray) -> list[float]:
    low, high = float(values.min()), float(values.max())
    pad = 0.05 * (high - low) or 1.0
    return [low - pad, high + pad]
