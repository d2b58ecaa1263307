"""One episode: a policy and a sandbox take turns until the policy has handed something in or a budget is spent.

Follows CWM's scaffold (SSR uses it): one call a step, 128 calls, the budget left after each observation, the
episode ends with a turn without a call, the last submission counts.
"""

import logging
import time
from dataclasses import dataclass
from typing import Protocol

from selfplay.agent.actions import Budget, Call, Observation, readable
from selfplay.agent.tools import use
from selfplay.agent.trajectory import Finish, Step, Trajectory
from selfplay.sandbox import Sandbox, SandboxError

log = logging.getLogger(__name__)


class Policy(Protocol):
    """Whatever answers an observation with an action. One object plays one episode."""

    name: str

    def act(self, observation: Observation | None) -> Call | None:
        """The next call, given what the last one gave (None at first); None when there is nothing more to do."""
        ...


@dataclass(frozen=True)
class EpisodeLimits:
    """Calls and wall seconds one episode may use."""

    calls: int = 128
    seconds: float = 1800.0


def run_episode(policy: Policy, sandbox: Sandbox, role: str, limits: EpisodeLimits = EpisodeLimits()) -> Trajectory:
    """Play one episode to its end. Never raises for what the policy or the commands do: the finish says it."""
    return _Episode(policy, sandbox, limits).play(role)


class _Episode:
    def __init__(self, policy: Policy, sandbox: Sandbox, limits: EpisodeLimits) -> None:
        self.policy, self.sandbox, self.limits = policy, sandbox, limits
        self.started = time.monotonic()
        self.steps: list[Step] = []
        self.submission: str | None = None
        self.error = ""

    def play(self, role: str) -> Trajectory:
        finish = self._turns()
        return Trajectory(
            role=role,
            policy=self.policy.name,
            finish=finish,
            steps=tuple(self.steps),
            submission=self.submission,
            seconds=time.monotonic() - self.started,
            error=self.error,
        )

    def _budget(self) -> Budget:
        elapsed = time.monotonic() - self.started
        return Budget(self.limits.calls - len(self.steps), self.limits.seconds - elapsed)

    def _turns(self) -> Finish:
        observation: Observation | None = None
        while True:
            if self._budget().seconds <= 0:
                return Finish.OUT_OF_TIME
            try:
                call = self.policy.act(observation)
            except Exception as error:  # a policy is anybody's code: its failure ends one episode, not the run
                log.warning("policy %s failed", self.policy.name, exc_info=True)
                self.error = f"{type(error).__name__}: {error}"
                return Finish.POLICY_ERROR
            if call is None:
                return Finish.SUBMITTED if self.submission else Finish.GAVE_UP
            if self._budget().calls <= 0:
                return Finish.OUT_OF_CALLS
            try:
                observation = self._step(readable(call))
            except SandboxError as error:
                self.error = str(error)
                return Finish.SANDBOX_LOST

    def _step(self, call: Call) -> Observation:
        started = time.monotonic()
        result = use(call, self.sandbox, self._budget().seconds)
        self.steps.append(Step(call, result.output, result.exit_code, time.monotonic() - started))
        self.submission = result.submission or self.submission
        return Observation(result.output, result.exit_code, self._budget())
