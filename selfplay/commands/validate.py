"""What `selfplay validate` does: repeat every check from scratch, for one bug or a whole run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.artifact import Artifact, ArtifactError, Bug, Verdict
from selfplay.commands.checking import CheckWatcher
from selfplay.commands.event_loop import in_parallel
from selfplay.curriculum.stored_bugs import bug_folders, prepared_for, read_attempt, read_bug
from selfplay.curriculum.trust import NotTrusted
from selfplay.errors import SelfplayError, in_a_line
from selfplay.formatting import count
from selfplay.repository import Prepared
from selfplay.rollout.second_order import measure_second_order
from selfplay.sandbox import Backend
from selfplay.sandbox.retry import again
from selfplay.validators import Thresholds, Validation, validate
from selfplay.workbench import RunCache, Workbench

UNCHECKED = ORIGINAL, SANDBOX, IMPORTED = "original", "sandbox", "imported"
"""The names of the verdicts on a bug that could not be checked: its original cannot be built again, its checks kept
losing their sandbox, or no episode made it."""
MOST_STABLE, MOST_STABLE_SHARE = 3, 0.05
"""Tests that a record may set aside as flaky although they do not vary now, as some happen not to; and their share.
What is set aside decides no grade: a stranger's record could leave one easy test."""
SOLVE = "it was imported, not made by an episode: `selfplay solve RUN --policy gold` and `empty` check it"


@dataclass(frozen=True)
class Revalidated:
    """What the checks say now about the bug `id`, and whether `bug.json` recorded the same.

    `verdicts` may begin or end with an extra one: `files` (the bug's files are damaged or not those of its record),
    `original` (the repository it was planted in cannot be built again, so that nothing could be run),
    `sandbox` (its checks kept losing their sandbox, which says nothing about the bug), `imported` (from a dataset,
    whose bugs have nothing that could be checked again) or `record` (tests behave differently from the record; newly
    flaky ids are ignored, and so are those that it calls flaky, if they are few or vary).
    """

    id: str
    verdicts: tuple[Verdict, ...]

    @property
    def valid(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def unchecked(self) -> str:
        """Why the bug could not be checked; empty if it was."""
        return next((verdict.reason for verdict in self.verdicts if verdict.check in UNCHECKED), "")

    @property
    def state(self) -> str:
        """In words."""
        if self.unchecked:
            return "could not be checked"
        return "valid" if self.valid else "not valid"

    def to_json(self) -> dict[str, Any]:
        verdicts = [verdict.to_json() for verdict in self.verdicts]
        return {"id": self.id, "valid": self.valid, "checked": not self.unchecked, "verdicts": verdicts}


@dataclass(frozen=True)
class Revalidation:
    """The results for every bug, sorted by id. `missing`: the bugs that did not come to be checked: the command was
    interrupted."""

    bugs: Sequence[Revalidated]
    missing: int = 0

    @property
    def exit_code(self) -> int:
        """2 where one could not be checked, else 1 where one is not valid."""
        if any(one.unchecked for one in self.bugs):
            return 2
        return 0 if all(one.valid for one in self.bugs) else 1


@dataclass(frozen=True)
class _Job:
    """A readable bug, its original, and the runs it shares with other bugs of the same original."""

    folder: Path
    bug: Bug
    artifact: Artifact
    thresholds: Thresholds
    prepared: Prepared
    cache: RunCache


def revalidate(path: Path, backend: Backend, workers: int = 1, *, trust: bool = False) -> Iterator[Revalidated]:
    """Check the bug in `path`, or every bug of the run in `path`, `workers` at a time; results come as they finish. A
    damaged bug is not valid. `trust`: allow what the run wants to run or fetch.

    Raises `ArtifactError` for a folder that is neither, `NotTrusted` before any check, and the error of `prepare` for a
    missing original of a bug that was named; in a run it is one of the results.
    """
    jobs: list[_Job] = []
    prepared: dict[tuple[str, str], tuple[Prepared, RunCache]] = {}
    missing: dict[tuple[str, str], SelfplayError] = {}
    for folder in bug_folders(path):
        try:
            bug, artifact, thresholds = read_bug(folder)
        except ArtifactError as error:
            yield Revalidated(folder.name, (Verdict("files", False, error.message),))
            continue
        if bug.imported:
            yield Revalidated(folder.name, (Verdict(IMPORTED, False, SOLVE),))
            continue
        key = (bug.tree_hash, str(bug.environment))
        if key not in prepared and key not in missing:
            try:
                found = again(lambda: prepared_for(folder, bug, backend, trust=trust))  # noqa: B023 - called at once
                prepared[key] = (found, RunCache())
            except NotTrusted:
                raise
            except SelfplayError as error:
                missing[key] = error
        if key in prepared:
            jobs.append(_Job(folder, bug, artifact, thresholds, *prepared[key]))
        elif folder == path:
            raise missing[key]
        else:
            yield Revalidated(bug.id, (Verdict(ORIGINAL, False, in_a_line(missing[key])),))
    with closing(in_parallel(jobs, _checked, workers, backend, _unplayed)) as results:
        for _, result in results:
            yield result


def validate_bugs(
    path: Path,
    backend: Backend,
    workers: int,
    watcher: CheckWatcher,
    seen: Callable[[Revalidated], None] = lambda result: None,
    *,
    trust: bool = False,
) -> Revalidation:
    """As `revalidate`, with progress, which tells each reason once; `seen` gets each result as it comes. Ctrl-C ends it
    with what was found."""
    found, total, said = list[Revalidated](), len(bug_folders(path)), {""}
    watcher.expect(total, f"checking {count(total, 'bug')}")
    try:
        for result in revalidate(path, backend, workers, trust=trust):
            found.append(result)
            seen(result)
            why = "" if result.unchecked in said else f": {result.unchecked}"  # many may have one reason
            said.add(result.unchecked)
            watcher.done(f"{len(found)} of {total}: {result.id} {result.state}{why}")
    except KeyboardInterrupt:
        return Revalidation(found, total - len(found))
    return Revalidation(sorted(found, key=lambda one: one.id))


def _unplayed(job: _Job, error: SelfplayError) -> Revalidated:
    return Revalidated(job.bug.id, (Verdict(SANDBOX, False, f"could not be played: {error.message}"),))


def _checked(job: _Job, backend: Backend) -> Revalidated:
    bug, seconds = job.bug, job.thresholds.seconds
    bench = Workbench(backend, job.prepared.world(), job.artifact, time_limit=seconds, shared=job.cache)
    found = validate(job.artifact, bench, job.thresholds)
    more = _second_order(job.folder, bug, bench, found) if bug.attempt and found.valid else _disagreement(bug, found)
    return Revalidated(bug.id, (*found.verdicts, *more))


def _disagreement(bug: Bug, found: Validation) -> tuple[Verdict, ...]:
    """A failed verdict if a valid bug's tests do not behave as recorded."""
    return _otherwise(bug, found.fail_to_pass, found.pass_to_pass, found.flaky) if found.valid else ()


def _second_order(folder: Path, bug: Bug, bench: Workbench, found: Validation) -> tuple[Verdict, ...]:
    """The verdicts on the failed attempt in a second-order bug whose first-order bug is valid, as `found`: which tests
    count is not for its record to say."""
    try:
        diff = read_attempt(folder, bug)
        measured = measure_second_order(bench, found.fail_to_pass + found.pass_to_pass, found.flaky, diff)
    except ArtifactError as error:
        return (Verdict("files", False, error.message),)
    if isinstance(measured, str):
        return (Verdict("second order", False, measured),)
    *outcomes, verdict = measured
    return (verdict, *_otherwise(bug, *outcomes))


def _otherwise(
    bug: Bug, fails: tuple[str, ...], passes: tuple[str, ...], flaky: tuple[str, ...]
) -> tuple[Verdict, ...]:
    said_stable = set(bug.flaky) & {*fails, *passes}
    if len(said_stable) > max(MOST_STABLE, MOST_STABLE_SHARE * len(fails + passes)):
        said = f"the record sets aside {count(len(said_stable), 'test')} as flaky that do not vary"
        return (Verdict("record", False, f"{said}, first {min(said_stable)!r}"),)
    varied = {*flaky, *bug.flaky}
    other = (set(bug.fail_to_pass) ^ set(fails) | set(bug.pass_to_pass) ^ set(passes)) - varied
    if not other:
        return ()
    said = count(len(other), "test behaves", "tests behave")
    return (Verdict("record", False, f"{said} differently from the record, first {min(other)!r}"),)
