"""Steps of the latent class model: expected counts, maximum likelihood, variational Bayes, Gibbs draws.

    P(y_n) = sum_k eta_k prod_i theta_ik,y_ni,      r_nk ~ eta_k prod_i theta_ik,y_ni,

the product over the items that row n has answered: a missing answer drops its factor, which is exact where answers are
missing at random. Every solver needs the expected counts ``N_k = sum_n w_n r_nk`` and ``N_iks = sum_n w_n r_nk
1[y_ni = s]``. EM divides them by their sums. Variational Bayes adds the prior, and takes ``exp E log theta`` of the
Dirichlet posterior in the place of theta. Gibbs draws classes from r, then theta from its posterior given the classes.

An ordinal item has ``theta_iks ~ exp(b_is + c_ik s)`` (adjacent-category logits with one slope for each class): it has
S + K - 2 free numbers instead of K (S - 1).
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.special import digamma, gammaln

from fewer._kernels._arrays import read_only
from fewer.latent.classes._items import Blocks, Patterns

_SUMS = {"reassoc", "contract", "nsz"}
FLOOR = 1e-10
_EXPECTED_FLOOR = 1e-30
_SMALL = 1e-50
_FARTHEST = 40.0  # of intercepts and slopes of ordinal items


class Classes(NamedTuple):
    """Class sizes (K,), and probabilities of all categories of all items (categories, K)."""

    weights: np.ndarray
    theta: np.ndarray


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _combination_table(starts, answers, theta):
    n_combinations, n_classes = starts.size - 1, theta.shape[1]
    table = np.ones((n_combinations, n_classes))
    for m in range(n_combinations):
        for place in range(starts[m], starts[m + 1]):
            row = answers[place]
            for k in range(n_classes):
                table[m, k] *= theta[row, k]
    return table


@njit(cache=True, nogil=True, fastmath=_SUMS, inline="always")
def _joint_of(u, codes, table, weights, joint):
    """Fills ``joint`` with the joint probabilities of a pattern and each class, divided by exp(result)."""
    n_classes = weights.size
    for k in range(n_classes):
        joint[k] = weights[k]
    shift = 0.0
    for b in range(codes.shape[1]):
        row = codes[u, b]
        top = 0.0
        for k in range(n_classes):
            joint[k] *= table[row, k]
            top = max(top, joint[k])
        if top < _SMALL:
            for k in range(n_classes):
                joint[k] /= top
            shift += math.log(top)
    return shift


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _expected_counts(codes, starts, answers, masses, weights, theta):
    n_patterns, n_blocks = codes.shape
    n_classes = weights.size
    table = _combination_table(starts, answers, theta)
    sums = np.zeros_like(table)
    class_counts, counts, joint = np.zeros(n_classes), np.zeros_like(theta), np.empty(n_classes)
    log_likelihood = 0.0
    for u in range(n_patterns):
        shift = _joint_of(u, codes, table, weights, joint)
        total = 0.0
        for k in range(n_classes):
            total += joint[k]
        log_likelihood += masses[u] * (math.log(total) + shift)
        scale = masses[u] / total
        for k in range(n_classes):
            joint[k] *= scale
            class_counts[k] += joint[k]
        for b in range(n_blocks):
            row = codes[u, b]
            for k in range(n_classes):
                sums[row, k] += joint[k]
    for m in range(starts.size - 1):
        for place in range(starts[m], starts[m + 1]):
            for k in range(n_classes):
                counts[answers[place], k] += sums[m, k]
    return class_counts, counts, log_likelihood


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _posteriors(codes, starts, answers, weights, theta, found, logs):
    table = _combination_table(starts, answers, theta)
    joint = np.empty(weights.size)
    for u in range(codes.shape[0]):
        shift = _joint_of(u, codes, table, weights, joint)
        total = 0.0
        for k in range(weights.size):
            total += joint[k]
        logs[u] = math.log(total) + shift
        for k in range(weights.size):
            found[u, k] = joint[k] / total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _answers_of_classes(codes, starts, answers, members, counts):
    """Adds up the answers of patterns, each counted ``members[u, k]`` times in class k."""
    sums = np.zeros((starts.size - 1, members.shape[1]))
    for u in range(codes.shape[0]):
        for b in range(codes.shape[1]):
            for k in range(members.shape[1]):
                sums[codes[u, b], k] += members[u, k]
    for m in range(starts.size - 1):
        for place in range(starts[m], starts[m + 1]):
            for k in range(members.shape[1]):
                counts[answers[place], k] += sums[m, k]


def class_posteriors(blocks: Blocks, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the classes given each pattern (patterns, K), and log-probabilities of the patterns."""
    found = np.empty((len(blocks.codes), len(classes.weights)))
    logs = np.empty(len(found))
    codes, starts, answers, weights, theta = map(read_only, (*blocks, *classes))
    _posteriors(codes, starts, answers, weights, theta, found, logs)
    return found, logs


def answer_counts(patterns: Patterns, members: np.ndarray) -> np.ndarray:
    """Answers in each class (categories, K), of patterns that belong to classes with these masses (patterns, K)."""
    counts = np.zeros((int(patterns.n_categories.sum()), members.shape[1]))
    codes, starts, answers, members = map(read_only, (*patterns.blocks, np.ascontiguousarray(members)))
    _answers_of_classes(codes, starts, answers, members, counts)
    return counts


@njit(cache=True, nogil=True)
def normalised(counts, offsets, n_categories):
    """Counts divided by the sums of their items; an item that nobody in a class has answered has equal shares."""
    found = np.empty_like(counts)
    for item in range(offsets.size):
        first, stop = offsets[item], offsets[item] + n_categories[item]
        for k in range(counts.shape[1]):
            total = 0.0
            for row in range(first, stop):
                found[row, k] = max(counts[row, k], 1e-300)
                total += found[row, k]
            again = 0.0
            for row in range(first, stop):
                found[row, k] = max(found[row, k] / total, FLOOR)
                again += found[row, k]
            for row in range(first, stop):
                found[row, k] /= again
    return found


def settled_shares(shares: np.ndarray) -> np.ndarray:
    """Shares that are positive and sum to 1."""
    shares = np.maximum(shares, FLOOR)
    return shares / np.add.reduce(shares)


class ClassClimb:
    """EM for a posterior mode, which is the maximum of the likelihood where both priors are 1.

    States are one vector: class sizes, probabilities of nominal items, and intercepts and slopes of ordinal items.
    """

    def __init__(self, patterns: Patterns, n_components: int, priors: tuple[float, float], ordinal: np.ndarray):
        self.patterns, self.n_components = patterns, n_components
        self.weight_prior, self.category_prior = priors
        self.offsets, self.sizes = patterns.offsets, patterns.n_categories
        self.arrays = tuple(map(read_only, (*patterns.blocks, patterns.weights)))
        self.ordinal_items = np.flatnonzero(ordinal)
        self.is_nominal = ~np.repeat(ordinal, self.sizes)
        # Kernels see the nominal items without gaps.
        self.nominal_sizes = self.sizes[~ordinal]
        self.nominal_offsets = np.concatenate([[0], np.cumsum(self.nominal_sizes)])[:-1]
        self.n_nominal = int(self.nominal_sizes.sum()) * n_components

    def classes(self, vector: np.ndarray) -> Classes:
        """Sizes and probabilities."""
        k = self.n_components
        weights, nominal = vector[:k], vector[k : k + self.n_nominal].reshape(-1, k)
        if not len(self.ordinal_items):
            return Classes(weights, nominal)
        theta = np.empty((len(self.is_nominal), k))
        theta[self.is_nominal] = nominal
        for item, intercepts, slopes in self._ordinal_parts(vector):
            start, size = self.offsets[item], self.sizes[item]
            theta[start : start + size] = _ordinal_probabilities(intercepts, slopes)
        return Classes(weights, theta)

    def _ordinal_parts(self, vector: np.ndarray):
        place = self.n_components + self.n_nominal
        for item in self.ordinal_items:
            middle = place + self.sizes[item]
            yield item, vector[place:middle], vector[middle : middle + self.n_components]
            place = middle + self.n_components

    def settled(self, vector: np.ndarray) -> np.ndarray:
        """The nearest vector that is allowed, more or less."""
        k = self.n_components
        nominal = vector[k : k + self.n_nominal].reshape(-1, k)
        if len(self.nominal_sizes):
            nominal = normalised(nominal, self.nominal_offsets, self.nominal_sizes)
        rest = np.clip(vector[k + self.n_nominal :], -_FARTHEST, _FARTHEST)
        return np.concatenate([settled_shares(vector[:k]), nominal.ravel(), rest])

    def step(self, vector: np.ndarray) -> tuple[np.ndarray, float]:
        """The next vector, and the objective of this one."""
        classes = self.classes(vector)
        class_counts, counts, objective = _expected_counts(*self.arrays, *map(np.ascontiguousarray, classes))
        if self.category_prior != 1:
            objective += (self.category_prior - 1) * float(np.log(classes.theta).sum())
        if self.weight_prior != 1:
            objective += (self.weight_prior - 1) * float(np.log(classes.weights).sum())
        return self.maximised(class_counts, counts + (self.category_prior - 1), vector), objective

    def maximised(self, class_counts: np.ndarray, counts: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Parameters from counts; those of ordinal items move uphill from where they are."""
        parts = [settled_shares((sized := class_counts + (self.weight_prior - 1)) / sized.sum())]
        if len(self.nominal_sizes):
            nominal = counts if not len(self.ordinal_items) else counts[self.is_nominal]
            parts.append(normalised(nominal, self.nominal_offsets, self.nominal_sizes).ravel())
        for item, intercepts, slopes in self._ordinal_parts(vector):
            own = np.ascontiguousarray(counts[self.offsets[item] : self.offsets[item] + self.sizes[item]])
            parts.append(_ordinal_step(own, intercepts.copy(), slopes.copy()))
        return np.concatenate(parts)

    def start(self, random: np.random.RandomState) -> np.ndarray:
        """Class sizes that are equal, and in each class the answers of a row that is drawn more likely than others."""
        theta = starting_theta(self.patterns, self.n_components, random)
        rest = np.zeros(int((self.sizes[self.ordinal_items] + self.n_components).sum()))
        weights = np.full(self.n_components, 1 / self.n_components)
        vector = np.concatenate([weights, theta[self.is_nominal].ravel(), rest])
        if not len(self.ordinal_items):
            return vector
        # Ordinal items begin where some steps uphill from no effect come to.
        for _ in range(10):
            vector = np.concatenate([vector[: -len(rest)], self.maximised(weights, theta, vector)[-len(rest) :]])
        return vector


def starting_theta(patterns: Patterns, n_components: int, random: np.random.RandomState) -> np.ndarray:
    """Probabilities (categories, K) half by the whole table and half by one row, with some noise."""
    sizes, offsets = patterns.n_categories, patterns.offsets
    shares = normalised(answer_counts(patterns, patterns.weights[:, None]), offsets, sizes)
    running = np.cumsum(patterns.weights)
    drawn = np.searchsorted(running, random.uniform(size=n_components) * running[-1], side="right")
    theta = 0.5 * shares + 0.25 * normalised(random.exponential(size=(len(shares), n_components)), offsets, sizes)
    theta += 0.25 * shares
    for k, pattern in enumerate(np.minimum(drawn, len(running) - 1)):
        codes = patterns.codes[pattern]
        items = np.flatnonzero(codes >= 0)
        own = np.repeat(np.isin(np.arange(len(sizes)), items), sizes)
        theta[own, k] *= 0.5
        theta[offsets[items] + codes[items], k] += 0.5
    return normalised(theta, offsets, sizes)


@njit(cache=True, nogil=True)
def _ordinal_probabilities(intercepts, slopes):
    """``exp(b_s + c_k s)`` over its sum over s, of shape (S, K)."""
    size, n_classes = intercepts.size, slopes.size
    found = np.empty((size, n_classes))
    for k in range(n_classes):
        top = -np.inf
        for s in range(size):
            found[s, k] = intercepts[s] + slopes[k] * s
            top = max(top, found[s, k])
        total = 0.0
        for s in range(size):
            found[s, k] = max(math.exp(found[s, k] - top), FLOOR)
            total += found[s, k]
        for s in range(size):
            found[s, k] /= total
    return found


@njit(cache=True, nogil=True)
def _ordinal_fit(counts, intercepts, slopes):
    found = _ordinal_probabilities(intercepts, slopes)
    total = 0.0
    for s in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            total += counts[s, k] * math.log(found[s, k])
    return total


@njit(cache=True, nogil=True)
def _solved(matrix, right):
    """Solution of a small positive definite system, over which it writes; LAPACK takes long to compile in."""
    size = right.size
    for pivot in range(size):
        for row in range(pivot + 1, size):
            factor = matrix[row, pivot] / matrix[pivot, pivot]
            for column in range(pivot, size):
                matrix[row, column] -= factor * matrix[pivot, column]
            right[row] -= factor * right[pivot]
    for row in range(size - 1, -1, -1):
        for column in range(row + 1, size):
            right[row] -= matrix[row, column] * right[column]
        right[row] /= matrix[row, row]
    return right


@njit(cache=True, nogil=True)
def _ordinal_step(counts, intercepts, slopes):
    """Two Newton steps uphill for intercepts and slopes of one item, each halved until the fit does not fall."""
    size, n_classes = counts.shape
    free = size + n_classes
    for _ in range(2):
        probabilities = _ordinal_probabilities(intercepts, slopes)
        gradient, curvature = np.zeros(free), np.zeros((free, free))
        for k in range(n_classes):
            total, mean, square = 0.0, 0.0, 0.0
            for s in range(size):
                total += counts[s, k]
                mean += s * probabilities[s, k]
                square += s * s * probabilities[s, k]
            curvature[size + k, size + k] += total * (square - mean * mean)
            for s in range(size):
                rest = counts[s, k] - total * probabilities[s, k]
                gradient[s] += rest
                gradient[size + k] += s * rest
                across = total * probabilities[s, k] * (s - mean)
                curvature[s, size + k] += across
                curvature[size + k, s] += across
                curvature[s, s] += total * probabilities[s, k]
                for t in range(size):
                    curvature[s, t] -= total * probabilities[s, k] * probabilities[t, k]
        # Two directions change nothing: the ridge keeps them where they are.
        ridge = 1e-8 * (counts.sum() + 1e-300)
        for place in range(free):
            curvature[place, place] += ridge
        direction = _solved(curvature, gradient)
        before = _ordinal_fit(counts, intercepts, slopes)
        length = 1.0
        for _ in range(30):
            new_intercepts = np.minimum(np.maximum(intercepts + length * direction[:size], -_FARTHEST), _FARTHEST)
            new_slopes = np.minimum(np.maximum(slopes + length * direction[size:], -_FARTHEST), _FARTHEST)
            if _ordinal_fit(counts, new_intercepts, new_slopes) >= before:
                intercepts, slopes = new_intercepts, new_slopes
                break
            length /= 2
    return np.concatenate((intercepts, slopes))


class ClassPosterior:
    """Variational Bayes: Dirichlet posteriors of class sizes and of the answers of each class to each item."""

    def __init__(self, patterns: Patterns, n_components: int, priors: tuple[float, float]):
        self.patterns, self.n_components = patterns, n_components
        self.weight_prior, self.category_prior = priors
        self.offsets, self.sizes = patterns.offsets, patterns.n_categories
        self.arrays = tuple(map(read_only, (*patterns.blocks, patterns.weights)))

    def parts(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Dirichlet parameters of class sizes (K,), of answers (categories, K), and the sums of the latter by item."""
        weights, answers = vector[: self.n_components], vector[self.n_components :].reshape(-1, self.n_components)
        return weights, answers, np.add.reduceat(answers, self.offsets, axis=0)

    def settled(self, vector: np.ndarray) -> np.ndarray:
        """No parameter is below that of the prior."""
        lowest = np.full(len(vector), self.category_prior)
        lowest[: self.n_components] = self.weight_prior
        return np.maximum(vector, lowest)

    def step(self, vector: np.ndarray) -> tuple[np.ndarray, float]:
        """The next posterior, and the bound on the log evidence at this one."""
        weights, answers, sums = self.parts(vector)
        log_weights = digamma(weights) - digamma(weights.sum())
        log_theta = digamma(answers) - np.repeat(digamma(sums), self.sizes, axis=0)
        expected = (np.maximum(np.exp(each), _EXPECTED_FLOOR) for each in (log_weights, log_theta))
        class_counts, counts, bound = _expected_counts(*self.arrays, *expected)
        k = self.n_components
        bound -= gammaln(weights.sum()) - gammaln(weights).sum() + (weights - self.weight_prior) @ log_weights
        bound += gammaln(k * self.weight_prior) - k * gammaln(self.weight_prior)
        bound -= gammaln(sums).sum() - gammaln(answers).sum() + ((answers - self.category_prior) * log_theta).sum()
        bound += k * float(gammaln(self.sizes * self.category_prior).sum())
        bound -= answers.size * gammaln(self.category_prior)
        return np.concatenate([class_counts + self.weight_prior, (counts + self.category_prior).ravel()]), float(bound)

    def start(self, random: np.random.RandomState) -> np.ndarray:
        """As many answers as there are, shared by the classes of a start of EM."""
        classes = Classes(
            np.full(self.n_components, 1 / self.n_components), starting_theta(self.patterns, self.n_components, random)
        )
        class_counts, counts, _ = _expected_counts(*self.arrays, *map(np.ascontiguousarray, classes))
        return np.concatenate([class_counts + self.weight_prior, (counts + self.category_prior).ravel()])

    def classes(self, vector: np.ndarray) -> Classes:
        """Posterior means."""
        weights, answers, sums = self.parts(vector)
        return Classes(weights / weights.sum(), answers / np.repeat(sums, self.sizes, axis=0))

    def standard_deviations(self, vector: np.ndarray) -> Classes:
        """Posterior standard deviations, which are too small: the dependence on the classes of rows is left out."""
        weights, _, sums = self.parts(vector)
        means = self.classes(vector)
        of_weights = np.sqrt(means.weights * (1 - means.weights) / (weights.sum() + 1))
        return Classes(of_weights, np.sqrt(means.theta * (1 - means.theta) / np.repeat(sums + 1, self.sizes, axis=0)))

    def drawn(self, vector: np.ndarray, random: np.random.RandomState) -> Classes:
        """One draw of the parameters."""
        weights, answers, _ = self.parts(vector)
        return Classes(random.dirichlet(weights), drawn_theta(answers, self.offsets, self.sizes, random))


def drawn_theta(
    answers: np.ndarray, offsets: np.ndarray, sizes: np.ndarray, random: np.random.RandomState
) -> np.ndarray:
    """A draw of the probabilities (categories, K), from Dirichlet distributions with these parameters."""
    return normalised(random.standard_gamma(answers), offsets, sizes)


def drawn_members(posteriors: np.ndarray, masses: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """How many of the rows with each pattern belong to each class (patterns, K): a draw from their posteriors."""
    members = np.zeros(posteriors.shape)
    left, chance = masses.astype(np.int64), np.ones(len(masses))
    for k in range(posteriors.shape[1] - 1):
        share = np.clip(posteriors[:, k] / np.maximum(chance, 1e-300), 0, 1)
        members[:, k] = random.binomial(left, share)
        left = left - members[:, k].astype(np.int64)
        chance = chance - posteriors[:, k]
    members[:, -1] = left
    return members
