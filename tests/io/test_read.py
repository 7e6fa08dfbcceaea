import pytest

from fewer.io import TableError, read_table


def test_a_wrong_path_offers_near_names(file):
    path = file("a,b\n1,2\n", "patients.csv")
    with pytest.raises(TableError, match=r"patient\.csv does not exist. Did you mean 'patients\.csv'"):
        read_table(path.with_name("patient.csv"))


def test_a_wrong_folder_says_how_far_the_path_exists(tmp_path):
    with pytest.raises(TableError, match=rf"no folder .*deep/down \(the path exists as far as {tmp_path}\)"):
        read_table(tmp_path / "deep" / "down" / "t.csv")


def test_a_folder_lists_its_files(file):
    path = file("a,b\n1,2\n", "patients.csv")
    with pytest.raises(TableError, match=r"is a folder. Give the path of one of its files: 'patients\.csv'\.$"):
        read_table(path.parent)


def test_an_unknown_suffix_says_which_are_known(file):
    path = file("a,b\n1,2\n", "table.dat")
    with pytest.raises(TableError, match=r"table\.dat: the format cannot be told.*\.parquet.*format="):
        read_table(path)
    assert read_table(path, format="csv").columns == ("a", "b")
    with pytest.raises(TableError, match=r"format='cvs' is not known. Use one of csv"):
        read_table(path, format="cvs")


def test_suffixes_in_capitals_and_paths_as_strings_are_fine(file):
    assert read_table(str(file("a,b\n1,2\n", "TABLE.CSV"))).columns == ("a", "b")


@pytest.mark.parametrize("option", [{"query": "select 1"}, {"sheet": 2}, {"table": "t"}])
def test_an_option_without_meaning_is_refused(file, option):
    with pytest.raises(TableError, match=f"option {next(iter(option))}= has no meaning"):
        read_table(file("a,b\n1,2\n"), **option)
    with pytest.raises(TableError, match="A table in memory"):
        read_table({"a": [1, 2]}, **option)


def test_the_source_is_the_path(file):
    path = file("a,b\n1,2\n")
    assert read_table(path).source == str(path)


@pytest.mark.parametrize("uri", ["https://example.org/t.csv", "mysql://me@host/db"])
def test_other_uris_are_refused_with_the_cure(uri):
    with pytest.raises(TableError, match=r"is not read. Databases: postgresql://"):
        read_table(uri)


def test_missing_target_option_is_checked():
    with pytest.raises(TableError, match="missing_target='keep' is not known"):
        read_table({"a": [1, 2]}, missing_target="keep")


def test_options_for_text_have_no_meaning_for_a_database():
    with pytest.raises(TableError, match=r"A database URI: the option separator= has no meaning"):
        read_table("postgresql://nobody@nowhere/none", query="SELECT 1", separator=";")
