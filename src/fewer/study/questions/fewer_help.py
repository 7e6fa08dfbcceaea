"""Does using fewer features help? The rule against the best learner with all columns, cross-indexed."""

from fewer._wording import interval_words, percent, rows_words, signed
from fewer.study._decision import POWER
from fewer.study._plan import Plan
from fewer.study._question import Answer, Finished, Question, Verdict
from fewer.study._scores import AllScores
from fewer.study._verdict import nothing_smaller

TITLE = "Does using fewer features help?"


def answer(done: Finished) -> Answer:
    """The claim about fewer columns."""
    return answered(done.plan, done.scores, done.metric)


def answered(plan: Plan, scores: AllScores, metric: str) -> Answer:
    """The answer from the scores of all candidates."""
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
    return Answer(TITLE, Verdict(claim.outcome), sentence, claim.difference, claim.interval, how, evidence)


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


QUESTION = Question("fewer_help", TITLE, answer, place=30)
