"""How an attempt's submission ends: the reason of its grade, and the second-order bug. Scripts of the tests play."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from commands.solved_runs import pair, run
from run_fixtures import Command

from selfplay import patches
from selfplay.agent import EpisodeLimits
from selfplay.agent.actions import Call
from selfplay.commands import attemptable_bugs
from selfplay.commands.solve import solve_pool
from selfplay.curriculum import Attempt, Curriculum, open_curriculum
from selfplay.curriculum.summary import summarise
from selfplay.oracle.leak_audit.audit import Audit
from selfplay.repository import Prepared, rebuild
from selfplay.roles.role import Role
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.solver import SolverRun
from selfplay.sandbox import Backend
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers
from selfplay.scripted.policy import Script, ScriptedPolicy

__all__ = ["pair", "run"]

pytestmark = pytest.mark.slow  # a whole run to attempt, and many attempts

SUBMIT = Call("submit", {"folder": "/testbed"})


class Puppet:
    """A player whose attempts are the scripts given, by number."""

    name = "puppet"
    episodes = 0
    limits = EpisodeLimits()
    settings: Mapping[str, object] = {}

    def __init__(self, *scripts: Callable[[], Script[None]]) -> None:
        self.scripts = scripts

    async def open(self, say: Callable[[str], None]) -> None: ...

    def policy(self, role: Role[Any], task: Any) -> ScriptedPolicy:
        assert isinstance(task, SolverTask)
        return ScriptedPolicy("puppet", self.scripts[task.number]())

    async def close(self) -> None: ...


def steps(*calls: Call) -> Callable[[], Script[None]]:
    def play() -> Script[None]:
        for call in calls:
            _ = yield call

    return play


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


class Solved:
    """An open pool whose first bug the scripts attempt."""

    def __init__(self, pool: Curriculum, prepared: Prepared, backend: Backend, scripts: Sequence[Any]) -> None:
        self.pool, self.prepared, self.backend = pool, prepared, backend
        self.player, self.attempts = Puppet(*scripts), len(scripts)
        self.bug = pool.episodes.bugs()[0]
        self.said: list[str] = []

    def again(self, per_parent: int = 0, *, unauditable: bool = False) -> list[Attempt]:
        """Play what is not stored yet, and make so many second-order bugs. The stored attempts."""

        async def main() -> None:
            with Workers(2) as workers:
                seats = SandboxPool(self.backend)
                run = SolverRun(self.prepared, "puppet", self.player, seats, workers, unauditable=unauditable)
                await solve_pool(run, self.pool, self.attempts, per_parent, frozenset({self.bug.id}), self)

        asyncio.run(main())
        return [attempt for attempt in self.pool.attempts.all() if attempt.policy == "puppet"]

    def say(self, line: str) -> None:
        self.said.append(line)

    def expect(self, total: int | None, doing: str = "", done: int = 0) -> None: ...

    def attempt(self, attempt: Attempt) -> None: ...


Puppets = Callable[..., Solved]


@pytest.fixture
def puppets(run: Path, selfplay: Command, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Iterator[Puppets]:
    """`puppets(*scripts)`: an open pool, and what solves its first bug by these scripts."""
    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    with open_curriculum(run) as pool:

        def make(*scripts: Callable[[], Script[None]]) -> Solved:
            prepared = rebuild(run / "original", pool.bugs()[0].environment, backend=backend)
            return Solved(pool, prepared, backend, scripts)

        yield make


def test_what_is_handed_in_and_when(puppets: Puppets) -> None:
    solved = puppets(
        steps(),  # nothing
        steps(bash("echo 'x = 1' >> tinyshop/words.py")),  # changed, never submitted
        steps(SUBMIT),  # submitted without a change
        steps(SUBMIT, bash("echo 'x = 1' >> tinyshop/words.py"), SUBMIT),  # twice: the last counts
        steps(SUBMIT, bash("echo 'x = 1' >> tinyshop/words.py")),  # what stands at the end counts
        steps(bash("echo 'x = 1' >> tests/test_words.py; echo 'y = 2' >> tinyshop/words.py"), SUBMIT),
        steps(*[bash(f"echo {n}") for n in range(200)], SUBMIT),  # after its budget
    )  # fmt: skip
    found = solved.again()
    assert [attempt.reason for attempt in found] == [
        "nothing-handed-in", "nothing-handed-in", "empty", "failing-tests", "failing-tests", "failing-tests",
        "nothing-handed-in",
    ]  # fmt: skip
    assert "nothing was submitted (gave up)" in found[0].detail and "(out of calls)" in found[6].detail
    assert found[3].diff == found[4].diff != ""
    assert patches.touched_paths(found[5].diff) == ("tinyshop/words.py",)  # tests are put back anyway
    assert found[5].figures.left_out == ("tests/test_words.py",)


def test_a_policy_that_fails_ends_its_attempt_alone(puppets: Puppets) -> None:
    def broken() -> Script[None]:
        yield bash("true")
        raise RuntimeError("no idea")

    found = puppets(broken, steps(SUBMIT)).again()
    assert [attempt.reason for attempt in found] == ["nothing-handed-in", "empty"]
    assert "policy error: RuntimeError: no idea" in found[0].detail


def test_a_world_that_cannot_be_audited_is_left_out_unless_it_is_asked_for(
    puppets: Puppets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attemptable_bugs, "search_world", lambda *_: Audit(0, (), 0, "nothing to tell it by"))
    solved = puppets(steps(SUBMIT))
    assert solved.again() == []
    assert f"{solved.bug.id} cannot be audited: nothing to tell it by" in solved.said
    assert (
        solved.said[-1]
        == f"worlds that cannot be audited, left out; `selfplay solve --unauditable` takes them: {solved.bug.id}"
    )
    assert summarise(solved.pool)["quality"]["not_auditable"] == [solved.bug.id]
    assert [attempt.reason for attempt in solved.again(unauditable=True)] == ["empty"]  # and it is not searched again


@pytest.mark.long
def test_what_is_promoted_and_what_is_not(puppets: Puppets) -> None:
    change = bash("echo 'x = 1' >> tinyshop/words.py")
    solved = puppets(
        steps(SUBMIT),
        steps(bash("echo '# a remark' >> tinyshop/words.py"), SUBMIT),
        steps(bash("echo 'def test_x(): pass' > tests/test_new.py"), SUBMIT),
        steps(change, SUBMIT),
        steps(change, SUBMIT),
        steps(bash("echo 'import sys; sys.exit(1)' > conftest.py"), SUBMIT),
        steps(bash("rm -r tinyshop"), SUBMIT),
        steps(bash("printf 'x = (\\n' >> tinyshop/words.py"), SUBMIT),
        steps(bash("echo 'z = 1' >> tinyshop/words.py"), SUBMIT),
    )  # fmt: skip
    solved.again(per_parent=2)
    pool = solved.pool
    statuses = [(p.number, p.status) for p in pool.attempts.promotions()]
    assert statuses[:6] == [
        (0, "empty"), (1, "no-op"), (2, "empty"), (3, "promoted"), (4, "duplicate"),
        (5, "touches-infrastructure"),
    ]  # fmt: skip
    assert statuses[6] == (6, "nothing passes")  # every test is gone
    assert statuses[7][1] == "promoted" and len(statuses) == 8  # two were asked for: the ninth is not looked at
    solved.again(per_parent=2)
    assert len(pool.attempts.promotions()) == 8  # the same again makes nothing
    solved.again(per_parent=3)
    assert [p.status for p in pool.attempts.promotions()][8:] == ["promoted"]
    broken = pool.attempts.bugs()[1]
    assert set(broken.fail_to_pass) > set(solved.bug.fail_to_pass)  # a module that no longer loads takes more along
    assert len({p.tree_hash for p in pool.attempts.promotions() if p.bug}) == 3
