"""The distribution nearest to a given one, in Kullback-Leibler divergence, among those that meet constraints.

    min_q KL(q || p)    subject to    E_q[phi] <= b + xi,

with no slack (xi = 0), with ``||xi|| <= eps`` (slack="constraint"), or with ``sigma ||xi||`` added (slack="penalty").
The dual has one variable for each constraint, and one pass of inference gives its value and gradient:

    max_{lambda >= 0}  -b.lambda - log Z(lambda) - eps ||lambda||_*,    Z(lambda) = sum_y p(y) exp(-lambda.phi(y)),

where equations have no sign, and a penalty asks for ``||lambda||_* <= sigma`` instead of the last term. The gradient is
``E_q[phi] - b`` with ``q ~ p exp(-lambda.phi)``: where phi is a sum over the parts of a model, q has the form of p, and
the model's own inference computes it.

Solvers: bisection for one constraint, L-BFGS-B without slack, and else accelerated proximal gradient steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import optimize, sparse
from scipy.special import logsumexp

from fewer._figures import Result
from fewer._kernels._scipy_solvers import minimize
from fewer.catalogue import method
from fewer.latent.regularized._constraints import Constraint, L1LinfSparsity, Setting, SparsityTerm

Inference = Callable[[np.ndarray], tuple[np.ndarray, float]]
_FLOOR = np.log(1e-300)
_FARTHEST = 1e6
_DUAL_OF = {"l2": "l2", "l1": "linf", "linf": "l1"}


class EmptyConstraintSetError(ValueError):
    """No distribution meets the constraints."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"No distribution meets the constraints: {why}. Loosen the bounds, or allow for slack with "
            "slack='penalty', which finds a compromise."
        )


@dataclass(repr=False)
class Projection(Result):
    """The nearest distribution, and how it was found.

    Attributes
    ----------
    q : ndarray of shape (n_samples, n_components)
        The distribution of each row.
    lambda_ : ndarray of shape (n_constraints,)
        Dual variables: how much each constraint costs. 0 for those that hold by themselves.
    kl : float
        ``KL(q || p)``, in nats.
    violation : float
        Largest amount by which a constraint is not met.
    dual_gap : float
        Objective less its lower bound from the dual.
    n_iter : int
        Passes of inference.
    converged : bool
        Whether the tolerance was reached.
    """

    _data: ClassVar[tuple[str, ...]] = ("q", "lambda_", "kl", "violation", "dual_gap", "n_iter", "converged")

    q: np.ndarray
    lambda_: np.ndarray
    kl: float
    violation: float
    dual_gap: float
    n_iter: int
    converged: bool
    penalty: float = 0.0
    shift: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __repr__(self) -> str:
        end = "converged" if self.converged else "did not converge"
        return (
            f"Projection of {len(self.q):,} rows: KL {self.kl:.6g}, largest violation {self.violation:.1e}, "
            f"duality gap {self.dual_gap:.1e}; {end} after {self.n_iter} passes"
        )


@dataclass
class LinearTerm:
    """Rows of ``E_q[phi] <= b`` with their slack, as a term of the dual."""

    phi: Any
    b: np.ndarray
    equality: np.ndarray
    shape: tuple[int, int]
    slack: str = "none"
    strength: float = 0.0
    norm: str = "l2"

    @property
    def penalised(self) -> bool:
        return self.slack == "penalty"

    @property
    def largest_penalty(self) -> float:
        return np.inf if self.penalised else 0.0

    @property
    def size(self) -> int:
        return len(self.b)

    @property
    def offset(self) -> np.ndarray:
        return self.b

    def adjoint(self, dual: np.ndarray) -> np.ndarray:
        return np.asarray(self.phi.T @ dual).reshape(self.shape)

    def apply(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(self.phi @ q.ravel())

    def nearest(self, dual: np.ndarray, step: float) -> np.ndarray:
        """Proximal step of the slack's part of the dual, and of the signs."""
        dual = np.where(self.equality, dual, np.maximum(dual, 0))
        if self.slack == "constraint":
            return _shrunk(dual, step * self.strength, _DUAL_OF[self.norm])
        if self.slack == "penalty":
            return _into_ball(dual, self.strength, _DUAL_OF[self.norm])
        return dual

    def dual_penalty(self, dual: np.ndarray) -> float:
        return self.strength * norm_of(dual, _DUAL_OF[self.norm]) if self.slack == "constraint" else 0.0

    def penalty(self, moments: np.ndarray) -> float:
        return self.strength * norm_of(self.violation(moments), self.norm) if self.slack == "penalty" else 0.0

    def violation(self, moments: np.ndarray) -> np.ndarray:
        """By how much each row is not met."""
        gap = moments - self.b
        return np.where(self.equality, gap, np.maximum(gap, 0))

    def excess(self, moments: np.ndarray) -> float:
        """Violation beyond the slack that is allowed."""
        if self.slack == "penalty":
            return 0.0
        found = self.violation(moments)
        if self.slack == "constraint":
            return max(norm_of(found, self.norm) - self.strength, 0.0)
        return float(np.abs(found).max(initial=0))


def norm_of(vector: np.ndarray, norm: str) -> float:
    """A norm by its name."""
    return float(np.linalg.norm(vector, {"l2": 2, "l1": 1, "linf": np.inf}[norm])) if vector.size else 0.0


def _into_ball(vector: np.ndarray, radius: float, norm: str) -> np.ndarray:
    """Nearest point of a ball about zero."""
    if norm == "linf":
        return np.clip(vector, -radius, radius)
    size = norm_of(vector, norm)
    if size <= radius:
        return vector
    if norm == "l2":
        return vector * (radius / size)
    ordered = np.sort(np.abs(vector))[::-1]
    levels = (np.cumsum(ordered) - radius) / np.arange(1, len(ordered) + 1)
    threshold = levels[np.flatnonzero(ordered > levels)[-1]]
    return np.sign(vector) * np.maximum(np.abs(vector) - threshold, 0)


def _shrunk(vector: np.ndarray, amount: float, norm: str) -> np.ndarray:
    """Proximal point of ``amount`` times a norm: what is left of the vector outside of the ball of the dual norm."""
    return vector - _into_ball(vector, amount, _DUAL_OF[norm])


class Dual:
    """Value and gradient of the dual, by inference; counts the passes."""

    def __init__(self, infer: Inference, terms: Sequence[Any], bound: float) -> None:
        self.infer, self.terms = infer, terms
        # What no feasible distribution exceeds; with penalties alone, all are feasible.
        self.bound = bound + sum(term.largest_penalty for term in terms)
        self.edges = np.concatenate([[0], np.cumsum([term.size for term in terms])]).astype(int)
        self.offset = np.concatenate([term.offset for term in terms])
        self.n_passes = 0

    def parts(self, dual: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        """Each term with its variables."""
        return [(term, dual[self.edges[i] : self.edges[i + 1]]) for i, term in enumerate(self.terms)]

    def shift(self, dual: np.ndarray) -> np.ndarray:
        """What is taken from log-probabilities."""
        return sum((term.adjoint(own) for term, own in self.parts(dual)), start=np.zeros(1))

    def smooth(self, dual: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """``-b.lambda - log Z``, its gradient, and q."""
        self.n_passes += 1
        q, log_z = self.infer(self.shift(dual))
        moments = np.concatenate([term.apply(q) for term in self.terms])
        value = float(-self.offset @ dual - log_z)
        if value - self.dual_penalty(dual) > self.bound:
            raise EmptyConstraintSetError("they contradict each other, or what is known of single rows")
        return value, moments - self.offset, q

    def dual_penalty(self, dual: np.ndarray) -> float:
        return sum(term.dual_penalty(own) for term, own in self.parts(dual))

    def nearest(self, dual: np.ndarray, step: float) -> np.ndarray:
        return np.concatenate([term.nearest(own, step) for term, own in self.parts(dual)])

    def described(self, dual: np.ndarray, converged: bool) -> Projection:
        """What the dual variables give."""
        shift = self.shift(dual)
        q, log_z = self.infer(shift)
        kl = max(float(-np.sum(q * shift) - log_z), 0.0)
        moments = [term.apply(q) for term in self.terms]
        penalty = sum(term.penalty(own) for term, own in zip(self.terms, moments, strict=True))
        violations = [term.violation(own) for term, own in zip(self.terms, moments, strict=True)]
        value = float(-self.offset @ dual - log_z) - self.dual_penalty(dual)
        violation = max((float(np.abs(each).max(initial=0)) for each in violations), default=0.0)
        gap = kl + penalty - value
        return Projection(q, dual, kl, violation, gap, self.n_passes, converged, penalty, shift)


def independent_rows(log_p: np.ndarray) -> Inference:
    """Inference for rows that are independent, from their log-probabilities."""
    floored = np.maximum(log_p, _FLOOR)
    floored = floored - logsumexp(floored, axis=1, keepdims=True)

    def infer(shift: np.ndarray) -> tuple[np.ndarray, float]:
        logs = floored - shift
        highest = logs.max(axis=1, keepdims=True)
        q = np.exp(logs - highest)
        totals = q.sum(axis=1, keepdims=True)
        return q / totals, float(np.sum(np.log(totals) + highest))

    return infer


def terms_of(
    constraints: Any, setting: Setting, *, slack: str = "none", strength: float = 0.0, norm: str = "l2"
) -> list[Any]:
    """Terms of the dual: all linear constraints in one, and one for each penalty."""
    if hasattr(constraints, "apply") and hasattr(constraints, "adjoint"):
        return [_OperatorTerm(constraints, (setting.n_rows, setting.n_components), slack, strength, norm)]
    listed = listed_constraints(constraints)
    shape = (setting.n_rows, setting.n_components)
    rows = [found for each in listed if (found := each.linear_rows(setting)) is not None and len(found.b)]
    terms: list[Any] = []
    if rows:
        phi = sparse.csr_array(sparse.vstack([each.phi for each in rows]))
        b = np.concatenate([each.b for each in rows])
        equality = np.concatenate([each.equality for each in rows])
        if slack == "none":
            refuse_impossible(phi, b, equality, shape)
        terms.append(LinearTerm(phi, b, equality, shape, slack, strength, norm))
    for each in listed:
        if isinstance(each, L1LinfSparsity):
            term = SparsityTerm(each.grouped_rows(setting), *shape, float(each.alpha))
            terms += [term] if term.size else []
    return terms


def listed_constraints(constraints: Any) -> list[Constraint]:
    """One constraint or several, as a list."""
    listed = [constraints] if isinstance(constraints, Constraint) else list(constraints)
    wrong = [each for each in listed if not isinstance(each, Constraint)]
    if wrong:
        raise TypeError(f"constraints must be LinearConstraint, ProportionConstraint ..., not {wrong[0]!r}.")
    return listed


class _OperatorTerm(LinearTerm):
    """A linear operator with ``apply``, ``adjoint``, ``b`` and, if it has equations, a mask ``equality``."""

    def __init__(self, operator: Any, shape: tuple[int, int], slack: str, strength: float, norm: str) -> None:
        b = np.atleast_1d(np.asarray(operator.b, dtype=np.float64))
        equality = np.broadcast_to(np.asarray(getattr(operator, "equality", False), dtype=bool), b.shape)
        super().__init__(operator, b, equality, shape, slack, strength, norm)

    def adjoint(self, dual: np.ndarray) -> np.ndarray:
        return np.asarray(self.phi.adjoint(dual)).reshape(self.shape)

    def apply(self, q: np.ndarray) -> np.ndarray:
        return np.atleast_1d(np.asarray(self.phi.apply(q), dtype=np.float64))


def refuse_impossible(phi: sparse.csr_array, b: np.ndarray, equality: np.ndarray, shape: tuple[int, int]) -> None:
    """Refuse a bound that no distribution reaches."""
    for number in range(len(b)):
        start, stop = phi.indptr[number], phi.indptr[number + 1]
        dense = np.zeros(shape[0] * shape[1])
        dense[phi.indices[start:stop]] = phi.data[start:stop]
        table = dense.reshape(shape)
        least, most = float(table.min(axis=1).sum()), float(table.max(axis=1).sum())
        room = 1e-9 * (1 + np.abs(table).max(axis=1).sum())
        if least > b[number] + room or (equality[number] and most < b[number] - room):
            raise EmptyConstraintSetError(
                f"row {number} of the constraints asks for {'=' if equality[number] else 'at most'} {b[number]:g}, and "
                f"it is between {least:g} and {most:g} for every distribution"
            )


def project(
    infer: Inference,
    terms: Sequence[Any],
    *,
    start: np.ndarray | None = None,
    bound: float = np.inf,
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Projection:
    """The nearest distribution, by the dual; see the module."""
    dual = Dual(infer, terms, bound)
    size = int(dual.edges[-1])
    first = np.zeros(size) if start is None or len(start) != size else np.asarray(start, dtype=np.float64)
    linear = len(terms) == 1 and isinstance(terms[0], LinearTerm)
    if linear and size == 1:
        return _bisected(dual, terms[0], tol)
    if linear and terms[0].slack == "none":
        return _quasi_newton(dual, terms[0], first, tol, max_iter)
    return _proximal(dual, first, tol, max_iter)


def _bisected(dual: Dual, term: LinearTerm, tol: float) -> Projection:
    """One constraint: the root of the derivative, which falls."""
    eps = term.strength if term.slack == "constraint" else 0.0
    limit = term.strength if term.slack == "penalty" else np.inf
    unit = 1.0
    if not isinstance(term, _OperatorTerm):
        unit = 1 / max(float(np.abs(term.phi.data).max(initial=0)), 1e-300)

    def slope(value: float) -> float:
        return float(dual.smooth(np.array([value]))[1][0])

    at_zero = slope(0.0)
    sign = 1.0 if at_zero > 0 else -1.0
    if abs(at_zero) <= eps or (sign < 0 and not term.equality[0]):
        return dual.described(np.zeros(1), True)

    def excess(value: float) -> float:
        return sign * slope(sign * value) - eps

    upper = min(unit, limit)
    while excess(upper) > 0:
        if upper >= limit:
            return dual.described(np.array([sign * limit]), True)
        if upper > _FARTHEST * unit:
            if excess(upper) <= tol:  # a bound at the edge of what is possible
                break
            raise EmptyConstraintSetError("no distribution of the components meets the constraint")
        upper = min(2 * upper, limit)
    else:
        upper = float(optimize.brentq(excess, 0.0, upper, xtol=1e-300, rtol=1e-14, maxiter=500))
    return dual.described(np.array([sign * upper]), True)


def _quasi_newton(dual: Dual, term: LinearTerm, first: np.ndarray, tol: float, max_iter: int) -> Projection:
    """No slack: a smooth concave function with signs, in units in which the largest entry of each row of phi is 1."""
    units = np.ones(term.size)
    if not isinstance(term, _OperatorTerm):
        units = 1 / np.maximum(abs(term.phi).max(axis=1).toarray().ravel(), 1e-300)

    def negative(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = dual.smooth(scaled * units)
        return -value, -gradient * units

    bounds = [(-_FARTHEST if equal else 0.0, _FARTHEST) for equal in term.equality]
    # Gradients of sums over many rows are known to their rounding only: a tolerance in the units of phi and b.
    gtol = tol * max(1.0, float(np.abs(term.b).max())) * float(units.min())
    options = {"maxiter": max_iter, "maxfun": 4 * max_iter, "ftol": 0.0, "gtol": gtol, "maxcor": 20, "maxls": 40}
    scaled, converged = first / units, False
    for _ in range(3):  # rounding may end a line search early; another round starts with a new estimate of curvature
        scaled = minimize(negative, scaled, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        gradient = dual.smooth(scaled * units)[1]
        if np.abs(scaled).max() >= _FARTHEST and term.excess(gradient + term.b) > 1e-6:
            raise EmptyConstraintSetError("no distribution of the components meets all of them")
        residual = np.where(term.equality | (scaled > 0), gradient, np.maximum(gradient, 0))
        converged = bool((np.abs(residual * units).max(initial=0)) <= 10 * gtol)
        if converged:
            break
    return dual.described(scaled * units, converged)


def _proximal(dual: Dual, first: np.ndarray, tol: float, max_iter: int) -> Projection:
    """Accelerated proximal gradient ascent with backtracking; momentum is dropped where it points downhill."""
    step, momentum = 1.0, 1.0
    present = dual.nearest(first, 0.0)
    ahead = present
    converged = False
    penalised = all(term.penalised for term in dual.terms)
    for _ in range(max_iter):
        value, gradient, _ = dual.smooth(ahead)
        while True:
            proposal = dual.nearest(ahead + step * gradient, step)
            move = proposal - ahead
            squared = float(move @ move)
            if squared == 0.0:
                break
            there, slope, q = dual.smooth(proposal)
            # The second form of the condition does not cancel where values hardly differ.
            if there >= value + gradient @ move - squared / (2 * step) or (
                step * float(move @ (gradient - slope)) <= squared
            ):
                break
            step /= 2
        if np.sqrt(squared) <= tol * step:
            present, converged = proposal, True
            break
        if float((ahead - proposal) @ (proposal - present)) > 0:
            momentum, ahead = 1.0, proposal
        else:
            later = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = proposal + (momentum - 1) / later * (proposal - present)
            momentum = later
        present = proposal
        step *= 1.1
        if penalised:
            shift = dual.shift(present)
            moments = [term.apply(q) for term in dual.terms]
            worth = sum(term.penalty(own) for term, own in zip(dual.terms, moments, strict=True))
            # KL(q || p) + penalty - dual, with log Z cancelled.
            gap = worth + float(dual.offset @ present) - float(np.sum(q * shift))
            if gap <= tol * max(1.0, worth):
                converged = True
                break
        elif np.abs(present).max(initial=0) > _FARTHEST:
            raise EmptyConstraintSetError("no distribution of the components meets all of them")
    found = dual.described(present, converged)
    excess = max(term.excess(term.apply(found.q)) for term in dual.terms)
    if not converged and excess > 1e-3 and np.abs(present).max(initial=0) > 1e3:
        raise EmptyConstraintSetError(f"after {max_iter} steps the constraints are still violated by {excess:.2g}")
    return found


@method(
    tasks=["evaluation"],
    when="Probabilities of rows are to be changed as little as possible so that they agree with what is known on "
    "average: shares of bags, counts, totals.",
    cost="O(n k) time for a step of the dual",
    paper="posterior-regularization",
    handles=(),
)
def kl_project(
    log_p: Any,
    constraints: Any,
    *,
    log: bool = True,
    slack: Literal["none", "constraint", "penalty"] = "none",
    slack_strength: float = 0.0,
    norm: Literal["l2", "l1", "linf"] = "l2",
    tol: float = 1e-8,
    max_iter: int = 1000,
) -> Projection:
    """Nearest distribution, in Kullback-Leibler divergence, that meets constraints on average.

    Solves ``min_q KL(q || p)`` subject to ``E_q[phi] <= b``.

    Parameters
    ----------
    log_p : array-like of shape (n_samples, n_components) or callable
        Log-probabilities of the components of independent rows. For rows that depend on each other, a function of an
        array ``shift`` (0.0 at first) that takes it from the log-potentials, and returns the marginals ``q`` of shape
        (n_samples, n_components) and ``log Z``, which is 0 where ``shift`` is.
    constraints : constraint, list of constraints, or linear operator
        `ProportionConstraint`, `AtMostCount`, `LinearConstraint`, `L1LinfSparsity`; or an object with ``apply(q)``,
        ``adjoint(lambda)`` and ``b``, and a mask ``equality`` if it has equations.
    log : bool, default=True
        Whether ``log_p`` holds logarithms; False for probabilities.
    slack : {"none", "constraint", "penalty"}, default="none"
        Constraints hold as they are; or up to a slack whose norm is at most ``slack_strength``; or the norm of the
        slack times ``slack_strength`` is added to the divergence.
    slack_strength : float, default=0.0
        Size of the slack that is allowed (eps), or its price (sigma).
    norm : {"l2", "l1", "linf"}, default="l2"
        Norm of the slack, over all linear constraints.
    tol : float, default=1e-8
        Tolerance of the constraints.
    max_iter : int, default=1000
        Maximum number of steps.

    Returns
    -------
    projection : Projection
        ``q``, the dual variables ``lambda_``, ``kl``, ``violation``, ``dual_gap``, ``n_iter`` and ``converged``.

    References
    ----------
    .. [1] Ganchev, K., Graca, J., Gillenwater, J. and Taskar, B. (2010). Posterior regularization for structured latent
       variable models. Journal of Machine Learning Research 11, 2001-2049.

    Examples
    --------
    Two of three rows look like component 0; at most one of them can be.

    >>> import numpy as np
    >>> from fewer.latent import AtMostCount, kl_project
    >>> p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]])
    >>> kl_project(np.log(p), AtMostCount([0, 1, 2], component=0)).q.round(2)
    array([[0.64, 0.36],
           [0.31, 0.69],
           [0.05, 0.95]])
    """
    for given, allowed in ((slack, ("none", "constraint", "penalty")), (norm, ("l2", "l1", "linf"))):
        if given not in allowed:
            raise ValueError(f"{given!r} is not one of {', '.join(allowed)}.")
    if slack_strength < 0:
        raise ValueError(f"slack_strength must not be negative, and is {slack_strength}.")
    if callable(log_p):
        infer = log_p
        q, _ = infer(np.zeros(1))
        bound = -_FLOOR * len(q)
    else:
        table = np.asarray(log_p, dtype=np.float64)
        if table.ndim != 2:
            raise ValueError(f"log_p must have two dimensions, rows and components, not {table.ndim}.")
        if not log:
            with np.errstate(divide="ignore", invalid="ignore"):
                table = np.log(table)
        if np.isnan(table).any():
            raise ValueError("log_p has missing entries" + ("." if log else ", or negative probabilities."))
        infer = independent_rows(table)
        q, _ = infer(np.zeros(1))
        bound = _bound(q)
    setting = Setting(len(q), q.shape[1], _no_columns)
    terms = terms_of(constraints, setting, slack=slack, strength=float(slack_strength), norm=norm)
    if not terms:
        return Projection(q, np.zeros(0), 0.0, 0.0, 0.0, 1, True)
    return project(infer, terms, bound=bound, tol=tol, max_iter=max_iter)


def _bound(p: np.ndarray) -> float:
    """No distribution is farther from p than this, so that a dual beyond it shows that there is none."""
    return float(-np.log(np.maximum(p.min(axis=1), 1e-300)).sum()) + 1e-6


def _no_columns(name: str) -> np.ndarray:
    raise ValueError(f"A constraint names the column {name!r}, and there is no frame: give it an array instead.")
