"""Models ranked by their loss on new rows, and what the posterior says about singular models.

At beta = 1, the mean over data sets of n times the excess loss is lambda, by WAIC, by leave-one-out and on new rows
alike, and nu = V / 2 is the singular fluctuation; both are d / 2 in a regular model with d parameters. On one data set,
excess loss on new rows and leave-one-out excess add up to 2 lambda / n: where one is low, the other is high.

Watanabe, S. (2010). Asymptotic equivalence of Bayes cross validation and widely applicable information criterion in
singular learning theory. JMLR 11, 3571-3594.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer._figures import AMBER, BLUE, Result, new_figure
from fewer._wording import counted, signed
from fewer.catalogue import method
from fewer.evaluate.criteria._predictive import LARGE_VARIANCE, BayesLoo, Waic, bayes_loo, waic

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Result):
    """Models from best to worst by leave-one-out; made by :func:`compare_models`.

    Attributes
    ----------
    names : tuple of str
        Names of the models, best first.
    loo : dict of str to BayesLoo
        Leave-one-out of each.
    waic : dict of str to Waic
        WAIC of each.
    differences : ndarray of shape (n_models,)
        Leave-one-out loss less that of the best model.
    difference_se : ndarray of shape (n_models,)
        Standard error of the differences, which are paired over rows.
    """

    names: tuple[str, ...]
    loo: dict[str, BayesLoo]
    waic: dict[str, Waic]
    differences: np.ndarray
    difference_se: np.ndarray

    _data = ("names", "differences", "difference_se", "gaps", "loo", "waic", "warnings", "reading")

    @property
    def by_waic(self) -> tuple[str, ...]:
        """Names, best first, by WAIC."""
        return tuple(sorted(self.names, key=lambda name: self.waic[name].loss))

    @property
    def gaps(self) -> np.ndarray:
        """Leave-one-out loss less WAIC of each model; far from 0 where one of them cannot be trusted."""
        return np.array([self.loo[name].loss - self.waic[name].loss for name in self.names])

    @property
    def warnings(self) -> list[str]:
        """Which criteria not to trust, in sentences."""
        said = []
        shaky = [name for name in self.names if len(self.loo[name].unreliable_rows)]
        if shaky:
            said.append(f"Leave-one-out is not reliable for {', '.join(shaky)}: see their unreliable_rows.")
        varied = [name for name in self.names if len(self.waic[name].unreliable_rows)]
        if varied:
            said.append(
                f"WAIC is not reliable for {', '.join(varied)}: the log-likelihood of some rows has a posterior "
                f"variance above {LARGE_VARIANCE}."
            )
        apart = [
            f"{name} ({signed(gap)})"
            for name, gap in zip(self.names, self.gaps, strict=True)
            if abs(gap) > self.loo[name].se
        ]
        if apart:
            said.append(f"Leave-one-out and WAIC differ by more than a standard error for {', '.join(apart)}.")
        return said

    @property
    def reading(self) -> str:
        """Which models are about as good as the best, and what not to trust."""
        best = self.names[0]
        near = [
            name
            for name, gap, error in zip(self.names[1:], self.differences[1:], self.difference_se[1:], strict=True)
            if gap <= 2 * error
        ]
        said = [f"{best} has the smallest leave-one-out loss"]
        said[0] += f"; {', '.join(near)} within two standard errors of it." if near else "."
        if self.by_waic[0] != best:
            said.append(f"By WAIC it is {self.by_waic[0]}.")
        said += self.warnings
        said.append("Criteria rank models on average over data sets; they do not certify the loss of one.")
        return " ".join(said)

    def __repr__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"ModelComparison: {counted(len(self.names), 'model')}, best first"]
        for place, name in enumerate(self.names):
            lines.append(
                f"  {name:{width}}  loo {self.loo[name].loss:.4f}  waic {self.waic[name].loss:.4f}  "
                f"difference {signed(self.differences[place])} +- {self.difference_se[place]:.3f}  "
                f"p {self.loo[name].p_loo:.1f}"
            )
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Leave-one-out loss and WAIC of each model, with standard errors.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            The figure.
        """
        figure = new_figure(title="Loss on new rows, estimated", x="loss for each row", y="")
        looks = (("leave-one-out", self.loo, BLUE, "circle"), ("WAIC", self.waic, AMBER, "diamond-open"))
        for name, results, colour, symbol in looks:
            losses = [results[each].loss for each in self.names]
            errors = {"type": "data", "array": [results[each].se for each in self.names], "color": colour}
            marker = {"size": 8 if symbol == "circle" else 16, "color": colour, "symbol": symbol}
            figure.add_scatter(x=losses, y=self.names, error_x=errors, mode="markers", name=name, marker=marker)
        return figure.update_yaxes(autorange="reversed")


@method(
    tasks=["evaluation"],
    when="Several Bayesian models of the same rows, each with posterior draws: which one predicts new rows best, and "
    "is the difference more than noise?",
    cost="O(draws x n) for each model",
    paper="waic",
)
def compare_models(models: Mapping[str, Any], *, r_eff: Any = None, var_name: str | None = None) -> ModelComparison:
    """Rank models of the same rows by leave-one-out loss and WAIC, with paired differences.

    Parameters
    ----------
    models : mapping of str to log-likelihoods
        For each name, what :func:`waic` takes; all with the same rows in the same order.
    r_eff : float or None, default=None
        As in :func:`bayes_loo`.
    var_name : str or None, default=None
        Which log-likelihood, where an object has several.

    Returns
    -------
    comparison : ModelComparison
        Models from best to worst.

    References
    ----------
    .. [1] Watanabe, S. (2010). Asymptotic equivalence of Bayes cross validation and widely applicable information
       criterion in singular learning theory. Journal of Machine Learning Research 11, 3571-3594.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from fewer.evaluate import compare_models
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(0.5, 1, size=60)
    >>> means = rng.normal(x.mean(), 1 / np.sqrt(60), size=2000)
    >>> compare_models({
    ...     "mean 0": np.repeat(norm.logpdf(x)[None], 2000, axis=0) + 1e-9 * means[:, None],
    ...     "free mean": norm.logpdf(x, loc=means[:, None]),
    ... }).names
    ('free mean', 'mean 0')
    """
    if not isinstance(models, Mapping):
        raise ValueError(f"models must name each model, as {{'name': log_lik, ...}}, and is a {type(models).__name__}.")
    models = {str(name): each for name, each in models.items()}
    if len(models) < 2:
        raise ValueError("A comparison needs at least two models.")
    by_loo = {name: bayes_loo(each, r_eff=r_eff, var_name=var_name) for name, each in models.items()}
    by_waic = {name: waic(each, var_name=var_name) for name, each in models.items()}
    sizes = {len(each.pointwise) for each in by_loo.values()}
    if len(sizes) > 1:
        raise ValueError(f"The models have different numbers of rows ({', '.join(map(str, sorted(sizes)))}).")
    names = tuple(sorted(by_loo, key=lambda name: by_loo[name].loss))
    gaps = np.array([by_loo[name].pointwise - by_loo[names[0]].pointwise for name in names])
    return ModelComparison(names, by_loo, by_waic, gaps.mean(axis=1), gaps.std(axis=1) / np.sqrt(gaps.shape[1]))


@dataclass(frozen=True, eq=False, repr=False)
class SingularDiagnostics(Result):
    """Whether a model is singular on these rows; made by :func:`singular_diagnostics`.

    Attributes
    ----------
    fluctuation : float
        nu = beta V / 2, the singular fluctuation.
    fluctuation_se : float
        Its standard error over rows.
    n_parameters : int or None
        d, the number of parameters.
    learning_coefficient : float or None
        lambda, where losses on new rows were given, as in simulations.
    """

    fluctuation: float
    fluctuation_se: float
    n_parameters: int | None
    learning_coefficient: float | None

    @property
    def reading(self) -> str:
        """What a difference from half the number of parameters means."""
        said = [f"The singular fluctuation is {self.fluctuation:.2f}"]
        if self.n_parameters is None:
            said[0] += "."
        else:
            regular = self.n_parameters / 2
            # Of few rows it differs from d / 2 by chance alone; where it is too small, so is its standard error.
            error = self.fluctuation_se * max(1.0, regular / max(self.fluctuation, 1e-300))
            far = abs(self.fluctuation - regular) > max(0.25 * regular, 2 * error)
            said[0] += f"; a regular model with {counted(self.n_parameters, 'parameter')} would have {regular:g}."
            said.append(
                "The model is singular here, or wrong: AIC, BIC and DIC do not hold."
                if far
                else "There is no sign of a singular model."
            )
        said.append("WAIC and leave-one-out rank models on average; they do not certify the loss on one data set.")
        return " ".join(said)

    def __repr__(self) -> str:
        return f"SingularDiagnostics: fluctuation {self.fluctuation:.3f} +- {self.fluctuation_se:.3f}\n  {self.reading}"


def singular_diagnostics(
    log_lik: Any,
    *,
    n_parameters: int | None = None,
    beta: float = 1.0,
    test_loss: float | None = None,
    best_losses: tuple[float, float] | None = None,
    log_weights: Any = None,
    var_name: str | None = None,
) -> SingularDiagnostics:
    """The singular fluctuation, and in simulations the learning coefficient.

    Parameters
    ----------
    log_lik : array-like of shape (n_draws, n_samples) or (n_chains, n_draws, n_samples)
        As in :func:`waic`.
    n_parameters : int or None, default=None
        Number of parameters of the model.
    beta : float, default=1.0
        Inverse temperature at which the posterior was drawn.
    test_loss : float or None, default=None
        Loss of the predictive distribution on new rows, where these can be drawn.
    best_losses : tuple of float or None, default=None
        Expected loss and loss on these rows of the best parameter; needed with ``test_loss``.
    log_weights : array-like of shape (n_draws,), default=None
        Log weights of the draws.
    var_name : str or None, default=None
        Which log-likelihood, where an object has several.

    Returns
    -------
    diagnostics : SingularDiagnostics
        The figures, and a reading.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from fewer.evaluate import singular_diagnostics
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> means = rng.normal(x.mean(), 1 / np.sqrt(200), size=4000)
    >>> round(singular_diagnostics(norm.logpdf(x, loc=means[:, None]), n_parameters=1).fluctuation, 1)
    0.5
    """
    if (test_loss is None) != (best_losses is None):
        raise ValueError("test_loss and best_losses belong together; give both, or neither.")
    if n_parameters is not None and not n_parameters > 0:
        raise ValueError(f"n_parameters={n_parameters} must be above 0.")
    found = waic(log_lik, beta=beta, log_weights=log_weights, var_name=var_name)
    coefficient = None
    if test_loss is not None and best_losses is not None:
        left_out = bayes_loo(log_lik, beta=beta, method="is", log_weights=log_weights, var_name=var_name)
        n_rows = len(found.pointwise)
        total = (test_loss - best_losses[0]) + (left_out.loss - best_losses[1])
        # B_g + C_v = (beta - 1) V / n + 2 lambda / (beta n)
        coefficient = float(beta * (n_rows * total - (beta - 1) * found.functional_variance) / 2)
    error = beta / 2 * float(found.variances.std() * np.sqrt(len(found.variances)))
    return SingularDiagnostics(beta * found.functional_variance / 2, error, n_parameters, coefficient)
