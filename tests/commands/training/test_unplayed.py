"""A machine on which nothing can be played any more ends a training run; a bug or a few attempts do not."""

import pytest

from selfplay.commands.training.unplayed import UnplayedInARow
from selfplay.loop.errors import TrainingError


def lost(bug: str, *numbers: int) -> dict[tuple[str, int], str]:
    return {(bug, number): "/dev/null cannot be opened" for number in numbers}


def test_a_step_that_loses_all_its_attempts_ends_the_run() -> None:
    with pytest.raises(TrainingError) as ended:
        UnplayedInARow().note({**lost("a", *range(4)), **lost("b", *range(4))}, planned=8)
    assert ended.value.message == "8 attempts in a row could not be played: /dev/null cannot be opened"
    assert "resumes" in ended.value.hint


def test_so_do_small_steps_one_after_the_other() -> None:
    found = UnplayedInARow()
    for step in range(3):
        found.note(lost(f"bug {step}", 0, 1), planned=2)
    with pytest.raises(TrainingError):
        found.note(lost("bug 3", 0, 1), planned=2)


def test_an_attempt_that_was_played_clears_the_machine() -> None:
    found = UnplayedInARow()
    for step in range(20):
        found.note(lost(f"bug {step}", 0), planned=2 if step % 3 else 1)


def test_a_single_bug_may_itself_be_to_blame() -> None:
    found = UnplayedInARow()
    for step in range(5):
        found.note(lost("a", *range(8 * step, 8 * step + 8)), planned=8)
    with pytest.raises(TrainingError):
        found.note(lost("b", 0), planned=1)
