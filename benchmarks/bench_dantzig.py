"""The Dantzig selector beside one whole linear program, and the certificate of a support beside the Lasso itself."""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import Case, Contest


def one_penalty(n_rows: int, n_columns: int, folder: Path) -> Contest:
    """The sum of absolute coefficients at the universal penalty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    X /= np.sqrt((X**2).mean(axis=0))
    y = X[:, :5].sum(axis=1) + rng.normal(size=n_rows)
    alpha = float(np.sqrt(2 * np.log(n_columns) / n_rows))

    def fewer(solver: str) -> np.ndarray:
        from fewer.learn import DantzigSelector

        return DantzigSelector(alpha, solver=solver, fit_intercept=False, with_std=False).fit(X, y).coef_

    def scipy() -> np.ndarray:
        from scipy.optimize import linprog

        gram, products = X.T @ X / n_rows, X.T @ y / n_rows
        rows = np.block([[gram, -gram], [-gram, gram]])
        found = linprog(np.ones(2 * n_columns), A_ub=rows, b_ub=np.concatenate([products + alpha, alpha - products]))
        return found.x[:n_columns] - found.x[n_columns:]

    return Contest(
        ours={"fewer, walk": partial(fewer, "path"), "fewer, growing programs": partial(fewer, "cg")},
        peers={"scipy": scipy},
        objective=lambda coef: float(np.abs(coef).sum()),
        tolerance=1e-6,
    )


def one_verdict(folder: Path) -> Contest:
    """Whether the Lasso has exactly the true signs."""
    from fewer.datasets import make_sparsified_gaussian

    coef = np.repeat([1.0, 0.0], [45, 2003])
    X, y, truth = make_sparsified_gaussian(1500, 2048, 0.1, coef=coef, dense_output=True, random_state=0)

    def fewer() -> bool:
        from fewer.theory import lasso_support_certificate

        return lasso_support_certificate(X, truth["noise"], coef, 0.3).recovers

    def scikit_learn() -> bool:
        from sklearn.linear_model import Lasso

        found = Lasso(alpha=0.3, fit_intercept=False, tol=1e-8).fit(X, y)
        return bool(np.array_equal(np.sign(found.coef_), np.sign(coef)))

    return Contest(ours={"fewer": fewer}, peers={"scikit-learn": scikit_learn}, objective=float, tolerance=0)


CASES = [
    Case("Dantzig selector, 200 rows x 400 columns", partial(one_penalty, 200, 400)),
    Case("Dantzig selector, 200 rows x 2,000 columns", partial(one_penalty, 200, 2000), repeats=1),
    Case("certificate of a support, 1,500 rows x 2,048 columns", one_verdict),
]
