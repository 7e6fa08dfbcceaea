"""Networks of the columns of a series that change with time."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.graph.changing._edge_course import EdgeCourse
    from fewer.graph.changing._nonstationary_dbn import NonStationaryDBN
    from fewer.graph.changing._nsbde import independent_edge_proba, nsbde_score

__all__ = ["EdgeCourse", "NonStationaryDBN", "independent_edge_proba", "nsbde_score"]

__getattr__, __dir__ = lazy_names(__name__)
