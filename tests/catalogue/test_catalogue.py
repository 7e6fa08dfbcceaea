"""The catalogue lists every method once, lets other packages join, and refuses unsuitable data at once."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from fewer.catalogue import (
    ROOMS,
    CatalogueError,
    UnsuitableDataError,
    check_takes,
    find,
    learner_named,
    method,
    methods,
    search,
)
from fewer.io import read_table

GUEST = """
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from fewer.catalogue import method

@method(room="select", tasks=["unsupervised"], when="Columns differ much in range.", cost="O(n p)")
class WidestColumns(SelectorMixin, BaseEstimator):
    '''Keep the columns with the widest range.'''
    def fit(self, X, y=None):
        self.scores_ = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
        self.ranking_ = np.argsort(np.argsort(-self.scores_)) + 1
        return self
    def _get_support_mask(self):
        return self.ranking_ <= 2
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
"""


def test_a_method_of_another_package_joins_by_its_entry_point(install_guest):
    install_guest(GUEST, "WidestColumns = guest_methods:WidestColumns\n")
    card = find("WidestColumns")
    assert (card.room, card.package, card.handles) == ("select", "guest_methods", ("missing",))
    assert card.summary == "Keep the columns with the widest range."
    assert card in methods(room="select", handles="missing")
    assert card not in methods(package="fewer")
    (estimator,) = card.examples()
    assert estimator.fit(np.array([[0.0, 1, 5], [1, 1, 9]])).get_support().tolist() == [True, False, True]


def test_a_broken_package_is_named_and_the_rest_goes_on(install_guest):
    install_guest("1 / 0", "Broken = guest_methods:Broken\n")
    with pytest.warns(UserWarning, match=r"'Broken' of 'guest_methods:Broken' could not be loaded: ZeroDivisionError"):
        names = [card.name for card in methods()]
    assert "ReconstructionPCA" in names


def test_something_without_a_card_is_named(install_guest):
    install_guest("class Plain: ...", "Plain = guest_methods:Plain\n")
    with pytest.warns(UserWarning, match="without a card"):
        methods()


def test_a_guest_cannot_take_the_name_of_a_method(install_guest):
    install_guest(GUEST.replace("WidestColumns", "KurtosisICA"), "KurtosisICA = guest_methods:KurtosisICA\n")
    with pytest.warns(UserWarning, match="fewer already has"):
        methods()
    assert find("KurtosisICA").package == "fewer"


def test_our_own_are_found_without_a_look_at_other_packages(monkeypatch):
    monkeypatch.setattr("fewer.catalogue._discover.entry_points", lambda group: 1 / 0)
    assert find("kurtosisica").name == "KurtosisICA"


def test_cards_read_the_summary_the_citation_and_the_tags():
    card = find("KurtosisICA")
    assert card.summary == "Independent components in closed form, separated by their kurtosis."
    assert card.citation == (
        "Cardoso, J.-F. (1989). Source separation using higher order moments. ICASSP 1989, 2109-2112."
    )
    assert card.handles == ("sparse",)
    assert card.to_dict()["paper"] == "slides"


def test_methods_are_listed_by_room_and_name():
    listed = [(ROOMS.index(card.room), card.name) for card in methods()]
    assert listed == sorted(listed)


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"room": "kitchen"}, "There is no room 'kitchen'; choose from select"),
        ({"task": "cooking"}, "There is no task 'cooking'"),
        ({"handles": ["sparse", "noise"]}, "There is no kind of data 'noise'"),
    ],
)
def test_unknown_words_are_refused_with_the_known_ones(asked, complaint):
    with pytest.raises(CatalogueError, match=complaint):
        methods(**asked)


def test_a_name_almost_right_gets_a_suggestion():
    with pytest.raises(CatalogueError, match="Did you mean ReconstructionPCA"):
        find("ReconstructPCA")


def test_the_beginning_of_a_name_gets_those_that_begin_so():
    with pytest.raises(CatalogueError, match=r"Did you mean .*PLSDiscriminant or PLSRegressor"):
        find("pls")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"room": "attic"}, "room 'attic' is not one of"),
        ({"tasks": ["ranking"]}, "task 'ranking' is not one of"),
        ({"handles": ["dirt"]}, "trait 'dirt' is not one of"),
        ({"when": ""}, "no text for 'when'"),
        ({"room": None}, "outside of fewer, so its card needs a room="),
    ],
)
def test_a_wrong_card_is_refused_where_it_is_written(change, complaint):
    facts = {"room": "select", "tasks": ["regression"], "when": "Always.", "cost": "O(n)"}
    with pytest.raises(CatalogueError, match=complaint):
        method(**facts | change)(lambda X: X)


def test_a_subclass_does_not_inherit_the_card(monkeypatch):
    from fewer import extract
    from fewer.catalogue import undeclared_estimators

    class Heir(extract.KurtosisICA):
        """A public class without a card of its own."""

    monkeypatch.setattr(extract, "Heir", Heir, raising=False)
    monkeypatch.setattr(extract, "__all__", [*extract.__all__, "Heir"])
    assert undeclared_estimators() == ["fewer.extract.Heir"]
    assert "Heir" not in [card.name for card in methods()]


TABLE_WITH_MISSING = pl.DataFrame(
    {"age": [1.5, None, 2.5, 9.0], "size": [1.0, 2.0, None, None], "y": ["a", "b", "a", "b"]}
)


def test_a_table_with_missing_values_is_refused_by_name_of_the_column_and_a_method_that_takes_it(install_guest):
    install_guest(GUEST, "WidestColumns = guest_methods:WidestColumns\n")
    install_second = method(room="select", tasks=["unsupervised"], when="Never, it is a test.", cost="O(1)", handles=[])
    card = install_second(type("Complete", (), {"__doc__": "Accept no missing values."})).__fewer_method__
    with pytest.raises(UnsuitableDataError) as caught:
        check_takes(card, read_table(TABLE_WITH_MISSING, target="y"))
    said = str(caught.value)
    assert said.startswith("Complete does not accept missing values, and age has 1, as has 1 other column.")
    assert "WidestColumns in fewer.select can" in said


def test_without_a_method_that_takes_it_the_message_says_what_to_do():
    with pytest.raises(UnsuitableDataError, match=r"No method in fewer\.extract accepts it: .*SimpleImputer"):
        check_takes(find("KurtosisICA"), read_table(TABLE_WITH_MISSING, target="y"))


def test_words_are_refused_by_a_method_for_numbers():
    table = pl.DataFrame({"x": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]})
    with pytest.raises(UnsuitableDataError, match="numbers only, and colour is not"):
        check_takes(find("KurtosisICA"), read_table(table))
    two = table.with_columns(shape=pl.Series(["round", "long", "long"]))
    with pytest.raises(UnsuitableDataError, match="numbers only, and colour and 1 more are not"):
        check_takes(find("KurtosisICA"), read_table(two))


def test_methods_for_another_task_are_not_offered(install_guest):
    install_guest(GUEST, "WidestColumns = guest_methods:WidestColumns\n")
    declare = method(room="select", tasks=["regression"], when="Never, it is a test.", cost="O(1)", handles=[])
    card = declare(type("Line", (), {"__doc__": "Fit a line."})).__fewer_method__
    with pytest.raises(UnsuitableDataError) as caught:
        check_takes(
            card, read_table(TABLE_WITH_MISSING.select("age", "size", y=pl.Series([0.5, 1.25, 2.5, 7.75])), target="y")
        )
    assert "WidestColumns" not in str(caught.value)


def test_a_sparse_table_is_taken_where_the_tags_say_so():
    check_takes(find("KurtosisICA"), read_table(sparse.csr_array(np.eye(5))))


def test_a_classifier_is_refused_for_regression_and_without_a_target():
    declare = method(room="learn", tasks=["classification"], when="Never, it is a test.", cost="O(1)", handles=[])
    card = declare(type("Sorter", (), {"__doc__": "Sort."})).__fewer_method__
    numbers = pl.DataFrame({"x": [1.0, 2.0, 3.5, 0.1], "y": [0.25, 1.5, 2.75, 7.125]})
    with pytest.raises(
        UnsuitableDataError, match=r"Sorter is for classification, and the target 'y' asks for regression"
    ):
        check_takes(card, read_table(numbers, target="y"))
    with pytest.raises(UnsuitableDataError, match="Sorter needs a target"):
        check_takes(card, read_table(numbers))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("lasso", {"lasso", "L1PathClassifierCV", "L1PathRegressorCV", "SparsePathSelector"}),
        ("boruta", {"ShadowRelevanceSelector"}),
        ("RFE", {"RidgeRFE", "OVRSVMRFESelector"}),
        ("PCA", {"ReconstructionPCA", "WeightedPCA", "PCAMissing"}),
        ("random forest", {"forest", "ForestImportanceSelector"}),
    ],
)
def test_methods_are_found_by_what_people_call_them(words, found):
    names = [card.name for card in search(words)]
    assert found <= set(names)
    assert names[0] in found
    assert "HaarFeatures" not in names or words != "RFE"  # haaRFEatures


def test_one_alias_of_one_method_is_as_good_as_its_name():
    assert find("Boruta").name == "ShadowRelevanceSelector"
    with pytest.raises(CatalogueError, match="several methods are called: OVRSVMRFESelector, RidgeRFE"):
        find("RFE")


def test_roles_follow_from_the_type():
    assert find("RidgeRFE").roles == ("selector",)
    assert find("ReconstructionPCA").roles == ("extractor",)
    assert find("OptimalScoringLDA").roles == ("extractor", "learner")
    assert find("SoftImputeCV").roles == ("imputer",)
    assert {card.name for card in methods(role="imputer")} >= {"median", "knn", "PCAMissing"}
    assert find("knn").roles == ("learner",)
    assert find("NestedSelectionCV").roles == ()  # it cannot be built by name
    assert find("knn", role="imputer").roles == ("imputer",)
    with pytest.raises(CatalogueError, match="RidgeRFE is not a learner"):
        find("RidgeRFE", role="learner")


@pytest.mark.parametrize("name", ["TANClassifier", "BayesNetClassifier", "ISMBClassifier"])
def test_values_are_imputed_for_learners_that_leave_incomplete_rows_out(name):
    assert not learner_named(name).takes_missing
    assert learner_named("IQGMEClassifier").takes_missing


def test_the_search_space_of_a_card_is_searched_except_for_what_is_given():
    learner = learner_named("L1LinearClassifier")
    assert learner.build(classify=True, n_classes=2).scoring == "balanced_accuracy"
    assert isinstance(learner.build(classify=True, params={"C": 1.0}), find("L1LinearClassifier").implementation)


def test_what_is_no_learner_is_refused_by_name():
    for path, complaint in [
        ("sklearn.svm:NoSVC", "cannot be imported"),
        ("sklearn.decomposition:PCA", "neither a classifier nor a regressor"),
        ("sklearn.svm:l1_min_c", "not an estimator class"),
        ("sklearn.ensemble:VotingClassifier", "needs arguments"),
    ]:
        with pytest.raises(CatalogueError, match=complaint):
            learner_named(path)
