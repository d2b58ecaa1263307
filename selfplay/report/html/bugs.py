"""Bugs as plain values: a row for the gallery, from the pool, and the details of a bug's page, from its folder."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from selfplay.artifact import Artifact, ArtifactError, Bug
from selfplay.artifact.reading import UntrustedDataError, existing_folder
from selfplay.curriculum import Attempt, Curriculum, CurriculumError, EpisodeRecord
from selfplay.curriculum.attempts import attempt_trajectory
from selfplay.curriculum.crediting import ENDING, injection_name
from selfplay.curriculum.solving import Solves
from selfplay.curriculum.stored_bugs import read_attempt, read_bug
from selfplay.report.html.diffs import clean, clean_text, diff_value
from selfplay.rollout.controls import CONTROLS

MOST_IDS, MOST_FILES, MOST_TEXT = 500, 20, 20_000
"""The most shown test ids of one kind, files of a row, and characters of a script."""


def first_order_row(record: EpisodeRecord, bug: Bug, solved: Solves) -> dict[str, Any]:
    """A row of the gallery."""
    files = [clean(path) for path in record.figures.files[:MOST_FILES]]
    return {**_row(bug, solved), "files": files, "lines": record.figures.changed_lines,
            "seconds": round(record.figures.seconds, 2), "runs": record.figures.suite_runs}  # fmt: skip


def second_order_row(bug: Bug, solved: Solves, root: Mapping[str, Any] | None) -> dict[str, Any]:
    """A row for a second-order bug, with the files of its `root` if that is shown."""
    made_of = {"policy": clean(bug.attempt.policy), "number": bug.attempt.number} if bug.attempt else None
    return {**_row(bug, solved), "files": root["files"] if root else [], "parent": bug.parent, "root": bug.root,
            "made_of": made_of}  # fmt: skip


def _row(bug: Bug, solved: Solves) -> dict[str, Any]:
    tried = {clean(policy): [one["resolved"], one["attempts"]] for policy, one in solved.items()}
    return {
        "id": bug.id, "order": bug.order, "strategy": bug.strategy, "source": clean(bug.source),
        "f2p": len(bug.fail_to_pass), "p2p": len(bug.pass_to_pass), "flaky": len(bug.flaky),
        "hidden": len(bug.hidden), "policy": clean(bug.policy or "imported"), "solved": tried,
        "rate": solve_rate(solved),
    }  # fmt: skip


def solve_rate(solved: Solves) -> list[int] | None:
    """[resolved, attempts] of all policies except controls; None without an attempt."""
    own = [one for policy, one in solved.items() if policy not in CONTROLS]
    return [sum(one["resolved"] for one in own), sum(one["attempts"] for one in own)] if own else None


def bug_detail(pool: Curriculum, bug: Bug, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """What a bug's page shows besides its row. Raises `SelfplayError` for a bug that is damaged or half-written."""
    try:
        folder = existing_folder(pool.folder, "bugs", bug.id)
    except UntrustedDataError as error:
        raise ArtifactError(error.message, error.hint) from error
    if folder is None:
        raise ArtifactError("its folder is missing")
    stored, artifact, _ = read_bug(folder)
    if stored.content_hash != bug.content_hash:
        raise ArtifactError("bug.json is not that of the pool's bug")
    found = {**_identity(stored), **_tests(stored), **_files(artifact), "verdicts": _verdicts(stored)}
    if stored.attempt:
        found["attempt"] = diff_value(read_attempt(folder, stored))
    return {**found, "attempts": [attempt_value(pool, one) for one in attempts]}


def _identity(bug: Bug) -> dict[str, Any]:
    known = {
        "source": bug.source, "revision": bug.revision, "tree": bug.tree_hash[:12], "planted by": bug.policy,
        "seed": str(bug.seed), "python": str(bug.environment.get("python") or ""),
        **{f"made with {name}": version for name, version in [*bug.versions.items()][:10]},
    }  # fmt: skip
    return {"id": bug.id, "facts": {clean(name): clean(value) for name, value in known.items() if value}}


def _tests(bug: Bug) -> dict[str, Any]:
    hidden = set(bug.hidden)
    return {
        "failing": [[clean(test), test in hidden] for test in bug.fail_to_pass[:MOST_IDS]],
        "flaky": list(map(clean, bug.flaky[:MOST_IDS])),
    }


def _files(artifact: Artifact) -> dict[str, Any]:
    return {
        "inject": diff_value(artifact.bug_inject),
        "weaken": None if artifact.test_weaken is None else diff_value(artifact.test_weaken),
        "texts": {"test_script.sh": clean_text(artifact.test_script, MOST_TEXT),
                  "test_parser.py": clean_text(artifact.test_parser, MOST_TEXT),
                  "test_files.txt": clean_text("\n".join(artifact.test_files), MOST_TEXT)},
    }  # fmt: skip


def _verdicts(bug: Bug) -> list[dict[str, Any]]:
    return [
        {"check": clean(one.check), "passed": one.passed, "reason": clean(one.reason),
         "seconds": round(one.seconds, 3), "runs": one.runs}
        for one in bug.recorded_verdicts()[:100]
    ]  # fmt: skip


def attempt_value(pool: Curriculum, attempt: Attempt) -> dict[str, Any]:
    """An attempt with its diff; `problem` if the diff cannot be read."""
    figures, problem, diff = attempt.figures, "", ""
    try:
        diff = pool.attempts.read_diff(attempt.bug, attempt.policy, attempt.number)
    except CurriculumError as error:
        problem = clean(error.message)
    return {
        "policy": clean(attempt.policy), "number": attempt.number, "resolved": attempt.resolved,
        "reason": clean(attempt.reason), "detail": clean(attempt.detail), "assurance": figures.assurance,
        "weaknesses": [clean(one) for one in figures.weaknesses],
        "seconds": round(figures.seconds, 2), "grading": round(figures.grading_seconds, 2), "calls": figures.calls,
        "finish": clean(figures.finish), "episode": episode_name(attempt), "diff": diff_value(diff),
        **({"problem": problem} if problem else {}),
    }  # fmt: skip


def episode_name(played: Attempt | EpisodeRecord, suffix: str = "") -> str:
    """The name of an episode's file in `trajectories/`."""
    if isinstance(played, Attempt):
        return played.trajectory or attempt_trajectory(played.bug, played.policy, played.number)
    return played.trajectory or f"{injection_name(played.number, suffix)}{ENDING}"


def by_bug(attempts: Iterable[Attempt]) -> dict[str, list[Attempt]]:
    """Bug -> its attempts."""
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.bug, []).append(attempt)
    return found
