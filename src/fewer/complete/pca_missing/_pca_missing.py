"""PCA of tables with missing entries: ``y_j = W x_j + m + noise``, fitted to what is observed.

``_alternating.py`` and ``_gradient.py`` hold the mathematics, ``_fits.py`` is the way from a table to a model. Here is
the estimator, with what a fitted model predicts for new rows, each from its own observed entries: scores, variances,
likelihoods. The variance of entry i of row j around its expected value is

    mtilde_i + w_i' Sigma_xj w_i + x_j' Sigma_wi x_j + tr(Sigma_xj Sigma_wi),

and v more for the entry itself, with its noise. The model is kept in scaled units; only ``loadings_`` and ``mean_`` are
in those of the table.
"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_steps, warn_caller
from fewer.catalogue import method
from fewer.complete._completer import Completer
from fewer.complete._observed import Observed
from fewer.complete.pca_missing._alternating import GroupedTable, Parameters, Settings, scores_given
from fewer.complete.pca_missing._fits import (
    DIAGONAL,
    METHODS,
    Fitted,
    Plan,
    family_of,
    fit_table,
    packed_covariances,
    planned,
)
from fewer.complete.pca_missing._packed import diagonals, for_inner_products, inverses, packed_of, products, unpacked


class ScorePosterior(NamedTuple):
    """Scores of rows; their packed covariances (None for point estimates) come one for each pattern of rows."""

    means: np.ndarray
    covariances: np.ndarray | None
    covariance_of: np.ndarray


class Predictive(NamedTuple):
    """A fitted model in the units of the table; see ``Fitted``, of which it keeps what rows depend on."""

    loadings: np.ndarray
    loading_covariances: np.ndarray | None
    covariance_of: np.ndarray
    mean: np.ndarray
    mean_variances: np.ndarray
    noise: float
    method: str
    n_rounds: int

    def scores(self, table: Observed) -> ScorePosterior:
        """Scores of rows, by one step with the model fixed."""
        grouped = self._grouped(table)
        if self.method == "ls-imputation":
            return ScorePosterior(self._refilled_scores(grouped), None, grouped.rows.labels)
        found = scores_given(grouped, self._parameters(), family_of(self.method))
        return ScorePosterior(found.means, found.covariances, grouped.rows.labels)

    def _refilled_scores(self, grouped: GroupedTable) -> np.ndarray:
        """Scores after imputing and projecting in turn, from column means on, as often as the fit took.

        With orthonormal components V and ``G = V_o' V_o`` over the observed columns, k rounds come to
        ``G^-1 (I - (I - G)^k) V_o' y_o``: least squares that leaves alone what is hardly determined.
        """
        lengths = np.sqrt(np.sum(self.loadings**2, axis=0))
        lengths[lengths == 0] = 1.0
        components = self.loadings / lengths
        shares, axes = np.linalg.eigh(unpacked(grouped.over_columns(grouped.columns.second_moments(components, None))))
        shares = np.clip(shares, 1e-15, 1.0)
        # 1 - (1 - s)^k, without the loss of digits for small s.
        gains = -np.expm1(self.n_rounds * np.log1p(-np.minimum(shares, 1 - 1e-15))) / shares
        projections = packed_of((axes * gains[:, None, :]) @ axes.swapaxes(1, 2))
        return products(grouped.rows.labels, projections, grouped.times(components)) / lengths

    def variances(self, table: Observed, with_noise: bool) -> np.ndarray:
        """Variance of every entry of the rows."""
        scores = self.scores(table)
        assert scores.covariances is not None
        own = packed_of(self.loadings[:, :, None] * self.loadings[:, None, :])
        covariances = self._packed_covariances()
        if covariances is not None:
            own += covariances
        variances = (for_inner_products(scores.covariances) @ own.T)[scores.covariance_of]
        if covariances is not None:
            outer = packed_of(scores.means[:, :, None] * scores.means[:, None, :])
            variances += for_inner_products(outer) @ covariances.T
        return variances + self.mean_variances + (self.noise if with_noise else 0.0)

    def log_likelihoods(self, table: Observed) -> np.ndarray:
        """Log density of what is observed of each row, under a normal law with covariance ``W W' + v I``."""
        grouped, size = self._grouped(table), self.loadings.shape[1]
        labels, noise = grouped.rows.labels, self.noise
        moments = grouped.over_columns(grouped.columns.second_moments(self.loadings, None))
        inverse = inverses(moments, np.full(size, noise))
        right = grouped.times(self.loadings)
        means = products(labels, inverse.matrices, right)
        distances = (grouped.row_squares() - np.sum(right * means, axis=1)) / noise
        counts = table.row_counts
        log_determinants = (counts - size) * np.log(noise) - inverse.log_determinants[labels]
        return -(counts * np.log(2 * np.pi) + log_determinants + distances) / 2

    def _grouped(self, table: Observed) -> GroupedTable:
        # Centred by the model's own mean, so that no digits are lost to large means.
        return GroupedTable(table, self.mean, 1.0, group_columns=False)

    def _packed_covariances(self) -> np.ndarray | None:
        return packed_covariances(self.loading_covariances, self.covariance_of, self.method)

    def _parameters(self) -> Parameters:
        size = self.loadings.shape[1]
        zeros = np.zeros(len(self.mean))
        return Parameters(
            self.loadings, self._packed_covariances(), zeros, zeros, self.noise, np.full(size, np.inf), np.inf
        )


def fitted_attributes(found: Fitted, chosen: str, table: Observed, scales: np.ndarray) -> dict[str, Any]:
    """The attributes of the fitted estimator; columns with nothing observed have zero loadings and mean."""
    columns = np.flatnonzero(table.column_counts)
    n_features = table.shape[1]
    loadings = np.zeros((n_features, found.loadings.shape[1]))
    mean, mean_variances = np.zeros(n_features), np.zeros(n_features)
    loadings[columns], mean[columns], mean_variances[columns] = found.loadings, found.mean, found.mean_variances
    which = np.zeros(n_features, dtype=np.intp)
    which[columns] = found.covariance_of
    covariances = found.loading_covariances
    if covariances is not None and chosen in DIAGONAL:
        covariances = np.zeros_like(loadings)
        covariances[columns] = found.loading_covariances
        which = np.arange(n_features)
    variances = np.sum(loadings**2, axis=0)
    lengths = np.sqrt(variances)
    known_priors = family_of(chosen).prior_of_loadings
    attributes = {
        "method_": chosen,
        "n_components_": loadings.shape[1],
        "loadings_": loadings * scales[:, None],
        "components_": (loadings / np.where(lengths > 0, lengths, 1.0)).T,
        "mean_": mean * scales,
        "scale_": scales,
        "noise_variance_": found.noise,
        "explained_variance_": variances,
        "prior_variances_": found.loading_priors if known_priors else np.full(loadings.shape[1], np.inf),
        "n_components_effective_": _n_effective(found, table.column_counts[columns]),
        "lower_bound_": found.lower_bound,
        "history_": found.history,
        "n_iter_": len(found.history),
        "_loading_covariances": covariances,
        "_covariance_of": which,
        "_mean_variances": mean_variances,
    }
    model = predictive(attributes)
    posterior = model.scores(table.divided(scales))
    attributes["scores_"] = posterior.means
    if found.scores is not None:
        attributes["scores_"][table.row_counts > 0] = found.scores
    attributes["_score_covariances"] = posterior.covariances
    attributes["_score_covariance_of"] = posterior.covariance_of
    return attributes


def predictive(attributes: dict[str, Any]) -> Predictive:
    """The model, from the attributes of the estimator."""
    return Predictive(
        loadings=attributes["loadings_"] / attributes["scale_"][:, None],
        loading_covariances=attributes["_loading_covariances"],
        covariance_of=attributes["_covariance_of"],
        mean=attributes["mean_"] / attributes["scale_"],
        mean_variances=attributes["_mean_variances"],
        noise=attributes["noise_variance_"],
        method=attributes["method_"],
        n_rounds=attributes["n_iter_"],
    )


def _n_effective(found: Fitted, column_counts: np.ndarray) -> int:
    """Components that noise alone, spread over p columns with n entries each, would not show: above v sqrt(p / n)."""
    variances = np.sum(found.loadings**2, axis=0)
    return int(np.count_nonzero(variances > found.noise * np.sqrt(len(column_counts) / column_counts.mean())))


@method(
    tasks=["unsupervised"],
    when="A table has missing values and correlated columns: impute them with standard deviations, or get its "
    "principal components without imputing anything.",
    cost="O(N k^2 + (n + p) k^3) time a round for N observed entries, O(N k) in the diagonal variants; memory O(N + (n "
    "+ p) k^2)",
    paper="pca-missing",
    aliases=["PPCA", "probabilistic PCA"],
    says="principal components (PCAMissing)",
)
class PCAMissing(Completer):
    """Principal components of a table with missing values, by variational Bayes and six simpler methods.

    A row is modelled as ``y = W x + m`` plus noise, with few scores x, and the model is fitted to the observed entries
    alone. ``transform`` imputes missing entries; ``impute`` also gives their standard deviations; ``project`` gives the
    scores.

    Parameters
    ----------
    n_components : int, default=None
        Number of components. By default 10, or one fewer than the smaller side of the table where that is less; method
        "vb" switches off those that it has no use for.
    method : {"vb", "ppca", "map", "ls", "ls-imputation", "vb-diag", "ppca-diag", "auto"}, default="vb"
        What is fitted. "vb": variational Bayes, which learns how many components matter and overfits least. "ppca":
        probabilistic PCA, as good where rows are many times the columns. "vb-diag", "ppca-diag": the same with
        independent uncertainties, quicker for large tables and many components. "map": point estimates with priors.
        "ls": least squares, which overfits as soon as much is missing. "ls-imputation": least squares by imputing
        and decomposing in turn, the safest of its kind. "auto": "ls-imputation" (or "ls", for a large table) if at most
        2% are missing, "ppca" if there are ten times as many rows as columns, otherwise "vb"; "-diag" where a round of
        these would take more than two billion steps. That is the paper's guide, which counts time too; by error alone
        "vb" does as well or better even where little is missing.
    solver : {"auto", "als", "gradient"}, default="auto"
        For "ls" and "map": closed-form updates in turn, or accelerated gradient steps, which are cheaper for large
        tables with many components.
    max_iter : int, default=2000
        Rounds at most.
    tol : float, default=1e-4
        Stop when the error over the observed entries changes by less than this within 100 rounds, in units of the
        table's standard deviation.
    n_broad_iter : int, default=50
        Rounds of "vb", "vb-diag" and "map" with broad priors at the start. Without them useful components can be
        switched off before they are found.
    broad_var : float, default=1000.0
        Variance of these broad priors, in units of the table's variance.
    rotate : bool, default=True
        Turn to the basis of PCA after each round, which speeds up convergence; at the end that is done in any case.
    variance_shape_prior : float, default=1e-3
        Keeps variances from collapsing, together with ``variance_scale_prior``: a variance is estimated as
        ``(2 b + sum of squares) / (2 a + count)``.
    variance_scale_prior : float, default=1e-3
        See ``variance_shape_prior``; in units of the table's variance.
    curvature_power : float, default=0.6
        Gradient steps are scaled by the curvature to this power: 0 is plain descent, 1 a diagonal Newton method.
    n_init : int, default=1
        Random starts; the best one by ``lower_bound_`` is kept.
    early_stopping : bool, default=False
        For gradient steps of "ls" and "map": hold out a fifth of the observed entries and stop when their error rises.
        Then ``scores_`` is what was reached by then; ``transform`` makes scores anew, as for all methods.
    with_std : bool, default=False
        Divide each column by its standard deviation first: for columns in different units. Imputed values are
        in the units of the table.
    with_mean : bool, default=True
        Fit the mean. Otherwise it is held at zero.
    missing_values : int, float, np.nan, None or pandas.NA, default=np.nan
        What stands for a missing value; None and ``pandas.NA`` mean the same as NaN. In a sparse table, entries that
        are not stored are missing, too.
    add_indicator : bool, default=False
        Whether ``transform`` appends, for each column with missing values in ``fit``, a column of 1 where the entry was
        missing and 0 elsewhere.
    keep_empty_features : bool, default=False
        Whether ``transform`` keeps columns with nothing observed in ``fit``, filled with zeros, or drops them.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, by decreasing variance along them; the largest entry of each is positive. If
        ``with_std``, they are directions of the scaled columns.
    loadings_ : ndarray of shape (n_features, n_components)
        The matrix W: directions times the standard deviation along them, in the units of the table.
    mean_ : ndarray of shape (n_features,)
        The mean m of each column; where missing entries depend on other columns it differs from the mean of what is
        observed.
    noise_variance_ : float
        Variance of the noise around the model; if ``with_std``, in units of each column's variance.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each component, without the noise; if ``with_std``, of the scaled columns.
    prior_variances_ : ndarray of shape (n_components,)
        Prior variance of the (scaled) loadings of each component, as learnt; infinite for methods without such a prior.
    scores_ : ndarray of shape (n_samples, n_components)
        Scores of the training rows; zero for rows with nothing observed.
    scores_cov_ : ndarray of shape (n_samples, n_components, n_components) or None
        Covariance of the scores of each training row; in the "-diag" methods variances of shape (n_samples,
        n_components); None for methods with point estimates.
    loadings_cov_ : ndarray of shape (n_features, n_components, n_components) or None
        Covariance of each row of ``loadings_``; in "vb-diag" variances of shape (n_features, n_components); None for
        methods with point estimates.
    lower_bound_ : float
        Lower bound of the log likelihood for "vb", "ppca" and their diagonal variants, the log posterior for "map",
        minus the sum of squares for "ls" and "ls-imputation". It compares starts of one method, not methods.
    history_ : ndarray of shape (n_iter,)
        Minus that, after each round.
    n_iter_ : int
        Rounds run.
    method_ : str
        The method used.
    n_components_ : int
        Number of components fitted.
    n_components_effective_ : int
        Those above the noise: their variance is above ``noise_variance_ * sqrt(p / n)``, for p columns with n
        observed entries each; noise alone shows directions up to there.
    scale_ : ndarray of shape (n_features,)
        What each column was divided by; ones without ``with_std``.
    n_observed_ : ndarray of shape (n_features,)
        Observed entries of each column.
    indicator_ : MissingIndicator or None
        The columns that ``add_indicator`` appends an indicator of; None without it.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    completion_score : How well missing entries are imputed, by entries that are held out.
    sklearn.impute.IterativeImputer : One regression for each column, in turn.

    Notes
    -----
    Missing entries may depend on what is observed of their row, but not on the missing value: if a value is missing
    because it is large, no method here corrects for that. Standard deviations of imputed values are somewhat too
    small. Unlike those of complete tables, components are not nested: one more changes the others too.

    As in every PCA, the column with the largest numbers weighs most: set ``with_std=True`` for columns in different
    units.

    References
    ----------
    .. [1] Ilin, A. and Raiko, T. (2010). Practical approaches to principal component analysis in the presence of
       missing values. Journal of Machine Learning Research 11, 1957-2000.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.complete import PCAMissing
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(200, 8))
    >>> missing = rng.random(X.shape) < 0.3
    >>> model = PCAMissing(n_components=4, random_state=0).fit(np.where(missing, np.nan, X))
    >>> model.n_components_effective_
    2
    >>> filled = model.transform(np.where(missing, np.nan, X))
    >>> float(np.sqrt(np.mean((filled - X)[missing] ** 2)).round(2))
    0.19
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({*METHODS, "auto"})],
        "solver": [StrOptions({"auto", "als", "gradient"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_broad_iter": [Interval(Integral, 0, None, closed="left")],
        "broad_var": [Interval(Real, 0, None, closed="neither")],
        "rotate": ["boolean"],
        "variance_shape_prior": [Interval(Real, 0, None, closed="left")],
        "variance_scale_prior": [Interval(Real, 0, None, closed="left")],
        "curvature_power": [Interval(Real, 0, 1, closed="both")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "with_std": ["boolean"],
        "with_mean": ["boolean"],
        **Completer._parameter_constraints,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        method="vb",
        solver="auto",
        max_iter=2000,
        tol=1e-4,
        n_broad_iter=50,
        broad_var=1000.0,
        rotate=True,
        variance_shape_prior=1e-3,
        variance_scale_prior=1e-3,
        curvature_power=0.6,
        n_init=1,
        early_stopping=False,
        with_std=False,
        with_mean=True,
        missing_values=np.nan,
        add_indicator=False,
        keep_empty_features=False,
        random_state=None,
    ):
        super().__init__(
            missing_values=missing_values, add_indicator=add_indicator, keep_empty_features=keep_empty_features
        )
        self.n_components = n_components
        self.method = method
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_broad_iter = n_broad_iter
        self.broad_var = broad_var
        self.rotate = rotate
        self.variance_shape_prior = variance_shape_prior
        self.variance_scale_prior = variance_scale_prior
        self.curvature_power = curvature_power
        self.n_init = n_init
        self.early_stopping = early_stopping
        self.with_std = with_std
        self.with_mean = with_mean
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        table = self._training_table(X)
        columns = np.flatnonzero(table.column_counts)
        deviations = table.column_deviations
        scales = np.where(deviations > 0, deviations, 1.0) if self.with_std else np.ones(table.shape[1])
        known = table.rows(np.flatnonzero(table.row_counts)).columns(columns).divided(scales[columns])
        plan = planned(
            known,
            Settings(
                self.with_mean,
                self.rotate,
                self.n_broad_iter,
                self.broad_var,
                self.variance_shape_prior,
                self.variance_scale_prior,
            ),
            rank=self.n_components,
            method=self.method,
            solver=self.solver,
            alpha=self.curvature_power,
            max_iter=self.max_iter,
            tol=self.tol,
            early_stopping=self.early_stopping,
        )
        rng = check_random_state(self.random_state)
        with fit_steps(self, X, n_steps=self.max_iter * self.n_init) as after_step:
            best: Fitted | None = None
            for _ in range(self.n_init):
                found = fit_table(
                    known,
                    plan,
                    rng,
                    lambda make: after_step("round", lambda: fitted_attributes(make(), plan.method, table, scales)),
                )
                if best is None or found.lower_bound > best.lower_bound:
                    best = found
                if found.stopped:
                    break
            assert best is not None
            for name, value in fitted_attributes(best, plan.method, table, scales).items():
                setattr(self, name, value)
            self._warn(best, known, plan)

    def _warn(self, found: Fitted, known: Observed, plan: Plan) -> None:
        if not found.converged and not found.stopped:
            recent = found.history[-2:]
            warn_caller(
                f"The fit had not settled after {len(found.history)} rounds: the last one changed the cost by "
                f"{abs(recent[-1] - recent[0]):.3g}, from {recent[0]:.6g}. Raise max_iter, or tol.",
                ConvergenceWarning,
            )
        scant = int(np.count_nonzero(known.row_counts < plan.rank))
        if scant and not plan.family.prior_of_scores:
            warn_caller(
                f"{scant} rows have fewer observed entries than there are components ({plan.rank}), and least squares "
                "leaves their scores undetermined: filled-in values can be far off. Use method='vb', or fewer "
                "n_components."
            )

    def _model(self) -> Predictive:
        check_is_fitted(self)
        return predictive(dict(vars(self)))

    def _scores_of(self, table: Observed) -> np.ndarray:
        return self._model().scores(table.divided(self.scale_)).means

    def impute(self, X, return_std=False, with_noise=True):
        """Impute missing entries of rows, as ``transform`` does, with standard deviations on request.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing values (NaN); in a sparse one, what is not stored is missing.
        return_std : bool, default=False
            Whether to return standard deviations too. Methods "ls", "ls-imputation" and "map" have none.
        with_noise : bool, default=True
            Whether these are of the entry that is missing, noise and all, or of the value that it scatters around.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_features_out)
            The table without missing values.
        std : ndarray of shape (n_samples, n_features_out)
            With ``return_std``: standard deviation of each filled-in value, zero where the table is observed.
        """
        filled = super().impute(X)
        if not return_std:
            return filled
        if not family_of(self.method_).uncertain_scores:
            raise ValueError(
                f"method={self.method_!r} gives no uncertainty; fit with method='vb' or 'ppca', or their '-diag' forms."
            )
        table, model = self._new_table(X), self._model()
        std = np.zeros(table.shape)
        for rows in self._incomplete_rows(table):
            part = table.rows(rows)
            variances = model.variances(part.without(self.n_observed_ == 0).divided(self.scale_), with_noise)
            std[rows] = np.where(np.isnan(part.with_nan()), np.sqrt(variances) * self.scale_, 0.0)
        return filled, std[:, self._columns_out()]

    def score(self, X, y=None):
        """Mean log likelihood of the rows, each by what is observed of it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Table with missing values (NaN); in a sparse one, what is not stored is missing.
        y : Ignored
            Not used.

        Returns
        -------
        score : float
            Larger is better. Tables with different missing entries cannot be compared by it.
        """
        table = self._new_table(X).without(self.n_observed_ == 0)
        scaled = self._model().log_likelihoods(table.divided(self.scale_)).sum()
        return float(scaled - table.column_counts @ np.log(self.scale_)) / table.shape[0]

    def get_covariance(self):
        """Covariance of the columns under the model.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            ``W W' + noise_variance_ I``, the noise times each column's variance with ``with_std``.
        """
        check_is_fitted(self)
        return self.loadings_ @ self.loadings_.T + self.noise_variance_ * np.diag(self.scale_**2)

    @property
    def scores_cov_(self):
        """Covariance of the scores of each training row."""
        if self._score_covariances is None:
            return None
        covariances = self._score_covariances[self._score_covariance_of]
        return diagonals(covariances) if self.method_ in DIAGONAL else unpacked(covariances)

    @property
    def loadings_cov_(self):
        """Covariance of each row of the loadings."""
        if self._loading_covariances is None:
            return None
        covariances = self._loading_covariances[self._covariance_of] * self.scale_[:, None] ** 2
        return covariances if self.method_ in DIAGONAL else unpacked(covariances)
