"""SWE-smith 0.0.9 evaluates gold and empty by the shipped profile, and its remotes have two commits for each bug."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pools
import pytest
from interop_datasets import ENVIRONMENTS, LANGUAGES, Log, Tool

from selfplay.patches import touched_paths


def test_its_report_agrees(exported: Callable[..., Path], log: Log, tool: Tool, tmp_path: Path) -> None:
    out = exported("swesmith")
    file = tmp_path / "logs.json"
    file.write_text("{}")
    scripts = tool("swesmith", "swesmith_grade.py", out, file, cwd=tmp_path)["scripts"]
    logs: dict[str, dict[str, str]] = {}
    for row in pools.rows(out):
        for kind, patch in (("gold", row["ssr_gold_patch"]), ("empty", "")):
            path = tmp_path / f"{row['ssr_language']}.{kind}"
            path.write_text(log(row, patch, scripts[row["instance_id"]]))
            logs.setdefault(row["instance_id"], {})[kind] = str(path)
    file.write_text(json.dumps(logs))
    found = tool("swesmith", "swesmith_grade.py", out, file, cwd=tmp_path)["resolved"]
    assert len(found) == len(LANGUAGES)
    assert set(map(str, found.values())) == {str({"gold": True, "empty": False})}
    for kind, says in (("gold", "Resolved 3 of 3"), ("empty", "Resolved 0 of 3")):  # the same by the shipped program
        for instance, kinds in logs.items():
            place = tmp_path / "shipped" / kind / instance
            place.mkdir(parents=True)
            (place / "test_output.txt").write_text(Path(kinds[kind]).read_text())
        command = [ENVIRONMENTS / "swesmith" / "bin" / "python", out / "grade_logs.py"]
        command += [out / "predictions" / f"{kind}.jsonl", tmp_path / "shipped" / kind]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.stdout.splitlines()[-1] == says, done.stderr


def test_each_bug_has_a_branch_of_two_commits(exported: Callable[..., Path]) -> None:
    out = exported("swesmith")
    subprocess.run([sys.executable, out / "swesmith_profiles.py", "remotes"], check=True, timeout=60)
    for row in pools.rows(out):
        bare = out / "remotes" / f"{row['repo'].partition('/')[2]}.git"
        shown = _git(bare, "log", "--format=%s", row["instance_id"]).splitlines()
        assert shown == ["Its tests removed", "The bug", "The repository"]
        bug = _git(bare, "diff", "--name-only", "--no-renames", f"{row['instance_id']}~2", f"{row['instance_id']}~1")
        assert set(bug.splitlines()) == set(touched_paths(row["patch"]))


def test_profiles_are_made_of_parquet_too(exported: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the pyarrow of SWE-smith's environment, which has this interpreter's version."""
    (library,) = (ENVIRONMENTS / "swesmith" / "lib").glob("python3*/site-packages")
    monkeypatch.syspath_prepend(library)
    out = exported("swesmith", parquet=True)
    monkeypatch.undo()
    python = ENVIRONMENTS / "swesmith" / "bin" / "python"
    subprocess.run([python, out / "swesmith_profiles.py", "remotes"], check=True, timeout=60)
    assert len(list((out / "remotes").iterdir())) == len(LANGUAGES)


def _git(bare: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", bare, *arguments], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout
