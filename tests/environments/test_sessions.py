"""Sessions without a repository: what is awaited, refused, given up and lost."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from selfplay.agent import EpisodeLimits, Trajectory
from selfplay.agent.actions import Budget, Call, Finish, Observation, Stop
from selfplay.agent.episode import EpisodeLost
from selfplay.environments.errors import Busy, Conflict, NoSession, NoTask
from selfplay.environments.results import BugCredit, SessionResult
from selfplay.environments.session import SessionEpisode, Told
from selfplay.environments.sessions import Sessions
from selfplay.rl.credit.rules import RoleName
from selfplay.roles.solver import SOLVER, SolverTask
from selfplay.rollout.players import Player
from selfplay.sandbox import Cause, MachineError, SandboxLost

TASK = SolverTask("b", "a specification")
DONE = SessionResult("resolved", 1.0)
CALL = "<tool: bash>\nls\n</tool>"
Play = Callable[[Player], Awaitable[SessionResult]]


class Run:
    """A `Playable` with one task."""

    def __init__(self, play: Play) -> None:
        self.play = play

    def tasks(self, role: RoleName) -> list[str]:
        return ["b"]

    async def episode(self, role: RoleName, task: str) -> SessionEpisode:
        if task != "b":
            raise NoTask(f"no {task}")
        return SessionEpisode(task, self.play)

    def credit(self, bug: str) -> BugCredit:
        return BugCredit(0, 0, None)


def sessions(play: Play, most: int = 1, silent: float = 60.0) -> Sessions:
    return Sessions(Run(play), EpisodeLimits(), most, silent)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


async def one_call(player: Player) -> SessionResult:
    """An episode of one call: resolved if the model made it, else what its end was."""
    policy = player.policy(SOLVER, TASK)
    turn = await policy.act(None)
    if isinstance(turn, Stop):
        return SessionResult("failed", -1.0, finish=str(turn.finish))
    assert isinstance(turn, Call) and turn.arguments == {"command": "ls"}
    after = await policy.act(Observation("a.py", 0, Budget(3, 60.0), submitted=True))
    assert isinstance(after, Stop) and after.said == "done"
    return DONE


def test_each_message_is_answered_with_what_is_new() -> None:
    async def scenario() -> None:
        found = sessions(one_call)
        name, group, told = await found.begin("solver", "b", 0)
        assert group == "b" and isinstance(told, Told)
        assert [one.role for one in told.messages] == ["system", "user"] and "a specification" in told.messages[
            1
        ].content
        told = await found.say(name, CALL)
        assert isinstance(told, Told) and [one.role for one in told.messages] == ["user"]
        assert "a.py" in told.messages[0].content and "3 calls" in told.messages[0].content
        assert await found.say(name, "done") == DONE
        with pytest.raises(NoSession):
            await found.say(name, "more")

    run(scenario())


def test_a_message_that_was_cut_off_is_no_call() -> None:
    async def scenario() -> None:
        found = sessions(one_call)
        name, _, _ = await found.begin("solver", "b", 0)
        told = await found.say(name, "<tool: bash>\nls", cut_off=True)
        assert isinstance(told, SessionResult) and told.outcome == "lost", "the episode above wants a call"

    run(scenario())


def test_a_trainer_that_ends_an_episode_has_a_result() -> None:
    async def scenario() -> None:
        found = sessions(one_call)
        name, _, _ = await found.begin("solver", "b", 0)
        assert await found.stop(name) == SessionResult("failed", -1.0, finish="out_of_context")
        await found.begin("solver", "b", 0)  # its place is free

    run(scenario())


def test_places_are_given_back_whatever_happens() -> None:
    async def broken(player: Player) -> SessionResult:
        raise MachineError("the machine is full")

    async def scenario() -> None:
        found = sessions(broken)
        for _ in range(3):
            with pytest.raises(NoTask):
                await found.begin("solver", "elsewhere", 0)
            _, _, result = await found.begin("solver", "b", 0)
            assert isinstance(result, SessionResult) and (result.outcome, result.reward) == ("lost", None)
            assert "the machine is full" in result.reason

    run(scenario())


@pytest.mark.parametrize(
    ("role", "cause", "outcome", "reward"),
    [
        ("solver", Cause.LIMIT, "failed", -1.0),
        ("injector", Cause.LIMIT, "invalid", -1.0),
        ("solver", Cause.UNKNOWN, "lost", None),
    ],
)
def test_who_meets_a_limit_of_the_sandbox_is_to_blame(
    role: RoleName, cause: Cause, outcome: str, reward: float | None
) -> None:
    async def greedy(player: Player) -> SessionResult:
        lost = SandboxLost("more than its memory", cause=cause)
        raise EpisodeLost(lost, Trajectory(role, "outside", Finish.SANDBOX_LOST))

    async def scenario() -> None:
        _, _, result = await sessions(greedy).begin("solver", "b", 0)
        assert isinstance(result, SessionResult) and (result.outcome, result.reward) == (outcome, reward)
        assert result.finish == ("" if reward is None else "over_limits")

    run(scenario())


def test_a_place_is_awaited_as_long_as_was_said() -> None:
    async def scenario() -> None:
        found = sessions(one_call)
        name, _, _ = await found.begin("solver", "b", 0)
        with pytest.raises(Busy, match="all 1 sessions"):
            await found.begin("solver", "b", 0.01)
        waiting = asyncio.create_task(found.begin("solver", "b", 60))
        await asyncio.sleep(0)
        await found.close(name)
        assert isinstance((await waiting)[2], Told)

    run(scenario())


def test_two_messages_at_once_are_refused_and_a_closed_episode_is_cancelled() -> None:
    async def scenario() -> None:
        calling, ended = asyncio.Event(), asyncio.Event()

        async def play(player: Player) -> SessionResult:
            try:
                await player.policy(SOLVER, TASK).act(None)
                calling.set()
                await asyncio.Event().wait()
            finally:
                ended.set()
            return DONE

        found = sessions(play)
        name, _, _ = await found.begin("solver", "b", 0)
        first = asyncio.create_task(found.say(name, CALL))
        await calling.wait()
        with pytest.raises(Conflict, match="another message"):
            await found.say(name, CALL)
        await found.close(name)
        result = await first
        assert ended.is_set() and isinstance(result, SessionResult) and result.outcome == "lost"

    run(scenario())


def test_a_session_whose_trainer_is_silent_is_closed() -> None:
    async def scenario() -> None:
        ended = asyncio.Event()

        async def play(player: Player) -> SessionResult:
            try:
                await player.policy(SOLVER, TASK).act(None)
            finally:
                ended.set()
            return DONE

        found = sessions(play, silent=0.05)
        sweeping = asyncio.create_task(found.sweep())
        name, _, _ = await found.begin("solver", "b", 0)
        await ended.wait()
        with pytest.raises(NoSession, match="silent for"):
            await found.say(name, CALL)
        sweeping.cancel()

    run(scenario())
