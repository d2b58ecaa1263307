"""What another copy of the project holds is not proposed as a change."""

import re
import zlib

from selfplay.repository.copies import Copies
from selfplay.scripted.edits.cuts import Cut, PlantedChange
from selfplay.scripted.injector.elsewhere import Changes, new_only
from selfplay.scripted.policy import Script

LINES = [f"value = compute_{n}(value, {n})" for n in range(9)]
TEXT = "\n".join(LINES) + "\n"


def proposed(copied: list[str], *ways: tuple[Cut, ...]) -> list[tuple[Cut, ...]]:
    """The ways to change the text that are proposed, beside a copy with these lines."""
    waiting = [(PlantedChange("a.py", TEXT, "", cuts, ""),) for cuts in ways]

    def propose() -> Script[Changes]:
        yield from ()
        return waiting.pop(0) if waiting else ()

    tokens = [re.findall(r"\w+|[^\w\s]", line) for line in copied]
    runs = {" ".join(line[at : at + 5]).encode() for line in tokens for at in range(len(line) - 4)}
    copies = Copies(("/packages/a.py",), frozenset(map(zlib.crc32, runs)))
    asked, found = new_only(propose, copies), []
    while True:
        try:
            next(asked())
        except StopIteration as stop:
            if not stop.value:
                return found
            found.append(stop.value[0].cuts)


def test_changes_that_a_copy_gives_away_are_passed_over() -> None:
    """Each line has four runs of tokens. Of three removed ones the copy holds one: a third, a leak; of four, one."""
    three, four = (Cut(1, 1), Cut(3, 3), Cut(5, 5)), (Cut(1, 1), Cut(3, 3), Cut(5, 5), Cut(7, 7))
    assert proposed(LINES[:1], three, four) == [four]
    assert proposed([], three, four) == [three, four]


def test_a_line_that_stays_is_not_removed() -> None:
    kept = (Cut(1, 2, (LINES[0],)),)
    assert proposed(LINES[:1], kept) == [kept]


def test_without_a_copy_the_planner_itself_is_asked() -> None:
    def propose() -> Script[Changes]:
        yield from ()
        return ()

    assert new_only(propose, Copies()) is propose
