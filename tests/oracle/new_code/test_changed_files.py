"""What is not read of a prediction is said so: nothing hides behind many files, or behind one that costs much."""

from collections.abc import Callable

import pytest
from exploits.conftest import lab as lab
from exploits.projects import MONEY, Lab, write
from oracle.new_code.test_judge import SAME, layer

from selfplay.oracle.new_code import changed_files
from selfplay.workbench import reading

HEAVY = "WEIGHT = [" + ", ".join(["-" * 150 + "9"] * 60) + "]\n"


@pytest.mark.slow
def test_a_power_behind_many_files_is_seen(lab: Callable[[str], Lab], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the bug touched is read first, and what is not read makes the grade suspect."""
    monkeypatch.setattr(changed_files, "MOST_READ", 3)
    many = {f"ledger/a{number}.py": "x = 1\n" for number in range(5)}
    power = f"{SAME}import sys\nHERE = sys._getframe\n"
    for text, said in ((SAME, "it changes 6 Python files, of which 3 are read"), (power, "_getframe")):
        here = lab("python")
        grade = here.grade(here.diff(lambda root, text=text: write(root, {**many, "ledger/money.py": text})))
        assert not grade.resolved and said in layer(grade, "suspect").reason


@pytest.mark.slow
def test_what_a_prediction_adds_to_its_files_is_read_within_a_budget(
    lab: Callable[[str], Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three megabytes of a packed diff made 36 files of 16 MiB, which took 2.4 GB of the grader's memory; 404 kB made
    190 of 225 kB, which took a quarter of an hour."""
    monkeypatch.setattr(reading, "MOST_ADDED", 3000)
    here = lab("python")
    for size, resolved in ((500, True), (1000, False)):
        left = {f"scratch{number}.py": "#" * size for number in range(4)}
        grade = here.grade(here.diff(lambda root, left=left: write(root, {"ledger/money.py": MONEY, **left})))
        assert grade.resolved is resolved
    assert grade.reason == "breaks-the-grader" and "more than may be read" in grade.detail


@pytest.mark.slow
def test_a_file_that_costs_too_much_to_read_is_suspect(lab: Callable[[str], Lab]) -> None:
    """One that nothing loads is none of the program's."""
    here = lab("python")
    for files, resolved in (({"ledger/money.py": f"{MONEY}{HEAVY}"}, False), ({"scratch.py": HEAVY}, True)):
        grade = here.grade(here.diff(lambda root, files=files: write(root, {"ledger/money.py": MONEY, **files})))
        assert grade.resolved is resolved
        if not resolved:
            assert "its ledger/money.py is not read: its code is nested" in layer(grade, "suspect").reason
