"""A selection criterion whose variance can be set: the mean squared error over repeated random splits.

    g(theta) = (1/R) sum_r MSE(theta; train_r, test_r),    each split 9:1 at random

Its expectation does not depend on R, its variance falls with R; so it shows what the variance of a criterion does to
the choice that is made by it. Errors of decision values change smoothly where the error rate jumps:

    mean squared error     (1/n) sum_i (y_i - f_i)^2
    smoothed error rate    (1/2n) sum_i (1 - y_i tanh(gamma f_i))

for y = +-1 and values f whose sign is the class.

Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
performance evaluation. Journal of Machine Learning Research 11, 2079-2107, Section 5.2.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._figures import Result
from fewer.catalogue import method
from fewer.evaluate.protocol import rows_of, tunes_itself
from fewer.learn import KernelRidgeClassifierLOO

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike


def smoothed_error_rate(y: "ArrayLike", f: "ArrayLike", gamma: float = 8.0) -> float:
    """Error rate with soft edges, as a criterion for choosing hyper-parameters.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        -1 and +1, or any two labels, of which the larger is the positive class.
    f : array-like of shape (n_samples,)
        Decision values; positive ones predict the positive class.
    gamma : float, default=8.0
        Steepness: the larger, the nearer to the error rate itself.

    Returns
    -------
    rate : float
        Between 0 and 1.

    References
    ----------
    .. [1] Bo, L., Wang, L. & Jiao, L. (2006). Feature scaling for kernel Fisher discriminant analysis using
       leave-one-out cross validation. Neural Computation 18, 961-978.

    Examples
    --------
    >>> from fewer.theory import smoothed_error_rate
    >>> round(smoothed_error_rate([1, 1, -1, -1], [0.9, -0.2, -1.1, 0.0]), 3)
    0.365
    """
    y, f = np.asarray(y), np.asarray(f, dtype=float)
    if y.shape != f.shape or y.ndim != 1 or not len(y):
        raise ValueError(f"y of shape {y.shape} and f of shape {f.shape} must hold one entry for each row.")
    if gamma <= 0:
        raise ValueError(f"gamma={gamma} must be positive.")
    return float(np.mean(1 - _signs(y) * np.tanh(gamma * f)) / 2)


def _signs(y: np.ndarray) -> np.ndarray:
    """+1 for the larger of two labels, -1 for the other."""
    labels = np.unique(y)
    if set(labels.tolist()) <= {-1, 1}:
        return y.astype(float)
    if len(labels) != 2:
        raise ValueError(f"y has {len(labels)} different labels; give two, or -1 and +1.")
    return np.where(y == labels[1], 1.0, -1.0)


def squared_errors(fitted: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Squared error of each row: of a classifier's decision values from +-1, or of a regressor's prediction."""
    from sklearn.base import is_classifier

    if not is_classifier(fitted):
        return (y - fitted.predict(X)) ** 2
    if hasattr(fitted, "decision_function"):
        values = np.asarray(fitted.decision_function(X))
    else:
        values = 2 * fitted.predict_proba(X) - 1
        values = values[:, 1] if len(fitted.classes_) == 2 else values
    return squared_distances(values, y, fitted.classes_)


def squared_distances(values: np.ndarray, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Of decision values from the targets +-1, the mean over classes when there are more than two.

    The first axis of ``values`` is rows, with more than two classes the second is classes; axes behind are kept.
    """
    if len(classes) == 2:
        targets = np.where(y == classes[1], 1.0, -1.0)
        return (values - targets.reshape(-1, *[1] * (values.ndim - 1))) ** 2
    targets = np.where(y[:, None] == classes, 1.0, -1.0)
    return ((values - targets.reshape(*targets.shape, *[1] * (values.ndim - 2))) ** 2).mean(axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class CriterionSurface(Result):
    """A criterion over a grid of hyper-parameters; made by :meth:`RepeatedSplitCriterion.surface`.

    Attributes
    ----------
    grid : dict of str to ndarray
        Values of each hyper-parameter, in the order of the axes.
    errors : ndarray of shape (n_splits, n_values_1, n_values_2, ...)
        Mean squared error on each split.
    """

    grid: dict[str, np.ndarray]
    errors: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The criterion."""
        return self.errors.mean(axis=0)

    @property
    def best(self) -> dict[str, Any]:
        """Hyper-parameters with the smallest criterion; the first of several."""
        at = np.unravel_index(np.argmin(self.mean), self.mean.shape)
        return {name: values[i].item() for (name, values), i in zip(self.grid.items(), at, strict=True)}

    def first(self, n_splits: int) -> "CriterionSurface":
        """The same with fewer splits: the criterion of more variance.

        Parameters
        ----------
        n_splits : int
            How many.

        Returns
        -------
        surface : CriterionSurface
            Of the first splits alone.
        """
        if not 1 <= n_splits <= len(self.errors):
            raise ValueError(f"n_splits={n_splits} is not between 1 and the {len(self.errors)} splits there are.")
        return CriterionSurface(self.grid, self.errors[:n_splits])

    def __repr__(self) -> str:
        sizes = " x ".join(f"{len(values)} {name}" for name, values in self.grid.items())
        chosen = ", ".join(f"{name}={value:.4g}" for name, value in self.best.items())
        return (
            f"CriterionSurface: {sizes}, {len(self.errors)} splits\n"
            f"  smallest mean squared error {self.mean.min():.4f} at {chosen}"
        )

    def plot(self) -> "go.Figure":
        """The criterion over one hyper-parameter, or two, with the choice marked.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        import plotly.graph_objects as go

        from fewer import _figures

        names = list(self.grid)
        if len(names) > 2:
            raise ValueError(f"{len(names)} hyper-parameters cannot be drawn; choose two of them.")
        kinds = ["log" if (np.asarray(values) > 0).all() else "linear" for values in self.grid.values()]
        x = self.grid[names[0]]
        figure = _figures.new_figure(
            title=f"Mean squared error over {len(self.errors)} splits",
            x=names[0],
            y=names[1] if len(names) == 2 else "mean squared error",
        )
        if len(names) == 1:
            figure.add_trace(_figures.line("criterion", x, self.mean))
            marked = [self.mean.min()]
        else:
            figure.add_trace(
                go.Contour(x=x, y=self.grid[names[1]], z=self.mean.T, colorscale="Viridis_r", ncontours=20)
            )
            figure.update_yaxes(type=kinds[1])
            marked = [self.best[names[1]]]
        figure.update_xaxes(type=kinds[0])
        figure.add_trace(
            go.Scatter(
                x=[self.best[names[0]]],
                y=marked,
                mode="markers",
                marker={"color": _figures.RED, "size": 11, "symbol": "x"},
                name="chosen",
                showlegend=False,
            )
        )
        return figure


@method(
    tasks=["evaluation"],
    when="You want to see how the variance of a selection criterion makes the choice unsteady, or to tune by a "
    "criterion whose variance you control.",
    cost="O(r) fits for each candidate with r splits; for KernelRidgeClassifierLOO one for each kernel, O(r n^3)",
    paper="selection-bias",
    handles=["missing", "sparse", "categorical"],
    examples=list,  # not an estimator: it has nothing to fit
)
@dataclass(frozen=True)
class RepeatedSplitCriterion:
    """Mean squared error over repeated random splits, as a criterion for choosing hyper-parameters.

    Splits are the same for every estimator and every call on the same rows. As it also splits as scikit-learn's
    splitters do, it serves as ``cv`` of a search.

    Parameters
    ----------
    n_splits : int, default=10
        Random splits. The variance of the criterion falls with them.
    test_size : float, default=0.1
        Share of the rows to test on.
    stratify : bool, default=True
        Whether classes keep their shares on both sides of a split.
    random_state : int, default=0
        Draws the splits. The first splits are the same for every ``n_splits``.

    References
    ----------
    .. [1] Cawley, G. C. & Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
       performance evaluation. Journal of Machine Learning Research 11, 2079-2107.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.datasets import make_four_gaussians
    >>> from fewer.theory import RepeatedSplitCriterion
    >>> from fewer.learn import KernelRidgeClassifierLOO
    >>> X, y, _ = make_four_gaussians(n_samples=64, random_state=0)
    >>> criterion = RepeatedSplitCriterion(n_splits=25)
    >>> grid = {"alpha": np.geomspace(0.01, 100, 9), "gamma": np.geomspace(0.1, 10, 5)}
    >>> criterion.surface(KernelRidgeClassifierLOO(), X, y, grid)
    CriterionSurface: 9 alpha x 5 gamma, 25 splits
      smallest mean squared error 0.3974 at alpha=1, gamma=3.162
    """

    n_splits: int = 10
    test_size: float = 0.1
    stratify: bool = True
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.n_splits < 1:
            raise ValueError(f"n_splits={self.n_splits} must be at least 1.")
        if not 0 < self.test_size < 1:
            raise ValueError(f"test_size={self.test_size} is the share of rows to test on, between 0 and 1.")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of splits.

        Parameters
        ----------
        X, y, groups : object
            Not used.

        Returns
        -------
        n_splits : int
            As given.
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of each split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table.
        y : array-like of shape (n_samples,)
            Target; needed for ``stratify`` with classes.
        groups : object
            Not used.

        Returns
        -------
        splits : iterator of (train, test)
            Positions of the rows.
        """
        from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

        by_class = self.stratify and y is not None and _has_classes(y)
        kind = StratifiedShuffleSplit if by_class else ShuffleSplit
        yield from kind(self.n_splits, test_size=self.test_size, random_state=self.random_state).split(X, y)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Value of the criterion.

        Parameters
        ----------
        estimator : estimator
            A classifier, whose decision values are held against +-1, or a regressor.
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
            Table.
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        value : float
            Mean over the splits.
        """
        return float(self.errors(estimator, X, y).mean())

    def errors(self, estimator: Any, X: Any, y: Any) -> np.ndarray:
        """Mean squared error on each split.

        Parameters
        ----------
        estimator : estimator
            A classifier, whose decision values are held against +-1, or a regressor.
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
            Table.
        y : array-like of shape (n_samples,)
            Target.

        Returns
        -------
        errors : ndarray of shape (n_splits,)
            One for each split.
        """
        from sklearn.base import clone

        y = np.asarray(y)
        return np.array(
            [
                squared_errors(clone(estimator).fit(rows_of(X, train), y[train]), rows_of(X, test), y[test]).mean()
                for train, test in self.split(X, y)
            ]
        )

    def surface(self, estimator: Any, X: Any, y: Any, grid: Mapping[str, Sequence[float]]) -> CriterionSurface:
        """The criterion over a grid of hyper-parameters.

        Parameters
        ----------
        estimator : estimator
            Estimator. ``KernelRidgeClassifierLOO`` does not tune itself here; where only its regularisation changes,
            one eigendecomposition serves.
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
            Table.
        y : array-like of shape (n_samples,)
            Target.
        grid : dict of str to sequence of numbers
            Values of each hyper-parameter.

        Returns
        -------
        surface : CriterionSurface
            The errors on every split, and the choice.
        """
        from sklearn.base import clone

        axes = {name: np.asarray(values) for name, values in grid.items()}
        estimator = clone(estimator)
        if tunes_itself(estimator):
            estimator.set_params(select=None)
        if isinstance(estimator, KernelRidgeClassifierLOO) and "alpha" in axes:
            return CriterionSurface(axes, self._errors_by_spectrum(estimator, X, np.asarray(y), axes))
        return CriterionSurface(axes, self._errors_by_refits(estimator, X, y, axes))

    def _errors_by_refits(self, estimator: Any, X: Any, y: Any, axes: dict[str, np.ndarray]) -> np.ndarray:
        candidates = product(*(values.tolist() for values in axes.values()))
        errors = [
            self.errors(estimator.set_params(**dict(zip(axes, candidate, strict=True))), X, y)
            for candidate in candidates
        ]
        return np.reshape(np.transpose(errors), (self.n_splits, *map(len, axes.values())))

    def _errors_by_spectrum(
        self, estimator: KernelRidgeClassifierLOO, X: Any, y: np.ndarray, axes: dict[str, np.ndarray]
    ) -> np.ndarray:
        """The same, with one fit for all regularisations."""
        from sklearn.base import clone

        others = {name: values for name, values in axes.items() if name != "alpha"}
        errors = np.empty((self.n_splits, len(axes["alpha"]), *map(len, others.values())))
        for number, (train, test) in enumerate(self.split(X, y)):
            X_train, X_test = rows_of(X, train), rows_of(X, test)
            for at in np.ndindex(errors.shape[2:]):
                chosen = {name: values[i].item() for (name, values), i in zip(others.items(), at, strict=True)}
                fitted = clone(estimator).set_params(alpha=float(axes["alpha"].max()), **chosen).fit(X_train, y[train])
                values = fitted.decision_path(X_test, axes["alpha"])
                errors[(number, slice(None), *at)] = squared_distances(values, y[test], fitted.classes_).mean(axis=0)
        return np.moveaxis(errors, 1, 1 + list(axes).index("alpha"))


def _has_classes(y: Any) -> bool:
    """Whether the target has classes with rows for both sides of a split; whole numbers may be a quantity, too."""
    from sklearn.utils.multiclass import type_of_target

    return type_of_target(y) in ("binary", "multiclass") and np.unique(y, return_counts=True)[1].min() > 1
