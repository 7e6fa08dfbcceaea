"""Variational inference for experts that several tasks share: a hierarchical Dirichlet process over J tasks.

Every task j has sticks V_jh of its own, and each of its components h is one of the atoms that all tasks share:

    z_ji ~ sticks V_j,    c_jh ~ eta,    eta_s = U_s prod_{l<s} (1 - U_l),    U_s ~ Beta(1, beta),
    (x_ji, t_ji) | z_ji = h, c_jh = s ~ gate and expert of atom s, as in ``_variational.py``.

The posterior is approximated by factors as there, with q(x_missing) q(z) in place of q(x_missing, z), and q(c) with
probabilities sigma. A row belongs to atom s with probability ``sum_h rho_jih sigma_jhs``.

References: Wang, C., Liao, X., Carin, L. and Dunson, D. B. (2010). Classification with incomplete data using Dirichlet
process priors. Journal of Machine Learning Research 11, 3269-3311, section 4.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, softmax, xlogy

from fewer.latent._normal_wishart import NormalWishart, divergence_from_prior, expectations
from fewer.latent.experts._variational import (
    Experts,
    Hyper,
    Priors,
    Scores,
    Sticks,
    Sums,
    expected_scores,
    expert_divergence,
    first_hyper,
    log_stick_weights,
    mean_soft_labels,
    no_sums,
    soft_label_bounds,
    stick_divergence,
    stick_weights,
    stretched_experts,
    updated_gates,
    updated_sticks,
)

_LOG_2PI = float(np.log(2 * np.pi))


class Tasks(NamedTuple):
    """Rows of all tasks with 0 for missing entries, where these are, signs of labels (n, C), tasks and weights (n,)."""

    values: np.ndarray
    missing: np.ndarray
    signs: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    n_tasks: int

    @property
    def of_task(self) -> np.ndarray:
        """Weights of the rows of each task, and 0 for those of others, (J, n)."""
        return (np.arange(self.n_tasks)[:, None] == self.codes) * self.weights


class TaskSticks(NamedTuple):
    """Beta distributions of the sticks of each task (J, N - 1), and the gamma distribution of their concentration."""

    first: np.ndarray
    second: np.ndarray
    shape: float
    rate: float


class SharedState(NamedTuple):
    """All factors: those of the atoms, the sticks, probabilities rho (n, N) and sigma (J, N, S), and soft labels."""

    gates: NormalWishart
    experts: Experts
    hyper: Hyper
    atom_sticks: Sticks
    task_sticks: TaskSticks
    components: np.ndarray
    atoms: np.ndarray
    locations: np.ndarray
    stretch: np.ndarray


class Completed(NamedTuple):
    """Rows with missing entries at their means (n, P), their covariances (n, P, P), and their entropies (n,)."""

    rows: np.ndarray
    covariances: np.ndarray
    entropies: np.ndarray


def atom_shares(tasks: Tasks, components: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Probabilities (n, S) that rows belong to atoms."""
    return np.einsum("ih,ihs->is", components, atoms[tasks.codes])


def shared_step(tasks: Tasks, priors: Priors, atom_priors: Priors, state: SharedState) -> tuple[SharedState, float]:
    """Update every factor once; the new state, and the bound before the soft labels and the atoms are updated.

    The concentration of tasks has its prior in ``priors``, that of atoms in ``atom_priors``.
    """
    known = expectations(state.gates)
    scores = expected_scores(state.gates, known, state.experts, np.zeros(len(state.gates.means)))
    labels = mean_soft_labels(state.locations, tasks.signs) * state.stretch
    shares = atom_shares(tasks, state.components, state.atoms)
    completed = completed_rows(tasks, scores, labels, shares)
    fits = fit_of_atoms(completed, scores, labels)
    log_weights = log_stick_weights(state.task_sticks)
    components = softmax(np.einsum("is,ihs->ih", fits, state.atoms[tasks.codes]) + log_weights[tasks.codes], axis=1)
    log_atoms = log_stick_weights(state.atom_sticks)
    by_task = np.einsum("ji,ih,is->jhs", tasks.of_task, components, fits, optimize=True)
    atoms = softmax(by_task + log_atoms, axis=2)
    shares = atom_shares(tasks, components, atoms)
    by_row = (shares * fits).sum(axis=1) + completed.entropies
    by_row += (components * log_weights[tasks.codes] - xlogy(components, components)).sum(axis=1)
    by_row += soft_label_bounds(state.locations, tasks.signs, state.stretch).sum(axis=1)
    bound = (
        tasks.weights @ by_row
        + (atoms * log_atoms - xlogy(atoms, atoms)).sum()
        - divergence_from_prior(state.gates, priors.gates, known).sum()
        - expert_divergence(state.experts, state.hyper, priors)
        - stick_divergence(state.atom_sticks, atom_priors)
        - task_stick_divergence(state.task_sticks, priors)
    )
    predicted = np.einsum("ip,scp->isc", completed.rows, scores.slopes, optimize=True) + scores.intercepts
    locations = np.einsum("is,isc->ic", shares, predicted)
    state = updated_state(tasks, priors, atom_priors, state, completed, components, atoms, locations)
    return state, float(bound)


def completed_rows(tasks: Tasks, scores: Scores, labels: np.ndarray, shares: np.ndarray) -> Completed:
    """q(x_missing): normal, with the precision matrix that is the mean over the atoms of the row."""
    rows = tasks.values.copy()
    covariances = np.zeros((*rows.shape, rows.shape[1]))
    touched = np.flatnonzero(tasks.missing.any(axis=1))
    if not len(touched):
        return Completed(rows, covariances, np.zeros(len(rows)))
    missing, own = tasks.missing[touched], shares[touched]
    matrices = np.tensordot(own, scores.matrices, axes=1)
    linear = own @ scores.linear + np.einsum("is,ic,scp->ip", own, labels[touched], scores.slopes, optimize=True)
    residuals = np.where(missing, linear - np.einsum("ipq,iq->ip", matrices, rows[touched]), 0.0)
    # With ones on the diagonal for observed entries, the inverse has the covariances of the missing ones.
    both = missing[:, :, None] & missing[:, None, :]
    matrices = np.where(both, matrices, np.eye(rows.shape[1]))
    log_dets = np.linalg.slogdet(matrices)[1]
    inverses = np.where(both, np.linalg.inv(matrices), 0.0)
    covariances[touched] = (inverses + inverses.transpose(0, 2, 1)) / 2
    rows[touched] += np.einsum("ipq,iq->ip", covariances[touched], residuals)
    entropies = np.zeros(len(rows))
    entropies[touched] = (missing.sum(axis=1) * (1 + _LOG_2PI) - log_dets) / 2
    return Completed(rows, covariances, entropies)


def fit_of_atoms(completed: Completed, scores: Scores, labels: np.ndarray) -> np.ndarray:
    """``E[log p(t, x | atom)]`` of every row and atom, (n, S)."""
    rows = completed.rows
    linear = rows @ scores.linear.T + np.einsum("ic,scp,ip->is", labels, scores.slopes, rows, optimize=True)
    quadratic = np.einsum("ip,spq,iq->is", rows, scores.matrices, rows, optimize=True)
    traces = completed.covariances.reshape(len(rows), -1) @ scores.matrices.reshape(len(scores.matrices), -1).T
    return scores.constants + labels @ scores.intercepts.T + linear - (quadratic + traces) / 2


def updated_state(
    tasks: Tasks,
    priors: Priors,
    atom_priors: Priors,
    before: SharedState,
    completed: Completed,
    components: np.ndarray,
    atoms: np.ndarray,
    locations: np.ndarray,
) -> SharedState:
    """The factors of the sticks and of the atoms."""
    labels = mean_soft_labels(locations, tasks.signs)
    shares = atom_shares(tasks, components, atoms) * tasks.weights[:, None]
    sums = sums_over_rows(completed, shares, labels)
    squares = tasks.weights @ (1 + locations * labels)
    experts, hyper, stretch = stretched_experts(sums, squares, priors, before.hyper)
    return SharedState(
        updated_gates(sums, priors),
        experts,
        hyper,
        updated_sticks(atoms.sum(axis=(0, 1)), atom_priors, before.atom_sticks),
        updated_task_sticks(tasks.of_task @ components, priors, before.task_sticks),
        components,
        atoms,
        locations,
        stretch,
    )


def sums_over_rows(completed: Completed, shares: np.ndarray, labels: np.ndarray) -> Sums:
    """What the factors of the atoms need of the rows, from their weighted shares of the atoms (n, S)."""
    rows, (n_rows, n_columns) = completed.rows, completed.rows.shape
    sums = no_sums(shares.shape[1], labels.shape[1], n_columns)
    sums.sizes[:] = shares.sum(axis=0)
    sums.rows[:] = shares.T @ rows
    products = (rows[:, :, None] * rows[:, None, :] + completed.covariances).reshape(n_rows, -1)
    sums.products[:] = (shares.T @ products).reshape(sums.products.shape)
    sums.labels[:, :, :-1] = np.einsum("is,ic,ip->scp", shares, labels, rows, optimize=True)
    sums.labels[:, :, -1] = shares.T @ labels
    return sums


def updated_task_sticks(sizes: np.ndarray, priors: Priors, sticks: TaskSticks) -> TaskSticks:
    """q(V) of every task from its numbers of rows by component (J, N), then q(alpha)."""
    after = sizes[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    first, second = 1 + sizes[:, :-1], sticks.shape / sticks.rate + after
    log_rests = digamma(second) - digamma(first + second)
    return TaskSticks(
        first, second, priors.concentration_shape + first.size, priors.concentration_rate - float(log_rests.sum())
    )


def task_stick_divergence(sticks: TaskSticks, priors: Priors) -> float:
    """Divergence of q(V) and q(alpha) from their priors."""
    return stick_divergence(Sticks(sticks.first.ravel(), sticks.second.ravel(), sticks.shape, sticks.rate), priors)


def atom_usage(state: SharedState) -> np.ndarray:
    """Expected share of each atom in each task, (J, S)."""
    pairs = zip(state.task_sticks.first, state.task_sticks.second, strict=True)
    weights = np.stack([stick_weights(*each) for each in pairs])
    return np.einsum("jh,jhs->js", weights, state.atoms)


def task_similarity(usage: np.ndarray) -> np.ndarray:
    """``exp(-KL)`` between the atoms that tasks use, with the mean of both directions of the divergence, (J, J)."""
    logs = np.log(np.maximum(usage, 1e-300))
    crossed = np.einsum("is,js->ij", usage, logs)
    own = np.diag(crossed)
    divergences = own[:, None] - crossed
    return np.exp(-(divergences + divergences.T) / 2)


def starting_shared_state(
    tasks: Tasks, priors: Priors, atom_priors: Priors, shares: np.ndarray, n_atoms: int
) -> SharedState:
    """Factors that follow from responsibilities (n, N); component h of every task starts as atom h."""
    n_components, n_outputs, n_columns = shares.shape[1], tasks.signs.shape[1], tasks.values.shape[1]
    order = np.argsort(-(tasks.weights @ shares), kind="stable")
    atoms = np.zeros((tasks.n_tasks, n_components, n_atoms))
    atoms[:, np.arange(n_components), np.arange(n_components) % n_atoms] = 1.0
    uncertain = tasks.missing[:, :, None] * np.eye(n_columns)
    n_sticks = n_atoms - 1
    sticks = Sticks(
        np.ones(n_sticks), np.ones(n_sticks), atom_priors.concentration_shape, atom_priors.concentration_rate
    )
    empty = np.ones((tasks.n_tasks, n_components - 1))
    task_sticks = TaskSticks(empty, empty, priors.concentration_shape, priors.concentration_rate)
    nothing = np.zeros((0, n_columns))
    before = SharedState(
        NormalWishart(nothing, nothing, nothing, nothing),
        Experts(nothing, nothing),
        first_hyper(priors, n_outputs, n_columns),
        sticks,
        task_sticks,
        shares,
        atoms,
        tasks.signs,
        np.ones(n_outputs),
    )
    completed = Completed(tasks.values, uncertain, np.zeros(len(tasks.values)))
    return updated_state(tasks, priors, atom_priors, before, completed, shares[:, order], atoms, tasks.signs)
