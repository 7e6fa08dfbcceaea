"""Learners of the other rooms are named in a study by their cards, and their models come back from disk."""

import pytest

from fewer import run_study
from fewer.study import StudyModel, apply_model

NAMES = [
    "TANClassifier",
    "BayesNetClassifier",
    "ISMBClassifier",
    "HubnessWeightedKNeighborsClassifier",
    "ThresholdedLogisticRegression",
    "WeightedLogisticRegression",
    "SigmoidRiskClassifier",
    "MetaCostClassifier",
    "CompositeLossClassifier",
    "MixtureDiscriminantAnalysis",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_is_found_by_its_name_and_its_model_is_saved(name, make_table, tmp_path):
    table = make_table(n_columns=5)
    effort = {"methods": ["anova"], "sizes": [2], "n_folds": 3, "n_repeats": 1, "n_permutations": 0, "n_jobs": 1}
    study = run_study(table, learners=[name], **effort, out=tmp_path / "study")
    best = study.findings.rivals[0]
    assert best.score > 0.65  # two columns, each 1.5 standard deviations apart: 0.86 is possible
    assert study.findings.plan.candidates[1].learner.learner(classify=True, seed=0).__class__.__name__ == name
    loaded = StudyModel.load(study.folder.model)
    assert apply_model(loaded, table).equals(apply_model(study.model, table))
