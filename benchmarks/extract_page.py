"""``python -m benchmarks.extract_page``: docs/extract-speed.md, from benchmarks/results/.

It reads what ``python -m benchmarks pls random_projection fisher hdda extract`` writes.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.files import FOLDER, question_of
from benchmarks.results import machine_in_words
from benchmarks.table import readable_seconds

PAGE = Path(__file__).parents[1] / "docs" / "extract-speed.md"
CLOCKS = {"wall": "time on the clock", "cpu": "processor time on one thread"}
BENCHES = ("pls", "random_projection", "fisher", "hdda", "extract")


def page(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """The page of the docs, from the results of benches by name."""
    first = next(iter(documents.values()))
    clocks = dict.fromkeys(CLOCKS[document["clock"]] for document in documents.values())
    lines = [
        "# How fast new columns are made",
        "",
        "`make bench` makes this page. Contenders do the same work and come to the same result, within the tolerance "
        "that the bench states; times are medians of interleaved runs after a first one that does not count, "
        f"{' and '.join(clocks)}. A ratio is our time over the peer's: 0.2 is five times as fast.",
        "",
        f"{machine_in_words(first)}.",
        "",
    ]
    for name, document in documents.items():
        lines += [
            f"## {question_of(name).rstrip('.')}",
            "",
            f"At most {document['repeats']} runs of each contender, {document['when'][:16].replace('T', ' ')} UTC.",
            "",
            "| | contender | time | ratio |",
            "|---|---|---|---|",
        ]
        for case in document["cases"]:
            lines += _rows(case)
        lines.append("")
    return "\n".join(lines)


def _rows(case: Mapping[str, Any]) -> list[str]:
    if case.get("unavailable"):
        return [f"| {case['data']} | not run: {case['unavailable']} | | |"]
    rows = []
    for place, each in enumerate(case["contenders"]):
        label = case["data"] if place == 0 else ""
        name = f"**{each['name']}**" if each["ours"] else each["name"]
        seconds = readable_seconds(each["timing"]["median"]) if each["timing"] else each["trouble"]
        ratio = f"{each['ratio']:.2g}" if each["ours"] and each["ratio"] is not None else ""
        rows.append(f"| {label} | {name} | {seconds} | {ratio} |")
    return rows


def main() -> None:
    results = {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name in BENCHES
        if (path := FOLDER / "results" / f"{name}.json").exists()
    }
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
