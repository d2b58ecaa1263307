"""Of a run with hundreds of bugs that are left out, a user reads a few lines."""

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.commands.attemptable_bugs import ready_bugs
from selfplay.commands.limited_lines import MOST_LINES, LimitedLines


@pytest.mark.parametrize("lines", [0, 1, MOST_LINES, MOST_LINES + 1, 400])
def test_the_first_lines_and_the_number_of_the_others(lines: int) -> None:
    said: list[str] = []
    few = LimitedLines(said.append, "bugs")
    for number in range(lines):
        few(str(number))
    few.end()
    more = [f"and {lines - MOST_LINES} more bugs like these"] if lines > MOST_LINES else []
    assert said == [str(number) for number in range(min(lines, MOST_LINES))] + more


@dataclass
class Planted:
    id: str
    tree_hash: str = "another"
    source: str = "elsewhere"


async def left_out(count: int) -> list[str]:
    said: list[str] = []
    run: Any = SimpleNamespace(
        prepared=SimpleNamespace(tree_hash="this"), seats=None, workers=None, limits=None, unauditable=False
    )
    attempts = SimpleNamespace(audited=dict)
    lost = SimpleNamespace(count_again=lambda: None)
    pool: Any = SimpleNamespace(bugs=lambda: [Planted(f"bug-{n}") for n in range(count)], attempts=attempts, lost=lost)
    assert await ready_bugs(run, pool, None, said.append) == []
    return said


def test_four_hundred_bugs_of_another_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(*_: object) -> Any:
        for one in ():
            yield one

    monkeypatch.setattr("selfplay.commands.attemptable_bugs.in_leases", none)
    said = asyncio.run(left_out(400))
    assert len(said) == MOST_LINES + 1 and said[-1] == "and 395 more bugs like these"
