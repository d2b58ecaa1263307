"""Files of predictions in every form that tools write, and a batch in which one prediction touches no other."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from copied_runs import copy_of
from run_fixtures import Done

from selfplay.commands import predictions
from selfplay.commands.predictions import GradingOptions, grade_predictions, read_predictions
from selfplay.errors import SelfplayError
from selfplay.oracle.errors import OracleError, PredictionError
from selfplay.oracle.grades import Grade
from selfplay.sandbox import Backend

DIFF = "diff --git a/x b/x\n"


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        file = tmp_path / "preds.json"
        file.write_text(text)
        return file

    return write


ENTRY = {"instance_id": "a", "model_patch": DIFF, "model_name_or_path": "m"}
NULL = {"instance_id": "b", "model_patch": None}
DICTIONARY = {"a": ENTRY, "b": {"model_patch": None}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(DICTIONARY),
        json.dumps(DICTIONARY, indent=2),
        json.dumps([ENTRY, NULL]),
        json.dumps([ENTRY, NULL], indent=2),
        f"{json.dumps(ENTRY)}\n\n{json.dumps(NULL)}\n",
        f"\ufeff{json.dumps(ENTRY)}\r\n{json.dumps(NULL)}\r\n",
    ],
    ids=["dictionary", "dictionary on lines", "list", "list on lines", "JSON lines", "from Windows"],
)
def test_the_forms_that_tools_write(written: Callable[[str], Path], text: str) -> None:
    assert read_predictions(written(text)) == {"a": DIFF, "b": ""}


@pytest.mark.parametrize("indent", [None, 2])
def test_one_entry_alone(written: Callable[[str], Path], indent: int | None) -> None:
    assert read_predictions(written(json.dumps(ENTRY, indent=indent))) == {"a": DIFF}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (json.dumps({"a": NULL}), "the entry of 'a' is for 'b'"),
        ('{"a": {"model_patch": ""}, "a": {"model_patch": "x"}}', "the key 'a' occurs twice"),
        ('{"instance_id": "a", "model_patch": "", "model_patch": "x"}', "the key 'model_patch' occurs twice"),
        (json.dumps({"a": DIFF}), "an entry is not an object"),
        (json.dumps({"a": {}}), "entry 1 has no instance_id or no model_patch"),
        ("{}", "has no prediction"),
        ('{"a": {"model_patch": ""}', "is not JSON"),
    ],
)
def test_what_is_not_clear_is_refused(written: Callable[[str], Path], text: str, says: str) -> None:
    with pytest.raises(PredictionError) as caught:
        read_predictions(written(text))
    assert says in caught.value.message


ERRORS = {
    7: TypeError("a record is no mapping"),
    8: RecursionError("too deep"),
    9: MemoryError(),
    10: OracleError("its original fails"),
    11: SelfplayError("damaged"),
    12: UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"),
}


@pytest.mark.slow
def test_one_of_ten_thousand_touches_no_other(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ids = [f"bug {number} é'\n" for number in range(10_000)]
    broken = {ids[number]: error for number, error in ERRORS.items()}

    def grade(found: object, bug: str, *_: object) -> Grade:
        if bug in broken:
            raise broken[bug]
        return Grade(True, "resolved", "")

    monkeypatch.setattr(predictions, "bug_folders", lambda run: [tmp_path / bug for bug in ids])
    monkeypatch.setattr(predictions, "_prepared", lambda folder, *_: folder)
    monkeypatch.setattr(predictions, "gradable", lambda folder, prepared: None)
    monkeypatch.setattr(predictions, "graded", grade)
    found = dict(grade_predictions(tmp_path, {bug: bug for bug in ids}, backend, GradingOptions(workers=2)))
    reasons = Counter(grade.reason for grade in found.values())
    assert reasons == {"resolved": 10_000 - len(ERRORS), "error": 4, "cannot-be-graded": 2}
    assert found[ids[7]].detail == "TypeError: a record is no mapping" and not found[ids[7]].resolved
    assert (
        sum("could not be graded" in record.message and record.exc_info is not None for record in caplog.records) == 4
    )


def test_a_file_of_many_lines_is_refused(written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty ones, too: 67 MB of line ends took 46 s."""
    monkeypatch.setattr(predictions, "MOST_LINES", 1000)
    entry = json.dumps({"instance_id": "a", "model_patch": DIFF})
    assert read_predictions(written(entry + "\n" * 999)) == {"a": DIFF}
    with pytest.raises(PredictionError, match="has more than 1000 lines"):
        read_predictions(written(entry + "\n" * 1001))


@pytest.mark.slow
def test_a_bug_may_have_its_name_of_a_dataset(finished: tuple[Path, Done], backend: Backend) -> None:
    """As an agent leaves it that read an export."""
    run = finished[0]
    first, second = sorted(path.name for path in (run / "bugs").iterdir())[:2]
    found = dict(grade_predictions(run, {f"selfplay__{first}": "", second: ""}, backend, GradingOptions(workers=1)))
    assert {bug: grade.reason for bug, grade in found.items()} == {first: "empty", second: "empty"}
    with pytest.raises(PredictionError, match="two predictions are for"):
        list(grade_predictions(run, {f"selfplay__{first}": "", first: ""}, backend, GradingOptions(workers=1)))


@pytest.mark.slow
def test_a_damaged_bug_is_its_own_grade(finished: tuple[Path, Done], tmp_path: Path, backend: Backend) -> None:
    run = copy_of(finished[0], tmp_path / "run")
    first, second = sorted(path.name for path in (run / "bugs").iterdir())[:2]
    (run / "bugs" / first / "bug.json").write_text("{}")
    found = dict(grade_predictions(run, {first: "", second: ""}, backend, GradingOptions(workers=1)))
    assert {bug: grade.reason for bug, grade in found.items()} == {first: "cannot-be-graded", second: "empty"}
