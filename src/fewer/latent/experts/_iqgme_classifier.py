"""Classifiers that are trained on, and predict, rows with missing values: normal gates, a probit expert behind each.

The gates are a Dirichlet-process mixture of normal distributions, so that the number of experts is inferred and missing
entries are integrated out in closed form; ``_variational.py`` has the model.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, StrOptions, fit_context
from fewer.catalogue import method
from fewer.latent._latent_model import Climb, climb
from fewer.latent._normal_wishart import NormalWishart, expectations
from fewer.latent.experts._expert_mixture import DOMINANT, ExpertMixture
from fewer.latent.experts._gibbs import Draw, first_draw, gibbs_sweep
from fewer.latent.experts._incomplete_rows import Mixture, blocks_of, imputed, predicted
from fewer.latent.experts._variational import Priors, State, Table, starting_state, stick_weights, variational_step


@method(
    tasks=["classification"],
    when="Tables with missing values, in training and in prediction, and some dozens of columns of numbers: missing "
    "entries are integrated out under a mixture of normal distributions, so that nothing is imputed. Not for values "
    "that are missing because of their own size, nor for hundreds of columns.",
    cost="O(h (n p^2 + k p^3)) time an iteration, for h components and k patterns of missing values",
    paper="dp-incomplete",
    says="mixture of experts for missing values (IQGMEClassifier)",
    examples=lambda: [
        IQGMEClassifier(5, max_iter=60),
        IQGMEClassifier(3, sparse_experts=True, init="random", n_init=2, max_iter=40),
    ],
)
class IQGMEClassifier(ExpertMixture):
    """Infinite quadratically gated mixture of experts, a classifier that takes missing values as they are.

    Rows come from a Dirichlet-process mixture of normal distributions, the gates, and each has a probit model of the
    class, its expert. Missing entries are integrated out, in training and in prediction, which assumes that they are
    missing at random: whether a value is missing may depend on observed values, but not on the value itself.

    Parameters
    ----------
    n_components : int, default=20
        Largest number of experts, N; how many are used is inferred.
    solver : {"variational_bayes", "gibbs"}, default="variational_bayes"
        Variational posterior, or draws from the posterior by Gibbs sampling, which takes some ten to thirty times as
        long and is a check of the first.
    joint_labels : bool, default=True
        Whether the variational posterior of two classes has the soft label of a row, its missing entries and its expert
        in one factor. False keeps soft labels apart, as the paper has it: two to four times as fast, with worse
        probabilities where training entries are missing. Of more classes, soft labels are always apart.
    concentration_shape_prior : float, default=0.05
        Shape of the gamma prior of the concentration of the Dirichlet process, tau_10.
    concentration_rate_prior : float, default=0.05
        Its rate, tau_20.
    mean_precision_prior : float, default=0.1
        How firmly means of gates are expected at the mean of the table, as a number of rows, u_0.
    degrees_of_freedom_prior : float or None, default=None
        How firmly covariances of gates are expected to be that of the table, nu_0; by default ``n_features + 2``.
    coef_shape_prior : float, default=0.01
        Shape of the gamma prior of the precision of coefficients over experts, a_0.
    coef_rate_prior : float, default=0.01
        Its rate, b_0.
    coef_mean_precision_prior : float, default=0.1
        How firmly the mean of coefficients over experts is expected at 0, gamma_0.
    sparse_experts : bool, default=False
        Whether that mean is fixed at 0, so that columns which no expert needs are switched off.
    init : {"kmeans", "random"}, default="kmeans"
        Clusters to start from: k-means on standardised columns with 0 for missing values, or random responsibilities.
    n_init : int, default=1
        Number of starts of the variational solver; the one with the largest bound is kept.
    max_iter : int, default=500
        Maximum number of iterations of the variational solver.
    tol : float, default=1e-6
        It stops when the bound changes by less than this share of its size.
    n_burn_in : int, default=1000
        First sweeps of the Gibbs sampler, which are not used.
    n_draws : int, default=100
        Draws that are kept for predictions.
    thin : int, default=5
        Sweeps between two draws that are kept.
    random_state : int, RandomState instance or None, default=None
        Draws the starts, and all of the Gibbs sampler.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    weights_ : ndarray of shape (n_components,)
        Expected share of rows of each expert, the largest first. After "gibbs", these and what follows are those of
        the kept draw with the largest likelihood.
    means_ : ndarray of shape (n_components, n_features)
        Means of the gates.
    precisions_ : ndarray of shape (n_components, n_features, n_features)
        Expected precision matrices of the gates.
    coef_ : ndarray of shape (n_components, n_features) or (n_components, n_classes, n_features)
        Expected coefficients of the experts: towards ``classes_[1]`` of two classes, else towards each class.
    intercept_ : ndarray of shape (n_components,) or (n_components, n_classes)
        Expected intercepts.
    coef_cov_ : ndarray of shape (n_components, n_features + 1, n_features + 1) or with n_classes as second dimension
        Covariances of coefficients and intercept, the intercept last.
    n_experts_ : int
        Number of experts with a weight above 0.005.
    alpha_ : float
        Expected concentration of the Dirichlet process.
    lower_bound_ : float
        Bound on the log evidence of the standardised rows and their classes; NaN after "gibbs".
    objective_path_ : ndarray of shape (n_iter,)
        The bound at each iteration, or the log-likelihood of rows and soft labels at each sweep.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept, or sweeps.
    converged_ : bool
        Whether it ended by ``tol``; always True after "gibbs".
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters of the gates and experts that are counted in ``n_experts_``.
    n_components_ : int
        Number of columns that ``transform`` gives.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    IQGMEMultiTask : Several tasks that share experts.
    sklearn.ensemble.HistGradientBoostingClassifier : Trees that take missing values, for many rows.
    fewer.complete.PCAMissing : Imputes, for any classifier.

    Notes
    -----
    Columns are standardised. Rows in which everything is missing are left out of training, and are predicted by the
    weights of the experts alone; columns that are constant, or never observed, in training are ignored.

    Of three classes or more, each has a probit model against the others in every expert, under the same gates; the
    probabilities are divided by their sum.

    References
    ----------
    .. [1] Wang, C., Liao, X., Carin, L. and Dunson, D. B. (2010). Classification with incomplete data using Dirichlet
       process priors. Journal of Machine Learning Research 11, 3269-3311.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from fewer.latent import IQGMEClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    >>> model = IQGMEClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.85)
    True
    """

    _size_parameter = "n_components"
    _parameter_constraints = {
        **ExpertMixture._parameter_constraints,
        "solver": [StrOptions({"variational_bayes", "gibbs"})],
        "joint_labels": ["boolean"],
        "init": [StrOptions({"kmeans", "random"})],
        "n_burn_in": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "thin": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components=20,
        *,
        solver="variational_bayes",
        joint_labels=True,
        concentration_shape_prior=0.05,
        concentration_rate_prior=0.05,
        mean_precision_prior=0.1,
        degrees_of_freedom_prior=None,
        coef_shape_prior=0.01,
        coef_rate_prior=0.01,
        coef_mean_precision_prior=0.1,
        sparse_experts=False,
        init="kmeans",
        n_init=1,
        max_iter=500,
        tol=1e-6,
        n_burn_in=1000,
        n_draws=100,
        thin=5,
        random_state=None,
    ):
        self.n_components = n_components
        self.solver = solver
        self.joint_labels = joint_labels
        self.concentration_shape_prior = concentration_shape_prior
        self.concentration_rate_prior = concentration_rate_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.coef_shape_prior = coef_shape_prior
        self.coef_rate_prior = coef_rate_prior
        self.coef_mean_precision_prior = coef_mean_precision_prior
        self.sparse_experts = sparse_experts
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_burn_in = n_burn_in
        self.n_draws = n_draws
        self.thin = thin
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the experts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; for the variational solver only.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        training = self._training(X, y, sample_weight)
        priors = self._priors(training)
        by_missing = self.solver == "gibbs"
        if by_missing and np.ptp(training.weights) > 0:
            raise ValueError("solver='gibbs' takes no sample_weight; use solver='variational_bayes'.")
        blocks = blocks_of(training.Z, self.n_components, by_missing=by_missing)
        table = Table(blocks, training.signs, training.weights, training.Z.shape[1])

        joint = self.joint_labels and len(self.classes_) == 2

        def start(random):
            shares = self._shares(training, self.n_components, random)
            return starting_state(table, priors, training.Z, shares, np.ones(table.n_columns))

        def run(random, on_step):
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            return climb(start(random), lambda state: variational_step(table, priors, state, joint), **limits)

        def sample(random, on_step):
            return self._sampled(table, priors, first_draw(start(random), table.signs), random, on_step)

        if self.solver == "gibbs":
            n_init, self.n_init = self.n_init, 1
            try:
                return self._fit_starts(sample, X, y, n_steps=self._n_sweeps())
            finally:
                self.n_init = n_init
        return self._fit_starts(run, X, y)

    def _n_sweeps(self) -> int:
        """The likelihood of a draw is known one sweep later."""
        return self.n_burn_in + max(self.n_draws * self.thin, self.n_draws + 1)

    def _sampled(self, table: Table, priors: Priors, draw: Draw, random: Any, on_step: Any) -> Climb:
        """The draws that are kept, best first, and the log-likelihood at each sweep."""
        path: list[float] = []
        kept: list[Draw] = []
        fits: list[float] = []
        stopped = False
        n_steps = self._n_sweeps()
        while len(path) < n_steps and not stopped:
            present = draw
            draw, fit = gibbs_sweep(table, priors, present, random)
            if path and len(path) > self.n_burn_in and (len(path) - self.n_burn_in - 1) % self.thin == 0:
                kept.append(present)
                fits.append(fit)
            path.append(fit)
            stopped = on_step()
        if not kept:
            kept, fits = [draw], [path[-1]]
        best = int(np.argmax(fits))
        kept[0], kept[best] = kept[best], kept[0]
        return Climb(kept, np.array(path), True, stopped)

    def _keep(self, state: State | list[Draw]) -> None:
        if isinstance(state, list):
            best = state[0]
            mixtures, covariances, self.alpha_ = (
                [draw.mixture for draw in state],
                best.coef_covariances,
                best.concentration,
            )
            self.lower_bound_ = np.nan
            self._sticks = np.empty((2, 0))
        else:
            known = expectations(state.gates)
            weights = stick_weights(state.sticks.first, state.sticks.second)
            coef, covariances = state.experts
            mixtures = [Mixture(weights, state.gates.means, known.precisions, coef, state.gates, covariances)]
            self.alpha_ = state.sticks.shape / state.sticks.rate
            self.lower_bound_ = float(self.objective_path_[-1])
            self._sticks = np.stack([state.sticks.first, state.sticks.second])
        order = self._keep_mixture(mixtures[0], covariances)
        # Arrays, as a saved model holds them; of a variational posterior there is one mixture, and its gates.
        self._weights, self._means, self._precisions, self._coef = (
            np.stack([getattr(mixture, name)[order] for mixture in mixtures])
            for name in ("weights", "means", "precisions", "coef")
        )
        gates = mixtures[0].gates
        self._gates = None if gates is None else [part[order] for part in gates]
        self._covariances = None if gates is None else covariances[order]

    def _mixtures(self) -> list[Mixture]:
        """The mixtures over which predictions are averaged."""
        parts = zip(self._weights, self._means, self._precisions, self._coef, strict=True)
        gates = None if self._gates is None else NormalWishart(*self._gates)
        return [Mixture(*each, gates, self._covariances) for each in parts]

    def predict_proba(self, X):
        """Probabilities of the classes, given the observed entries of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        Z = self._rows(X)
        mixtures = self._mixtures()
        outputs = np.mean([predicted(Z, mixture).probabilities for mixture in mixtures], axis=0)
        return self._class_probabilities(outputs)

    def predict(self, X):
        """The most likely class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X, y=None, sample_weight=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        return ClassifierMixin.score(self, X, y, sample_weight=sample_weight)

    def score_samples(self, X):
        """Log-density of the observed entries of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.

        Returns
        -------
        log_densities : ndarray of shape (n_samples,)
            In nats; 0 for a row in which everything is missing.
        """
        Z = self._rows(X)
        densities = np.stack([predicted(Z, mixture).log_densities for mixture in self._mixtures()])
        return np.logaddexp.reduce(densities, axis=0) - np.log(len(densities)) + self._log_units(Z)

    def log_lik(self, X, y=None):
        """Log-likelihood of each row under each draw of "gibbs", as ``fewer.evaluate.waic`` takes it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as a rule those of the training table; NaN where a value is missing.
        y : array-like of shape (n_samples,), default=None
            Their classes. With them it is that of the observed entries and the class, and else of the entries alone.

        Returns
        -------
        log_lik : ndarray of shape (n_draws, n_samples)
            In nats, for ``waic``, ``bayes_loo`` and ``compare_models``.
        """
        check_is_fitted(self)
        if self._gates is not None:
            raise ValueError("log_lik needs draws from the posterior: fit with solver='gibbs'.")
        Z = self._rows(X)
        found = [predicted(Z, mixture) for mixture in self._mixtures()]
        logs = np.stack([each.log_densities for each in found]) + self._log_units(Z)
        if y is None:
            return logs
        codes = self._codes_of(y, len(Z))
        shares = np.stack([self._class_probabilities(each.probabilities) for each in found])
        return logs + np.log(np.maximum(shares[:, np.arange(len(Z)), codes], np.finfo(float).tiny))

    def _codes_of(self, y: Any, n_rows: int) -> np.ndarray:
        """Place of each label among the classes."""
        labels = np.asarray(y)
        if labels.shape != (n_rows,):
            raise ValueError(f"X has {n_rows} rows, and y has the shape {labels.shape}.")
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        strange = [label for label in labels.tolist() if label not in known]
        if strange:
            raise ValueError(f"y holds {strange[0]!r}, which is not one of the classes {self.classes_.tolist()}.")
        return np.array([known[label] for label in labels.tolist()])

    def transform(self, X):
        """Probabilities of the experts, given the observed entries of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_components)
            They sum to 1; experts in the order of ``weights_``.
        """
        return predicted(self._rows(X), self._mixtures()[0]).responsibilities

    def impute(self, X, return_cov=False):
        """Rows with missing entries at their posterior means, given the observed entries of the row.

        No class is used: training rows are imputed as new rows are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.
        return_cov : bool, default=False
            Whether to give the covariances of the missing entries as well.

        Returns
        -------
        X_imputed : ndarray of shape (n_samples, n_features)
            Without missing values.
        covariances : ndarray of shape (n_samples, n_features, n_features)
            With ``return_cov`` only; 0 for observed entries.
        """
        Z = self._rows(X)
        found = [imputed(Z, mixture, return_cov) for mixture in self._mixtures()]
        completed = np.mean([each.completed for each in found], axis=0)
        X_imputed = self._in_units_of_the_table(completed, X)
        if not return_cov:
            return X_imputed
        covariances = np.zeros((*completed.shape, completed.shape[1]))
        for one, within in found:
            deviations = one - completed
            covariances += within + deviations[:, :, None] * deviations[:, None, :]
        return X_imputed, covariances / len(found) * np.outer(self._scale, self._scale)

    def sample_n_experts(self, n_draws=1000, random_state=None):
        """Draws of the number of experts with a weight above 0.005, from their posterior.

        Parameters
        ----------
        n_draws : int, default=1000
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        n_experts : ndarray of shape (n_draws,)
            Numbers of experts.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        if self._gates is None:
            weights = self._weights[random.randint(len(self._weights), size=n_draws)]
        else:
            taken = random.beta(*self._sticks[:, None, :], size=(n_draws, self._sticks.shape[1]))
            rests = np.cumprod(1 - taken, axis=1)
            ones = np.ones((n_draws, 1))
            weights = np.hstack([taken, ones]) * np.hstack([ones, rests])
        return np.count_nonzero(weights > DOMINANT, axis=1)

    def sample(self, n_samples=1, random_state=None):
        """Draw rows and their classes from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows without missing values.
        y : ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        return self._drawn_rows(self._mixtures()[0], n_samples, random_state)
