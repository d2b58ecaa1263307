"""mini-swe-agent's own command reads a dataset's folder; what its agent submits, both graders take."""

import json
from collections.abc import Callable
from pathlib import Path

import pools
from interop_datasets import Log, Tool

from selfplay.commands.predictions import read_predictions


def test_its_run_ends_in_predictions_that_graders_take(
    exported: Callable[..., Path], log: Log, tool: Tool, tmp_path: Path
) -> None:
    out, tree = exported("swebench"), tmp_path / "tree"
    row = next(row for row in pools.rows(out) if row["ssr_language"] == "python")
    tree.mkdir()
    (tmp_path / "gold.diff").write_text(row["patch"])
    instance = row["instance_id"]
    found = tool("swebench", "mini_swe_agent.py", out, instance, tree, tmp_path, tmp_path / "gold.diff")
    assert found[instance]["model_patch"].strip() == row["patch"].strip()
    file = tmp_path / "preds.json"
    assert read_predictions(file)[instance] == found[instance]["model_patch"]
    (tmp_path / "logs.json").write_text("{}")
    script = tool("swebench", "swebench_grade.py", out / "train.jsonl", tmp_path / "logs.json")["scripts"][instance]
    (tmp_path / "log").write_text(log(row, read_predictions(file)[instance], script))
    (tmp_path / "logs.json").write_text(json.dumps({instance: {"agent": str(tmp_path / "log")}}))
    graded = tool("swebench", "swebench_grade.py", out / "train.jsonl", tmp_path / "logs.json", file)
    assert graded["resolved"] == {instance: {"agent": True}} and set(graded["predictions"].values()) == {1}
