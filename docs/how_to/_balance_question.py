"""Are the classes of about the same size? The rarest class against an equal share."""

import numpy as np

from fewer.study import Answer, Here, Question, Verdict

TITLE = "Are the classes of about the same size?"
WORK = "balance"


def count_classes(bench, scores):
    """The work: plain data, from the plan and the table alone; the journal keeps it under its key."""
    if not bench.plan.classify:
        return {"classes": []}
    labels, counts = np.unique(np.asarray(bench.data.dataset.y), return_counts=True)
    return {"classes": [{"label": str(label), "rows": int(n)} for label, n in zip(labels, counts, strict=True)]}


def answer(done):
    """The answer, from finished work."""
    classes = done.work[WORK]["classes"]
    if not classes:
        return Answer(Verdict.NOT_TESTED, reason="the target is numeric")
    rarest = min(classes, key=lambda each: each["rows"])
    share = rarest["rows"] * len(classes) / sum(each["rows"] for each in classes)
    return Answer(Verdict.YES if share > 0.5 else Verdict.NO, share, evidence={"classes": classes, "rarest": rarest})


def words(findings, answer):
    """The answer for people, from the answer for programs."""
    if answer.verdict == Verdict.NOT_TESTED:
        return {"sentence": f"Not tested: {answer.reason}."}
    label, share = answer.evidence["rarest"]["label"], f"{answer.number:.0%}"
    return {
        "sentence": f"{answer.verdict.capitalize()}: {label}, the rarest class, has {share} of an equal share.",
        "how": "The rows of the rarest class, divided by the mean number of rows of a class.",
    }


QUESTION = Question("balance", TITLE, answer, lambda plan, scores, work: [Here(WORK, count_classes)], words=words)
