"""From the finished work of a journal to the findings: what is said, and how it is worded."""

from typing import Any

import numpy as np

from fewer.evaluate import corrected_interval
from fewer.study._cautions import CAUTIONS
from fewer.study._columns import categories, chosen_columns, instability
from fewer.study._compared import compared_with, rivals_of, size_curves
from fewer.study._errors import StudyError
from fewer.study._final import FINAL
from fewer.study._findings import Answer, Caution, Findings
from fewer.study._holes import HOLES
from fewer.study._journal import Journal
from fewer.study._plan import Plan
from fewer.study._run import observed_score, tested
from fewer.study._scores import AllScores, CandidateScores, read_scores
from fewer.study._verdict import NO_PROOF, NOT_A_FINDING, chosen_by, headline_of, in_short
from fewer.study._wording import metric_words, p_words, signed
from fewer.study._work import FoldWork, Null


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
    folds = [
        FoldWork(candidate, repeat, fold).key
        for candidate in range(len(plan.candidates))
        for repeat in range(plan.n_repeats)
        for fold in range(plan.n_folds)
    ]
    if journal.n_damaged or any(key not in journal for key in (*folds, FINAL, CAUTIONS, HOLES)):
        raise _unfinished(journal)
    final = journal[FINAL]
    scores = read_scores(journal, plan, final["test_ratio"], final["n_prepared"])
    metric = metric_words(plan.scoring)
    nulls = {null: _null_evidence(journal, scores, null) for null in ("labels", "features_within_class")}
    learnable = _learnable(plan, scores, nulls["labels"], metric)
    interacting = _interacting(plan, nulls["features_within_class"])
    fewer_help = _fewer_help(plan, scores, metric)
    how_few = _how_few(scores.winner, final)
    columns, which = chosen_columns(scores.winner, final, plan)
    comparison, compared = compared_with(scores, metric, plan)
    headline, claims = headline_of(plan, learnable, fewer_help, final, metric)
    cautions = (
        *(Caution(**each) for each in journal[CAUTIONS]["cautions"]),
        *instability(which),
        *categories(plan, final),
    )
    critical = next((each.sentence for each in cautions if each.level == "critical"), None)
    return Findings(
        headline=headline,
        verdict=(
            headline,
            NO_PROOF if learnable.verdict == "no" else in_short(which, how_few, columns, final),
            critical or (NOT_A_FINDING if learnable.verdict == "no" else chosen_by(scores, final)),
        ),
        claims_benefit=claims,
        winner=scores.winner.number,
        n_made=final["n_made"],
        made=final["made"],
        learnable=learnable,
        interacting=interacting,
        fewer_help=fewer_help,
        how_few=how_few,
        which=which,
        compared=compared,
        columns=columns,
        rivals=rivals_of(scores),
        cautions=tuple(sorted(cautions, key=lambda each: ("critical", "warning", "note").index(each.level))),
        curve=size_curves(scores),
        comparison=comparison,
        nulls=nulls,
        holes=journal[HOLES],
        plan=plan.to_dict(),
    )


def _unfinished(journal: Journal) -> StudyError:
    folder = journal.path.parent
    why = "has a damaged journal" if journal.n_damaged else "is not finished"
    return StudyError(f"The study in {folder} {why}; run `fewer resume {folder}` first.")


def _null_evidence(journal: Journal, scores: AllScores, null: Null) -> dict[str, Any]:
    asked = null == "labels" or scores.plan.classify
    found = tested(journal, scores, null) if asked else []
    if found is None:
        raise _unfinished(journal)
    observed = observed_score(scores, null)
    p_value = (1 + sum(score >= observed for score in found)) / (1 + len(found)) if found else None
    return {"observed": observed, "scores": found, "p_value": p_value}


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
    if null["p_value"] <= plan.level:
        sentence = (
            f"Yes: {metric} {score:.3f} on held-out rows, where a shuffled target gives {np.mean(null['scores']):.3f} "
            f"({p_words(null['p_value'])})."
        )
        return Answer(question, "yes", sentence, null["p_value"], None, how, evidence)
    sentence = (
        f"Nothing that these methods can find: {metric} {score:.3f} on held-out rows, and a shuffled target gives "
        f"{np.mean(null['scores']):.3f} ({p_words(null['p_value'])})."
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
    if null["p_value"] <= plan.level:
        sentence = f"Yes: the winner uses how features go together within a class ({p_words(null['p_value'])})."
        return Answer(question, "yes", sentence, null["p_value"], None, how)
    sentence = f"Not shown: the winner does as well when features are made independent ({p_words(null['p_value'])})."
    return Answer(question, "not shown", sentence, null["p_value"], None, how)


def _fewer_help(plan: Plan, scores: AllScores, metric: str) -> Answer:
    differences = scores.choice - scores.choice_with_everything
    benefit = float(differences.mean())
    low, high = corrected_interval(differences, plan.confidence, scores.test_ratio)
    all_score = float(scores.choice_with_everything.mean())
    figures = f"{signed(benefit)} in {metric} ({plan.confidence:.0%} interval {signed(low)} to {signed(high)})"
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


def _how_few(winner: CandidateScores, final: dict[str, Any]) -> Answer:
    assert winner.indexed is not None
    chosen = np.atleast_2d(winner.indexed.fold_sizes)
    low, high = (float(value) for value in np.quantile(chosen, [0.1, 0.9]))
    spread = (
        f"Every fold chose {chosen.min():,.0f}."
        if chosen.min() == chosen.max()
        else f"The folds chose between {chosen.min():,.0f} and {chosen.max():,.0f}."
    )
    n_made, fewest, size = final["n_made"], final["smallest_size"], final["n_made"] or final["size"]
    enough = f"; {fewest:,} {'is' if fewest == 1 else 'are'} still within one standard error of the best"
    all_columns = f"{int(winner.sizes[-1]):,}"
    number = f"{size:,} of {all_columns}" if n_made is None else f"{size:,} new, made of all {all_columns}"
    sentence = f"{number}{enough if fewest < size else ''}. {spread}"
    how = (
        "Each fold's size was the best on the other folds (cross-indexing); their mean, at the nearest size tried. The "
        "standard error is that of the difference to the best size on the same folds."
    )
    evidence = {"smallest": final["smallest_size"], "by_fold": [float(size) for size in chosen.ravel()]}
    return Answer("How few?", "yes", sentence, float(size), (low, high), how, evidence)
