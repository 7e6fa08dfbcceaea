"""The audit of shortcuts: paired, exact where it can be checked, and plain in its verdict."""

import json

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from fewer.evaluate import NestedEvaluation, ProtocolAudit, ProtocolBias, protocol_audit
from fewer.evaluate.nested._protocol_audit import paired_bias
from fewer.learn import KernelRidgeClassifierLOO

X, y = load_iris(return_X_y=True)
SEARCH = GridSearchCV(make_pipeline(SelectKBest(), SVC()), {"selectkbest__k": [1, 2, 3], "svc__C": [0.1, 10.0]}, cv=3)
FOLDS = StratifiedKFold(6, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def audit():
    return protocol_audit(SEARCH, X, y, cv=FOLDS, n_repeats=1)


def test_internal_is_the_nested_evaluation(audit):
    np.testing.assert_array_equal(audit.scores["internal"], NestedEvaluation(SEARCH, FOLDS).run(X, y).scores)


def test_external_freezes_the_choice_made_on_all_rows(audit):
    best = SEARCH.fit(X, y).best_estimator_
    np.testing.assert_array_equal(audit.scores["external"], cross_val_score(best, X, y, cv=FOLDS))
    assert audit.frozen["external"] == SEARCH.best_params_


def test_median_freezes_the_middle_of_the_first_five_choices(audit):
    choices = [SEARCH.fit(X[train], y[train]).best_params_ for train, _ in list(FOLDS.split(X, y))[:5]]
    middle = {
        "selectkbest__k": int(np.median([choice["selectkbest__k"] for choice in choices])),
        "svc__C": float(np.exp(np.median([np.log(choice["svc__C"]) for choice in choices]))),
    }
    assert audit.frozen["median"] == pytest.approx(middle)
    learner = SEARCH.estimator.set_params(**middle)
    np.testing.assert_array_equal(audit.scores["median"], cross_val_score(learner, X, y, cv=FOLDS))


def test_external_selection_freezes_the_columns_and_searches_the_rest(audit):
    columns = SEARCH.fit(X, y).best_estimator_[0].get_support()
    rest = GridSearchCV(SVC(), {"C": [0.1, 10.0]}, cv=3)
    np.testing.assert_array_equal(audit.scores["external_selection"], cross_val_score(rest, X[:, columns], y, cv=FOLDS))
    assert audit.frozen["external_selection"] == tuple(f"x{i}" for i in np.flatnonzero(columns))


def test_bias_is_paired_with_its_standard_error_and_p_value():
    rng = np.random.default_rng(0)
    honest = rng.normal(0.7, 0.05, size=40)
    flattered = honest + rng.normal(0.03, 0.01, size=40)
    bias = paired_bias("external", flattered, honest)
    gap = flattered - honest
    assert bias.bias == pytest.approx(gap.mean())
    assert bias.se == pytest.approx(gap.std(ddof=1) / np.sqrt(40))
    assert bias.p_value == pytest.approx(wilcoxon(gap).pvalue)
    assert "look better than it is" in bias.verdict
    assert "look worse" in paired_bias("median", honest, flattered).verdict
    same = paired_bias("median", honest, honest.copy())
    assert (same.bias, same.p_value) == (0, 1)
    assert "no bias" in same.verdict


def test_errors_and_scores_tell_the_same_bias(audit):
    for protocol, bias in audit.biases.items():
        gap = audit.errors["internal"] - audit.errors[protocol]
        assert bias.bias == pytest.approx(gap.mean())


def test_only_the_internal_score_is_marked_honest(audit):
    data = json.loads(json.dumps(audit.to_dict()))
    assert [row["protocol"] for row in data["protocols"] if row["unbiased"]] == ["internal"]
    assert "Report the internal score" in data["verdict"]
    assert repr(audit).count("unbiased") >= 1
    assert len(audit.plot().data[0].x) == 3


def test_protocols_that_do_not_apply_are_left_out_and_refused_when_asked_for():
    pipeline = make_pipeline(SelectKBest(k=2), GaussianNB())
    audit = protocol_audit(pipeline, X, y, n_repeats=1, random_state=0)
    assert set(audit.scores) == {"internal", "external_selection"}
    assert set(audit.left_out) == {"external", "median"}
    with pytest.raises(ValueError, match=r"'median' does not apply: .*hyper-parameters"):
        protocol_audit(pipeline, X, y, ("internal", "median"), n_repeats=1)
    with pytest.raises(ValueError, match="'external_selection' does not apply"):
        protocol_audit(KernelRidgeClassifierLOO(), X, y, ("external_selection",), n_repeats=1)
    with pytest.raises(ValueError, match="'nested' is not one of internal"):
        protocol_audit(pipeline, X, y, ("nested",))


def test_a_learner_that_tunes_itself_is_audited_without_a_search():
    audit = protocol_audit(KernelRidgeClassifierLOO(), X[:100:2], y[:100:2], n_repeats=1, random_state=0)
    assert set(audit.frozen["external"]) == {"alpha", "gamma"}
    assert set(audit.left_out) == {"external_selection"}


def test_the_engine_changes_nothing(workers):
    there = protocol_audit(SEARCH, X, y, n_repeats=1, random_state=4, engine=workers)
    here = protocol_audit(SEARCH, X, y, n_repeats=1, random_state=4)
    assert isinstance(here, ProtocolAudit)
    for protocol, scores in here.scores.items():
        np.testing.assert_array_equal(scores, there.scores[protocol])


@pytest.mark.parametrize(
    ("bias", "p_value", "said"),
    [
        (0.1, 0.01, "makes the score look better than it is"),
        (-0.1, 0.01, "makes the score look worse than it is"),
        (0.1, 0.2, "no bias that these realisations could show"),
        (-0.1, 0.2, "no bias that these realisations could show"),
        (0.0, 0.01, "no bias that these realisations could show"),
    ],
)
def test_the_verdict_tells_the_side_of_a_bias_and_only_when_it_is_sure(bias, p_value, said):
    assert said in ProtocolBias("external", 0.5, bias, 0.01, p_value).verdict
