"""The penalty of a linear model with a squared penalty by cross-validation: the paths of all folds at once.

The grid is relative to the table: the strongest penalty is ten times the total variance of its columns, so that the
models are the same in every unit. It is the same in every fold on the scale of a mean loss.
"""

from collections.abc import Iterator
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from fewer._estimators import (
    Interval,
    StrOptions,
    fit_context,
    fit_steps,
    raise_for_params,
    routing_enabled,
    validated,
    warn_caller,
)
from fewer.learn._linear import choice_figure, chosen_point, row_weights
from fewer.learn.ridge._newton import Point, ridge_path
from fewer.learn.ridge._tables import Table, prepared_table

# In units of the total variance of the columns.
_STRONGEST = 10.0
# The tolerance of the model that is kept, in the precision of the table, and its Newton steps at most.
_FINAL_TOL, _FINAL_STEPS = {"float64": 1e-17, "float32": 1e-7}, 20

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "eps": [Interval(Real, 0, 1, closed="neither")],
    "cv": ["cv_object"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "rule": [StrOptions({"one_se", "best"})],
    "fit_intercept": ["boolean"],
    "with_std": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
}
ACCEPTED = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class RidgePathCV(CallbackSupportMixin, BaseEstimator):
    """What the two share: the folds, their paths, the choice of a penalty, and the model on all rows there."""

    # Groups are the splitter's to request; `fit` has them in its signature for use without metadata routing.
    __metadata_request__fit = {"groups": UNUSED}
    _accepted: dict[str, Any] = ACCEPTED

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, groups=None, **params):
        """Follow the paths of all folds, choose the penalty, and take the model on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training table.
        y : array-like of shape (n_samples,)
            Classes, or numbers to predict.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows, in the fits and in the scores of folds.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of rows, for a ``cv`` that keeps them together.
        **params : dict
            Further metadata for the splitter and the scorer, with metadata routing enabled.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validated(self, X, y, **self._accepted)
        self._fit(X, y, row_weights(X, y, sample_weight), groups, params)
        return self

    def plot(self):
        """Mean score with its standard error against the penalty, and what was chosen.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        penalties, chosen, best, axis = self._chosen_penalties
        return choice_figure(penalties, self.scores_, chosen, best, axis)

    def _routed(self, X, y, sample_weight, groups, params) -> tuple[list[tuple[np.ndarray, np.ndarray]], dict]:
        """The folds, and what the scorer gets besides the rows that it scores."""
        raise_for_params(params, self, "fit")
        given = {"sample_weight": sample_weight, "groups": groups} | params
        given = {name: value for name, value in given.items() if value is not None}
        if routing_enabled():
            routed = Bunch(scorer=Bunch(score={})) | process_routing(self, "fit", **given)
        else:
            scored = {} if self.scoring is None or not _takes_weights(self._scorer()) else {"sample_weight"}
            routed = Bunch(
                splitter=Bunch(split={name: given[name] for name in given if name == "groups"}),
                scorer=Bunch(score={name: given[name] for name in given if name in scored}),
            )
        splitter = check_cv(self.cv, y, classifier=isinstance(self, ClassifierMixin))
        return self._split(splitter, X, y, sample_weight, routed["splitter"].split), routed["scorer"].score

    def _split(self, splitter, X, y, sample_weight, split_params):
        # Rows of weight zero are as if they were not there, unless the folds are given by numbers of rows.
        listed = not (self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split"))
        if sample_weight is None or listed or np.all(sample_weight):
            return list(splitter.split(X, y, **split_params))
        present = np.flatnonzero(sample_weight)
        split_params = {name: np.asarray(values)[present] for name, values in split_params.items()}
        folds = splitter.split(X[present], y[present], **split_params)
        return [(present[train], present[test]) for train, test in folds]

    def _scorer(self):
        return check_scoring(self, self.scoring)

    def get_metadata_routing(self):
        """Where the metadata of ``fit`` go: the splitter, and the scorer.

        Returns
        -------
        routing : MetadataRouter
            As in scikit-learn.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        if self.scoring is not None:
            router.add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router

    def _penalties(self, grid: Any, total: float, unit: float, inverse: bool) -> np.ndarray:
        """Penalties in units of the total variance, the strongest first."""
        if isinstance(grid, Integral):
            return np.geomspace(_STRONGEST, _STRONGEST * self.eps, grid)
        values = np.sort(np.asarray(grid, dtype=np.float64).ravel())
        if not values.size or values[0] <= 0 or not np.isfinite(values).all():
            raise ValueError(f"{'Cs' if inverse else 'alphas'} must be positive numbers, at least one; got {grid!r}.")
        return (1 / values if inverse else values[::-1]) / (unit * total)

    def _tables(self, X, weights: np.ndarray, *, axes: bool = False) -> list[tuple[Table, np.ndarray]]:
        """The table with the weights of all rows, then tables with the sets of weights of the folds.

        ``axes`` asks for the principal axes of a sparse table as well, as long as these are few.
        """
        options = {"fit_intercept": self.fit_intercept, "with_std": self.with_std, "axes": axes}
        table = prepared_table(X, weights[:, 0], **options)
        if not self.with_std:
            n_parts = max(1, min(effective_n_jobs(self.n_jobs), weights.shape[1] - 1))
            parts = np.array_split(weights[:, 1:], n_parts, axis=1)
            return [(table, weights[:, :1]), *((table, part) for part in parts)]
        # Standard deviations are those of the rows that a fold learns from.
        folds = weights[:, 1:].T
        tables = [prepared_table(X, fold, unit=table.unit, **options) for fold in folds]
        return [(table, weights[:, :1]), *zip(tables, folds[:, :, None], strict=True)]

    def _points(self, tables, loss, penalties: np.ndarray) -> Iterator[list[Point]]:
        """Points of the paths on all tables, penalty after penalty."""
        paths = [
            ridge_path(table, loss, np.ascontiguousarray(part), penalties, tol=self.tol, max_iter=self.max_iter)
            for table, part in tables
        ]
        if self.n_jobs in (None, 1) or len(paths) == 1:
            yield from map(list, zip(*paths, strict=True))
            return
        with Parallel(n_jobs=self.n_jobs, prefer="threads") as in_threads:
            for _ in penalties:
                yield in_threads(delayed(next)(path) for path in paths)

    def _fold_models(self, tables, points: list[Point]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Coefficients (n_features, n_outputs) and intercepts (n_outputs,) of each fold."""
        for (table, _), point in zip(tables, points, strict=True):
            coefs, intercepts = table.original(point.coefs)
            yield from zip(coefs.swapaxes(0, 1), intercepts, strict=True)

    def _follow(self, X, y, loss, penalties, tables, folds, score_params, sample_weight) -> None:
        """Follow the paths of the folds, score them along, and fit all rows at the penalty that the scores say."""
        (table, weights), *tables = tables
        weights = weights.copy()
        models, scores, n_iter, gaps = [], [], [], []
        with fit_steps(self, X, y, n_steps=len(penalties)) as after_step:
            for points in self._points(tables, loss, penalties):
                models.append(np.mean([coefs for point in points for coefs in point.coefs.swapaxes(0, 1)], axis=0))
                n_iter.append(max(point.n_iter for point in points))
                gaps.append(max(point.gaps.max() for point in points))
                scores.append(self._scores(X, y, tables, points, folds, score_params, sample_weight))
                if after_step("penalty"):
                    break
            scores_of_folds = np.array(scores).T
            place, _ = self._chosen(scores_of_folds)
            start = models[place][:, None]
            if self.with_std:  # the coefficients of the folds are on scales of their own
                path = ridge_path(table, loss, weights, penalties[: place + 1], tol=self.tol, max_iter=self.max_iter)
                start = [point.coefs for point in path][-1]
            # The folds' models serve a comparison; the one that is kept should be the minimum to many digits.
            (final,) = ridge_path(
                table, loss, weights, penalties[[place]], tol=min(self.tol, _FINAL_TOL[X.dtype.name]),
                max_iter=_FINAL_STEPS, start=start,
            )  # fmt: skip
            models[place] = final.coefs[:, 0]
            gaps.append(final.gaps.max())
            self._choose(scores_of_folds, models, np.array(n_iter), table, X.dtype)
        if max(gaps) > self.tol:
            warn_caller(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} Newton steps at a relative gap of "
                f"{max(gaps):.1g}, above tol={self.tol:g}; raise max_iter or tol.",
                ConvergenceWarning,
            )

    def _scores(self, X, y, tables, points, folds, score_params, sample_weight) -> list[float]:
        """The score of each fold on the rows that it holds out."""
        if self.scoring is None:
            predictions = np.concatenate([point.predictions for point in points], axis=1)
            return [
                -np.average(
                    self._losses(predictions[test, number], y[test]),
                    weights=None if sample_weight is None else sample_weight[test],
                )
                for number, (_, test) in enumerate(folds)
            ]
        scorer, scores = self._scorer(), []
        model = self._unfitted_like(X)
        for (coef, intercept), (_, test) in zip(self._fold_models(tables, points), folds, strict=True):
            model._set_model(coef, intercept, X.dtype)
            params = {name: np.asarray(values)[test] for name, values in score_params.items()}
            scores.append(scorer(model, X[test], y[test], **params))
        return scores

    def _unfitted_like(self, X) -> Any:
        model = type(self)(**self.get_params(deep=False))
        model.n_features_in_ = X.shape[1]
        return model

    def _chosen(self, scores: np.ndarray) -> tuple[int, int]:
        """The place of the penalty to take, and of the best."""
        if np.isnan(scores).any():
            fold, _ = np.argwhere(np.isnan(scores))[0]
            raise ValueError(f"The score of fold {fold + 1} of {len(scores)} is NaN; choose another scoring or cv.")
        return chosen_point(scores, self.rule)

    def _choose(self, scores: np.ndarray, models: list[np.ndarray], n_iter: np.ndarray, table: Table, dtype) -> None:
        self.scores_, self.n_iter_ = scores, n_iter
        chosen, best = self._chosen(scores)
        self._set_model(*table.original(models[chosen]), dtype)
        self._set_penalties(len(models), chosen, best)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _takes_weights(scorer: Any) -> bool:
    # Scorers of scikit-learn pass on what their metric takes.
    metric = getattr(scorer, "_score_func", scorer)
    return "sample_weight" in signature(metric).parameters


def normalised(weights: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(weights / weights.sum(axis=0))
