"""R2E rows that a stranger wrote: each is read whole, or refused in a line that says why."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfplay.importers.rows import DatasetRow, ImportRefused
from selfplay.importers.tasks import ImportedTask, task_of

NEW = "a" * 40
LINES = [("context", "def x():"), ("deleted", "    return 2"), ("added", "    return 1"), ("context", "")]


def part(path: str, length: int = 2, misc: str | None = None, **more: Any) -> dict[str, Any]:
    """A file of a commit; of its last hunk the writer of such rows has an empty line more than it says."""
    side = {"start": 1, "length": length}
    lines = [{"type": kind, "content": content} for kind, content in LINES]
    hunk = {"descriptor": {"old_range": side, "new_range": side, "section": ""}, "line_group": {"all_lines": lines}}
    return {"header": {"file": {"path": path}, "misc_line": misc}, "hunks": [hunk], "old_file_content": "", **more}


def log(*told: str) -> str:
    return "\n".join(["... the tests ...", "==== short test summary info ====", *told, "==== 2 passed ===="])


COMMIT = {
    "file_diffs": [part("shop.py"), part("tests/test_shop.py")], "old_commit_hash": f"{NEW}^", "new_commit_hash": NEW,
}  # fmt: skip
RUNS = {
    "test_file_names": ["test_1.py"], "test_file_codes": ["def test_a(): ...\n"],
    "old_commit_res_stdout": log("PASSED r2e_tests/test_1.py::test_b", "FAILED r2e_tests/test_1.py::test_a - x - y"),
    "new_commit_res_stdout": log("PASSED r2e_tests/test_1.py::test_b", "PASSED r2e_tests/test_1.py::test_a"),
}  # fmt: skip
EXPECTED = {"test_a": "PASSED", "test_b": "PASSED"}


def task(change: Callable[[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, str]], Any]) -> ImportedTask:
    """The task of a good row that was changed: its columns, the commit, the runs, the outcomes."""
    commit, runs, expected = copy.deepcopy((COMMIT, RUNS, EXPECTED))
    columns: dict[str, Any] = {"repo_name": "shop", "commit_hash": NEW, "problem_statement": "x is wrong"}
    change(columns, commit, runs, expected)
    told = {"parsed_commit_content": commit, "execution_result_content": runs, "expected_output_json": expected}
    row = {**{name: json.dumps(value) for name, value in told.items()}, **columns}
    return task_of(DatasetRow("rows.jsonl:1", row, "0" * 64, Path("/nowhere")))


def test_a_row_is_the_new_commit_and_its_tests() -> None:
    found = task(lambda *parts: None)
    assert (found.form, found.repo, found.commit, found.instance) == ("r2e", "shop", NEW, f"shop__{NEW[:12]}")
    assert found.fail_to_pass == ("r2e_tests/test_1.py::test_a",)
    assert found.pass_to_pass == ("r2e_tests/test_1.py::test_b",)
    files = ("r2e_tests/__init__.py", "r2e_tests/test_1.py", "tests/test_shop.py")
    assert found.artifact.test_files == files and found.statement == "x is wrong"
    assert "+++ b/shop.py\n@@ -1,2 +1,2 @@\n def x():\n-    return 1\n+    return 2\n" in found.artifact.bug_inject
    assert "tests/" not in found.artifact.bug_inject and "shop.py\n@@" in found.artifact.weakening
    assert "deleted file mode 100644\n--- a/r2e_tests/test_1.py" in found.artifact.weakening
    (created,) = found.diffs
    assert "new file mode 100644\n--- /dev/null\n+++ b/r2e_tests/test_1.py" in created


def test_what_the_two_runs_do_not_decide_is_left_out() -> None:
    """A test that is not expected to pass, and one that never passed."""

    def change(columns: Any, commit: Any, runs: Any, expected: Any) -> None:
        for name in ("old_commit_res_stdout", "new_commit_res_stdout"):
            runs[name] += "\nPASSED r2e_tests/test_1.py::test_c\nFAILED r2e_tests/test_1.py::test_d - y"
        expected |= {"test_c": "FAILED", "test_d": "FAILED"}

    assert len(task(change).pass_to_pass) == 1


def test_ids_hold_what_reasons_hold_too() -> None:
    def change(columns: Any, commit: Any, runs: Any, expected: Any) -> None:
        for name in ("old_commit_res_stdout", "new_commit_res_stdout"):
            runs[name] = runs[name].replace("::test_a", "::test_a[1 - 2]")
        expected["test_a[1"] = expected.pop("test_a")

    assert task(change).fail_to_pass == ("r2e_tests/test_1.py::test_a[1 - 2]",)


def column(name: str, value: Any) -> Callable[..., Any]:
    return lambda columns, commit, runs, expected: columns.update({name: value})


def run(**values: Any) -> Callable[..., Any]:
    return lambda columns, commit, runs, expected: runs.update(values)


def named(test: str) -> Callable[..., Any]:
    """The one test of both runs."""
    return run(old_commit_res_stdout=log(f"FAILED {test}"), new_commit_res_stdout=log(f"PASSED {test}"))


def in_commit(*files: dict[str, Any], **values: Any) -> Callable[..., Any]:
    return lambda columns, commit, runs, expected: commit.update(values, **({"file_diffs": files} if files else {}))


def in_hunk(change: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    return lambda columns, commit, runs, expected: change(commit["file_diffs"][0]["hunks"][0])


PASSED = "PASSED r2e_tests/test_1.py::test_"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (column("commit_hash", "--upload-pack=x"), "is not a commit"),
        (column("commit_hash", "b" * 40), "its two columns name different commits"),
        (column("repo_name", ""), "repo_name"),
        (column("repo_name", 7), "repo_name"),
        (column("instance_id", "x" * 1000), "instance_id"),
        (column("problem_statement", "x" * 1_000_000), "problem_statement"),
        (column("parsed_commit_content", "{half"), "parsed_commit_content"),
        (column("parsed_commit_content", "[" * 100_000), "parsed_commit_content"),
        (column("parsed_commit_content", "[]"), "parsed_commit_content"),
        (column("execution_result_content", '"x"'), "execution_result_content"),
        (column("expected_output_json", '{"test_a": 1}'), "expected_output_json"),
        (column("expected_output_json", "[]"), "expected_output_json"),
        (column("expected_output_json", "{}"), "no test that failed before"),
        (in_commit(part("../shop.py")), "shop.py"),
        (in_commit(part("/etc/passwd")), "passwd"),
        (in_commit(part(".git/hooks/pre-commit")), ".git"),
        (in_commit(part("shop.py\n--- a/x")), "contains a line break"),
        (in_commit(part('a"b.py')), "an ambiguous name"),
        (in_commit(part("caf\\303\\251.py")), "an ambiguous name"),
        (in_commit(part("x" * 5000)), "path"),
        (in_commit(part("shop.py"), part("shop.py")), "two sections"),
        (in_commit(part("tests/test_shop.py")), "changes only tests"),
        (in_commit(part("r2e_tests/code.py"), part("shop.py")), "changes r2e_tests/"),
        (in_commit(part("shop.py", is_binary_file=True)), "binary file"),
        (in_commit(part("shop.py", misc="new file mode 120000\nrename from x")), "is not a mode"),
        (in_commit(part("shop.py", misc="old mode 100644\nnew mode 160000")), "submodule"),
        (in_commit(part("shop.py", index_line={"old_commit_hash": "x\n", "new_commit_hash": "b"})), "index line"),
        (in_commit(part("shop.py", length=10_000_001)), "parsed_commit_content"),
        (in_commit(part("shop.py", length=4)), "shorter"),
        (in_commit(*[part(f"{number}.py") for number in range(2001)]), "file_diffs"),
        (in_hunk(lambda hunk: hunk["line_group"]["all_lines"][0].update(content="a\n+b")), "contains a line break"),
        (in_hunk(lambda hunk: hunk["line_group"]["all_lines"][0].update(type="shell")), "type"),
        (in_hunk(lambda hunk: hunk["descriptor"].update(section="x\n+y")), "contains a line break"),
        (in_hunk(lambda hunk: hunk["line_group"].update(all_lines=[])), "shorter"),
        (run(test_file_names=["test_1.py", "test_2.py"]), "names 2 files of tests and has 1 text"),
        (run(test_file_names=["../test_1.py"]), "is not the name of a test file"),
        (run(test_file_names=["/tmp/test_1.py"]), "is not the name of a test file"),
        (run(test_file_names=["a/test_1.py"]), "is not the name of a test file"),
        (run(test_file_names=[".test.py"]), "is not the name of a test file"),
        (run(test_file_names=["test_1.py", "TEST_1.py"], test_file_codes=["", ""]), "have the same name"),
        (run(test_file_names=["test_1.py"] * 201, test_file_codes=[""] * 201), "test_file_names"),
        (run(test_file_codes=["x" * (9 << 20)]), "test_weaken.diff is"),
        (run(test_file_codes=["\n" * 200_000]), "lines"),
        (run(test_file_codes=[]), "has tests in 'r2e_tests/test_1.py' but not the text"),
        (run(old_commit_res_stdout=None), "no test outcomes from before"),
        (run(new_commit_res_stdout="PASSED all"), "no test outcomes from after"),
        (run(old_commit_res_stdout=log(f"{PASSED}b")), "was not run before it"),
        (run(old_commit_res_stdout=log(f"{PASSED}a", f"{PASSED}b")), "no test that failed before"),
        (run(new_commit_res_stdout=log("PASSED other::test_a")), "was not run before it"),
        (named("shell::test_a"), "not the id of a pytest"),
        (named("../../x.py::test_a"), "test_files.txt names"),
        (named("shop.py::test_a"), "as code, but the tests that decide"),
    ],
)  # fmt: skip
def test_a_hostile_row_is_refused_in_a_line(change: Callable[..., Any], says: str) -> None:
    with pytest.raises(ImportRefused) as found:
        task(change)
    message = found.value.message
    assert says in message and len(message) < 1000 and "\n" not in message, message
