"""An episode played to its end, for tests that have no event loop of their own."""

import asyncio

from selfplay.agent import EpisodeLimits, Policy, Toolset, Trajectory, play_episode
from selfplay.agent.tools import SSR_TOOLS
from selfplay.sandbox import Sandbox
from selfplay.sandbox.workers import Workers


def played(
    policy: Policy,
    sandbox: Sandbox,
    role: str = "injector",
    limits: EpisodeLimits = EpisodeLimits(),
    hand_in: tuple[str, ...] = (),
    toolset: Toolset = SSR_TOOLS,
) -> Trajectory:
    async def run() -> Trajectory:
        with Workers(2) as workers:
            return await play_episode(
                policy, sandbox, role, toolset=toolset, workers=workers, limits=limits, hand_in=hand_in
            )

    return asyncio.run(run())
