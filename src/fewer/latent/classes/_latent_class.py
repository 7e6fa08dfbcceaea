"""Latent class analysis: rows of categorical answers as a mixture of classes in which the items are independent.

    P(y_n) = sum_k eta_k prod_i theta_ik,y_ni,

the product over the answers that are there. Titterington, M. (2006), Some aspects of latent structure analysis.
"""

from collections.abc import Iterable
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context, warn_caller
from fewer._wording import counted
from fewer.catalogue import method
from fewer.latent._bayesian_solvers import BayesianSolvers, matched_orders, refuse_fractions
from fewer.latent._latent_model import (
    Climb,
    Stride,
    accelerated,
    climb,
    warn_of_constant_columns,
    warn_of_few_rows,
)
from fewer.latent.classes._class_information import (
    MOST_PARAMETERS,
    Information,
    class_information,
    classification_table,
    item_information,
    relative_entropy,
    standard_errors,
)
from fewer.latent.classes._class_profile import ClassProfile
from fewer.latent.classes._class_steps import (
    ClassClimb,
    Classes,
    ClassPosterior,
    answer_counts,
    class_posteriors,
    drawn_members,
    drawn_theta,
)
from fewer.latent.classes._items import (
    UNSEEN,
    Patterns,
    answer_columns,
    codes_of,
    response_patterns,
    training_items,
    warn_of_measurements,
    warn_of_other_values,
)
from fewer.latent.classes._row_classes import RowClasses


class ClassDraws(NamedTuple):
    """Draws from the posterior, with classes in the same order in all of them.

    Class sizes (draws, K), probabilities of all categories of all items (draws, categories, K), and log-likelihoods
    (chains, draws of each chain).
    """

    weights: np.ndarray
    theta: np.ndarray
    log_likelihoods: np.ndarray


@method(
    tasks=["unsupervised"],
    when="Survey items, symptoms, votes or other categorical columns, with missing answers: which types of rows there "
    "are, and how each answers. Its posteriors are few new columns instead of many categories.",
    cost="O(n p k) time an iteration, less where rows repeat",
    paper="latent-structure",
    aliases=("lca", "latent class analysis"),
    says="latent classes",
    examples=lambda: [
        LatentClass(2, n_init=2, max_iter=30, tol=1e-4),
        LatentClass(2, solver="variational_bayes", n_init=1, max_iter=30, tol=1e-4),
        LatentClass(2, solver="gibbs", n_draws=20, n_burn_in=10, n_chains=1),
    ],
)
class LatentClass(BayesianSolvers, RowClasses):
    """Latent class analysis of categorical items, with missing answers.

    Parameters
    ----------
    n_components : int, default=2
        Number of classes.
    ordinal : {"auto"} or array-like or None, default=None
        Items whose categories have an order that the model uses: names or positions of columns, a mask, or "auto" for
        the ordered categoricals of a pandas frame. Such an item has one intercept for each category and one slope for
        each class (adjacent-category logits). By default, all items have free probabilities.
    categories : "auto" or list of array-like, default="auto"
        Categories of each item, in their order. By default those that occur: in the order that a categorical column
        declares, and sorted otherwise.
    category_prior : float, default=1.0
        Parameter of the Dirichlet prior of the answers of a class to an item (alpha): 1 is maximum likelihood with
        ``solver="em"``, and 2 adds one answer to each category.
    weight_concentration_prior : float, default=1.0
        The same for the class sizes.
    solver : {"em", "variational_bayes", "gibbs"}, default="em"
        Maximum likelihood, or the mode of the posterior if the priors are above 1; Dirichlet posteriors with a lower
        bound on the evidence; or draws from the posterior. The last two are for nominal items.
    n_init : int, default=10
        Number of random starts of "em" and "variational_bayes"; the best is kept.
    max_iter : int, default=1000
        Maximum number of iterations, each of up to three steps of EM.
    tol : float, default=1e-8
        Stop when the objective changes by less than this share of its size.
    n_draws : int, default=1000
        Draws of "gibbs" that each chain keeps.
    n_burn_in : int, default=500
        Draws at the beginning of each chain that are left out.
    thin : int, default=1
        Keep one of every ``thin`` draws.
    n_chains : int, default=2
        Number of chains.
    random_state : int, RandomState instance or None, default=None
        Draws the starts and the chains.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Class sizes, the largest first; posterior means for the last two solvers.
    probabilities_ : list of ndarray of shape (n_components, n_categories)
        For each item, probabilities of its categories in each class.
    categories_ : list of ndarray
        Categories of each item.
    ordinal_ : ndarray of bool of shape (n_features,)
        Which items are ordinal.
    components_ : ndarray of shape (n_components, n_all_categories)
        Probabilities of all categories one after another, divided by the number of items.
    weight_errors_ : ndarray of shape (n_components,)
        Standard errors of the class sizes, from the observed information; posterior standard deviations for the last
        two solvers. NaN where there are more than 600 parameters, or the information is singular.
    probability_errors_ : list of ndarray of shape (n_components, n_categories)
        Standard errors of the probabilities; NaN for those on the boundary.
    item_information_ : ndarray of shape (n_features,)
        Share of the entropy of the class that each item explains by itself.
    entropy_ : float
        Relative entropy of the posteriors: 1 where every training row belongs to one class.
    classification_table_ : ndarray of shape (n_components, n_components)
        Expected number of rows of each class (rows) among those assigned to each class (columns).
    log_likelihood_ : float
        Of the training rows.
    lower_bound_ : float or None
        Of "variational_bayes": the bound on the log evidence.
    draws_ : ClassDraws or None
        Of "gibbs": the draws, with classes in the same order in all of them.
    n_rows_ : float
        Training rows, by weight.
    objective_path_ : ndarray of shape (n_iter,)
        Objective at the beginning of each iteration: log-likelihood and log prior, or the bound; log-likelihoods of
        the draws of the first chain for "gibbs".
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start; the mean over the draws of each chain for "gibbs".
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of classes.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    LatentProfile : The same for numbers.
    select_n_components : How many classes; ``criterion="bootstrap"`` tests it.
    three_step_covariates : What the classes depend on.
    three_step_outcome : What depends on the classes.

    Notes
    -----
    A missing answer (NaN, None, pandas' NA) drops its factor, which is exact where answers are missing at random. A
    category that was not there in ``fit`` has no effect on the class, and counts as one new answer in
    ``score_samples``.

    Weights are frequencies: a row of weight 2 is the same as the row twice, also for standard errors.

    Variational Bayes has good posterior means, but its posterior variances are too small [1]_.

    References
    ----------
    .. [1] Titterington, D. M. (2006). Some aspects of latent structure analysis. In Subspace, Latent Structure and
       Feature Selection, LNCS 3940, 69-83.
    .. [2] Louis, T. A. (1982). Finding the observed information matrix when using the EM algorithm. Journal of the
       Royal Statistical Society B 44, 226-233.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewer.latent import LatentClass
    >>> answers = pd.DataFrame({
    ...     "reads": ["yes", "yes", "yes", "no", "no", "yes", "no"] * 20,
    ...     "walks": ["yes", "yes", "yes", "no", None, "yes", "no"] * 20,
    ...     "plays": ["often", "often", "never", "never", "never", "often", "often"] * 20,
    ... })
    >>> model = LatentClass(2, random_state=0).fit(answers)
    >>> print(model.profile())
    2 latent classes of 140 rows
                        class 0       class 1
    size            0.57 (0.04)   0.43 (0.04)
    reads = yes     1.00          0.00
    walks = yes     1.00          0.00
    plays = often   0.75 (0.05)   0.33 (0.06)
    log-likelihood -178.78, 7 parameters, BIC 392.16, AIC 371.57
    The classes differ most in reads, walks, plays. Rows belong clearly to one class (relative entropy 1.00). 10 of 10
    starts reached the best optimum.
    """

    _parameter_constraints = {
        **RowClasses._parameter_constraints,
        **BayesianSolvers._parameter_constraints,
        "ordinal": [StrOptions({"auto"}), "array-like", None],
        "categories": [StrOptions({"auto"}), list, tuple],
        "category_prior": [Interval(Real, 0, None, closed="neither")],
        "weight_concentration_prior": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        ordinal=None,
        categories="auto",
        category_prior=1.0,
        weight_concentration_prior=1.0,
        solver="em",
        n_init=10,
        max_iter=1000,
        tol=1e-8,
        n_draws=1000,
        n_burn_in=500,
        thin=1,
        n_chains=2,
        random_state=None,
    ):
        self.n_components = n_components
        self.ordinal = ordinal
        self.categories = categories
        self.category_prior = category_prior
        self.weight_concentration_prior = weight_concentration_prior
        self.solver = solver
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_draws = n_draws
        self.n_burn_in = n_burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Answers: numbers, text or categoricals; NaN, None or NA where missing.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; whole numbers for "gibbs".

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_solver()
        patterns = self._training_patterns(X, sample_weight)
        self._warn_if_not_identified()
        warn_of_constant_columns(self, np.flatnonzero([len(each) == 1 for each in self.categories_]))
        warn_of_few_rows(self.n_components, len(patterns.codes))
        if self.solver == "gibbs":
            return self._fit_draws(patterns, X)
        priors = (float(self.weight_concentration_prior), float(self.category_prior))
        if self.solver == "em":
            climber: Any = ClassClimb(patterns, self.n_components, priors, self.ordinal_)
        else:
            climber = ClassPosterior(patterns, self.n_components, priors)
        step = accelerated(climber.step, climber.settled)
        limits = {"max_iter": self.max_iter, "tol": self.tol}
        self._climber = climber
        try:
            self._fit_starts(lambda random, on_step: self._climbed(climber, step, random, on_step, limits), X)
        finally:
            del self._climber
        return self

    @staticmethod
    def _climbed(climber: Any, step: Any, random: Any, on_step: Any, limits: dict[str, Any]) -> Climb:
        return climb(Stride(climber.start(random)), step, on_step=on_step, **limits)

    def _check_solver(self) -> None:
        if self.solver == "em":
            for name in ("category_prior", "weight_concentration_prior"):
                if getattr(self, name) < 1:
                    raise ValueError(
                        f"{name}={getattr(self, name)} has no posterior mode: solver='em' needs at least 1, and "
                        "solver='variational_bayes' takes smaller values as well."
                    )

    def _training_patterns(self, X: Any, sample_weight: Any) -> Patterns:
        """Categories, and the distinct rows; rows of weight 0 are left out."""
        columns, codes, weights = training_items(self, X, sample_weight)
        if self.ordinal_.any() and self.solver != "em":
            raise ValueError(f"solver={self.solver!r} is for nominal items: use solver='em', or ordinal=None.")
        warn_of_measurements(columns, self.categories_, self._column_names(), "LatentProfile")
        # An item without any answer has one category, without information.
        sizes = np.maximum([len(each) for each in self.categories_], 1)
        self._log_unseen = -np.log((weights @ (codes >= 0)) + sizes + 1)
        patterns = response_patterns(codes, weights, sizes)
        self.n_components_ = int(self.n_components)
        self.n_rows_ = float(patterns.weights.sum())
        k = self.n_components_
        free = np.where(self.ordinal_, sizes - 1 + (sizes > 1) * (k - 1), k * (sizes - 1))
        self.n_parameters_ = int(k - 1 + free.sum())
        return patterns

    def _warn_if_not_identified(self) -> None:
        sizes = [max(len(each), 1) for each in self.categories_]
        n_cells = float(np.sum(np.log(sizes)))
        if self.n_components > 1 and np.log(self.n_parameters_ + 1) > n_cells + 1e-9:
            warn_caller(
                f"{counted(self.n_parameters_, 'parameter')} cannot be identified from a table of "
                f"{counted(round(float(np.exp(n_cells))), 'different row')} of answers: {self.n_components} classes "
                "need more items, or take fewer classes."
            )

    def _keep(self, state: Stride) -> None:
        climber = self._climber
        classes = climber.classes(state.vector)
        self.draws_: ClassDraws | None = None
        self.lower_bound_ = None
        if self.solver == "em":
            few = self.n_parameters_ <= MOST_PARAMETERS
            nothing = Classes(np.full(len(classes.weights), np.nan), np.full(classes.theta.shape, np.nan))
            errors = standard_errors(climber.patterns, classes, self.ordinal_) if few else nothing
        else:
            self.lower_bound_ = climber.step(state.vector)[1]
            errors = climber.standard_deviations(state.vector)
            self._posterior = state.vector
        order = self._keep_classes(climber.patterns, classes, errors)
        if self.solver != "em":
            weights, answers, _ = climber.parts(state.vector)
            self._posterior = np.concatenate([weights[order], answers[:, order].ravel()])

    def _keep_classes(self, patterns: Patterns, classes: Classes, errors: Classes) -> np.ndarray:
        """Set what all solvers give, the largest class first; the order of the classes."""
        order = np.argsort(-classes.weights, kind="stable")
        classes, errors = (Classes(each.weights[order], each.theta[:, order]) for each in (classes, errors))
        sizes, offsets = patterns.n_categories, patterns.offsets
        posteriors, logs = class_posteriors(patterns.blocks, Classes(*map(np.ascontiguousarray, classes)))
        self.weights_, self.weight_errors_ = classes.weights.copy(), errors.weights
        known = [len(each) for each in self.categories_]
        self.probabilities_ = [
            np.ascontiguousarray(classes.theta[start : start + size].T)
            for start, size in zip(offsets, known, strict=True)
        ]
        self.probability_errors_ = [
            np.ascontiguousarray(errors.theta[start : start + size].T)
            for start, size in zip(offsets, known, strict=True)
        ]
        self.components_ = np.ascontiguousarray(classes.theta.T) / len(sizes)
        self.item_information_ = item_information(classes, offsets)
        self.entropy_ = relative_entropy(posteriors, patterns.weights)
        self.classification_table_ = classification_table(posteriors, patterns.weights)
        self.log_likelihood_ = float(patterns.weights @ logs)
        self.score_type_ = "log-likelihood"
        return order

    def _fit_draws(self, patterns: Patterns, X: Any):
        """Chains of draws of classes and parameters in turn."""
        refuse_fractions(patterns.weights)

        def start(random: np.random.RandomState) -> np.ndarray:
            climber = ClassClimb(patterns, self.n_components_, (1.0, 1.0), self.ordinal_)
            return class_posteriors(patterns.blocks, climber.classes(climber.start(random)))[0]

        def sweep(posteriors: np.ndarray, random: np.random.RandomState) -> tuple[np.ndarray, Classes, float]:
            members = drawn_members(posteriors, patterns.weights, random)
            weights = random.dirichlet(members.sum(axis=0) + self.weight_concentration_prior)
            answers = answer_counts(patterns, members) + self.category_prior
            theta = drawn_theta(answers, patterns.offsets, patterns.n_categories, random)
            classes = Classes(np.maximum(weights, 1e-300), theta)
            posteriors, logs = class_posteriors(patterns.blocks, classes)
            return posteriors, classes, float(patterns.weights @ logs)

        self._patterns = patterns
        try:
            return self._fit_chains(X, start, sweep)
        finally:
            del self._patterns

    def _keep_draws(self, draws: list[Classes], logs: np.ndarray) -> None:
        """Give the classes of all draws the order of those of the draw with the largest posterior."""
        patterns = self._patterns
        priors = [
            (self.category_prior - 1) * np.log(each.theta).sum()
            + (self.weight_concentration_prior - 1) * np.log(each.weights).sum()
            for each in draws
        ]
        best = draws[int(np.argmax(logs.ravel() + priors))]
        shares = patterns.weights / patterns.weights.sum()
        posteriors = (class_posteriors(patterns.blocks, each)[0] for each in draws)
        orders = matched_orders(posteriors, class_posteriors(patterns.blocks, best)[0], shares)
        weights = np.array([each.weights[order] for each, order in zip(draws, orders, strict=True)])
        theta = np.array([each.theta[:, order] for each, order in zip(draws, orders, strict=True)])
        order = self._keep_classes(
            patterns,
            Classes(weights.mean(axis=0), theta.mean(axis=0)),
            Classes(weights.std(axis=0), theta.std(axis=0)),
        )
        self.draws_ = ClassDraws(weights[:, order], theta[:, :, order], logs)

    def _classes(self) -> Classes:
        """Sizes and probabilities as the kernels read them; an item without any answer has one row."""
        return Classes(self.weights_, np.ascontiguousarray(self.components_.T * self.n_features_in_))

    def _new_patterns(self, X: Any) -> tuple[Patterns, np.ndarray]:
        """Distinct rows of a new table, and what its unknown categories cost each row."""
        check_is_fitted(self)
        columns = answer_columns(self, X, reset=False)
        codes = np.column_stack(
            [codes_of(column, known) for column, known in zip(columns, self.categories_, strict=True)]
        )
        warn_of_other_values(columns, self.categories_, codes, self._column_names(), "class")
        sizes = np.maximum([len(each) for each in self.categories_], 1)
        return response_patterns(codes, np.ones(len(codes)), sizes), (codes == UNSEEN) @ self._log_unseen

    def _class_posteriors(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        patterns, unseen = self._new_patterns(X)
        found, logs = class_posteriors(patterns.blocks, self._classes())
        return found[patterns.of_row], logs[patterns.of_row] + unseen

    def _information(self, X: Any, masses: np.ndarray) -> tuple[Information, np.ndarray]:
        """What the distinct rows of a table tell about the parameters, and which of these each row is."""
        patterns = self._new_patterns(X)[0]
        weights = np.bincount(patterns.of_row, weights=masses, minlength=len(patterns.weights))
        patterns = replace(patterns, weights=weights)
        return class_information(patterns, self._classes(), self.ordinal_)[0], patterns.of_row

    def profile(self):
        """The table of the classes: sizes, item probabilities and standard errors.

        Returns
        -------
        profile : ClassProfile
            It prints the table and what it means; ``plot()`` draws it, and ``separating_items`` names the items by
            which the classes differ most.
        """
        check_is_fitted(self)
        return ClassProfile(
            items=self._column_names(),
            categories=[each.tolist() for each in self.categories_],
            sizes=self.weights_,
            size_errors=self.weight_errors_,
            probabilities=self.probabilities_,
            errors=self.probability_errors_,
            item_information=self.item_information_,
            entropy=self.entropy_,
            classification_table=self.classification_table_,
            log_likelihood=self.log_likelihood_,
            n_parameters=self.n_parameters_,
            n_rows=self.n_rows_,
            starts=(self.n_best_starts_, len(self.objectives_)),
            error_type={"em": "information", "gibbs": "draws"}.get(self.solver, "variational"),
        )

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Categories; an array of objects where some are text.
        classes : ndarray of shape (n_samples,)
            The classes that they were drawn from.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        classes = random.choice(self.n_components_, n_samples, p=self.weights_ / self.weights_.sum())
        numeric = all(each.dtype.kind in "biuf" for each in self.categories_)
        X = np.empty((n_samples, self.n_features_in_), dtype=np.float64 if numeric else object)
        for item, (known, shares) in enumerate(zip(self.categories_, self.probabilities_, strict=True)):
            if not len(known):
                X[:, item] = np.nan
                continue
            running = np.cumsum(shares, axis=1)
            drawn = (random.uniform(size=n_samples)[:, None] * running[classes, -1:] > running[classes]).sum(axis=1)
            X[:, item] = known[np.minimum(drawn, len(known) - 1)]
        return X, classes

    def _for_samples(self) -> "LatentClass":
        """A model to fit to rows that this one has drawn, which have no declared categories any more."""
        return clone(self).set_params(categories=[*self.categories_], ordinal=self.ordinal_)

    def _drawn_classes(self, n_draws: int, random_state: Any) -> Iterable[Classes]:
        """Draws from the posterior."""
        if self.draws_ is not None:
            for place in self._picked_draws(n_draws):
                yield Classes(self.draws_.weights[place], np.ascontiguousarray(self.draws_.theta[place]))
            return
        random = check_random_state(random_state)
        sizes = np.maximum([len(each) for each in self.categories_], 1)
        offsets = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        weights, answers = self._posterior[: self.n_components_], self._posterior[self.n_components_ :]
        answers = answers.reshape(-1, self.n_components_)
        for _ in range(n_draws):
            yield Classes(random.dirichlet(weights), drawn_theta(answers, offsets, sizes, random))

    def _log_likelihoods(self, X: Any, n_draws: int, random_state: Any) -> Iterable[np.ndarray]:
        patterns, unseen = self._new_patterns(X)
        for each in self._drawn_classes(n_draws, random_state):
            yield class_posteriors(patterns.blocks, each)[1][patterns.of_row] + unseen

    def _deviances(self, X: Any, n_draws: int, random_state: Any) -> tuple[Iterable[float], float]:
        patterns, unseen = self._new_patterns(X)
        masses = np.bincount(patterns.of_row, minlength=len(patterns.codes)).astype(np.float64)

        def deviance(classes: Classes) -> float:
            return -2 * float(masses @ class_posteriors(patterns.blocks, classes)[1] + unseen.sum())

        return map(deviance, self._drawn_classes(n_draws, random_state)), deviance(self._classes())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
