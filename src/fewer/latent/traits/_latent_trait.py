"""Latent trait analysis (item response theory) as an estimator. The mathematics is in `_trait_model`."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, check_feature_names_in, fit_context, warn_caller
from fewer._wording import counted
from fewer.catalogue import method
from fewer.latent._latent_model import LatentModel, Stride, accelerated, climb, warn_of_constant_columns
from fewer.latent.classes._items import (
    answer_columns,
    codes_of,
    indicator_matrix,
    response_patterns,
    training_items,
    warn_of_measurements,
    warn_of_other_values,
)
from fewer.latent.factors._loadings import ROTATIONS, rotated
from fewer.latent.traits._item_table import ItemTable
from fewer.latent.traits._trait_model import (
    MOST_DIMENSIONS,
    Nodes,
    Traits,
    drawn_nodes,
    item_groups,
    quadrature_nodes,
)

_MOST_ANSWERS = 250
_MOST_WORK = 4e10
_STEEP = 15.0
_NODES = {1: 61, 2: 21, 3: 13}
_LARGEST_ERROR = 1e-4


@method(
    tasks=["unsupervised"],
    when="Items of a test or questionnaire with a few answers each, which one or a few continuous traits (ability, "
    "attitude, severity) are thought to explain; missing answers are left out. For types of rows instead of a scale, "
    "take LatentClass.",
    cost="O(n p q) time an iteration, for q nodes of the integral (n_quadrature to the power of the number of traits)",
    paper="latent-structure",
    aliases=["item response theory", "IRT", "2PL", "mirt"],
    says="latent traits",
    examples=lambda: [
        LatentTrait(max_iter=3, tol=1e-3, n_quadrature=5),
        LatentTrait(2, ordinal=[0], rotation="varimax", max_iter=2, tol=1e-3, n_quadrature=3),
    ],
)
class LatentTrait(LatentModel):
    """Latent traits behind items with a few answers (item response theory).

    The log-odds of each answer are linear in a trait that is normally distributed over the rows. Slopes and intercepts
    maximise the likelihood of the answers, with the trait integrated out.

    Parameters
    ----------
    n_components : int, default=1
        Number of traits.
    ordinal : {"auto"} or array-like or None, default=None
        Items whose answers have an order that the model uses: names or positions of columns, a mask, or "auto" for the
        ordered categoricals of a pandas frame. Such an item has one slope for all steps between adjacent answers (the
        generalised partial credit model); others have a slope for each answer. Items with two answers are the
        two-parameter logistic model in either case.
    categories : "auto" or list of array-like, default="auto"
        Answers of each item, in their order. By default those that occur: in the order that a categorical column
        declares, and sorted otherwise.
    rotation : {"varimax", "quartimax", "promax", "oblimin", "geomin"} or None, default=None
        Rotation of the slopes of several traits towards a simple structure.
    n_quadrature : int, default=None
        Nodes of the Gauss-Hermite rule in each dimension, for up to three traits: by default 61 for one trait, 21 for
        two and 13 for three. Many steep items need more; a warning says so.
    n_draws : int, default=2000
        Quasi-random draws that replace the rule for more than three traits.
    n_init : int, default=1
        Number of starts: the first from principal components of the answers, others perturbed.
    max_iter : int, default=500
        Maximum number of iterations, each of up to three steps of EM.
    tol : float, default=1e-8
        Stop when the log-likelihood changes by less than this share of its size.
    random_state : int, RandomState instance or None, default=None
        Draws the further starts, and the nodes for more than three traits.

    Attributes
    ----------
    slopes_ : list of ndarray of shape (n_categories - 1, n_components)
        For each item, slopes of the log-odds of each further answer against the first one.
    intercepts_ : list of ndarray of shape (n_categories - 1,)
        The same for the intercepts.
    components_ : ndarray of shape (n_components, n_slopes)
        All slopes, those of the first item first.
    categories_ : list of ndarray
        Answers of each item.
    ordinal_ : ndarray of bool of shape (n_features,)
        Which items are ordinal.
    trait_correlations_ : ndarray of shape (n_components, n_components)
        Correlations of the traits; the identity unless the rotation is oblique.
    quadrature_error_ : float
        By which share of its size the log-likelihood changes with twice as many nodes; NaN for three or more traits.
    covariance_ : ndarray of shape (n_parameters, n_parameters) or None
        Covariance of the parameters of items, from the observed information; None with several traits, whose slopes
        are determined up to a rotation only, or for large tables.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood at the beginning of each iteration.
    objectives_ : ndarray of shape (n_init,)
        Log-likelihood at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters: intercepts, and slopes up to a rotation.
    n_components_ : int
        Number of traits.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LatentClass : Types of rows instead of a scale.
    FactorAnalysis : Factors behind numbers.

    Notes
    -----
    A missing answer (NaN, None, pandas' NA) drops its factor, which is exact where answers are missing at random. So
    does an answer that did not occur in ``fit``. The slope of an item that separates the rows perfectly grows without
    limit; a warning names such items.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83. Springer.
    .. [2] Bock, R. D. and Aitkin, M. (1981). Marginal maximum likelihood estimation of item parameters: application of
       an EM algorithm. Psychometrika 46, 443-459.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.latent import LatentTrait
    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=1000)
    >>> right = rng.random((1000, 4)) < 1 / (1 + np.exp(-2 * (ability[:, None] - [-1, 0, 0.5, 1])))
    >>> model = LatentTrait().fit(np.where(right, "right", "wrong"))
    >>> bool(np.corrcoef(model.transform(np.where(right, "right", "wrong"))[:, 0], ability)[0, 1] ** 2 > 0.6)
    True
    """

    _parameter_constraints = {
        **LatentModel._parameter_constraints,
        "ordinal": [StrOptions({"auto"}), "array-like", None],
        "categories": [StrOptions({"auto"}), list, tuple],
        "rotation": [StrOptions(set(ROTATIONS)), None],
        "n_quadrature": [Interval(Integral, 2, 150, closed="both"), None],
        "n_draws": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        n_components=1,
        *,
        ordinal=None,
        categories="auto",
        rotation=None,
        n_quadrature=None,
        n_draws=2000,
        n_init=1,
        max_iter=500,
        tol=1e-8,
        random_state=None,
    ):
        self.n_components = n_components
        self.ordinal = ordinal
        self.categories = categories
        self.rotation = rotation
        self.n_quadrature = n_quadrature
        self.n_draws = n_draws
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Estimate slopes and intercepts of the items.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Answers: numbers, text or categoricals; NaN, None or NA where missing.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        columns, codes, weights = training_items(self, X, sample_weight)
        sizes = np.maximum([len(each) for each in self.categories_], 1)
        if sizes.max() < 2:
            raise ValueError(
                f"Every item has a single answer in n_samples = {len(codes)} rows: there is nothing that a trait could "
                "explain."
            )
        warn_of_measurements(columns, self.categories_, self._column_names(), "FactorAnalysis")
        self._refuse_measurements(sizes)
        warn_of_constant_columns(self, np.flatnonzero(sizes == 1))
        self._warn_if_not_identified(sizes)
        patterns = response_patterns(codes, weights, sizes)
        self._points, self._log_weights = self._new_nodes()
        traits = Traits(indicator_matrix(patterns.codes, sizes), patterns.weights, sizes, self.ordinal_, self._nodes())
        step = accelerated(traits.em_step, lambda vector: vector)
        n_starts = 0

        def run(random, on_step):
            nonlocal n_starts
            start = Stride(traits.start(random, perturbed=n_starts > 0))
            n_starts += 1
            return climb(start, step, max_iter=self.max_iter, tol=self.tol, on_step=on_step)

        self._traits = traits
        try:
            return self._fit_starts(run, np.empty((len(codes), 1)))
        finally:
            del self._traits

    def _warn_if_not_identified(self, sizes: np.ndarray) -> None:
        """Warn where there are more slopes than associations of pairs of answers, which determine them."""
        free, d = sizes - 1, int(self.n_components)
        slopes = int(d * np.where(self.ordinal_, np.minimum(free, 1), free).sum() - d * (d - 1) // 2)
        pairs = int((free.sum() ** 2 - (free**2).sum()) // 2)
        if slopes > pairs:
            warn_caller(
                f"{counted(d, 'trait')} of {counted(len(sizes), 'item')} {'has' if d == 1 else 'have'} "
                f"{counted(slopes, 'slope')}, and the items have {counted(pairs, 'association')} of pairs of answers: "
                "slopes are not determined. Take fewer traits, or more items."
            )

    def _refuse_measurements(self, sizes: np.ndarray) -> None:
        """Raise for items whose Newton steps would take hours: their parameters are solved for together."""
        if sizes.max() > _MOST_ANSWERS:
            name = self._column_name(int(sizes.argmax()))
            raise ValueError(
                f"Column {name} has {sizes.max()} different values, and LatentTrait takes items with up to "
                f"{_MOST_ANSWERS} answers: cut it into a few, or use FactorAnalysis for measurements."
            )

    def _new_nodes(self) -> Nodes:
        if self.n_components <= MOST_DIMENSIONS:
            return quadrature_nodes(self.n_components, self.n_quadrature or _NODES[self.n_components])
        return drawn_nodes(self.n_components, self.n_draws, check_random_state(self.random_state))

    def _nodes(self) -> Nodes:
        return Nodes(self._points, self._log_weights)

    def _keep(self, state: Stride) -> None:
        traits, d = self._traits, int(self.n_components)
        self._vector = state.vector
        intercepts: list[np.ndarray] = [np.zeros(0)] * len(traits.sizes)
        slopes: list[np.ndarray] = [np.zeros((0, d))] * len(traits.sizes)
        for group, own in zip(traits.groups, traits.parts(state.vector), strict=True):
            steps = group.design.shape[1] - 1
            for item, parameters in zip(group.items, own, strict=True):
                intercepts[item] = parameters[:steps]
                rest = parameters[steps:].reshape(-1, d)
                slopes[item] = np.arange(1, steps + 1)[:, None] * rest if group.ordinal else rest
        found = rotated(np.concatenate(slopes), self.rotation)
        self._turn, self.trait_correlations_ = found.turn, found.correlations
        ends = np.cumsum([len(each) for each in slopes])[:-1]
        self.slopes_, self.intercepts_ = np.split(found.loadings, ends), intercepts
        self.components_ = found.loadings.T
        self.n_components_ = d
        self.n_parameters_ = int(traits.n_parameters - d * (d - 1) // 2)
        self.score_type_ = "log-likelihood"
        self.covariance_ = self._covariance(traits)
        self._warn_of_steep_items()
        self.quadrature_error_ = self._quadrature_error(traits)
        if self.quadrature_error_ > _LARGEST_ERROR:
            warn_caller(
                f"With twice as many nodes the log-likelihood changes by {self.quadrature_error_:.1g} of its size: the "
                "integral over the trait is not exact. Raise n_quadrature."
            )

    def _quadrature_error(self, traits: Traits) -> float:
        d = self.n_components_
        if d >= MOST_DIMENSIONS:
            return np.nan
        finer = quadrature_nodes(d, 2 * (self.n_quadrature or _NODES[d]))
        values = []
        for nodes in (traits.nodes, finer):
            same = Traits(traits.indicators, traits.weights, traits.sizes, self.ordinal_, nodes)
            blocks = same.posterior(same.indicators, same.log_table(self._vector))
            values.append(sum(float(same.weights[rows] @ logs) for rows, _, _, logs in blocks))
        return abs(values[1] - values[0]) / max(abs(values[1]), 1e-300)

    def _covariance(self, traits: Traits) -> np.ndarray | None:
        work = float(traits.n_parameters) ** 2 * len(traits.weights) * len(traits.nodes.points)
        if self.n_components_ > 1 or work > _MOST_WORK or traits.n_parameters >= traits.weights.sum():
            return None
        values, vectors = np.linalg.eigh(traits.information(self._vector))
        if values[0] <= 1e-10 * max(values[-1], 1e-300):  # some parameters have no limit
            return None
        return (vectors / values) @ vectors.T

    def _warn_of_steep_items(self) -> None:
        names = self._column_names()
        steps = [own[:1] if is_ordinal else own for own, is_ordinal in zip(self.slopes_, self.ordinal_, strict=True)]
        steep = [name for name, own in zip(names, steps, strict=True) if np.any(np.abs(own) > _STEEP)]
        if steep:
            warn_caller(
                f"The slopes of {', '.join(steep[:5])} exceed {_STEEP:g}: these items separate the rows nearly "
                "perfectly, as items with many answers in few rows do, and their slopes are not determined. Leave them "
                "out, or merge answers; FactorAnalysis is for measurements."
            )

    def _posterior(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means of the traits before rotation, and log-likelihoods of rows."""
        check_is_fitted(self)
        columns = answer_columns(self, X, reset=False)
        sizes = np.maximum([len(each) for each in self.categories_], 1)
        codes = np.column_stack([codes_of(column, own) for column, own in zip(columns, self.categories_, strict=True)])
        warn_of_other_values(columns, self.categories_, codes, self._column_names(), "trait")
        patterns = response_patterns(codes, np.ones(len(codes)), sizes)
        indicators = indicator_matrix(patterns.codes, sizes)
        traits = Traits(indicators, patterns.weights, sizes, self.ordinal_, self._nodes())
        found = list(traits.posterior(indicators, traits.log_table(self._vector)))
        means = np.concatenate([shares @ self._points for _, _, shares, _ in found])
        logs = np.concatenate([logs for _, _, _, logs in found])
        return means[patterns.of_row], logs[patterns.of_row]

    def transform(self, X):
        """Posterior means of the traits, given the answers of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Answers.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            A row without any answer has 0, the mean of the trait.
        """
        found = self._posterior(X)[0] @ self._turn.T
        return found.astype(np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)

    def score_samples(self, X):
        """Log-likelihood of the answers of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Answers.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; more is better.
        """
        return self._posterior(X)[1]

    def item_probabilities(self, Z):
        """Probabilities of all answers at given values of the traits.

        Parameters
        ----------
        Z : array-like of shape (n_points, n_components)
            Values of the traits.

        Returns
        -------
        probabilities : list of ndarray of shape (n_points, n_categories)
            One for each item.
        """
        check_is_fitted(self)
        Z = np.asarray(Z, dtype=np.float64).reshape(-1, self.n_components_)
        found = []
        for slopes, intercepts in zip(self.slopes_, self.intercepts_, strict=True):
            logits = np.column_stack([np.zeros(len(Z)), Z @ slopes.T + intercepts])
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            found.append(odds / odds.sum(axis=1, keepdims=True))
        return found

    def sample(self, n_samples=1, random_state=None):
        """Draw rows of answers from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Answers.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        Z = random.standard_normal((n_samples, self.n_components_)) @ self._turn.T
        drawn = []
        for probabilities, known in zip(self.item_probabilities(Z), self.categories_, strict=True):
            running = np.cumsum(probabilities, axis=1)
            codes = np.sum(random.uniform(size=(n_samples, 1)) > running[:, :-1], axis=1)
            drawn.append(known[codes] if len(known) else np.full(n_samples, np.nan))
        numbers = all(each.dtype.kind in "biuf" for each in drawn)
        return np.column_stack(drawn if numbers else [each.astype(object) for each in drawn])

    def item_table(self):
        """The table of slopes and difficulties, as it is published.

        Returns
        -------
        table : ItemTable
            Prints itself; ``plot()`` draws the curves of the items.
        """
        check_is_fitted(self)
        names = [str(name) for name in check_feature_names_in(self)]
        variances = self._parameter_covariances()
        rows: list[tuple[str, Any, np.ndarray, np.ndarray, float, float]] = []
        for item, name in enumerate(names):
            slopes, intercepts = self.slopes_[item], self.intercepts_[item]
            adjacent = self.ordinal_[item] and len(intercepts) > 1
            if adjacent:
                intercepts = np.diff(intercepts, prepend=0.0)
                slopes = np.broadcast_to(slopes[:1], slopes.shape)
            for place in range(len(intercepts)):
                slope, length = slopes[place], float(np.linalg.norm(slopes[place]))
                difficulty = -intercepts[place] / (slope[0] if self.n_components_ == 1 else length or np.nan)
                errors = np.full(self.n_components_, np.nan), np.nan
                if variances is not None:
                    errors = _errors(variances[item], place, len(intercepts), adjacent, slope[0], difficulty)
                answer = self.categories_[item][place + 1]
                rows.append((name, answer, slope, errors[0], float(difficulty), float(errors[1])))
        points = np.linspace(-4, 4, 81)
        grid = np.zeros((81, self.n_components_))
        grid[:, 0] = points
        curves = {
            name: each @ np.arange(each.shape[1]) / (each.shape[1] - 1)
            for name, each in zip(names, self.item_probabilities(grid), strict=True)
            if each.shape[1] > 1
        }
        columns = list(zip(*rows, strict=True))
        return ItemTable(
            list(columns[0]),
            list(columns[1]),
            np.array(columns[2]),
            np.array(columns[3]),
            np.array(columns[4]),
            np.array(columns[5]),
            curves,
            points,
        )

    def _parameter_covariances(self) -> dict[int, np.ndarray] | None:
        """Covariance of the parameters of each item, intercepts first, with the slope in the direction of the table."""
        if self.covariance_ is None:
            return None
        sizes = np.maximum([len(each) for each in self.categories_], 1)
        found, start = {}, 0
        for group in item_groups(sizes, self.ordinal_, Nodes(np.zeros((1, 1)), np.zeros(1))):
            P = group.design.shape[2]
            sign = np.ones(P)
            sign[group.design.shape[1] - 1 :] = self._turn[0, 0]
            for item in group.items:
                inside = slice(start, start + P)
                found[int(item)] = self.covariance_[inside, inside] * np.outer(sign, sign)
                start += P
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _errors(
    covariance: np.ndarray, place: int, n_steps: int, adjacent: bool, slope: float, difficulty: float
) -> tuple[np.ndarray, float]:
    """Standard errors of a slope and, by the delta method, of ``-intercept / slope``."""
    of_slope = np.zeros(len(covariance))
    of_slope[n_steps if adjacent else n_steps + place] = 1
    of_intercept = np.zeros(len(covariance))
    of_intercept[place] = 1
    if adjacent and place:
        of_intercept[place - 1] = -1
    of_difficulty = -(of_intercept + difficulty * of_slope) / slope
    return np.array([np.sqrt(of_slope @ covariance @ of_slope)]), np.sqrt(of_difficulty @ covariance @ of_difficulty)
