"""From the finished work of a journal to the findings: an answer to each question, and the first lines."""

from typing import TYPE_CHECKING

from fewer.study._errors import StudyError
from fewer.study.answers._findings import Findings
from fewer.study.answers._question import Finished
from fewer.study.answers._sentences import in_words
from fewer.study.files._journal import Journal
from fewer.study.model._final import FINAL
from fewer.study.plan._budget import BUDGET, BUDGET_OF_TESTS, REPEATS
from fewer.study.questions import question_named
from fewer.study.table._columns import COLUMNS
from fewer.study.work._null_test import TESTS, nulls_of
from fewer.study.work._predictions import predictions_frame
from fewer.study.work._run import folds_are_done

if TYPE_CHECKING:
    import polars as pl

    from fewer.study.plan._plan import Plan


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
    done = _finished(journal)
    plan = done.plan
    for name in plan.questions:
        question = question_named(name)
        for work in question.work(plan, done.scores, journal):
            if any(key not in journal for key in work.keys):
                raise _unfinished(journal)
        done.answers[name] = question.answer(done)
    return in_words(Findings(plan, done.answers, done.scores.winner.number, done.final["n_made"], journal.table))


def held_out_predictions(journal: Journal) -> "pl.DataFrame":
    """The held-out predictions of a study that has run to its end, from its journal.

    Parameters
    ----------
    journal : Journal
        With all the work of its plan.

    Returns
    -------
    predictions : polars.DataFrame
        For each row of each fold: the procedure (``winner``, ``all columns`` or ``baseline``), its candidate and number
        of columns there, repeat, fold and row (each from 1), truth, prediction, and the probability or decision value
        of each class where the learner gives them; of two classes, of the second.
    """
    done = _finished(journal)
    return predictions_frame(done.plan, done.scores, journal)


def _finished(journal: Journal) -> Finished:
    plan = journal.settled
    has_all = COLUMNS in journal and FINAL in journal and _is_decided(journal, plan)
    if journal.n_damaged or not has_all or not folds_are_done(journal, plan):
        raise _unfinished(journal)
    return Finished(plan, journal, journal.scores)


def _is_decided(journal: Journal, settled: "Plan") -> bool:
    """Whether the journal has the decisions on repeats, or on a time limit: all other work follows from them."""
    if journal.plan.budget is not None:
        tests = nulls_of(settled) and not TESTS.isdisjoint(settled.questions)
        return BUDGET in journal and (BUDGET_OF_TESTS in journal or not tests)
    return not settled.may_repeat or f"{REPEATS}/{settled.n_repeats}" in journal


def _unfinished(journal: Journal) -> StudyError:
    folder = journal.path.parent
    why = "has a damaged journal" if journal.n_damaged else "is not finished"
    return StudyError(f"The study in {folder} {why}; run `fewer resume {folder}` first.")
