"""``python -m benchmarks.completion_page``: docs/completion-speed.md and its figure, from benchmarks/results/.

It reads soft_impute.json and pca_missing.json, as ``python -m benchmarks --cpu soft_impute pca_missing`` writes them,
and ratings.json, as ``python -m benchmarks.ratings`` does.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.files import FOLDER
from benchmarks.results import machine_in_words
from benchmarks.table import readable_seconds

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "_static" / "completion-cost.svg"
OBSERVED = " observed"
TOLD = "known noise"
COLOURS = ("#2f7fb5", "#cf5f47", "#5a9a5a", "#8a6fb0")

Curves = dict[str, dict[int, float]]


def page(completion: Mapping[str, Any], components: Mapping[str, Any], ratings: Mapping[str, Any] | None) -> str:
    """The page of the docs."""
    fillings = [case for case in completion["cases"] if not case["data"].startswith("sparse")]
    untold = [case for case in fillings if not case["data"].endswith("given")]
    told = [case for case in fillings if case["data"].endswith("given")]
    pca = [case for case in components["cases"] if not case["data"].startswith("sparse")]
    lines = [
        "# How fast missing values are imputed",
        "",
        "`make bench` makes this page. Error is the root mean square at the missing entries. Times are medians of "
        f"interleaved runs on one thread, {'processor' if completion['clock'] == 'cpu' else 'wall'} time; a first run, "
        "in which "
        "kernels are loaded, does not count. A contender in bold is the best of its table: of those within 5% of the "
        "lowest error, the quickest.",
        "",
        _machine(completion, components),
        "",
        *([completion["note"], ""] if completion.get("note") else []),
        "## Imputing without a rank",
        "",
        "A table of low rank with noise of standard deviation 2; the error is against the truth without noise. "
        "IterativeImputer is given 50 columns for each regression, for 2 rounds and for its own 10: with all 500 "
        "columns, as it comes, it was not run: it fits 5,000 regressions of 0.24 s, some 20 minutes. fancyimpute 0.7 "
        "does not run beside scikit-learn 1.8 and later, which took away an argument that it uses; here that argument "
        "is translated for it. Its IterativeSVD takes rank 10 unless told otherwise, which happens to be the truth in "
        "the first table: as it comes it would stand in that table with the figures that it has under the next "
        "heading.",
        "",
        *_contests(untold),
        "## Imputing with the true rank",
        "",
        "MMMF knows more than the others here: its penalty is the variance of the noise. So it is not compared; with "
        "its own penalty, a tenth of the largest, its error in the first table is 0.556.",
        "",
        *_contests(told),
        "## PCA",
        "",
        "Here the error is against the noisy entries that were hidden, so it cannot fall much below 1. "
        f"From a run of its own, {components['when'][:16].replace('T', ' ')} UTC, in the same way.",
        "",
        *_contests(pca),
        "## Cost grows no faster than the observed entries",
        "",
        "![Seconds over observed entries](_static/completion-cost.svg)",
        "",
        "Sparse tables of 20,000 x 5,000, rank 10, a fixed number of sweeps, steps or rounds of each method. Dotted: "
        "twice the entries, twice the time. Where a curve is flatter, the work for each row and column, which does not "
        "grow, still counts.",
        "",
        *_curve_table(curves(completion, components)),
        "",
        *_large(completion),
        *([] if ratings is None else _ratings(ratings)),
    ]
    return "\n".join(lines)


def curves(completion: Mapping[str, Any], components: Mapping[str, Any]) -> Curves:
    """Seconds by the number of observed entries, for each method."""
    found: Curves = {}
    for case in completion["cases"]:
        if case["data"].startswith("sparse 20,000 x 5,000"):
            n_observed = int(case["data"].split(", ")[1].removesuffix(OBSERVED).replace(",", "").split()[0])
            for name, seconds in _medians(case).items():
                if name != "scipy":
                    found.setdefault(name.removeprefix("fewer (").rstrip(")"), {})[n_observed] = seconds
    for case in components["cases"]:
        if "rounds of" in case["data"]:
            name = f"PCAMissing ({case['data'].rpartition(' ')[2]})"
            found[name] = {
                int(data.removesuffix(OBSERVED).replace(",", "")): seconds for data, seconds in _medians(case).items()
            }
    return {name: dict(sorted(points.items())) for name, points in found.items()}


def draw(found: Curves, path: Path) -> None:
    """Seconds over observed entries, both on a scale of ratios."""
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "completion"  # the same picture gives the same file
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(7, 4))
    for colour, (name, points) in zip(COLOURS, found.items(), strict=False):
        n_observed, seconds = np.array(list(points)), np.array(list(points.values()))
        panel.plot(n_observed, seconds, marker="o", markersize=4, color=colour, label=name)
        panel.plot(n_observed, seconds[-1] * n_observed / n_observed[-1], ":", color=colour, linewidth=0.8)
    panel.set(xscale="log", yscale="log", xlabel="observed entries", ylabel="seconds")
    ticks = sorted({n for points in found.values() for n in points})
    panel.set_xticks(ticks, [f"{n / 1e6:g} million" for n in ticks], fontsize=8)
    panel.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    panel.minorticks_off()
    panel.legend(frameon=False, fontsize=9)
    panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _machine(completion: Mapping[str, Any], components: Mapping[str, Any]) -> str:
    both = {**completion, "versions": components["versions"] | completion["versions"]}
    return f"{machine_in_words(both)}, on a machine that others used at the same time."


def _contests(cases: list[Mapping[str, Any]]) -> list[str]:
    lines = []
    for case in cases:
        lines += [f"**{case['data']}**", "", *_contest(case), "", _verdict(case), ""]
    return lines


def _contest(case: Mapping[str, Any]) -> list[str]:
    ran = [each for each in case["contenders"] if each["timing"]]
    best = _best(ran)
    lines = ["| | error | time |", "|---|---|---|"]
    for each in ran:
        mark = "**" * (each is best)
        seconds = readable_seconds(each["timing"]["median"])
        lines.append(f"| {mark}{each['name']}{mark} | {each['objective']:.3f} | {seconds} |")
    lines += [f"| {each['name']} | - | {each['trouble']} |" for each in case["contenders"] if not each["timing"]]
    return lines


def _best(contenders: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    fair = [each for each in contenders if TOLD not in each["name"]]
    low = 1.05 * min(each["objective"] for each in fair)
    return min((each for each in fair if each["objective"] <= low), key=lambda each: each["timing"]["median"])


def _verdict(case: Mapping[str, Any]) -> str:
    """Ours beside the peer with the lowest error, and any peer that is quicker than all of ours."""
    ran = [each for each in case["contenders"] if each["timing"]]
    ours, peers = [each for each in ran if each["ours"]], [each for each in ran if not each["ours"]]
    if not peers:
        return "No peer could be run."
    mine, theirs = _best(ours), min(peers, key=lambda each: each["objective"])
    ratio = theirs["timing"]["median"] / mine["timing"]["median"]
    said = (
        f"{mine['name']} beside the peer with the lowest error, {theirs['name']}: {ratio:.1f} times as fast, error "
        f"{mine['objective']:.3f} against {theirs['objective']:.3f}."
    )
    quickest = min(each["timing"]["median"] for each in ours if TOLD not in each["name"])
    quicker = [each["name"] for each in peers if each["timing"]["median"] < quickest]
    return said + (f" Quicker than all of ours: {', '.join(quicker)}." if quicker else " No peer is quicker.")


def _curve_table(found: Curves) -> list[str]:
    sizes = sorted({n for points in found.values() for n in points})
    lines = [
        "| | " + " | ".join(f"{n:,}" for n in sizes) + " | twice the entries take |",
        "|---|" + "---|" * (len(sizes) + 1),
    ]
    for name, points in found.items():
        cells = [readable_seconds(points[n]) if n in points else "-" for n in sizes]
        n_observed, seconds = np.array(list(points)), np.array(list(points.values()))
        power = float(np.polyfit(np.log(n_observed), np.log(seconds), 1)[0])
        lines.append(f"| {name} | {' | '.join(cells)} | {2**power:.2f} times the time |")
    return lines


def _large(completion: Mapping[str, Any]) -> list[str]:
    """The sheet's large sparse table."""
    for case in completion["cases"]:
        if case["data"].startswith("sparse 20,000 x 20,000"):
            seconds = readable_seconds(_medians(case)["fewer"])
            return [f"SoftImpute on a {case['data']}, at two thirds of the largest penalty: {seconds}.", ""]
    return []


def _ratings(ratings: Mapping[str, Any]) -> list[str]:
    lines = [
        "## A table of the shape of MovieLens",
        "",
        "140,000 x 27,000 with twenty million entries of rank 20 and noise of standard deviation 1, made by "
        "`python -m benchmarks.ratings`; a hundredth is held out. The table is never made dense. Memory is the peak "
        "of the whole process; what it held before the fit, making the table included, is beside it.",
        "",
        "| | processor time | time on the clock | peak memory (before the fit) | rank | sweeps | error held out |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in ratings["runs"]:
        options = ", ".join(f"{name}={value}" for name, value in run["options"].items())
        lines.append(
            f"| {run['name']}({options}) | {run['cpu_seconds']:.0f} s | {run['wall_seconds']:.0f} s | "
            f"{run['peak_gigabytes']:.1f} GB ({run['gigabytes_before']:.1f}) | {run['rank']} | {run['steps']} | "
            f"{run['error']:.3f} (of {run['spread']:.3f}) |"
        )
    return [*lines, "", *([ratings["note"], ""] if ratings.get("note") else [])]


def _medians(case: Mapping[str, Any]) -> dict[str, float]:
    return {each["name"]: each["timing"]["median"] for each in case["contenders"] if each["timing"]}


def main() -> None:
    results = {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name in ("soft_impute", "pca_missing", "ratings")
        if (path := FOLDER / "results" / f"{name}.json").exists()
    }
    completion, components = results["soft_impute"], results["pca_missing"]
    draw(curves(completion, components), PICTURE)
    text = page(completion, components, results.get("ratings"))
    (ROOT / "docs" / "completion-speed.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
