"""Hidden Markov models beside hmmlearn: the same number of EM steps from the same start, to the same log-likelihood.

Both sides start from the same parameters and take as many steps. hmmlearn's weak priors are switched off, as is our
``reg_covar``, so that both climb the likelihood. hmmlearn has two implementations of forward-backward, of which "log"
is its default and "scaling" the faster.
"""

from pathlib import Path

import numpy as np

from benchmarks import Case, Contest

STEPS = 20


def chain(n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform first states, and states that stay with probability 0.8."""
    transition = np.full((n_components, n_components), 0.2 / (n_components - 1))
    np.fill_diagonal(transition, 0.8)
    return np.full(n_components, 1 / n_components), transition


def drawn_states(n_rows: int, n_components: int) -> np.ndarray:
    """A sequence of states."""
    rng = np.random.default_rng(0)
    _, transition = chain(n_components)
    running, states = np.cumsum(transition, axis=1), np.zeros(n_rows, dtype=int)
    for row, place in enumerate(rng.random(n_rows - 1), start=1):
        states[row] = np.searchsorted(running[states[row - 1]], place)
    return states


def contest_of(X: np.ndarray, lengths: np.ndarray, emission: str, covariance_type: str, start: tuple) -> Contest:
    """Our EM steps beside those of hmmlearn."""
    n_components = len(start[0])
    first, transition = chain(n_components)

    def fewer() -> float:
        from fewer.latent.chains._emissions import GaussianEmission, emission_of
        from fewer.latent.chains._forward_backward import Chain, forward_backward
        from fewer.latent.chains._hidden_markov import ChainState, em_step

        emit = emission_of(emission, covariance_type, 0.0)
        emit.learn(X)
        rows = emit.prepare(X)
        parameters: tuple[np.ndarray, ...]
        if isinstance(emit, GaussianEmission):
            scale = emit.unit**2 if covariance_type == "diag" else np.outer(emit.unit, emit.unit)
            parameters = ((start[0] - emit.offset) / emit.unit, start[1] / scale)
        else:
            parameters = (start[0].T.copy(),)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        state = ChainState(Chain(first, transition), parameters, first)
        for _ in range(STEPS):
            state, _ = em_step(emit, rows, indptr, None, state)
        found = forward_backward(emit.log_densities(rows, state.parameters), state.chain, indptr)
        return float(found.scores.sum() + np.sum(np.broadcast_to(emit.log_units(rows), len(X))))

    def hmmlearn(implementation: str) -> float:
        from hmmlearn.hmm import CategoricalHMM, GaussianHMM

        options = {"n_iter": STEPS, "tol": -np.inf, "init_params": "", "implementation": implementation}
        if emission == "gaussian":
            model = GaussianHMM(n_components, covariance_type, covars_prior=0, covars_weight=1, min_covar=0, **options)
            model.means_, model.covars_ = start
        else:
            model = CategoricalHMM(n_components, **options)
            model.emissionprob_ = start[0]
        model.startprob_, model.transmat_ = first, transition
        codes = X.astype(int) if emission == "categorical" else X
        return float(model.fit(codes, lengths).score(codes, lengths))

    peers = {"hmmlearn": lambda: hmmlearn("log"), "hmmlearn, scaling": lambda: hmmlearn("scaling")}
    return Contest(ours={"fewer": fewer}, peers=peers, objective=lambda value: value, tolerance=1e-6)


def gaussian(n_rows: int, n_columns: int, n_components: int, covariance_type: str, n_sequences: int) -> Contest:
    """Normal rows."""
    rng = np.random.default_rng(1)
    means = 1.5 * rng.normal(size=(n_components, n_columns))
    X = means[drawn_states(n_rows, n_components)] + rng.normal(size=(n_rows, n_columns))
    covariances = np.ones((n_components, n_columns))
    if covariance_type == "full":
        covariances = np.array([np.eye(n_columns)] * n_components)
    begin = (means + 0.5 * rng.normal(size=means.shape), covariances)
    return contest_of(X, np.full(n_sequences, n_rows // n_sequences), "gaussian", covariance_type, begin)


def words(n_rows: int, n_categories: int, n_components: int, n_sequences: int) -> Contest:
    """One column of categories."""
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.full(n_categories, 0.2), size=n_components)
    running = np.cumsum(table, axis=1)[drawn_states(n_rows, n_components)]
    codes = np.minimum((rng.random((n_rows, 1)) > running).sum(axis=1), n_categories - 1)
    codes[:n_categories] = np.arange(n_categories)
    begin = (0.5 * table + 0.5 / n_categories,)
    X = codes[:, None].astype(float)
    return contest_of(X, np.full(n_sequences, n_rows // n_sequences), "categorical", "diag", begin)


def _gaussian_case(name: str, *size) -> Case:
    def prepare(folder: Path) -> Contest:
        return gaussian(*size)

    return Case(name, prepare, repeats=3)


CASES = [
    _gaussian_case("normal, 20,000 x 5, 3 states, one sequence", 20_000, 5, 3, "diag", 1),
    _gaussian_case("normal, 20,000 x 5, 10 states, 1,000 sequences", 20_000, 5, 10, "diag", 1000),
    _gaussian_case("normal with full covariances, 20,000 x 10, 4 states", 20_000, 10, 4, "full", 10),
    Case("categories, 20,000 rows, 50 categories, 8 states", lambda folder: words(20_000, 50, 8, 200), repeats=3),
]
