"""Does using fewer features help? The rule against the best learner with all columns, cross-indexed."""

from fewer.study.answers._question import Answer, Finished, Question, Verdict
from fewer.study.answers._scores import AllScores
from fewer.study.plan._plan import Plan

TITLE = "Does using fewer features help?"


def answer(done: Finished) -> Answer:
    """The claim about fewer columns."""
    return answered(done.plan, done.scores)


def answered(plan: Plan, scores: AllScores) -> Answer:
    """The answer from the scores of all candidates."""
    claim = scores.claim
    with_all = float(scores.fold_scores_with_everything.mean())
    evidence = {
        "with_fewer": float(scores.choice.fold_scores.mean()),
        "with_all": with_all,
        "margin": plan.margin,
        "margin_in_score": plan.margin * (with_all - scores.baseline.score),
        "above_margin": claim.above_margin,
        "above_margin_interval": claim.above_margin_interval,
        "rows_needed": claim.rows_needed,
        "is_close": claim.is_close,
        "keeps_all": not scores.winner.reduces,
        "by_candidate": {
            each.name: {"over_same_learner": each.indexed.benefit, "interval": each.indexed.interval}
            for each in scores.reduced
            if each.indexed is not None
        },
    }
    return Answer(Verdict(claim.outcome), claim.difference, claim.interval, evidence)


QUESTION = Question("fewer_help", TITLE, answer, place=30)
