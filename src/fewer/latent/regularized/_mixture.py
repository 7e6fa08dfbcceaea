"""Mixtures that are fitted by EM with constraints on the posteriors."""

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import fit_context
from fewer.catalogue import method
from fewer.latent.chains._state_model import Sequences
from fewer.latent.regularized._constraints import AtMostCount
from fewer.latent.regularized._regularized_model import PARAMETER_CONSTRAINTS, RegularizedModel


@method(
    tasks=["unsupervised"],
    when="Groups of rows are to be found, and something is known of them on average: the share of a group in parts of "
    "the table, totals, a few labels. It decides which of several possible groupings is found.",
    cost="O(n k p) time an iteration, and O(n k) for each step of the projection",
    paper="posterior-regularization",
    examples=lambda: [
        PosteriorRegularizedMixture(2, init_em_iter=5, max_iter=20, tol=1e-3),
        PosteriorRegularizedMixture(
            2,
            AtMostCount([0, 1], component=0),
            slack="penalty",
            slack_strength=1.0,
            init_em_iter=5,
            max_iter=5,
            tol=1e-3,
        ),
    ],
)
class PosteriorRegularizedMixture(RegularizedModel):
    """Mixture that is steered by what is known of its components on average.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    constraints : constraint or list of constraints, default=()
        What is known: `ProportionConstraint`, `AtMostCount`, `LinearConstraint`, `L1LinfSparsity`. Columns of a frame
        that a constraint names are not part of the model.
    emission : {"gaussian", "categorical", "bernoulli", "poisson"}, default="gaussian"
        Distribution of a row given its component, with missing values, as in `HiddenMarkov`.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="diag"
        With "gaussian": shape of the covariances.
    reg_covar : float, default=1e-6
        With "gaussian": added to the variances, as a share of the variance of a column.
    kl_weight : float, default=1.0
        Weight of the divergence in the objective, alpha in the paper: 1 estimates from the projected posteriors, 0 is
        plain EM. Like slack, it makes constraints weaker, but by estimating from a mean of both posteriors.
    slack : {"none", "constraint", "penalty"}, default="none"
        Constraints hold as they are; or up to a slack whose norm is at most ``slack_strength``; or the norm of the
        slack times ``slack_strength`` is taken from the objective.
    slack_strength : float, default=0.0
        Size of the slack that is allowed, or its price.
    norm : {"l2", "l1", "linf"}, default="l2"
        Norm of the slack.
    init_em_iter : int, default=30
        Iterations of plain EM before the first projection.
    n_init : int, default=5
        Number of starts; the one with the largest objective is kept.
    max_iter : int, default=170
        Maximum number of iterations with projections.
    tol : float, default=1e-6
        Stop when the objective changes by less than this share of its size.
    predict_with : {"p", "q"}, default="p"
        Posteriors of the model; or these projected on the constraints, which then have to find their rows in a new
        table by the name of a column.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of rows in each component.
    means_ : ndarray of shape (n_components, n_features) or None
        Means, or probabilities of a 1, or rates; None for "categorical".
    covariances_ : ndarray or None
        With "gaussian": covariances or variances, as in `HiddenMarkov`.
    probabilities_ : list of ndarray of shape (n_components, n_categories) or None
        With "categorical": probabilities of the categories of each column.
    categories_ : list of ndarray or None
        With "categorical": the categories of each column.
    q_ : ndarray of shape (n_samples, n_components)
        Projected posteriors of the training rows.
    dual_ : ndarray of shape (n_dual,)
        Dual variables of the constraints: how much each costs; 0 for those that hold by themselves.
    kl_ : float
        Divergence of ``q_`` from the posteriors of the model.
    violation_ : float
        Largest amount by which ``q_`` does not meet a constraint.
    model_violation_ : float
        The same for the posteriors of the model, on the training rows; for other rows see ``constraint_violation``.
    objective_path_ : ndarray of shape (n_iter,)
        Log-likelihood with the log prior, less ``kl_weight`` times divergence and penalties, at the beginning of each
        iteration.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations with projections of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
    score_type_ : str
        What ``score_samples`` gives: "log-likelihood".
    n_parameters_ : int
        Free parameters.
    n_components_ : int
        Number of components.
    n_features_in_ : int
        Number of columns of the model.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    PosteriorRegularizedHMM : The same for rows in time order.
    kl_project : The projection alone.
    SharedMixtureDiscriminant : Where classes of some rows are known, and nothing else.

    Notes
    -----
    Components are numbered as the constraints number them. After the plain iterations, up to four components are
    renumbered so that the constraints cost least.

    References
    ----------
    .. [1] Ganchev, K., Graca, J., Gillenwater, J. and Taskar, B. (2010). Posterior regularization for structured latent
       variable models. Journal of Machine Learning Research 11, 2001-2049.

    Examples
    --------
    Two bags of rows. The column ``x2`` has the clearer groups, but what is known of the bags is about ``x1``.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from fewer.latent import PosteriorRegularizedMixture, ProportionConstraint
    >>> rng = np.random.default_rng(0)
    >>> bag = np.repeat(["A", "B"], 100)
    >>> truth = rng.random(200) < np.where(bag == "A", 0.8, 0.2)
    >>> x2 = 3 * rng.choice([-1, 1], 200) + 0.5 * rng.normal(size=200)
    >>> table = pd.DataFrame({"x1": 2.0 * truth - 1 + 0.5 * rng.normal(size=200), "x2": x2, "bag": bag})
    >>> known = [
    ...     ProportionConstraint(("bag", "A"), component=1, lower=0.75),
    ...     ProportionConstraint(("bag", "B"), component=1, upper=0.25),
    ... ]
    >>> model = PosteriorRegularizedMixture(2, known, random_state=0).fit(table)
    >>> bool(np.mean(model.predict(table) == truth) > 0.95)
    True
    """

    _parameter_constraints = PARAMETER_CONSTRAINTS

    def __init__(
        self,
        n_components=2,
        constraints=(),
        *,
        emission="gaussian",
        covariance_type="diag",
        reg_covar=1e-6,
        kl_weight=1.0,
        slack="none",
        slack_strength=0.0,
        norm="l2",
        init_em_iter=30,
        n_init=5,
        max_iter=170,
        tol=1e-6,
        predict_with="p",
        random_state=None,
    ):
        self.n_components = n_components
        self.constraints = constraints
        self.emission = emission
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.kl_weight = kl_weight
        self.slack = slack
        self.slack_strength = slack_strength
        self.norm = norm
        self.init_em_iter = init_em_iter
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.predict_with = predict_with
        self.random_state = random_state

    def _sequences(self, groups: Any, n_rows: int) -> Sequences:
        return Sequences(np.arange(n_rows + 1))

    def _n_chain_parameters(self) -> int:
        return self.n_components_ - 1

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, labels=None):
        """Fit the model under the constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.
        y : Ignored
            Not used.
        labels : array-like of shape (n_samples,), default=None
            Component of each row where it is known, and -1 elsewhere.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_regularized(X, y, labels, None)

    def fit_transform(self, X, y=None, labels=None):
        """Fit, and give the probability of each component at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.
        y : Ignored
            Not used.
        labels : array-like of shape (n_samples,), default=None
            Component of each row where it is known, and -1 elsewhere.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self.fit(X, y, labels).transform(X)

    def predict(self, X):
        """Most probable component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        components : ndarray of shape (n_samples,)
            Number of the component with the largest posterior probability.
        """
        return self._posteriors(X, None).argmax(axis=1)

    def predict_proba(self, X):
        """Probability of each component at each row, by ``predict_with``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self._posteriors(X, None)

    def constraint_violation(self, X):
        """Largest amount by which posteriors of the model, without projection, do not meet a constraint.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        violation : float
            Constraints have to find their rows by the name of a column.
        """
        return self._projected_rows(X, None)[1]

    def transform(self, X):
        """Probability of each component at each row, as new columns; the same as ``predict_proba``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self.predict_proba(X)

    def score_samples(self, X):
        """Log-density of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN stands for a missing value.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; more is better.
        """
        return self._inferred(X, None)[0].scores

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
            Rows.
        components : ndarray of shape (n_samples,)
            The components that they were drawn from.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        drawn = random.choice(self.n_components_, size=n_samples, p=self.weights_ / self.weights_.sum())
        return self._emission.drawn(self._parameters, drawn, random), drawn
