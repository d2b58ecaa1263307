"""Which bugs a step of a training run attempts, and under which numbers; steps may choose at once."""

import asyncio
from collections.abc import Set
from pathlib import Path
from typing import Any, cast

import pytest
from curriculum.test_crediting import attempt, injection

from selfplay.commands.training.choice import ONLY, TRAINING, AttemptChoice
from selfplay.curriculum import Curriculum, open_curriculum
from selfplay.loop.config import TrainConfig
from selfplay.loop.ledger import Ledger, open_ledger
from selfplay.loop.ledger_values import Attempted
from selfplay.loop.step_record import StepRecord

BUGS = ("b.0", "b.1", "b.2")


class SlowBugs:
    """Reads bugs as slowly as audits are; those of `bad` cannot be attempted."""

    def __init__(self, bad: Set[str] = frozenset()) -> None:
        self.ready: dict[str, Any] = {}
        self.asked: list[str] = []
        self._bad = bad

    async def read(self, bugs: Set[str]) -> None:
        await asyncio.sleep(0.01)
        self.asked += sorted(bugs)
        self.ready |= {bug: bug for bug in bugs - self._bad}

    async def promote(self, bugs: Set[str], most: int) -> None:
        """There are none of second order."""


@pytest.fixture
def pool(tmp_path: Path) -> Any:
    with open_curriculum(tmp_path) as found:
        for number in range(len(BUGS)):
            found.episodes.store(injection(number, "valid"))
        found.episodes.take(None, repository="s")
        found.attempts.add(attempt(4, "resolved", bug="b.1", policy=TRAINING))
        yield found


def choice(pool: Curriculum, ledger: Ledger, slow: SlowBugs, **solver: Any) -> AttemptChoice:
    config = TrainConfig.model_validate({
        "source": "s", "model": "none", "play": {"context": 64}, "injector": {"groups": 0},
        "solver": {"attempts": 2, **solver}, "recipe": {"budget": 64},
    })  # fmt: skip
    return AttemptChoice(config, pool, ledger, slow)


async def begun(choosing: AttemptChoice, step: int, injections: list[tuple[str, int]]) -> Attempted:
    """As a step begins: planned, chosen, and written down."""
    plan = choosing.ledger.begin(step, 0, injections)
    found = await choosing.chosen(step, plan.injections)
    choosing.ledger.choose(step, found)
    return found


def test_steps_that_choose_at_once_never_share_an_attempt(pool: Curriculum, tmp_path: Path) -> None:
    """Three bugs, all of them in each step, four steps at once: 24 attempts, and those at b.1 begin above number 4."""
    with open_ledger(tmp_path) as ledger:
        run = choice(pool, ledger, SlowBugs(), bugs=3)

        async def at_once() -> list[Attempted]:
            return list(await asyncio.gather(*(begun(run, step, []) for step in range(4))))

        found = [one for step in asyncio.run(at_once()) for one in step]
    assert len(found) == 24 == len(set(found))
    assert sorted(number for bug, number in found if bug == "b.1") == list(range(5, 13))


def test_new_bugs_come_first_and_old_ones_fill_up(pool: Curriculum, tmp_path: Path) -> None:
    """One that cannot be attempted is passed over for the next of the lot; no more are read than are wanted. Until a
    step is finished, its new bugs are no other's."""
    with open_ledger(tmp_path) as ledger:
        run = choice(pool, ledger, SlowBugs(), bugs=2)
        assert [bug for bug, _ in asyncio.run(begun(run, 0, [("s", 2)]))][:2] == ["b.2", "b.2"]
        assert len(run.bugs.ready) == 2
        every = choice(pool, ledger, SlowBugs(), bugs=1)
        three = asyncio.run(begun(every, 1, [("s", 0), ("s", 1), ("s", 2)]))
        assert {bug for bug, _ in three} == set(BUGS)
        assert asyncio.run(every.chosen(7, [])) == []
        for step in (0, 1):
            ledger.finish(cast(StepRecord, {"number": step}))
        for bad in BUGS:
            left = choice(pool, ledger, SlowBugs({bad}), bugs=2)
            assert {bug for bug, _ in asyncio.run(left.chosen(7, []))} == set(BUGS) - {bad}


def test_old_bugs_that_are_not_named_are_not_read(pool: Curriculum, tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        ledger.settle({ONLY: ["b.1"]})
        bugs = SlowBugs()
        run = choice(pool, ledger, bugs, bugs=3)
        assert asyncio.run(begun(run, 0, [])) == [("b.1", 5), ("b.1", 6)] and bugs.asked == ["b.1"]
