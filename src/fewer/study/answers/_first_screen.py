"""The first screen of a report as a fragment of HTML for notebooks: what it is about, the verdict, the curve.

The picture is inline SVG in the colours of all figures, and text in the colour of the page, light or dark.
"""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fewer._figures import AMBER, BLUE, GREY, RED, translucent
from fewer._wording import cut, printable

if TYPE_CHECKING:
    from fewer.study.answers._findings import Findings

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 220, 52, 34
_NAMES = 10


def first_screen(findings: "Findings") -> str:
    """The verdict, the first chosen columns and the curve.

    Parameters
    ----------
    findings : Findings
        What was found.

    Returns
    -------
    html : str
        One ``div``, without scripts.
    """
    plan = findings.plan
    about = (
        f"Study of <strong><bdi>{_clean(plan.source)}</bdi></strong>: {plan.n_rows:,} rows, "
        f"{plan.n_columns:,} columns, target <strong><bdi>{_clean(plan.target)}</bdi></strong>"
    )
    sentences = "".join(f"<p>{escape(printable(sentence))}</p>" for sentence in findings.verdict[1:])
    columns = ", ".join(f"<bdi>{_clean(name)}</bdi>" for name in findings.chosen[:_NAMES])
    more = f" and {len(findings.chosen) - _NAMES:,} more" if len(findings.chosen) > _NAMES else ""
    picture = "" if findings.finds_nothing else _curve(findings)
    headline = escape(printable(findings.headline))
    return f"<div><p>{about}</p><p><strong>{headline}</strong></p>{sentences}<p>{columns}{more}</p>{picture}</div>"


def _clean(name: str) -> str:
    return escape(cut(printable(name), 40))


def _curve(findings: "Findings") -> str:
    """Best held-out score at each number of columns, beside all columns and the baseline."""
    curve, chosen = findings.curve["frontier"], findings.curve["chosen"]
    sizes, mean, error = (np.array(curve[name], dtype=float) for name in ("sizes", "mean", "standard_error"))
    with_all, baseline = findings.fewer_help.evidence["with_all"], findings.curve["baseline"]
    ends = np.log([sizes[0], sizes[-1]]) + ([0, 0] if len(sizes) > 1 else [-1, 1])
    heights = np.array([*(mean - error), *(mean + error), with_all, baseline, chosen["mean"]])
    low, high = float(heights.min()), float(max(heights.max(), heights.min() + 1e-9))

    def points(x: np.ndarray, y: np.ndarray) -> str:
        across = _LEFT + (np.log(x) - ends[0]) / (ends[1] - ends[0]) * (_WIDTH - _LEFT - 16)
        down = 12 + (high - y) / (high - low) * (_HEIGHT - _BOTTOM - 20)
        return " ".join(f"{left:.1f},{top:.1f}" for left, top in zip(across, down, strict=True))

    band = points(np.concatenate([sizes, sizes[::-1]]), np.concatenate([mean - error, (mean + error)[::-1]]))
    all_ends = np.exp(ends)
    lines = "".join(
        f'<polyline points="{points(all_ends, np.full(2, height))}" fill="none" stroke="{colour}" '
        f'stroke-dasharray="{dash}"/>'
        for height, colour, dash in ((with_all, AMBER, "6 4"), (baseline, GREY, "2 3"))
    )
    left, top = points(np.array([chosen["size"]], dtype=float), np.array([chosen["mean"]])).split(",")
    metric = escape(findings.metric)
    words = (
        f"{metric} on held-out rows: {chosen['mean']:.3f} with the chosen {chosen['size']:,} (red), {with_all:.3f} "
        f"with all columns (dashed), {baseline:.3f} for the baseline (dotted)."
    )
    ticks = {sizes[0]: "start", sizes[-1]: "end"} if len(sizes) > 1 else {}
    labels = "".join(
        f'<text x="{points(np.array([size]), np.array([low])).split(",")[0]}" y="{_HEIGHT - 14}" '
        f'text-anchor="{anchor}">{size:,.0f} columns</text>'
        for size, anchor in ticks.items()
    )
    labels += f'<text x="{_LEFT - 6}" y="16" text-anchor="end">{high:.2f}</text>'
    labels += f'<text x="{_LEFT - 6}" y="{_HEIGHT - _BOTTOM - 6}" text-anchor="end">{low:.2f}</text>'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" style="width: 100%; max-width: {_WIDTH}px" role="img" '
        f'aria-label="{words}" font-size="12" fill="currentColor">'
        f'<polygon points="{band}" fill="{translucent(BLUE)}"/>{lines}'
        f'<polyline points="{points(sizes, mean)}" fill="none" stroke="{BLUE}" stroke-width="2.5"/>'
        f'<circle cx="{left}" cy="{top}" r="6" fill="{RED}"/>{labels}</svg><p><small>{words}</small></p>'
    )
