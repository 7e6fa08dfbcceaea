"""From scores to answers: what is said, and how it is worded."""

from collections import Counter
from typing import Any

import numpy as np

from fewer.evaluate import compare_methods, corrected_interval, selection_stability
from fewer.study._cautions import CAUTIONS
from fewer.study._errors import StudyError
from fewer.study._final import FINAL
from fewer.study._findings import Answer, Caution, Column, Findings, Rival
from fewer.study._journal import Journal
from fewer.study._plan import Plan
from fewer.study._run import null_scores, observed_score
from fewer.study._scores import AllScores, CandidateScores, read_scores
from fewer.study._work import Null

_MOST_COLUMNS = 200
_LONGEST_NAME = 40
_NO_PROOF = "That is no proof that there is nothing: more rows, or other columns, may still show something."
_NOT_A_FINDING = "What was chosen below is what the procedure does with any table, not something found in this one."
_METRIC_WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "r2": "R2",
    "roc_auc": "area under the ROC curve",
}


def compose(journal: Journal) -> Findings:
    """All findings, from the finished work of a journal."""
    plan = journal.plan
    if FINAL not in journal or CAUTIONS not in journal:
        raise StudyError(
            f"The study in {journal.path.parent} is not finished; run `fewer resume {journal.path.parent}` first."
        )
    final = journal[FINAL]
    scores = read_scores(journal, plan, final["test_ratio"], final["n_prepared"])
    metric = _METRIC_WORDS.get(plan.scoring, plan.scoring)
    nulls = {null: _null_evidence(journal, scores, null) for null in ("labels", "features_within_class")}
    learnable = _learnable(plan, scores, nulls["labels"], metric)
    interacting = _interacting(plan, nulls["features_within_class"])
    fewer_help = _fewer_help(plan, scores, final, metric)
    how_few = _how_few(scores.winner, final, metric)
    columns, which = _which(scores.winner, final, plan)
    rivals = _rivals(scores)
    comparison, compared = _compared(scores, rivals, metric, plan)
    headline, claims = _headline(plan, learnable, fewer_help, final, metric)
    cautions = (
        *(Caution(**each) for each in journal[CAUTIONS]["cautions"]),
        *_own_cautions(which),
        *_encoded(plan, final),
    )
    grave = next((each.sentence for each in cautions if each.level == "grave"), None)
    return Findings(
        headline=headline,
        verdict=(
            headline,
            _NO_PROOF if learnable.verdict == "no" else _in_short(which, how_few, columns, final),
            grave or (_NOT_A_FINDING if learnable.verdict == "no" else _chosen_by(scores, final)),
        ),
        claims_benefit=claims,
        winner=scores.winner.number,
        learnable=learnable,
        interacting=interacting,
        fewer_help=fewer_help,
        how_few=how_few,
        which=which,
        compared=compared,
        columns=columns,
        rivals=rivals,
        cautions=tuple(sorted(cautions, key=lambda each: ("grave", "mind", "note").index(each.level))),
        curve=_curve(scores),
        comparison=comparison,
        nulls=nulls,
        plan=plan.to_dict(),
    )


def _null_evidence(journal: Journal, scores: AllScores, null: Null) -> dict[str, Any]:
    found = null_scores(journal, null, scores.winner.number, scores.plan.n_permutations)
    observed = observed_score(scores, null)
    p_value = (1 + sum(score >= observed for score in found)) / (1 + len(found)) if found else None
    return {"observed": observed, "scores": found, "p_value": p_value}


def _p(p_value: float) -> str:
    return f"p = {p_value:.3f}" if p_value >= 0.001 else f"p = {p_value:.1e}"


def _signed(value: float) -> str:
    """With its sign, and nothing as +0.000."""
    return f"{round(value, 3) + 0.0:+.3f}"


def _two_digits(value: float) -> str:
    """Nothing as 0.00, whatever its sign."""
    return f"{round(value, 2) + 0.0:.2f}"


def _listed(names: list[str], most: int) -> str:
    """The first names, for a sentence: long ones cut, and how many more there are."""
    short = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names[:most]]
    more = len(names) - most
    return ", ".join(short) + (f" and {more:,} more" if more > 0 else "")


def _level(plan: Plan) -> float:
    return 1 - plan.confidence


def _learnable(plan: Plan, scores: AllScores, null: dict[str, Any], metric: str) -> Answer:
    question = "Is there anything to learn?"
    score, by_chance = float(scores.choice.mean()), scores.simplest.score
    how = (
        "The whole procedure (choosing columns, their number, and the way to choose them) was scored on held-out "
        f"rows, and the winner's procedure again on up to {plan.n_permutations} tables with a shuffled target. p is "
        "the share that did as well."
    )
    evidence = {"score": score, "simplest": by_chance, "n_tables": len(null["scores"])}
    if null["p_value"] is None:
        sentence = f"Not tested: {metric} {score:.3f}, and {by_chance:.3f} without looking at the features."
        return Answer(question, "not tested", sentence, None, None, how, evidence)
    if null["p_value"] <= _level(plan):
        sentence = (
            f"Yes: {metric} {score:.3f} on held-out rows, where a shuffled target gives {np.mean(null['scores']):.3f} "
            f"({_p(null['p_value'])})."
        )
        return Answer(question, "yes", sentence, null["p_value"], None, how, evidence)
    sentence = (
        f"Nothing that these methods can find: {metric} {score:.3f} on held-out rows, and a shuffled target gives "
        f"{np.mean(null['scores']):.3f} ({_p(null['p_value'])})."
    )
    return Answer(question, "no", sentence, null["p_value"], None, how, evidence)


def _interacting(plan: Plan, null: dict[str, Any]) -> Answer:
    question = "Do features work together?"
    how = (
        "The winner's procedure was scored again on tables whose columns were shuffled within each class: each column "
        "still tells the classes apart as before, but no two go together any more. p is the share of such tables that "
        "did as well."
    )
    if null["p_value"] is None:
        why = "the test is for classes" if not plan.classify else "no permutations were asked for"
        return Answer(question, "not tested", f"Not tested: {why}.", None, None, how)
    if null["p_value"] <= _level(plan):
        sentence = f"Yes: the winner uses how features go together within a class ({_p(null['p_value'])})."
        return Answer(question, "yes", sentence, null["p_value"], None, how)
    sentence = f"Not shown: the winner does as well when features are made independent ({_p(null['p_value'])})."
    return Answer(question, "not shown", sentence, null["p_value"], None, how)


def _fewer_help(plan: Plan, scores: AllScores, final: dict[str, Any], metric: str) -> Answer:
    differences = scores.choice - scores.choice_with_everything
    benefit = float(differences.mean())
    low, high = corrected_interval(differences, plan.confidence, scores.test_ratio)
    all_score = float(scores.choice_with_everything.mean())
    figures = f"{_signed(benefit)} in {metric} ({plan.confidence:.0%} interval {_signed(low)} to {_signed(high)})"
    base = f"{scores.choice.mean():.3f} with fewer features, {all_score:.3f} with all: {figures}."
    if low > 0:
        verdict, sentence = "yes", f"Yes: {base}"
    elif high < 0:
        verdict, sentence = "no", f"No, they cost something: {base}"
    else:
        verdict, sentence = "not shown", f"Not shown: {base}"
    how = (
        "Cross-indexing: on each fold, the way to choose columns and their number were decided on the other folds, "
        "and so was the learner to compare with that uses all features; so these scores differ a little from those of "
        "single candidates below. The interval accounts for training sets that overlap."
    )
    evidence = {
        "with_fewer": float(scores.choice.mean()),
        "with_all": all_score,
        "by_candidate": {
            each.name: {"benefit": each.indexed.benefit, "interval": each.indexed.interval}
            for each in scores.reduced
            if each.indexed is not None
        },
    }
    return Answer("Does using fewer features help?", verdict, sentence, benefit, (low, high), how, evidence)


def _how_few(winner: CandidateScores, final: dict[str, Any], metric: str) -> Answer:
    assert winner.indexed is not None
    chosen = np.atleast_2d(winner.indexed.fold_sizes)
    low, high = (float(value) for value in np.quantile(chosen, [0.1, 0.9]))
    spread = (
        f"Every fold chose {chosen.min():,.0f}."
        if chosen.min() == chosen.max()
        else f"The folds chose between {chosen.min():,.0f} and {chosen.max():,.0f}."
    )
    fewest, size = final["smallest_size"], final["size"]
    enough = f"; {fewest:,} {'is' if fewest == 1 else 'are'} still within one standard error of the best"
    sentence = f"{size:,} of {int(winner.sizes[-1]):,}{enough if fewest < size else ''}. {spread}"
    how = (
        "Each fold's size was the best on the other folds (cross-indexing); their mean, at the nearest size tried. The "
        "standard error is that of the difference to the best size on the same folds."
    )
    evidence = {"smallest": final["smallest_size"], "by_fold": [float(size) for size in chosen.ravel()]}
    return Answer("How few?", "yes", sentence, float(final["size"]), (low, high), how, evidence)


def _which(winner: CandidateScores, final: dict[str, Any], plan: Plan) -> tuple[tuple[Column, ...], Answer]:
    size = final["size"]
    times = Counter(name for order in winner.orders for name in order[:size])
    supports = [set(order[:size]) for order in winner.orders]
    universe = sorted(set.union(*supports, {each["name"] for each in final["columns"]}))
    stability = _stability(supports, universe, final["n_prepared"], plan)
    groups = {name: group for group in final["groups"] for name in group}
    columns = tuple(
        Column(
            rank=rank,
            name=each["name"],
            score=each["score"],
            frequency=times[each["name"]] / len(winner.orders),
            chosen=rank <= size,
            effect=_effect(each, two_classes=plan.task == "binary"),
            effect_size=each.get("correlation", each.get("difference")) or 0.0,
            stands_in_for=tuple(name for name in groups.get(each["name"], []) if name != each["name"]),
        )
        for rank, each in enumerate(final["columns"][: max(size, _MOST_COLUMNS)], start=1)
    )
    names = [column.name for column in columns if column.chosen]
    shown = _listed(names, 5)
    always = sum(column.frequency >= 0.8 for column in columns if column.chosen)
    if size >= final["n_prepared"]:
        sentence = f"All {size:,} columns; first come {shown}."
    else:
        sentence = f"{shown}. {always} of {len(names)} were chosen in at least 80% of the folds" + (
            f" (stability {_two_digits(stability['value'])})." if stability["value"] is not None else "."
        )
    how = (
        f"Chosen by {winner.name}, fitted on all rows. The frequency is the share of the {len(winner.orders)} folds "
        "in which a column was among the chosen; stability is Nogueira's index (1: always the same columns, 0: chance)."
    )
    answer = Answer(
        "Which ones?", "yes", sentence, stability["value"], stability["interval"], how, {"stability": stability}
    )
    return columns, answer


def _stability(supports: list[set[str]], universe: list[str], n_columns: int, plan: Plan) -> dict[str, Any]:
    place = {name: number for number, name in enumerate(universe)}
    width = max(n_columns, len(universe))
    if len(supports) < 2 or any(len(support) >= width for support in supports):
        return {"value": None, "interval": None}
    found = selection_stability(
        [{place[name] for name in support} for support in supports], n_features=width, alpha=_level(plan)
    )
    interval = tuple(float(end) for end in found.interval)
    return {
        "value": float(found.value) if np.isfinite(found.value) else None,
        "interval": interval if np.isfinite(interval).all() else None,
    }


def _effect(column: dict[str, Any], *, two_classes: bool) -> str:
    if "correlation" in column:
        r = column["correlation"] or 0.0
        return "rises with the target" if r > 0 else "falls with the target" if r < 0 else "flat"
    if two_classes:
        return f"higher in {column['highest_in']}"
    return f"highest in {column['highest_in']}, lowest in {column['lowest_in']}"


def _in_short(which: Answer, how_few: Answer, columns: tuple[Column, ...], final: dict[str, Any]) -> str:
    """Which columns and how few, in one sentence for the top of the page."""
    names = [column.name for column in columns if column.chosen]
    first = _listed(names[:4], 4)
    shown = f"First come {first}" if len(names) > 4 else f"{'They are' if len(names) > 1 else 'It is'} {first}"
    smallest = how_few.evidence["smallest"]
    enough = f"; the first {smallest:,} nearly suffice" if smallest < len(names) else ""
    agree = ""
    if len(names) < final["n_prepared"] and which.number is not None:
        agree = f"; the folds agree on the list {_degree(which.number)} (stability {_two_digits(which.number)} of 1)"
    return f"{shown}{enough}{agree}."


def _chosen_by(scores: AllScores, final: dict[str, Any]) -> str:
    """What chose the columns. Scores of single candidates stay below: near the honest one they only confuse."""
    reducer, _, learner = scores.winner.name.rpartition(", ")
    done = "chosen" if final["size"] < final["n_prepared"] else "put in order"
    n_ways = len(scores.reduced)
    best = f", the best of {n_ways} ways to reduce" if n_ways > 1 else ""
    return f"Columns were {done} by {reducer} with {learner}{best}."


def _degree(stability: float) -> str:
    return "well" if stability >= 0.75 else "in part" if stability >= 0.4 else "poorly"


def _rivals(scores: AllScores) -> tuple[Rival, ...]:
    best = scores.winner.fold_scores
    found = []
    for each in scores.candidates:
        behind = best - each.fold_scores
        indexed = each.indexed
        found.append(
            Rival(
                name=each.name,
                score=each.score,
                interval=each.interval,
                size=None if indexed is None else indexed.size,
                benefit=None if indexed is None else indexed.benefit,
                benefit_interval=None if indexed is None else indexed.interval,
                behind=float(behind.mean()),
                behind_interval=corrected_interval(behind, each.confidence, each.test_ratio),
            )
        )
    return tuple(sorted(found, key=lambda rival: -rival.score))


def _compared(scores: AllScores, rivals: tuple[Rival, ...], metric: str, plan: Plan) -> tuple[dict[str, Any], Answer]:
    # The folds of one repeat share no held-out row; more repeats would count the same rows again.
    table = np.column_stack([each.fold_scores[0] for each in scores.candidates])
    names = [each.name for each in scores.candidates]
    comparison = compare_methods(table, methods=names, alpha=_level(plan))
    difference = float(comparison.critical_difference)
    as_data = {
        "methods": names,
        "mean_ranks": [float(rank) for rank in comparison.mean_ranks],
        "critical_difference": difference if np.isfinite(difference) else None,
        "cliques": [list(clique) for clique in comparison.cliques],
        "p_value": float(comparison.p_value) if np.isfinite(comparison.p_value) else None,
        "n_folds": plan.n_folds,
    }
    simplest = scores.simplest
    best_all = scores.best_with_everything
    sentence = (
        f"Best of {len(scores.reduced)} ways to reduce: {scores.winner.name} ({metric} {scores.winner.score:.3f}); "
        f"best with all features: {best_all.name.removeprefix('all features, ')} ({best_all.score:.3f}); "
        f"{simplest.name}: {simplest.score:.3f}."
    )
    how = (
        "Every candidate was scored on the same folds. The winner's own score is a little too good, because it was "
        "picked for it; the score in the first line is not, because there the winner was picked anew on the other "
        "folds. Ranks are compared over the folds of the first repeat (Friedman, Nemenyi), because more repeats hold "
        "out the same rows again."
    )
    return as_data, Answer("Compared with what?", "yes", sentence, scores.winner.score, scores.winner.interval, how)


def _headline(
    plan: Plan, learnable: Answer, fewer_help: Answer, final: dict[str, Any], metric: str
) -> tuple[str, bool]:
    """The first line, and whether it says that fewer features help. Its scores are the only ones at the top."""
    size, n_columns = final["size"], final["n_prepared"]
    reached, with_all = fewer_help.evidence["with_fewer"], fewer_help.evidence["with_all"]
    if learnable.verdict == "no":
        return (
            f"There is no sign that {plan.target} can be predicted from these {plan.n_columns:,} columns: {metric} "
            f"{reached:.3f}, no better than with a shuffled target ({_p(learnable.number or 1.0)}).",
            False,
        )
    assert fewer_help.interval is not None
    low, high = fewer_help.interval
    if size >= n_columns:
        return f"Keep all features: the best number of columns is all {n_columns:,} ({metric} {with_all:.3f}).", False
    apart = f"{plan.confidence:.0%} interval of the difference {_signed(low)} to {_signed(high)}"
    if low == high == 0:
        apart = "no difference on any fold"
    scores_of_both = (
        f"{size:,} of {n_columns:,} columns {'reaches' if size == 1 else 'reach'} {metric} {reached:.3f}, all of them "
        f"{with_all:.3f} ({apart})."
    )
    if fewer_help.verdict == "yes":
        return f"Fewer features help: {scores_of_both}", True
    if fewer_help.verdict == "no":
        return f"Keep all features: {scores_of_both}", False
    # As well is what differs by less than half of what the features give at all.
    gained = max(reached, with_all) - learnable.evidence["simplest"]
    alike = max(abs(low), abs(high)) <= gained / 2
    says = "Fewer features do about as well" if alike else "Too few rows to tell whether fewer features help"
    return f"{says}: {scores_of_both}", False


def _own_cautions(which: Answer) -> list[Caution]:
    value = which.number
    if value is None or value >= 0.5:
        return []
    return [
        Caution(
            "mind",
            "unstable",
            f"The choice of columns is unstable (stability {_two_digits(value)} of 1): other rows would give a rather "
            "different list that does about as well. Read it as one good list among many.",
            {"stability": value},
        )
    ]


def _encoded(plan: Plan, final: dict[str, Any]) -> list[Caution]:
    """Why there are more columns to choose from than the table has."""
    if final["n_prepared"] <= plan.n_columns:
        return []
    return [
        Caution(
            "note",
            "categories",
            f"{plan.n_columns:,} columns of the table became {final['n_prepared']:,} to choose from: each category "
            "of a column of words has one of its own.",
            {"columns": plan.n_columns, "prepared": final["n_prepared"]},
        )
    ]


def _curve(scores: AllScores) -> dict[str, Any]:
    def of(each: CandidateScores) -> dict[str, Any]:
        flat = each.scores.reshape(-1, len(each.sizes))
        error = flat.std(axis=0, ddof=1) * np.sqrt(1 / len(flat) + each.test_ratio)
        return {
            "name": each.name,
            "sizes": [int(size) for size in each.sizes],
            "mean": flat.mean(axis=0).tolist(),
            "standard_error": error.tolist(),
        }

    return {
        "winner": of(scores.winner),
        "others": [of(each) for each in scores.reduced if each is not scores.winner],
        "with_everything": scores.best_with_everything.score,
        "simplest": scores.simplest.score,
    }
