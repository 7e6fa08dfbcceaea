"""Columns chosen class by class: the same number for every class, and their union kept.

Each selector ranks the columns for each class, so that every ``n_per_class`` can be read off one fit.
"""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.select.per_class._class_statistics import (
        BWRatioSelector,
        OVEFoldChangeSelector,
        OVRSNRSelector,
        OVRTStatSelector,
    )
    from fewer.select.per_class._ovr_svm_rfe import OVRSVMRFESelector
    from fewer.select.per_class._pug_ovr_svm import PUGOVRSVM, argmin_smoothed_error, checked_grid, smoothed_errors

__all__ = [
    "PUGOVRSVM",
    "BWRatioSelector",
    "OVEFoldChangeSelector",
    "OVRSNRSelector",
    "OVRSVMRFESelector",
    "OVRTStatSelector",
    "argmin_smoothed_error",
    "checked_grid",
    "smoothed_errors",
]

__getattr__, __dir__ = lazy_names(__name__)
