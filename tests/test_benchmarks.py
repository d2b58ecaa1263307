"""A benchmark that lacks a Docker engine says so at once, and the sheets that need none are still printed."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NO_ENGINE = {**os.environ, "DOCKER_HOST": "unix:///no/such.sock"}
ALL = """
from benchmarks import bench_sandbox
from benchmarks.figures import Figure, Sheet, report_each

def measured():
    print("measuring", file=sys.stderr, flush=True)
    return Sheet("bubblewrap's", (Figure("start", 1.0, "ms"),))

bench_sandbox.sheet = measured  # minutes; what it measures is not asked here
report_each(bench_sandbox.sheets(peers=False), as_json=False)
"""


def done(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=NO_ENGINE, timeout=60
    )


def test_docker_alone() -> None:
    found = done("-m", "benchmarks.bench_sandbox_docker", "--json")
    (sheet,) = json.loads(found.stdout)
    assert found.returncode == 0 and sheet["figures"] == [] and "no Docker engine answers" in sheet["note"]


def test_all_sandboxes() -> None:
    found = done("-c", "import sys" + ALL)
    assert found.returncode == 0, found.stderr
    assert found.stderr.index("docker's sheet cannot be run: no Docker engine") < found.stderr.index("measuring")
    assert "bubblewrap's" in found.stdout and "not measured: no Docker engine answers" in found.stdout
