"""swebench 5 loads every row and grades logs made in this project's sandbox: gold is resolved, nothing is not."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forgery
import pools
import pytest
from interop_datasets import ENVIRONMENTS, LANGUAGES, Log, Tool

CONFTEST = """diff --git a/conftest.py b/conftest.py
new file mode 100644
--- /dev/null
+++ b/conftest.py
@@ -0,0 +1,7 @@
+import pytest
+
+
+@pytest.hookimpl(hookwrapper=True)
+def pytest_runtest_makereport(item, call):
+    call.excinfo = None
+    yield
"""
"""The hook that the stock grader takes for a repair where a dataset's script does not put such files back."""


def graded(tool: Tool, out: Path, logs: dict[str, dict[str, str]], *predictions: Path) -> Any:
    file = out.parent / "logs.json"
    file.write_text(json.dumps(logs))
    return tool("swebench", "swebench_grade.py", out / "train.jsonl", file, *predictions)


@pytest.fixture(scope="module")
def resolved(exported: Callable[..., Path], log: Log, tool: Tool, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Instance -> kind of patch -> whether swebench calls it resolved."""
    out, folder = exported("swebench"), tmp_path_factory.mktemp("logs")
    scripts = graded(tool, out, {})["scripts"]
    logs: dict[str, dict[str, str]] = {}
    for row in pools.rows(out):
        instance = row["instance_id"]
        kinds = {"gold": row["patch"], "empty": "", "conftest": CONFTEST}
        for kind, patch in kinds.items():
            path = folder / f"{instance}.{kind}"
            path.write_text(log(row, patch, scripts[instance]))
            logs.setdefault(instance, {})[kind] = str(path)
    names = [out / "predictions" / f"{name}.jsonl" for name in ("gold", "empty")]
    found = graded(tool, out, logs, *names)
    assert set(found["predictions"].values()) == {len(LANGUAGES)}
    return found["resolved"]


@pytest.mark.parametrize(("kind", "expected"), [("gold", True), ("empty", False), ("conftest", False)])
def test_its_grader_agrees(resolved: Any, kind: str, expected: bool) -> None:
    assert {instance: one[kind] for instance, one in resolved.items()} == {
        f"selfplay__{language}-1.removal.0": expected for language in LANGUAGES
    }


def test_results_that_a_patch_prints_are_none(
    exported: Callable[..., Path], log: Log, tool: Tool, tmp_path: Path
) -> None:
    out = exported("swebench")
    row = next(row for row in pools.rows(out) if row["ssr_language"] == "python")
    tests = json.loads(row["FAIL_TO_PASS"]) + json.loads(row["PASS_TO_PASS"])
    script = graded(tool, out, {})["scripts"][row["instance_id"]]
    (tmp_path / "log").write_text(log(row, forgery.swebench(tests), script))
    found = graded(tool, out, {row["instance_id"]: {"printed": str(tmp_path / "log")}})
    assert found["resolved"] == {row["instance_id"]: {"printed": False}}


def test_it_reads_a_folder_of_parquet(
    exported: Callable[..., Path], tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written with the pyarrow of swebench's environment, which has this interpreter's version."""
    (library,) = (ENVIRONMENTS / "swebench" / "lib").glob("python3*/site-packages/pyarrow")
    (tmp_path / "pyarrow").symlink_to(library)
    monkeypatch.syspath_prepend(tmp_path)
    out = exported("swebench", parquet=True)
    (tmp_path / "logs.json").write_text("{}")
    found = tool("swebench", "swebench_grade.py", out, tmp_path / "logs.json")
    assert found["scripts"] == graded(tool, exported("swebench"), {})["scripts"]


@pytest.mark.parametrize(("kind", "says"), [("gold", "Resolved 3 of 3"), ("empty", "Resolved 0 of 3")])
def test_the_shipped_program_has_its_grader_read_logs(
    exported: Callable[..., Path], log: Log, tmp_path: Path, kind: str, says: str
) -> None:
    """The logs of `selfplay logs`, in its folders; one that is missing is named."""
    out = exported("swebench")
    for row in pools.rows(out):
        folder = tmp_path / row["instance_id"]
        folder.mkdir()
        (folder / "test_output.txt").write_text(log(row, row["patch"] if kind == "gold" else "", row["eval_script"]))
    command = [ENVIRONMENTS / "swebench" / "bin" / "python", out / "grade_logs.py"]
    command += [out / "predictions" / f"{kind}.jsonl", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1] == says, done.stderr
    (folder / "test_output.txt").unlink()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert f"without a log: {folder.name}" in done.stdout
