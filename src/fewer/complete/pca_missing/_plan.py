"""Which method fits a table, how it is solved, and when it has settled."""

from dataclasses import dataclass

from fewer.complete._completer import usable_rank
from fewer.complete._observed import Observed
from fewer.complete.pca_missing._alternating import FAMILIES, Family, Settings

METHODS = ("ls-imputation", "ls", "map", "ppca", "vb", "ppca-diag", "vb-diag")
DIAGONAL = ("ppca-diag", "vb-diag")
# The error counts as settled when it would change by less than tol within 100 rounds, judged by this many.
_WINDOW = 20
# Above this many steps for one round of alternating updates, gradient steps are the better bargain.
_MANY_STEPS = 2e9
# At most this share missing is "few"; a table with at most this many entries is "small"; p * this <= n is "long".
_FEW_HOLES, _SMALL_TABLE, _LONG = 0.02, 1_000_000, 10
_DEFAULT_COMPONENTS = 10


@dataclass(frozen=True)
class Plan:
    """How to fit: a method of ``METHODS``, how it is solved, and the settings of its updates."""

    method: str
    gradient: bool
    rank: int
    settings: Settings
    alpha: float
    max_iter: int
    tol: float
    early_stopping: bool

    @property
    def family(self) -> Family:
        """The parts of the model that the method keeps."""
        return family_of(self.method)

    def settled(self, errors: list[float], costs: list[float]) -> bool:
        """Whether the error has settled, or moves without lowering the cost; time with broad priors does not count."""
        warm_up = self.settings.n_broad_iter if self.family.prior_of_loadings else 0
        if len(errors) <= warm_up + _WINDOW:
            return False
        if abs(errors[-1] - errors[-1 - _WINDOW]) < self.tol * _WINDOW / 100:
            return True
        return abs(costs[-1] - costs[-1 - _WINDOW]) < 1e-6 * self.tol * abs(costs[-1])


def family_of(method: str) -> Family:
    """The parts of the model that a method keeps."""
    return FAMILIES[method.removesuffix("-imputation").removesuffix("-diag")]


def guided_method(shape: tuple[int, int], n_observed: int, rank: int, dense: bool) -> str:
    """The method to use, by how much is missing and how large the table is."""
    n_rows, n_columns = shape
    size = n_rows * n_columns
    large = n_observed * rank**2 > _MANY_STEPS
    if n_observed >= (1 - _FEW_HOLES) * size:
        return "ls-imputation" if dense and size <= _SMALL_TABLE else "ls"
    probabilistic = "ppca" if n_columns * _LONG <= n_rows else "vb"
    return probabilistic + "-diag" if large else probabilistic


def uses_gradient(method: str, solver: str, n_observed: int, rank: int) -> bool:
    """Whether gradient steps are taken rather than closed-form updates in turn."""
    if method in ("ls", "map"):
        return solver == "gradient" or (solver == "auto" and n_observed * rank**2 > _MANY_STEPS)
    return method in DIAGONAL


def default_rank(shape: tuple[int, int]) -> int:
    """Components where none are asked for."""
    return max(1, min(_DEFAULT_COMPONENTS, min(shape) - 1))


def planned(
    table: Observed,
    settings: Settings,
    *,
    rank: int | None,
    method: str,
    solver: str,
    alpha: float,
    max_iter: int,
    tol: float,
    early_stopping: bool,
) -> Plan:
    """The plan for a table; combinations that make no sense are refused."""
    dense, n_observed = table.dense is not None, table.n_observed
    rank = default_rank(table.shape) if rank is None else usable_rank(rank, table.shape)
    if method == "auto":
        method = guided_method(table.shape, n_observed, rank, dense)
    by_steps_or_in_turn = method in ("ls", "map")
    if method == "ls-imputation" and not dense:
        raise ValueError(
            "method='ls-imputation' fills the table in while it fits, and this one is sparse: use method='ls', 'vb' or "
            "'vb-diag', which look at the stored entries only."
        )
    if solver != "auto" and not by_steps_or_in_turn:
        raise ValueError(f"solver={solver!r} is for method='ls' and 'map'; method={method!r} has one way only.")
    gradient = uses_gradient(method, solver, n_observed, rank)
    if early_stopping and not (gradient and by_steps_or_in_turn):
        raise ValueError(
            f"early_stopping goes with method='ls' or 'map' and solver='gradient', not with method={method!r}"
            + (" and closed-form updates." if by_steps_or_in_turn else ".")
        )
    return Plan(method, gradient, rank, settings, alpha, max_iter, tol, early_stopping)
