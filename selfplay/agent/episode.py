"""One episode: a policy and a sandbox take turns until the policy stops or a budget is spent.

Follows CWM's scaffold (SSR uses it): one call per step, 128 calls, the remaining budget after each observation, and the
last submission counts. A policy ends its episode with a `Stop` or None. A model does so by a message without a call,
but only after a submission: before that, its conversation answers the message as malformed, a few times. Deviation: a
policy that repeats one call with one result `LOOP` times is stopped, since it would only repeat it.

A lost sandbox raises `EpisodeLost`, and the caller plays the episode again from its start. So does a command of a
script that something else on the machine killed: the script's plan would silently change, where a model just sees one
more observation.
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from selfplay.agent.actions import Budget, Call, Finish, Malformed, Observation, Stop, Turn
from selfplay.agent.toolset import COMMAND_SECONDS, BadCall, ToolContext, ToolFailed, ToolResult, Toolset
from selfplay.agent.trajectory import MALFORMED, Record, Step, Trajectory
from selfplay.sandbox import InsideError, Sandbox, SandboxLost
from selfplay.sandbox.workers import Workers

log = logging.getLogger(__name__)

LOOP = 16
"""An episode is stopped after this many equal steps in a row."""


@dataclass(frozen=True)
class EpisodeLimits:
    """Calls and wall seconds one episode may use."""

    calls: int = 128
    seconds: float = 1800.0


class EpisodeLost(SandboxLost):
    """An episode that lost its sandbox; `trajectory` holds its steps so far, with the finish `sandbox_lost`, or all of
    them where what it handed in lost one."""

    def __init__(self, lost: SandboxLost, trajectory: Trajectory) -> None:
        super().__init__(lost.message, lost.hint, cause=lost.cause)
        self.trajectory = trajectory


@contextmanager
def belongs_to(trajectory: Trajectory) -> Iterator[None]:
    """What becomes of an episode's result is done in here: where it loses a sandbox, the episode is lost with it. What
    an agent left behind may be why."""
    try:
        yield
    except SandboxLost as lost:
        raise EpisodeLost(lost, trajectory) from lost


class Policy(Protocol):
    """Anything that answers an observation with a turn: a model, a script. One object plays one episode."""

    @property
    def name(self) -> str: ...

    async def act(self, observation: Observation | None) -> Turn:
        """The next turn, given the last observation (None at first). None ends the episode."""
        ...

    def record(self) -> Record:
        """The policy's record of the episode: a model's messages and tokens; empty for a script."""
        ...


async def play_episode(
    policy: Policy,
    sandbox: Sandbox,
    role: str,
    *,
    toolset: Toolset,
    workers: Workers,
    limits: EpisodeLimits = EpisodeLimits(),
    hand_in: tuple[str, ...] = (),
) -> Trajectory:
    """Play one episode to its end. Errors of the policy or of commands never raise: the finish reports them. The calls
    are counted once the policy has answered: its last message may still say that it stops.

    `workers`: the threads that run the tools. `hand_in`: the file names that a submission must contain; empty when the
    repository itself is submitted. Raises `EpisodeLost`, and `SandboxError` when the sandbox refuses to go on.
    """
    return await _Episode(policy, sandbox, role, toolset, workers, limits, hand_in).play()


class _Episode:
    def __init__(
        self,
        policy: Policy,
        sandbox: Sandbox,
        role: str,
        toolset: Toolset,
        workers: Workers,
        limits: EpisodeLimits,
        hand_in: tuple[str, ...],
    ) -> None:
        self.policy, self.sandbox, self.role, self.toolset = policy, sandbox, role, toolset
        self.workers, self.limits, self.hand_in = workers, limits, hand_in
        self.started = time.monotonic()
        self.steps: list[Step] = []
        self.submission: str | None = None
        self.error = self.last_words = ""
        self.equal = 0

    async def play(self) -> Trajectory:
        try:
            return self._trajectory(await self._turns())
        except SandboxLost as lost:
            self.error = str(lost)
            raise EpisodeLost(lost, self._trajectory(Finish.SANDBOX_LOST)) from lost

    def _trajectory(self, finish: Finish) -> Trajectory:
        return Trajectory(
            role=self.role,
            policy=self.policy.name,
            finish=finish,
            steps=tuple(self.steps),
            submission=self.submission,
            seconds=time.monotonic() - self.started,
            error=self.error,
            last_words=self.last_words,
            record=self.policy.record(),
        )

    def _budget(self, running: int = 0) -> Budget:
        """The remaining budget; `running` calls that are not yet steps count too."""
        elapsed = time.monotonic() - self.started
        return Budget(self.limits.calls - len(self.steps) - running, self.limits.seconds - elapsed)

    def _call_seconds(self) -> float:
        """The time limit of one call: the tools' own, or the rest of the episode plus a little for the last call."""
        return min(COMMAND_SECONDS, max(self._budget().seconds, 1.0))

    async def _turns(self) -> Finish:
        observation: Observation | None = None
        while True:
            turn = await self._think(observation)
            if isinstance(turn, Finish):
                return turn
            if turn is None or isinstance(turn, Stop):
                return self._stopped(turn or Stop())
            if self._budget().calls <= 0:
                return Finish.OUT_OF_CALLS
            observation = await self._step(_readable(turn))
            if self.equal >= LOOP:
                return Finish.LOOPED

    async def _think(self, observation: Observation | None) -> Any:
        """The policy's turn, or the finish when there is no turn."""
        seconds = self._budget().seconds
        if seconds <= 0:
            return Finish.OUT_OF_TIME
        try:
            async with asyncio.timeout(seconds):
                return await self.policy.act(observation)
        except SandboxLost:
            raise
        except Exception as error:  # a policy may be user code: its failure ends one episode, not the run
            if isinstance(error, TimeoutError) and self._budget().seconds <= 0:
                return Finish.OUT_OF_TIME
            log.warning("policy %s failed", self.policy.name, exc_info=True)
            self.error = f"{type(error).__name__}: {error}"
            return Finish.POLICY_ERROR

    def _stopped(self, stop: Stop) -> Finish:
        self.last_words = stop.said
        return stop.finish or (Finish.SUBMITTED if self.submission else Finish.GAVE_UP)

    async def _step(self, turn: Call | Malformed) -> Observation:
        if isinstance(turn, Malformed):
            call, result, seconds = Call(MALFORMED, {}, turn.said), ToolResult(turn.why, 1, malformed=True), 0.0
        else:
            context = ToolContext(self.sandbox, self._call_seconds(), self.hand_in)
            call, (result, seconds) = turn, await self.workers.run(_timed, self.toolset, turn, context)
        left = self._budget(running=1)
        step = Step(call, result.output, result.exit_code, seconds, result.malformed, left)
        self._count_equal(step)
        self.steps.append(step)
        self.submission = result.submission or self.submission
        return Observation(result.output, result.exit_code, left, result.malformed, result.submission is not None)

    def _count_equal(self, step: Step) -> None:
        last = self.steps[-1] if self.steps else None
        same = last and (last.call.tool, last.call.arguments, last.output) == (
            step.call.tool,
            step.call.arguments,
            step.output,
        )
        self.equal = self.equal + 1 if same else 1


def _readable(turn: object) -> Call | Malformed:
    """`turn` if it is a call or marked malformed. Any other value becomes a call of a tool that does not exist, so that
    it is answered and recorded."""
    if isinstance(turn, Malformed):
        return turn
    if isinstance(turn, Call) and isinstance(turn.tool, str) and isinstance(turn.arguments, dict):
        return turn
    return Call("(not a call)", {"turn": repr(turn)[:1000]})


def run_call(toolset: Toolset, call: Call, context: ToolContext) -> ToolResult:
    """Run `call`. A wrong call or a failed tool is a result with `exit_code` 1, never an exception; a lost sandbox
    is one."""
    tool = toolset.find(call.tool)
    if tool is None:
        return ToolResult(toolset.no_tool(call.tool), 1, malformed=True)
    try:
        return tool.run(call.arguments, context)
    except ToolFailed as error:
        return ToolResult(f"{call.tool}: {error}", 1, malformed=isinstance(error, BadCall))
    except InsideError as error:
        return ToolResult(f"{call.tool}: {error.message}", 1)


def _timed(toolset: Toolset, call: Call, context: ToolContext) -> tuple[ToolResult, float]:
    """The tool's result, and its own wall seconds, without the wait for a thread."""
    started = time.monotonic()
    return run_call(toolset, call, context), time.monotonic() - started
