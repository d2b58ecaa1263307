"""SkyRL on a served run, through skyrl-gym: call `register()` in each process, use `rows(run, "solver")` as the data
set.

SkyRL gives an environment the model's message as text, takes observations as chat messages, and needs a numeric reward
at each step; here all but the last are 0. Written for skyrl-gym 0.4.
"""

from pathlib import Path
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from selfplay.environments.client import Client, RemoteEpisode, RemoteStep
from selfplay.rl.credit.rules import RoleName

NAME = "selfplay"
LOST = 0.0
"""The reward of an episode that the machine lost: SkyRL cannot leave it out, so the metric `lost` counts them."""


def register() -> None:
    """Register the environment with SkyRL as `NAME`; may be called again."""
    if NAME not in skyrl_gym.envs.registration.registry:
        skyrl_gym.register(id=NAME, entry_point=f"{__name__}:SelfPlayEnv")


def rows(run: str | Path, role: RoleName, valid: float = 1.0) -> list[dict[str, Any]]:
    """A data set of the tasks that can be played now. `valid`: the immediate reward of a valid bug, since SkyRL ends an
    episode before the bug can be attempted; 1 is the paper's ablation (`rl/credit/rewards.py`, `consistency`)."""
    return [
        {
            "prompt": [{"role": "user", "content": f"{role}/{task}"}],  # the real prompt comes from the server
            "env_class": NAME, "run": str(run), "role": role, "task": task, "valid": valid,
        }
        for task in Client.of(run).tasks(role)
    ]  # fmt: skip


class SelfPlayEnv(BaseTextEnv):
    """An episode. `extras`: the other columns of its row."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._row = extras or {}
        self.max_turns = self._row.get("max_turns", 0)
        self._episode: RemoteEpisode | None = None

    def init(self, prompt: Any) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Begin an episode; returns the prompt."""
        self._episode = Client.of(self._row["run"]).begin(self._row["role"], self._row["task"])
        return self._episode.step.messages, {"group": self._episode.group}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """The answer to the model's message. Its last turn ends the episode: what was submitted is graded."""
        assert self._episode is not None, "init comes first"
        self.turns += 1
        step = self._episode.say(action)
        if not step.done and self.max_turns and self.turns >= self.max_turns:
            step = self._episode.stop()
        return BaseTextEnvStepOutput(
            observations=step.messages, reward=self._reward(step), done=step.done, metadata=step.result or {}
        )

    def close(self) -> None:
        """Free the episode's sandbox at any point."""
        if self._episode is not None:
            self._episode.close()

    def get_metrics(self) -> dict[str, Any]:
        result = (self._episode.step.result if self._episode else None) or {"outcome": "unfinished"}
        good = result["outcome"] in ("resolved", "valid")
        return {"good": float(good), "lost": float(result["outcome"] == "lost"), "turns": self.turns}

    def _reward(self, step: RemoteStep) -> float:
        if step.result is None:
            return 0.0
        if step.result["outcome"] == "valid":
            return float(self._row.get("valid", 1.0))
        return LOST if step.result["reward"] is None else float(step.result["reward"])
