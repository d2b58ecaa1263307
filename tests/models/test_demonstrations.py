"""Demonstrations of a real project's bugs, in the tokens of a real model: short enough for its context."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MOST = 8000
COLUMNS = ["id", "bug", "role", "policy", "outcome", "reward", "messages", "input_ids", "attention_mask", "labels"]


def selfplay(*arguments: object) -> None:
    argv = [sys.executable, "-m", "selfplay", *(str(argument) for argument in arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def rows(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Two bugs of iniconfig: code that is removed from a function, and a change of its past taken back."""
    run, out = (tmp_path_factory.mktemp("lessons") / name for name in ("run", "lessons.jsonl"))
    selfplay("curriculum", "pypi:iniconfig==2.3.1", "--out", run, "--bugs", 2)
    selfplay("trajectories", "demonstrate", run)
    selfplay("trajectories", "export", run, "--out", out, "--tokenizer", smollm2)
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.slow
def test_each_lesson_fits_into_a_small_context(rows: list[dict[str, Any]]) -> None:
    """Three stages for each bug, of which the first says the same for both; and a repair of each."""
    assert [row["role"] for row in rows] == ["injector"] * 5 + ["solver"] * 2
    assert [list(row) for row in rows] == [COLUMNS] * 7
    assert max(len(row["input_ids"]) for row in rows) < MOST
    for row in rows:
        assert len(row["labels"]) == len(row["attention_mask"]) == len(row["input_ids"])
        pairs = [(one, label) for one, label in zip(row["input_ids"], row["labels"], strict=True) if label != -100]
        assert pairs and all(one == label for one, label in pairs)


@pytest.mark.slow
def test_a_repair_looks_reproduces_edits_tests_and_submits(rows: list[dict[str, Any]]) -> None:
    for row in rows[-2:]:
        said = [message["content"] for message in row["messages"] if message["train"]]
        heard = [message["content"] for message in row["messages"][2:] if not message["train"]]
        tests = [at for at, text in enumerate(said) if "python3 -m pytest -q" in text]
        edits = [at for at, text in enumerate(said) if "<tool: edit>" in text]
        assert "git grep" in said[0] and "git apply" in said[1] and tests[0] == 2 and tests[1] == len(said) - 3
        assert tests[0] < edits[0] <= edits[-1] < tests[1] and "<tool: submit>" in said[-2]
        assert "[exit code 1]" in heard[tests[0]] and "E  " in heard[tests[0]] and "exit code" not in heard[tests[1]]
