"""Ways to minimise an :class:`~fewer.learn.sparse._problem.L1Problem`, by name.

Each is a function ``solver(problem, start, tol, max_iter, rng, on_iteration) -> Solution``: ``tol`` is the duality gap
to come down to, and ``on_iteration(coefficients, predictions)`` may return True to stop and keep what there is. The gap
looks at every column, so what they call converged is within ``tol`` of the minimum.
"""

from fewer.learn.sparse.solvers._bbr import bbr
from fewer.learn.sparse.solvers._cdn import cdn
from fewer.learn.sparse.solvers._owlqn import owlqn
from fewer.learn.sparse.solvers._proximal_newton import auto, newglmnet
from fewer.learn.sparse.solvers._solution import Solution
from fewer.learn.sparse.solvers._tron import tron

SOLVERS = {"auto": auto, "cdn": cdn, "newglmnet": newglmnet, "tron": tron, "owlqn": owlqn, "bbr": bbr}

__all__ = ["SOLVERS", "Solution", "auto", "bbr", "cdn", "newglmnet", "owlqn", "tron"]
