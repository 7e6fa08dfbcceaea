"""Studies whose candidates make new columns rather than choosing among those of the table."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from fewer import run_study
from fewer.catalogue import find, methods
from fewer.evaluate import score_components
from fewer.io import Dataset
from fewer.latent import LatentClass
from fewer.study import StudyError, StudyModel, apply_model, make_plan, study_data
from fewer.study.plan._candidates import candidates_for
from fewer.study.plan._recipes import Recipe

N_COLUMNS = 20


def table(seed=0, n_rows=120):
    """Every column holds a little of one hidden quantity, and that tells the classes apart."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n_rows)
    X = hidden[:, None] * np.linspace(0.6, 1.4, N_COLUMNS) + 1.5 * rng.normal(size=(n_rows, N_COLUMNS))
    return pl.DataFrame({f"x{place}": column for place, column in enumerate(X.T)}).with_columns(
        state=pl.Series(np.where(hidden > 0, "high", "low"))
    )


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return run_study(
        table(),
        target="state",
        methods=["ReconstructionPCA", "anova"],
        learners=["knn"],
        n_folds=4,
        n_repeats=2,
        n_permutations=19,
        sizes=[1, 2, 4, 8],
        n_jobs=1,
        out=tmp_path_factory.mktemp("made") / "study",
    )


def test_new_columns_win_where_every_column_holds_a_little(study):
    findings = study.findings
    assert findings.rivals[0].name.startswith("ReconstructionPCA")
    assert findings.n_made is not None
    assert findings.n_made <= 4
    assert f"{findings.n_made} new column" in findings.headline
    assert "all 20 columns" in findings.headline


def test_all_columns_are_told_the_weightiest_first(study):
    names = study.findings.chosen
    assert sorted(names) == sorted(f"x{place}" for place in range(N_COLUMNS))
    made = study.findings.made
    first = {name: abs(each[0]) for name, each in zip(made["columns"], made["loadings"], strict=True)}
    # The later columns of the table hold more of what is hidden, which the first new column finds.
    assert np.mean([first[f"x{place}"] for place in range(15, 20)]) > np.mean([first[f"x{n}"] for n in range(5)])
    weights = [column.importance for column in study.findings.columns]
    assert weights == sorted(weights, reverse=True)


def test_the_model_makes_the_new_columns_of_new_rows(study):
    new = table(seed=1)
    made = apply_model(study.model, Dataset.from_frame(new, target="state"))
    n_made = study.findings.n_made
    assert made.columns == [f"reconstructionpca{place}" for place in range(n_made)] + [
        "predicted_state",
        "probability_high",
        "probability_low",
    ]
    assert accuracy_score(new["state"], made["predicted_state"]) > 0.75
    bare = apply_model(study.model, Dataset.from_frame(new, target="state"), predict=False)
    assert bare.equals(made.select(made.columns[:n_made]))


def test_a_model_from_disk_does_the_same(study):
    loaded = StudyModel.load(study.folder.model)
    np.testing.assert_array_equal(
        loaded.pipeline.predict(table(seed=2).drop("state").to_numpy()),
        study.best_pipeline_.predict(table(seed=2).drop("state").to_numpy()),
    )


def test_the_report_says_that_columns_are_new(study):
    page = study.folder.report.read_text(encoding="utf-8")
    assert "new column" in page
    assert "What the new columns hold" in page


def test_what_the_new_columns_hold_is_told(study):
    made = study.findings.made
    assert made["columns"] == study.findings.chosen[:20]
    loadings = np.array(made["loadings"])
    assert loadings.shape == (20, study.findings.n_made)
    np.testing.assert_allclose(
        np.linalg.norm(loadings, axis=1), [column.importance for column in study.findings.columns]
    )


def test_new_columns_have_a_path_of_their_own():
    made = candidates_for(classify=True, n_columns=500, methods=["ReconstructionPCA"], learners=["ridge"])
    assert made[-1].sizes == (1, 2, 3, 4, 6, 8, 12, 17, 24)
    asked = {"methods": ["ReconstructionPCA"], "learners": ["ridge"], "sizes": [5, 50]}
    told = candidates_for(classify=True, n_columns=500, **asked)
    assert told[-1].sizes == (5, 50)


@pytest.mark.parametrize("name", ["L1LinearClassifier", "LPBoost", "RandomSeparatorClassifier", "PUGOVRSVM"])
@pytest.mark.parametrize("classify", [True, False])
def test_what_neither_chooses_nor_makes_columns_is_refused(name, classify):
    with pytest.raises(StudyError, match=f"{name} is neither a selector nor an extractor"):
        candidates_for(classify=classify, n_columns=5, methods=[name])


@pytest.mark.parametrize("classify", [True, False])
def test_advice_names_what_a_study_can_use_and_the_nearest_first(classify):
    with pytest.raises(StudyError) as refused:
        candidates_for(classify=classify, n_columns=5, methods=["FastProjectiveClustering"])
    names = str(refused.value).partition("; use ")[2].removesuffix(".").split(", ")
    assert names[0] == "SubspaceDistanceFeatures"
    assert {"RandomProjection", "LandmarkFeatures", "VariationalInfoMax", "MRMR"} < set(names)
    assert len(names) == len(set(names))
    assert candidates_for(classify=classify, n_columns=5, methods=names, learners=["ridge"])


def test_noise_is_called_noise_whatever_is_made_of_it(studied):
    rng = np.random.default_rng(3)
    columns = {f"x{place}": column for place, column in enumerate(rng.normal(size=(30, 60)))}
    noise = Dataset.from_frame(columns | {"state": np.array(["a", "b"])[np.arange(60) % 2]}, target="state")
    findings = studied(noise, methods=["ReconstructionPCA"], learners=["ridge"], n_folds=3, n_repeats=1)
    assert not findings.claims_benefit
    assert "no sign" in findings.headline


@pytest.mark.filterwarnings("ignore")
def test_every_extractor_of_the_house_can_be_named_in_a_study():
    rng = np.random.default_rng(0)
    classes = np.arange(90) % 3
    X = rng.normal(size=(90, 6)) + np.outer(classes, [1, 0.5, 0, 0, 0, 0])
    numbers = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=90)
    counts = rng.poisson(np.exp(0.3 * X) + 1)
    refused = set()
    for card in methods(room="extract", package="fewer"):
        classify = "regression" not in card.tasks
        learner = KNeighborsClassifier() if classify else KNeighborsRegressor()
        y = np.array(["a", "b", "c"])[classes] if classify else numbers
        if not card.is_estimator or issubclass(card.implementation, SelectorMixin):
            continue
        try:
            candidates_for(classify=classify, n_columns=6, counts=True, methods=[card.name], learners=["knn"])
        except StudyError:
            refused.add(card.name)
            continue
        reducer = Recipe(card.name).reducer(seed=0)
        table = counts if Recipe(card.name).for_counts else X
        found = score_components(reducer, learner, table[:70], y[:70], table[70:], y[70:], sizes=[1, 2])
        assert found.sizes[0] == 1, card.name
        assert np.isfinite(found.scores).all(), card.name
        assert (found.weights > 0).all(), card.name
    # The first predicts and makes no columns; the second needs to know the shape of the images; the third cuts columns
    # into levels, and has no number of them.
    assert refused == {"FastProjectiveClustering", "HaarFeatures", "MDLDiscretizer"}


def test_methods_for_counts_take_tables_without_negative_numbers(tmp_path):
    """Columns are scaled and not centred for them, in the folds, on all rows and in the model."""
    rng = np.random.default_rng(0)
    mix = rng.beta(0.3, 0.3, size=(90, 1))
    topics = rng.dirichlet(np.full(12, 0.3), size=2)
    words = rng.poisson(40 * (mix * topics[0] + (1 - mix) * topics[1]))
    columns = {f"w{place}": column for place, column in enumerate(words.T) if column.any()}
    frame = pl.DataFrame(columns | {"topic": np.where(mix[:, 0] > 0.5, "a", "b")})
    options = {"target": "topic", "learners": ["knn"], "n_folds": 3, "n_repeats": 1, "n_permutations": 19, "n_jobs": 1}
    study = run_study(frame, methods=["CorrespondenceAnalysis", "chi2"], sizes=[1, 2], out=tmp_path / "s", **options)
    assert len(study.findings.rivals) == 4
    assert study.findings.learnable.verdict == "yes"
    made = apply_model(study.model, Dataset.from_frame(frame, target="topic"))
    assert accuracy_score(frame["topic"], made["predicted_topic"]) > 0.85
    with pytest.raises(StudyError, match="this table has negative numbers"):
        run_study(frame.with_columns(w0=pl.lit(-1.0) * pl.col("w0")), methods=["chi2"], **options)


TOPICS = {"rain": ["rain", "wind", "cloud", "storm"], "bread": ["bread", "jam", "flour", "oven"]}


def word_counts(n_rows=90, n_other=30):
    """A sparse table of counts: each row is about one of two topics, and words of neither are in all of them."""
    rng = np.random.default_rng(0)
    words = [*TOPICS["rain"], *TOPICS["bread"], *(f"other{place}" for place in range(n_other))]
    about = np.arange(n_rows) % 2
    rates = np.full((n_rows, len(words)), 0.3)
    rates[about == 0, :4] += 1.5
    rates[about == 1, 4:8] += 1.5
    X = sparse.csr_array(rng.poisson(rates).astype(float))
    return Dataset(X, words, ["numeric"] * len(words), np.array(list(TOPICS))[about], "topic", "binary")


@pytest.mark.parametrize("name", ["DiscreteComponentAnalysis", "PLSA"])
def test_models_of_counts_take_sparse_counts_as_they_are(name, tmp_path, monkeypatch):
    """In the folds and on all rows; the report says what the components are about."""
    table, taken = word_counts(), []
    model = find(name).implementation
    fit = model.fit

    def noted_fit(self, X, y=None, **others):
        taken.append((sparse.issparse(X), bool((X.data % 1 == 0).all())))
        return fit(self, X, y, **others)

    monkeypatch.setattr(model, "fit", noted_fit)
    effort = {"learners": ["knn"], "sizes": [2], "n_folds": 3, "n_repeats": 1, "n_permutations": 0, "n_jobs": 1}
    study = run_study(table, methods=[name], **effort, out=tmp_path / "s")
    assert len(taken) >= 4
    assert set(taken) == {(True, True)}
    assert study.findings.rivals[0].name.startswith(name)
    components = study.findings.made["components"]
    first_four = [{feature["name"] for feature in each["features"][:4]} for each in components]
    assert sorted(first_four, key=sorted) == [set(TOPICS["bread"]), set(TOPICS["rain"])]
    assert sum(each["share"] for each in components) == pytest.approx(1)
    page = study.folder.report.read_text(encoding="utf-8")
    assert 'id="components"' in page
    loaded = StudyModel.load(study.folder.model)
    np.testing.assert_array_equal(loaded.pipeline.predict(table.X), study.best_pipeline_.predict(table.X))


def test_presets_try_components_of_sparse_counts():
    """With one learner and few numbers of components; not of dense tables, fractions, or zeros and ones."""
    table = word_counts()
    plan = make_plan(study_data(table), preset="standard")
    (made,) = (each for each in plan.candidates if each.makes_columns)
    assert not any(each.makes_columns for each in make_plan(study_data(table), preset="quick").candidates)
    assert (made.labels, made.sizes) == (("components of counts", "ridge"), (3, 8, 24))
    assert made.reducer == Recipe("DiscreteComponentAnalysis")
    assert made.for_counts == "raw"
    asked = make_plan(study_data(table), preset="standard", learners=["logistic", "svm"], sizes=[2])
    assert [each.name for each in asked.candidates if each.makes_columns] == [
        "components of counts, logistic regression",
        "components of counts, RBF SVM",
    ]
    for other in (table.X.toarray(), table.X / 2, table.X.sign()):
        plan = make_plan(study_data(replace(table, X=other)), preset="standard")
        assert not any(each.makes_columns for each in plan.candidates)


def survey(n_rows=150):
    """Text answers of two types of people, some missing, beside a measurement."""
    rng = np.random.default_rng(0)
    types = np.arange(n_rows) % 2
    frame = {}
    for item in range(8):
        agrees = rng.random(n_rows) < np.where(types == item % 2, 0.85, 0.15)
        answers = np.where(agrees, "agree", np.where(rng.random(n_rows) < 0.5, "neither", "disagree")).astype(object)
        answers[rng.random(n_rows) < 0.15] = None
        frame[f"q{item}"] = answers.tolist()
    frame["age"] = rng.normal(50, 10, n_rows).tolist()
    frame["type"] = np.array(["one", "two"])[types].tolist()
    return pl.DataFrame(frame)


def test_latent_classes_take_categories_as_codes_with_missing_answers(tmp_path, monkeypatch):
    """One column for each item, nothing imputed; numbers with many values in fifths."""
    taken = []
    fit = LatentClass.fit

    def noted_fit(self, X, y=None, **others):
        taken.append(np.asarray(X))
        return fit(self, X, y, **others)

    monkeypatch.setattr(LatentClass, "fit", noted_fit)
    effort = {"learners": ["ridge"], "sizes": [2], "n_folds": 3, "n_repeats": 1, "n_permutations": 0, "n_jobs": 1}
    study = run_study(survey(), target="type", methods=["LatentClass"], **effort, out=tmp_path / "s")
    assert len(taken) >= 4
    for X in taken:
        assert X.shape[1] == 9
        assert [len(np.unique(column[~np.isnan(column)])) for column in X.T] == [5] + [3] * 8
        assert 0.1 < np.isnan(X[:, 1:]).mean() < 0.2
    assert study.findings.rivals[0].name.startswith("LatentClass")
    assert study.findings.made
    loaded = StudyModel.load(study.folder.model)
    new = survey().drop("type").with_columns(q0=pl.lit("never seen"))
    with pytest.warns(UserWarning, match="q0"):
        reduced = apply_model(loaded, Dataset.from_frame(new))
    assert reduced.height == 150
    assert {"probability_one", "probability_two"} <= set(reduced.columns)
    assert np.mean(reduced["predicted_type"].to_numpy() == survey()["type"].to_numpy()) > 0.85


def test_factor_scores_are_new_columns_of_a_study(tmp_path):
    effort = {"learners": ["knn"], "sizes": [1], "n_folds": 3, "n_repeats": 1, "n_permutations": 0, "n_jobs": 1}
    study = run_study(table(), target="state", methods=["FactorAnalysis"], **effort, out=tmp_path / "s")
    (found,) = (each for each in study.findings.rivals if each.name.startswith("FactorAnalysis"))
    # One factor is the hidden quantity with an error of about 0.3, so that the sign is right for nine rows of ten.
    assert found.score > 0.75
    loaded = StudyModel.load(study.folder.model)
    rows = table().drop("state")
    np.testing.assert_array_equal(loaded.pipeline.predict(rows), study.best_pipeline_.predict(rows))


def test_models_with_many_starts_have_two_in_a_study():
    """They are fitted hundreds of times; a mixture of factor analysers of wine did not end in four minutes."""
    table = {"classify": True, "n_columns": 8, "n_rows": 100, "preset": "quick", "learners": ["ridge"]}
    made = {
        name: candidates_for(methods=[name], **table)[-1] for name in ("MixtureOfFactorAnalyzers", "FactorAnalysis")
    }
    assert made["MixtureOfFactorAnalyzers"].reducer.params == {"n_init": 2}
    assert made["FactorAnalysis"].reducer.params == {}
