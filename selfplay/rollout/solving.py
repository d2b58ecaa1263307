"""Attempts at the bugs of a run (SSR section 6): a solver's episode in the stripped world, graded in a fresh sandbox.

Every bug's world is searched for copies of the answer before a solver sees it; a bug that leaks is left out. Deviation
from the paper: attempts are kept by policy, so that a run's bugs can be put to several models and the rates compared.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from selfplay.agent import Finish, play_episode
from selfplay.agent.hands import Hands, entered
from selfplay.agent.model import ModelError
from selfplay.agent.trajectory import figures_of
from selfplay.agent.trajectory import save as save_trajectory
from selfplay.artifact import Artifact, Bug
from selfplay.curriculum import Curriculum
from selfplay.curriculum.attempts import Attempt, file_name
from selfplay.curriculum.stored import oracle_of, read_bug, task_of
from selfplay.errors import SelfplayError
from selfplay.oracle.audit import Audit, audit_task
from selfplay.oracle.grade import Grade, Grader
from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import specification
from selfplay.oracle.world import Task, open_world, solver_world
from selfplay.patches import PatchError, changed_lines
from selfplay.repository import Prepared
from selfplay.roles.solver.collect import HandIn, collect
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.controls import CONTROLS, play_control
from selfplay.rollout.parallel import RolloutError, in_parallel, on_stage
from selfplay.rollout.players import Player, Say
from selfplay.rollout.stage import stage_for
from selfplay.sandbox import Backend, Limits, SandboxError
from selfplay.words import count
from selfplay.workbench import RunCache

UNPLAYED = 8
"""Attempts in a row that cannot be played after which the run stops."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Solving:
    """What the attempts of one run share. `player` is None for a control, which has no episode."""

    prepared: Prepared
    backend: Backend
    policy: str
    player: Player | None
    trajectories: Path
    attempts: int = 8
    seed: int = 0
    workers: int = 1
    counterfactual: bool = True
    limits: Limits = field(default_factory=Limits)
    cache: RunCache = field(default_factory=RunCache)


@dataclass(frozen=True)
class Ready:
    """One bug, ready to be attempted: the `task` a solver faces, what it is told, and what grades it. `seconds`: what
    its test script may take."""

    bug: Bug
    artifact: Artifact
    task: Task
    specification: str
    grader: Grader
    seconds: float


def make_ready(run: Solving, folder: Path) -> Ready:
    """Read the bug in `folder`. Raises `ArtifactError` for one that is damaged."""
    bug, artifact, thresholds = read_bug(folder)
    graded = task_of(folder, bug, artifact, run.prepared.world())
    told = specification(artifact.test_weaken, original_texts(graded.world, artifact.test_files), bug.hidden)
    grader = Grader(
        run.backend, graded, oracle_of(bug, thresholds), run.limits, counterfactual=run.counterfactual
    )  # fmt: skip
    task = Task(solver_world(run.prepared), artifact, graded.extra)
    return Ready(bug, artifact, task, told, grader, thresholds.seconds)


def ready_bugs(run: Solving, pool: Curriculum, say: Say, only: frozenset[str] | None = None) -> list[Ready]:
    """The bugs of the pool (or `only` these) that may be attempted, each one's world searched once. A bug that is
    damaged or that leaks is named and left out."""
    found = []
    for bug in (*pool.bugs(), *pool.attempts.bugs()):
        if only is not None and bug.id not in only:
            continue
        try:
            found.append(make_ready(run, pool.folder / "bugs" / bug.id))
        except (SelfplayError, ValueError) as error:
            say(f"{bug.id} is left out: {error}")
    audited = pool.attempts.audited()
    unknown = [ready for ready in found if ready.bug.id not in audited]
    if unknown:
        say(f"searching {count(len(unknown), 'world')} for copies of the answer")
    for ready, audit in in_parallel(unknown, lambda ready: _audit(run, ready), run.workers, run.backend):
        if isinstance(audit, str):
            say(f"{ready.bug.id} is left out: {audit}")
            continue
        pool.attempts.record_audit(ready.bug.id, audit.to_json()["findings"])
        if not audit.clean:
            worst = max(audit.findings, key=lambda finding: (finding.share, ".git" not in finding.where))
            say(f"{ready.bug.id} is left out: {worst.where} gives {worst.share:.0%} of the answer away")
    clean = pool.attempts.audited()
    return [ready for ready in found if clean.get(ready.bug.id)]


def _audit(run: Solving, ready: Ready) -> Audit | str:
    try:
        return audit_task(run.backend, ready.task, run.limits)
    except SandboxError:
        raise
    except SelfplayError as error:
        return str(error)


Told = Callable[[Attempt], None]


def solve(run: Solving, pool: Curriculum, bugs: Sequence[Ready], told: Told, say: Say = lambda line: None) -> None:
    """Play every attempt that is not stored yet, and store it. One that could not be played (a full disk, a bug whose
    original fails its tests) is named and not counted: the same command plays it again.

    Raises `RolloutError` when sandboxes or the model keep failing."""
    done = pool.attempts.finished(run.policy)
    jobs = [(ready, number) for ready in bugs for number in range(run.attempts) if (ready.bug.id, number) not in done]
    unplayed = 0
    with stage_for(run.player, run.workers) as stage:
        played = on_stage(jobs, lambda job, hands: attempt_of(run, *job, hands), stage, run.backend)
        for (ready, number), attempt in played:
            if isinstance(attempt, str):
                say(f"{ready.bug.id} {run.policy} {number} could not be played and is not counted: {attempt}")
                unplayed += 1
                if unplayed >= UNPLAYED:
                    raise RolloutError(f"{unplayed} attempts in a row could not be played", "The same command resumes.")
                continue
            unplayed = 0
            pool.attempts.add(attempt)
            told(attempt)


async def attempt_of(run: Solving, ready: Ready, number: int, hands: Hands) -> Attempt | str:
    """One attempt, graded, or why it could not be played. Raises `SandboxError` when no sandbox can be had."""
    started = time.monotonic()
    figures: dict[str, object] = {}
    try:
        if run.policy in CONTROLS:
            diff, grade = await hands.work(play_control, run.policy, run.backend, ready.task, ready.grader, run.limits)
        else:
            handed_in = await _play(run, ready, number, figures, hands)
            diff, grade = handed_in.diff, await hands.work(_grade, ready, handed_in)
    except SandboxError:
        raise
    except Exception as error:  # says nothing of the attempt: it is not counted, and the same command plays it again
        log.warning("attempt %d at %s could not be played", number, ready.bug.id, exc_info=True)
        return str(error) if isinstance(error, SelfplayError) else f"{type(error).__name__}: {error}"
    figures |= {"seconds": time.monotonic() - started, "suite_runs": grade.runs, "grading_seconds": grade.seconds}
    with contextlib.suppress(PatchError):
        figures["changed_lines"] = changed_lines(diff)
    return Attempt(ready.bug.id, run.policy, number, grade.resolved, grade.reason, grade.detail, diff, figures)


async def _play(run: Solving, ready: Ready, number: int, figures: dict[str, object], hands: Hands) -> HandIn:
    player = run.player
    assert player is not None
    policy = await hands.work(player.solver, SolverTask(ready.bug.id, ready.specification, run.seed, number))
    async with entered(hands, open_world(run.backend, ready.task, run.limits)) as world:
        trajectory = await play_episode(policy, world.sandbox, "solver", hands, player.limits)
        failed = trajectory.finish == Finish.POLICY_ERROR and player.loop is not None
        handed_in = await hands.work(collect, trajectory, world, ready.artifact.test_files)
    name = f"{ready.bug.id}-{file_name(run.policy)}-{number:03d}-solver.jsonl.zst"
    await hands.work(save_trajectory, trajectory, run.trajectories / name)
    if failed:  # an endpoint that is down says nothing of what the model can do
        raise ModelError(trajectory.error)
    figures |= {**figures_of(trajectory), "player": trajectory.policy, "left_out": list(handed_in.left_out)}
    return handed_in


def _grade(ready: Ready, handed_in: HandIn) -> Grade:
    if handed_in.reason:
        return Grade(False, "nothing-handed-in", handed_in.reason)
    return ready.grader.grade(handed_in.diff)
