"""The sentences of the findings, made here and nowhere else: from typed answers, when all questions are answered.

Terminal, report and JSON share them. Each question has a function from the findings and its answer to its sentences.
Those of the cautions and of the first lines are in the modules beside this one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
from fewer.catalogue import imputer_named
from fewer.study.answers import _caution_sentences
from fewer.study.answers._decision import CLOSE_ERRORS, ERROR_SHARE, POINTS, POWER
from fewer.study.answers._first_lines import CLOSE, DRIFT, first_lines, nothing_smaller, target_drifts
from fewer.study.answers._question import Answer, Verdict
from fewer.study.answers._scores import best_possible
from fewer.study.plan._plan import RARE_SHARE, Plan
from fewer.study.questions import importance as of_importance
from fewer.study.questions import missing as of_missing
from fewer.study.questions import question_named
from fewer.study.questions.interacting import p_of_increase
from fewer.study.work._null_test import enough
from fewer.study.work._predictions import MOST_RIVALS

if TYPE_CHECKING:
    from fewer.study.answers._findings import Findings

Said = dict[str, Any]

# So close to the best possible score, a test of a decrease has little room.
_LITTLE_ROOM = 0.05
_MOST_EDGES = 3
_MOST_GROUPS = 3


def in_words(findings: "Findings") -> "Findings":
    """The findings with the sentences of each answer, and the first lines."""
    answers = {}
    for name, answer in findings.answers.items():
        question = question_named(name)
        words = question.words or WORDS.get(name)
        said = words(findings, answer) if words is not None else {}
        answers[name] = replace(answer, question=question.title, **said)
    return first_lines(replace(findings, answers=answers))


def _not_tested(answer: Answer) -> Said:
    return {"sentence": f"Not tested: {answer.reason.rstrip('.')}."} if answer.reason else {}


def _p_of(plan: Plan, null: Mapping[str, Any]) -> str:
    """The p-value of a test, and why it took fewer permutations than the plan has."""
    done = len(null["scores"])
    p = p_words(null["p_value"], done)
    if done >= plan.n_permutations:
        return p
    hits = enough(plan)
    return f"{p}; stopped after {done} of {plan.n_permutations} permutations, when {hits} or more had scored as high"


def _learnable(findings: "Findings", answer: Any) -> Said:
    plan, metric, null = findings.plan, findings.metric, answer.nulls["labels"]
    shuffled = f"shuffled rows of all columns but {listed(plan.always)}" if plan.always else "a shuffled target"
    reference = "ridge and naive Bayes" if plan.classify else "ridge"
    if plan.weights is None:
        reference = "ridge, naive Bayes and nearest neighbours" if plan.classify else "ridge and nearest neighbours"
    how = (
        f"A permutation test. Its statistic is the cross-indexed {metric} of a reference procedure, which does not "
        f"depend on the winner: the best of {reference} after a filter. It was computed on this "
        f"table and on up to {plan.n_permutations} tables with {shuffled}; p is the share of these tables, this one "
        f"included, that score at least as high as this one. The test stops early when {enough(plan)} of them do, "
        "which does not change the verdict."
    )
    score, baseline = answer.evidence["score"], answer.evidence["baseline"]
    reached = f"cross-indexed {metric} {score:.3f} on held-out rows, {baseline:.3f} for the baseline"
    if answer.verdict == Verdict.NOT_TESTED:
        reason = answer.reason.rstrip(".") or "the number of permutations is 0"
        return {
            "sentence": f"Not tested: {reason}. {reached[0].upper()}{reached[1:]}.",
            "how": how if plan.n_permutations else "",
        }
    word = "Yes" if answer.verdict == Verdict.YES else "Not shown"
    test = (
        f"The test statistic, the {metric} of a quick reference procedure, is {null['observed']:.3f} on this table and "
        f"{np.mean(null['scores']):.3f} on average with {shuffled} ({_p_of(plan, null)})."
    )
    if answer.verdict == Verdict.NO and target_drifts(plan, null["scores"], baseline):
        test += f" {DRIFT}"
    return {"sentence": f"{word}: {reached}. {test}", "how": how}


def _interacting(findings: "Findings", answer: Any) -> Said:
    plan, null = findings.plan, answer.nulls["features_within_class"]
    reference = "the best of ridge and nearest neighbours" if plan.weights is None else "ridge"
    how = (
        "The test is about dependence between columns within classes, the part of an interaction that a prediction can "
        f"use. The test statistic, the score of {reference} after a filter, was computed "
        "on this table and on tables whose columns were shuffled within each class: each column still separates the "
        "classes as before, but columns are independent of each other within a class. p is the share of these tables, "
        f"this one included, that score at least as high as this one. The test stops early when {enough(plan)} of them "
        "do, which does not change the verdict. Where columns separate the classes almost perfectly one by one, scores "
        "have no room to decrease, and the test cannot show an interaction."
    )
    if answer.verdict == Verdict.NOT_TESTED:
        return _not_tested(answer) | {"how": how}
    mean, best = float(np.mean(null["scores"])), best_possible(plan.scoring)
    found = {
        Verdict.YES: "Yes: scores decrease",
        Verdict.NO: "No, columns are redundant: scores increase",
        Verdict.NOT_SHOWN: "Not shown: scores do not decrease",
    }[answer.verdict]
    p = _p_of(plan, null)
    if answer.verdict == Verdict.NO:
        p = f"for an increase, {p_words(p_of_increase(null), len(null['scores']))}"
    sentence = (
        f"{found} when columns are made independent within classes. The {findings.metric} of a quick reference "
        f"procedure is {null['observed']:.3f} on this table and {mean:.3f} on average without dependence ({p})."
    )
    if answer.verdict == Verdict.NOT_SHOWN and mean >= best - _LITTLE_ROOM:
        sentence += f" With a score so close to {best:g}, the test has little room to show a decrease."
    return {"sentence": sentence, "how": how}


def _fewer_help(findings: "Findings", answer: Answer) -> Said:
    plan, metric, found = findings.plan, findings.metric, answer.evidence
    margin = f"margin of {found['margin_in_score']:.3f} ({percent(plan.margin)} of the gain of all columns over the "
    margin += "baseline)"
    with_what = "with the choice of each fold" if found["keeps_all"] else "with fewer columns"
    figures = (
        f"cross-indexed {metric} {found['with_fewer']:.3f} {with_what}, {found['with_all']:.3f} with the best learner "
        f"on all: difference {signed(answer.number or 0.0)} "
        f"({interval_words(answer.interval or (0.0, 0.0), plan.confidence, signed)})"
    )
    sentence = {
        Verdict.BETTER: f"Yes, fewer columns are better: {figures}.",
        Verdict.NOT_WORSE: f"Fewer columns are not worse by more than the {margin}: {figures}.",
    }.get(answer.verdict, f"Not shown: {figures}. {_rows_needed(plan, found, margin)}")
    if found["is_close"]:
        sentence += f" {CLOSE}"
    how = (
        "Cross-indexing: for each fold, the combination of selection method, number of columns and learner was chosen "
        "on the other folds by the same rule as the final choice, and so was the learner with all columns. Better: the "
        "interval of the difference is above zero. Not worse: the interval of the difference plus the margin is above "
        f"zero; the margin is {percent(plan.margin)} of what all columns gain over the baseline, here "
        f"{found['margin_in_score']:.3f} in {metric}. Intervals account for overlapping training sets; without "
        "variation over the folds there is no interval."
    )
    if plan.max_repeats is not None:
        drawn = "once" if plan.n_repeats == 1 else f"{plan.n_repeats} times"
        how += (
            f" Folds were drawn {drawn}: they are drawn again, up to {plan.max_repeats} times, while a limit that "
            f"decides is near zero, above or below: within {CLOSE_ERRORS} standard errors over draws of the folds."
        )
    return {"sentence": sentence, "how": how}


def _rows_needed(plan: Plan, found: Mapping[str, Any], margin: str) -> str:
    if found["keeps_all"]:
        return f"All columns are kept: {nothing_smaller(plan)}."
    if found["margin_in_score"] <= 0:
        return "All columns gain nothing over the baseline, so there is no gain to keep a share of."
    if found["rows_needed"] is None:
        return f"On average, fewer columns lose more than the {margin}; more rows alone would not change that."
    needed = rows_words(found["rows_needed"], plan.n_rows)
    return (
        f"{needed[0].upper()}{needed[1:]} would be needed to show that fewer columns are not worse by more than the "
        f"{margin} (non-inferiority) with {percent(POWER)} power, if the true difference is the observed one."
    )


def _how_few(findings: "Findings", answer: Any) -> Said:
    plan, found, size = findings.plan, answer.evidence, int(answer.number)
    low, high = min(found["by_fold"]), max(found["by_fold"])
    units = "new columns" if findings.n_made is not None else f"{findings.unit}s"
    folds = (
        f"In every fold, {counted(round(low), units.removesuffix('s'))} {'was' if low == 1 else 'were'} chosen."
        if low == high
        else f"Depending on the fold, {low:,.0f} to {high:,.0f} {units} were chosen."
    )
    number = f"{found['n_sources']:,} of {plan.n_columns:,} columns"
    if findings.n_made is not None:
        number = f"{size:,} new columns, made of all {plan.n_columns:,}"
    elif plan.column_groups:
        number += f" ({size:,} of {findings.n_columns:,} groups)"
    if plan.always:
        number += f", with {listed(plan.always)}, which {'is' if len(plan.always) == 1 else 'are'} always in"
    within = "The fewest columns of the candidate with the best mean score, within one standard error of it."
    if plan.parsimony != "one_se":
        highest, more = best_possible(plan.scoring), ""
        of_error, of_all = percent(ERROR_SHARE * plan.parsimony), plan.parsimony / POINTS
        if highest == 1:
            more = f", by at most {of_error} of what it lacks to 1, and by at most {of_all:.3g}"
        elif highest == 0:
            more = f", by at most {of_error} of what it lacks to 0, and by at most {percent(of_all)} of the baseline"
        within = (
            "The fewest columns of any candidate whose mean score is below the best one by at most "
            f"{percent(plan.parsimony)} (the parsimony) of its gain over the baseline{more}."
        )
    return {"sentence": f"{number}. {folds}", "how": f"{within} The folds applied the same rule to the other folds."}


def _which(findings: "Findings", answer: Any) -> Said:
    """The chosen columns, or groups of them, and how many of them most folds chose."""
    found, n_made = answer.evidence, findings.n_made
    chosen = [column for column in answer.columns if column.chosen]
    frequency = {column.name: column.frequency for column in chosen}
    shown = listed(list(frequency), 5)
    if n_made is not None:
        sentence = f"All {len(frequency):,} columns go into the {counted(n_made, 'new column')}; most of {shown}."
        how = (
            f"Made by {found['ranker']}, fitted on all rows. A column's importance is the norm of its correlations "
            f"with the new columns; its frequency is the share of the {found['n_folds']} folds in which it was among "
            f"the first {found['n_counted']}."
        )
        return {"sentence": sentence, "how": how}
    how = (
        f"Chosen by {found['ranker']}, fitted on all rows. The same method was fitted to the training rows of the "
        f"{found['n_folds']} folds, with the same number of columns: the frequency is the share of the folds in which "
        "it chose a column. A column can be chosen on all rows, but in no fold. Stability is Nogueira's index (1: "
        "identical in all folds, 0: random choice)."
    )
    if len(chosen) >= findings.n_columns:
        return {"sentence": f"All {len(frequency):,} columns; the first are {shown}.", "how": how}
    always = sum(share >= 0.8 for share in frequency.values())
    agreed = f" (stability {two_digits(answer.number)})." if answer.number is not None else "."
    were = "was" if always == 1 else "were"
    sentence = f"{shown}. {always} of {len(frequency)} {were} chosen in at least 80% of the folds{agreed}"
    return {"sentence": sentence, "how": how}


def _compared(findings: "Findings", answer: Any) -> Said:
    found, metric = answer.evidence, findings.metric
    name = ", ".join(label for label in found["labels"] if label)
    among = f"{counted(found['n_ways'], 'combination')} of selection method and learner"
    if found["mean_size"] is None:
        among = f"{found['n_ways'] + found['n_with_all']} candidates"
    at_size, scores = "", f"{found['candidate_score']:.3f} on its own (candidate score), "
    if found["mean_size"] is not None:
        new = "new column" if findings.plan.candidates[findings.winner].makes_columns else findings.unit
        at_size = f" with {counted(found['size'], new)}"
        mean = f"{found['mean_size']:,.{0 if found['mean_size'] >= 100 else 1}f}".removesuffix(".0")
        scores = (
            f"{found['fixed_size_score']:.3f} with this number of {new}s on every fold (fixed-size score), "
            f"{found['candidate_score']:.3f} with the number that scores best on the other folds (candidate score, "
            f"{mean} {new}{'s' * (mean != '1')} on average), "
        )
    sentence = (
        f"Chosen from {among}: {name}{at_size}. Its "
        f"{metric} is {scores}and {answer.number:.3f} with everything chosen on the other folds (cross-indexed score). "
        f"Candidate scores to compare with: {found['with_all']['score']:.3f} for the best learner with all columns, "
        f"{found['with_all']['name']}; {found['baseline']['score']:.3f} for the baseline, {found['baseline']['name']}."
    )
    if found["dropped"]:
        sentence += f" Stopped early, because clearly worse after three or more folds: {_named(found['dropped'], 3)}."
    how = (
        "All candidates were scored on the same folds. The fixed-size score and the candidate score of the winner are "
        "optimistic, because the winner is the best of many. The cross-indexed score is not: for each fold, selection "
        "method, learner and number of columns are chosen on the other folds. It belongs to the whole procedure and is "
        "the score of the first line."
    )
    if findings.plan.races:
        such = f", such as {_named(found['dropped'], 10)}" if found["dropped"] else ""
        how += (
            " Candidates and numbers of columns that were clearly worse after three or more folds were stopped early: "
            f"they are missing from curves and tables{such}."
        )
    return {"sentence": sentence, "how": how}


def _named(candidates: Sequence[str], most: int) -> str:
    """The first candidates; their names have commas."""
    more = f" and {len(candidates) - most} more" if len(candidates) > most else ""
    return "; ".join(candidates[:most]) + more


def _wrong(findings: "Findings", answer: Answer) -> Said:
    if answer.verdict == Verdict.NOT_TESTED:
        return _not_tested(answer)
    found, n_repeats = answer.evidence, findings.plan.n_repeats
    how = (
        "Predictions for held-out rows on the folds of the first repeat. As for the cross-indexed score, which is the "
        "mean over all repeats, each fold is predicted with the selection method, learner and number of columns chosen "
        "on the other folds. To find rows that are hard for every model, the winner and up to "
        f"{MOST_RIVALS} other candidates predicted them, too."
    )
    if "confusion" not in found:
        named = listed([str(each["row"]) for each in found["largest"][:3]], 3)
        sentence = (
            f"The absolute error is at most {answer.number:.4g} for half of the rows and at most "
            f"{found['nine_tenths']:.4g} for 90%. The largest errors are in rows {named} (the first row is 1)."
        )
        return {"sentence": sentence, "how": how}
    n_wrong, n_always, n_others = int(answer.number or 0), found["n_always_wrong"], found["n_others"]
    worst = min((each for each in found["per_class"] if each["rows"]), key=lambda each: each["recall"])
    everyone = "the winner" if n_others == 1 else f"all {n_others} candidates compared, the winner included"
    always = f"; {n_always or 'none':{',' if n_always else ''}} of them by {everyone}" if n_others else ""
    n_rows = counted(sum(each["rows"] for each in found["per_class"]), "held-out row")
    where = f" in the first of {n_repeats} repeats" if n_repeats > 1 else ""
    sentence = (
        f"{n_wrong:,} of {n_rows} {'is' if n_wrong == 1 else 'are'} predicted incorrectly{where}{always}. Lowest "
        f"recall: class {worst['label']}, {worst['recall']:.2f} ({counted(worst['rows'], 'row')})."
        if n_wrong
        else f"None{where}: all {n_rows} are predicted correctly."
    )
    return {"sentence": sentence, "how": how}


def _dependence(findings: "Findings", answer: Answer) -> Said:
    if answer.verdict == Verdict.NOT_TESTED:
        return _not_tested(answer)
    found, groups, n_stable = answer.evidence, answer.evidence["groups"], int(answer.number or 0)
    n_nodes, threshold = len(found["columns"]), f"{found['threshold']:.0%}"
    which = f"the {n_nodes} columns" if n_nodes == found["n_chosen"] else f"{n_nodes} of {found['n_chosen']:,} columns"
    often = f"in at least {threshold} of {2 * found['n_pairs']} random halves of the rows"
    sentence = f"Not shown: no pair of {which} has a non-zero partial correlation {often}."
    if n_stable:
        edges = found["edges"][: min(n_stable, _MOST_EDGES)]
        first = ", ".join(f"{edge['from']} and {edge['to']} ({signed(edge['weight'])})" for edge in edges)
        more = f", and {n_stable - len(edges)} more" if n_stable > len(edges) else ""
        sentence = (
            f"{n_stable} of {counted(n_nodes * (n_nodes - 1) // 2, 'pair')} of {which} "
            f"{'has' if n_stable == 1 else 'have'} a non-zero partial correlation {often}: {first}{more}."
        )
    if groups:
        sentence += f" Nearly duplicate: {'; '.join(listed(group, 5) for group in groups[:3])}."
    bound = ""
    if n_stable:
        bound = (
            f"The bound of stability selection: at most {found['expected_false']:.2g} of these pairs are false on "
            "average. "
            if found["expected_false"] < n_stable
            else "The error bound of stability selection exceeds the number of these pairs and is not informative. "
        )
    tied = " Rows of one group are not independent: the shares are too large."
    how = (
        f"Computed on {found['n_rows']:,} rows, held-out rows included: it describes the chosen columns and says "
        "nothing about prediction. Numbers in brackets are partial correlations: what is left of the rank correlation "
        "of two columns when the other columns of the graph are held fixed. They are shrunken by the penalty of a "
        "sparse precision matrix, which the extended BIC chose. The same was done on "
        f"{2 * found['n_pairs']} random halves of the rows. {bound}Columns that differ between classes or follow the "
        "target may depend on each other for that reason alone."
        f"{tied if findings.plan.splitting == 'grouped' else ''}"
    )
    return {"sentence": sentence, "how": how}


def _cost(findings: "Findings", answer: Answer) -> Said:
    if answer.verdict == Verdict.NOT_TESTED:
        return _not_tested(answer)
    found, plan = answer.evidence, findings.plan
    few, positive = found["fewer"], found["positive"]
    said = {Verdict.BETTER: "Fewer columns cost less", Verdict.NO: "Fewer columns cost more"}.get(
        answer.verdict, "No significant difference between fewer and all columns"
    )
    interval = interval_words(found["difference_interval"], plan.confidence, signed)
    sentence = (
        f"With {found['fn']:g} for a row of class {positive} that is missed and {found['fp']:g} for another "
        f"that is predicted {positive}, a held-out row costs {few['cost']:.3g} on average if the {few['share']:.0%} "
        f"of the rows with the highest score are predicted {positive} (recall {few['recall']:.2f}, false positive "
        f"rate {few['false_positive_rate']:.2f}); {found['all']['cost']:.3g} with all columns, "
        f"{found['constant']:.3g} with the same decision for every row. "
        f"{said}: difference {signed(found['difference'])} ({interval})."
    )
    how = (
        f"A row of class {positive}, the class that sorts last, that is not predicted so costs {found['fn']:g}; any "
        f"other row that is costs {found['fp']:g}. The share of rows to predict so was chosen for each fold on the "
        "other folds, as were the candidate and the number of columns, so no row has a say in what decides about it. "
        "The share in the first sentence is that of all held-out rows."
    )
    return {"sentence": sentence, "how": how}


def _importance(findings: "Findings", answer: Answer) -> Said:
    if answer.verdict == Verdict.NOT_TESTED:
        return _not_tested(answer)
    found, metric, columns = answer.evidence, findings.metric, answer.evidence["columns"]
    sure = [each["name"] for each in columns if each["interval"][0] > 0]
    first = columns[0]
    first_of = "the first " if found["n_chosen"] > len(columns) else ""
    vote = "No selection method ranked columns on all folds, so there is no vote."
    if found["voted"]:
        n_first = found["n_first"]
        names = listed([each["name"] for each in found["voted"][:n_first]], 5)
        agreed = (
            f"{found['n_agreed']} of these are among the first {n_first} of the winner"
            if n_first > 1
            else f"the winner ranks {'it' if found['n_agreed'] else 'another one'} first{', too' * found['n_agreed']}"
        )
        vote = f"By mean rank over {counted(found['n_methods'], 'selection method')}: {names}; {agreed}."
    sentence = (
        f"Permutation importance on held-out rows is above zero, with its interval, for {len(sure)} of "
        f"{first_of}{counted(len(columns), findings.unit)}{': ' + listed(sure, 5) if sure else ''}. The largest is "
        f"{first['importance']:.3f}, the decrease of the {metric} when {first['name']} is permuted "
        f"({interval_words(first['interval'], findings.plan.confidence, signed)}).{_redundant(found)} {vote}"
    )
    how = (
        "Permutation importance: the winner with the final number of columns is fitted on the training rows of each "
        "fold, of the first repeats until there are 10; each column is then permuted among the held-out rows "
        f"({of_importance.N_PERMUTATIONS} times on small folds), and the decrease of the {metric} is its importance, "
        "zero where the fold does not choose the column. Intervals are over the folds, account for overlapping "
        "training sets, and hold for one column at a time. A "
        "column that others can replace has little importance, however much it is associated with the target. So "
        "columns of a redundancy group (correlations of 0.9 or more) are also permuted together, and each on its own "
        "given the others: its residuals from a linear regression on them are permuted (conditional importance). The "
        "vote: every selection method that was scored on all folds ranks the columns on the training rows of every "
        "fold; the list is in the order of the mean rank."
    )
    return {"sentence": sentence, "how": how}


def _redundant(found: Mapping[str, Any]) -> str:
    """The first redundancy groups: what they are worth together, and each column given the others."""
    said = []
    given = {each["name"]: each["conditional"] for each in found["columns"] if "conditional" in each}
    for group in found["groups"][:_MOST_GROUPS]:
        largest = max(given.get(name, 0.0) for name in group["columns"])
        names = listed(group["columns"], 3)
        said.append(f"{names} by {group['importance']:.3f}, each by {largest:.3f} at most given the others")
    return f" Nearly duplicate columns lower it together: {'; '.join(said)}." if said else ""


def _predictions(findings: "Findings", answer: Answer) -> Said:
    if answer.verdict == Verdict.NOT_TESTED:
        return _not_tested(answer)
    found = answer.evidence
    sentence = " ".join(_metric_in_words(each, findings.plan) for each in found["metrics"])
    if "calibration" in found:
        sentence += f" {_calibration_in_words(found['calibration'], found['calibrated'])}"
    how = (
        "Held-out rows of all folds and repeats, predicted with the selection method, learner and number of columns "
        "chosen on the other folds; with all columns, likewise with the learner chosen there. Metrics and curves are "
        "means over the folds; intervals account for overlapping training sets. predictions.parquet has every "
        "prediction. Calibrated probabilities are those that `fewer apply` gives: a sigmoid for each class turns the "
        "decision function of the final model into a probability; here, on each fold, with sigmoids fitted to held-out "
        "rows of the other folds."
    )
    return {"sentence": sentence, "how": how, "evidence": found | {"why": _why(findings.plan, found["classes"])}}


def _calibration_in_words(raw: Mapping[str, Any], calibrated: Mapping[str, Any]) -> str:
    if calibrated:
        before = f", {raw['error']:.3f} before calibration" if raw else ""
        return (
            f"Expected calibration error {calibrated['error']:.3f}{before}; log loss {calibrated['log_loss']:.3f}, "
            f"{calibrated['log_loss_of_shares']:.3f} if class frequencies are predicted."
        )
    if not raw:
        return "Calibration is not shown: the chosen learners give no probabilities."
    return f"Expected calibration error {raw['error']:.3f}."


def _metric_in_words(metric: Mapping[str, Any], plan: Plan) -> str:
    says = metric_words(metric["metric"])
    said = says if "_" in says else says[0].upper() + says[1:]
    if metric["winner"]["mean"] is None:
        return f"{said} is not defined on some fold: a class is missing there, or the learner gives no probabilities."
    others = [
        f"{metric[name]['mean']:.3f} {words}"
        for name, words in (("all columns", "with all columns"), ("baseline", "for the baseline"))
        if metric[name]["mean"] is not None
    ]
    interval = interval_words(metric["winner"]["interval"], plan.confidence, lambda value: f"{value:.3f}")
    return f"{said} {metric['winner']['mean']:.3f} ({interval}){'; ' if others else ''}{', '.join(others)}."


def _why(plan: Plan, classes: Mapping[str, int]) -> str:
    """Why classes are scored as they are by default, with the figures of this table."""
    if plan.scoring not in ("accuracy", "balanced_accuracy"):
        return ""
    n, most, rarest = (
        sum(classes.values()),
        max(classes, key=classes.__getitem__),
        min(classes, key=classes.__getitem__),
    )
    always = (
        f"always predicting {most}, the most frequent class, has an accuracy of {classes[most] / n:.3f} and a balanced "
        f"accuracy of {1 / len(classes):.3f}"
    )
    share = classes[rarest] / n * len(classes)
    rare = f"a class has less than {percent(RARE_SHARE)} of an equal share of the rows"
    if plan.scoring == "accuracy":
        return f"Accuracy is the default unless {rare}; here, {rarest} has {share:.0%}, and {always}."
    hides = f", so that accuracy would hide the errors on {rarest}" if share < RARE_SHARE else ""
    return (
        f"Balanced accuracy, the mean recall of the classes, is the default where {rare}; here, {rarest} has "
        f"{share:.0%}, and {always}{hides}."
    )


def _missing(findings: "Findings", answer: Answer) -> Said:
    found = answer.evidence
    if not found:
        return {}
    filled = found["filled"]
    judged = (
        f"To judge the imputation, {filled[0]['n_hidden']:,} known entries were hidden, {filled[0]['n_repeats']} "
        f"times, and compared with the imputed values; for a large table, on up to {of_missing.ROWS:,} rows and "
        f"{of_missing.COLUMNS} columns. Entries were hidden at random: if values are missing because of their own "
        "size, the error cannot be estimated from the table. "
        if filled
        else ""
    )
    how = (
        f"{found['n_complete_rows']:,} rows are complete; {found['n_patterns']:,} different patterns of missing values "
        f"occur. {judged}In the study itself, missing values are imputed inside the folds, from the training rows"
        + (", but for learners that take them as they are and get all columns." if found.get("not_imputed") else ".")
    )
    not_imputed = [_without_imputing(each, findings) for each in found.get("not_imputed", ())]
    share = f"{found['share']:.1%} of the entries of numeric columns are missing"
    columns = f"in {found['n_columns']:,} of {found['n_numeric']:,} columns"
    return {"sentence": " ".join([f"{share}, {columns}.", _imputed(filled), *not_imputed]), "how": how}


def _without_imputing(found: Mapping[str, Any], findings: "Findings") -> str:
    """A learner that takes missing values as they are, against imputing first."""
    low, high = found["imputed"]["interval"]
    compared = "better" if low > 0 else "worse" if high < 0 else "not clearly different"
    interval = interval_words((low, high), findings.plan.confidence, lambda value: f"{value:+.3f}")
    said = (
        f"The {findings.metric} of {found['learner']} with all columns is {found['score']:.3f} without imputation and "
        f"{found['imputed']['score']:.3f} behind the imputer, so that not imputing is {compared} "
        f"({found['imputed']['gain']:+.3f}, {interval})"
    )
    other = found["other"]
    return said + (f"; the best other learner, {other['learner']}, has {other['score']:.3f}." if other else ".")


def _imputed(filled: list[dict[str, Any]]) -> str:
    """How well missing values can be imputed."""
    if not filled:
        return "There are too few known entries to judge how well they can be imputed."
    used, others = filled[0], filled[-1]
    low, high = others["gain_interval"]
    if not low > 0:
        return "The other columns do not predict them better than the mean of the column."
    says = imputer_named(others["imputer"]).says
    advice = "" if used is others else f": try --impute {others['imputer']}"
    gain = f"{others['gain']:.0%} ({low:.0%} to {high:.0%})"
    return f"Imputing them by {says} reduces the error of column means at known entries by {gain}{advice}."


def _careful(findings: "Findings", answer: Any) -> Said:
    cautions = tuple(replace(each, **_caution_sentences.said(each, findings.plan)) for each in answer.cautions)
    return {"cautions": cautions, "sentence": cautions[0].sentence if cautions else "No problems were found."}


WORDS: Mapping[str, Callable[["Findings", Any], Said]] = {
    "learnable": _learnable,
    "interacting": _interacting,
    "fewer_help": _fewer_help,
    "how_few": _how_few,
    "which": _which,
    "dependence": _dependence,
    "importance": _importance,
    "wrong": _wrong,
    "cost": _cost,
    "predictions": _predictions,
    "compared": _compared,
    "careful": _careful,
    "missing": _missing,
}
