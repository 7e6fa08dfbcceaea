"""The classifier of views that agree: targets, views, maps of labels, sparse tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from fewer.learn import AgreementClassifier
from fewer.learn._agreement import LogLinear, agreement, fitted_log_linear


def views(n_rows=300, n_labels=20, n_views=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    X = np.hstack([np.eye(3)[y] * 2.0 + rng.normal(size=(n_rows, 3)) for _ in range(n_views)])
    return X, y, np.where(np.arange(n_rows) < n_labels, y, -1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_view_is_the_logistic_regression_of_scikit_learn(n_classes):
    X, y, _ = views()
    X, y = X[y < n_classes], y[y < n_classes]
    empty = LogLinear(np.zeros((6, n_classes)), np.zeros(n_classes))
    ours = fitted_log_linear(X, np.eye(n_classes)[y], 0.7, empty)
    theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(X, y)
    assert np.abs(np.exp(ours.log_probabilities(X)) - theirs.predict_proba(X)).max() < 1e-5


def test_several_views_agree_at_the_geometric_mean():
    rng = np.random.default_rng(0)
    logs = [np.log(rng.dirichlet(np.ones(4), size=5)) for _ in range(3)]
    found = agreement(logs)
    divergence = sum(np.sum(np.exp(found.common) * (found.common - each), axis=1) for each in logs)
    assert found.divergence == pytest.approx(divergence)
    X, y, labels = views(n_views=3)
    model = AgreementClassifier([[0, 1, 2], [3, 4, 5], [6, 7, 8]]).fit(X, labels)
    assert len(model.view_proba(X)) == 3
    product = np.prod(model.view_proba(X), axis=0) ** (1 / 3)
    assert model.predict_proba(X) == pytest.approx(product / product.sum(axis=1, keepdims=True))
    assert model.score(X, y) > 0.9


def test_frames_name_their_views_and_sparse_tables_stay_sparse():
    X, _, labels = views()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    by_name = AgreementClassifier([["a", "b", "c"], ["d", "e", "f"]]).fit(frame, labels)
    by_place = AgreementClassifier([[0, 1, 2], [3, 4, 5]]).fit(X, labels)
    of_sparse = AgreementClassifier([[0, 1, 2], [3, 4, 5]]).fit(sparse.csr_array(X), labels)
    assert np.abs(by_name.predict_proba(frame) - by_place.predict_proba(X)).max() < 1e-9
    assert np.abs(of_sparse.predict_proba(sparse.csr_array(X)) - by_place.predict_proba(X)).max() < 1e-5


def test_rows_without_labels_by_any_value():
    X, y, labels = views()
    names = np.array(["red", "green", "blue"], dtype=object)
    expected = AgreementClassifier(random_state=0).fit(X, labels).predict_proba(X)
    text = np.where(labels < 0, "?", names[y])
    none = np.where(labels < 0, None, names[y])
    numbers = np.where(labels < 0, np.nan, y)
    order = np.argsort(np.argsort(["red", "green", "blue"]))
    for given, value in ((text, "?"), (none, None), (numbers, None)):
        found = AgreementClassifier(unlabeled_value=value, random_state=0).fit(X, given)
        shares = found.predict_proba(X)
        shares = shares if given is numbers else shares[:, order]
        assert np.abs(shares - expected).max() < 1e-5
    with pytest.raises(ValueError, match=r"one class only.*Rows where y is -1 .* give another unlabeled_value"):
        AgreementClassifier().fit(X, np.where(y == 0, -1, 1))
    signed = AgreementClassifier(unlabeled_value=0).fit(X, np.where(labels < 0, 0, np.where(y == 0, -1, 1)))
    assert signed.classes_.tolist() == [-1, 1]
    with pytest.raises(ValueError, match="No row has a label"):
        AgreementClassifier().fit(X, np.full(300, -1))


def test_weights_of_rows_are_repetitions():
    X, _, labels = views()
    weights = np.random.default_rng(0).integers(3, size=300)
    weights[:6] = 1
    weighted = AgreementClassifier([[0, 1, 2], [3, 4, 5]], tol=1e-9).fit(X, labels, sample_weight=weights)
    again = np.repeat(np.arange(300), weights)
    repeated = AgreementClassifier([[0, 1, 2], [3, 4, 5]], tol=1e-9).fit(X[again], labels[again])
    assert np.abs(weighted.predict_proba(X) - repeated.predict_proba(X)).max() < 1e-5


def test_a_weight_of_zero_leaves_the_views_as_they_are():
    X, _, labels = views()
    model = AgreementClassifier(unlabeled_weight=0.0, random_state=0).fit(X, labels)
    assert np.array_equal(model.predict_proba(X), model.agree0_.predict_proba(X))
    assert model.converged_


def test_a_coarse_view_agrees_on_what_it_knows():
    rng = np.random.default_rng(1)
    kind = rng.choice(["cat", "dog", "oak"], size=600)
    first = np.column_stack([kind == "cat", kind == "dog"]) * 2.5 + rng.normal(size=(600, 2))
    X = np.hstack([first, (kind == "oak")[:, None] * 3.0 + rng.normal(size=(600, 1))])
    labels = np.where(np.arange(600) < 30, kind, "unknown")
    coarse = {"cat": "animal", "dog": "animal"}
    model = AgreementClassifier([[0, 1], [2]], label_maps=[None, coarse], unlabeled_value="unknown").fit(X, labels)
    shares, (fine, rough) = model.predict_proba(X), model.view_proba(X)
    assert fine.shape[1] == 3
    assert rough.shape[1] == 2
    assert shares.sum(axis=1) == pytest.approx(np.ones(600))
    # Within animals the first view decides alone, as in the paper.
    assert shares[:, 0] / shares[:, :2].sum(axis=1) == pytest.approx(fine[:, 0] / fine[:, :2].sum(axis=1))
    common = np.sqrt(fine[:, 2] * rough[:, 1])
    other = np.sqrt(fine[:, :2].sum(axis=1) * rough[:, 0])
    assert shares[:, 2] == pytest.approx(common / (common + other))
    assert np.diff(model.objective_path_).max() < 1e-6
    with pytest.raises(ValueError, match="names the class 'cow'"):
        AgreementClassifier([[0, 1], [2]], label_maps=[None, {"cow": 1}], unlabeled_value="unknown").fit(X, labels)
    with pytest.raises(ValueError, match="nothing to agree on"):
        AgreementClassifier(label_maps=[None, dict.fromkeys(["cat", "dog", "oak"], 1)]).fit(X, kind)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [([[0, 1]], "at least two views"), ([[0], []], "View 1 has no column"), ([[0], [9]], "must be in .0, 5.")],
)
def test_views_that_cannot_be_are_refused(given, complaint):
    X, _, labels = views()
    with pytest.raises((ValueError, IndexError), match=complaint):
        AgreementClassifier(given).fit(X, labels)


def test_columns_without_a_list_and_a_mark_that_became_text_are_named():
    X, truth, labels = views()
    for given in (["a", "b"], [0, 1]):
        with pytest.raises(ValueError, match=r"such as \[\[0, 1\], \[2, 3\]\]; .* is not a list"):
            AgreementClassifier(given).fit(X, labels)
    text = np.array(
        [-1 if label == -1 else ("ill" if ill else "well") for label, ill in zip(labels, truth, strict=True)]
    )
    with pytest.raises(ValueError, match="give unlabeled_value='-1'"):
        AgreementClassifier().fit(X, text)
    assert list(AgreementClassifier(unlabeled_value="-1", random_state=0).fit(X, text).classes_) == ["ill", "well"]
