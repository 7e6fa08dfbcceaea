"""The columns that were chosen: how often, standing in for what, and told how."""

from types import SimpleNamespace

import pytest

from fewer.study._answers import chosen_columns, instability

PLAN = SimpleNamespace(task="binary", confidence=0.95)


def final_of(size, names, n_made=None, n_prepared=40, groups=()):
    columns = [
        {"name": name, "source": name, "score": 1.0, "highest_in": "ill", "lowest_in": "well", "difference": 2}
        for name in names
    ]
    return {"size": size, "n_made": n_made, "n_prepared": n_prepared, "groups": list(groups), "columns": columns}


def winner(*orders):
    return SimpleNamespace(name="anova, ridge", orders=[tuple(order) for order in orders])


def test_a_column_counts_in_the_folds_that_have_it_among_as_many_as_were_kept():
    columns, answer = chosen_columns(
        winner("abc", "acb", "abd", "bca"), final_of(2, "abcd", groups=[["a", "copy"], ["d", "c"]]), PLAN
    )
    assert [column.frequency for column in columns] == [0.75, 0.75, 0.5, 0.0]
    assert [column.chosen for column in columns] == [True, True, False, False]
    assert [column.rank for column in columns] == [1, 2, 3, 4]
    assert [column.stands_in_for for column in columns] == [("copy",), (), ("d",), ("c",)]
    assert columns[0].effect == "higher in ill"
    assert columns[0].effect_size == 2
    assert answer.sentence.startswith("a, b. 0 of 2 were chosen in at least 80% of the folds (stability ")
    assert 0 < answer.number < 1


def test_all_columns_are_in_every_fold_and_have_no_stability():
    columns, answer = chosen_columns(winner("ab", "a"), final_of(2, "ab", n_prepared=2), PLAN)
    assert [column.frequency for column in columns] == [1.0, 1.0]
    assert answer.number is None
    assert answer.sentence == "All 2 columns; the first are a, b."


def test_of_what_goes_into_new_columns_the_first_ten_are_looked_for_in_every_fold():
    names = [f"x{place}" for place in range(12)]
    columns, answer = chosen_columns(winner(names, names), final_of(12, names, n_made=2, n_prepared=12), PLAN)
    assert [column.frequency for column in columns] == [1.0] * 10 + [0.0] * 2
    assert answer.sentence == "All 12 columns go into the 2 new columns; most of x0, x1, x2, x3, x4 and 7 more."
    assert answer.how.endswith("it was among the first 10.")


@pytest.mark.parametrize(("size", "n_shown"), [(3, 200), (205, 205)])
def test_the_list_ends_after_200_columns_or_what_was_chosen(size, n_shown):
    names = [f"x{place}" for place in range(220)]
    columns, _ = chosen_columns(winner(names, names), final_of(size, names, n_prepared=300), PLAN)
    assert len(columns) == n_shown
    assert sum(column.chosen for column in columns) == size


def test_a_list_is_called_unstable_below_a_half():
    told = [bool(instability(SimpleNamespace(number=value))) for value in (None, 0.5, 0.49)]
    assert told == [False, False, True]
