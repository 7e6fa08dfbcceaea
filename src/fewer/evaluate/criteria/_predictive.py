"""The loss of a Bayesian model on new rows, from the log-likelihoods of its rows under posterior draws.

With E the mean over draws w, p_i = p(x_i | w) and inverse temperature beta (1 for a posterior),

    training loss   B = -(1/n) sum_i log E[p_i]
    WAIC            B + (beta/n) sum_i Var(log p_i)
    leave-one-out   (1/n) sum_i (log E[p_i^-beta] - log E[p_i^(1 - beta)])
    DIC             B + (2/n) sum_i (log p(x_i | E w) - E[log p_i]),    or   B + (2/n) Var(sum_i log p_i)

WAIC and leave-one-out also hold for singular models (mixtures, factors, networks), whose posterior is no normal
distribution; DIC does not. Both come from ``F(alpha) = (1/n) sum_i log E[p_i^alpha]``, with derivatives Y_k at 0:
leave-one-out is F(-beta) - F(1 - beta), WAIC is -F(1) + beta F''(0), and they differ by about Y_4 / 12 at beta = 1.

Watanabe, S. (2010). Asymptotic equivalence of Bayes cross validation and widely applicable information criterion in
singular learning theory. JMLR 11, 3571-3594.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import logsumexp

from fewer._figures import GREY, Result, new_figure
from fewer._kernels._arrays import in_threads, read_only
from fewer._wording import counted, listed
from fewer.catalogue import method as card
from fewer.evaluate.criteria._draw_kernels import row_moments, smoothed_log_means
from fewer.evaluate.criteria._log_lik import Draws, as_draws, relative_efficiency
from fewer.evaluate.protocol._tasks import values_of, workers

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fewer.engine import Engine

LARGE_VARIANCE = 0.4
"""Posterior variance of a row's log-likelihood beyond which WAIC is not reliable."""


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveLoss(Result):
    """An estimate of the loss on new rows, in nats for each row; lower is better.

    Attributes
    ----------
    pointwise : ndarray of shape (n_samples,)
        Its part for each row.
    """

    pointwise: np.ndarray

    _data: ClassVar[tuple[str, ...]] = ("loss", "se", "elpd", "deviance")

    @property
    def loss(self) -> float:
        """Mean over the rows."""
        return float(self.pointwise.mean())

    @property
    def se(self) -> float:
        """Standard error of the loss over rows."""
        n_rows = len(self.pointwise)
        return float(self.pointwise.std() / np.sqrt(n_rows))

    @property
    def elpd(self) -> float:
        """Expected log predictive density of all rows, as ArviZ and R's loo report it: -n times the loss."""
        return -len(self.pointwise) * self.loss

    @property
    def deviance(self) -> float:
        """2 n times the loss, the scale of AIC."""
        return 2 * len(self.pointwise) * self.loss

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}: loss {self.loss:.4f} (standard error {self.se:.4f}) for each of "
            f"{counted(len(self.pointwise), 'row')}\n  elpd {self.elpd:.2f}, deviance {self.deviance:.2f}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Waic(PredictiveLoss):
    """The widely applicable information criterion; made by :func:`waic`.

    Attributes
    ----------
    pointwise : ndarray of shape (n_samples,)
        WAIC of each row.
    bayes_train_loss : float
        Loss of the predictive distribution on the rows that it was fitted to.
    gibbs_train_loss : float
        Mean loss of single draws on these rows.
    variances : ndarray of shape (n_samples,)
        Posterior variance of the log-likelihood of each row.
    beta : float
        Inverse temperature of the posterior.
    """

    bayes_train_loss: float
    gibbs_train_loss: float
    variances: np.ndarray
    beta: float

    _data = ("loss", "se", "elpd", "deviance", "p_waic", "bayes_train_loss", "gibbs_train_loss", "warnings")

    @property
    def waic(self) -> float:
        """The loss."""
        return self.loss

    @property
    def functional_variance(self) -> float:
        """V, the sum of the variances."""
        return float(self.variances.sum())

    @property
    def p_waic(self) -> float:
        """Effective number of parameters: beta V."""
        return self.beta * self.functional_variance

    @property
    def unreliable_rows(self) -> np.ndarray:
        """Rows whose log-likelihood has a posterior variance above 0.4."""
        return np.flatnonzero(self.variances > LARGE_VARIANCE)

    @property
    def warnings(self) -> list[str]:
        """Why not to trust it, in sentences."""
        rows = self.unreliable_rows
        if not len(rows):
            return []
        return [
            f"The posterior variance of the log-likelihood is above {LARGE_VARIANCE} in "
            f"{counted(len(rows), 'row')} ({listed([str(row) for row in rows])}): WAIC is not reliable; look at "
            "bayes_loo."
        ]

    @property
    def reading(self) -> str:
        """The criterion as a sentence, and its warnings."""
        return " ".join([f"About {self.p_waic:.1f} effective parameters.", *self.warnings])


@dataclass(frozen=True, eq=False, repr=False)
class BayesLoo(PredictiveLoss):
    """Leave-one-out by importance sampling; made by :func:`bayes_loo`.

    Attributes
    ----------
    pointwise : ndarray of shape (n_samples,)
        Loss of each row under the posterior of the others.
    pareto_k : ndarray of shape (n_samples,) or None
        Shape of the tail of each row's weights: infinite where it cannot be estimated, minus infinity where all
        weights are equal. None for raw weights.
    bayes_train_loss : float
        Loss of the predictive distribution on the rows that it was fitted to.
    n_draws : int
        Number of posterior draws.
    """

    pareto_k: np.ndarray | None
    bayes_train_loss: float
    n_draws: int

    _data = ("loss", "se", "elpd", "deviance", "p_loo", "pareto_k", "warnings")

    @property
    def p_loo(self) -> float:
        """Effective number of parameters: n times the loss less the training loss."""
        return len(self.pointwise) * (self.loss - self.bayes_train_loss)

    @property
    def good_k(self) -> float:
        """Largest shape for which the number of draws is sufficient: min(1 - 1 / log10(S), 0.7)."""
        return min(1 - 1 / np.log10(max(self.n_draws, 11)), 0.7)

    @property
    def unreliable_rows(self) -> np.ndarray:
        """Rows whose shape is above ``good_k``."""
        return np.flatnonzero(self.pareto_k > self.good_k) if self.pareto_k is not None else np.zeros(0, dtype=int)

    @property
    def warnings(self) -> list[str]:
        """Why not to trust it, in sentences."""
        rows = self.unreliable_rows
        if not len(rows):
            return []
        return [
            f"The Pareto shape k is above {self.good_k:.2f} in {counted(len(rows), 'row')} "
            f"({listed([str(row) for row in rows])}): importance sampling is not reliable there; use exact_loo, or a "
            "model with heavier tails."
        ]

    @property
    def reading(self) -> str:
        """The criterion as a sentence, and its warnings."""
        return " ".join([f"About {self.p_loo:.1f} effective parameters.", *self.warnings])

    def plot(self) -> "go.Figure":
        """Pareto shape of each row, and where it is too large.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        if self.pareto_k is None:
            raise ValueError('method="is" has no Pareto shapes; use method="psis".')
        figure = new_figure(title="How far each row can be left out", x="row", y="Pareto k")
        figure.add_scatter(y=self.pareto_k, mode="markers", name="k")
        figure.add_hline(y=self.good_k, line={"color": GREY, "dash": "dot"})
        return figure


@card(
    tasks=["evaluation"],
    when="You fitted a Bayesian model, also one with latent variables, and want the loss on new rows from its "
    "posterior draws alone. AIC, BIC and DIC do not hold for mixtures, factor models and networks.",
    cost="O(draws x n) time, memory of one block of rows beside the draws",
    paper="waic",
)
def waic(log_lik: Any, *, beta: float = 1.0, log_weights: Any = None, var_name: str | None = None) -> Waic:
    """The widely applicable information criterion: loss on new rows from posterior draws.

    Parameters
    ----------
    log_lik : array-like of shape (n_draws, n_samples) or (n_chains, n_draws, n_samples)
        Log-likelihood of each row under each posterior draw; or ArviZ's InferenceData or xarray's DataTree with a group
        ``log_likelihood``.
    beta : float, default=1.0
        Inverse temperature at which the posterior was drawn.
    log_weights : array-like of shape (n_draws,), default=None
        Log weights of the draws, for weighted samples and quadrature; equal by default.
    var_name : str or None, default=None
        Which log-likelihood, where an object has several.

    Returns
    -------
    waic : Waic
        Loss with its standard error, effective number of parameters, and rows for which it is not reliable.

    See Also
    --------
    bayes_loo : The same by leave-one-out.
    functional_cumulants : How far the two differ, and why.

    Notes
    -----
    Models with posterior draws give such log-likelihoods by their method ``log_lik``. Models fitted by maximum
    likelihood have no draws, and no such method: compare these by AIC, BIC or held-out rows.

    References
    ----------
    .. [1] Watanabe, S. (2010). Asymptotic equivalence of Bayes cross validation and widely applicable information
       criterion in singular learning theory. Journal of Machine Learning Research 11, 3571-3594.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from fewer.evaluate import waic
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=50)
    >>> means = rng.normal(x.mean(), 1 / np.sqrt(50), size=4000)
    >>> found = waic(norm.logpdf(x, loc=means[:, None]))
    >>> round(found.loss, 2), round(found.p_waic, 1)
    (1.35, 0.8)
    """
    _check_beta(beta)
    draws = as_draws(log_lik, log_weights, var_name)
    moments = row_moments(draws)
    variances = moments.central[:, 0]
    return Waic(
        pointwise=beta * variances - moments.log_mean,
        bayes_train_loss=float(-moments.log_mean.mean()),
        gibbs_train_loss=float(-moments.mean_log.mean()),
        variances=variances,
        beta=float(beta),
    )


@card(
    tasks=["evaluation"],
    when="You want the leave-one-out loss of a Bayesian model from one set of posterior draws, with a warning for each "
    "row where that cannot be trusted.",
    cost="O(draws x n) time, memory of one block of rows beside the draws",
    paper="waic",
)
def bayes_loo(
    log_lik: Any,
    *,
    beta: float = 1.0,
    method: Literal["psis", "is"] = "psis",
    r_eff: Any = None,
    log_weights: Any = None,
    var_name: str | None = None,
) -> BayesLoo:
    """Leave-one-out loss from posterior draws, by (Pareto smoothed) importance sampling.

    Parameters
    ----------
    log_lik : array-like of shape (n_draws, n_samples) or (n_chains, n_draws, n_samples)
        Log-likelihood of each row under each posterior draw; or ArviZ's InferenceData or xarray's DataTree with a group
        ``log_likelihood``.
    beta : float, default=1.0
        Inverse temperature at which the posterior was drawn.
    method : {"psis", "is"}, default="psis"
        Smooth the largest weights by a Pareto tail, or take the raw weights, as in the paper.
    r_eff : float, array-like of shape (n_samples,) or None, default=None
        Effective sample size over the number of draws. None for 1 if there is a single chain, or draws without chains,
        and else estimated for each row from its likelihood in the chains, as R's loo does.
    log_weights : array-like of shape (n_draws,), default=None
        Log weights of the draws; equal by default.
    var_name : str or None, default=None
        Which log-likelihood, where an object has several.

    Returns
    -------
    loo : BayesLoo
        Loss with its standard error, effective number of parameters, and the Pareto shapes of the rows.

    See Also
    --------
    exact_loo : Fits the model again without each row.

    References
    ----------
    .. [1] Watanabe, S. (2010). Asymptotic equivalence of Bayes cross validation and widely applicable information
       criterion in singular learning theory. Journal of Machine Learning Research 11, 3571-3594.
    .. [2] Vehtari, A., Simpson, D., Gelman, A., Yao, Y. & Gabry, J. (2024). Pareto smoothed importance sampling.
       Journal of Machine Learning Research 25 (72), 1-58.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from fewer.evaluate import bayes_loo
    >>> rng = np.random.default_rng(0)
    >>> x = np.append(rng.normal(size=50), 9.0)
    >>> means = rng.normal(x.mean(), 1 / np.sqrt(51), size=4000)
    >>> found = bayes_loo(norm.logpdf(x, loc=means[:, None]))
    >>> int(found.pareto_k.argmax()), round(found.loss, 2)
    (50, 2.12)
    """
    _check_beta(beta)
    if method not in ("psis", "is"):
        raise ValueError(f"method={method!r} is neither 'psis' nor 'is'.")
    draws = as_draws(log_lik, log_weights, var_name)
    losses, shapes, train = np.empty(draws.n_rows), np.empty(draws.n_rows), np.empty(draws.n_rows)
    weights = np.zeros(0) if draws.log_weights is None else draws.log_weights
    efficiency = _efficiency(draws, r_eff, smooth=method == "psis")
    for rows, block in draws.blocks():
        entries = np.arange(len(block) + 1) * draws.n_draws
        arguments = (float(beta), read_only(weights), read_only(efficiency[rows]), method == "psis")
        results = (losses[rows], shapes[rows], train[rows])
        in_threads(smoothed_log_means, entries, read_only(block), *arguments, *results, cost=8)
    return BayesLoo(losses, shapes if method == "psis" else None, float(-train.mean()), draws.n_draws)


def _log_means(block: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    return logsumexp(block + log_weights, axis=1) - logsumexp(log_weights)


def _efficiency(draws: Draws, r_eff: Any, *, smooth: bool) -> np.ndarray:
    n_chains, n_draws, n_rows = draws.values.shape
    if r_eff is None and n_chains > 1 and smooth:
        found = np.empty(n_rows)
        for rows, block in draws.blocks():
            chains = block.T.reshape(n_chains, n_draws, -1)
            found[rows] = relative_efficiency(np.exp(chains - chains.max(axis=(0, 1))))
        return found
    if np.ndim(r_eff) and np.shape(r_eff) != (n_rows,):
        raise ValueError(
            f"r_eff must be a number or have an entry for each of {n_rows} rows, and has {np.shape(r_eff)}."
        )
    given = np.ones(n_rows) if r_eff is None else np.broadcast_to(np.asarray(r_eff, dtype=float), n_rows)
    if not (given > 0).all():
        raise ValueError("r_eff must be above 0.")
    return np.ascontiguousarray(given)


@dataclass(frozen=True, eq=False)
class _LeftOut:
    log_lik_of: Callable[[np.ndarray, np.ndarray], Any]
    n_samples: int


def _left_out_loss(row: int, shared: _LeftOut) -> float:
    others = np.delete(np.arange(shared.n_samples), row)
    values = as_draws(np.reshape(shared.log_lik_of(others, np.array([row])), (-1, 1)), fewest=1).values.ravel()
    return float(np.log(len(values)) - logsumexp(values))


def exact_loo(
    log_lik_of: Callable[[np.ndarray, np.ndarray], Any],
    n_samples: int,
    *,
    rows: Sequence[int] | None = None,
    n_jobs: int | None = None,
    engine: "Engine | None" = None,
) -> PredictiveLoss:
    """Leave-one-out loss with a posterior of its own for each row.

    Parameters
    ----------
    log_lik_of : callable
        ``log_lik_of(train, test)`` fits the model to the rows ``train`` (numbers) and gives the log-likelihoods of the
        rows ``test`` under its posterior draws, of shape (n_draws, len(test)). Workers need one that can be pickled.
    n_samples : int
        Number of rows.
    rows : sequence of int or None, default=None
        Rows to leave out, such as the unreliable ones of :func:`bayes_loo`; all by default.
    n_jobs : int or None, default=None
        Number of workers.
    engine : Engine or None, default=None
        Where to run instead.

    Returns
    -------
    loo : PredictiveLoss
        The loss, with an entry for each row left out.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from fewer.evaluate import exact_loo
    >>> x = np.random.default_rng(0).normal(size=20)
    >>> def log_lik_of(train, test):
    ...     means = np.random.default_rng(1).normal(x[train].mean(), 1 / np.sqrt(len(train)), size=1000)
    ...     return norm.logpdf(x[test], loc=means[:, None])
    >>> round(exact_loo(log_lik_of, 20).loss, 2)
    1.33
    """
    if not callable(log_lik_of):
        raise ValueError(f"log_lik_of must be a function of two lists of rows, and is {log_lik_of!r}.")
    left_out = range(n_samples) if rows is None else [int(row) for row in rows]
    beyond = [row for row in left_out if not 0 <= row < n_samples]
    if beyond or not len(left_out):
        what = f"has {beyond[0]}" if beyond else "is empty"
        raise ValueError(f"rows must be numbers from 0 to {n_samples - 1}, and {what}.")
    shared = _LeftOut(log_lik_of, int(n_samples))
    where = workers(engine, n_jobs)
    labels = [f"the fit without row {row}" for row in left_out]
    found = values_of(
        _left_out_loss, left_out, shared, engine=where, description="Leave-one-out", labels=labels, only_all=True
    )
    return PredictiveLoss(np.array([found[place] for place in range(len(left_out))]))


@dataclass(frozen=True, eq=False, repr=False)
class FunctionalCumulants(Result):
    """Derivatives of F(alpha) = (1/n) sum_i log E[p_i^alpha] at 0; made by :func:`functional_cumulants`.

    Attributes
    ----------
    values : ndarray of shape (order,)
        Y_1, Y_2, ...: minus the Gibbs training loss, V / n, and higher ones that do not change when constants are
        added to the log-likelihoods of rows.
    beta : float
        Inverse temperature of the posterior.
    """

    values: np.ndarray
    beta: float
    draws: Draws = field(compare=False)

    _data = ("values", "expected_gap", "gap", "reading")

    def generating(self, alpha: float) -> float:
        """F(alpha).

        Parameters
        ----------
        alpha : float
            Power of the likelihoods.

        Returns
        -------
        value : float
            Mean over rows of log E[p^alpha].
        """
        weights = np.zeros(self.draws.n_draws) if self.draws.log_weights is None else self.draws.log_weights
        return float(np.concatenate([_log_means(alpha * block, weights) for _, block in self.draws.blocks()]).mean())

    @property
    def gap(self) -> float:
        """Leave-one-out loss (raw weights) less WAIC."""
        leave_one_out = self.generating(-self.beta) - self.generating(1 - self.beta)
        return leave_one_out + self.generating(1) - self.beta * self.values[1]

    @property
    def expected_gap(self) -> float:
        """The same by theory: (beta - beta^2) / 2 Y_3, or Y_4 / 12 at beta = 1; NaN if the order is too small."""
        place = 3 if self.beta == 1 else 2
        if len(self.values) <= place:
            return float("nan")
        factor = 1 / 12 if self.beta == 1 else (self.beta - self.beta**2) / 2
        return float(factor * self.values[place])

    @property
    def reading(self) -> str:
        """Whether WAIC and leave-one-out differ as in theory."""
        said = f"Leave-one-out and WAIC differ by {self.gap:.2g} for each row"
        if np.isnan(self.expected_gap):
            return f"{said}; what theory expects needs order=4."
        return f"{said}; theory expects {self.expected_gap:.2g}."

    def __repr__(self) -> str:
        values = ", ".join(f"Y_{place} = {value:.4g}" for place, value in enumerate(self.values, start=1))
        return f"FunctionalCumulants: {values}\n  {self.reading}"


def functional_cumulants(
    log_lik: Any, order: int = 4, *, beta: float = 1.0, log_weights: Any = None, var_name: str | None = None
) -> FunctionalCumulants:
    """Cumulants of the log-likelihood over the posterior, which say how far WAIC and leave-one-out differ.

    Parameters
    ----------
    log_lik : array-like of shape (n_draws, n_samples) or (n_chains, n_draws, n_samples)
        As in :func:`waic`.
    order : int, default=4
        Number of cumulants, up to 4.
    beta : float, default=1.0
        Inverse temperature at which the posterior was drawn.
    log_weights : array-like of shape (n_draws,), default=None
        Log weights of the draws.
    var_name : str or None, default=None
        Which log-likelihood, where an object has several.

    Returns
    -------
    cumulants : FunctionalCumulants
        Their means over rows, and the gap between the two criteria, measured and expected.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from fewer.evaluate import functional_cumulants
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=50)
    >>> means = rng.normal(x.mean(), 1 / np.sqrt(50), size=4000)
    >>> functional_cumulants(norm.logpdf(x, loc=means[:, None]), order=2).values.round(3)
    array([-1.344,  0.017])
    """
    _check_beta(beta)
    if not 1 <= order <= 4:
        raise ValueError(f"order={order} must be from 1 to 4.")
    draws = as_draws(log_lik, log_weights, var_name)
    moments = row_moments(draws, higher=True)
    second, third, fourth = moments.central.T
    values = [moments.mean_log.mean(), second.mean(), third.mean(), (fourth - 3 * second**2).mean()]
    return FunctionalCumulants(np.array(values[:order]), float(beta), draws)


@dataclass(frozen=True, eq=False, repr=False)
class Dic(Result):
    """The deviance information criterion for each row; made by :func:`dic`.

    Attributes
    ----------
    loss : float
        Estimated loss on new rows.
    p_dic : float
        Its effective number of parameters.
    method : str
        How these were counted.
    """

    loss: float
    p_dic: float
    method: str

    def __repr__(self) -> str:
        return f"Dic: loss {self.loss:.4f} for each row\n  {self.p_dic:.2f} effective parameters, by {self.method}"


def dic(
    log_lik: Any,
    log_lik_at_mean: Any = None,
    *,
    method: Literal["mean", "variance"] = "variance",
    log_weights: Any = None,
    var_name: str | None = None,
) -> Dic:
    """The deviance information criterion, which does not hold for models with latent variables.

    Parameters
    ----------
    log_lik : array-like of shape (n_draws, n_samples) or (n_chains, n_draws, n_samples)
        As in :func:`waic`.
    log_lik_at_mean : array-like of shape (n_samples,), default=None
        Log-likelihood of each row at the posterior mean of the parameters, for ``method="mean"``. In mixtures and
        networks the mean lies far from any good parameter.
    method : {"mean", "variance"}, default="variance"
        Count parameters by the loss at the posterior mean, or by the variance of the log-likelihood of all rows.
    log_weights : array-like of shape (n_draws,), default=None
        Log weights of the draws.
    var_name : str or None, default=None
        Which log-likelihood, where an object has several.

    Returns
    -------
    dic : Dic
        The loss for each row, to compare with those of :func:`waic` and :func:`bayes_loo`.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from fewer.evaluate import dic
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=50)
    >>> means = rng.normal(x.mean(), 1 / np.sqrt(50), size=4000)
    >>> found = dic(norm.logpdf(x, loc=means[:, None]), norm.logpdf(x, loc=means.mean()), method="mean")
    >>> round(found.loss, 2)
    1.36
    """
    draws = as_draws(log_lik, log_weights, var_name)
    moments = row_moments(draws)
    n_rows = draws.n_rows
    if method == "mean":
        at_mean = np.asarray(log_lik_at_mean, dtype=float)
        if at_mean.shape != (n_rows,):
            raise ValueError(f'method="mean" needs log_lik_at_mean with an entry for each of the {n_rows} rows.')
        excess = float((at_mean - moments.mean_log).sum())
    elif method == "variance":
        sums = draws.values.reshape(draws.n_draws, n_rows).sum(axis=1)
        weights = draws.weights
        excess = float(weights @ (sums - weights @ sums) ** 2)
    else:
        raise ValueError(f"method={method!r} is neither 'mean' nor 'variance'.")
    return Dic(float(-moments.log_mean.mean() + 2 * excess / n_rows), 2 * excess, method)


def _check_beta(beta: float) -> None:
    if not 0 < beta < np.inf:
        raise ValueError(f"beta={beta} must be a positive number.")
