"""An episode of any role, as a player plays it: what all rollouts begin with."""

from typing import TypeVar

from selfplay.agent import Trajectory, play_episode
from selfplay.roles.role import Role
from selfplay.rollout.players import Player
from selfplay.rollout.scheduler import ModelDown
from selfplay.sandbox import Sandbox
from selfplay.sandbox.workers import Workers

T = TypeVar("T")


async def play_role(role: Role[T], task: T, player: Player, sandbox: Sandbox, workers: Workers) -> Trajectory:
    """Play one episode of the role in the sandbox. Raises `ModelDown` when the model did not answer."""
    trajectory = await play_episode(
        player.policy(role, task),
        sandbox,
        role.name,
        toolset=role.toolset,
        workers=workers,
        limits=player.limits,
        hand_in=role.hand_in,
    )
    if trajectory.outage:
        raise ModelDown(trajectory.error)
    return trajectory
