"""A stored bug demonstrated in the staged injector, as if a model had made it: lessons that fit into small contexts.

The bug is planted and hidden once more, in a sandbox, through the same harness that a model plays in; its observations
are real. A demonstration that the harness rejects, or that makes another tree than the bug's, does not become a lesson.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from selfplay import patches
from selfplay.agent import Finish, Trajectory, play_episode
from selfplay.agent.conversation import NO_CALL, ChatConversation
from selfplay.agent.model import Message, Reply, Sampling
from selfplay.artifact import Artifact, ArtifactError, Bug
from selfplay.curriculum.stored import read_bug
from selfplay.oracle.originals import original_texts
from selfplay.repository import Suite
from selfplay.roles.injector import INJECTOR
from selfplay.roles.injector.collect import collect
from selfplay.roles.injector.staged import StagedInjector
from selfplay.roles.injector.task import InjectorTask, Strategy
from selfplay.rollout.bug_record import tree_key
from selfplay.sandbox import Sandbox, World
from selfplay.sandbox.pool import Pool
from selfplay.sandbox.workers import Workers
from selfplay.sft.demonstration import Undemonstrable, demonstration

NAME = "demonstration"
Demonstrated = Trajectory | str
"""The demonstration, or why there is none."""


@dataclass(frozen=True)
class StoredBug:
    """A bug's folder, the `number` of the episode that made it, and the repository it was planted in, with history."""

    folder: Path
    number: int
    suite: Suite
    world: World


async def demonstrate_bug(stored: StoredBug, pool: Pool, workers: Workers) -> Demonstrated:
    """Play one demonstration. Raises `SandboxError` when no sandbox is available."""
    try:
        bug, artifact, thresholds = read_bug(stored.folder)
        stages = demonstration(stored.suite, artifact, lambda path: original_texts(stored.world, [path]).get(path))
    except (ArtifactError, Undemonstrable, patches.PatchError) as error:
        return str(error)
    task = replace(
        injector_task_of(bug, stored.number, stored.suite),
        seconds=thresholds.seconds,
        seed_location=patches.parse(artifact.bug_inject)[0].path,
    )
    async with pool.lease() as lease, workers.entered(lease.open(stored.world)) as sandbox:
        trajectory = await play_episode(
            _policy(task, stages),
            sandbox,
            INJECTOR.name,
            toolset=INJECTOR.toolset,
            workers=workers,
            hand_in=INJECTOR.hand_in,
        )
        return await workers.run(_otherwise, trajectory, artifact, sandbox) or trajectory


def injector_task_of(bug: Bug, number: int, suite: Suite) -> InjectorTask:
    """The task of episode `number`, which made this bug, as far as its record tells. Raises `ArtifactError`."""
    names = ("min_passing_tests", "min_changed_files", "min_failing_tests")
    least: dict[str, Any] = {name: bug.thresholds.get(name) for name in names}
    if bug.seed is None:
        raise ArtifactError(f"{bug.id} was imported: no episode of ours made it")
    if bug.strategy not in get_args(Strategy) or not all(type(value) is int for value in least.values()):
        raise ArtifactError(f"{bug.id} was made by a strategy or with thresholds that selfplay does not know")
    strategy: Any = bug.strategy
    return InjectorTask(strategy, bug.seed, number, suite, **least)


def _otherwise(trajectory: Trajectory, artifact: Artifact, sandbox: Sandbox) -> str:
    """Why an episode does not reproduce this bug; empty when it does."""
    if trajectory.finish != Finish.SUBMITTED:
        conversations = trajectory.record.conversations
        heard = [
            message.content for conversation in conversations[-1:] for message in conversation if message.role == "user"
        ]
        said = next((text for text in reversed(heard) if NO_CALL not in text), "")
        return f"the harness did not take it: {(trajectory.error or said)[:300]}"
    try:
        made = collect(trajectory, sandbox)
    except ArtifactError as error:
        return error.message
    pairs = ((made.bug_inject, artifact.bug_inject), (made.weakening, artifact.weakening))
    same = all(tree_key(one) == tree_key(other) for one, other in pairs)
    return "" if same else "it makes another tree than the bug's"


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
        """There is nothing to free."""


def _policy(task: InjectorTask, stages: Iterable[Sequence[str]]) -> StagedInjector:
    """The staged injector; each stage has a model that sends the messages it was given."""
    models = map(_Said, stages)
    return StagedInjector(
        task,
        NAME,
        lambda told: ChatConversation(next(models), NAME, INJECTOR.name, told, toolset=INJECTOR.toolset),
    )
