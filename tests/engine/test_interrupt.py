import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import json, os, sys, time
from pathlib import Path
from fewer.engine import Engine

started = Path(sys.argv[1])

def work(x):
    (started / str(os.getpid())).touch()
    if x >= 4:
        (started / f"long-{x}").touch()
        time.sleep(600)
    return x

with Engine.local(2) as engine:
    run = engine.run(work, range(20), progress=True)
    done = [outcome.value for outcome in run]
    print(json.dumps({"done": sorted(done), "interrupted": run.interrupted}), flush=True)
    again = engine.run(abs, [-1, -2])
    print(json.dumps([outcome.value for outcome in again.collect()]))
"""


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
@pytest.mark.parametrize("whole_group", [True, False], ids=["as a terminal does", "to the main process"])
def test_ctrl_c_returns_what_is_done_and_leaves_no_process_behind(tmp_path, whole_group):
    started = tmp_path / "started"
    started.mkdir()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, script, started],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background are deaf to it
    )
    try:
        while len(list(started.glob("long-*"))) < 2:  # both workers are in the middle of a task
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        if whole_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    first, second = out.splitlines()
    assert json.loads(first) == {"done": [0, 1, 2, 3], "interrupted": True}
    assert json.loads(second) == [1, 2]
    assert process.returncode == 0
    assert "Traceback" not in err
    for path in started.iterdir():
        if path.name.isdigit():
            assert not Path("/proc", path.name).exists()
    assert not list(tmp_path.glob("fewer-*"))


@pytest.mark.skipif(os.name != "posix", reason="uses POSIX process groups")
def test_a_script_that_forgets_its_engine_ends_and_takes_its_workers_along(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\n"
        "from fewer.engine import Engine\n"
        "engine = Engine.local(2)\n"
        "run = engine.run(lambda x: (time.sleep(600 * x), os.getpid())[1], [0, 1, 1])\n"
        "print(next(run).value)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert "Traceback" not in done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
