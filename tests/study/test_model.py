"""The model that a user keeps comes back from its file for every learner, and takes new rows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from fewer.catalogue import LEARNERS
from fewer.io import Dataset
from fewer.study import StudyError, StudyModel, apply_model, make_plan, study_data
from fewer.study.model._model import fit_model
from fewer.study.plan._recipes import Recipe, of_moderate_size


class Chosen:
    """As much of findings as a model needs."""

    n_made = None

    def __init__(self, names, winner, table):
        self.chosen = [name.partition(" = ")[0] for name in names]
        self.columns = [SimpleNamespace(name=name, source=name.partition(" = ")[0], chosen=True) for name in names]
        self.winner, self.table = winner, table


def fitted(dataset, names, learner):
    data = study_data(dataset)
    plan = make_plan(
        data, preset="quick", methods=["anova" if data.is_classification else "pearson"], learners=[learner]
    )
    return fit_model(plan, data, Chosen(names, len(plan.candidates) - 1, data.columns))


OFFERED = [name for name in LEARNERS if name != "baseline"]


@pytest.mark.parametrize("learner", [name for name in OFFERED if LEARNERS[name].classifier])
def test_every_learner_comes_back_from_its_file(make_table, tmp_path, learner):
    table = make_table(n_rows=80)
    if LEARNERS[learner].counts:
        table = replace(table, X=np.exp2(table.X))
    model = fitted(table, ["x1", "x0", "x7"], learner)
    model.save(tmp_path / "model.skops")
    again = StudyModel.load(tmp_path / "model.skops")
    assert again.columns == ("x0", "x1", "x7")
    new = apply_model(again, table)
    assert new.columns[:4] == ["x0", "x1", "x7", "predicted_state"]
    assert new["predicted_state"].to_list() == list(model.pipeline.predict(table.keep(["x0", "x1", "x7"]).X))
    assert (new["predicted_state"].to_numpy() == table.y).mean() > 0.7


@pytest.mark.parametrize("learner", OFFERED)
def test_models_of_three_classes_and_of_numbers_come_back_too(tmp_path, learner):
    X = np.random.default_rng(0).uniform(size=(90, 3))
    targets = [np.array(["a", "b", "c"])[np.digitize(X[:, 1], [0.3, 0.7])]] * bool(LEARNERS[learner].classifier)
    for y in targets + [X[:, 1]] * bool(LEARNERS[learner].regressor):
        table = Dataset.from_frame(X, target=y)
        model = fitted(table, ["x2"], learner)
        model.save(tmp_path / "model.skops")
        again = StudyModel.load(tmp_path / "model.skops")
        assert np.array_equal(again.pipeline.predict(X[:, 1:2]), model.pipeline.predict(X[:, 1:2]))


@pytest.mark.parametrize("learner", [name for name in OFFERED if LEARNERS[name].sparse])
def test_models_of_sparse_tables_come_back_too(tmp_path, learner):
    X = sparse.random(80, 4, 0.5, format="csr", random_state=0)
    y = 1 + X[:, 1].toarray().ravel() + X[:, 2].toarray().ravel()
    table = Dataset.from_frame(X, target=np.where(y > 1.4, "a", "b") if LEARNERS[learner].classifier else y)
    model = fitted(table, ["x1", "x2"], learner)
    model.save(tmp_path / "model.skops")
    again = StudyModel.load(tmp_path / "model.skops")
    assert np.array_equal(again.pipeline.predict(X[:, 1:3]), model.pipeline.predict(X[:, 1:3]))


@pytest.mark.parametrize(
    "learner", ["ridge", "logistic", "lasso", "elastic_net", "linear_svm", "svm", "multinomial_nb"]
)
def test_where_classes_count_alike_learners_weight_them_so(learner):
    rng = np.random.default_rng(0)
    y = np.repeat(["many", "rare"], [270, 30])
    X = rng.poisson(np.where(y == "rare", 6, 4)[:, None], (300, 2)) / [1.0, 2.0]
    plain, weighted = (Recipe(learner).learner(classify=True, classes=n, seed=0).fit(X, y).predict(X) for n in (0, 2))
    assert (weighted == "rare").sum() > (plain == "rare").sum() + 30


def test_trees_of_very_many_rows_are_grown_on_samples_of_them():
    few, many = (of_moderate_size(Recipe("extra_trees").learner(classify=True, seed=0), n) for n in (10**5, 10**6))
    assert (few.bootstrap, few.max_samples) == (False, None)
    assert (many.bootstrap, many.max_samples) == (True, 10**5)


def test_numbers_are_predicted_too(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    table = Dataset.from_frame({**{f"x{i}": X[:, i] for i in range(4)}, "y": X[:, 2] * 3}, target="y")
    new = apply_model(fitted(table, ["x2"], "ridge"), table)
    assert np.corrcoef(new["predicted_y"], table.y)[0, 1] > 0.999


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "blue", "green"], size=60)
    frame = pl.DataFrame(
        {
            "dose": rng.normal(size=60),
            "colour": colour,
            "size": rng.choice(["s", "m", "l"], size=60),
            "state": np.where(colour == "red", "ill", "well"),
        }
    )
    return Dataset.from_frame(frame, target="state")


def test_a_chosen_category_needs_its_column_alone(mixed, tmp_path):
    model = fitted(mixed, ["colour = red"], "ridge")
    model.save(tmp_path / "model.skops")
    model = StudyModel.load(tmp_path / "model.skops")
    assert model.columns == ("colour",)
    new = apply_model(model, mixed)
    assert (new["predicted_state"].to_numpy() == mixed.y).all()


def test_new_rows_may_have_missing_values_and_categories_never_seen(mixed):
    model = fitted(mixed, ["colour = red", "dose"], "ridge")
    new = Dataset.from_frame(
        pl.DataFrame({"colour": ["red", None, "mauve"], "dose": [0.5, 0.1, None], "other": [1, 2, 3]})
    )
    with pytest.warns(UserWarning, match=r"'colour' \(mauve\)"):
        assert apply_model(model, new)["predicted_state"].to_list() == ["ill", "well", "well"]


def test_words_where_numbers_were_are_named(mixed):
    model = fitted(mixed, ["dose", "colour = red"], "ridge")
    with pytest.raises(StudyError, match="'dose' was numeric in the study"):
        apply_model(model, Dataset.from_frame(pl.DataFrame({"colour": ["red", "blue"], "dose": ["much", "little"]})))


def test_columns_that_are_not_there_are_named(mixed):
    model = fitted(mixed, ["dose", "colour = red"], "ridge")
    with pytest.raises(StudyError, match="does not have 1 of the 2 columns that the model needs: 'dose'"):
        apply_model(model, Dataset.from_frame(pl.DataFrame({"colour": ["red", "blue"], "x": [1.5, 2.5]})))


def test_without_predictions_only_columns_come_out(mixed):
    model = fitted(mixed, ["colour = red"], "ridge")
    assert apply_model(model, mixed, predict=False).columns == ["colour"]


def test_infinite_new_rows_are_named(mixed):
    model = fitted(mixed, ["dose", "colour_red"], "ridge")
    with pytest.raises(StudyError, match="the column 'dose' contains inf, an infinite number, in row 2"):
        apply_model(model, Dataset.from_frame(pl.DataFrame({"colour": ["red", "blue"], "dose": [1.5, np.inf]})))


def test_a_model_whose_parts_do_not_fit_is_refused(mixed):
    """Fewer classes than the learner predicts: scikit-learn raises an IndexError."""
    model = fitted(mixed, ["dose"], "ridge")
    model.pipeline[-1].classes_ = model.pipeline[-1].classes_[:1]
    with pytest.raises(StudyError, match=r"^The model cannot be applied to .*: index 1 is out of bounds"):
        apply_model(model, mixed)


def test_new_rows_come_from_a_file_or_a_frame_too(mixed, tmp_path):
    model = fitted(mixed, ["colour = red", "dose"], "ridge")
    frame = mixed.to_polars().head(5)
    frame.write_csv(tmp_path / "new.csv")
    expected = apply_model(model, mixed)["predicted_state"].head(5)
    assert apply_model(model, frame)["predicted_state"].equals(expected)
    assert apply_model(model, tmp_path / "new.csv")["predicted_state"].equals(expected)
