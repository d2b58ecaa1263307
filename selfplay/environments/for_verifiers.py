"""verifiers, and prime-rl on top of it, on a served run: a taskset, the harness that plays an episode, and an
environment of both roles, in which solvers attempt the injector's bugs (like verifiers' proposer and solver).

verifiers finds plugins by the name of a top-level module: import these classes in one of yours
(`docs/environments.md`). The harness runs in the trainer's process, and every message of a model passes through
verifiers, so traces, token ids and limits are theirs. Written for verifiers 0.4.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import httpx
import verifiers.v1 as vf
from pydantic import Field

from selfplay.environments.client import Client, RemoteEpisode
from selfplay.environments.errors import Busy
from selfplay.formatting import count
from selfplay.rl.credit.rules import CreditRules, RoleName

SEAT = vf.AgentConfig(runtime=vf.SubprocessConfig())
"""Nothing runs in verifiers' own sandboxes: the run's server has them."""
THREADS = ThreadPoolExecutor(256, thread_name_prefix="selfplay")
"""Waiting for the server, which may grade for minutes."""
AGAIN = 1.0
"""Seconds between two requests for a session."""
T = TypeVar("T")


class SelfPlayData(vf.TaskData):
    """A task of the run in the folder `run`. What the model is told comes from the server, not from `prompt`."""

    run: str = ""
    role: RoleName = "solver"
    task: str = ""


class SelfPlayState(vf.State):
    """`result`: as in `client.RemoteStep`."""

    result: dict[str, Any] | None = None


class SelfPlayTask(vf.Task[SelfPlayData, SelfPlayState]):
    """One episode of either role."""

    @vf.reward
    async def graded(self, trace: vf.Trace) -> float:
        """The episode's reward; 0 for a valid bug, whose reward depends on its attempts (`SelfPlayEnv.finalize`)."""
        return float((trace.state.result or {}).get("reward") or 0.0)


class SelfPlayTasksetConfig(vf.TasksetConfig):
    run: str = ""
    """The folder of a served run."""
    role: RoleName = "injector"
    """The role that begins: the injector, followed by attempts at its bug, or one solver at a bug of the run."""


class SelfPlayTaskset(vf.Taskset[SelfPlayTask, SelfPlayTasksetConfig]):
    """The tasks that can be played when it is loaded."""

    def load(self) -> list[SelfPlayTask]:
        run, role = self.config.run, self.config.role
        return [attempt(run, role, task) for task in Client.of(run).tasks(role)]


def attempt(run: str, role: RoleName, task: str) -> SelfPlayTask:
    """An episode of a task as a verifiers task."""
    return SelfPlayTask(SelfPlayData(name=task, prompt=f"{role}/{task}", run=run, role=role, task=task))


class SelfPlayHarnessConfig(vf.HarnessConfig):
    """It has no settings of its own."""


class SelfPlayHarness(vf.Harness[SelfPlayHarnessConfig]):
    """Plays an episode: asks the model (through verifiers) and the run's server in turn."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: vf.Trace, runtime: Any, endpoint: str, secret: str, mcp_urls: Any, data: vf.TaskData
    ) -> vf.ProgramResult:
        assert isinstance(data, SelfPlayData)
        episode = await _begun(data)
        headers = {"Authorization": f"Bearer {secret}"}
        try:
            async with httpx.AsyncClient(base_url=endpoint, headers=headers, timeout=None, trust_env=False) as model:
                await _played(episode, model, ctx.model, trace)
        finally:
            await _in_thread(episode.close)
        result = episode.step.result
        trace.state.result = result
        if result is None or result["outcome"] == "lost":
            raise vf.SandboxError(f"the episode was lost: {(result or {}).get('reason', 'no result')}")
        return vf.ProgramResult(0, "", "")


async def _begun(data: SelfPlayData) -> RemoteEpisode:
    """A new episode, once a session is free."""
    client = Client.of(data.run, wait=0.0)
    while True:
        try:
            return await _in_thread(partial(client.begin, data.role, data.task))
        except Busy:
            await asyncio.sleep(AGAIN)


async def _in_thread(call: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(THREADS, call)


async def _played(episode: RemoteEpisode, model: httpx.AsyncClient, name: str, trace: vf.Trace) -> None:
    """Play to the end. If a limit of verifiers ends the episode, what was submitted so far is graded."""
    messages: list[dict[str, str]] = []
    while not episode.step.done:
        messages += episode.step.messages
        answer = await model.post("/chat/completions", json={"model": name, "messages": messages})
        if trace.stop_condition is not None:
            await _in_thread(episode.stop)
            return
        if answer.status_code != 200:
            raise vf.HarnessError(f"the model answered {answer.status_code}: {answer.text[:500]}")
        choice = answer.json()["choices"][0]
        text = choice["message"]["content"] or ""
        messages.append({"role": "assistant", "content": text})
        await _in_thread(partial(episode.say, text, choice["finish_reason"] == "length"))


class SelfPlayEnvConfig(vf.EnvConfig):
    injector: vf.AgentConfig = SEAT
    solver: vf.AgentConfig = SEAT
    attempts: int = Field(8, ge=1)
    """At each bug that the injector plants."""
    train_injector: bool = True
    train_solver: bool = True


class SelfPlayEnv(vf.Env[SelfPlayEnvConfig]):
    """An injector and then `attempts` solvers at its bug; or one solver at a bug of the run."""

    async def setup(self, agents: vf.Agents) -> None:
        agents.injector.trainable = self.config.train_injector
        agents.solver.trainable = self.config.train_solver

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        if task.data.role == "solver":
            await agents.solver.run(task)
            return
        planted = await agents.injector.run(task)
        result = planted.state.result or {}
        if result.get("outcome") == "valid":
            solve = attempt(task.data.run, "solver", result["bug"])
            async with asyncio.TaskGroup() as group:
                for _ in range(self.config.attempts):
                    group.create_task(agents.solver.run(solve))

    async def finalize(self, task: vf.Task, episode: vf.Episode) -> None:
        """Compute the injector's reward from the counted attempts at its bug (SSR section 4). Raises `ValueError`,
        which fails the episode, if fewer than half count."""
        attempts = [trace for trace in episode.traces if trace.agent.name == "solver" and trace.ok]
        solved = sum(trace.state.result["outcome"] == "resolved" for trace in attempts)
        for trace in episode.traces:
            if trace.agent.name != "injector" or (trace.state.result or {}).get("outcome") != "valid":
                continue
            if 2 * len(attempts) < self.config.attempts:
                raise ValueError(
                    f"only {len(attempts)} of {count(self.config.attempts, 'attempt')} count: too few for a reward"
                )
            trace.record_metric("solve_rate", solved / len(attempts))
            trace.record_reward("planted", CreditRules().valid(solved, len(attempts)))
