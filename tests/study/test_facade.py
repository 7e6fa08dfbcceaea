"""A whole study in one call: what is kept, what is told when it cannot be written, and that nothing is done twice."""

import os
import pickle
import platform
import signal
from html import escape, unescape
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from fewer.facade import Study, carry_out, run_study
from fewer.io import Dataset, read_table
from fewer.study import StudyError, StudyFolder, TemporaryFolder, apply_model, study_data
from tolerances import rounding

EFFORT = {"preset": "quick", "methods": ["anova"], "learners": ["ridge"], "n_folds": 2, "n_repeats": 1}


def test_results_that_cannot_be_written_are_told_and_written_by_the_next_run(make_table, quick_plan, tmp_path):
    data = study_data(make_table(n_rows=30, n_columns=4))
    plan = quick_plan(data, learners=["ridge"], n_folds=2, n_repeats=1, n_permutations=0)
    folder = StudyFolder(tmp_path / "study")
    folder.report.mkdir(parents=True)
    with pytest.raises(
        StudyError, match=r"results cannot be written to .*study: Is a directory\. Finished tasks are kept"
    ):
        carry_out(plan, data, folder, n_jobs=1)
    assert folder.exists
    assert not folder.finished
    folder.report.rmdir()

    class NoEngine:
        def run(self, *args, **options):
            raise AssertionError("the journal has everything")

    carry_out(plan, data, folder, engine=NoEngine())
    assert folder.finished
    assert Study(folder.path).columns_ == sorted(folder.features.read_text().split())


def test_a_study_without_a_folder_goes_with_its_result(make_table):
    study = run_study(make_table(n_rows=30, n_columns=4), n_permutations=0, n_jobs=1, **EFFORT)
    place = study.folder.path
    assert study.report().is_file()
    assert set(study.columns_) == set(study.findings.chosen)
    assert study.findings.headline in repr(study)
    del study
    assert not place.exists()


def test_another_target_and_columns_to_leave_out_are_taken_from_the_table(make_table):
    table = make_table(n_rows=30, n_columns=4)
    study = run_study(table, "x3", drop=["x0"], n_permutations=0, n_jobs=1, **(EFFORT | {"methods": ["pearson"]}))
    assert study.plan.target == "x3"
    assert study.plan.task == "regression"
    assert {column.name for column in study.findings.columns} <= {"x1", "x2", "state"}


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_the_folder_of_a_killed_process_goes_when_the_next_one_is_made(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    child = os.fork()
    if not child:
        try:
            left = TemporaryFolder()
            (left.path / "report.html").write_text("x")
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    (tmp_path / "fewer-study-of-mine").mkdir()
    (left,) = tmp_path.glob("*/report.html")
    first = TemporaryFolder()
    second = TemporaryFolder()
    assert not left.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"fewer-study-of-mine", first.path.name, second.path.name}
    del first, second
    assert [path.name for path in tmp_path.iterdir()] == ["fewer-study-of-mine"]


def test_findings_show_themselves_as_the_first_screen(make_table):
    table = make_table()
    study = run_study(table, **EFFORT, n_permutations=0, n_jobs=1)
    html = study.findings._repr_html_()
    assert html == study._repr_html_()
    for sentence in study.findings.verdict:
        assert escape(sentence) in html
    assert "60 rows, 20 columns" in html
    chosen = study.findings.curve["chosen"]
    assert f"{chosen['mean']:.3f} with the chosen {chosen['size']:,}" in html
    assert html.count("<polyline") == 3
    ElementTree.fromstring(html)


def test_the_best_pipeline_finds_its_columns_in_any_frame(make_table):
    table = make_table()
    study = run_study(table, **EFFORT, n_permutations=0, n_jobs=1)
    pipeline = study.best_pipeline()
    wanted = study.best_pipeline_.predict(table.keep(study.columns_).X)
    shuffled = table.to_pandas()[[*reversed(table.columns), "state"]]
    for frame in (shuffled, table.to_polars(), table, table.keep(study.columns_).X):
        assert np.array_equal(pipeline.predict(frame), wanted)
    with pytest.raises(StudyError, match="columns that the model needs"):
        pipeline.predict(shuffled.drop(columns=study.columns_[0]))
    assert np.array_equal(pickle.loads(pickle.dumps(pipeline)).predict(shuffled), wanted)
    assert len(pipeline.predict(shuffled.iloc[:1])) == 1


def run_code(code, **known):
    exec(compile(code, "winner", "exec"), known)
    return known


@pytest.mark.parametrize("learner", ["ridge", "svm", "knn", "lasso", "extra_trees", "boosting"])
def test_the_code_of_the_report_fits_the_shipped_model_again(make_table, learner, tmp_path):
    frame = make_table(n_rows=40, n_columns=6).to_polars()
    colours = np.array(["red", "blue", "grey"])[np.arange(40) % 3]
    frame = frame.with_columns(colour=pl.Series(colours), x1=pl.when(pl.col("x1") > -1).then("x1"))
    frame.write_csv(tmp_path / "t.csv")
    effort = EFFORT | {"learners": [learner], "n_permutations": 0, "n_jobs": 1}
    study = run_study(tmp_path / "t.csv", "state", drop=["x5"], out=tmp_path / "s", **effort)
    page = (tmp_path / "s" / "report.html").read_text()
    shown = unescape(page.partition('<pre id="winner-code" tabindex="0"><code>')[2].partition("</code>")[0])
    assert shown == study.code
    again = run_code(shown)
    shipped = apply_model(study.model, read_table(tmp_path / "t.csv", target="state"))
    assert list(again["predictions"]) == shipped["predicted_state"].to_list()


WINNERS = {
    "groups, weights and imputation": {
        "target": "state",
        "methods": ["anova"],
        "groups": "site",
        "weights": "w",
        "always": ["age"],
        "column_groups": {"g": ["x0", "x1"], "h": ["x2", "colour"]},
        "impute": "PCAMissing",
    },
    "numbers in the order of time": {
        "target": "amount",
        "methods": ["pearson"],
        "learners": ["extra_trees"],
        "time": "day",
        "impute": "knn",
        "drop": ["state", "w", "site"],
    },
    "words": {"target": "state", "methods": ["anova"], "learners": ["naive_bayes"], "drop": ["amount", "w", "site"]},
}


@pytest.mark.parametrize("name", WINNERS)
def test_the_code_of_other_winners_predicts_as_they_do(name, tmp_path):
    rng, n = np.random.default_rng(0), 60
    X = rng.normal(size=(n, 5))
    amount = X[:, 0] + X[:, 3] + rng.normal(size=n) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    frame = pl.DataFrame({f"x{place}": column for place, column in enumerate(X.T)}).fill_nan(None)
    frame = frame.with_columns(
        age=pl.Series(rng.normal(50, 10, n)),
        colour=pl.Series(rng.choice(["red", "blue", "grey"], n)),
        site=pl.Series([f"s{place % 10}" for place in range(n)]),
        day=pl.Series(rng.permutation(n) * 1.5),
        w=pl.Series(rng.integers(1, 5, n)),
        amount=pl.Series(amount),
        state=pl.Series(np.where(amount > 0, "ill", "well")),
    )
    options = dict(WINNERS[name])
    if options["target"] == "state" and "amount" not in options.get("drop", []):
        options["drop"] = ["amount"]
    frame.write_csv(tmp_path / "t.csv")
    study = run_study(tmp_path / "t.csv", **(EFFORT | {"n_permutations": 0, "n_jobs": 1} | options))
    again = run_code(study.code)["predictions"]
    shipped = apply_model(study.model, read_table(tmp_path / "t.csv"))[f"predicted_{options['target']}"]
    if "time" in options:
        shipped = shipped[np.argsort(frame["day"].to_numpy(), kind="stable").tolist()]
        assert np.abs(again - shipped.to_numpy()).max() <= rounding(n, np.abs(again).max(), condition=100)
    else:
        assert list(again) == shipped.to_list()


def test_the_code_of_a_sparse_winner_predicts_as_it_does(tmp_path):
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    counts = rng.poisson(0.2 + 2 * (np.arange(30) < 3) * y[:, None])
    dump_svmlight_file(counts, y, str(tmp_path / "words.svm"), zero_based=False)
    study = run_study(tmp_path / "words.svm", **EFFORT | {"learners": ["logistic"]}, n_permutations=0, n_jobs=1)
    again = run_code(study.code)["predictions"]
    shipped = apply_model(study.model, read_table(tmp_path / "words.svm"))
    (name,) = (column for column in shipped.columns if column.startswith("predicted_"))
    assert [str(label) for label in again] == [str(label) for label in shipped[name]]


def test_the_code_of_numbers_in_memory_needs_the_table(make_table):
    table = make_table(n_rows=40, n_columns=6)
    numbers = Dataset.from_frame({name: table.X[:, j] for j, name in enumerate(table.columns)}, target="x0")
    effort = EFFORT | {"methods": ["pearson"], "n_permutations": 0, "n_jobs": 1}
    study = run_study(numbers, **effort)
    again = run_code(study.code, table=numbers)["predictions"]
    shipped = study.best_pipeline().predict(numbers)
    assert np.abs(again - shipped).max() <= rounding(40, np.abs(shipped).max(), condition=100)


def test_the_report_ends_with_versions_and_references(make_table, tmp_path):
    effort = EFFORT | {"methods": ["MRMR"], "n_permutations": 0, "n_jobs": 1}
    run_study(make_table(n_rows=40, n_columns=6), out=tmp_path / "s", **effort)
    page = unescape((tmp_path / "s" / "report.html").read_text())
    assert "@misc{peng2005,\n  author = {Peng, H. and Long, F. and Ding, C.},\n  year = {2005}," in page
    assert "@misc{reunanen2006," in page
    assert f"Python {platform.python_version()}" in page


@pytest.mark.filterwarnings("ignore")
def test_the_code_makes_new_columns_too(make_table):
    table = make_table(n_rows=40, n_columns=6, n_informative=4)
    study = run_study(table, **EFFORT | {"methods": ["PLSDiscriminant"], "parsimony": 0.5}, n_permutations=0, n_jobs=1)
    assert "PLSDiscriminant(n_components=" in study.code
    again = run_code(study.code, table=table)["predictions"]
    assert list(again) == list(study.best_pipeline().predict(table))
