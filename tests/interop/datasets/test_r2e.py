"""R2E-Gym's reward: the outcomes of `run_tests.sh`, by its rule of names, are exactly those that the row expects.

R2E-Gym is on no package index, so its rule is written down here: what follows `short test summary info`, line by line,
PASSED before FAILED, the name being what stands behind the first `::`, with dots for further ones."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import forgery
import pools
import pytest
from interop_datasets import LANGUAGES, Log


def parsed(log: str) -> dict[str, str]:
    found = {}
    for line in log.split("short test summary info")[1].strip().split("\n"):
        for outcome in ("PASSED", "FAILED"):
            if outcome in line:
                found[".".join(line.split("::")[1:]).split(" - ")[0]] = outcome
                break
    return found


def script(place: Path) -> str:
    """What puts the files of an image in their places, and runs the tests."""
    lines = ["mkdir -p /testbed/r2e_tests"]
    for file in sorted(path for path in place.rglob("*") if path.is_file()):
        packed = base64.b64encode(file.read_bytes()).decode()
        lines.append(
            f"echo {packed} | base64 -d > /testbed/{file.relative_to(place).as_posix().removeprefix('testbed/')}"
        )
    return "\n".join([*lines, "bash /testbed/run_tests.sh"]) + "\n"


@pytest.mark.parametrize(("kind", "expected"), [("gold", True), ("empty", False)])
def test_the_reward_is_that_of_the_patch(exported: Callable[..., Path], log: Log, kind: str, expected: bool) -> None:
    out = exported("r2e")
    rewards = {}
    for row in pools.rows(out):
        patch = row["ssr_gold_patch"] if kind == "gold" else ""
        said = log(row, patch, script(out / "instances" / row["instance_id"]))
        rewards[row["ssr_language"]] = parsed(said) == json.loads(row["expected_output_json"])
    assert rewards == dict.fromkeys(LANGUAGES, expected)


def test_results_that_a_patch_prints_are_none(exported: Callable[..., Path], log: Log) -> None:
    out = exported("r2e")
    row = next(row for row in pools.rows(out) if row["ssr_language"] == "python")
    expected = json.loads(row["expected_output_json"])
    said = log(row, forgery.r2e(list(expected)), script(out / "instances" / row["instance_id"]))
    assert parsed(re.sub(r"\x1b\[[0-9;]*m|\r", "", said)) != expected
