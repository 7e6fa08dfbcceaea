"""Xiao (2010), Dual averaging methods for regularized stochastic learning and online optimization."""

import time
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_digits

from fewer.learn import L1LinearClassifier, RDAClassifier
from fewer.learn.online._learners import l1_weights, p_norm_weights, soft_threshold
from fewer.theory import regret_curve
from tolerances import rounding


def ten_of_200(seed, n_rows=12_000, n_test=5000):
    """Normal columns, of which the first ten matter; rows to learn from, rows to test, and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.zeros(200)
    truth[:10] = [1, -1] * 5
    X = rng.normal(size=(n_rows + n_test, 200))
    y = np.where(rng.random(len(X)) < expit(X @ truth), 1.0, -1.0)
    return (X[:n_rows], y[:n_rows]), (X[n_rows:], y[n_rows:]), truth


def shrunk_descent(X, y, step, price, every=1, n_free=0):
    """Descent on the log loss. Every so many rows weights are shrunk by the price of these rows; 1 is FOBOS.

    With ``every=0`` the price is part of the gradient, as in stochastic descent without more ado.
    """
    weights = np.zeros(X.shape[1])
    priced = np.arange(X.shape[1]) < X.shape[1] - n_free
    for t, (row, label) in enumerate(zip(X, y, strict=True), 1):
        slope = -label * expit(-label * (row @ weights))
        if every == 0:
            weights = weights - step * (slope * row + price * priced * np.sign(weights))
            continue
        weights = weights - step * slope * row
        if t % every == 0:
            weights = np.where(priced, soft_threshold(weights, step * price * every), weights)
    return weights


def error(weights, test):
    X, y = test
    return np.mean(np.where(X @ weights > 0, 1.0, -1.0) != y)


@pytest.mark.claim("dual-averaging", 1)
def test_the_closed_forms_are_minima_of_the_step(figure):
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(1000):
        mean, t = rng.normal(size=8), int(rng.integers(1, 1000))
        price, gamma, rho, p = rng.uniform(0, 1), rng.uniform(0.2, 5), rng.uniform(0, 0.5), rng.uniform(1.05, 2)
        q = p / (p - 1)

        def objective(w, h, rho=rho, mean=mean, t=t, price=price, gamma=gamma):
            size = np.abs(w).sum(axis=-1)
            return w @ mean + price * size + gamma / np.sqrt(t) * (h(w) + rho * size)

        def squared(w):
            return (w**2).sum(axis=-1) / 2

        def by_p(w, p=p):
            return (np.abs(w) ** p).sum(axis=-1) ** (2 / p) / (2 * (p - 1))

        for w, h in [
            (l1_weights(mean, t, price, gamma, rho), squared),
            (p_norm_weights(mean, t, price, gamma, p, rho), by_p),
        ]:
            steps = rng.normal(size=(200, 8)) * 10 ** rng.uniform(-4, 0.5, size=(200, 1))
            assert (objective(w + steps, h) >= objective(w, h) - 1e-10 * (1 + abs(objective(w, h)))).all()
        shrunk = -((p - 1) * np.sqrt(t) / gamma) * soft_threshold(mean, price + gamma * rho / np.sqrt(t))
        largest = np.abs(shrunk).max()
        if largest > 0:
            expected = largest * ((np.abs(shrunk) / largest) ** q).sum() ** (1 / q)
            worst = max(worst, abs((np.abs(w) ** p).sum() ** (1 / p) / expected - 1))
    assert worst < rounding(8, condition=1.05 / 0.05)  # the largest power q
    figure(f"2,000 steps; norms agree to {worst:.0e}")


def _sparsity_on_ten_of_200(seeds):
    price, gamma = 0.03, 5.0
    counts, gaps = [], []
    for seed in seeds:
        (X, y), test, _ = ten_of_200(seed)
        step = np.sqrt(2 / len(X)) / gamma
        model = RDAClassifier(alpha=price, gamma=gamma, fit_intercept=False, shuffle=False).fit(X, y)
        batch = L1LinearClassifier(C=1 / (price * len(X)), fit_intercept=False).fit(X, y)
        fobos, descent = (shrunk_descent(X, y, step, price, every) for every in (1, 0))
        assert set(range(10)) <= set(model.support_)
        counts.append((len(model.support_), np.count_nonzero(fobos), np.count_nonzero(descent)))
        gaps.append(error(model.coef_[0], test) - error(batch.coef_[0], test))
    online, fobos, descent = np.array(counts).T
    assert online.max() <= 13
    assert fobos.min() >= 150
    assert descent.min() >= 195
    assert max(gaps) <= 0.01
    return (
        f"{online.max()} weights at most, FOBOS {fobos.min()}, descent {descent.min()} at least; error +{max(gaps):.3f}"
    )


def test_the_last_weights_are_as_sparse_as_the_batch_solution_in_one_draw():
    _sparsity_on_ten_of_200([0])


@pytest.mark.slow
@pytest.mark.claim("dual-averaging", 2)
def test_the_last_weights_are_as_sparse_as_the_batch_solution(figure):
    figure(_sparsity_on_ten_of_200(range(5)))


@pytest.mark.claim("dual-averaging", 3)
def test_the_regret_stays_below_its_bound_at_every_step(figure):
    (X, y), _, truth = ten_of_200(0, 3000)
    longest = np.linalg.norm(X, axis=1).max()
    largest = {}
    for gamma in (1.0, 5.0, longest / (np.linalg.norm(truth) / np.sqrt(2)), 50.0):
        model = RDAClassifier(alpha=0.03, gamma=gamma, fit_intercept=False)
        curve = regret_curve(model, X, y, against=truth, at=np.arange(1, 3001))
        assert curve.longest_gradient <= longest
        theory = (gamma * truth @ truth / 2 + longest**2 / gamma) * np.sqrt(curve.steps)
        assert (curve.bound <= theory).all()
        assert (curve.regret <= curve.bound).all()
        largest[gamma] = (curve.regret / theory).max()
    figure(", ".join(f"gamma {gamma:.1f}: {share:.2f}" for gamma, share in largest.items()))


def elastic_optimum(X, y, price, sigma):
    """Minimum of ``mean log loss + price ||w||_1 + sigma ||w||^2/2``, by its positive and negative parts."""
    p = X.shape[1]

    def objective(parts):
        w = parts[:p] - parts[p:]
        margins = y * (X @ w)
        gradient = -(X.T @ (y * expit(-margins))) / len(y) + sigma * w
        value = np.logaddexp(0, -margins).mean() + price * parts.sum() + sigma / 2 * w @ w
        return value, np.concatenate([gradient + price, price - gradient])

    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(
        objective, np.zeros(2 * p), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * p), options=options
    )
    return found.x[:p] - found.x[p:]


def _strongly_convex(n_rows, nearness):
    (X, y), _, _ = ten_of_200(0, n_rows)
    sigma, price = 0.1, 0.02
    model = RDAClassifier(penalty="l1l2", alpha=price, alpha_l2=sigma, fit_intercept=False, shuffle=False).fit(X, y)
    best = elastic_optimum(X, y, price, sigma)
    distance = np.linalg.norm(model.coef_[0] - best) / np.linalg.norm(best)
    assert distance < nearness
    curve = regret_curve(model, X[:3000], y[:3000], against=best, at=np.arange(1, 3001))
    longest = np.linalg.norm(X[:3000], axis=1).max()
    assert (curve.regret <= longest**2 / (2 * sigma) * (6 + np.log(curve.steps))).all()
    return distance, np.array_equal(model.support_, np.flatnonzero(best))


def test_a_strongly_convex_penalty_comes_near_the_optimum_in_few_rows():
    _strongly_convex(3000, 0.15)


@pytest.mark.slow
@pytest.mark.claim("dual-averaging", 4)
def test_a_strongly_convex_penalty_comes_to_the_optimum(figure):
    distance, same = _strongly_convex(20_000, 0.05)
    assert same
    figure(f"distance {distance:.3f} of the length, the same support")


@pytest.mark.claim("dual-averaging", 5)
def test_the_accelerated_method_keeps_its_rate_on_exact_gradients(figure):
    from fewer.learn.online._learners import AcceleratedLearner

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 50))
    y = np.where(rng.random(200) < expit(X[:, :5] @ [1, -1, 1, -1, 1]), 1.0, -1.0)
    price = 0.02
    batch = L1LinearClassifier(C=1 / (price * 200), fit_intercept=False, tol=1e-12).fit(X, y)
    best = batch.objective_[0] * price

    def objective(w):
        return np.logaddexp(0, -y * (X @ w)).mean() + price * np.abs(w).sum()

    model = RDAClassifier(alpha=price, fit_intercept=False, accelerated=True, batch_size=200)
    learner = model._learners_for(1, X, whole_table=True)[0]
    assert isinstance(learner, AcceleratedLearner)
    scale = 4 * np.linalg.norm(X, 2) ** 2 / (4 * 200) * (batch.coef_[0] @ batch.coef_[0]) / 2
    largest = 0.0
    for t in range(1, 2001):
        learner.learn(X, y, np.arange(200))
        largest = max(largest, (objective(learner.weights) - best) * t**2 / scale)
    gap = objective(learner.weights) - best
    assert largest <= 1
    assert gap < 1e-7
    figure(f"at most {largest:.2f} of the bound; gap {gap:.0e}")


@pytest.mark.claim("dual-averaging", 6)
def test_lazy_steps_are_dense_steps_and_pieces_are_the_whole(figure):
    rng = np.random.default_rng(0)
    X = sparse.random_array((5000, 400), density=0.01, rng=rng, data_sampler=rng.normal).tocsr()
    y = np.where(X @ rng.normal(size=400) + 0.1 * rng.normal(size=5000) > 0, 1.0, -1.0)
    worst = 0.0
    for rho in (0.0, 0.02):
        model = RDAClassifier(alpha=0.002, gamma=2.0, rho=rho, fit_intercept=False, shuffle=False).fit(X, y)
        sums, w = np.zeros(400), np.zeros(400)
        for t, (row, label) in enumerate(zip(X.toarray(), y, strict=True), 1):
            sums += -label * expit(-label * (row @ w)) * row
            w = l1_weights(sums / t, t, 0.002, 2.0, rho)
        worst = max(worst, np.abs(model.coef_[0] - w).max())
        assert 0 < len(model.support_) < 400
        pieces = RDAClassifier(alpha=0.002, gamma=2.0, rho=rho, fit_intercept=False)
        for rows in np.array_split(np.arange(5000), 13):
            pieces.partial_fit(X[rows], y[rows], classes=[-1, 1])
        assert np.array_equal(pieces.coef_, model.coef_)
        assert np.array_equal(pieces.gbar_, model.gbar_)
    assert worst < 1e-10
    figure(f"within {worst:.0e}; pieces equal")


@pytest.mark.claim("dual-averaging", 7)
def test_on_digits_dual_averaging_keeps_fewer_pixels_than_shrunk_descent(figure):
    digits = load_digits()
    gamma, n_train = 115.0, 240
    step = np.sqrt(2 / n_train) / gamma
    told = []
    for first, second in [(6, 7), (3, 8)]:
        chosen = np.isin(digits.target, (first, second))
        X, y = digits.data[chosen], np.where(digits.target[chosen] == second, 1.0, -1.0)
        for price in (0.1, 0.5, 1.0):
            counts = []
            for seed in range(20):
                rows = np.random.default_rng(seed).permutation(len(X))[:n_train]
                A, b = X[rows], y[rows]
                with_bias = np.column_stack([A, np.ones(n_train)])
                counts.append(
                    [
                        *(
                            len(RDAClassifier(alpha=price, gamma=gamma, rho=rho, shuffle=False).fit(A, b).support_)
                            for rho in (3 / gamma, 0.0)
                        ),
                        *(
                            np.count_nonzero(shrunk_descent(with_bias, b, step, price, every, n_free=1)[:-1])
                            for every in (1, 0)
                        ),
                    ]
                )
            enhanced, plain, fobos, descent = np.mean(counts, axis=0)
            assert enhanced <= plain < fobos < descent
            told.append(f"{first}/{second}, {price}: {enhanced:.0f} {plain:.0f} {fobos:.0f} {descent:.0f}")
    figure("; ".join(told))


@pytest.mark.slow
@pytest.mark.claim("dual-averaging", 8)
def test_a_row_costs_its_entries_whatever_the_number_of_columns(figure):
    """Rows a second are told and not judged (``benchmarks/bench_rda.py`` compares them); memory is."""
    rng = np.random.default_rng(0)
    n_rows, n_columns = 200_000, 1_000_000
    columns = rng.integers(0, n_columns, n_rows * 50, dtype=np.int32)
    X = sparse.csr_array(
        (rng.normal(size=n_rows * 50), columns, np.arange(0, n_rows * 50 + 1, 50)), (n_rows, n_columns)
    )
    y = rng.integers(0, 2, n_rows)
    model = RDAClassifier(alpha=1e-5, gamma=7.0, shuffle=False).fit(X[:100], y[:100])
    start = time.process_time()
    model.fit(X, y)
    speed = n_rows / (time.process_time() - start)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    figure(f"{speed:,.0f} rows a second, {peak / (8 * n_columns):.0f} numbers a column")
    assert peak < X.data.nbytes  # 50 numbers a column; a copy of the table would be more
