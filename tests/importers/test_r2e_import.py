"""Rows of R2E-Gym's form become tasks: ours without what is ours in them, and those of a real commit."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import r2e_rows
from run_fixtures import Command, Done

from selfplay.artifact import load_bug

OLD = {
    "shop/__init__.py": "",
    "shop/price.py": "def total(prices):\n    return sum(prices[1:])",
    "shop/unused.py": "X = 1\n",
    "CHANGES.rst": "1.0\n---\n",
    "shop/test/__init__.py": "",
    "shop/test/price_test.py": "import unittest\n\nfrom shop.price import total\n\n\n"
    "class PriceTest(unittest.TestCase):\n    def test_none(self):\n        self.assertEqual(total([]), 0)\n",
}
NEW_TEST = "\n    def test_all(self):\n        self.assertEqual(total([1, 2]), 3)\n"
NEW: dict[str, str | None] = {
    "shop/price.py": "from shop.plain import plain\n\n\ndef total(prices):\n    return sum(map(plain, prices))\n",
    "shop/plain.py": "def plain(price):\r\n    return price\r\n\n",
    "shop/unused.py": None,
    "CHANGES.rst": "1.1\n---\n\n* total() forgot the first price\n\n1.0\n---\n",
    "shop/test/price_test.py": OLD["shop/test/price_test.py"] + NEW_TEST,
}


@pytest.fixture
def repository(source: Callable[..., Path]) -> Path:
    """A project as tornado has it: tests in the package, a fix with a file more, a file less and a line of news."""
    place = source(OLD)
    for path, text in NEW.items():
        if text is None:
            (place / path).unlink()
        else:
            (place / path).write_text(text, newline="")
    r2e_rows.git(place, "add", "-A")
    r2e_rows.git(place, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Count every price")
    return place


def outcomes(selfplay: Command, run: Path) -> list[int]:
    """How many tasks gold resolves, and how many empty."""
    found = []
    for policy in ("gold", "empty"):
        done = selfplay("eval", run, "--policy", policy, "--attempts", 1, "--json")
        assert done.code == 0, done.err
        found.append(done.json["rows"][0]["resolved"])
    return found


@pytest.mark.long
@pytest.mark.parametrize("runner", [True, False])
def test_a_real_commit_is_solved_and_evaluated(
    selfplay: Command, repository: Path, tmp_path: Path, runner: bool
) -> None:
    row = r2e_rows.row(repository, "tornado", {"test_1.py": "shop/test/price_test.py"}, runner)
    file, run = tmp_path / "rows.jsonl", tmp_path / "run"
    file.write_text(json.dumps(row))
    done = selfplay("import", file, "--out", run, "--source", f"tornado={repository}", "--json")
    assert done.code == 0, done.err
    (name,) = done.json["tasks"]
    bug = load_bug(run / "bugs" / name)
    assert bug.fail_to_pass == ("r2e_tests/test_1.py::PriceTest::test_all",)
    assert bug.pass_to_pass == ("r2e_tests/test_1.py::PriceTest::test_none",)
    assert name == f"tornado__{row['commit_hash'][:12]}" and bug.imported is not None and bug.imported.weakened
    assert outcomes(selfplay, run) == [1, 0]
    out = tmp_path / "world"
    handed = selfplay("world", run / "bugs" / name, "--out", out, "--json")
    assert handed.code == 0, handed.err
    assert "It is wrong." in (out / "prompt.md").read_text() and "ISSUE" not in (out / "prompt.md").read_text()
    assert files(out / "testbed") == files_at(repository, "HEAD^")


def files(tree: Path) -> dict[str, bytes]:
    found = {path.relative_to(tree).as_posix(): path for path in tree.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".git")}


def files_at(repository: Path, state: str) -> dict[str, bytes]:
    names = r2e_rows.git(repository, "ls-tree", "-r", "--name-only", state).split()
    show = ["git", "-C", str(repository), "show"]
    return {name: subprocess.run([*show, f"{state}:{name}"], capture_output=True).stdout for name in names}


@pytest.mark.slow
def test_ours_without_what_is_ours(selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path) -> None:
    """An export whose columns `ssr_...` are taken away is a stranger's row: read by R2E's form alone."""
    out, run = tmp_path / "out", tmp_path / "run"
    assert selfplay("export", finished[0], "--format", "r2e", "--out", out).code == 0
    rows = [json.loads(line) for line in (out / "train.jsonl").read_text().splitlines()]
    bare = [{key: value for key, value in row.items() if not key.startswith("ssr_")} for row in rows]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, bare)))
    done = selfplay("import", file, "--out", run, "--source", f"{bare[0]['repo_name']}={shop}", "--json")
    assert done.code == 0, done.err
    assert len(done.json["tasks"]) == 4 and done.json["skipped"] == {}
    for name in done.json["tasks"]:
        made, came = (load_bug(folder / "bugs" / name.removeprefix(start))
                      for folder, start in ((finished[0], "selfplay__"), (run, "")))  # fmt: skip
        assert (set(made.fail_to_pass), set(made.pass_to_pass)) == (set(came.fail_to_pass), set(came.pass_to_pass))
        assert came.imported is not None and came.imported.form == "r2e" and came.tree_hash == made.tree_hash
    assert outcomes(selfplay, run) == [4, 0]


@pytest.mark.slow
def test_a_commit_that_is_not_the_one_of_the_source_is_skipped(
    selfplay: Command, repository: Path, tmp_path: Path
) -> None:
    row: dict[str, Any] = r2e_rows.row(repository, "tornado", {"test_1.py": "shop/test/price_test.py"})
    row["parsed_commit_content"] = row["parsed_commit_content"].replace("sum(map(plain", "sum(map(float")
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row))
    done = selfplay("import", file, "--out", tmp_path / "run", "--source", f"tornado={repository}")
    assert done.code == 2 and "its commit, taken back, does not apply" in done.err, done.err
