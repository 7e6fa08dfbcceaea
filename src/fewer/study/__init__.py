"""The main job: plan, run (journalled, resumable), findings."""

from fewer.study._candidates import Candidate
from fewer.study._errors import StudyError
from fewer.study._journal import Journal
from fewer.study._plan import Plan, make_plan
from fewer.study._study_data import StudyData, study_data

__all__ = ["Candidate", "Journal", "Plan", "StudyData", "StudyError", "make_plan", "study_data"]
