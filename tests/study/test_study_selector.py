"""The whole study as a selector keeps the promises of every selector, and fits into someone else's pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import fewer


def table(seed=0, n_rows=60):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % 2)
    X = rng.normal(size=(n_rows, 10))
    X[:, 3] += 3 * y
    return X, np.array(["ill", "well"])[y]


def test_it_keeps_what_the_study_of_the_same_rows_chooses():
    X, y = table()
    selector = fewer.StudySelector(methods=["anova"], learners=["ridge"], n_folds=3).fit(
        pd.DataFrame(X, columns=[f"gene {j}" for j in range(10)]), y
    )
    assert "gene 3" in selector.get_feature_names_out()
    plan = selector.findings_.plan
    names = {f"x{j}": X[:, j] for j in range(10)}
    study = fewer.run_study(fewer.Dataset.from_frame(names, target=y), plan=plan, keep=list(names), n_jobs=1)
    assert {f"x{j}" for j in np.flatnonzero(selector.support_)} == set(study.findings.chosen)


@pytest.mark.filterwarnings("ignore")
def test_on_pure_noise_a_pipeline_around_it_promises_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 100)), np.arange(40) % 2
    selector = fewer.StudySelector(methods=["anova"], learners=["ridge"], n_folds=3)
    inside = cross_val_score(make_pipeline(selector, LogisticRegression()), X, y, cv=4)
    outside = cross_val_score(LogisticRegression(), selector.fit_transform(X, y), y, cv=4)
    assert inside.mean() < 0.5 + 3 * 0.5 / np.sqrt(40)
    assert outside.mean() > inside.mean()


def test_missing_values_and_numbers_are_taken():
    X, _ = table()
    y = X[:, 3] + 0.1 * np.random.default_rng(1).normal(size=60)
    X[::7, 3] = np.nan
    selector = fewer.StudySelector(methods=["pearson"], learners=["ridge"], n_folds=3).fit(X, y)
    assert selector.support_[3]
    assert selector.findings_.plan.task == "regression"
