"""One injector rollout: an episode in a sandbox with history, its artifact checked, the outcome a value."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, cast, get_args

from selfplay import patches
from selfplay.agent import Trajectory
from selfplay.agent.episode import belongs_to
from selfplay.artifact import Artifact, ArtifactError
from selfplay.believable import NAME, BelievableRules, faults_of_diff
from selfplay.curriculum.records import DUPLICATE
from selfplay.errors import SelfplayError
from selfplay.oracle.leak_audit.audit import audit_task
from selfplay.oracle.originals import original_texts
from selfplay.oracle.task import Task
from selfplay.oracle.world import solver_world
from selfplay.plain_text import shown
from selfplay.repository import Suite
from selfplay.repository.copies import CopiesOnce
from selfplay.roles.injector import INJECTOR
from selfplay.roles.injector.collect import collect
from selfplay.roles.injector.seeds import seed_location
from selfplay.roles.injector.task import InjectorTask, Strategy
from selfplay.rollout.bug_record import Origin, bug_of, tree_key
from selfplay.rollout.players import Player
from selfplay.rollout.playing import play_role
from selfplay.rollout.rollout import InjectorKey, InjectorOutcome, InjectorRollout, Rollout
from selfplay.sandbox import Backend, InsideError, Limits, Sandbox, SandboxError
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers
from selfplay.validators import validate
from selfplay.workbench import RunCache, Workbench

LEAKS = "leaks"
"""The name under which a bug is counted whose world leaks the answer."""
FEW = 5
"""How many faults of a bug are listed."""
Mix = Literal["removal", "history", "direct", "feature", "mix"]


class UnknownStrategy(SelfplayError):
    """A strategy name that does not exist."""


def mix_named(name: str) -> Mix:
    """The strategy of this name. Raises `UnknownStrategy`."""
    names = get_args(Mix)
    if name not in names:
        raise UnknownStrategy(f"there is no strategy {name!r}", f"The strategies are {', '.join(names)}.")
    return cast(Mix, name)


@dataclass(frozen=True)
class InjectorRun:
    """Everything the injector episodes of one repository share. `repository`: its name in the pool.

    `group`: how many consecutive episodes get one prompt (strategy and seed location); only their sampling differs.
    `is_known`: whether the pool already has a bug with this key of its tree or task; such an artifact is a duplicate,
    even if all checks pass. `rules`: the believability rules for valid bugs; None for only the checks, as in the paper.
    `copies`: other copies of the project among its packages; if there are any, a bug whose world leaks is invalid.
    """

    repository: str
    origin: Origin
    suite: Suite
    strategy: Mix
    player: Player
    seats: SandboxPool
    workers: Workers
    is_known: Callable[[str], bool] = lambda key: False
    group: int = 1
    rules: BelievableRules | None = None
    copies: CopiesOnce = field(default_factory=CopiesOnce)
    limits: Limits = field(default_factory=Limits)
    cache: RunCache = field(default_factory=RunCache)


async def injector_rollout(run: InjectorRun, number: int) -> InjectorRollout:
    """Play episode `number` and check the artifact it submits. A failure inside the episode becomes the outcome's
    status and reason.

    Raises `SandboxError` when no sandbox is available, `ModelDown` when the model did not answer.
    """
    started = time.monotonic()
    task = injector_task(run, number)
    async with run.seats.lease(run.limits) as lease:
        world = run.origin.prepared.world(history=True)
        async with run.workers.entered(lease.open(world, run.limits)) as sandbox:
            trajectory = await play_role(INJECTOR, task, run.player, sandbox, run.workers)
            with belongs_to(trajectory):
                artifact = await run.workers.run(_collected, trajectory, sandbox)
        with belongs_to(trajectory):
            outcome = await _outcome(run, lease, task, trajectory, artifact)
    return Rollout(trajectory, injector_key(run, number), replace(outcome, seconds=time.monotonic() - started))


async def _outcome(
    run: InjectorRun, lease: Backend, task: InjectorTask, trajectory: Trajectory, artifact: Artifact | str
) -> InjectorOutcome:
    """The outcome of the episode; its seconds are filled in later."""
    if isinstance(artifact, str):
        gave_up = trajectory.submission is None and not trajectory.error
        return InjectorOutcome("gave_up" if gave_up else "failed", trajectory.last_words or artifact, 0.0)
    key, asked = _key_or_none(artifact.bug_inject), _key_or_none(artifact.weakening)
    if any(one is not None and run.is_known(one) for one in (key, asked)):
        return InjectorOutcome("duplicate", DUPLICATE, 0.0)
    checked = await run.workers.run(_checked, run, lease, task, trajectory.policy, artifact)
    return replace(checked, tree_key=key, task_key=asked or "")


def injector_task(run: InjectorRun, number: int) -> InjectorTask:
    """The injector's task of episode `number`; its prompt is that of its group."""
    thresholds, seed, prompt = run.origin.thresholds, run.origin.seed, number // run.group
    return InjectorTask(
        strategy=strategy_of(run.strategy, seed, prompt),
        seed=seed,
        number=number,
        suite=run.suite,
        min_passing_tests=thresholds.min_passing_tests,
        min_changed_files=thresholds.min_changed_files,
        min_failing_tests=thresholds.min_failing_tests,
        seconds=thresholds.seconds,
        seed_location=seed_location(run.origin.prepared.tree, seed, prompt),
        turn=prompt // len(strategies_of(run.strategy)) * run.group + number % run.group,
    )


def injector_key(run: InjectorRun, number: int) -> InjectorKey:
    """The key of episode `number`, which also names its group."""
    task = injector_task(run, number)
    return InjectorKey(run.repository, task.strategy, task.seed, number, task.seed_location)


def strategies_of(mix: Mix) -> tuple[Strategy, ...]:
    """The strategies that its episodes have."""
    return ("removal", "history") if mix == "mix" else (mix,)


def strategy_of(mix: Mix, seed: int, number: int) -> Strategy:
    """The strategy of the prompt of this number. Under `mix`, one of each pair removes code and the other reverts
    history (the paper's best mix; the ratio 50/50 is ours)."""
    if mix != "mix":
        return mix
    first_removes = random.Random(f"mix:{seed}:{number // 2}").random() < 0.5
    return "removal" if first_removes == (number % 2 == 0) else "history"


def _collected(trajectory: Trajectory, sandbox: Sandbox) -> Artifact | str:
    """The submitted artifact, or why there is none."""
    try:
        return collect(trajectory, sandbox)
    except ArtifactError as error:
        return error.message


def _checked(
    run: InjectorRun, backend: Backend, task: InjectorTask, policy: str, artifact: Artifact
) -> InjectorOutcome:
    """The verdicts of the checks on the artifact."""
    seconds = run.origin.thresholds.seconds
    bench = Workbench(
        backend, run.origin.prepared.world(), artifact, time_limit=seconds, limits=run.limits, shared=run.cache
    )
    if leak := _leak(run, backend, artifact):
        return InjectorOutcome("invalid", leak, 0.0, failed_check=LEAKS)
    validation = validate(artifact, bench, run.origin.thresholds)
    spent = InjectorOutcome(
        "invalid", validation.reason, 0.0, suite_runs=validation.runs, validation_seconds=validation.seconds
    )
    if not validation.valid:
        return replace(spent, failed_check=validation.verdicts[-1].check)
    if found := _faults(run, artifact):
        return replace(spent, failed_check=NAME, reason=f"{NAME}: {'; '.join(found[:FEW])}")
    sections = patches.parse(artifact.bug_inject)
    return replace(
        spent,
        status="valid",
        reason="",
        artifact=artifact,
        bug=bug_of(run.origin, task.strategy, policy, artifact, validation),
        files=tuple(shown(section.path) for section in sections),
        changed_lines=sum(section.added + section.removed for section in sections),
        fail_to_pass=len(validation.fail_to_pass),
    )


def _leak(run: InjectorRun, backend: Backend, artifact: Artifact) -> str:
    """What gives the answer away in the world of a bug's solver; empty without other copies of the project, and for an
    artifact that makes no world, which the checks report. Raises `InsideError` where no search can be made, and
    `SandboxError`."""
    prepared = run.origin.prepared
    if not run.copies.of(prepared, backend).places:
        return ""
    try:
        found = audit_task(backend, Task(solver_world(prepared), artifact)).worst
    except (SandboxError, InsideError):
        raise
    except SelfplayError:
        return ""
    return f"{LEAKS}: {found.sentence}" if found else ""


def _faults(run: InjectorRun, artifact: Artifact) -> tuple[str, ...]:
    """The bug's faults under the run's rules. A binary diff, or one that `git apply` moved, is not examined."""
    world = run.origin.prepared.world()
    try:
        diff = artifact.bug_inject
        return (
            faults_of_diff(run.rules, diff, lambda path: original_texts(world, [path]).get(path)) if run.rules else ()
        )
    except patches.PatchError:
        return ()


def _key_or_none(diff: str) -> str | None:
    """The key of what a diff makes of the original; None for one that cannot be read (the checks report that)."""
    try:
        return tree_key(diff)
    except patches.PatchError:
        return None
