"""The bugs of a run shown in the staged injector, as if a model had made them: lessons that fit into small contexts.

Each bug is planted and hidden once more, in a sandbox, through the same harness that a model plays in; its
observations are real. What the harness does not take, or what makes another tree than the bug's, is no lesson.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selfplay import patches
from selfplay.agent import Finish, Trajectory, play_episode
from selfplay.agent.conversation import NO_CALL, ChatConversation
from selfplay.agent.model import Message, Reply, Sampling
from selfplay.agent.trajectory import TrajectoryError, load, save
from selfplay.artifact import Artifact, ArtifactError, Bug
from selfplay.curriculum import Curriculum
from selfplay.curriculum.stored import demonstration_of, injector_task_of, prepared_for, read_bug
from selfplay.oracle.originals import original_texts
from selfplay.repository import Suite, measure_suite
from selfplay.roles.injector import INJECTOR
from selfplay.roles.injector.collect import collect
from selfplay.roles.injector.staged import StagedInjector
from selfplay.roles.injector.task import InjectorTask
from selfplay.rollout.injection import tree_key
from selfplay.rollout.parallel import in_parallel
from selfplay.sandbox import Backend, Sandbox, World
from selfplay.sandbox.workers import Workers
from selfplay.sft.demonstration import Undemonstrable, demonstration

NAME = "demonstration"


@dataclass(frozen=True)
class Shown:
    """What came of one bug: `why` not, empty for one that was shown."""

    bug: str
    why: str = ""


@dataclass(frozen=True)
class _Job:
    folder: Path
    number: int
    suite: Suite
    world: World
    target: Path


def demonstrate(pool: Curriculum, backend: Backend, workers: int) -> Iterator[Shown]:
    """Show every first-order bug of the run that was not shown yet, `workers` at a time, as they come.

    Raises `SelfplayError` for a run whose original is gone and cannot be fetched again."""
    todo: list[tuple[Bug, int]] = []
    for bug, number in pool.bugs_with_episodes():
        if _readable(demonstration_of(pool.folder, bug.id)):
            yield Shown(bug.id)
        else:
            todo.append((bug, number))
    if not todo:
        return
    first, bugs = todo[0][0], pool.folder / "bugs"
    prepared, seconds = prepared_for(bugs / first.id, first, backend), float(first.thresholds["seconds"])
    suite = measure_suite(prepared, backend, time_limit=seconds, command=pool.settings().get("test"))
    world = prepared.world(history=True)
    jobs = [_Job(bugs / bug.id, n, suite, world, demonstration_of(pool.folder, bug.id)) for bug, n in todo]
    for job, why in in_parallel(jobs, lambda job: _show(job, backend), workers, backend):
        yield Shown(job.folder.name, why)


def _readable(path: Path) -> bool:
    """Whether a demonstration is there; a damaged one is made again."""
    try:
        return bool(load(path))
    except TrajectoryError:
        return False


def _show(job: _Job, backend: Backend) -> str:
    """Play and keep one demonstration. Returns why there is none."""
    try:
        bug, artifact, thresholds = read_bug(job.folder)
        stages = demonstration(job.suite, artifact, lambda path: original_texts(job.world, [path]).get(path))
    except (ArtifactError, Undemonstrable, patches.PatchError) as error:
        return str(error)
    told = replace(
        injector_task_of(bug, job.number, job.suite),
        seconds=thresholds.seconds,
        seed_location=patches.parse(artifact.bug_inject)[0].path,
    )
    with backend.open(job.world) as sandbox:
        trajectory = asyncio.run(_played(_player(told, stages), sandbox))
        why = _otherwise(trajectory, artifact, sandbox)
    if not why:
        save(trajectory, job.target)
    return why


async def _played(policy: StagedInjector, sandbox: Sandbox) -> Trajectory:
    with Workers(1) as workers:
        return await play_episode(
            policy,
            sandbox,
            INJECTOR.name,
            toolset=INJECTOR.toolset,
            workers=workers,
            hand_in=INJECTOR.hand_in,
        )


def _otherwise(trajectory: Trajectory, artifact: Artifact, sandbox: Sandbox) -> str:
    """Why an episode does not show this bug."""
    if trajectory.finish != Finish.SUBMITTED:
        talks = trajectory.record.conversations
        heard = [message.content for talk in talks[-1:] for message in talk if message.role == "user"]
        said = next((text for text in reversed(heard) if NO_CALL not in text), "")
        return f"the harness did not take it: {(trajectory.error or said)[:300]}"
    try:
        made = collect(trajectory, sandbox)
    except ArtifactError as error:
        return error.message
    pairs = ((made.bug_inject, artifact.bug_inject), (made.test_weaken, artifact.test_weaken))
    same = all(tree_key(one) == tree_key(other) for one, other in pairs)
    return "" if same else "it makes another tree than the bug's"


class _Recital:
    """A model that says what it was given to say."""

    name = NAME

    def __init__(self, messages: Iterable[str]) -> None:
        self._messages = iter(messages)

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """The next message; once all are said, words without a call."""
        return Reply(next(self._messages, "I know no more."))


def _player(task: InjectorTask, stages: Iterable[Sequence[str]]) -> StagedInjector:
    """The staged injector, each stage with a model that says what it was given to say."""
    models = map(_Recital, stages)
    return StagedInjector(
        task,
        NAME,
        lambda told: ChatConversation(next(models), NAME, INJECTOR.name, told, toolset=INJECTOR.toolset),
    )
