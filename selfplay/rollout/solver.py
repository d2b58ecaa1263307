"""One solver rollout (SSR section 6): an episode in the stripped world; its patch is graded in a fresh sandbox.

Deviation from the paper: attempts are filed by policy, so that several models can attempt the same bugs and be
compared.
"""

import contextlib
import time
from dataclasses import dataclass, field

from selfplay.agent import Trajectory
from selfplay.agent.episode import belongs_to
from selfplay.curriculum.calibrations import calibration_of
from selfplay.oracle.assurance import Weak
from selfplay.oracle.calibration import Calibration
from selfplay.oracle.grade import Grader, grade_without_running
from selfplay.oracle.grades import Grade, assurance
from selfplay.oracle.world import Changes, open_world
from selfplay.patches import PatchError, changed_lines
from selfplay.plain_text import shown
from selfplay.repository import Prepared
from selfplay.roles.solver import SOLVER
from selfplay.roles.solver.collect import HandIn, collect, hand_in
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.calibrations import Calibrations
from selfplay.rollout.players import Player
from selfplay.rollout.playing import play_role
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.rollout import Rollout, SolverKey, SolverOutcome, SolverRollout
from selfplay.sandbox import Backend, Limits
from selfplay.sandbox.admission import SandboxPool
from selfplay.sandbox.workers import Workers


@dataclass(frozen=True)
class SolverRun:
    """What the attempts of one run share. `policy`: the name under which they are filed. `unauditable`: whether bugs
    whose worlds cannot be audited are attempted. `weak`: how weakly assured grades are treated."""

    prepared: Prepared
    policy: str
    player: Player
    seats: SandboxPool
    workers: Workers
    seed: int = 0
    counterfactual: bool = True
    limits: Limits = field(default_factory=Limits)
    calibrations: Calibrations = field(default_factory=Calibrations)
    unauditable: bool = False
    weak: Weak = "count"


async def solver_rollout(run: SolverRun, ready: ReadyBug, number: int) -> SolverRollout:
    """Play one attempt and grade it.

    Raises `SandboxError` when no sandbox is available, `ModelDown` when the model did not answer, `OracleError` for a
    bug that cannot be graded.
    """
    started = time.monotonic()
    task = SolverTask(ready.bug.id, ready.specification, run.seed, number, ready.statement)
    async with run.seats.lease(run.limits) as lease:
        async with run.workers.entered(open_world(lease, ready.task, run.limits)) as world:
            trajectory = await play_role(SOLVER, task, run.player, world.sandbox, run.workers)
            with belongs_to(trajectory):
                changes = await run.workers.run(collect, trajectory, world)
        handed_in, grade = await _graded(run, ready, lease, trajectory, changes)
    outcome = solver_outcome(grade, handed_in.diff, time.monotonic() - started, handed_in.left_out)
    return Rollout(trajectory, SolverKey(ready.bug.id, run.policy, run.seed, number), outcome)


async def _graded(
    run: SolverRun, ready: ReadyBug, lease: Backend, trajectory: Trajectory, changes: Changes | HandIn
) -> tuple[HandIn, Grade]:
    """The submission and its grade."""
    if isinstance(changes, HandIn):
        return changes, Grade(False, "nothing-handed-in", changes.reason)
    with belongs_to(trajectory):
        found = await run.workers.run(hand_in, lease, ready.task, changes, run.limits)
    if found.reason:
        return found, Grade(False, "nothing-handed-in", found.reason)
    refused = grade_without_running(ready.graded, found.diff)
    if refused is not None:
        return found, refused
    calibration = await calibrated(run, ready, lease)
    with belongs_to(trajectory):
        return found, await run.workers.run(grader_of(run, ready, calibration).grade, lease, found.diff)


async def calibrated(run: SolverRun, ready: ReadyBug, lease: Backend) -> Calibration:
    """The bug's calibration, made with this lease when it does not exist yet. Raises `OracleError`."""
    return await run.calibrations.get(
        ready.bug.id,
        run.workers,
        lambda: calibration_of(
            ready.folder, lease, ready.graded, ready.oracle, run.limits, counterfactual=run.counterfactual
        ),
    )


def grader_of(run: SolverRun, ready: ReadyBug, calibration: Calibration) -> Grader:
    """The grader for attempts at the bug."""
    return Grader(ready.graded, ready.oracle, run.limits, calibration, run.counterfactual, run.weak)


def solver_outcome(grade: Grade, diff: str, seconds: float, left_out: tuple[str, ...] = ()) -> SolverOutcome:
    """A grade as an outcome."""
    changed: int | None = None
    with contextlib.suppress(PatchError):
        changed = changed_lines(diff)
    return SolverOutcome(
        grade.resolved,
        grade.reason,
        grade.detail,
        diff,
        seconds,
        tuple(shown(path) for path in left_out),
        grade.runs,
        grade.seconds,
        changed,
        assurance(grade),
        grade.weaknesses,
    )
