"""Normal components that also draw a label: one model for sub-classes, shared components and aspects with covariates.

    P(x, y = k) = sum_r pi_r phi(x; mu_r, Sigma_r) P_rk,        P_rk = P(y = k | r).

Row i has ``y_ik`` occurrences of label k (one of a single label for classes; none where the class is not known). EM:

    w_ikr ~ pi_r phi(x_i; mu_r, Sigma_r) P_rk,    w_ir = sum_k y_ik w_ikr,    P_rk ~ sum_i y_ik w_ikr,

and pi, mu and Sigma are weighted by w_ir. ``P_rk = 0`` stays: with components that belong to one class each this is
mixture discriminant analysis, whose classes have sub-classes of their own. Penalties keep the objective climbing:
``-lambda n / 2 tr Sigma^-1`` (ridge), and ``-s / 2 (mu_r - m)' Sigma^-1 (mu_r - m)`` towards the mean m of the class.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from fewer._kernels._numpy_lapack import solve_cholesky, solve_triangular

_KMEANS_STEPS = 30
_HARD = 0.9
_SOME_ROWS = 500


class Recipe(NamedTuple):
    """How components are estimated."""

    covariance_type: str = "tied"
    ridge: float = 0.0
    shrinkage: float = 0.0
    n_directions: int | None = None


class Mixture(NamedTuple):
    """Weights (R,), means (R, p), covariances by their type, label probabilities (R, C), times of re-seeding."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    labels: np.ndarray
    covariance_type: str = "tied"
    n_reseeded: int = 0


class Rows(NamedTuple):
    """Rows about their mean, how often each has each label (CSC), and weights of rows whose label is not known.

    ``squares`` is ``sum_i w_i x_i x_i'``: responsibilities of a row sum to its weight, so that no step changes it.
    """

    X: np.ndarray
    Y: sparse.csc_array
    unlabelled: np.ndarray
    class_means: np.ndarray
    squares: np.ndarray

    @property
    def total(self) -> float:
        return float(self.Y.sum() + self.unlabelled.sum())


def rows_of(X: np.ndarray, Y: sparse.csc_array, unlabelled: np.ndarray) -> Rows:
    """What EM needs to know of the rows."""
    sizes = np.asarray(Y.sum(axis=0)).ravel()
    means = np.asarray(Y.T @ X) / np.maximum(sizes, 1e-300)[:, None]
    weights = np.asarray(Y.sum(axis=1)).ravel() + unlabelled
    return Rows(X, sparse.csc_array(Y), unlabelled, means, (X * weights[:, None]).T @ X)


def log_densities(X: np.ndarray, mixture: Mixture) -> np.ndarray:
    """``log pi_r + log phi(x; mu_r, Sigma_r)`` of rows and components."""
    n_columns = X.shape[1]
    covariances = mixture.covariances
    with np.errstate(divide="ignore"):
        logs = np.log(mixture.weights) - n_columns * np.log(2 * np.pi) / 2
    if mixture.covariance_type == "diag":
        scaled = 1 / covariances
        found = np.column_stack(
            [(X - mean) ** 2 @ inverse for mean, inverse in zip(mixture.means, scaled, strict=True)]
        )
        return logs - (found + np.log(covariances).sum(axis=1)) / 2
    if mixture.covariance_type == "tied":
        factor = np.linalg.cholesky(covariances)
        points, centres = _whitened(X, factor), _whitened(mixture.means, factor)
        return logs - np.log(np.diag(factor)).sum() - squared_distances(points, centres) / 2
    found = np.empty((len(X), len(mixture.means)))
    for r, (mean, covariance) in enumerate(zip(mixture.means, covariances, strict=True)):
        factor = np.linalg.cholesky(covariance)
        points = _whitened(X - mean, factor)
        found[:, r] = logs[r] - np.log(np.diag(factor)).sum() - np.einsum("ij,ij->i", points, points) / 2
    return found


def _whitened(X: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return solve_triangular(factor, X.T).T


def squared_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances of points and centres."""
    cross = points @ centres.T
    found = np.einsum("ij,ij->i", points, points)[:, None] + np.einsum("ij,ij->i", centres, centres) - 2 * cross
    return np.maximum(found, 0)


def responsibilities(rows: Rows, mixture: Mixture) -> tuple[np.ndarray, np.ndarray, float]:
    """``w_ir``, expected labels of components (R, C), and the log-likelihood."""
    densities, log_likelihood = _compared_densities(rows, mixture)
    with np.errstate(divide="ignore"):
        log_labels = np.log(mixture.labels)
    found = np.zeros_like(densities)
    labels = np.zeros_like(log_labels)
    indptr, indices, data = rows.Y.indptr, rows.Y.indices, rows.Y.data
    for k in range(labels.shape[1]):
        members, counts = indices[indptr[k] : indptr[k + 1]], data[indptr[k] : indptr[k + 1]]
        able = np.flatnonzero(mixture.labels[:, k] > 0)
        joint = densities[np.ix_(members, able)] + log_labels[able, k]
        sums = _row_logsumexp(joint)
        log_likelihood += float(counts @ sums)
        shares = np.exp(joint - sums[:, None]) * counts[:, None]
        found[np.ix_(members, able)] += shares
        labels[able, k] = shares.sum(axis=0)
    members = np.flatnonzero(rows.unlabelled)
    if len(members):
        sums = _row_logsumexp(densities[members])
        weights = rows.unlabelled[members]
        log_likelihood += float(weights @ sums)
        found[members] += np.exp(densities[members] - sums[:, None]) * weights[:, None]
    return found, labels, log_likelihood


def _compared_densities(rows: Rows, mixture: Mixture) -> tuple[np.ndarray, float]:
    """Log-densities of components but for what they share in each row, and the sum of that over all rows.

    With one covariance, ``x' Sigma^-1 x`` is the same for all components: a product with ``Sigma^-1 mu`` is enough.
    """
    if mixture.covariance_type != "tied":
        return log_densities(rows.X, mixture), 0.0
    factor = np.linalg.cholesky(mixture.covariances)
    slopes = solve_cholesky(factor, mixture.means.T)
    with np.errstate(divide="ignore"):
        levels = np.log(mixture.weights) - np.einsum("rj,jr->r", mixture.means, slopes) / 2
    squares = np.trace(solve_cholesky(factor, rows.squares))
    shared = rows.X.shape[1] * np.log(2 * np.pi) / 2 + np.log(np.diag(factor)).sum()
    return rows.X @ slopes + levels, -float(rows.total * shared + squares / 2)


def _row_logsumexp(values: np.ndarray) -> np.ndarray:
    """Like scipy's, without its checks, which take longer than a small step."""
    columns = np.ascontiguousarray(values.T)  # few columns: reductions along them are slow the other way round
    largest = columns.max(axis=0)
    return largest + np.log(np.exp(columns - largest).sum(axis=0))


def maximised(rows: Rows, shares: np.ndarray, labels: np.ndarray, recipe: Recipe, n_reseeded: int = 0) -> Mixture:
    """The M-step, from ``w_ir`` and expected labels."""
    sizes = shares.sum(axis=0)
    safe = np.maximum(sizes, 1e-300)
    sums = shares.T @ rows.X
    means = sums / safe[:, None]
    towards = np.zeros_like(means)
    if recipe.shrinkage:
        towards = (labels / np.maximum(labels.sum(axis=1), 1e-300)[:, None]) @ rows.class_means
        means = (sizes[:, None] * means + recipe.shrinkage * towards) / (sizes + recipe.shrinkage)[:, None]
    if recipe.n_directions is not None:
        within = _scatter(rows.squares, shares, means, sums) / sizes.sum() + recipe.ridge * np.eye(means.shape[1])
        means = reduced_means(means, sizes, within, recipe.n_directions)
    covariances = _covariances(rows, shares, means, sums, towards, recipe)
    totals = labels.sum(axis=1, keepdims=True)
    labels = np.divide(labels, totals, out=np.full_like(labels, 1 / labels.shape[1]), where=totals > 0)
    return Mixture(sizes / sizes.sum(), means, covariances, labels, recipe.covariance_type, n_reseeded)


def _scatter(squares: np.ndarray, shares: np.ndarray, means: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """``sum_ir w_ir (x_i - mu_r)(x_i - mu_r)'``."""
    cross = sums.T @ means
    return squares - cross - cross.T + (means.T * shares.sum(axis=0)) @ means


def _covariances(
    rows: Rows, shares: np.ndarray, means: np.ndarray, sums: np.ndarray, towards: np.ndarray, recipe: Recipe
) -> np.ndarray:
    X, sizes = rows.X, shares.sum(axis=0)
    total, (n_components, n_columns) = sizes.sum(), means.shape
    ridge = recipe.ridge * np.eye(n_columns)
    if recipe.covariance_type == "tied":
        found = _scatter(rows.squares, shares, means, sums)
        if recipe.shrinkage:
            found += recipe.shrinkage * (means - towards).T @ (means - towards)
        return found / total + ridge
    share = total / n_components
    if recipe.covariance_type == "diag":
        squares = shares.T @ X**2 - 2 * means * sums + sizes[:, None] * means**2
        return (np.maximum(squares, 0) + share * recipe.ridge) / np.maximum(sizes, 1e-12)[:, None]
    found = np.empty((n_components, n_columns, n_columns))
    for r in range(n_components):
        centred = (X - means[r]) * np.sqrt(shares[:, r])[:, None]
        found[r] = (centred.T @ centred + share * ridge) / max(sizes[r], 1e-12)
    return found


def discriminant_directions(
    means: np.ndarray, weights: np.ndarray, within: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Directions (p, q) of unit within-variance along which component means differ most, and their eigenvalues."""
    factor = np.linalg.cholesky(within)
    centre = weights @ means / weights.sum()
    spread = _whitened(means - centre, factor) * np.sqrt(weights / weights.sum())[:, None]
    _, sizes, vectors = np.linalg.svd(spread, full_matrices=False)
    n_directions = min(len(means) - 1, means.shape[1])
    directions = solve_triangular(factor, vectors[:n_directions].T, transposed=True)
    return directions, sizes[:n_directions] ** 2


def reduced_means(means: np.ndarray, weights: np.ndarray, within: np.ndarray, n_directions: int) -> np.ndarray:
    """Means moved, by as little as possible in the metric of the covariance, into a space of few dimensions."""
    directions, _ = discriminant_directions(means, weights, within)
    directions = directions[:, :n_directions]
    centre = weights @ means / weights.sum()
    return centre + (means - centre) @ directions @ (within @ directions).T


def penalty(mixture: Mixture, rows: Rows, recipe: Recipe) -> float:
    """What the ridge and the shrinkage take from the log-likelihood."""
    covariances = mixture.covariances
    total = 0.0
    if recipe.covariance_type == "tied":
        inverse = np.linalg.inv(covariances)
        total += rows.total * recipe.ridge * np.trace(inverse) / 2
        if recipe.shrinkage:
            away = mixture.means - mixture.labels @ rows.class_means
            total += recipe.shrinkage * float(np.einsum("ij,jk,ik->", away, inverse, away)) / 2
        return total
    share = rows.total / len(mixture.means) * recipe.ridge / 2
    if recipe.covariance_type == "diag":
        return share * float(np.sum(1 / covariances))
    return share * float(sum(np.trace(np.linalg.inv(each)) for each in covariances))


def em_step(rows: Rows, recipe: Recipe, mixture: Mixture) -> tuple[Mixture, float]:
    """The next mixture, and the penalised log-likelihood of the present one."""
    shares, labels, log_likelihood = responsibilities(rows, mixture)
    objective = log_likelihood - penalty(mixture, rows, recipe)
    n_reseeded = mixture.n_reseeded
    lonely = np.flatnonzero(shares.sum(axis=0) < min(1.0, rows.total / (10 * len(mixture.means))))
    if len(lonely) and n_reseeded < len(mixture.means):
        _reseed(rows, mixture, shares, labels, int(lonely[0]))
        n_reseeded += 1
    return maximised(rows, shares, labels, recipe, n_reseeded), objective


def _reseed(rows: Rows, mixture: Mixture, shares: np.ndarray, labels: np.ndarray, component: int) -> None:
    """Give a component without rows the rows around the one that fits worst, among those whose label it may have."""
    able = np.asarray((rows.Y @ (mixture.labels[component] > 0).astype(float)) > 0) | (rows.unlabelled > 0)
    if not able.any():
        return
    fit = logsumexp(log_densities(rows.X, mixture), axis=1)
    worst = int(np.flatnonzero(able)[fit[able].argmin()])
    near = np.flatnonzero(able)[np.argsort(((rows.X[able] - rows.X[worst]) ** 2).sum(axis=1), kind="stable")[:5]]
    moved = 0.5 * shares[near].sum(axis=1)
    shares[near] *= 0.5
    shares[near, component] += moved
    allowed = mixture.labels[component] > 0
    labels[component] += (moved @ rows.Y[near].toarray()) * allowed + 1e-6 * allowed


def starting_mixture(rows: Rows, assignment: np.ndarray, n_components: int, recipe: Recipe) -> Mixture:
    """Components from a clustering of rows; no label is ruled out."""
    shares = np.full((len(rows.X), n_components), (1 - _HARD) / n_components)
    shares[np.arange(len(rows.X)), assignment] += _HARD
    counts = np.asarray(rows.Y.sum(axis=1)).ravel() + rows.unlabelled
    shares *= counts[:, None]
    weights = np.divide(shares, counts[:, None], out=np.zeros_like(shares), where=counts[:, None] > 0)
    labels = np.asarray((rows.Y.T @ weights).T) + 1e-300
    return maximised(rows, shares, labels, recipe)


def starting_subclasses(rows: Rows, n_subclasses: np.ndarray, recipe: Recipe, random: np.random.RandomState) -> Mixture:
    """Components from a clustering of the rows of each class, each with the label of that class."""
    n_components, n_classes = int(n_subclasses.sum()), len(n_subclasses)
    shares = np.zeros((len(rows.X), n_components))
    labels = np.zeros((n_components, n_classes))
    first = 0
    for k, size in enumerate(n_subclasses):
        members, weights = _column(rows.Y, k)
        own = kmeans_labels(rows.X[members], weights, int(size), random)
        shares[members[:, None], first + np.arange(size)] = (1 - _HARD) / size * weights[:, None]
        shares[members, first + own] += _HARD * weights
        labels[first : first + size, k] = shares[members, first : first + size].sum(axis=0)
        first += size
    return maximised(rows, shares, labels, recipe)


def _column(Y: sparse.csc_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    part = slice(Y.indptr[k], Y.indptr[k + 1])
    return Y.indices[part], Y.data[part]


def n_distinct(X: np.ndarray, most: int) -> int:
    """Number of different rows, but at most so many; of a large table, some rows usually are enough to know."""
    found = len(np.unique(X[:_SOME_ROWS], axis=0))
    if found < most and len(X) > _SOME_ROWS:
        found = len(np.unique(X, axis=0))
    return min(found, most)


def kmeans_labels(X: np.ndarray, weights: np.ndarray, n_clusters: int, random: np.random.RandomState) -> np.ndarray:
    """Clusters by k-means from k-means++ seeds; a row of weight 2 and a row twice give the same.

    Seeds are drawn along the rows in an order that follows from their values, so that neither the order of rows nor
    their repetition makes a difference.
    """
    order = np.lexsort((X @ np.cos(np.arange(X.shape[1])), X[:, 0]))
    points, masses = X[order], weights[order].astype(np.float64)
    centres = np.empty((n_clusters, X.shape[1]))
    nearest = np.full(len(points), np.inf)
    for number in range(n_clusters):
        chances = masses if number == 0 else masses * nearest
        if not chances.sum() > 0:
            chances = masses
        running = np.cumsum(chances)
        place = np.searchsorted(running, random.uniform() * running[-1], side="right")
        centres[number] = points[min(place, len(points) - 1)]
        nearest = np.minimum(nearest, ((points - centres[number]) ** 2).sum(axis=1))
    found = np.zeros(len(points), dtype=np.int64)
    for step in range(_KMEANS_STEPS):
        labels = squared_distances(points, centres).argmin(axis=1)
        if step and (labels == found).all():
            break
        found = labels
        members = sparse.csr_array((masses, (labels, np.arange(len(points)))), shape=(n_clusters, len(points)))
        sizes = np.asarray(members.sum(axis=1)).ravel()
        sums = np.asarray(members @ points)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1e-300)[:, None], centres)
    labels = np.empty_like(found)
    labels[order] = found
    return labels


def class_log_probabilities(X: np.ndarray, mixture: Mixture) -> tuple[np.ndarray, np.ndarray]:
    """``log P(y = k | x)`` of rows (n, C), and their log-densities (n,)."""
    densities = log_densities(X, mixture)
    total = _row_logsumexp(densities)
    if np.isin(mixture.labels, (0, 1)).all():
        joint = np.column_stack([_row_logsumexp(densities[:, own]) for own in (mixture.labels > 0).T])
    else:
        with np.errstate(divide="ignore"):
            shares = np.exp(densities - total[:, None]) @ mixture.labels
            joint = np.log(shares) + total[:, None]
    return joint - logsumexp(joint, axis=1, keepdims=True), total


def settled(mixture: Mixture, offset: np.ndarray, unit: float) -> Mixture:
    """Components sorted by their dominant class, and by weight within it; means in the columns of the table."""
    order = np.lexsort((-mixture.weights, mixture.labels.argmax(axis=1)))
    tied = mixture.covariance_type == "tied"
    return mixture._replace(
        weights=mixture.weights[order],
        means=mixture.means[order] * unit + offset,
        covariances=(mixture.covariances if tied else mixture.covariances[order]) * unit**2,
        labels=mixture.labels[order],
    )


def drawn_rows(mixture: Mixture, n_samples: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels (codes) from the mixture."""
    components = random.choice(len(mixture.weights), n_samples, p=mixture.weights / mixture.weights.sum())
    n_columns = mixture.means.shape[1]
    X = np.empty((n_samples, n_columns))
    labels = np.empty(n_samples, dtype=np.int64)
    for r in np.unique(components):
        own = np.flatnonzero(components == r)
        noise = random.standard_normal((len(own), n_columns))
        X[own] = mixture.means[r] + noise @ root_of(mixture, r).T
        labels[own] = random.choice(mixture.labels.shape[1], len(own), p=mixture.labels[r])
    return X, labels


def root_of(mixture: Mixture, component: int) -> np.ndarray:
    """A matrix whose product with its transpose is the covariance of a component."""
    if mixture.covariance_type == "diag":
        return np.diag(np.sqrt(mixture.covariances[component]))
    tied = mixture.covariance_type == "tied"
    return np.linalg.cholesky(mixture.covariances if tied else mixture.covariances[component])


def pooled_covariance(mixture: Mixture) -> np.ndarray:
    """Mean covariance within components."""
    if mixture.covariance_type == "tied":
        return mixture.covariances
    mean = np.tensordot(mixture.weights, mixture.covariances, axes=1)
    return np.diag(mean) if mixture.covariance_type == "diag" else mean


def centred_rows(X: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows about their weighted mean, in units in which a column has a mean variance of 1; the mean, and the unit."""
    X = np.asarray(X, dtype=np.float64)
    # Of large numbers, the weighted mean of differences is more exact than that of the numbers.
    offset = X[0] + weights @ (X - X[0]) / weights.sum()
    centred = X - offset
    largest = float(np.abs(centred).max(initial=0)) or 1.0
    unit = largest * float(np.sqrt(np.mean(weights @ (centred / largest) ** 2) / weights.sum())) or 1.0
    return centred / unit, offset, unit
