"""Peak memory of a contender, measured in a process of its own.

``python -m benchmarks.memory BENCH CASE CONTENDER`` prepares the case, sets the kernel's high-water mark back, runs the
contender once and prints by how many megabytes the process grew at most. What the contender imports counts: it is
memory that its user pays for. Linux only: elsewhere the mark cannot be set back.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.files import cases_of

_STATUS = Path("/proc/self/status")


def peak_megabytes(bench: str, data: str, contender: str) -> float | None:
    """Megabytes that the contender needs, or None where they cannot be measured."""
    if not _STATUS.exists():
        return None
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", bench, data, contender],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        raise RuntimeError(f"measuring the memory of {contender} on {data} failed:\n{child.stderr}")
    return float(child.stdout.splitlines()[-1])


def _megabytes(field: str) -> float:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) / 1024


def growth_in_megabytes(case: Case, contender: str) -> float:
    """How much this process grows at most while the contender runs."""
    with tempfile.TemporaryDirectory(prefix="fewer-bench-") as folder:
        call = case.prepare(Path(folder)).contenders[contender]
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts again from here
        before = _megabytes("VmRSS")
        result = call()
        growth = _megabytes("VmHWM") - before
        del result
    return growth


if __name__ == "__main__":
    bench, data, contender = sys.argv[1:]
    print(growth_in_megabytes(next(case for case in cases_of(bench) if case.data == data), contender))
