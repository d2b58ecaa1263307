"""`selfplay grade` of a file of predictions, on a finished run of the tiny repository."""

import json
from pathlib import Path

import pytest
from commands.solved_runs import pair, run
from run_fixtures import Command

from selfplay import patches
from selfplay.artifact import load
from selfplay.curriculum.calibrations import CALIBRATION_FILE

__all__ = ["pair", "run"]

pytestmark = pytest.mark.slow  # a whole run, whose bugs are graded


@pytest.mark.slow
def test_a_file_of_predictions_is_graded(selfplay: Command, run: Path, tmp_path: Path) -> None:
    bugs = sorted(path.name for path in (run / "bugs").iterdir())
    gold = patches.reverse(load(run / "bugs" / bugs[0]).bug_inject)
    lines = [{"instance_id": bugs[0], "model_patch": gold, "model_name_or_path": "gold"}]
    lines.append({"instance_id": bugs[1], "model_patch": None})
    file = tmp_path / "predictions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = selfplay("grade", run, "--predictions", file, "--json")
    assert done.code == 1, done.err  # not all are resolved
    assert {bug: grade["reason"] for bug, grade in done.json.items()} == {bugs[0]: "resolved", bugs[1]: "empty"}
    file.write_text(json.dumps(lines[:1]))
    done = selfplay("grade", run, "--predictions", file)
    assert done.code == 0 and "1 of 1 resolved" in done.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"instance_id": "who", "model_patch": ""}\n', "1 prediction is for no bug of"),
        ("", "has no prediction"),
        ("[]", "has no prediction"),
        ("{", "is not JSON"),
        ("[3]", "an entry is not an object"),
        ("[" * 200_000, "nested too deep"),
        ('{"instance_id": "a", "model_patch": false}', "entry 1 has no instance_id or no model_patch"),
        ('{"instance_id": "a", "model_patch": ["x"]}', "entry 1 has no instance_id or no model_patch"),
        ('{"model_patch": "x"}', "entry 1 has no instance_id or no model_patch"),
        ('{"instance_id": "a", "model_patch": ""}\n{"instance_id": "a", "model_patch": ""}', "entry 2 is the second"),
        (b"\xff\xfe", "is not JSON as we write it"),
    ],
)
def test_a_file_that_holds_no_predictions(
    selfplay: Command, pair: Path, tmp_path: Path, content: str | bytes, says: str
) -> None:
    file = tmp_path / "predictions.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = selfplay.here("grade", pair, "--predictions", file)
    assert done.code == 2 and says in done.err


def test_one_kind_of_prediction_is_asked_for(selfplay: Command, run: Path) -> None:
    done = selfplay.here("grade", run)
    assert done.code == 2 and "give --patch FILE or --world DIR for one bug, or --predictions FILE" in done.err


def test_what_its_text_refuses_costs_no_calibration(selfplay: Command, run: Path, tmp_path: Path) -> None:
    bug = min((run / "bugs").iterdir())
    (bug / CALIBRATION_FILE).unlink(missing_ok=True)
    (tmp_path / "a.diff").write_text("Sorry, I could not fix it.\n")
    done = selfplay("grade", bug, "--patch", tmp_path / "a.diff", "--json")
    assert done.code == 1 and (done.json["reason"], done.json["runs"]) == ("malformed", 0)
    assert not (bug / CALIBRATION_FILE).exists()
