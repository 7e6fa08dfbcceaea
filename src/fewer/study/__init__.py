"""The main job: plan, run (journalled, resumable), findings."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.study._errors import StudyError
    from fewer.study._study_selector import StudySelector
    from fewer.study.answers._answers import findings_of, held_out_predictions
    from fewer.study.answers._findings import Findings
    from fewer.study.answers._question import Answer, Finished, Here, Lead, Pieces, Question, Verdict
    from fewer.study.files._folder import HOME, StudyFolder, StudyState, TemporaryFolder, studies_in, study_state
    from fewer.study.files._journal import Journal
    from fewer.study.model._calibration import Calibration
    from fewer.study.model._drift import ColumnDrift, column_profiles, drift_of
    from fewer.study.model._explain import Contribution, RowExplanation, explain_row
    from fewer.study.model._model import StudyModel, UnsavableModelError, apply_model, fit_model
    from fewer.study.model._model_file import UntrustedTypesError
    from fewer.study.model._other_rows import (
        Promise,
        RowsScore,
        StudyComparison,
        compare_studies,
        promise_of,
        score_model,
    )
    from fewer.study.model._rebuild import winner_code
    from fewer.study.plan._budget import Clock
    from fewer.study.plan._candidates import PRESETS, Candidate
    from fewer.study.plan._estimate import time_estimate
    from fewer.study.plan._plan import Plan, UntrustedPlanError, make_plan
    from fewer.study.questions import question_named
    from fewer.study.questions.careful import Caution
    from fewer.study.questions.compared import Rival
    from fewer.study.questions.which import Column
    from fewer.study.table._study_data import StudyData, study_data
    from fewer.study.table._weights import fit_weighted
    from fewer.study.work._predictions import parquet_of
    from fewer.study.work._run import StudyInterruptedError, run_plan

__all__ = [
    "HOME",
    "PRESETS",
    "Answer",
    "Calibration",
    "Candidate",
    "Caution",
    "Clock",
    "Column",
    "ColumnDrift",
    "Contribution",
    "Findings",
    "Finished",
    "Here",
    "Journal",
    "Lead",
    "Pieces",
    "Plan",
    "Promise",
    "Question",
    "Rival",
    "RowExplanation",
    "RowsScore",
    "StudyComparison",
    "StudyData",
    "StudyError",
    "StudyFolder",
    "StudyInterruptedError",
    "StudyModel",
    "StudySelector",
    "StudyState",
    "TemporaryFolder",
    "UnsavableModelError",
    "UntrustedPlanError",
    "UntrustedTypesError",
    "Verdict",
    "apply_model",
    "column_profiles",
    "compare_studies",
    "drift_of",
    "explain_row",
    "findings_of",
    "fit_model",
    "fit_weighted",
    "held_out_predictions",
    "make_plan",
    "parquet_of",
    "promise_of",
    "question_named",
    "run_plan",
    "score_model",
    "studies_in",
    "study_data",
    "study_state",
    "time_estimate",
    "winner_code",
]

__getattr__, __dir__ = lazy_names(__name__)
