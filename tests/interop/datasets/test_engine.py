"""With a real engine: the shipped script builds the images; swebench's own evaluation and Harbor's agents agree."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pools
import pytest
from interop_datasets import ENVIRONMENTS, ROOT, Tool

pytestmark = pytest.mark.docker
BASE = "selfplay-debian"


def built(out: Path) -> str:
    """The name of the Python bug, whose image is built."""
    subprocess.run([ROOT / ".ci" / "docker-image", BASE], check=True, timeout=250)
    row = next(row for row in pools.rows(out) if row["ssr_language"] == "python")
    command = [sys.executable, out / "build_images.py", "--base", BASE, row["instance_id"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    return str(row["instance_id"])


@pytest.mark.parametrize(("kind", "resolved"), [("gold", 1), ("empty", 0)])
def test_swebench_evaluates(exported: Callable[..., Path], tmp_path: Path, kind: str, resolved: int) -> None:
    out = exported("swebench")
    instance = built(out)
    row = next(row for row in pools.rows(out) if row["instance_id"] == instance)
    nothing = "diff --git a/NOTES b/NOTES\nnew file mode 100644\n--- /dev/null\n+++ b/NOTES\n@@ -0,0 +1 @@\n+none\n"
    patch = row["patch"] if kind == "gold" else nothing  # an empty one is never run
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps([{"instance_id": instance, "model_name_or_path": kind, "model_patch": patch}]))
    command = [
        ENVIRONMENTS / "swebench" / "bin" / "python", "-m", "swebench.harness.run_evaluation", "--dataset_name",
        out / "train.jsonl", "--split", "train", "--predictions_path", file, "--run_id", kind, "--instance_ids",
        instance, "--max_workers", "1",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250, env=clean())
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    report = json.loads(next(tmp_path.glob(f"{kind}.{kind}.json")).read_text())
    assert report["completed_instances"] == 1 and report["resolved_instances"] == resolved, report


@pytest.mark.parametrize(("kind", "resolved"), [("gold", 1), ("empty", 0)])
def test_swesmith_evaluates(exported: Callable[..., Path], tmp_path: Path, kind: str, resolved: int) -> None:
    """Its own command, with the profiles registered: it checks out the bug's branch, one commit back."""
    subprocess.run([ROOT / ".ci" / "docker-image", BASE], check=True, timeout=250)
    out, python = exported("swesmith"), ENVIRONMENTS / "swesmith" / "bin" / "python"
    row = next(row for row in pools.rows(out) if row["ssr_language"] == "python")
    profiles = [python, out / "swesmith_profiles.py"]
    made = subprocess.run(
        [*profiles, "images", "--base", BASE, row["instance_id"]], capture_output=True, text=True, timeout=250
    )
    assert made.returncode == 0, made.stderr[-3000:]
    command = [
        *profiles, "eval", "--dataset_path", out / "train.jsonl", "--predictions_path",
        out / "predictions" / f"{kind}.jsonl", "--run_id", kind, "--workers", "1", "--instance_ids", row["instance_id"],
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250, env=clean())
    assert f"Resolved {resolved}/1 instances" in done.stdout, done.stdout[-2000:] + done.stderr[-4000:]
    assert (tmp_path / "logs" / "run_evaluation" / kind / row["instance_id"] / "report.json").is_file()


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_harbor_runs_its_agents(
    exported: Callable[..., Path], tool: Tool, tmp_path: Path, agent: str, reward: float
) -> None:
    out = exported("harbor")
    found = tool("harbor", "harbor_trial.py", out / "tasks" / built(out), agent, tmp_path / "trials")
    assert found == {"rewards": {"reward": reward}, "error": ""}
