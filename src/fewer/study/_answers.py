"""From the finished work of a journal to the findings: the answers and their sentences.

Which columns: those of the winner in their order, how often the folds chose them, and how far the folds agree. Then the
candidates side by side: their scores and their curves.
"""

from collections import Counter
from typing import Any

import numpy as np

from fewer._wording import (
    counted,
    interval_words,
    listed,
    metric_words,
    p_words,
    percent,
    rows_words,
    signed,
    two_digits,
)
from fewer.evaluate import corrected_interval, selection_stability
from fewer.study._cautions import CAUTIONS
from fewer.study._decision import POWER
from fewer.study._errors import StudyError
from fewer.study._final import FINAL
from fewer.study._findings import Answer, Caution, Column, Findings, Rival
from fewer.study._journal import Journal
from fewer.study._missing import MISSING
from fewer.study._plan import Parsimony, Plan
from fewer.study._predictions import prediction_works, which_rows
from fewer.study._run import ENOUGH, folds_are_done, nulls_of, observed_score, tested
from fewer.study._scores import AllScores, CandidateScores, read_scores
from fewer.study._verdict import first_lines, nothing_smaller
from fewer.study._work import Null

# Shares of the gain given up for fewer columns, for which the report shows score and columns.
_PARSIMONIES = (0.0, 0.03, 0.05, 0.1)
# So near to the best possible score, a test of a decrease has little room.
_LITTLE_ROOM = 0.05
_LEVELS = ("critical", "warning", "note")

_MOST_COLUMNS = 200
_UNSTABLE = 0.5
# Of new columns, how many of those that go into them are looked for again in every fold.
_FIRST = 10


def findings_of(journal: Journal) -> Findings:
    """The findings of a study that has run to its end, from its journal.

    Parameters
    ----------
    journal : Journal
        With all the work of its plan.

    Returns
    -------
    findings : Findings
        The answers.
    """
    plan = journal.plan
    if (
        journal.n_damaged
        or any(key not in journal for key in (FINAL, CAUTIONS, MISSING))
        or not folds_are_done(journal, plan)
    ):
        raise _unfinished(journal)
    final = journal[FINAL]
    scores = read_scores(journal, plan, final["test_ratio"], final["n_prepared"])
    predicted = prediction_works(plan, scores)
    if any(work.key not in journal for work in predicted):
        raise _unfinished(journal)
    metric = metric_words(plan.scoring)
    nulls = {null: _null_evidence(journal, plan, null) for null in ("labels", "features_within_class")}
    learnable = _learnable(plan, scores, nulls["labels"], metric)
    fewer_help = _fewer_help(plan, scores, metric)
    columns, which = chosen_columns(scores.ranker, final, plan)
    cautions = sorted(
        (
            *(Caution(**each) for each in journal[CAUTIONS]["cautions"]),
            *instability(which),
            *categories(plan, final),
        ),
        key=lambda each: _LEVELS.index(each.level),
    )
    verdict = first_lines(plan, scores, learnable, which, columns, final, cautions, metric)
    return Findings(
        headline=verdict[0],
        verdict=verdict,
        claims_benefit=learnable.verdict != "no" and fewer_help.verdict != "not shown",
        winner=scores.winner.number,
        n_made=final["n_made"],
        n_columns=final["n_prepared"],
        spreads=final["spreads"],
        made=final["made"],
        learnable=learnable,
        interacting=_interacting(plan, nulls["features_within_class"], metric, scores.simplest.best_possible),
        fewer_help=fewer_help,
        how_few=_how_few(plan, scores, final),
        which=which,
        wrong=which_rows(plan, [journal[work.key] for work in predicted]),
        compared=compared_with(scores, metric),
        columns=columns,
        rivals=rivals_of(scores),
        cautions=tuple(cautions),
        curve=size_curves(scores),
        nulls=nulls,
        missing=journal[MISSING],
        plan=plan.to_dict(),
    )


def _unfinished(journal: Journal) -> StudyError:
    folder = journal.path.parent
    why = "has a damaged journal" if journal.n_damaged else "is not finished"
    return StudyError(f"The study in {folder} {why}; run `fewer resume {folder}` first.")


def _null_evidence(journal: Journal, plan: Plan, null: Null) -> dict[str, Any]:
    if null not in nulls_of(plan):
        return {"observed": None, "scores": [], "p_value": None}
    found = tested(journal, plan, null)
    if found is None:
        raise _unfinished(journal)
    observed = observed_score(journal, null)
    p_value = (1 + sum(score >= observed for score in found)) / (1 + len(found))
    return {"observed": observed, "scores": found, "p_value": p_value}


def _p_of(plan: Plan, null: dict[str, Any]) -> str:
    """The p-value of a test, and why it took fewer permutations than the plan has."""
    done = len(null["scores"])
    p = p_words(null["p_value"], done)
    if done >= plan.n_permutations:
        return p
    return f"{p}; stopped after {done} of {plan.n_permutations} permutations, when {ENOUGH} or more had scored as high"


def _learnable(plan: Plan, scores: AllScores, null: dict[str, Any], metric: str) -> Answer:
    question = "Can the target be predicted?"
    score, baseline = float(scores.choice.fold_scores.mean()), scores.simplest.score
    how = (
        f"A permutation test. Its statistic is the cross-indexed {metric} of a reference procedure, which does not "
        "depend on the winner: the best of ridge, naive Bayes and nearest neighbours after a filter. It was computed "
        f"on this table and on up to {plan.n_permutations} tables with a shuffled target; p is the share of these "
        f"tables, this one included, that score at least as high as this one. The test stops early when {ENOUGH} of "
        "them do."
    )
    evidence = {"score": score, "simplest": baseline, "n_tables": len(null["scores"])}
    reached = f"cross-indexed {metric} {score:.3f} on held-out rows, {baseline:.3f} for the baseline"
    if null["p_value"] is None:
        return Answer(question, "not tested", f"Not tested: {reached}.", None, None, how, evidence)
    test = (
        f"The test statistic, the {metric} of a quick reference procedure, is {null['observed']:.3f} on this table and "
        f"{np.mean(null['scores']):.3f} on average with a shuffled target ({_p_of(plan, null)})."
    )
    verdict, word = ("yes", "Yes") if null["p_value"] <= plan.level else ("no", "Not shown")
    return Answer(question, verdict, f"{word}: {reached}. {test}", null["p_value"], None, how, evidence)


def _interacting(plan: Plan, null: dict[str, Any], metric: str, best_possible: float = np.inf) -> Answer:
    question = "Do columns interact?"
    how = (
        "The test is about dependence between columns within classes, the part of an interaction that a prediction can "
        "use. The test statistic, the score of the best of ridge and nearest neighbours after a filter, was computed "
        "on this table and on tables whose columns were shuffled within each class: each column still separates the "
        "classes as before, but columns are independent of each other within a class. p is the share of these tables, "
        f"this one included, that score at least as high as this one. The test stops early when {ENOUGH} of them do. "
        "Where columns separate the classes almost perfectly one by one, scores have no room to decrease, and the test "
        "cannot show an interaction."
    )
    if null["p_value"] is None:
        why = "the test needs classes" if not plan.classify else "the number of permutations is 0"
        return Answer(question, "not tested", f"Not tested: {why}.", None, None, how)
    mean = float(np.mean(null["scores"]))
    figures = (
        f"when columns are made independent within classes. The {metric} of a quick reference procedure is "
        f"{null['observed']:.3f} on this table and {mean:.3f} on average without dependence ({_p_of(plan, null)})."
    )
    if null["p_value"] <= plan.level:
        return Answer(question, "yes", f"Yes: scores decrease {figures}", null["p_value"], None, how)
    no_better = sum(score <= null["observed"] for score in null["scores"])
    if (1 + no_better) / (1 + len(null["scores"])) <= plan.level:
        sentence = f"No, columns are redundant: scores increase {figures}"
        return Answer(question, "no", sentence, null["p_value"], None, how)
    sentence = f"Not shown: scores do not decrease {figures}"
    if mean >= best_possible - _LITTLE_ROOM:
        sentence += f" So near to {best_possible:g}, the test has little room to show a decrease."
    return Answer(question, "not shown", sentence, null["p_value"], None, how)


def _fewer_help(plan: Plan, scores: AllScores, metric: str) -> Answer:
    claim = scores.claim
    with_fewer = float(scores.choice.fold_scores.mean())
    with_all = float(scores.fold_scores_with_everything.mean())
    margin_in_score = plan.margin * (with_all - scores.simplest.score)
    margin = f"margin of {margin_in_score:.3f} ({percent(plan.margin)} of the gain of all columns over the baseline)"
    with_what = "with fewer columns" if scores.winner.reduces else "with the choice of each fold"
    figures = (
        f"cross-indexed {metric} {with_fewer:.3f} {with_what}, {with_all:.3f} with the best learner on all: difference "
        f"{signed(claim.difference)} ({interval_words(claim.interval, plan.confidence, signed)})"
    )
    sentence = {
        "better": f"Yes, fewer columns are better: {figures}.",
        "not worse": f"Fewer columns are not worse by more than the {margin}: {figures}.",
        "not shown": f"Not shown: {figures}. {_rows_needed(plan, scores, margin)}",
    }[claim.outcome]
    how = (
        "Cross-indexing: for each fold, the combination of selection method, number of columns and learner was chosen "
        "on the other folds by the same rule as the final choice, and so was the learner with all columns. Better: the "
        "interval of the difference is above zero. Not worse: the interval of the difference plus the margin is above "
        f"zero; the margin is {percent(plan.margin)} of what all columns gain over the baseline, here "
        f"{margin_in_score:.3f} in {metric}. Intervals account for overlapping training sets; without variation over "
        "the folds there is no interval."
    )
    evidence = {
        "with_fewer": with_fewer,
        "with_all": with_all,
        "margin": plan.margin,
        "margin_in_score": margin_in_score,
        "above_margin": claim.above_margin,
        "above_margin_interval": claim.above_margin_interval,
        "rows_needed": claim.rows_needed,
        "by_candidate": {
            each.name: {"over_same_learner": each.indexed.benefit, "interval": each.indexed.interval}
            for each in scores.reduced
            if each.indexed is not None
        },
    }
    return Answer(
        "Does using fewer features help?", claim.outcome, sentence, claim.difference, claim.interval, how, evidence
    )


def _rows_needed(plan: Plan, scores: AllScores, margin: str) -> str:
    if not scores.winner.reduces:
        return f"All columns are kept: {nothing_smaller(plan)}."
    if scores.claim.rows_needed is None:
        return f"On average, fewer columns lose more than the {margin}; more rows alone would not change that."
    needed = rows_words(scores.claim.rows_needed, plan.n_rows)
    return (
        f"{needed[0].upper()}{needed[1:]} are needed to show a loss below the {margin} with {percent(POWER)} power, if "
        "the true difference is the observed one."
    )


def _parsimonies(plan: Plan) -> list[Parsimony]:
    """Those that the report shows: some shares, the plan's, and the rule of one standard error."""
    shares = {*_PARSIMONIES} if plan.parsimony == "one_se" else {*_PARSIMONIES, plan.parsimony}
    return [*sorted(shares), "one_se"]


def _how_few(plan: Plan, scores: AllScores, final: dict[str, Any]) -> Answer:
    chosen = scores.cells.sizes[scores.choice.by_fold]
    low, high = (float(value) for value in np.quantile(chosen, [0.1, 0.9]))
    folds = (
        f"In every fold, {chosen.min():,.0f} were chosen."
        if chosen.min() == chosen.max()
        else f"Depending on the fold, {chosen.min():,.0f} to {chosen.max():,.0f} were chosen."
    )
    n_made, size = final["n_made"], final["n_made"] or final["size"]
    chosen_of_table = f"{final['n_sources']:,} of {plan.n_columns:,}"
    number = f"{chosen_of_table} columns" if n_made is None else f"{size:,} new columns, made of all {plan.n_columns:,}"
    if n_made is None and final["n_prepared"] > plan.n_columns:
        number += f" ({size:,} of {final['n_prepared']:,} after one-hot encoding)"
    sentence = f"{number}. {folds}"
    within = (
        f"The fewest columns of any candidate that loses at most {percent(plan.parsimony)} (the parsimony) of the gain "
        "of the best over the baseline. The loss is the difference of the mean scores plus half a standard error, "
        "or one standard error if columns outnumber rows."
        if plan.parsimony != "one_se"
        else "The fewest columns of the candidate with the best mean score, within one standard error of it."
    )
    how = f"{within} The folds applied the same rule to the other folds."
    tried = {parsimony: scores.choice_at(parsimony) for parsimony in _parsimonies(plan)}
    evidence = {
        "by_fold": [float(each) for each in chosen.ravel()],
        "by_parsimony": [
            {
                "parsimony": parsimony,
                "size": int(scores.cells.sizes[choice.cell]),
                "score": float(choice.fold_scores.mean()),
                "candidate": plan.candidates[scores.cells.candidates[choice.cell]].name,
            }
            for parsimony, choice in tried.items()
        ],
    }
    return Answer("How few?", "yes", sentence, float(size), (low, high), how, evidence)


def chosen_columns(ranker: CandidateScores, final: dict[str, Any], plan: Plan) -> tuple[tuple[Column, ...], Answer]:
    """The best columns in order, and the answer to which ones."""
    size, n_made = final["size"], final["n_made"]
    everything = size >= final["n_prepared"]
    counted_first = size if n_made is None else min(_FIRST, size)
    times = Counter(name for order in ranker.orders for name in order[:counted_first])
    supports = [set(order[:size]) for order in ranker.orders]
    stability = {"value": None, "interval": None} if everything else _stability(supports, final["n_prepared"], plan)
    groups = {name: group for group in final["groups"] for name in group}
    columns = tuple(
        Column(
            rank=rank,
            name=each["name"],
            source=each["source"],
            importance=each["score"],
            frequency=1.0 if everything and n_made is None else times[each["name"]] / len(ranker.orders),
            chosen=rank <= size,
            effect=_effect(each, two_classes=plan.task == "binary"),
            effect_size=each.get("correlation", each.get("difference")) or 0.0,
            stands_in_for=tuple(name for name in groups.get(each["name"], []) if name != each["name"]),
        )
        for rank, each in enumerate(final["columns"][: max(size, _MOST_COLUMNS)], start=1)
    )
    sentence = _which_ones([column for column in columns if column.chosen], final, stability["value"])
    how = (
        f"Chosen by {ranker.name}, fitted on all rows. The frequency is the share of the {len(ranker.orders)} folds "
        "in which a column was among the chosen, from their training rows: a column can be chosen on all rows, but in "
        "no fold. Stability is Nogueira's index (1: identical in all folds, 0: random choice)."
    )
    if n_made is not None:
        how = (
            f"Made by {ranker.name}, fitted on all rows. A column's importance is the norm of its correlations with "
            f"the new columns; its frequency is the share of the {len(ranker.orders)} folds in which it was among the "
            f"first {counted_first}."
        )
    answer = Answer(
        "Which ones?", "yes", sentence, stability["value"], stability["interval"], how, {"stability": stability}
    )
    return columns, answer


def _which_ones(chosen: list[Column], final: dict[str, Any], stability: float | None) -> str:
    """Columns of the table; one of words counts by the category that was chosen most often."""
    frequency = {column.source: 0.0 for column in chosen}
    for column in chosen:
        frequency[column.source] = max(frequency[column.source], column.frequency)
    names = list(frequency)
    shown = listed(names, 5)
    if final["n_made"] is not None:
        new = counted(final["n_made"], "new column")
        return f"All {len(names):,} columns go into the {new}; most of {shown}."
    if final["size"] >= final["n_prepared"]:
        return f"All {len(names):,} columns; the first are {shown}."
    always = sum(share >= 0.8 for share in frequency.values())
    agreed = f" (stability {two_digits(stability)})." if stability is not None else "."
    were = "was" if always == 1 else "were"
    return f"{shown}. {always} of {len(names)} {were} chosen in at least 80% of the folds{agreed}"


def _stability(supports: list[set[str]], n_columns: int, plan: Plan) -> dict[str, Any]:
    """Nogueira's index of the columns that each fold chose; nothing where it is not defined."""
    place = {name: number for number, name in enumerate(sorted(set.union(*supports)))}
    width = max(n_columns, len(place))
    if len(supports) < 2 or any(len(support) >= width for support in supports):
        return {"value": None, "interval": None}
    found = selection_stability(
        [{place[name] for name in support} for support in supports], n_features=width, confidence_level=plan.confidence
    )
    interval = tuple(float(end) for end in found.interval)
    return {
        "value": float(found.value) if np.isfinite(found.value) else None,
        "interval": interval if np.isfinite(interval).all() else None,
    }


def _effect(column: dict[str, Any], *, two_classes: bool) -> str:
    if "correlation" in column:
        r = column["correlation"] or 0.0
        return "increases with the target" if r > 0 else "decreases with the target" if r < 0 else "flat"
    if two_classes:
        return f"higher in {column['highest_in']}"
    return f"highest in {column['highest_in']}, lowest in {column['lowest_in']}"


def instability(which: Answer) -> list[Caution]:
    """A caution where the folds agree poorly on the columns."""
    value = which.number
    if value is None or value >= _UNSTABLE:
        return []
    return [
        Caution(
            "warning",
            "unstable",
            f"The choice of columns is unstable (stability {two_digits(value)}, where 1 is identical in all folds): "
            "other rows would give a different list of about the same score.",
            {"stability": value},
        )
    ]


def categories(plan: Plan, final: dict[str, Any]) -> list[Caution]:
    """Why there are more columns to choose from than the table has."""
    if final["n_prepared"] <= plan.n_columns:
        return []
    return [
        Caution(
            "note",
            "categories",
            f"{plan.n_columns:,} columns of the table became {final['n_prepared']:,} by one-hot encoding: each "
            "category of a text column has a column of its own. Counts of chosen columns are columns of the table.",
            {"columns": plan.n_columns, "prepared": final["n_prepared"]},
        )
    ]


def rivals_of(scores: AllScores) -> tuple[Rival, ...]:
    """All candidates as they did, best first."""
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
                over_same_learner=None if indexed is None else indexed.benefit,
                over_same_learner_interval=None if indexed is None else indexed.interval,
                behind=float(behind.mean()),
                behind_interval=corrected_interval(behind, each.confidence, each.test_ratio),
            )
        )
    return tuple(sorted(found, key=lambda rival: -rival.score))


def compared_with(scores: AllScores, metric: str) -> Answer:
    """The winner beside the best learner with all columns, and the baseline."""
    simplest, best_all, winner = scores.simplest, scores.best_with_everything, scores.winner
    at_size = (
        f" with {counted(scores.size, 'new column' if winner.makes_columns else 'column')}" if winner.reduces else ""
    )
    reached = scores.choice.fold_scores
    fixed = scores.cells.scores[..., scores.choice.cell].mean()
    three = (
        f"{fixed:.3f} with this number of columns on every fold (fixed-size score), {winner.score:.3f} with the number "
        f"that scores best on the other folds (candidate score, {winner.indexed.size:.3g} columns on average), "
        if winner.indexed is not None
        else f"{winner.score:.3f} on its own (candidate score), "
    )
    sentence = (
        f"{_best_of(scores.n_ways)}: {winner.name}{at_size}. Its {metric} is {three}and {reached.mean():.3f} "
        "with everything chosen on the other folds (cross-indexed score). Candidate scores to compare with: "
        f"{best_all.score:.3f} for the best learner with all columns, {best_all.name.removeprefix('all features, ')}; "
        f"{simplest.score:.3f} for the baseline, {simplest.name}."
    )
    how = (
        "All candidates were scored on the same folds. The fixed-size score and the candidate score of the winner are "
        "optimistic, because the winner is the best of many. The cross-indexed score is not: for each fold, selection "
        "method, learner and number of columns are chosen on the other folds. It belongs to the whole procedure and is "
        "the score of the first line."
    )
    if scores.dropped:
        how += f" Clearly behind after three or more folds, and not scored further: {listed(scores.dropped, 10)}."
    low, high = corrected_interval(reached, winner.confidence, winner.test_ratio)
    interval = low, min(high, winner.best_possible)
    return Answer("Compared with what?", "yes", sentence, float(reached.mean()), interval, how)


def size_curves(scores: AllScores) -> dict[str, Any]:
    """Mean score and its standard error at each size: of the best candidate at each size, and of all that reduce."""

    def of(name: str, sizes: np.ndarray, table: np.ndarray) -> dict[str, Any]:
        flat = table.reshape(-1, len(sizes))
        error = flat.std(axis=0, ddof=1) * np.sqrt(1 / len(flat) + scores.test_ratio)
        return {
            "name": name,
            "sizes": [int(size) for size in sizes],
            "mean": flat.mean(axis=0).tolist(),
            "standard_error": error.tolist(),
        }

    cells = scores.cells
    means = cells.scores.mean(axis=(0, 1))
    sizes = np.unique(cells.sizes)
    best = np.array([max(np.flatnonzero(cells.sizes == size), key=lambda cell: means[cell]) for size in sizes])
    frontier = of("best candidate", sizes, cells.scores[..., best])
    names = {each.number: each.name for each in scores.candidates}
    frontier["candidates"] = [names[cells.candidates[cell]] for cell in best]
    curves = [of(each.name, each.sizes[each.choices], each.scores[..., each.choices]) for each in scores.reduced]
    return {
        "frontier": frontier,
        "candidates": curves,
        "chosen": {"size": scores.size, "mean": float(means[scores.choice.cell])},
        "simplest": scores.simplest.score,
    }


def _best_of(n_ways: int) -> str:
    return f"Chosen from {counted(n_ways, 'combination')} of selection method and learner"
