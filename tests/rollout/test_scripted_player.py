"""A script whose command was killed is played again, once for each episode and command."""

import asyncio

import pytest

from selfplay.agent import Budget, Observation
from selfplay.roles.role import Role
from selfplay.roles.solver import SOLVER
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.players import UnknownPolicy
from selfplay.rollout.scripted_player import ScriptedPlayer
from selfplay.sandbox.kill_detection import ProgramKilled
from selfplay.sandbox.protocol import KILLED

DIFF = "diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1,1 +1,1 @@\n-x\n+y\n"
GONE = Observation("", min(KILLED), Budget(1, 1.0))


def is_told(player: ScriptedPlayer, number: int) -> bool:
    """Whether the kill of the first command ends this attempt, to be played again."""
    policy = player.policy(SOLVER, SolverTask("shop-1", DIFF, 0, number))

    async def play() -> None:
        await policy.act(None)
        await policy.act(GONE)

    try:
        asyncio.run(play())
    except ProgramKilled:
        return True
    return False


def test_a_kill_is_told_once_for_each_episode() -> None:
    player = ScriptedPlayer()
    assert [is_told(player, number) for number in (0, 0, 2, 2)] == [True, False, True, False]


def test_a_task_of_another_role_needs_no_field_of_ours() -> None:
    """An episode is named by its role, not by the fields that our two tasks have."""
    role: Role[str] = Role("judge", SOLVER.toolset, (), lambda task: task, lambda task: task)
    with pytest.raises(UnknownPolicy, match="the policy scripted does not play the role judge"):
        ScriptedPlayer().policy(role, "a task")
