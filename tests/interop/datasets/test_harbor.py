"""Harbor's own model reads every task. Its agents run in `test_engine.py`."""

from collections.abc import Callable
from pathlib import Path

import pools
from interop_datasets import Tool


def test_it_reads_every_task(exported: Callable[..., Path], tool: Tool) -> None:
    out = exported("harbor")
    found = tool("harbor", "harbor_tasks.py", out / "tasks")
    rows = {row["instance_id"]: row for row in pools.rows(out)}
    assert found.keys() == rows.keys()
    for name, task in found.items():
        assert task["image"] == rows[name]["image"] and task["instruction"].strip() == rows[name]["problem_statement"]
