"""What latent classes depend on, and what depends on them: the bias-adjusted three-step method.

Step one fits the classes, step two assigns each row to its most likely class W. Assignments are wrong with known
probabilities: with posteriors r_nt,

    D_ts = P(W = s | class t) = sum_n r_nt 1[W_n = s] / sum_n r_nt.

A regression on W is biased towards no effect. Step three allows for D. Maximum likelihood maximises ``sum_n log sum_t
P(t | z_n) D_t,W_n f(y_n | t)``. BCH gives row n the weight ``(D^-1)_W,t`` in class t, which is right on average and may
be negative. Standard errors are robust (sandwich), and allow for errors of D.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy import linalg, stats

from fewer._estimators import StrOptions, checked_array, get_feature_names, validate_params, warn_caller
from fewer._figures import GREY, PALETTE, Result, new_figure
from fewer._kernels._numpy_lapack import solve_spd
from fewer._wording import counted, cut, listed, listed_values, p_digits, p_words
from fewer.catalogue import method
from fewer.latent.classes._assignments import Assignments, assignments
from fewer.latent.classes._class_information import score_covariance, size_information

if TYPE_CHECKING:
    import plotly.graph_objects as go

Adjustment = Literal["ml", "bch"]
_MAX_STEPS = 200
_STEEP = 8.0  # log odds for one standard deviation of a covariate
_CONSTRAINTS: dict[str, list[Any]] = {
    "method": [StrOptions({"ml", "bch"})],
    "sample_weight": ["array-like", None],
}


@dataclass(repr=False)
class ThreeStepCovariates(Result):
    """Multinomial logistic regression of latent classes on covariates.

    Attributes
    ----------
    names : list of str
        Names of the covariates, the intercept first.
    coefficients : ndarray of shape (n_components - 1, n_covariates + 1)
        Log odds of classes 1, 2, ... against class 0.
    standard_errors : ndarray of shape (n_components - 1, n_covariates + 1)
        Their standard errors.
    p_values : ndarray of shape (n_components - 1, n_covariates + 1)
        Wald tests of each coefficient.
    covariate_p_values : ndarray of shape (n_covariates + 1,)
        Wald tests of each covariate in all classes.
    method : str
        The adjustment.
    n_rows : float
        Rows, by weight.
    covariance : ndarray
        Covariance of the coefficients, those of class 1 first.
    assignment_errors : ndarray of shape (n_components, n_components)
        Probabilities of being assigned to each class (columns), of the rows of each class (rows).
    """

    _data: ClassVar[tuple[str, ...]] = (
        "names",
        "coefficients",
        "standard_errors",
        "p_values",
        "covariate_p_values",
        "method",
        "n_rows",
    )

    names: list[str]
    coefficients: np.ndarray
    covariance: np.ndarray
    method: str
    n_rows: float
    assignment_errors: np.ndarray

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard errors of the coefficients."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0)).reshape(self.coefficients.shape)

    @property
    def p_values(self) -> np.ndarray:
        """Wald tests of each coefficient."""
        return 2 * stats.norm.sf(np.abs(self.coefficients / self.standard_errors))

    @property
    def covariate_p_values(self) -> np.ndarray:
        """Wald tests of each covariate in all classes."""
        n_others, n_names = self.coefficients.shape
        return np.array(
            [_wald(self.coefficients[:, j], self.covariance[j::n_names, j::n_names], n_others) for j in range(n_names)]
        )

    def __repr__(self) -> str:
        n_classes = len(self.coefficients) + 1
        lines = [f"Covariates of {n_classes} latent classes ({_WORDS[self.method]}), log odds against class 0"]
        width = min(max(len(name) for name in self.names), 28)
        head = "".join(f"{f'class {k}':>16}" for k in range(1, n_classes))
        lines.append(" " * width + head + f"{'joint p':>10}")
        for j, name in enumerate(self.names):
            cells = [
                f"{value:.2f} ({error:.2f})"
                for value, error in zip(self.coefficients[:, j], self.standard_errors[:, j], strict=True)
            ]
            row = "".join(f"{cell:>16}" for cell in cells)
            lines.append(f"{cut(name, width):<{width}}{row}{p_digits(self.covariate_p_values[j]):>10}")
        return "\n".join(lines)

    def plot(self) -> "go.Figure":
        """Draw the coefficients with twice their standard errors.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A colour for each class; the intercept is left out.
        """
        import plotly.graph_objects as go

        figure = new_figure(x="log odds against class 0", height=120 + 40 * len(self.names))
        for k, (values, errors) in enumerate(zip(self.coefficients, self.standard_errors, strict=True), 1):
            figure.add_trace(
                go.Scatter(
                    x=values[1:],
                    y=np.arange(len(values) - 1) + 0.12 * (k - 1),
                    error_x={"array": 2 * errors[1:], "thickness": 1.5},
                    mode="markers",
                    marker={"color": PALETTE[k % len(PALETTE)], "size": 9},
                    name=f"class {k}",
                )
            )
        figure.add_vline(x=0, line={"color": GREY, "dash": "dot"})
        labels = [cut(name, 30) for name in self.names[1:]]
        return figure.update_yaxes(tickvals=np.arange(len(labels)), ticktext=labels, autorange="reversed")


@dataclass(repr=False)
class ThreeStepOutcome(Result):
    """Means or shares of an outcome in latent classes.

    Attributes
    ----------
    categories : list
        Categories of the outcome; empty if it is a number.
    estimates : ndarray of shape (n_components, n_values)
        Means of a number (one column), or shares of the categories.
    standard_errors : ndarray of shape (n_components, n_values)
        Their standard errors.
    p_value : float
        Wald test that all classes have the same.
    pair_p_values : ndarray of shape (n_components, n_components)
        Wald tests of two classes each.
    method : str
        The adjustment.
    n_rows : float
        Rows, by weight.
    covariance : ndarray
        Covariance of the estimates, those of class 0 first.
    """

    _data: ClassVar[tuple[str, ...]] = (
        "categories",
        "estimates",
        "standard_errors",
        "p_value",
        "pair_p_values",
        "method",
        "n_rows",
    )

    categories: list[Any]
    estimates: np.ndarray
    covariance: np.ndarray
    method: str
    n_rows: float

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard errors of the estimates."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0)).reshape(self.estimates.shape)

    @property
    def p_value(self) -> float:
        """Wald test that all classes have the same."""
        return self._test([(0, k) for k in range(1, len(self.estimates))])

    @property
    def pair_p_values(self) -> np.ndarray:
        """Wald tests of two classes each."""
        found = np.ones((len(self.estimates),) * 2)
        for first in range(len(found)):
            for second in range(first):
                found[first, second] = found[second, first] = self._test([(first, second)])
        return found

    def _test(self, pairs: list[tuple[int, int]]) -> float:
        n_values = self.estimates.shape[1]
        free = max(n_values - 1, 1)  # shares sum to 1
        contrasts = np.zeros((len(pairs) * free, self.estimates.size))
        for place, (first, second) in enumerate(pairs):
            for value in range(free):
                contrasts[place * free + value, first * n_values + value] = 1
                contrasts[place * free + value, second * n_values + value] = -1
        return _wald(contrasts @ self.estimates.ravel(), contrasts @ self.covariance @ contrasts.T, len(contrasts))

    @property
    def reading(self) -> str:
        """What it means, in words."""
        if len(self.estimates) < 2:
            return "There is one class."
        differ = "differ" if self.p_value <= 0.05 else "do not differ more than by chance"
        return f"The classes {differ} ({p_words(self.p_value)})."

    def __repr__(self) -> str:
        what = "Shares" if self.categories else "Means"
        lines = [f"{what} of the outcome in {len(self.estimates)} latent classes ({_WORDS[self.method]})"]
        labels = [str(each) for each in self.categories] or ["mean"]
        width = min(max(len(label) for label in labels), 28)
        value_digits, error_digits = (".3f", ".3f") if self.categories else (".4g", ".2g")
        rows = [
            [
                f"{value:{value_digits}} ({error:{error_digits}})"
                for value, error in zip(self.estimates[:, j], self.standard_errors[:, j], strict=True)
            ]
            for j in range(len(labels))
        ]
        wide = 2 + max(16, *(len(cell) for cells in rows for cell in cells))
        lines.append(" " * width + "".join(f"{f'class {k}':>{wide}}" for k in range(len(self.estimates))))
        for label, cells in zip(labels, rows, strict=True):
            lines.append(f"{cut(label, width):<{width}}" + "".join(f"{cell:>{wide}}" for cell in cells))
        return "\n".join([*lines, self.reading])

    def plot(self) -> "go.Figure":
        """Draw the means, or the shares of the categories, with twice their standard errors.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            A group for each class.
        """
        import plotly.graph_objects as go

        figure = new_figure(y="share" if self.categories else "mean of the outcome")
        classes = [f"class {k}" for k in range(len(self.estimates))]
        for j, label in enumerate(self.categories or ["mean"]):
            figure.add_trace(
                go.Bar(
                    x=classes,
                    y=self.estimates[:, j],
                    error_y={"array": 2 * self.standard_errors[:, j]},
                    name=str(label),
                    marker={"color": PALETTE[j % len(PALETTE)]},
                )
            )
        return figure.update_layout(barmode="group", showlegend=bool(self.categories))


_WORDS = {"ml": "maximum likelihood", "bch": "BCH weights"}


def _wald(values: np.ndarray, covariance: np.ndarray, n_free: int) -> float:
    """p-value of the test that all of the values are 0."""
    if not len(values):
        return 1.0
    if np.isnan(covariance).any():
        return np.nan
    return float(stats.chi2.sf(values @ linalg.pinvh(covariance) @ values, n_free))


def _left_out(missing: np.ndarray, what: str) -> None:
    if missing.all():
        raise ValueError(f"No row is left: all {len(missing):,} rows are without {what}.")
    if missing.any():
        warn_caller(
            f"{counted(int(missing.sum()), 'row')} without {what} {'is' if missing.sum() == 1 else 'are'} left out."
        )


@method(
    tasks=["evaluation"],
    when="Latent classes are fitted, and the question is which columns outside of the items they depend on.",
    cost="O(n q^2 k^2) time an iteration, for q covariates and k classes",
    handles=(),
)
@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def three_step_covariates(
    model: Any, X: Any, covariates: Any, *, method: Adjustment = "ml", sample_weight: Any = None
) -> ThreeStepCovariates:
    """Regress latent classes on covariates, allowing for rows that are assigned to a wrong class.

    Parameters
    ----------
    model : fitted estimator
        `LatentClass`, `LatentProfile` or another model with ``predict_proba`` and one class for each row.
    X : array-like of shape (n_samples, n_features)
        The items.
    covariates : array-like of shape (n_samples,) or (n_samples, n_covariates)
        Numbers; rows with missing values are left out.
    method : {"ml", "bch"}, default="ml"
        The adjustment: maximum likelihood, or weights of Bolck, Croon and Hagenaars.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    regression : ThreeStepCovariates
        It prints the table of coefficients with standard errors, and ``plot()`` draws it.

    Notes
    -----
    Standard errors allow for the uncertainty of step one [3]_ where ``model`` is `LatentClass` or `LatentProfile`,
    fitted to ``X`` with these weights; classes of other models are taken as known. A covariate that separates a class
    perfectly has no finite coefficient: a warning names it, and its standard error is NaN.

    References
    ----------
    .. [1] Vermunt, J. K. (2010). Latent class modeling with covariates: two improved three-step approaches. Political
       Analysis 18, 450-469.
    .. [2] Bolck, A., Croon, M. and Hagenaars, J. (2004). Estimating latent structure models with categorical variables:
       one-step versus three-step estimators. Political Analysis 12, 3-27.
    .. [3] Bakk, Z., Oberski, D. L. and Vermunt, J. K. (2014). Relating latent class assignments to external variables:
       standard errors for correct inference. Political Analysis 22, 520-540.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import LatentClass, three_step_covariates
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(size=600)
    >>> old = rng.random(600) < 1 / (1 + np.exp(1 - age))
    >>> items = (rng.random((600, 6)) < np.where(old, 0.8, 0.3)[:, None]).astype(int)
    >>> model = LatentClass(2, random_state=0).fit(items)
    >>> three_step_covariates(model, items, age[:, None]).coefficients.round(1)
    array([[-1.2,  0.8]])
    """
    names = get_feature_names(covariates)
    if np.ndim(covariates) == 1:
        name = getattr(covariates, "name", None)
        names, covariates = None if name is None else [name], np.asarray(covariates)[:, None]
    table = checked_array(covariates, "three_step_covariates", ensure_all_finite="allow-nan", dtype=np.float64)
    missing = np.isnan(table).any(axis=1)
    _left_out(missing, "all covariates")
    rows = assignments(model, X, sample_weight, ~missing)
    design = np.column_stack([np.ones(len(rows.assigned)), table[~missing]])
    names = (
        ["intercept", *(f"x{j}" for j in range(table.shape[1]))] if names is None else ["intercept", *map(str, names)]
    )
    _check_independent(design, names)
    coefficients, covariance = adjusted_regression(design, rows, method)
    covariance = _without_limitless(coefficients, covariance, design, names)
    return ThreeStepCovariates(names, coefficients, covariance, method, float(rows.masses.sum()), rows.errors)


def _check_independent(design: np.ndarray, names: list[str]) -> None:
    """Raise where a covariate has no coefficient of its own."""
    spread = design[:, 1:].std(axis=0)
    constant = [name for name, std in zip(names[1:], spread, strict=True) if std == 0]
    if constant:
        raise ValueError(f"Covariate {constant[0]!r} is constant, so that nothing can depend on it: leave it out.")
    standard = (design[:, 1:] - design[:, 1:].mean(axis=0)) / spread
    for place in range(1, standard.shape[1]):
        if np.linalg.matrix_rank(standard[:, : place + 1]) <= place:
            raise ValueError(
                f"Covariate {names[place + 1]!r} is determined by those before it (a copy or a weighted sum of them): "
                "leave it out."
            )


def _without_limitless(
    coefficients: np.ndarray, covariance: np.ndarray, design: np.ndarray, names: list[str]
) -> np.ndarray:
    """The covariance with NaN where the likelihood rises without limit, as a covariate separates a class."""
    steep = np.abs(coefficients) * design.std(axis=0) > _STEEP
    if not steep.any():
        return covariance
    concerned = listed([name for name, here in zip(names, steep.any(axis=0), strict=True) if here])
    warn_caller(
        f"Classes are separated nearly perfectly by {concerned}: the coefficients have no finite estimate, and only "
        "their signs are meaningful. Leave the covariate out, or merge its values."
    )
    steep[:, 0] = steep.any(axis=1)
    return np.where(np.logical_or.outer(steep.ravel(), steep.ravel()), np.nan, covariance)


def adjusted_regression(design: np.ndarray, rows: Assignments, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (K - 1, q) of the multinomial logit of the true classes, and their robust covariance.

    Newton steps, halved until the objective does not fall. Covariates are standardised on the way.
    """
    errors, assigned, masses = rows[:3]
    n_classes, n_columns = len(errors), design.shape[1]
    centre, scale = design[:, 1:].mean(axis=0), design[:, 1:].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    standard = np.column_stack([design[:, 0], (design[:, 1:] - centre) / scale])
    likelihoods = errors[:, assigned].T
    inverse = np.linalg.inv(errors)
    weights = inverse[assigned]

    def parts(coefficients: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        logits = np.column_stack([np.zeros(len(standard)), standard @ coefficients.T])
        logits -= logits.max(axis=1, keepdims=True)
        shares = np.exp(logits)
        shares /= shares.sum(axis=1, keepdims=True)
        if method == "ml":
            joint = shares * likelihoods
            total = joint.sum(axis=1)
            return float(masses @ np.log(np.maximum(total, 1e-300))), shares, joint / total[:, None]
        return float(masses @ (weights * np.log(np.maximum(shares, 1e-300))).sum(axis=1)), shares, weights

    def spread(shares: np.ndarray) -> np.ndarray:
        """``diag(p) - p p'`` of the classes but the first, for each row."""
        rest = shares[:, 1:]
        return rest[:, :, None] * np.eye(n_classes - 1) - rest[:, :, None] * rest[:, None, :]

    def curvature(shares: np.ndarray, posteriors: np.ndarray, *, full: bool) -> np.ndarray:
        blocks = spread(shares) - (spread(posteriors) if full and method == "ml" else 0.0)
        found = np.einsum("n,nab,ni,nj->aibj", masses, blocks, standard, standard, optimize=True)
        return found.reshape((n_classes - 1) * n_columns, -1)

    coefficients = np.zeros((n_classes - 1, n_columns))
    objective, shares, posteriors = parts(coefficients)
    for _ in range(_MAX_STEPS):
        gradient = ((posteriors - shares)[:, 1:] * masses[:, None]).T @ standard
        ridge = 1e-10 * masses.sum() * np.eye(gradient.size)
        direction = solve_spd(curvature(shares, posteriors, full=False) + ridge, gradient.ravel())
        length = 1.0
        while length > 1e-10:
            trial = coefficients + length * direction.reshape(coefficients.shape)
            found = parts(trial)
            if found[0] >= objective:
                break
            length /= 2
        gain = found[0] - objective
        if length <= 1e-10:
            break
        coefficients, (objective, shares, posteriors) = trial, found
        if gain <= 1e-13 * abs(objective) and np.abs(direction).max() < 1e-7:
            break
    scores = ((posteriors - shares)[:, 1:, None] * standard[:, None, :]).reshape(len(standard), -1)
    # Derivatives of the posteriors of a row in D_ts: they are 0 but for s = W.
    if method == "ml":
        slopes = _posterior_slopes(posteriors, rows, standard)
    else:
        slopes = _weight_slopes(inverse, rows, standard)
    bread = linalg.pinvh(curvature(shares, posteriors, full=True))
    covariance = rows.covariance(scores, slopes[1:].reshape(-1, n_classes, n_classes), bread)
    # Back from standardised covariates.
    back = np.eye(n_columns)
    back[1:, 1:] = np.diag(1 / scale)
    back[0, 1:] = -centre / scale
    whole = np.kron(np.eye(n_classes - 1), back)
    return coefficients @ back.T, whole @ covariance @ whole.T


def _posterior_slopes(posteriors: np.ndarray, rows: Assignments, values: np.ndarray) -> np.ndarray:
    """Derivatives in D_ts of ``sum_n posterior_nk values_n``, where posteriors are in proportion to ``D_t,W``."""
    n_classes = len(rows.errors)
    assigned = np.eye(n_classes)[rows.assigned]
    relative = posteriors / np.maximum(rows.errors[:, rows.assigned].T, 1e-12)
    found = -np.einsum("n,nk,nt,ns,nj->kjts", rows.masses, posteriors, relative, assigned, values, optimize=True)
    diagonal = np.einsum("n,nt,ns,nj->tjs", rows.masses, relative, assigned, values, optimize=True)
    found[np.arange(n_classes), :, np.arange(n_classes)] += diagonal
    return found


def _weight_slopes(inverse: np.ndarray, rows: Assignments, values: np.ndarray) -> np.ndarray:
    """Derivatives in D_ts of ``sum_n (D^-1)_W,k values_n``."""
    sums = (inverse[rows.assigned] * rows.masses[:, None]).T @ values
    return -np.einsum("tj,sk->kjts", sums, inverse)


@method(
    tasks=["evaluation"],
    when="Latent classes are fitted, and the question is how an outcome outside of the items differs between them.",
    cost="O(n k^2)",
    handles=("categorical",),
)
@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def three_step_outcome(
    model: Any, X: Any, outcome: Any, *, method: Adjustment = "bch", sample_weight: Any = None
) -> ThreeStepOutcome:
    """Compare an outcome between latent classes, allowing for rows that are assigned to a wrong class.

    Parameters
    ----------
    model : fitted estimator
        `LatentClass`, `LatentProfile` or another model with ``predict_proba`` and one class for each row.
    X : array-like of shape (n_samples, n_features)
        The items.
    outcome : array-like of shape (n_samples,)
        Numbers, or categories as text or truth values; rows where it is missing are left out.
    method : {"bch", "ml"}, default="bch"
        The adjustment: weights of Bolck, Croon and Hagenaars, which assume nothing about the outcome; or maximum
        likelihood, which takes numbers for normal with a variance of their own in each class.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    comparison : ThreeStepOutcome
        Means or shares of the classes with standard errors, and Wald tests of their differences. Shares by "bch" may be
        somewhat below 0 or above 1; those by "ml" are not.

    Notes
    -----
    Standard errors allow for the uncertainty of step one, as those of `three_step_covariates` do.

    References
    ----------
    .. [1] Bakk, Z., Tekle, F. B. and Vermunt, J. K. (2013). Estimating the association between latent class membership
       and external variables using bias-adjusted three-step approaches. Sociological Methodology 43, 272-311.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import LatentClass, three_step_outcome
    >>> rng = np.random.default_rng(0)
    >>> old = rng.random(800) < 0.4
    >>> items = (rng.random((800, 6)) < np.where(old, 0.8, 0.3)[:, None]).astype(int)
    >>> income = rng.normal(np.where(old, 3.0, 1.0), 1.0)
    >>> model = LatentClass(2, random_state=0).fit(items)
    >>> three_step_outcome(model, items, income).estimates.round(1)
    array([[1. ],
           [3.1]])
    """
    values, missing, categories = _outcome_values(outcome)
    _left_out(missing, "the outcome")
    rows = assignments(model, X, sample_weight, ~missing)
    values = values[~missing]
    if method == "bch":
        estimates, covariance = _weighted_means(values, rows)
    else:
        estimates, covariance = _mixture_means(values, rows, bool(categories))
    return ThreeStepOutcome(categories, estimates, covariance, method, float(rows.masses.sum()))


def _outcome_values(outcome: Any) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Numbers (n, 1), or indicators of the categories (n, C); which are missing; the categories, if any."""
    values = np.asarray(outcome)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"outcome has shape {values.shape}, and one column is needed.")
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)[:, None], np.isnan(values.astype(np.float64)), []
    values = values.astype(object)
    missing = np.array([each is None or type(each).__name__ == "NAType" or each != each for each in values], dtype=bool)
    if missing.all():
        return np.zeros((len(values), 1)), missing, []
    categories = sorted(set(values[~missing].tolist()), key=lambda each: (type(each).__name__, each))
    if len(categories) < 2:
        raise ValueError(f"outcome has {counted(len(categories), 'category', 'categories')}, and two are needed.")
    if len(categories) > 50:
        raise ValueError(
            f"outcome has {len(categories)} categories, such as {listed_values(categories, 3)}: give numbers."
        )
    indicators = np.array([[each == category for category in categories] for each in values], dtype=np.float64)
    return indicators, missing, categories


def _weighted_means(values: np.ndarray, rows: Assignments) -> tuple[np.ndarray, np.ndarray]:
    """Means (K, C) by BCH weights, and their robust covariance."""
    inverse = np.linalg.inv(rows.errors)
    weights, n_classes = inverse[rows.assigned], len(inverse)
    sizes = rows.masses @ weights
    means = (weights * rows.masses[:, None]).T @ values / sizes[:, None]
    scores = (weights[:, :, None] * (values[:, None, :] - means)).reshape(len(values), -1)
    # Of class k, the gaps are those to its own mean.
    sums = _weight_slopes(inverse, rows, np.column_stack([values, np.ones(len(values))]))
    slopes = sums[:, :-1] - means[:, :, None, None] * sums[:, -1:]
    bread = np.diag(1 / np.repeat(sizes, values.shape[1]))
    return means, rows.covariance(scores, slopes.reshape(-1, n_classes, n_classes), bread)


def _mixture_means(values: np.ndarray, rows: Assignments, categorical: bool) -> tuple[np.ndarray, np.ndarray]:
    """Means of normal outcomes, or shares of categories, by EM with given probabilities of the assignments."""
    likelihoods, masses = rows.errors[:, rows.assigned].T, rows.masses
    n_classes = likelihoods.shape[1]
    sizes = np.full(n_classes, 1 / n_classes)
    start = likelihoods / likelihoods.sum(axis=1, keepdims=True) * masses[:, None]
    means = start.T @ values / start.sum(axis=0)[:, None]
    variances = np.full(n_classes, float(masses @ (values[:, 0] - masses @ values[:, 0] / masses.sum()) ** 2))
    variances = np.maximum(variances / masses.sum(), 1e-300)
    lowest = 1e-6 * variances[0]
    before = -np.inf
    for _ in range(20 * _MAX_STEPS):
        if categorical:
            logs = values @ np.log(np.maximum(means, 1e-10)).T
        else:
            logs = -0.5 * np.log(2 * np.pi * variances) - 0.5 * (values - means[:, 0]) ** 2 / variances
        joint = np.log(sizes) + np.log(np.maximum(likelihoods, 1e-300)) + logs
        top = joint.max(axis=1, keepdims=True)
        posteriors = np.exp(joint - top)
        totals = posteriors.sum(axis=1, keepdims=True)
        posteriors /= totals
        objective = float(masses @ (np.log(totals) + top)[:, 0])
        if objective - before <= 1e-12 * abs(objective):
            break
        before = objective
        members = posteriors * masses[:, None]
        counts = np.maximum(members.sum(axis=0), 1e-300)
        sizes = np.maximum(counts / counts.sum(), 1e-10)
        means = members.T @ values / counts[:, None]
        if not categorical:
            variances = np.maximum((members * (values - means[:, 0]) ** 2).sum(axis=0) / counts, lowest)
    if categorical:
        return means, _share_covariance(values, posteriors, rows, sizes, means)
    return means, _normal_covariance(values[:, 0], posteriors, rows, sizes, means[:, 0], variances)


def _robust_covariance(
    posteriors: np.ndarray, rows: Assignments, sizes: np.ndarray, scores: list[np.ndarray], complete: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Sandwich covariance of all parameters, class after class with its size first, and where the classes begin."""
    starts = np.concatenate([[0], np.cumsum([each.shape[1] for each in scores])])
    information = size_information(sizes, rows.masses, starts) - score_covariance(posteriors, rows.masses, scores)
    for k, each in enumerate(complete):
        information[starts[k] + 1 : starts[k + 1], starts[k] + 1 : starts[k + 1]] += each
    sums = np.column_stack([posteriors[:, [k]] * each for k, each in enumerate(scores)])
    sums[:, starts[:-1]] -= sizes
    slopes = np.concatenate([_posterior_slopes(posteriors, rows, each)[k] for k, each in enumerate(scores)])
    free = np.delete(np.arange(starts[-1]), 0)
    bread = linalg.pinvh(information[np.ix_(free, free)])
    found = np.zeros_like(information)
    found[np.ix_(free, free)] = rows.covariance(sums[:, free], slopes[free], bread)
    return found, starts


def _normal_covariance(
    values: np.ndarray,
    posteriors: np.ndarray,
    rows: Assignments,
    sizes: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
) -> np.ndarray:
    scores, complete = [], []
    for k, (mean, variance) in enumerate(zip(means, variances, strict=True)):
        gaps = values - mean
        own = rows.masses * posteriors[:, k]
        scores.append(np.column_stack([np.ones(len(gaps)), gaps / variance, (gaps**2 / variance - 1) / 2]))
        across = own @ gaps / variance
        complete.append(np.array([[own.sum() / variance, across], [across, own @ gaps**2 / (2 * variance)]]))
    covariance, starts = _robust_covariance(posteriors, rows, sizes, scores, complete)
    places = starts[:-1] + 1
    return covariance[np.ix_(places, places)]


def _share_covariance(
    indicators: np.ndarray, posteriors: np.ndarray, rows: Assignments, sizes: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Covariance of the shares (K C, K C): in logits against the first category, then by the delta method."""
    scores, complete, slopes = [], [], []
    for k, own in enumerate(shares):
        spread = np.diag(own) - np.outer(own, own)
        scores.append(np.column_stack([np.ones(len(indicators)), indicators[:, 1:] - own[1:]]))
        complete.append(rows.masses @ posteriors[:, k] * spread[1:, 1:])
        slopes.append(np.column_stack([np.zeros(len(own)), spread[:, 1:]]))
    covariance, _ = _robust_covariance(posteriors, rows, sizes, scores, complete)
    slope = linalg.block_diag(*slopes)
    return slope @ covariance @ slope.T
