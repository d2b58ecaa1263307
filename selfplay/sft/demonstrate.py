"""Demonstrates a stored bug in both roles, as if a model had played them: lessons that fit into small contexts.

The bug is planted and hidden again in the staged injector, and repaired in the solver's world, in a sandbox and through
a model's harness, so the observations are real. A demonstration is dropped if the harness rejects it, if it does not
reproduce the bug's tree or restore the original, or if its test does not fail before the repair and pass after it.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from selfplay import patches
from selfplay.agent import Finish, Policy, Trajectory, play_episode
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.conversation import NO_CALL
from selfplay.agent.model import Message, Reply, Sampling
from selfplay.artifact import Artifact, ArtifactError, Bug
from selfplay.curriculum.stored_bugs import read_bug
from selfplay.oracle.errors import OracleError, WorldError
from selfplay.oracle.originals import original_texts
from selfplay.oracle.world import open_world
from selfplay.plain_text import decode
from selfplay.repository import Prepared, Suite
from selfplay.roles.injector import INJECTOR
from selfplay.roles.injector.collect import collect
from selfplay.roles.injector.staged import StagedInjector
from selfplay.roles.injector.task import InjectorTask, Strategy
from selfplay.roles.role import Role
from selfplay.roles.solver import SOLVER
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.bug_record import tree_key
from selfplay.rollout.ready_bug import make_ready
from selfplay.sandbox import WORKDIR, InsideError, Sandbox
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers
from selfplay.sft.demonstration import Undemonstrable, demonstration, repair
from selfplay.sft.reproduction import Reproduction, reproduction

NAME = "demonstration"
Demonstrated = Trajectory | str
"""The demonstration, or why there is none."""


@dataclass(frozen=True)
class StoredBug:
    """A bug's folder, the `number` of the episode that made it, and the repository it was planted in. `short`: its
    repair is shown without running a test, for very small contexts."""

    folder: Path
    number: int
    suite: Suite
    prepared: Prepared
    short: bool = False


async def demonstrate_planting(stored: StoredBug, pool: SandboxPool, workers: Workers) -> Demonstrated:
    """Plant and hide the bug again. Raises `SandboxError` if no sandbox is available."""
    world = stored.prepared.world(history=True)
    try:
        bug, artifact, thresholds = read_bug(stored.folder)
        stages = demonstration(
            stored.suite, artifact, lambda path: original_texts(world, [path]).get(path), INJECTOR.toolset
        )
    except (ArtifactError, Undemonstrable, patches.PatchError) as error:
        return str(error)
    task = replace(
        injector_task_of(bug, stored.number, stored.suite),
        seconds=thresholds.seconds,
        seed_location=patches.parse(artifact.bug_inject)[0].path,
    )
    async with pool.lease() as lease, workers.entered(lease.open(world)) as sandbox:
        trajectory = await _played(_policy(task, stages), INJECTOR, sandbox, workers)
        return await workers.run(_otherwise, trajectory, artifact, sandbox) or trajectory


async def demonstrate_repair(stored: StoredBug, pool: SandboxPool, workers: Workers) -> Demonstrated:
    """Repair the bug in the world that a solver gets. Raises `SandboxError` when no sandbox is available."""
    try:
        ready = await workers.run(make_ready, stored.folder, stored.prepared)
        seen = None if stored.short else await workers.run(reproduction, ready, stored.suite)
        changed = [path for section in patches.parse(ready.artifact.bug_inject) for path in section.paths]
        original = original_texts(stored.prepared.world(), changed)
        async with pool.lease() as lease, workers.entered(open_world(lease, ready.task)) as world:
            broken = await workers.run(_texts, world.sandbox, changed)
            told = SOLVER.opening(SolverTask(ready.bug.id, ready.specification))
            said = _Said(repair(ready.artifact.bug_inject, broken.get, SOLVER.toolset, seen))
            policy = ChatConversation(said, NAME, SOLVER.name, told, toolset=SOLVER.toolset)
            trajectory = await _played(policy, SOLVER, world.sandbox, workers)
            mended = await workers.run(_texts, world.sandbox, changed)
    except (ArtifactError, OracleError, WorldError, InsideError, Undemonstrable, patches.PatchError) as error:
        return str(error)
    if trajectory.finish != Finish.SUBMITTED:
        return _untaken(trajectory)
    if mended != original:
        return "it does not restore the original"
    return (seen and _unseen(trajectory, seen)) or trajectory


def _unseen(trajectory: Trajectory, seen: Reproduction) -> str:
    """Why an episode does not show a test fail before the repair and pass after it; empty if it does."""
    ended = [(step.call.arguments.get("command"), step.exit_code) for step in trajectory.steps]
    if any(code for command, code in ended if command == seen.restore):
        return "none of its tests can be restored"
    before, after = (code for command, code in ended if command == seen.run)
    if not before:
        return "its test passes before the repair"
    return f"its test does not pass after the repair (exit code {after})" if after else ""


async def _played(policy: Policy, role: Role[Any], sandbox: Sandbox, workers: Workers) -> Trajectory:
    return await play_episode(policy, sandbox, role.name, toolset=role.toolset, workers=workers, hand_in=role.hand_in)


def _texts(sandbox: Sandbox, paths: Iterable[str]) -> dict[str, str]:
    """Path -> text, for the paths that are files."""
    found = {}
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            found[path] = decode(sandbox.read_file(f"{WORKDIR}/{path}"))
    return found


def injector_task_of(bug: Bug, number: int, suite: Suite) -> InjectorTask:
    """The task of episode `number`, which made this bug, as far as it is recorded. Raises `ArtifactError`."""
    names = ("min_passing_tests", "min_changed_files", "min_failing_tests")
    least: dict[str, Any] = {name: bug.thresholds.get(name) for name in names}
    if bug.seed is None:
        raise ArtifactError(f"{bug.id} was imported: it was not made by an episode")
    if bug.strategy not in get_args(Strategy) or not all(type(value) is int for value in least.values()):
        raise ArtifactError(f"{bug.id} was made by a strategy or with thresholds that selfplay does not know")
    strategy: Any = bug.strategy
    return InjectorTask(strategy, bug.seed, number, suite, **least)


def _otherwise(trajectory: Trajectory, artifact: Artifact, sandbox: Sandbox) -> str:
    """Why an episode does not reproduce this bug; empty if it does."""
    if trajectory.finish != Finish.SUBMITTED:
        return _untaken(trajectory)
    try:
        made = collect(trajectory, sandbox)
    except ArtifactError as error:
        return error.message
    pairs = ((made.bug_inject, artifact.bug_inject), (made.weakening, artifact.weakening))
    same = all(tree_key(one) == tree_key(other) for one, other in pairs)
    return "" if same else "its tree differs from the bug's"


def _untaken(trajectory: Trajectory) -> str:
    """The harness's last message about an episode that it rejected."""
    conversations = trajectory.record.conversations
    heard = [m.content for conversation in conversations[-1:] for m in conversation if m.role == "user"]
    said = next((text for text in reversed(heard) if NO_CALL not in text), "")
    return f"the harness rejected it: {(trajectory.error or said)[:300]}"


class _Said:
    """A model that sends the messages it was given."""

    name = NAME

    def __init__(self, messages: Iterable[str]) -> None:
        self._messages = iter(messages)

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """The next message; once all are sent, a text without a call."""
        return Reply(next(self._messages, "I know no more."))

    async def close(self) -> None:
        """Nothing to free."""


def _policy(task: InjectorTask, stages: Iterable[Sequence[str]]) -> StagedInjector:
    """The staged injector; each stage has a model that sends the messages it was given."""
    models = map(_Said, stages)
    return StagedInjector(
        task,
        NAME,
        lambda told: ChatConversation(next(models), NAME, INJECTOR.name, told, toolset=INJECTOR.toolset),
        INJECTOR.toolset,
    )
