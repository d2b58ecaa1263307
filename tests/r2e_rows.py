"""Rows of the form in which R2E-Gym keeps a commit, made of a real commit with real git: the commit line by line, the
tests of the commit copied into `r2e_tests`, and the logs of their runs on both states.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUNNER = """import sys
import unittest

sys.path.insert(0, ".")
told = []


class Result(unittest.TestResult):
    def note(self, outcome, test):
        told.append(f"{outcome} {type(test).__module__}::{type(test).__name__}::{test._testMethodName}")

    def addSuccess(self, test):
        self.note("PASSED", test)

    def addFailure(self, test, error):
        self.note("FAILED", test)

    def addError(self, test, error):
        self.note("ERROR", test)


unittest.TestLoader().discover(".", pattern="test_*.py").run(Result())
print("==== short test summary info ====", *told, "==== the end ====", sep="\\n")
"""
TYPES = {" ": "context", "+": "added", "-": "deleted"}


def git(repository: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True).stdout.decode()


def row(repository: Path, name: str, tests: Mapping[str, str], runner: bool = False) -> dict[str, Any]:
    """The row of the commit that is checked out. `tests`: name in `r2e_tests` -> path in the repository. `runner`:
    whether they are run by a runner for unittest, which is one of the files then, and not by pytest."""
    commit = git(repository, "rev-parse", "HEAD").strip()
    codes = {file: (repository / path).read_text() for file, path in tests.items()}
    codes |= {"shop_unittest_runner.py": RUNNER} if runner else {}
    logs = {state: _log(repository, state, codes, runner) for state in (commit, f"{commit}^")}
    git(repository, "checkout", "-q", commit)
    result = {
        "repo_name": name, "new_commit_hash": commit, "test_file_codes": list(codes.values()),
        "test_file_names": list(codes), "setup_res_code": 0, "setup_res_stdout": "", "setup_res_stderr": "",
        "new_commit_res_code": 0, "new_commit_res_stdout": logs[commit], "new_commit_res_stderr": "",
        "old_commit_res_code": 1, "old_commit_res_stdout": logs[f"{commit}^"], "old_commit_res_stderr": "",
    }  # fmt: skip
    return {
        "repo_name": name, "docker_image": f"someone/{name}_final:{commit}", "commit_hash": commit,
        "parsed_commit_content": json.dumps(parsed_commit(repository, commit), indent=4),
        "execution_result_content": json.dumps(result, indent=4),
        "modified_files": git(repository, "diff", "--name-only", f"{commit}^", commit).split(),
        "modified_entity_summaries": [], "relevant_files": [], "num_non_test_files": 1, "num_non_test_func_methods": 1,
        "num_non_test_lines": 2, "prompt": "", "problem_statement": "[ISSUE]\nIt is wrong.\n[/ISSUE]",
        "expected_output_json": json.dumps(_expected(logs[commit]), indent=4),
    }  # fmt: skip


def parsed_commit(repository: Path, commit: str) -> dict[str, Any]:
    """Each line of the diff after another, its end included, which makes one more empty line of the last hunk."""
    files: list[dict[str, Any]] = []
    for line in git(repository, "diff", "-p", f"{commit}^", commit).split("\n"):
        if line.startswith("diff --git "):
            path = line.rpartition(" b/")[2]
            files.append({"header": {"file": {"path": path}, "misc_line": None}, "index_line": None, "hunks": [],
                          "is_binary_file": False, "binary_line": None, "minus_file": None, "plus_file": None,
                          **_texts(repository, commit, path)})  # fmt: skip
        else:
            _read(line, files[-1])
    return {"file_diffs": files, "old_commit_hash": f"{commit}^", "new_commit_hash": commit, "metadata": {},
            "commit_message": "Mend it", "commit_date": "2020-01-01T00:00:00Z"}  # fmt: skip


def _texts(repository: Path, commit: str, path: str) -> dict[str, str]:
    """Of the file before and after; nothing where it is not."""
    sides = (("old_file_content", f"{commit}^"), ("new_file_content", commit))
    run = {side: ["git", "-C", str(repository), "show", f"{state}:{path}"] for side, state in sides}
    return {
        side: subprocess.run(argv, capture_output=True, text=True, errors="replace").stdout
        for side, argv in run.items()
    }


def _read(line: str, file: dict[str, Any]) -> None:
    """One line of a section, which is not its first."""
    hunk = file["hunks"][-1] if file["hunks"] else None
    head = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", line)
    if head:
        sides = [{"start": int(head[at]), "length": int(head[at + 1]) if head[at + 1] else None} for at in (1, 3)]
        file["hunks"].append({
            "descriptor": {"old_range": sides[0], "new_range": sides[1], "section": head[5]},
            "line_group": {"all_lines": []}, "modified_entities": [], "added_entities": [], "deleted_entities": [],
        })  # fmt: skip
    elif hunk is not None:
        told = {"content": line[2:], "type": "note"} if line[:1] == "\\" else None
        hunk["line_group"]["all_lines"].append(told or {"content": line[1:], "type": TYPES[line[:1] or " "]})
    elif index := re.fullmatch(r"index (\w+)\.\.(\w+)(?: (\d+))?", line):
        file["index_line"] = {"old_commit_hash": index[1], "new_commit_hash": index[2], "mode": index[3] or ""}
    elif re.match("(old|new|new file|deleted file) mode ", line):
        file["header"]["misc_line"] = "\n".join(filter(None, [file["header"]["misc_line"], line]))
    elif line.startswith("Binary files"):
        file |= {"is_binary_file": True, "binary_line": line}
    elif line[:4] in ("--- ", "+++ "):
        file["minus_file" if line[0] == "-" else "plus_file"] = {"path": line[4:]}


def _log(repository: Path, state: str, codes: Mapping[str, str], runner: bool) -> str:
    """What the tests say on this state, with the files of the tests in it for the time."""
    git(repository, "checkout", "-q", state)
    place = repository / "r2e_tests"
    place.mkdir()
    for name, text in {"__init__.py": "", **codes}.items():
        (place / name).write_text(text)
    argv = ["r2e_tests/shop_unittest_runner.py"] if runner else ["-m", "pytest", "-rA", "-p", "no:cacheprovider"]
    argv += [] if runner else ["--rootdir=.", "r2e_tests"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "."}
    said = subprocess.run([sys.executable, *argv], cwd=repository, env=env, capture_output=True, text=True, timeout=120)
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    return said.stdout


def _expected(log: str) -> dict[str, str]:
    """R2E-Gym's names of tests: what stands behind the first `::`, with dots."""
    lines = [line.split(" ", 1) for line in log.split("short test summary info")[1].split("\n") if " " in line]
    told = [(outcome, rest) for outcome, rest in lines if outcome in ("PASSED", "FAILED", "ERROR")]
    return {".".join(rest.split("::")[1:]).split(" - ")[0]: outcome for outcome, rest in told}
