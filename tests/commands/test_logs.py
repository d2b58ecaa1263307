"""`selfplay logs`: a dataset's own evaluation of predictions, without an engine, for the grader of its tool."""

import json
import subprocess
import sys
from pathlib import Path

import hand_made
import pools
import pytest
from run_fixtures import Command, Done

from selfplay.commands.logs import LOG, NOT_APPLIED

BAD = "diff --git a/none.py b/none.py\n--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-no such line\n+another\n"


def outcomes(log: Path) -> dict[str, str]:
    """Test -> PASSED or FAILED, as a grader reads a log."""
    lines = log.read_text().partition(">>>>> Start Test Output")[2].splitlines()
    told = (line.split(" ", 1) for line in lines if line.startswith(("PASSED ", "FAILED ")))
    return {test: outcome for outcome, test in told}


@pytest.mark.long
@pytest.mark.parametrize("form", ["swebench", "swesmith"])
def test_a_log_says_how_the_tests_that_decide_end(
    selfplay: Command, finished: tuple[Path, Done], tmp_path: Path, form: str
) -> None:
    """Four bugs: gold passes all that decides, nothing fails all of F2P, a patch that does not fit says so."""
    run, out = finished[0], tmp_path / "out"
    assert selfplay("export", run, "--format", form, "--out", out).code == 0
    rows = {row["instance_id"]: row for row in pools.rows(out)}
    for kind in ("gold", "empty"):
        predictions = out / "predictions" / f"{kind}.jsonl"
        done = selfplay("logs", run, "--format", form, "--predictions", predictions, "--out", tmp_path / kind)
        assert done.code == 0 and "4 logs in" in done.out, done.err
    for name, row in rows.items():
        read = json.loads if form == "swebench" else list
        fails, passes = read(row["FAIL_TO_PASS"]), read(row["PASS_TO_PASS"])
        assert outcomes(tmp_path / "gold" / name / LOG).items() >= dict.fromkeys(fails + passes, "PASSED").items()
        empty = outcomes(tmp_path / "empty" / name / LOG)
        assert all(empty.get(test) != "PASSED" for test in fails) and all(empty[test] == "PASSED" for test in passes)
    name = min(rows)
    (tmp_path / "bad.json").write_text(json.dumps([{"instance_id": name, "model_patch": BAD}]))
    done = selfplay("logs", run, "--format", form, "--predictions", tmp_path / "bad.json", "--out", tmp_path / "bad")
    assert done.code == 0 and (tmp_path / "bad" / name / LOG).read_text().startswith(NOT_APPLIED)


@pytest.mark.slow
def test_a_prediction_that_is_no_text_loses_no_other(
    selfplay: Command, finished: tuple[Path, Done], tmp_path: Path
) -> None:
    run, out = finished[0], tmp_path / "out"
    assert selfplay("export", run, "--format", "swebench", "--out", out).code == 0
    first, second, *_ = sorted(row["instance_id"] for row in pools.rows(out))
    told = [{"instance_id": first, "model_patch": "\ud800"}, {"instance_id": second, "model_patch": ""}]
    (tmp_path / "told.json").write_text(json.dumps(told))
    logs = tmp_path / "logs"
    done = selfplay("logs", run, "--format", "swebench", "--predictions", tmp_path / "told.json", "--out", logs)
    assert "half of a character" in done.err + done.out and not (logs / first).exists()
    assert (logs / second / LOG).exists()


@pytest.mark.slow
def test_the_rule_of_r2e_rewards_gold_alone(selfplay: Command, finished: tuple[Path, Done], tmp_path: Path) -> None:
    run, out = finished[0], tmp_path / "out"
    assert selfplay("export", run, "--format", "r2e", "--out", out).code == 0
    for kind, rewarded in (("gold", 4), ("empty", 0)):
        predictions, logs = out / "predictions" / f"{kind}.jsonl", tmp_path / kind
        assert selfplay("logs", run, "--format", "r2e", "--predictions", predictions, "--out", logs).code == 0
        command = [sys.executable, *map(str, (out / "grade_logs.py", predictions, logs))]
        said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        assert said == f"Rewarded {rewarded} of 4\n"


@pytest.mark.parametrize(
    ("form", "name", "says"),
    [
        ("swebench", "nobody", "1 prediction is for no bug of these runs as swebench names them, first 'nobody'"),
        ("swesmith", "selfplay__shop-1.removal.0", "They are named like 'pypi__shop."),
        ("harbor", "x", "is swebench, swesmith or r2e"),
    ],
    ids=["nobody", "names of another format", "a format without logs"],
)
def test_what_is_for_no_bug_ends_before_anything_runs(
    selfplay: Command, tmp_path: Path, form: str, name: str, says: str
) -> None:
    run = pools.pool(tmp_path / "run", hand_made.original("python"), pools.numbered(hand_made.artifact("python"), 1))
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps([{"instance_id": name, "model_patch": ""}]))
    done = selfplay("logs", run, "--format", form, "--predictions", file, "--out", tmp_path / "out")
    assert done.code == 2 and says in " ".join(done.err.split()), done.err
    assert not (tmp_path / "out").exists()
