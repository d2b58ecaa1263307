"""`selfplay validate` on the bugs of a real run, whole and tampered with."""

import json
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import hand_made
import pytest
from commands.finished_runs import first_bug, rewrite, run
from run_fixtures import Command

from selfplay.artifact import load

__all__ = ["run"]


@pytest.mark.slow
def test_all_bugs_of_a_run_are_valid_again(selfplay: Command, run: Path) -> None:
    done = selfplay("validate", run, "--json")
    assert done.code == 0, done.err
    assert sorted(one["id"] for one in done.json) == sorted(path.name for path in (run / "bugs").iterdir())
    for one in done.json:
        assert one["valid"] and [v["passed"] for v in one["verdicts"]] == [True] * 8


@pytest.mark.slow
def test_the_table_names_each_check_with_its_seconds(selfplay: Command, run: Path) -> None:
    done = selfplay("validate", first_bug(run))
    assert done.code == 0 and done.out.count("passed") == 8 and first_bug(run).name in done.out
    for name in ("test_files", "parser", "test_script", "scope", "bug", "weakening", "inverse_mutation", "determinism"):
        assert name in done.out


@pytest.mark.long
def test_a_tampered_diff_is_not_valid_and_the_others_are_still_checked(selfplay: Command, run: Path) -> None:
    bug = first_bug(run)
    rewrite(bug / "bug_inject.diff", lambda text: text.replace("@@", "@@", 1) + "\n")
    done = selfplay("validate", run, "--json")
    assert done.code == 1, done.err
    by_id = {one["id"]: one for one in done.json}
    assert len(by_id) == 4
    assert not by_id[bug.name]["valid"]
    assert by_id[bug.name]["verdicts"][0]["reason"] == "the five files are not those bug.json was written for"
    assert sum(one["valid"] for one in done.json) == 3


@pytest.mark.slow
def test_a_bug_that_lost_a_file_is_not_valid(selfplay: Command, run: Path) -> None:
    bug = first_bug(run)
    (bug / "test_parser.py").unlink()
    done = selfplay("validate", bug)
    assert done.code == 1 and "test_parser.py is missing" in done.out


@pytest.mark.slow
def test_a_bug_that_lost_its_record_is_not_skipped(selfplay: Command, run: Path) -> None:
    (first_bug(run) / "bug.json").unlink()
    done = selfplay("validate", run, "--json")
    assert done.code == 1 and len(done.json) == 4 and sum(one["valid"] for one in done.json) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("repeats", 1, "repeats is 1; between 2 and"),
        ("repeats", 0, "every threshold must be at least 1"),
        ("seconds", 1e9, "a test script has at most 90"),
    ],
)
def test_a_bug_cannot_soften_its_own_checks(selfplay: Command, run: Path, field: str, value: float, said: str) -> None:
    bug = first_bug(run)
    record = json.loads((bug / "bug.json").read_text())
    record["thresholds"][field] = value
    (bug / "bug.json").write_text(json.dumps(record))
    done = selfplay("validate", bug, "--json")
    assert done.code == 1 and "Traceback" not in done.err
    assert said in done.json[0]["verdicts"][0]["reason"]


@pytest.mark.slow
def test_a_record_that_keeps_tests_back_disagrees(selfplay: Command, run: Path) -> None:
    bug = first_bug(run)
    record = json.loads((bug / "bug.json").read_text())
    record["pass_to_pass"] = []
    (bug / "bug.json").write_text(json.dumps(record))
    done = selfplay("validate", bug, "--json")
    assert done.code == 1 and done.json[0]["verdicts"][-1]["check"] == "record"


@pytest.mark.slow
def test_a_record_that_calls_its_tests_flaky_disagrees(selfplay: Command, run: Path) -> None:
    """One test would be left to decide each grade."""
    bug = first_bug(run)
    record = json.loads((bug / "bug.json").read_text())
    record["flaky"], record["pass_to_pass"] = record["pass_to_pass"], []
    (bug / "bug.json").write_text(json.dumps(record))
    done = selfplay("validate", bug, "--json")
    last = done.json[0]["verdicts"][-1]
    assert (done.code, last["check"]) == (1, "record") and "as flaky that do not vary" in last["reason"]


@pytest.mark.slow
def test_a_bug_that_breaks_nothing_is_not_valid(selfplay: Command, run: Path) -> None:
    """Its files agree with its record, and still the fifth check says no: the diff only adds a comment."""
    bug = first_bug(run)

    def edit(root: Path) -> None:
        path = root / "tinyshop" / "prices.py"
        path.write_text(path.read_text() + "UNUSED = 1\n")

    (bug / "bug_inject.diff").write_text(hand_made.diff(run / "original", edit))
    record = json.loads((bug / "bug.json").read_text())
    record["content_hash"] = load(bug).content_hash()
    (bug / "bug.json").write_text(json.dumps(record))
    done = selfplay("validate", bug, "--json")
    assert done.code == 1, done.err
    (found,) = done.json
    assert found["verdicts"][-1]["check"] == "bug" and not found["verdicts"][-1]["passed"]


def another_tree(run: Path) -> None:
    """A copy sent back changed: what its user had allowed for his own tree was run on another, unasked."""
    rewrite(run / "original/tinyshop/prices.py", lambda text: text + "x = 1\n")
    for path in run.glob("bugs/*/bug.json"):
        record = json.loads(path.read_text())
        del record["environment"]["tree_hash"]
        path.write_text(json.dumps(record))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("break_it", "begins", "said"),
    [
        (lambda run: shutil.rmtree(run / "bugs"), "selfplay: ", "has no bug"),
        (lambda run: rewrite(run / "original/tinyshop/prices.py", lambda text: text + "x = 1\n"),
         "", "is not the recorded tree"),
        (another_tree, "", "is not the recorded tree"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_exits_2(
    selfplay: Command, run: Path, break_it: Callable[[Path], None], begins: str, said: str
) -> None:
    """What ends the command is an error of it; a bug of a run that cannot be checked is a result, among others."""
    break_it(run)
    done = selfplay("validate", run)
    assert done.code == 2 and "Traceback" not in done.err
    lines = done.err.splitlines() if begins else done.out.splitlines()
    assert any(line.startswith(begins) and said in line for line in lines), lines


@pytest.mark.slow
def test_a_run_folder_that_is_not_there(selfplay: Command, tmp_path: Path) -> None:
    done = selfplay("validate", tmp_path / "nowhere")
    assert done.code == 2 and f"{tmp_path / 'nowhere'} has no bug" in done.err
    assert "Name a bug's folder (it holds bug.json) or a run's folder." in done.err


@pytest.mark.slow
def test_a_bug_alone_is_checked_against_its_source(selfplay: Command, run: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copytree(first_bug(run), tmp_path / "alone"))
    done = selfplay("validate", alone)
    assert done.code == 0, done.err


@pytest.mark.slow
def test_an_interrupt_says_what_was_checked(selfplay: Command, run: Path) -> None:
    """Of forty bugs, so that no machine has checked the last before the interrupt comes."""
    (run / "curriculum.sqlite").unlink()  # without a pool, every folder in bugs/ is a bug
    for folder in list((run / "bugs").iterdir()):
        for number in range(9):
            shutil.copytree(folder, folder.with_name(f"{folder.name}-{number}"))
    with selfplay.running("validate", run, "--workers", 1) as validating:
        validating.until("1 of 40")
        code, said = validating.ends_by(signal.SIGINT)
    assert code == 130 and "Traceback" not in said, said
    checked = re.search(r"interrupted: (\d+) of 40 .*checked", said)
    assert checked and 1 <= int(checked[1]) < 40
