"""What chains of hidden states share: sequences of rows, a step of EM, fitted attributes and what they say about rows.

    log p(x) = log sum_z s_{z_1} prod_t A_{z_t z_{t+1}} prod_t g(x_t | z_t),

maximised by EM: expected states and transitions by forward-backward, then the parameters that fit them best. Mixtures
are chains of one row each.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewer._estimators import columns_known_as, validated
from fewer.latent._latent_model import (
    LatentModel,
    labels_of_rows,
    refuse_empty_columns,
    row_weights,
    warn_of_constant_columns,
    warn_of_odd_rows,
)
from fewer.latent.chains._emissions import CategoricalEmission, Emission, emission_of
from fewer.latent.chains._forward_backward import (
    Chain,
    ChainState,
    Inference,
    drawn_states,
    forward_backward,
    most_likely_states,
)


class Sequences(NamedTuple):
    """Where sequences begin and end, and the order that puts the rows of each together; None where they are."""

    indptr: np.ndarray
    order: np.ndarray | None = None

    def gathered(self, X: np.ndarray) -> np.ndarray:
        """Rows sequence by sequence."""
        return X if self.order is None else X[self.order]

    def scattered(self, values: np.ndarray) -> np.ndarray:
        """Values of rows in the order of the table."""
        if self.order is None:
            return values
        found = np.empty_like(values)
        found[self.order] = values
        return found


def sequences_of(groups: Any, n_rows: int) -> Sequences:
    """Sequences from the label of each row; None stands for one sequence.

    Examples
    --------
    >>> sequences_of(["a", "a", "b"], 3).indptr
    array([0, 2, 3])
    >>> sequences_of([7, 3, 7], 3).order
    array([0, 2, 1])
    """
    if groups is None:
        return Sequences(np.array([0, n_rows]))
    labels = labels_of_rows(groups, n_rows, "groups")
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes]  # numbered as they come
    sizes = np.bincount(codes)
    order = None if (np.diff(codes) >= 0).all() else np.argsort(codes, kind="stable")
    return Sequences(np.concatenate([[0], np.cumsum(sizes)]), order)


def chain_from_counts(starts: np.ndarray, transitions: np.ndarray, present: Chain) -> Chain:
    """The M-step of the chain: shares of expected first states and transitions; a state never left stays as it is."""
    totals = transitions.sum(axis=1, keepdims=True)
    rows = np.divide(transitions, totals, out=present.transition.copy(), where=totals > 1e-300)
    return Chain(starts / starts.sum(), rows)


def em_step(
    emission: Emission, rows: Any, indptr: np.ndarray, weights: np.ndarray | None, state: ChainState
) -> tuple[ChainState, float]:
    """One step of EM: the next state, and the penalised log-likelihood of the present one."""
    found = forward_backward(emission.log_densities(rows, state.parameters), state.chain, indptr, weights)
    posteriors, total = found.posteriors, float(indptr[-1])
    objective = float(found.scores.sum())
    if weights is not None:
        masses = np.repeat(weights, np.diff(indptr))
        posteriors, total, objective = posteriors * masses[:, None], float(masses.sum()), float(masses @ found.scores)
    chain = chain_from_counts(found.starts, found.transitions, state.chain)
    parameters = emission.maximised(rows, posteriors, state.parameters)
    objective += emission.log_prior(state.parameters, total)
    return ChainState(chain, parameters, posteriors.sum(axis=0) / total), objective


def starting_state(
    emission: Emission, rows: Any, n_components: int, random: np.random.RandomState, *, spread: bool
) -> ChainState:
    """Emissions from k-means or at random, and a chain that prefers to stay."""
    transition = np.eye(n_components) + random.uniform(0.5, 1.5, size=(n_components, n_components)) / n_components
    uniform = np.full(n_components, 1 / n_components)
    chain = Chain(uniform, transition / transition.sum(axis=1, keepdims=True))
    return ChainState(chain, emission.start(rows, n_components, random, spread), uniform)


class StateModel(LatentModel):
    """Base of chains, and of mixtures as chains of one row each: the table, the fitted attributes, inference."""

    emission: str
    covariance_type: str
    reg_covar: float
    weights_: np.ndarray
    _emission: Emission
    _chain: tuple[np.ndarray, np.ndarray]

    def _checked(self, X: Any, *, reset: bool) -> np.ndarray:
        """The table, with missing values."""
        dtype = None if self.emission == "categorical" else (np.float64, np.float32)
        return validated(self, X, dtype=dtype, ensure_all_finite="allow-nan", reset=reset)

    def _learnt(self, X: Any, groups: Any) -> tuple[Any, Sequences]:
        """Rows of the training table by sequence, and the emission that has seen them."""
        X = self._checked(X, reset=True)
        if len(X) < max(2, self.n_components):
            raise ValueError(
                f"X has n_samples = {len(X)}, and at least {max(2, self.n_components)} rows are needed for "
                f"n_components={self.n_components}."
            )
        if self.emission != "categorical":
            refuse_empty_columns(self, X)
            # States of counts may differ in what follows them alone.
            warn_of_odd_rows(self, X, self.n_components if self.emission == "gaussian" else 1)
        sequences = self._sequences(groups, len(X))
        self._emission = emission_of(self.emission, self.covariance_type, self.reg_covar)
        X = sequences.gathered(X)
        with columns_known_as(list(getattr(self, "feature_names_in_", ()))):
            self._emission.learn(X)
            if isinstance(self._emission, CategoricalEmission):
                sizes = [len(each) for each in self._emission.categories]
                warn_of_constant_columns(self, [place for place, size in enumerate(sizes) if size == 1])
            return self._emission.prepare(X), sequences

    def _in_units(self, rows: Any, indptr: np.ndarray, weights: np.ndarray | None):
        """Bring objectives to the units of the table: EM works without, so that ``tol`` does not depend on them."""
        units = np.broadcast_to(self._emission.log_units(rows), indptr[-1])
        constant = float(units.sum() if weights is None else np.repeat(weights, np.diff(indptr)) @ units)
        self.objective_path_ = self.objective_path_ + constant
        self.objectives_ = self.objectives_ + constant
        return self

    def _sequences(self, groups: Any, n_rows: int) -> Sequences:
        return sequences_of(groups, n_rows)

    def _keep(self, state: Any) -> None:
        self._keep_chain(state, np.argsort(-state.weights, kind="stable"))

    def _keep_chain(self, state: ChainState, order: np.ndarray) -> None:
        """Set the fitted attributes, with the states in this order."""
        self.weights_ = state.weights[order]
        self._chain = state.chain.start[order], state.chain.transition[np.ix_(order, order)]
        self._parameters = self._emission.ordered(state.parameters, order)
        for name, value in self._emission.attributes(self._parameters).items():
            setattr(self, name, value)
        n_components = len(order)
        self.n_components_ = n_components
        self.n_parameters_ = self._n_chain_parameters() + self._emission.n_parameters(n_components)
        self.score_type_ = "log-likelihood"

    def _n_chain_parameters(self) -> int:
        return self.n_components_**2 - 1

    def _prepared(self, X: Any, groups: Any) -> tuple[Any, Sequences, np.ndarray, type]:
        """Rows by sequence, the sequences, log units of the rows, and the type of numbers to give back."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        sequences = self._sequences(groups, len(X))
        with columns_known_as(list(getattr(self, "feature_names_in_", ()))):
            rows = self._emission.prepare(sequences.gathered(X))
        units = np.broadcast_to(self._emission.log_units(rows), len(X))
        return rows, sequences, units, np.float32 if X.dtype == np.float32 else np.float64

    def _densities(self, X: Any, groups: Any) -> tuple[np.ndarray, Chain, Sequences, type]:
        """Log-densities of rows by sequence, the chain, the sequences, and the type of numbers to give back."""
        rows, sequences, units, dtype = self._prepared(X, groups)
        densities = self._emission.log_densities(rows, self._parameters)
        return densities + units[:, None], Chain(*self._chain), sequences, dtype

    def _inferred(self, X: Any, groups: Any) -> tuple[Inference, Sequences, type]:
        densities, chain, sequences, dtype = self._densities(X, groups)
        return forward_backward(densities, chain, sequences.indptr), sequences, dtype

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        categorical = self.emission == "categorical"
        tags.input_tags.categorical = tags.input_tags.string = categorical
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ChainModel(StateModel):
    """Base of the chains: what a fitted one gives for rows."""

    @property
    def start_probabilities_(self) -> np.ndarray:
        """Probability of each state at the beginning of a sequence."""
        return self._chain[0]

    @property
    def transition_matrix_(self) -> np.ndarray:
        """Probability of the state in the column after that in the row."""
        return self._chain[1]

    def _posteriors(self, X: Any, groups: Any) -> np.ndarray:
        """Probabilities of the states at all rows."""
        found, sequences, dtype = self._inferred(X, groups)
        return sequences.scattered(found.posteriors).astype(dtype, copy=False)

    def predict(self, X, groups=None):
        """Most likely sequence of states as a whole (Viterbi).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        states : ndarray of shape (n_samples,)
            Number of the state of each row. A row may have another state with a larger posterior probability
            (``predict_proba``), if no likely sequence passes through that.
        """
        densities, chain, sequences, _ = self._densities(X, groups)
        return sequences.scattered(most_likely_states(densities, chain, sequences.indptr))

    def predict_proba(self, X, groups=None):
        """Probability of each state at each row, given all rows of its sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self._posteriors(X, groups)

    def transform(self, X, groups=None):
        """Probability of each state at each row, as new columns; the same as ``predict_proba``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            They sum to 1.
        """
        return self.predict_proba(X, groups)

    def score_samples(self, X, groups=None):
        """Log-density of each row given the earlier rows of its sequence, which sum to the log-likelihood.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            In nats; more is better.
        """
        found, sequences, _ = self._inferred(X, groups)
        return sequences.scattered(found.scores)

    def score(self, X, y=None, sample_weight=None, groups=None):
        """Log-likelihood divided by the number of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order; NaN stands for a missing value.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        score : float
            In nats for each row; more is better.
        """
        scores = self.score_samples(X, groups)
        return float(np.average(scores, weights=None if sample_weight is None else np.asarray(sample_weight)))

    def bic(self, X, y=None, sample_weight=None, groups=None):
        """Bayesian information criterion, ``-2 log L + n_parameters log n``: less is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order, as a rule those of the training table.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; ``n`` is their sum.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        bic : float
            With the number of rows as ``n``.
        """
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(-2 * weights @ self.score_samples(X, groups) + self.n_parameters_ * np.log(weights.sum()))

    def aic(self, X, y=None, sample_weight=None, groups=None):
        """Akaike information criterion, ``-2 log L + 2 n_parameters``: less is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in time order, as a rule those of the training table.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        groups : array-like of shape (n_samples,), default=None
            The sequence of each row; one sequence by default.

        Returns
        -------
        aic : float
            Less is better.
        """
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(-2 * weights @ self.score_samples(X, groups) + 2 * self.n_parameters_)

    def sample(self, n_samples=1, random_state=None):
        """Draw one sequence of rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows in time order.
        states : ndarray of shape (n_samples,)
            The states that they were drawn in.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        states = drawn_states(Chain(*self._chain), n_samples, random)
        return self._emission.drawn(self._parameters, states, random), states


def sequence_weights(sample_weight: Any, X: Any, sequences: Sequences) -> np.ndarray | None:
    """Weights of sequences from those of their rows, which must agree; None where there are none."""
    weights = row_weights(sample_weight, X)
    if weights is None:
        return None
    weights = sequences.gathered(weights)
    first = weights[sequences.indptr[:-1]]
    differs = np.flatnonzero(weights != np.repeat(first, np.diff(sequences.indptr)))
    if len(differs):
        row = int(differs[0] if sequences.order is None else sequences.order[differs[0]])
        raise ValueError(
            f"sample_weight changes within a sequence, at row {row}: weights are those of whole sequences. Give all "
            "rows of a sequence the same weight, and pass the sequence of each row as groups."
        )
    if not first.any():
        raise ValueError("All weights in sample_weight are zero.")
    return first
