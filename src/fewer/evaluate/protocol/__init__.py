"""What every evaluation is made of: checked tables and outer folds, pieces of work, selection inside of the folds."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate.protocol._selection import (
        check_selection_inside,
        check_selector,
        frozen,
        is_search,
        scoring_name,
        scoring_of,
        tunes_itself,
    )
    from fewer.evaluate.protocol._table import (
        Fold,
        check_complete,
        check_suits,
        checked_table,
        columns_of,
        outer_folds,
        rows_of,
    )
    from fewer.evaluate.protocol._tasks import Table, seeded, values_of, workers

if TYPE_CHECKING:  # a type, which does not exist at run time
    from fewer.evaluate.protocol._tasks import Where as Where

__all__ = [
    "Fold",
    "Table",
    "check_complete",
    "check_selection_inside",
    "check_selector",
    "check_suits",
    "checked_table",
    "columns_of",
    "frozen",
    "is_search",
    "outer_folds",
    "rows_of",
    "scoring_name",
    "scoring_of",
    "seeded",
    "tunes_itself",
    "values_of",
    "workers",
]

__getattr__, __dir__ = lazy_names(__name__)
