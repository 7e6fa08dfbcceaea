"""The first lines of the findings: the three most urgent of those that the questions contribute."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fewer._wording import counted, interval_words, listed, p_words, percent, rows_words, signed, two_digits
from fewer.study.answers import _caution_sentences
from fewer.study.answers._decision import POWER
from fewer.study.answers._question import Answer, Lead, Verdict
from fewer.study.questions import question_named

if TYPE_CHECKING:
    from fewer.study.answers._findings import Findings
    from fewer.study.plan._plan import Plan

_N_LINES = 3
NO_PROOF = "This does not prove that there is no signal: more rows or other columns may show one."
DRIFT = (
    "The target changes over time, but shuffled targets do not, so the test can hardly show anything here. A target "
    "that does not drift, such as the change from one row to the next, can be tested."
)
CROSS_INDEXED = (
    "Scores in these lines are those of the whole procedure, not of these columns alone. They are cross-indexed, which "
    "is similar to nested cross-validation: for each fold, selection method, learner and number of columns are chosen "
    "on the other folds."
)
CLOSE = "The outcome is close: with other folds of the same rows (another seed) it may be different."
NOT_A_FINDING = "The columns below are what the procedure returns for any table; they are not a finding."


def first_lines(findings: "Findings") -> "Findings":
    """The findings with their most urgent lines, which the questions contribute, and the notes of all of them."""
    leads = []
    for name, answer in findings.answers.items():
        of_question = question_named(name).lead or LEADS.get(name)
        lead = of_question(findings, answer) if of_question is not None else None
        if lead is not None:
            leads.append((name, lead))
    notes = [lead.note for _, lead in leads if lead.note]
    leads.sort(key=lambda each: each[1].urgency)
    lines = [(line, name) for name, lead in leads for line in lead.lines][:_N_LINES]
    if not lines:
        return findings
    sentences = [sentence for sentence, _ in lines]
    sentences[-1] = " ".join([sentences[-1], *notes])
    return replace(
        findings,
        headline=sentences[0],
        verdict=tuple(sentences),
        verdict_of=tuple(name for _, name in lines),
        moods=tuple(lead.mood for _, lead in leads),
    )


def _critical(findings: "Findings", answer: Any) -> Lead:
    """A critical caution comes first, its scores once; a note on a target of whole numbers comes last."""
    critical = next((each for each in answer.cautions if each.headline), None)
    note = " ".join(each.sentence for each in answer.cautions if each.topic == "target")
    if critical is None:
        return Lead(100, (), "", note)
    advice = critical.sentence
    if "measure" in critical.evidence:
        without_scores = replace(critical, evidence={**critical.evidence, "measure": None})
        advice = _caution_sentences.said(without_scores, findings.plan)["sentence"]
    return Lead(0, (critical.headline, advice), "critical", note)


def _no_sign(findings: "Findings", answer: Any) -> Lead | None:
    if answer.verdict != Verdict.NO:
        return None
    plan, evidence = findings.plan, answer.evidence
    p = p_words(answer.number or 1.0, evidence["n_tables"])
    drifts = target_drifts(plan, findings.nulls.get("labels", {}).get("scores", []), evidence["baseline"])
    found = "It is not shown" if drifts else "There is no sign"
    headline = (
        f"{found} that {plan.target} can be predicted {better_by(plan)}: "
        f"{findings.metric} {evidence['score']:.3f}, baseline {evidence['baseline']:.3f} ({p})."
    )
    return Lead(10, (headline, DRIFT if drifts else NO_PROOF, NOT_A_FINDING), "nothing")


def target_drifts(plan: "Plan", shuffled: Sequence[float], baseline: float) -> bool:
    """Whether the target changes so much over time that its baseline scores less than the test on shuffled targets."""
    return plan.splitting == "in order of time" and len(shuffled) > 0 and baseline < sum(shuffled) / len(shuffled)


def better_by(plan: "Plan") -> str:
    """What the permutation test asks: by any column, or better than by those that are always in."""
    if plan.always:
        return f"better than by {listed(plan.always)} alone"
    return f"from these {plan.n_columns:,} columns"


def _claim(findings: "Findings", answer: Answer) -> Lead:
    """The claim about fewer columns, with the cross-indexed scores."""
    mood = "" if answer.verdict == Verdict.NOT_SHOWN else "gain"
    always = findings.plan.always
    note = f" The baseline is ridge with {listed(always)} alone; all subsets contain these." if always else ""
    note += f" {CLOSE}" if answer.evidence["is_close"] and findings.learnable.verdict != Verdict.NO else ""
    return Lead(20, (headline_of(findings, answer),), mood, CROSS_INDEXED + note)


def headline_of(findings: "Findings", answer: Answer) -> str:
    """The claim about fewer columns in one line."""
    plan, metric, found, n_made = findings.plan, findings.metric, answer.evidence, findings.n_made
    how_few = findings.how_few
    reached, with_all, interval = found["with_fewer"], found["with_all"], answer.interval or (0.0, 0.0)
    size = how_few.evidence["n_sources"]
    if n_made is None and how_few.number >= findings.n_columns:
        return f"Keep all {plan.n_columns:,} features: {nothing_smaller(plan)} ({metric} {reached:.3f})."
    apart = interval_words(interval, plan.confidence, signed, of=" of the difference")
    if interval == (0, 0):
        apart = "no difference on any fold"
    few = counted(n_made, "new column") if n_made is not None else f"{size:,} of {plan.n_columns:,} columns"
    everything = f"all {plan.n_columns:,} columns" if n_made is not None else "all columns"
    both = (
        f"{few} {'reaches' if (n_made or size) == 1 else 'reach'} {metric} {reached:.3f}, {everything} {with_all:.3f} "
        f"({apart})"
    )
    in_score = found["margin_in_score"]
    margin = f"margin of {percent(plan.margin)}" + (f" ({in_score:.3f} in {metric})" if in_score > 0 else "")
    if answer.verdict == Verdict.BETTER:
        return f"Fewer features help: {both}."
    if answer.verdict == Verdict.NOT_WORSE:
        return f"Fewer features do as well, within a {margin}: {both}."
    if found["rows_needed"] is None and (found["above_margin_interval"][1] >= 0 or in_score <= 0):
        return f"It is not shown that fewer features do as well: {both}."
    if found["rows_needed"] is None:
        return f"Fewer features lose more than the {margin}: {both}."
    needed = (
        f"{rows_words(found['rows_needed'], plan.n_rows)} would be needed ({percent(POWER)} power at this difference)"
    )
    if (answer.number or 0) > 0:
        return f"Fewer features score higher, but the rows are too few to show that they do as well: {both}; {needed}."
    return f"Too few rows to show that fewer features do as well: {both}; {needed}."


def nothing_smaller(plan: "Plan") -> str:
    """Why all columns are kept."""
    if plan.parsimony == 0:
        return "no smaller number scores as well"
    if plan.parsimony == "one_se":
        return "no smaller number is within one standard error of the best score"
    return "no smaller number scores nearly as well"


def _in_short(findings: "Findings", answer: Any) -> Lead:
    """Which columns, and how far the folds agree on them, in one sentence for the top of the page."""
    names = [column.name for column in answer.columns if column.chosen]
    first, n_made = listed(names[:4], 4), findings.n_made
    if n_made is not None:
        which = "The new column is" if n_made == 1 else f"The {n_made} new columns are"
        return Lead(30, (f"{which} made mostly of {first}, and need{'s' * (n_made == 1)} all columns.",))
    unit = findings.unit
    shown = (
        f"The top-ranked {unit}s are {first}"
        if len(names) > 4
        else f"The {unit}{'s are' if len(names) > 1 else ' is'} {first}"
    )
    agree = ""
    if answer.number is not None:
        stability = f"stability {two_digits(answer.number)}; 1 is perfect"
        agree = f"; the folds agree {_degree(answer.number)} on the {unit}s ({stability})"
    return Lead(30, (f"{shown}{agree}.",))


def _degree(stability: float) -> str:
    return "well" if stability >= 0.75 else "only partly" if stability >= 0.4 else "poorly"


def _chosen_by(findings: "Findings", answer: Any) -> Lead:
    """What chose the columns. Scores of single candidates stay below: near the honest one they only confuse."""
    found = answer.evidence
    (reducer, learner), n_ways = found["labels"], found["n_ways"]
    if found["mean_size"] is None:
        n_candidates = n_ways + found["n_with_all"]
        return Lead(40, (f"The model is {learner} with all columns, chosen from {n_candidates} candidates.",))
    done = "chosen" if findings.n_made is None else "combined"
    best = f", from {n_ways} combinations of selection method and learner" if n_ways > 1 else ""
    return Lead(40, (f"Columns were {done} by {reducer} with {learner}{best}.",))


LEADS: Mapping[str, Callable[["Findings", Any], Lead | None]] = {
    "careful": _critical,
    "learnable": _no_sign,
    "fewer_help": _claim,
    "which": _in_short,
    "compared": _chosen_by,
}
