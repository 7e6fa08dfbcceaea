"""The figure behind each answer, as it is written beside it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewer.study import Answer, Findings


@dataclass(frozen=True)
class Shown:
    """A number for people: what it is called, itself, and its uncertainty."""

    label: str
    value: str
    interval: str = ""


def signed(value: float) -> str:
    """With its sign and three decimals, and nothing as +0.000."""
    return f"{round(value, 3) + 0.0:+.3f}"


def metric_of(findings: "Findings") -> str:
    """What the score is called."""
    return {"r2": "R2", "roc_auc": "ROC AUC"}.get(findings.plan["scoring"], findings.plan["scoring"].replace("_", " "))


def unit_of(findings: "Findings") -> str:
    """What sizes count: columns of the table, columns after one-hot encoding, or new columns."""
    return "new columns" if findings.n_made is not None else given_unit(findings)


def given_unit(findings: "Findings") -> str:
    """What there is to choose from: columns of the table, or columns after one-hot encoding."""
    return "encoded columns" if findings.n_columns > findings.plan["n_columns"] else "columns"


def p_value_text(p_value: float) -> str:
    """A p-value with three decimals, or its power of ten."""
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.1e}"


def shown_numbers(findings: "Findings") -> dict[str, Shown]:
    """The number of each answer that has one, by the name of its section."""
    numbers = {
        "learn": _p_value(findings.learnable),
        "together": _p_value(findings.interacting),
        "help": _of(findings, findings.fewer_help, "Benefit", signed),
        "how-few": _size(findings.how_few, unit_of(findings)),
        "which": _of(findings, findings.which, "Stability", lambda value: f"{value:.2f}"),
        "wrong": _wrong(findings.wrong),
        "compared": _of(
            findings,
            findings.compared,
            f"Score of the first line ({metric_of(findings)})",
            lambda value: f"{value:.3f}",
        ),
    }
    return {section: number for section, number in numbers.items() if number is not None}


def _wrong(answer: "Answer") -> Shown | None:
    if answer.number is None:
        return None
    if "confusion" in answer.evidence:
        return Shown("Wrong rows", f"{answer.number:,.0f}")
    return Shown("Median absolute error", f"{answer.number:.4g}")


def _p_value(answer: "Answer") -> Shown | None:
    return None if answer.number is None else Shown("p-value", p_value_text(answer.number))


def _size(answer: "Answer", unit: str) -> Shown | None:
    if answer.number is None or answer.interval is None:
        return None
    low, high = answer.interval
    spread = f"most folds chose {low:,.0f} to {high:,.0f}" if round(low) < round(high) else ""
    return Shown(unit.capitalize(), f"{answer.number:,.0f}", spread)


def _of(findings: "Findings", answer: "Answer", label: str, written) -> Shown | None:
    if answer.number is None:
        return None
    if answer.interval is None:
        return Shown(label, written(answer.number))
    low, high = (written(end) for end in answer.interval)
    return Shown(label, written(answer.number), f"{findings.plan['confidence']:.0%} interval {low} to {high}")
