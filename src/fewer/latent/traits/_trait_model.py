"""Latent traits behind items with a few answers: multinomial logits in a normal trait, by marginal maximum likelihood.

    P(y_i = s | z) ~ exp(c_is + a_is' z),    c_i0 = 0, a_i0 = 0,    z ~ N(0, I_d),

for nominal items; ordinal ones have ``a_is = s a_i`` (adjacent-category logits, or the generalised partial credit
model), and for two answers both are the two-parameter logistic model. The integral over z is a sum over nodes z_q with
weights: a product of Gauss-Hermite rules up to three dimensions, quasi-random draws beyond.

EM: the E-step gives expected counts ``n_isq`` of answer s to item i at node q, from the answers that are there, and the
M-step is a weighted multinomial logistic regression on the nodes, for each item. All items of one kind and number of
categories share the design ``D_qs``, so their Newton steps are one batch.

References
----------
Bock, R. D. and Aitkin, M. (1981). Marginal maximum likelihood estimation of item parameters: application of an EM
algorithm. Psychometrika 46, 443-459.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import norm, qmc

_ENTRIES_AT_ONCE = 1 << 22
_NEWTON_STEPS = 2
_LONGEST_STEP = 4.0
_LIGHTEST = 1e-14
MOST_DIMENSIONS = 3
"""With more, a product of rules has too many nodes."""


class Nodes(NamedTuple):
    """Points of the trait (Q, d), and the logarithms of their weights, which sum to 1."""

    points: np.ndarray
    log_weights: np.ndarray


def quadrature_nodes(n_dimensions: int, n_quadrature: int) -> Nodes:
    """A product of Gauss-Hermite rules, without nodes whose weight is negligible.

    >>> nodes = quadrature_nodes(1, 5)
    >>> round(float(np.exp(nodes.log_weights) @ nodes.points[:, 0] ** 4), 9)  # the fourth moment of a normal variable
    3.0
    """
    points, weights = np.polynomial.hermite_e.hermegauss(n_quadrature)
    grid = np.stack(np.meshgrid(*[points] * n_dimensions, indexing="ij"), axis=-1).reshape(-1, n_dimensions)
    mass = np.prod(np.stack(np.meshgrid(*[weights] * n_dimensions, indexing="ij"), axis=-1), axis=-1).ravel()
    kept = mass > _LIGHTEST * mass.max()
    return Nodes(grid[kept], np.log(mass[kept] / mass[kept].sum()))


def drawn_nodes(n_dimensions: int, n_draws: int, random: np.random.RandomState) -> Nodes:
    """Quasi-random normal points of equal weight (scrambled Halton sequence)."""
    uniform = qmc.Halton(n_dimensions, seed=random.randint(2**31 - 1)).random(n_draws)
    return Nodes(norm.ppf(np.clip(uniform, 1e-12, 1 - 1e-12)), np.full(n_draws, -np.log(n_draws)))


class Group(NamedTuple):
    """Items of one kind: their numbers, rows of their categories in the table, and the design (Q, S, P).

    ``parameters`` (S - 1, 1 + d) says which of the P parameters the logits of each further category depend on.
    """

    items: np.ndarray
    rows: np.ndarray
    design: np.ndarray
    parameters: np.ndarray
    ordinal: bool


def item_groups(sizes: np.ndarray, ordinal: np.ndarray, nodes: Nodes) -> list[Group]:
    """Items with as many categories and of the same kind; those with one answer only have no parameters."""
    firsts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    groups = []
    for size in np.unique(sizes[sizes > 1]):
        for is_ordinal in (False, True):
            items = np.flatnonzero((sizes == size) & ((ordinal & (size > 2)) == is_ordinal))
            if len(items):
                rows = firsts[items][:, None] + np.arange(size)
                design = item_design(int(size), is_ordinal, nodes.points)
                d, steps = nodes.points.shape[1], np.arange(size - 1)
                slopes = size - 1 + np.arange(d) + (0 if is_ordinal else d * steps[:, None])
                own = np.column_stack([steps, np.broadcast_to(slopes, (size - 1, d))])
                groups.append(Group(items, rows, design, own, is_ordinal))
    return groups


def item_design(size: int, ordinal: bool, points: np.ndarray) -> np.ndarray:
    """Derivatives of the logits of each category by the parameters: intercepts, then slopes."""
    n_points = len(points)
    intercepts = np.broadcast_to(np.eye(size)[:, 1:], (n_points, size, size - 1))
    if ordinal:
        slopes = np.arange(size)[:, None] * points[:, None, :]
    else:
        slopes = np.einsum("sr,qk->qsrk", np.eye(size)[:, 1:], points).reshape(n_points, size, -1)
    return np.ascontiguousarray(np.concatenate([intercepts, slopes], axis=2))


class Traits:
    """The likelihood of a table of answers as a function of one vector with the parameters of all items."""

    def __init__(
        self, indicators: sparse.csr_array, weights: np.ndarray, sizes: np.ndarray, ordinal: np.ndarray, nodes: Nodes
    ):
        self.indicators, self.weights, self.sizes, self.nodes = indicators, weights, sizes, nodes
        self.groups = item_groups(sizes, ordinal, nodes)
        lengths = [len(each.items) * each.design.shape[2] for each in self.groups]
        self.ends = np.concatenate([[0], np.cumsum(lengths)]).astype(int)

    @property
    def n_parameters(self) -> int:
        return int(self.ends[-1])

    def parts(self, vector: np.ndarray) -> list[np.ndarray]:
        """Parameters of each group, (items, P)."""
        return [
            vector[a:b].reshape(len(group.items), -1)
            for group, a, b in zip(self.groups, self.ends[:-1], self.ends[1:], strict=True)
        ]

    def log_table(self, vector: np.ndarray, groups: list[Group] | None = None) -> np.ndarray:
        """Log-probabilities of all categories of all items (rows) at the nodes."""
        groups = self.groups if groups is None else groups
        n_nodes = groups[0].design.shape[0] if groups else len(self.nodes.points)
        table = np.zeros((int(self.sizes.sum()), n_nodes))
        for group, own in zip(groups, self.parts(vector), strict=True):
            logits = np.einsum("qsp,ip->isq", group.design, own, optimize=True)
            logits -= logsumexp(logits, axis=1, keepdims=True)
            table[group.rows] = logits
        return table

    def posterior(self, indicators: sparse.csr_array, table: np.ndarray):
        """Log-likelihoods of rows, and blocks of rows with their posterior weights of the nodes."""
        block = max(1, _ENTRIES_AT_ONCE // len(self.nodes.log_weights))
        for start in range(0, indicators.shape[0], block):
            part = indicators[start : start + block]
            joint = part @ table + self.nodes.log_weights
            largest = joint.max(axis=1, keepdims=True)
            shares = np.exp(joint - largest)
            sums = shares.sum(axis=1, keepdims=True)
            yield slice(start, start + part.shape[0]), part, shares / sums, (largest + np.log(sums))[:, 0]

    def em_step(self, vector: np.ndarray) -> tuple[np.ndarray, float]:
        """The next parameters, and the log-likelihood of the present ones."""
        table = self.log_table(vector)
        counts, total = np.zeros_like(table), 0.0
        for rows, part, shares, logs in self.posterior(self.indicators, table):
            weights = self.weights[rows]
            counts += part.T @ (shares * weights[:, None])
            total += float(weights @ logs)
        return self.maximised(vector, counts), total

    def maximised(self, vector: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Newton steps of the regressions of all items on the nodes."""
        found = [
            _regression_steps(group, counts[group.rows], own)
            for group, own in zip(self.groups, self.parts(vector), strict=True)
        ]
        return np.concatenate([each.ravel() for each in found]) if found else vector

    def start(self, random: np.random.RandomState, perturbed: bool) -> np.ndarray:
        """Parameters from principal components of the answers, which stand for the trait."""
        d = self.nodes.points.shape[1]
        shares = self.weights / self.weights.sum()
        frequencies = np.asarray(self.indicators.T @ shares)
        dense = self.indicators.toarray() - frequencies * self._answered()
        dense /= np.sqrt(np.maximum(frequencies, 1e-12))
        weighted = dense * np.sqrt(shares)[:, None]
        _, vectors = np.linalg.eigh(weighted.T @ weighted)
        scores = dense @ vectors[:, ::-1][:, :d]
        scores = np.pad(scores, ((0, 0), (0, d - scores.shape[1])))
        scores /= np.sqrt(np.maximum(shares @ scores**2, 1e-12))
        if perturbed:
            turn = np.linalg.qr(random.standard_normal((d, d)))[0]
            scores = (scores + 0.5 * random.standard_normal(scores.shape)) @ turn
        counts = np.zeros((int(self.sizes.sum()), len(self.nodes.points)))
        block = max(1, _ENTRIES_AT_ONCE // len(self.nodes.points))
        for begin in range(0, len(scores), block):
            rows = slice(begin, begin + block)
            distances = ((0.8 * scores[rows, None, :] - self.nodes.points) ** 2).sum(axis=2)
            logs = self.nodes.log_weights - distances
            near = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
            counts += self.indicators[rows].T @ (near * self.weights[rows, None])
        vector = np.zeros(self.n_parameters)
        for _ in range(4):
            vector = self.maximised(vector, counts)
        return vector

    def _answered(self) -> np.ndarray:
        """Whether each row answered the item of each category."""
        item = np.repeat(np.arange(len(self.sizes)), self.sizes)
        sums = sparse.csr_array((np.ones(len(item)), (np.arange(len(item)), item)), shape=(len(item), len(self.sizes)))
        return (self.indicators @ sums).toarray()[:, item]

    def information(self, vector: np.ndarray) -> np.ndarray:
        """Observed information of all parameters by Louis' formula: complete less missing information."""
        table = self.log_table(vector)
        scores = np.zeros((len(table), len(self.nodes.points), self.n_parameters))
        expected = np.zeros((self.n_parameters, self.n_parameters))
        counts = np.zeros_like(table)
        for rows, part, shares, _ in self.posterior(self.indicators, table):
            counts += part.T @ (shares * self.weights[rows][:, None])
        for group, a in zip(self.groups, self.ends[:-1], strict=True):
            P = group.design.shape[2]
            for place, own in enumerate(group.rows):
                probabilities = np.exp(table[own])
                mean = np.einsum("qsp,sq->qp", group.design, probabilities)
                inside = slice(a + place * P, a + (place + 1) * P)
                scores[own, :, inside] = np.swapaxes(group.design - mean[:, None], 0, 1)
                spread = np.einsum("sq,qsp,qsr->qpr", probabilities, group.design, group.design)
                spread -= mean[:, :, None] * mean[:, None, :]
                expected[inside, inside] = np.einsum("q,qpr->pr", counts[own].sum(axis=0), spread)
        for rows, part, shares, _ in self.posterior(self.indicators, table):
            weights = self.weights[rows]
            mean = np.zeros((part.shape[0], self.n_parameters))
            for q in range(shares.shape[1]):
                own = part @ scores[:, q]
                mean += shares[:, q, None] * own
                expected -= (own * (weights * shares[:, q])[:, None]).T @ own
            expected += (mean * weights[:, None]).T @ mean
        return expected


def _regression_steps(group: Group, counts: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Newton steps that never lower ``sum_qs n_isq log p_isq``, for all items at once."""
    design = group.design
    totals = counts.sum(axis=1)
    flat = design.reshape(design.shape[0] * design.shape[1], -1)
    places = np.broadcast_to(group.parameters, (len(design), *group.parameters.shape))
    values = np.take_along_axis(design[:, 1:], places, axis=2)

    def log_probabilities(own: np.ndarray) -> np.ndarray:
        logits = (own @ flat.T).reshape(len(own), *design.shape[:2])
        return logits - logsumexp(logits, axis=2, keepdims=True)

    by_node = np.swapaxes(counts, 1, 2)
    logs = log_probabilities(parameters)
    value = np.sum(by_node * logs, axis=(1, 2))
    for _ in range(_NEWTON_STEPS):
        probabilities = np.exp(logs)
        weighted = probabilities * totals[:, :, None]
        gradient = (by_node - weighted).reshape(len(parameters), -1) @ flat
        mean = np.einsum("iqs,qsp->iqp", probabilities, design, optimize=True)
        hessian = -np.matmul(np.swapaxes(mean, 1, 2) * totals[:, None, :], mean)
        blocks = np.einsum("iqs,qsa,qsb->isab", weighted[:, :, 1:], values, values, optimize=True)
        items = np.arange(len(parameters))[:, None, None, None]
        where: Any = (items, group.parameters[:, :, None], group.parameters[:, None, :])
        np.add.at(hessian, where, blocks)
        ridge = 1e-9 * np.maximum(np.trace(hessian, axis1=1, axis2=2), 1e-9)
        hessian[:, np.arange(hessian.shape[1]), np.arange(hessian.shape[1])] += ridge[:, None]
        move = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        move *= np.minimum(1.0, _LONGEST_STEP / np.maximum(np.abs(move).max(axis=1, keepdims=True), 1e-300))
        for _ in range(8):
            moved = parameters + move
            after = log_probabilities(moved)
            reached = np.sum(by_node * after, axis=(1, 2))
            worse = reached < value - 1e-12 * np.abs(value)
            if not worse.any():
                break
            move[worse] /= 4
        else:
            moved[worse], after[worse], reached[worse] = parameters[worse], logs[worse], value[worse]
        parameters, logs, value = moved, after, reached
    return parameters
