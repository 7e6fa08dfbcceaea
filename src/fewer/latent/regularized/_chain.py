"""Hidden Markov chains that are fitted by EM with constraints on the posteriors."""

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from fewer._estimators import fit_context
from fewer.catalogue import method
from fewer.latent.chains._emissions import CategoricalEmission
from fewer.latent.chains._forward_backward import Chain, ChainState
from fewer.latent.chains._state_model import ChainModel
from fewer.latent.regularized._constraints import AtMostCount
from fewer.latent.regularized._regularized_model import PARAMETER_CONSTRAINTS, RegularizedModel


@method(
    tasks=["unsupervised"],
    when="Rows in time order switch between states, and something is known of these on average: how often each occurs "
    "where, or that rows of one group (occurrences of a word) have few states.",
    cost="O(n (k^2 + k p)) time for an iteration, and O(n k^2) for each step of the projection",
    paper="posterior-regularization",
    examples=lambda: [
        PosteriorRegularizedHMM(2, emission="gaussian", init_em_iter=5, max_iter=20, tol=1e-3),
        PosteriorRegularizedHMM(
            2,
            AtMostCount([0, 1], component=0),
            slack="penalty",
            slack_strength=1.0,
            emission="gaussian",
            init_em_iter=5,
            max_iter=5,
            tol=1e-3,
        ),
    ],
)
class PosteriorRegularizedHMM(RegularizedModel, ChainModel):
    """Hidden Markov model that is steered by what is known of its states on average.

    Parameters
    ----------
    n_components : int, default=2
        Number of states.
    constraints : constraint or list of constraints, default=()
        What is known: `ProportionConstraint`, `AtMostCount`, `LinearConstraint`, `L1LinfSparsity`. Columns of a frame
        that a constraint names are not part of the model.
    emission : {"gaussian", "categorical", "bernoulli", "poisson"}, default="categorical"
        Distribution of a row given its state, with missing values, as in `HiddenMarkov`.
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
    n_init : int, default=1
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
    start_probabilities_ : ndarray of shape (n_components,)
        Probability of each state at the beginning of a sequence.
    transition_matrix_ : ndarray of shape (n_components, n_components)
        Probability of the state in the column after that in the row.
    weights_ : ndarray of shape (n_components,)
        Share of rows in each state.
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
        Number of states.
    n_features_in_ : int
        Number of columns of the model.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when they are strings.

    See Also
    --------
    HiddenMarkov : Without constraints.
    l1linf_score : How many states the rows of a group have.

    Notes
    -----
    With "categorical", starts are the paper's: all tables of expected counts are filled with ``1 + U(0, 1)``, followed
    by one M-step. ``predict`` gives the state with the largest posterior probability, row by row. Constraints count
    rows as they are in the table, so that the rows of a sequence have to be next to each other.

    References
    ----------
    .. [1] Ganchev, K., Graca, J., Gillenwater, J. and Taskar, B. (2010). Posterior regularization for structured latent
       variable models. Journal of Machine Learning Research 11, 2001-2049.

    Examples
    --------
    States of words: every word has few.

    >>> import numpy as np
    >>> from fewer.latent import L1LinfSparsity, PosteriorRegularizedHMM, l1linf_score
    >>> rng = np.random.default_rng(0)
    >>> tags = np.arange(600) % 2
    >>> words = np.where(tags, rng.choice(["runs", "eats"], 600), rng.choice(["dog", "cat"], 600))
    >>> model = PosteriorRegularizedHMM(2, L1LinfSparsity(words), random_state=0).fit(words[:, None])
    >>> round(l1linf_score(model.predict_proba(words[:, None]), words), 1)
    1.0
    """

    _parameter_constraints = PARAMETER_CONSTRAINTS

    def __init__(
        self,
        n_components=2,
        constraints=(),
        *,
        emission="categorical",
        covariance_type="diag",
        reg_covar=1e-6,
        kl_weight=1.0,
        slack="none",
        slack_strength=0.0,
        norm="l2",
        init_em_iter=30,
        n_init=1,
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

    def _start(self, rows: Any, random: np.random.RandomState, spread: bool) -> ChainState:
        emission, k = self._emission, self.n_components
        if not isinstance(emission, CategoricalEmission):
            return super()._start(rows, random, spread)
        tables = (1 + random.uniform(size=shape) for shape in ((k,), (k, k), (int(emission.edges[-1]), k)))
        starts, transitions, counts = tables
        chain = Chain(starts / starts.sum(), transitions / transitions.sum(axis=1, keepdims=True))
        return ChainState(chain, (emission.normalised(counts),), np.full(k, 1 / k))

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, labels=None, groups=None):
        """Fit the model under the constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        y : Ignored
            Not used.
        labels : array-like of shape (n_samples,), default=None
            Component of each row where it is known, and -1 elsewhere.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_regularized(X, y, labels, groups)

    def fit_transform(self, X, y=None, labels=None, groups=None):
        """Fit, and give the probability of each state at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        y : Ignored
            Not used.
        labels : array-like of shape (n_samples,), default=None
            Component of each row where it is known, and -1 elsewhere.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self.fit(X, y, labels, groups).transform(X, groups)

    def predict(self, X, groups=None):
        """Most probable state of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        states : ndarray of shape (n_samples,)
            Number of the state with the largest posterior probability.
        """
        return self._posteriors(X, groups).argmax(axis=1)

    def constraint_violation(self, X, groups=None):
        """Largest amount by which posteriors of the model, without projection, do not meet a constraint.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        violation : float
            Constraints have to find their rows by the name of a column.
        """
        return self._projected_rows(X, groups)[1]
