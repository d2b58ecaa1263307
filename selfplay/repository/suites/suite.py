"""Measures a repository's own tests at HEAD: which files, which tests always pass, how long they take.

There are two runs in two fresh sandboxes; the second leaves out what failed in the first, as every later script does. A
file that hangs or crashes the process is left out and the rest runs again; a suite over the time limit is cut to whole
files.
"""

import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from selfplay.formatting import Say, count
from selfplay.plain_text import encode
from selfplay.repository.disk import named
from selfplay.repository.errors import NoPassingTests, RepositoryError
from selfplay.repository.inside import text
from selfplay.repository.prepared import Prepared, Suite
from selfplay.repository.suites.as_pytest import as_pytest
from selfplay.repository.suites.discovery import advice, collected, run_as_called, run_by, tail
from selfplay.repository.suites.kept_runs import KeptRuns
from selfplay.repository.suites.pytest_suite import (
    TEST_SECONDS,
    TestRecord,
    file_of,
    finished,
    parse_records,
    render_script,
    script_for,
)
from selfplay.repository.suites.runners import RunnerCall, RunnerRequest, calling
from selfplay.repository.suites.script_frame import framed
from selfplay.sandbox import MIB, Backend, Completed, InsideError, Limits
from selfplay.sandbox.kill_detection import believed, undisturbed

LIMITS = Limits(output_bytes=32 * MIB)
ROOM = 0.8
"""The share of the time limit that a cut suite may use, as a reserve for slower runs."""
MAX_CUTS = 3
"""How often a suite is cut again if it turns out slower than measured."""
MEASURING_TEST_SECONDS, RESCUE_SECONDS = 15.0, 30.0
RESCUE = 'for one in /tmp/tmp.*/record; do [ ! -f "$one" ] || [ -L "$one" ] || cat "$one"; done'
"""Prints the records that a stopped run left; whoever opens a pipe that a suite left there waits."""
MAX_MEASURING = 3
"""The first measurement may take this many time limits, over all its runs."""
SCRIPT = "/tmp/selfplay-suite.sh"


@dataclass
class _Measurement:
    """A measurement in progress. `call`: how its framework is called; None for pytest."""

    prepared: Prepared
    backend: Backend
    time_limit: float
    command: str | None
    kept: KeptRuns
    call: RunnerCall | None = None
    options: tuple[str, ...] = ()
    left_out: list[str] = field(default_factory=list)

    def run(self, script: str, timeout: float) -> Completed:
        """One run in a fresh sandbox, or the kept one. A run killed at `timeout` has the records written until then. A
        run that was killed for another reason is run again (`sandbox/kill_detection.py`)."""
        world = self.prepared.world()
        return self.kept.run(script, lambda: believed(lambda: self._run(script, timeout), self.backend, world, LIMITS))

    def _run(self, script: str, timeout: float) -> Completed:
        with self.backend.open(self.prepared.world(), LIMITS) as sandbox:
            sandbox.write_file(SCRIPT, encode(script))  # an argument may have 128 KiB: it names all that fails
            done = sandbox.run(["bash", SCRIPT], timeout=timeout, merge_stderr=True)
            if not done.timed_out:
                return done
            rescued = sandbox.run(RESCUE, timeout=RESCUE_SECONDS, env=sandbox.own_env)
            undisturbed(rescued, "cat", RESCUE_SECONDS)
            return replace(done, stdout=done.stdout + b"\n" + rescued.stdout)

    def script(self, files: Iterable[str], excluded: Iterable[str] = ()) -> str:
        if self.call:
            asked = RunnerRequest(
                tuple(sorted(files)), self.options, (), tuple(sorted(excluded)), before=self.call.before
            )
            return framed(self.call.runner.lines(asked))
        return render_script(
            sorted(files), sorted(excluded), options=self.options, command=self.command,
            test_seconds=min(MEASURING_TEST_SECONDS, self.time_limit / 4), max_timeouts=1000,
        )  # fmt: skip


def measure_suite(
    prepared: Prepared,
    backend: Backend,
    *,
    time_limit: float = 90.0,
    command: str | None = None,
    progress: Say | None = None,
) -> Suite:
    """The suite as it behaves at HEAD; kept beside the environment, so that a second call is free. Each run is kept
    when it ends, so that a stopped measurement can be resumed.

    `time_limit`: seconds for one run of a script. `command` replaces the call of pytest, or the repository's own call
    of another framework. Raises `NoTests` or `NoPassingTests`, with the end of the log.
    """
    python = prepared.language == "python"
    call = None if python else calling(prepared.tree, prepared.source, prepared.language, command)
    kept = _kept(
        prepared,
        "suite",
        [time_limit, command, *([call.runner.lines(RunnerRequest(before=call.before))] if call else [])],
    )
    suite = _load(kept)
    if suite is not None:
        return suite
    runs = KeptRuns(kept.with_suffix(".runs"))
    try:
        work = _Measurement(prepared, backend, time_limit, command, runs, call, call.options if call else ())
        suite = _measure(work, progress or (lambda line: None))
    except (RepositoryError, InsideError):  # an error is a result too, and another try may change it
        runs.clear()
        raise
    with named(kept.parent):
        _keep(kept, json.dumps(asdict(suite)).encode())
    runs.clear()
    return suite


def _measure(work: _Measurement, progress: Say) -> Suite:
    progress("collecting the tests")
    files = _files(work)
    progress(f"running the tests of {count(len(files), 'file')}")
    first, seconds, log = _first_run(work, files, progress)
    for _ in range(MAX_CUTS):
        chosen = _fit(work, first, seconds)
        failing = {record.id for record in first if record.outcome == "failed" and file_of(record.id) in chosen}
        passed = {record.id for record in first if record.outcome == "passed" and file_of(record.id) in chosen}
        if not passed:
            raise NoPassingTests(
                f"none of the tests of {work.prepared.source} passes\n{tail(log)}",
                advice(work.prepared, "See its end above."),
            )
        progress("running the tests again")
        done = work.run(work.script(chosen, failing), 2 * work.time_limit)
        second = parse_records(done.stdout)
        if done.seconds <= work.time_limit:
            break
        first, seconds = [record for record in first if file_of(record.id) in chosen], 1.25 * done.seconds
    again = {record.id for record in second if record.outcome == "passed"}
    steady, flaky = passed & again, passed ^ again
    times = {record.id: record.seconds or 0.0 for record in second if record.id in steady}
    if not times:
        raise NoPassingTests(
            f"no test of {work.prepared.source} passes twice\n{tail(done.stdout)}", "See the log above."
        )
    used = sorted({file_of(test) for test in times})
    return Suite(
        tuple(used), times, tuple(sorted(failing)), tuple(sorted(flaky - failing)),
        tuple(sorted({*work.left_out, *files} - set(used))), work.command, round(done.seconds, 3), work.options,
        round(max(TEST_SECONDS, 5 * max(times.values())), 1), round(done.cpu_seconds, 3),
        work.prepared.language, work.call.runner.name if work.call else "pytest",
        before=work.call.before if work.call else (),
    )  # fmt: skip


def _files(work: _Measurement) -> list[str]:
    if work.call:
        files, broken = run_as_called(work.call, work.prepared, work.run, 4 * work.time_limit)
        work.left_out += broken
        return files
    wanted = as_pytest(work.command, work.prepared.tree) if work.command else None
    if work.command and not wanted:
        return run_by(work.command, work.prepared, work.run, 4 * work.time_limit)
    work.command, (files, broken, work.options) = None, collected(work.prepared, work.run, wanted)
    work.left_out += broken
    return files


def _first_run(work: _Measurement, files: list[str], progress: Say) -> tuple[list[TestRecord], float, bytes]:
    """Records of whole files, the seconds they took (without those of files that are left out), and the last log.

    Files that keep a run from finishing are left out; files not reached yet run next, unless those that ran already
    take more than a suite may.
    """
    remaining, known, seconds, log = list(files), list[TestRecord](), 0.0, b""
    deadline = time.monotonic() + MAX_MEASURING * work.time_limit
    while remaining and time.monotonic() < deadline and seconds < work.time_limit:
        done = work.run(work.script(remaining), 2 * work.time_limit)
        records, log = parse_records(done.stdout), done.stdout
        culprits = _culprits(records, done)
        if not culprits and finished(done.stdout) is not None:
            return known + records, seconds + done.seconds, log
        if culprits:
            progress(f"leaving out {', '.join(sorted(culprits))}: a test in it hangs or crashes, or the time was over")
        reached = {file_of(record.id) for record in records} or set(remaining)
        work.left_out += sorted(culprits)
        kept = [record for record in records if file_of(record.id) not in culprits]
        known, seconds = known + kept, seconds + sum(record.seconds or 0.0 for record in kept)
        remaining = [file for file in remaining if file not in reached]
    work.left_out += remaining
    return known, seconds, log


def _culprits(records: list[TestRecord], done: Completed) -> set[str]:
    """Files during which the run died or was killed."""
    died = {file_of(record.id) for record in records if record.outcome == "failed" and record.seconds is None}
    collected = {file_of(record.id) for record in records if record.kind == "collect"}
    last = {file_of(records[-1].id)} if records and finished(done.stdout) is None else set()
    return (died - collected) | last


def _fit(work: _Measurement, records: list[TestRecord], wall: float) -> set[str]:
    """Whole files, quickest first, that fit the limit if a run of all of them took `wall` seconds."""
    spent: dict[str, float] = {}
    for record in records:
        if record.kind == "test":
            spent[file_of(record.id)] = spent.get(file_of(record.id), 0.0) + (record.seconds or 0.0)
    budget = ROOM * work.time_limit
    if wall <= budget or not any(spent.values()):
        return set(spent)
    share = wall / sum(spent.values())  # start-up and collection are spread over the tests
    chosen: set[str] = set()
    for file, seconds in sorted(spent.items(), key=lambda item: (item[1], item[0])):
        if share * seconds <= budget:
            budget -= share * seconds
            chosen.add(file)
    work.left_out += sorted(set(spent) - chosen)
    return chosen


def _kept(prepared: Prepared, kind: str, parts: list[object]) -> Path:
    """Where the measurement of this environment, with these settings and this version of our programs, is kept."""
    content = json.dumps([parts, text("selfplay_tests.py"), script_for.__module__], sort_keys=True)
    return prepared.tree.parent / f"{kind}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.json"


def _keep(path: Path, data: bytes) -> None:
    from selfplay.artifact.files import write_atomically  # imports pydantic, which is slow

    write_atomically(path, data)


def _load(path: Path) -> Suite | None:
    """The suite kept at `path`; None if there is none, or it is damaged."""
    try:
        value = json.loads(path.read_bytes())
        lists = {name: tuple(value[name]) for name in ("files", "failing", "flaky", "left_out", "options", "before")}
        return Suite(**{**value, **lists})
    except (OSError, ValueError, KeyError, TypeError):
        return None
