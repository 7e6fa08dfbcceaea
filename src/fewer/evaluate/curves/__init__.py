"""Held-out scores over the number of columns or components, and an unbiased estimate at the size that they suggest."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.evaluate.curves._component_curve import ComponentCurve, component_curve
    from fewer.evaluate.curves._cross_index import CrossIndex, corrected_interval, cross_index
    from fewer.evaluate.curves._fold_scores import (
        ComponentScores,
        FoldScores,
        Job,
        Selected,
        fit_selector,
        score_components,
        score_fold,
        score_sizes,
        size_scores,
    )
    from fewer.evaluate.curves._selection_curve import (
        SelectionCurve,
        checked_sizes,
        curve_of,
        folds_for,
        selection_curve,
    )
    from fewer.evaluate.curves._subset_path import SubsetPath, inner_scores, subset_path
    from fewer.evaluate.curves._sustainable_error import (
        NestedSustainableError,
        SustainableErrorCurve,
        nested_sustainable_error,
        overlap_rate,
        sustainable_error_curve,
    )

__all__ = [
    "ComponentCurve",
    "ComponentScores",
    "CrossIndex",
    "FoldScores",
    "Job",
    "NestedSustainableError",
    "Selected",
    "SelectionCurve",
    "SubsetPath",
    "SustainableErrorCurve",
    "checked_sizes",
    "component_curve",
    "corrected_interval",
    "cross_index",
    "curve_of",
    "fit_selector",
    "folds_for",
    "inner_scores",
    "nested_sustainable_error",
    "overlap_rate",
    "score_components",
    "score_fold",
    "score_sizes",
    "selection_curve",
    "size_scores",
    "subset_path",
    "sustainable_error_curve",
]

__getattr__, __dir__ = lazy_names(__name__)
