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
        return Answer(TITLE, Verdict.NOT_TESTED, "Not tested: the target is numeric.")
    rarest = min(classes, key=lambda each: each["rows"])
    share = rarest["rows"] * len(classes) / sum(each["rows"] for each in classes)
    verdict, word = (Verdict.YES, "Yes") if share > 0.5 else (Verdict.NO, "No")
    return Answer(
        TITLE,
        verdict,
        f"{word}: {rarest['label']}, the rarest class, has {share:.0%} of an equal share.",
        number=share,
        how="The rows of the rarest class, divided by the mean number of rows of a class.",
        evidence={"classes": classes},
    )


QUESTION = Question("balance", TITLE, answer, lambda plan, scores, work: [Here(WORK, count_classes)])
