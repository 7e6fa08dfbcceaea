"""The sentences of the cautions: what was seen and what to do, from the level, the topic and the evidence of each."""

import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fewer._wording import counted, listed, rounded_percent, two_digits
from fewer.catalogue import imputer_named
from fewer.study.plan._budget import budget_in_words

if TYPE_CHECKING:
    from fewer.study.plan._plan import Plan
    from fewer.study.questions.careful import Caution

Evidence = Mapping[str, Any]


def said(caution: "Caution", plan: "Plan") -> dict[str, str]:
    """The sentence of a caution, and the first line of a critical one."""
    found = _SENTENCES[caution.topic](caution.evidence, plan, caution.level)
    sentence, headline = found if isinstance(found, tuple) else (found, "")
    return {"sentence": sentence, "headline": headline if caution.level == "critical" else ""}


def _leakage(found: Evidence, plan: "Plan", level: str) -> Any:
    names = found["columns"]
    one = len(names) == 1
    it, is_known = ("it", "it is") if one else ("them", "they are")
    shown = f"{listed(names)} alone {'predicts' if one else 'predict'} the target almost perfectly"
    if level == "warning":
        return f"{shown}, and so do the other columns: the target is easy to predict."
    others = counted(len(names) - 1, "other column")
    more = "" if one else f", and so {'does' if len(names) == 2 else 'do'} {others}"
    return (
        f"{shown}. If {is_known} known only after the outcome, that is target leakage: all scores are too optimistic. "
        f"Drop {it} (--drop) and run the study again.",
        f"{names[0]} alone predicts the target almost perfectly ({found['measure']} {found['score']:.3f}){more}: check "
        f"whether {is_known} known before the outcome.",
    )


def _groups(found: Evidence, plan: "Plan", level: str) -> Any:
    scores = _both_ways(found, "grouped_score", "folds that keep its rows together")
    option = f"--groups {shlex.quote(found['column'])}"
    return (
        f"{found['column']} identifies {found['n_groups']:,} groups of similar rows: for {found['resemblance']:.0%} of "
        f"the rows the nearest row is in the same group ({found['chance']:.0%} by chance).{scores} If new rows come "
        f"from other groups, use {option}; dropping the column does not help.",
        _too_good(f"Rows of one {found['column']} are in different folds", scores, option),
    )


def _time(found: Evidence, plan: "Plan", level: str) -> Any:
    scores = _both_ways(found, "ordered_score", "earlier rows only")
    option = f"--time {shlex.quote(found['column'])}"
    return (
        f"{found['column']} orders the rows by time, but random folds predict rows from later ones.{scores} To "
        f"predict later rows from earlier ones, use {option}.",
        _too_good("Rows are predicted from later ones", scores, option),
    )


def _both_ways(found: Evidence, kept: str, how: str) -> str:
    """The scores of a quick model with random folds and with others, as a sentence."""
    if found["measure"] is None:
        return ""
    return (
        f" A quick model reaches {found['measure']} {found['plain_score']:.3f} with random folds, "
        f"{found[kept]:.3f} with {how}."
    )


def _too_good(why: str, scores: str, option: str = "") -> str:
    """The sentence for the first line."""
    cure = f"run the study again with {option}" if option else "remove the duplicates"
    shown = f" (a{scores[2:-1]})" if scores else ""
    return f"{why}, so scores are too optimistic{shown}: {cure}."


def _classes_left_out(found: Evidence, plan: "Plan", level: str) -> str:
    rare = found["classes"]
    n_rows = sum(n for _, n in rare)
    rows = "this row was" if n_rows == 1 else f"these {n_rows} rows were"
    return (
        f"{listed([f'{label} ({n})' for label, n in rare])}: too few rows to train and test on, so {rows} left out and "
        f"the {'class is' if len(rare) == 1 else 'classes are'} not predicted."
    )


def _imbalance(found: Evidence, plan: "Plan", level: str) -> str:
    share = found["rows"] / found["n_rows"]
    advice = (
        "Use balanced_accuracy, which weights all classes equally."
        if plan.scoring == "accuracy" and share < 0.5 / found["n_classes"]
        else "Results for this class depend on these few rows."
    )
    return f"The class {found['label']} has {found['rows']} of {found['n_rows']} rows ({share:.0%}). {advice}"


def _repeated_rows(found: Evidence, plan: "Plan", level: str) -> Any:
    scores = _both_ways(found, "grouped_score", "folds that keep equal rows together")
    repeat = "repeats an earlier one" if found["rows"] == 1 else "repeat earlier ones"
    count = f"{found['rows']:,} of {found['n_rows']:,} rows {repeat}"
    return (
        f"{count}. Copies of a row in training and test folds make scores too optimistic.{scores} Remove them, or "
        "keep them together with --groups.",
        _too_good(count, scores),
    )


def _missing_values(found: Evidence, plan: "Plan", level: str) -> str:
    filled = []
    if found["numbers"]:
        filled.append(f"numbers were imputed by {imputer_named(plan.impute).says}")
    if found["categories"]:
        filled.append("missing categories became a category of their own")
    return (
        f"{found['share']:.1%} of the cells are missing, in {counted(found['n_columns'], 'column')}; inside the folds, "
        f"{', '.join(filled)}."
    )


def _left_out(found: Evidence, plan: "Plan", level: str) -> str:
    columns = found["columns"]
    more = f", and {len(columns) - 5} more" if len(columns) > 5 else ""
    return f"Columns left out: {'; '.join(f'{name} ({why})' for name, why in columns[:5])}{more}."


def _hubs(found: Evidence, plan: "Plan", level: str) -> str:
    near = f"among the {found['neighbours']} nearest of"
    never = f"{rounded_percent(found['never_listed'])} of the rows are never {near} another row, and "
    return (
        f"Nearest neighbours are {'unreliable' if level == 'warning' else 'less reliable'} here with all columns: "
        f"{never if found['never_listed'] else ''}one row is {near} {found['most_listed']:,} others (skewness "
        f"{found['skewness']:.1f}). The intrinsic dimension of the rows is about {found['dimension']:.0f}. This "
        "affects kNN, clustering and imputation by neighbours; fewer columns often help."
    )


_SENTENCES: Mapping[str, Callable[[Evidence, "Plan", str], Any]] = {
    "target leakage": _leakage,
    "groups ignored": _groups,
    "time ignored": _time,
    "failure": lambda found, *_: f"The candidate {found['candidate']} could not be run: {found['reason']}",
    "few rows": lambda found, *_: (
        f"There are only {found['rows']} rows, so all results are rough: one row more or less in a fold changes them."
    ),
    "wide": lambda found, *_: (
        f"There are {found['columns'] / found['rows']:.0f} times as many columns as rows, so some columns fit by "
        "chance, and another sample would give a partly different list. Columns that are chosen in most folds are more "
        "reliable."
    ),
    "target": lambda found, plan, _: f"Target {plan.target}: {found['reason']}.",
    "classes left out": _classes_left_out,
    "imbalance": _imbalance,
    "repeated rows": _repeated_rows,
    "repeated columns": lambda found, *_: (
        f"{counted(found['n_groups'], 'group')} of (nearly) duplicate columns, such as "
        f"{listed(found['groups'][0], 3)}. Which column of a group is chosen is random."
    ),
    "missing values": _missing_values,
    "missing values depend on the target": lambda found, *_: (
        f"In {listed(found['columns'])}, values are missing more often for some values of the target than for others. "
        "That a value is missing may itself predict the target; imputation removes this information."
    ),
    "hubs": _hubs,
    "sampled rows": lambda found, *_: (
        f"Candidates were compared on samples of the rows: up to {found['training_rows']:,} training rows and "
        f"{found['test_rows']:,} test rows in each fold. The model is fitted on all rows."
    ),
    "left out": _left_out,
    "time limit": lambda found, plan, *_: budget_in_words(plan, found),
    "unstable": lambda found, *_: (
        f"The choice of columns is unstable (stability {two_digits(found['stability'])}, where 1 is identical in all "
        "folds): other rows would give a different list of about the same score."
    ),
    "weights": lambda found, *_: (
        f"Rows have the weights of {found['column']}, in the fits of all learners and in all scores"
        + (". " if found["without"] else ", and in the selection of columns.")
        + (f"Columns are ranked without them by {listed(found['without'])}." if found["without"] else "")
    ),
}
