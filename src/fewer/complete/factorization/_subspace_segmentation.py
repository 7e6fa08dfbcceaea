"""Columns of a table in one of several subspaces: EM with one block of the latent space for each group of columns.

Latent vectors stack K blocks of r dimensions; column p has entries in the block of its own group only. The M-step
solves for the column's vector in every block k and keeps the one with the least expected energy [1]_,

    E_p(k) = sum over t of D_tp <(y_tp - x_k(t)' s_p^k)^2>.

Not convex: noise is taken to be large at first and lowered step by step, and several starts are compared by their
energy.

.. [1] Gruber, A. and Weiss, Y. (2006). Incorporating constraints and prior knowledge into factorization algorithms: an
   application to 3D recovery. Subspace, Latent Structure and Feature Selection, LNCS 3940, 151-162.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fewer._estimators import Interval, StrOptions, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._completer import Completer
from fewer.complete.factorization._em import (
    Latent,
    Model,
    Motion,
    expected,
    filled_plainly,
    frames,
    normal_equations,
    second_moments,
    solved_columns,
    starting_columns,
)
from fewer.complete.factorization._weighted_factorization import PROCESS_SHARES, FactorizationBase, entry_weights

_COOLING = 0.8
_FIRST_NOISE = 0.3
"""Of the mean square of the table."""


class Segmentation(NamedTuple):
    """Block and vector of every column, with the energy in its block."""

    labels: np.ndarray
    columns: np.ndarray
    latent: Latent
    energies: np.ndarray
    noise_var: float
    n_iter: int
    converged: bool
    stopped: bool


def columns_of_groups(X: np.ndarray, labels: np.ndarray, n_groups: int, rank: int, model: Model) -> np.ndarray:
    """Vectors to start from: leading directions of each group's columns alone, in the block of that group."""
    columns = np.zeros((X.shape[1], n_groups * rank))
    for group in range(n_groups):
        members = np.flatnonzero(labels == group)
        if len(members):
            block = slice(group * rank, (group + 1) * rank)
            columns[members, block] = starting_columns(X[:, members], rank, model.latent_var, model.affine)
    return columns


def segmented(
    values: np.ndarray,
    weights: np.ndarray,
    columns: np.ndarray,
    labels: np.ndarray,
    n_groups: int,
    model: Model,
    *,
    tol: float,
    max_iter: int,
    on_step: Callable[[np.ndarray], bool] = lambda labels: False,
) -> Segmentation:
    """EM until the energy falls by no more than ``tol`` of itself and no column changes its block."""
    n_seen = max(int((np.einsum("fpcc->fpc", weights) > 0).sum()), 1)
    own = np.einsum("fpc,fpcd,fpd->p", values, weights, values, optimize=True)
    mean_square = max(float(own.sum()) / n_seen, np.finfo(float).tiny)
    noise_var = held_noise = _FIRST_NOISE * mean_square if model.noise_var is None else model.noise_var
    latent = expected(values, weights, columns, noise_var, model)
    energies, stopped, converged = np.full(len(columns), np.inf), False, False
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        C, B = normal_equations(values, weights, latent, second_moments(latent, values.shape[2]))
        found, costs = _in_blocks(C, B, own, n_groups, model, noise_var)
        before, last = labels, energies
        labels = costs.argmin(axis=1)
        energies = costs[np.arange(len(labels)), labels]
        columns = _placed(found, labels, n_groups)
        if model.noise_var is None:
            held_noise *= _COOLING
            noise_var = max(float(energies.sum()) / n_seen, held_noise, 1e-12 * mean_square)
        latent = expected(values, weights, columns, noise_var, model)
        stopped = on_step(labels)
        cold = model.noise_var is not None or held_noise < 0.5 * noise_var
        settled = abs(last.sum() - energies.sum()) <= tol * max(energies.sum(), np.finfo(float).tiny)
        converged = bool(cold and settled and (labels == before).all())
        if stopped or converged:
            break
    return Segmentation(labels, columns, latent, energies, noise_var, n_iter, converged, stopped)


def _in_blocks(
    C: np.ndarray, B: np.ndarray, own: np.ndarray, n_groups: int, model: Model, noise_var: float
) -> tuple[np.ndarray, np.ndarray]:
    """Each column's best vector in every block, of shape (n_groups, n_columns, r), and its energy there."""
    rank = B.shape[1] // n_groups
    found, costs = [], []
    for group in range(n_groups):
        block = slice(group * rank, (group + 1) * rank)
        system, right = C[:, block, block], B[:, block]
        vectors = solved_columns(system / noise_var, right / noise_var, model)
        fitted = np.einsum("pr,pr->p", right, vectors)
        costs.append(own - 2 * fitted + np.einsum("pr,prq,pq->p", vectors, system, vectors))
        found.append(vectors)
    return np.array(found), np.column_stack(costs)


def _placed(found: np.ndarray, labels: np.ndarray, n_groups: int) -> np.ndarray:
    """The chosen vectors in their blocks, zero elsewhere."""
    n_groups, n_columns, rank = found.shape
    columns = np.zeros((n_columns, n_groups, rank))
    at = np.arange(n_columns)
    columns[at, labels] = found[labels, at]
    return columns.reshape(n_columns, n_groups * rank)


@method(
    tasks=["unsupervised"],
    when="Columns are points (or sensors) on a few objects that move independently; missing entries allowed.",
    cost="O(n p q^2 + n q^3) time for a step, with q the dimensions of all things together; O(n p) memory",
    paper="sfm-factorization",
    examples=lambda: [SubspaceSegmentation(subspace_dim=2, max_iter=10, n_init=2)],
    depends_on_scale="latent_var is the variance of the offsets of rows, in the squared unit of the table",
    depends_on_shift="it fits the table as it is, with a prior that has mean zero",
)
class SubspaceSegmentation(FactorizationBase):
    """Tell which columns belong together: each lies in one of several subspaces.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of things, K.
    subspace_dim : int, default=4
        Dimensions of each one's subspace; in an affine model the last is the offset of the row.
    affine : bool, default=True
        The last component of every column is 1, so that each thing has an offset of its own in every row.
    n_coordinates : int, default=1
        Rows that share a time: the table holds all frames of the first coordinate, then all of the second. Only
        ``temporal`` needs to know.
    temporal : {"second_order"}, default=None
        Frames follow each other in time, with position, velocity and acceleration that change little by little.
    latent_var : float, default=10.0
        Prior variance of rows' coordinates.
    noise_var : float, default=None
        Variance of the noise. By default it is lowered from a large one, until it is what the fit leaves.
    max_iter : int, default=200
        Steps of EM at most, for each start.
    tol : float, default=1e-4
        Stop when a step lowers the energy by no more than this share of it.
    n_init : int, default=10
        Starts: two from k-means of the columns (as they are, and as changes from row to row), others from random
        groups. The one with the least energy is kept.
    missing_values : int, float, np.nan, None or pandas.NA, default=np.nan
        What stands for a missing value; None and ``pandas.NA`` mean the same as NaN. In a sparse table, entries that
        are not stored are missing, too.
    add_indicator : bool, default=False
        Whether ``transform`` appends, for each column with missing values in ``fit``, a column of 1 where the entry was
        missing and 0 elsewhere.
    keep_empty_features : bool, default=False
        Keep columns of which nothing is observed, filled with 0, in what ``transform`` gives.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_features,)
        Which thing each column belongs to.
    components_ : ndarray of shape (n_clusters * subspace_dim, n_features)
        What each column is made of: entries in the block of its own thing only.
    energy_ : float
        Expected squared error of the observed entries.
    energies_ : ndarray of shape (n_init,)
        That of every start: if they differ widely, more starts may be worth it.
    noise_var_ : float
        Variance of the noise.
    scores_ : ndarray of shape (n_samples, n_clusters * subspace_dim)
        Expected coordinates of the rows, block by block.
    loadings_ : ndarray of shape (n_features, n_clusters * subspace_dim)
        ``components_`` transposed; the model is ``scores_ @ loadings_.T``.
    mean_ : ndarray of shape (n_features,)
        Zero.
    n_iter_ : int
        Steps of the start that was kept.
    n_observed_ : ndarray of int of shape (n_features,)
        Observed entries of each column.
    indicator_ : MissingIndicator or None
        The columns that ``add_indicator`` appends an indicator of; None without it.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    WeightedFactorization : One subspace for all columns.

    Notes
    -----
    Neither the rank of the table nor independence of the motions is needed. Things whose motions hardly differ are hard
    to tell apart from any start. ``transform`` fills each row from the fitted components alone, as a row of its own.

    References
    ----------
    .. [1] Gruber, A. and Weiss, Y. (2006). Incorporating constraints and prior knowledge into factorization algorithms:
       an application to 3D recovery. Subspace, Latent Structure and Feature Selection, LNCS 3940, 151-162.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import SubspaceSegmentation
    >>> rng = np.random.default_rng(0)
    >>> parts = [rng.normal(size=(30, 2)) @ rng.normal(size=(2, 15)) for _ in range(2)]
    >>> table = np.hstack(parts) + 0.05 * rng.normal(size=(30, 30))
    >>> model = SubspaceSegmentation(subspace_dim=2, affine=False, n_init=5, random_state=0).fit(table)
    >>> [len(set(model.labels_[part].tolist())) for part in (slice(15), slice(15, 30))]
    [1, 1]
    """

    _parameter_constraints = {
        **Completer._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "subspace_dim": [Interval(Integral, 1, None, closed="left")],
        "affine": ["boolean"],
        "n_coordinates": [Interval(Integral, 1, None, closed="left")],
        "temporal": [StrOptions({"second_order"}), None],
        "latent_var": [Interval(Real, 0, None, closed="neither")],
        "noise_var": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=2,
        subspace_dim=4,
        affine=True,
        n_coordinates=1,
        temporal=None,
        latent_var=10.0,
        noise_var=None,
        max_iter=200,
        tol=1e-4,
        n_init=10,
        missing_values=np.nan,
        add_indicator=False,
        keep_empty_features=False,
        random_state=None,
    ):
        super().__init__(
            missing_values=missing_values, add_indicator=add_indicator, keep_empty_features=keep_empty_features
        )
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.affine = affine
        self.n_coordinates = n_coordinates
        self.temporal = temporal
        self.latent_var = latent_var
        self.noise_var = noise_var
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        table = self._training_array(X)
        if table.shape[0] % self.n_coordinates:
            raise ValueError(f"{table.shape[0]} rows cannot hold {self.n_coordinates} coordinates of each frame.")
        motion = None
        if self.temporal is not None:
            size = float(np.nanvar(table)) or 1.0
            motion = Motion(*(share * size for share in PROCESS_SHARES))
        model = Model(self.latent_var, motion, self.affine, noise_var=self.noise_var)
        blocks = entry_weights(table, None, self.n_coordinates)
        values = frames(table, self.n_coordinates)
        rng = check_random_state(self.random_state)
        with fit_steps(self, X) as after_step:
            tried: list[Segmentation] = []
            for start in range(self.n_init):
                labels = self._starting_labels(table, start, rng)
                tried.append(
                    segmented(
                        values,
                        blocks,
                        columns_of_groups(table, labels, self.n_clusters, self.subspace_dim, model),
                        labels,
                        self.n_clusters,
                        model,
                        tol=self.tol,
                        max_iter=self.max_iter,
                        on_step=lambda labels: after_step("step"),
                    )
                )
                if tried[-1].stopped:
                    break
            self._keep(tried, table.shape[0])

    def _starting_labels(self, table: np.ndarray, start: int, rng: np.random.RandomState) -> np.ndarray:
        n_columns = table.shape[1]
        if start > 1 or n_columns < self.n_clusters:
            return rng.randint(self.n_clusters, size=n_columns)
        tracks = filled_plainly(table).T
        if start == 1 and len(table) > 1:
            tracks = np.diff(tracks, axis=1)
        distinct = len(np.unique(tracks, axis=0))
        return KMeans(min(self.n_clusters, distinct), n_init=5, random_state=rng.randint(2**31 - 1)).fit(tracks).labels_

    def _keep(self, tried: list[Segmentation], n_rows: int) -> None:
        self.energies_ = np.array([one.energies.sum() for one in tried])
        best = tried[int(self.energies_.argmin())]
        c, (n_frames, k) = self.n_coordinates, best.latent.means.shape
        means = best.latent.means.reshape(n_frames, c, k // c).transpose(1, 0, 2).reshape(n_rows, k // c)
        self.labels_ = best.labels
        self.energy_ = float(best.energies.sum())
        self.scores_ = means.astype(self._dtype)
        self.loadings_ = best.columns.astype(self._dtype)
        self.loadings_[self.n_observed_ == 0] = 0
        self.components_ = self.loadings_.T
        self.mean_ = np.zeros(len(self.loadings_), dtype=self._dtype)
        self.noise_var_ = float(best.noise_var)
        self.n_iter_ = best.n_iter
        if not (best.converged or best.stopped):
            warn_caller(
                f"Columns or their energy still changed after {best.n_iter} steps; tol={self.tol:g} was asked for. "
                "Raise max_iter, or tol if that is near enough.",
                ConvergenceWarning,
            )
