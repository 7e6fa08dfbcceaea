"""The bound for any projection, and what a fitted one gained over PCA."""

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils import check_random_state

from fewer._estimators import check_feature_names, checked_array
from fewer._figures import BLUE, GREEN, Result, new_figure
from fewer.extract.information._variational_infomax import VariationalInfoMax

if TYPE_CHECKING:
    import plotly.graph_objects as go

_RANDOM = 3
"""Number of random projections, of which the mean is reported."""


def information_bound(
    X: Any, W: Any, decoder: VariationalInfoMax | str = "gaussian", *, random_state: Any = None
) -> float:
    """Lower bound on the information that a projection keeps, in nats.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Table.
    W : array-like of shape (n_components, n_features)
        Orthonormal directions: of PCA, at random, or of a fitted model.
    decoder : VariationalInfoMax or "gaussian", default="gaussian"
        Model whose kind of decoders, noise and ``reg_covar`` are used; the decoders are fitted anew for these
        directions. "gaussian" is one decoder with the default noise.
    random_state : int, RandomState instance or None, default=None
        Draws the starts for the decoders; by default as the model says.

    Returns
    -------
    bound : float
        The bound, without the entropy of the table, which is the same for all projections.

    See Also
    --------
    compare_to_pca : The bounds of several projections side by side.

    References
    ----------
    .. [1] Agakov, F. and Barber, D. (2006). Auxiliary variational information maximization for dimensionality
       reduction. Subspace, Latent Structure and Feature Selection, LNCS 3940, 103-114.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import information_bound
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) * [3.0, 1.0, 1.0]
    >>> information_bound(X, [[1, 0, 0]]) > information_bound(X, [[0, 1, 0]])
    True
    """
    X = checked_array(
        X, "information_bound", accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), ensure_min_samples=2
    )
    directions = _orthonormal(W, X.shape[1])
    if not isinstance(decoder, VariationalInfoMax) and not (isinstance(decoder, str) and decoder == "gaussian"):
        raise ValueError(f'decoder={decoder!r} is neither "gaussian" nor a VariationalInfoMax.')
    model = VariationalInfoMax(objective="gaussian") if isinstance(decoder, str) else clone(decoder)
    if random_state is not None:
        model.set_params(random_state=random_state)
    return float(with_directions(model, X, directions).bound_[-1])


def with_directions(model: VariationalInfoMax, X: Any, W: np.ndarray) -> VariationalInfoMax:
    """A copy of a model with given directions, whose decoders are fitted to them."""
    return clone(model)._fitted_to(X, W)


@dataclass(frozen=True, eq=False, repr=False)
class PCAComparison(Result):
    """What a projection gained over PCA; made by :func:`compare_to_pca`.

    Attributes
    ----------
    projections : tuple of str
        "fitted", "PCA" and "random", all with decoders of the same kind, and "PCA, one decoder".
    bounds : ndarray of shape (4,)
        Bound on the information that each keeps, in nats, without the entropy of the table.
    new_bounds : ndarray of shape (4,) or None
        The same on new rows, with decoders from the training rows.
    errors : ndarray of shape (4,)
        Mean squared error of rows decoded from noisy codes; of the new rows, if there are any.
    overlap : ndarray of shape (n_components,)
        Cosines of the angles between the fitted directions and the principal ones, decreasing.
    """

    projections: tuple[str, ...]
    bounds: np.ndarray
    new_bounds: np.ndarray | None
    errors: np.ndarray
    overlap: np.ndarray

    @property
    def gain(self) -> float:
        """What fitted directions and decoders keep more than PCA with one decoder, on new rows if there are any."""
        return float(self._judged[0] - self._judged[3])

    @property
    def gain_of_directions(self) -> float:
        """The part of it that is due to the directions: more than PCA with decoders of the same kind."""
        return float(self._judged[0] - self._judged[1])

    @property
    def _judged(self) -> np.ndarray:
        return self.bounds if self.new_bounds is None else self.new_bounds

    @property
    def reading(self) -> str:
        """What it means, in plain words."""
        where = "On the rows that it was fitted to" if self.new_bounds is None else "On new rows"
        more = "more" if self.gain >= 0 else "less"
        told = (
            f"{where} the fitted model keeps {abs(self.gain):.3g} nats {more} than PCA with one decoder. Directions "
            f"account for {self.gain_of_directions:.3g} of that, more decoders for the rest. Rows are decoded with a "
            f"squared error of {self.errors[0]:.3g} instead of {self.errors[3]:.3g}."
        )
        if self.new_bounds is None:
            told += " A bound on new rows can be far smaller: pass some as X_new."
        elif self.gain < 0:
            told += " PCA is the better choice here."
        return told

    def __repr__(self) -> str:
        lines = ["PCAComparison: bounds on what is kept, in nats"]
        for place, name in enumerate(self.projections):
            new = "" if self.new_bounds is None else f", on new rows {self.new_bounds[place]:.2f}"
            lines.append(f"  {name:<17}{self.bounds[place]:9.2f}{new}; squared error {self.errors[place]:.3g}")
        lines.append(f"  cosines with the principal directions: {self.overlap[0]:.2f} to {self.overlap[-1]:.2f}")
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Draw the bounds above that of PCA with one decoder.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        import plotly.graph_objects as go

        figure = new_figure(x="nats above PCA with one decoder").update_layout(barmode="group", yaxis_showgrid=False)
        names = list(self.projections[:3])
        shown = [("training rows", self.bounds, BLUE)]
        shown += [] if self.new_bounds is None else [("new rows", self.new_bounds, GREEN)]
        for name, bounds, colour in shown:
            above = bounds[:3] - bounds[3]
            figure.add_trace(go.Bar(x=above, y=names, name=name, orientation="h", marker={"color": colour}))
        return figure.update_yaxes(autorange="reversed")


def compare_to_pca(model: VariationalInfoMax, X: Any, X_new: Any = None, *, random_state: Any = None) -> PCAComparison:
    """Information kept by a projection, by PCA and by random directions, with decoders of the same kind.

    Parameters
    ----------
    model : VariationalInfoMax
        Fitted, or to be fitted to X.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training table, to which all decoders are fitted.
    X_new : {array-like, sparse matrix} of shape (n_new, n_features), default=None
        Held-out rows for bounds and errors.
    random_state : int, RandomState instance or None, default=None
        Draws random directions and the noise of the codes.

    Returns
    -------
    comparison : PCAComparison
        Bounds and errors; prints itself, ``reading`` explains them, and ``plot()`` draws them.

    References
    ----------
    .. [1] Agakov, F. and Barber, D. (2006). Auxiliary variational information maximization for dimensionality
       reduction. Subspace, Latent Structure and Feature Selection, LNCS 3940, 103-114.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.extract import VariationalInfoMax, compare_to_pca
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 4)) * [2.0, 0.2, 0.2, 0.2]
    >>> X[::20, 1] += rng.normal(scale=15, size=50)
    >>> model = VariationalInfoMax(1, n_init=2, random_state=0)
    >>> found = compare_to_pca(model, X[:500], X[500:], random_state=0)
    >>> bool(found.gain_of_directions > 0.3)
    True
    """
    if not isinstance(model, VariationalInfoMax):
        raise TypeError(f"model={model!r} is no VariationalInfoMax; PCA is what that is compared to.")
    options = {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32)}
    if hasattr(model, "components_"):
        model = _without_names(model, [table for table in (X, X_new) if table is not None])
    X = checked_array(X, "compare_to_pca", ensure_min_samples=2, **options)
    rows = X if X_new is None else checked_array(X_new, "compare_to_pca", **options)
    if rows.shape[1] != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, and X_new has {rows.shape[1]}.")
    fitted = model if hasattr(model, "components_") else clone(model).fit(X)
    if fitted.components_.shape[1] != X.shape[1]:
        raise ValueError(f"The model was fitted to {fitted.components_.shape[1]} columns, and X has {X.shape[1]}.")
    rng = check_random_state(random_state)
    n_components = len(fitted.components_)
    principal = PCA(n_components, random_state=0).fit(X).components_
    drawn = [np.linalg.qr(rng.normal(size=principal.shape[::-1]))[0].T for _ in range(_RANDOM)]
    one = clone(model).set_params(objective="gaussian")
    contenders = [
        [_better(with_directions(model, X, fitted.components_), fitted, X)],
        [with_directions(model, X, principal)],
        [with_directions(model, X, directions) for directions in drawn],
        [with_directions(one, X, principal)],
    ]
    return PCAComparison(
        ("fitted", "PCA", "random", "PCA, one decoder"),
        np.array([np.mean([each.score(X) for each in group]) for group in contenders]),
        None if X_new is None else np.array([np.mean([each.score(rows) for each in group]) for group in contenders]),
        np.array([np.mean([_error(each, rows, rng) for each in group]) for group in contenders]),
        np.linalg.svd(fitted.components_ @ principal.T, compute_uv=False),
    )


def _without_names(model: VariationalInfoMax, tables: list[Any]) -> VariationalInfoMax:
    """A fitted model that takes plain tables, after it was asked whether these have its columns."""
    for table in tables:
        check_feature_names(model, table, reset=False)
    plain = copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    return plain


def _better(again: VariationalInfoMax, fitted: VariationalInfoMax, X: Any) -> VariationalInfoMax:
    """Of decoders for the same directions those with the larger bound; the first if the second are for other rows."""
    comparable = np.isclose(again.reg_covar_, fitted.reg_covar_, rtol=1e-6)
    return fitted if comparable and fitted.score(X) > again.score(X) else again


def _error(model: VariationalInfoMax, X: Any, rng: np.random.RandomState) -> float:
    """Mean squared error of rows decoded from noisy codes; with the number of the decoder where that is sent."""
    codes = np.asarray(model.transform(X))
    noisy = codes + np.sqrt(model.noise_variance) * rng.normal(size=codes.shape)
    z = model.predict_aux(X) if model.objective == "hybrid" else None
    rows = X.toarray() if hasattr(X, "toarray") else X
    return float(np.mean((model.inverse_transform(noisy, z) - rows) ** 2))


def _orthonormal(W: Any, n_columns: int) -> np.ndarray:
    directions = np.atleast_2d(np.asarray(W, dtype=np.float64))
    if directions.ndim != 2 or directions.shape[1] != n_columns:
        raise ValueError(f"W has shape {np.shape(W)}; it needs a row for each direction, of {n_columns} entries.")
    gap = np.abs(directions @ directions.T - np.eye(len(directions))).max()
    if not gap < 1e-4:
        raise ValueError(
            "The rows of W must have length 1 and right angles between them, so that noise is the same for all; "
            "np.linalg.qr(W.T)[0].T makes them so."
        )
    return directions
