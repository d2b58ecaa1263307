"""Stores rollouts in a run's folder: first the trajectory, then the row that names it."""

import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from selfplay.agent.trajectory import Trajectory
from selfplay.agent.trajectory_file import encoded, save_encoded
from selfplay.curriculum import (
    Attempt,
    AttemptFigures,
    Curriculum,
    EpisodeRecord,
    StoredEpisodeFigures,
)
from selfplay.curriculum.attempts import attempt_trajectory, refuse_no_bug
from selfplay.curriculum.crediting import ENDING, injection_name
from selfplay.curriculum.records import PlayFigures
from selfplay.rollout.rollout import (
    InjectorOutcome,
    InjectorRollout,
    K,
    Out,
    Rollout,
    SolverKey,
    SolverOutcome,
    SolverRollout,
)
from selfplay.rollout.stored import header
from selfplay.sandbox.owners import remove


def store_episode(pool: Curriculum, rollout: InjectorRollout) -> EpisodeRecord:
    """Store an injector rollout; it replaces what the pool holds for that episode."""
    task, outcome = rollout.task, rollout.outcome
    name = injection_name(task.number, pool.episodes.suffix(task.repository)) + ENDING
    _save(rollout, pool.folder / "trajectories" / name)
    record = EpisodeRecord(
        number=task.number,
        strategy=task.strategy,
        status=outcome.status,
        reason=outcome.reason,
        figures=StoredEpisodeFigures(
            **dict(_played(rollout.trajectory, outcome)),
            validation_seconds=outcome.validation_seconds,
            files=outcome.files,
            changed_lines=outcome.changed_lines,
            fail_to_pass=outcome.fail_to_pass,
            task=outcome.task_key,
        ),
        failed_check=outcome.failed_check,
        tree_key=outcome.tree_key,
        artifact=outcome.artifact,
        bug=outcome.bug,
        repository=task.repository,
        group=rollout.group,
        policy=rollout.trajectory.policy,
        versions=versions_of(rollout.trajectory),
        trajectory=name,
    )
    pool.episodes.store(record)
    return record


def store_attempt(pool: Curriculum, rollout: SolverRollout) -> Attempt:
    """Store an attempt; an existing one is kept."""
    task, trajectory = rollout.task, rollout.trajectory
    refuse_no_bug(task.bug)
    name = attempt_trajectory(task.bug, task.policy, task.number)
    _save(rollout, pool.folder / "trajectories" / name)
    attempt = _attempt(task, rollout.outcome, _played(trajectory, rollout.outcome), trajectory.policy)
    attempt = replace(attempt, versions=versions_of(trajectory), trajectory=name)
    pool.attempts.add(attempt)
    return attempt


def store_control(pool: Curriculum, task: SolverKey, outcome: SolverOutcome) -> Attempt:
    """Store the outcome of a control, which has no episode."""
    attempt = _attempt(task, outcome, PlayFigures(seconds=outcome.seconds, suite_runs=outcome.suite_runs), "")
    pool.attempts.add(attempt)
    return attempt


def _attempt(task: SolverKey, outcome: SolverOutcome, played: PlayFigures, player: str) -> Attempt:
    return Attempt(
        bug=task.bug,
        policy=task.policy,
        number=task.number,
        resolved=outcome.resolved,
        reason=outcome.reason,
        detail=outcome.detail,
        diff=outcome.diff,
        figures=AttemptFigures(
            **dict(played),
            grading_seconds=outcome.grading_seconds,
            changed_lines=outcome.changed_lines,
            left_out=outcome.left_out,
            assurance=outcome.assurance,
            weaknesses=outcome.weaknesses,
            player=player,
        ),
    )


def versions_of(trajectory: Trajectory) -> tuple[int, int]:
    """The first and the last weight version that sampled in a trajectory; (0, 0) for a script."""
    spans = [segment.versions for segment in trajectory.record.segments]
    return (min(first for first, _ in spans), max(last for _, last in spans)) if spans else (0, 0)


def _played(trajectory: Trajectory, outcome: InjectorOutcome | SolverOutcome) -> PlayFigures:
    """The figures of any episode."""
    found = trajectory.figures
    return PlayFigures(
        seconds=outcome.seconds,
        suite_runs=outcome.suite_runs,
        episode_seconds=found.seconds,
        calls=found.calls,
        finish=str(found.finish),
        malformed=found.malformed,
        drift=found.drift,
        usage=asdict(found.usage),
    )


def _save(rollout: Rollout[K, Out], path: Path) -> None:
    save_encoded(rollout.file or encoded(rollout.trajectory, header(rollout)), path)


def keep_original(write: Callable[[Path], None], target: Path, anew: bool) -> None:
    """Write an original tree to `target` once; with `anew`, again, while no bug needs the old one.

    The tree is written atomically.
    """
    if target.is_dir() and not target.is_symlink() and not anew:
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    remove(temporary)
    write(temporary)
    remove(target)
    temporary.replace(target)
