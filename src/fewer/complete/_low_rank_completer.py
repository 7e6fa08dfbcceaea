"""Completers whose model is ``U diag(d) V'``, with offsets of columns and rows around it."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from fewer._estimators import StrOptions, warn_caller
from fewer.complete._completer import Completer
from fewer.complete._entries import observed_entries
from fewer.complete._observed import Observed
from fewer.complete._offsets import Offsets, fitted_offsets, offsets_of_rows, standardised

_LEAST_PENALTY = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
"""Of a row's scores: keeps them finite where a row observes fewer columns than there are dimensions."""
_UNEQUAL = 100
"""Of the largest column to the middle one: then the others hardly count."""


class LowRankCompleter(Completer):
    """Base class of completers with factors ``U_``, ``d_``, ``V_``.

    A new row's scores minimise ``||x_o - V_o a||^2 + sum of penalties * a^2`` over its observed columns o. With the
    penalties that belong to the model, a training row gets the scores that it has in the fit.
    """

    _parameter_constraints: dict = {
        **Completer._parameter_constraints,
        "center": [StrOptions({"columns", "both"}), None],
        "scale": ["boolean"],
        "random_state": ["random_state"],
    }

    center: str | None
    scale: bool
    random_state: Any
    U_: np.ndarray
    d_: np.ndarray
    V_: np.ndarray

    def _training_entries(self, X: Any) -> Any:
        """The observed entries to fit, with their offsets taken away."""
        table = self._training_table(X)
        empty = int((table.row_counts == 0).sum())
        if empty:
            filled = "the offsets alone" if self.center else "0, since center=None"
            warn_caller(f"Nothing is observed of {empty} of {table.shape[0]} rows: they are filled with {filled}.")
        offsets = fitted_offsets(table, self.center, self.scale)
        # As plain arrays: a saved model must not hold classes that nobody trusts.
        self._row_offsets, self._column_offsets, self._scales = offsets
        entries = observed_entries(standardised(table, offsets))
        self._warn_of_units(entries.column_squares() / np.maximum(table.column_counts, 1))
        return entries

    def _warn_of_units(self, squares: np.ndarray) -> None:
        """Say so when a column outweighs the others by its unit alone; ``squares`` are the columns' mean squares."""
        if self.scale or not (squares > 0).any():
            return
        largest, median = float(np.sqrt(squares.max())), float(np.sqrt(np.median(squares[squares > 0])))
        if largest > _UNEQUAL * median:
            name = getattr(self, "feature_names_in_", np.arange(len(squares))).tolist()[int(squares.argmax())]
            means = "" if self.center else ", center='columns' takes away their means"
            warn_caller(
                f"Entries of column {name!r} are some {largest / median:,.0f} times as large as "
                "those of most columns, so it decides nearly alone how holes are filled. If that is a matter of units, "
                f"scale=True gives all columns the same weight{means}."
            )

    def _offsets(self) -> Offsets:
        return Offsets(self._row_offsets, self._column_offsets, self._scales)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _keep(
        self, U: np.ndarray, d: np.ndarray, V: np.ndarray, penalties: np.ndarray, core: np.ndarray | None = None
    ) -> None:
        """Set the fitted model ``U diag(d) V'``, or ``U core V'`` where the weights were fitted anew.

        ``penalties`` are those of a row's scores in the basis V before that.
        """
        V = V.copy()
        self._basis, self._penalties, self._weights = V, penalties, None
        if core is not None:
            turn, weights, back = np.linalg.svd(core)
            self._weights = turn * weights / d[:, None]
            U, d, V = U @ turn, weights, V @ back.T
        # Rounding leaves traces of columns that were never seen.
        V[self.n_observed_ == 0] = 0
        signs = _signs(V)
        self.U_, self.d_, self.V_ = U * signs, d, V * signs
        if self._weights is not None:
            self._weights = self._weights * signs
        else:
            self._basis = self.V_
        offsets = self._offsets()
        scores, loadings = self.U_ * d, self.V_ * offsets.scales[:, None].astype(V.dtype)
        self.mean_ = offsets.columns.astype(V.dtype)
        if offsets.rows is not None:
            scores = np.column_stack([scores, offsets.rows.astype(V.dtype)])
            loadings = np.column_stack([loadings, np.ones_like(self.mean_)])
        self.scores_, self.loadings_ = scores, loadings

    def _scores_of(self, table: Observed) -> np.ndarray:
        offsets = offsets_of_rows(table, self._offsets())
        entries = observed_entries(standardised(table, offsets))
        basis = self._basis.astype(entries.dtype)
        scores = entries.ridge_rows(basis, np.maximum(self._penalties, _LEAST_PENALTY[basis.dtype]))
        if self._weights is not None:
            scores = scores @ self._weights.astype(scores.dtype)
        if offsets.rows is not None:
            scores = np.column_stack([scores, offsets.rows.astype(scores.dtype)])
        return scores


def _signs(V: np.ndarray) -> np.ndarray:
    """Signs that make the largest entry of each column, in absolute value, positive."""
    if not V.size:
        return np.ones(V.shape[1], dtype=V.dtype)
    return np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1, 1).astype(V.dtype)
