"""The main job: plan, run (journalled, resumable), findings."""

from typing import TYPE_CHECKING

from fewer._lazy import lazy_names

if TYPE_CHECKING:
    from fewer.study._answers import findings_of, held_out_predictions
    from fewer.study._calibration import Calibration
    from fewer.study._candidates import PRESETS, Candidate
    from fewer.study._drift import ColumnDrift, column_profiles, drift_of
    from fewer.study._errors import StudyError
    from fewer.study._estimate import time_estimate
    from fewer.study._explain import Contribution, RowExplanation, explain_row
    from fewer.study._findings import Findings
    from fewer.study._folder import HOME, StudyFolder, StudyState, TemporaryFolder, studies_in, study_state
    from fewer.study._journal import Journal
    from fewer.study._model import StudyModel, UnsavableModelError, apply_model, fit_model
    from fewer.study._model_file import UntrustedTypesError
    from fewer.study._other_rows import (
        Promise,
        RowsScore,
        StudyComparison,
        compare_studies,
        promise_of,
        score_model,
    )
    from fewer.study._plan import Plan, UntrustedPlanError, make_plan
    from fewer.study._predictions import parquet_of
    from fewer.study._question import Answer, Finished, Here, Lead, Pieces, Question, Verdict
    from fewer.study._rebuild import winner_code
    from fewer.study._run import StudyInterruptedError, run_plan
    from fewer.study._study_data import StudyData, study_data
    from fewer.study._study_selector import StudySelector
    from fewer.study.questions import question_named
    from fewer.study.questions.careful import Caution
    from fewer.study.questions.compared import Rival
    from fewer.study.questions.which import Column

__all__ = [
    "HOME",
    "PRESETS",
    "Answer",
    "Calibration",
    "Candidate",
    "Caution",
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
