"""Several classification tasks with the same columns that share experts, with missing values: IQGMEMultiTask.

Tasks that are alike use the same experts, so that each learns from the rows of the others; ``_shared_experts.py`` has
the model.
"""

from collections.abc import Iterator
from itertools import chain, repeat
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import Interval, fit_context
from fewer.catalogue import method
from fewer.latent._latent_model import climb, labels_of_rows
from fewer.latent._normal_wishart import NormalWishart, expectations
from fewer.latent.experts._expert_mixture import DOMINANT, ExpertMixture
from fewer.latent.experts._incomplete_rows import Mixture, Prediction, imputed, predicted
from fewer.latent.experts._shared_experts import (
    SharedState,
    Tasks,
    atom_usage,
    shared_step,
    starting_shared_state,
    task_similarity,
)
from fewer.latent.mixtures._class_mixture import kmeans_labels


@method(
    tasks=["classification"],
    when="Several related problems with the same columns and few rows each, such as sites, patients or devices, some "
    "values missing: tasks that are alike share experts. Not for one task, for which IQGMEClassifier is quicker.",
    cost="O(s n p^2 + n p^3) time an iteration, for s atoms",
    paper="dp-incomplete",
    examples=lambda: [IQGMEMultiTask(4, n_atoms=5, n_init=2, max_iter=30)],
)
class IQGMEMultiTask(ExpertMixture):
    """Mixtures of experts for several tasks at once, which take missing values as they are.

    Each task has weights of its own over experts that all tasks share (a hierarchical Dirichlet process), so that it is
    inferred which tasks are alike, and how far. Missing entries are integrated out.

    Parameters
    ----------
    n_components : int, default=20
        Largest number of experts of one task, N.
    n_atoms : int, default=50
        Largest number of experts of all tasks together, S.
    concentration_shape_prior : float, default=0.05
        Shape of the gamma prior of the concentration of experts within tasks, tau_10.
    concentration_rate_prior : float, default=0.05
        Its rate, tau_20.
    atom_concentration_shape_prior : float, default=0.05
        Shape of the gamma prior of the concentration of experts over tasks, tau_30.
    atom_concentration_rate_prior : float, default=0.05
        Its rate, tau_40.
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
    n_init : int, default=6
        Number of starts; the one with the largest bound is kept. Starts are groups of similar tasks, of two, three and
        all of them, with one expert or several each, and then k-means clusters of all rows.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Stop when the bound changes by less than this share of its size.
    random_state : int, RandomState instance or None, default=None
        Draws the clusters to start from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    tasks_ : ndarray of shape (n_tasks,)
        The tasks.
    task_weights_ : ndarray of shape (n_tasks, n_atoms)
        Expected share of each expert in the rows of each task.
    task_similarity_ : ndarray of shape (n_tasks, n_tasks)
        Similarity of the experts that tasks use, ``exp(-KL)`` with the mean divergence of both directions: 1 for tasks
        that use the same ones alike, 0 for tasks that have none in common.
    weights_ : ndarray of shape (n_atoms,)
        Mean of ``task_weights_`` over tasks, the largest first; all attributes are in this order.
    means_ : ndarray of shape (n_atoms, n_features)
        Means of the gates.
    precisions_ : ndarray of shape (n_atoms, n_features, n_features)
        Expected precision matrices of the gates.
    coef_ : ndarray of shape (n_atoms, n_features) or (n_atoms, n_classes, n_features)
        Expected coefficients of the experts: towards ``classes_[1]`` of two classes, else towards each class.
    intercept_ : ndarray of shape (n_atoms,) or (n_atoms, n_classes)
        Expected intercepts.
    coef_cov_ : ndarray of shape (n_atoms, n_features + 1, n_features + 1) or with n_classes as second dimension
        Covariances of coefficients and intercept, the intercept last.
    n_experts_ : int
        Number of experts with a weight above 0.005.
    n_experts_by_task_ : ndarray of shape (n_tasks,)
        The same in each task.
    alpha_ : float
        Expected concentration of experts within tasks.
    beta_ : float
        Expected concentration of experts over tasks.
    lower_bound_ : float
        Bound on the log evidence of the standardised rows and their classes.
    objective_path_ : ndarray of shape (n_iter,)
        The bound at each iteration.
    objectives_ : ndarray of shape (n_init,)
        The same at the end of each start.
    n_iter_ : int
        Iterations of the start that was kept.
    converged_ : bool
        Whether it ended by ``tol``.
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
    IQGMEClassifier : One task.

    References
    ----------
    .. [1] Wang, C., Liao, X., Carin, L. and Dunson, D. B. (2010). Classification with incomplete data using Dirichlet
       process priors. Journal of Machine Learning Research 11, 3269-3311.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer.datasets import make_local_borders
    >>> from fewer.latent import IQGMEMultiTask
    >>> sites = [make_local_borders(30, mirrored=site > 1, random_state=site) for site in range(4)]
    >>> X, y = np.vstack([site.X for site in sites]), np.concatenate([site.y for site in sites])
    >>> site = np.repeat(["Bonn", "Kiel", "Graz", "Linz"], 30)
    >>> model = IQGMEMultiTask(5, n_atoms=10, random_state=0).fit(X, y, task_labels=site)
    >>> model.tasks_
    array(['Bonn', 'Graz', 'Kiel', 'Linz'], dtype='<U4')
    >>> model.task_similarity_.round(1)
    array([[1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.]])
    """

    _size_parameter = "n_atoms"
    _parameter_constraints = {
        **ExpertMixture._parameter_constraints,
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "atom_concentration_shape_prior": [Interval(Real, 0, None, closed="neither")],
        "atom_concentration_rate_prior": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components=20,
        *,
        n_atoms=50,
        concentration_shape_prior=0.05,
        concentration_rate_prior=0.05,
        atom_concentration_shape_prior=0.05,
        atom_concentration_rate_prior=0.05,
        mean_precision_prior=0.1,
        degrees_of_freedom_prior=None,
        coef_shape_prior=0.01,
        coef_rate_prior=0.01,
        coef_mean_precision_prior=0.1,
        sparse_experts=False,
        n_init=6,
        max_iter=500,
        tol=1e-6,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_atoms = n_atoms
        self.concentration_shape_prior = concentration_shape_prior
        self.concentration_rate_prior = concentration_rate_prior
        self.atom_concentration_shape_prior = atom_concentration_shape_prior
        self.atom_concentration_rate_prior = atom_concentration_rate_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.coef_shape_prior = coef_shape_prior
        self.coef_rate_prior = coef_rate_prior
        self.coef_mean_precision_prior = coef_mean_precision_prior
        self.sparse_experts = sparse_experts
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, task_labels=None, sample_weight=None):
        """Find the experts, and which tasks share them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of all tasks; NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Classes, the same in all tasks.
        task_labels : array-like of shape (n_samples,), default=None
            The task of each row; by default there is one task.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        training = self._training(X, y, sample_weight)
        n_rows = len(np.asarray(y))
        labels = np.zeros(n_rows, int) if task_labels is None else labels_of_rows(task_labels, n_rows, "task_labels")
        self.tasks_, codes = np.unique(labels[training.rows], return_inverse=True)
        priors = self._priors(training)
        atom_priors = priors._replace(
            concentration_shape=self.atom_concentration_shape_prior,
            concentration_rate=self.atom_concentration_rate_prior,
        )
        missing = np.isnan(training.Z)
        values = np.where(missing, 0.0, training.Z)
        tasks = Tasks(values, missing, training.signs, codes, training.weights, len(self.tasks_))
        starts = _starts(len(self.tasks_))

        def run(random, on_step):
            n_groups, several = next(starts)
            shares = _grouped_shares(tasks, n_groups, several, self.n_components, random)
            start = starting_shared_state(tasks, priors, atom_priors, shares, self.n_atoms)
            limits = {"max_iter": self.max_iter, "tol": self.tol, "on_step": on_step}
            return climb(start, lambda state: shared_step(tasks, priors, atom_priors, state), **limits)

        return self._fit_starts(run, X, y)

    def _keep(self, state: SharedState) -> None:
        usage = atom_usage(state)
        known = expectations(state.gates)
        coef, covariances = state.experts
        mixture = Mixture(usage.mean(axis=0), state.gates.means, known.precisions, coef)
        order = self._keep_mixture(mixture, covariances)
        self.task_weights_ = usage[:, order]
        self.task_similarity_ = task_similarity(usage)
        self.n_experts_by_task_ = np.count_nonzero(self.task_weights_ > DOMINANT, axis=1)
        self.alpha_ = state.task_sticks.shape / state.task_sticks.rate
        self.beta_ = state.atom_sticks.shape / state.atom_sticks.rate
        self.lower_bound_ = float(self.objective_path_[-1])
        self._gates = [part[order] for part in state.gates]
        self._precisions, self._coef, self._covariances = known.precisions[order], coef[order], covariances[order]

    def _mixture(self, task: int) -> Mixture:
        gates = NormalWishart(*self._gates)
        return Mixture(self.task_weights_[task], gates.means, self._precisions, self._coef, gates, self._covariances)

    def _by_task(self, X: Any, task_labels: Any) -> Iterator[tuple[np.ndarray, np.ndarray, Mixture]]:
        """The rows of each task in standard units, which they are, and the mixture of the task."""
        Z = self._rows(X)
        if task_labels is None:
            if len(self.tasks_) > 1:
                raise ValueError(f"task_labels is missing: the task of each row, one of {self.tasks_.tolist()}.")
            codes = np.zeros(len(Z), dtype=int)
        else:
            labels = labels_of_rows(task_labels, len(Z), "task_labels")
            unknown = np.setdiff1d(labels, self.tasks_)
            if len(unknown):
                raise ValueError(
                    f"task_labels has the task {unknown.tolist()[0]!r}, which was not seen in fit; the tasks are "
                    f"{self.tasks_.tolist()}."
                )
            codes = np.searchsorted(self.tasks_, labels)
        for task in np.unique(codes):
            rows = np.flatnonzero(codes == task)
            yield Z[rows], rows, self._mixture(int(task))

    def _predicted(self, X: Any, task_labels: Any) -> tuple[Prediction, np.ndarray]:
        """What the mixtures of their tasks say about rows, and the units of the densities."""
        places, parts, units = [], [], []
        for Z, rows, mixture in self._by_task(X, task_labels):
            places.append(rows)
            parts.append(predicted(Z, mixture))
            units.append(self._log_units(Z))
        order = np.argsort(np.concatenate(places), kind="stable")
        joined = (np.concatenate(each)[order] for each in zip(*parts, strict=True))
        return Prediction(*joined), np.concatenate(units)[order]

    def predict_proba(self, X, task_labels=None):
        """Probabilities of the classes, given the observed entries of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.
        task_labels : array-like of shape (n_samples,), default=None
            The task of each row; needed where there are several tasks.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class, in the order of ``classes_``.
        """
        return self._class_probabilities(self._predicted(X, task_labels)[0].probabilities)

    def predict(self, X, task_labels=None):
        """The most likely class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.
        task_labels : array-like of shape (n_samples,), default=None
            The task of each row; needed where there are several tasks.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        best = self.predict_proba(X, task_labels).argmax(axis=1)
        return self.classes_[best]

    def score(self, X, y=None, sample_weight=None, task_labels=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        task_labels : array-like of shape (n_samples,), default=None
            The task of each row; needed where there are several tasks.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        return float(np.average(self.predict(X, task_labels) == np.asarray(y), weights=sample_weight))

    def score_samples(self, X, task_labels=None):
        """Log-density of the observed entries of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.
        task_labels : array-like of shape (n_samples,), default=None
            The task of each row; needed where there are several tasks.

        Returns
        -------
        log_densities : ndarray of shape (n_samples,)
            In nats; 0 for a row in which everything is missing.
        """
        found, units = self._predicted(X, task_labels)
        return found.log_densities + units

    def transform(self, X, task_labels=None):
        """Probabilities of the experts, given the observed entries of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.
        task_labels : array-like of shape (n_samples,), default=None
            The task of each row; needed where there are several tasks.

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_atoms)
            They sum to 1; experts in the order of ``weights_``.
        """
        return self._predicted(X, task_labels)[0].responsibilities

    def impute(self, X, task_labels=None):
        """Rows with missing entries at their posterior means, given the observed entries of the row and its task.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN where a value is missing.
        task_labels : array-like of shape (n_samples,), default=None
            The task of each row; needed where there are several tasks.

        Returns
        -------
        X_imputed : ndarray of shape (n_samples, n_features)
            Without missing values.
        """
        check_is_fitted(self)
        found = [(rows, imputed(Z, mixture).completed) for Z, rows, mixture in self._by_task(X, task_labels)]
        completed = np.concatenate([part for _, part in found])
        completed = completed[np.argsort(np.concatenate([rows for rows, _ in found]), kind="stable")]
        return self._in_units_of_the_table(completed, X)

    def sample(self, n_samples=1, task=None, random_state=None):
        """Draw rows of one task, and their classes, from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        task : label, default=None
            One of ``tasks_``; needed where there are several.
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
        tasks = self.tasks_.tolist()
        if task is None and len(tasks) == 1:
            task = tasks[0]
        if task not in tasks:
            raise ValueError(f"task={task!r} is not one of the tasks {tasks}: draw rows of one of these.")
        return self._drawn_rows(self._mixture(tasks.index(task)), n_samples, random_state)


def _starts(n_tasks: int) -> Iterator[tuple[int, bool]]:
    """Numbers of groups of tasks to start from, and whether a group starts with several experts."""
    first = [(2, False), (n_tasks, False), (1, True), (3, False), (2, True), (3, True)]
    possible = dict.fromkeys(each for each in first if each[0] <= n_tasks and (n_tasks > 1 or each[1]))
    return chain(possible, repeat((1, True)))


def _grouped_shares(
    tasks: Tasks, n_groups: int, several: bool, n_components: int, random: np.random.RandomState
) -> np.ndarray:
    """Responsibilities (n, N): one component for each group of tasks, or clusters of rows and labels within groups."""
    groups = task_groups(tasks, min(n_groups, n_components))[tasks.codes]
    cells = groups
    if several:
        size = n_components // (groups.max() + 1)
        cells = np.empty_like(groups)
        for group in range(groups.max() + 1):
            own = np.flatnonzero(groups == group)
            points = np.column_stack([tasks.values[own], tasks.signs[own]])
            cells[own] = group * size + kmeans_labels(points, tasks.weights[own], size, random)
    return (cells[:, None] == np.arange(n_components)).astype(np.float64)


def task_groups(tasks: Tasks, n_groups: int) -> np.ndarray:
    """Groups of tasks (J,) with similar means of columns, of labels, and of their products, by Ward's method."""
    if n_groups == 1 or tasks.n_tasks == 1:
        return np.zeros(tasks.n_tasks, dtype=int)
    if n_groups >= tasks.n_tasks:
        return np.arange(tasks.n_tasks)
    products = (tasks.values[:, :, None] * tasks.signs[:, None, :]).reshape(len(tasks.values), -1)
    described = np.column_stack([tasks.values, tasks.signs, products])
    of_task = tasks.of_task
    means = of_task @ described / of_task.sum(axis=1, keepdims=True)
    return fcluster(linkage(means, "ward"), n_groups, "maxclust") - 1
