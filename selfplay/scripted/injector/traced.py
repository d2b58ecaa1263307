"""One run of a suite under coverage, in its own sandbox: which test runs which line, and the other facts a survey
needs.

It uses no tool of an episode, so no tool limit applies: the time limit is computed from the measured time of the suite.
"""

import ast
import time
from collections.abc import Iterable
from dataclasses import dataclass

from selfplay.errors import SelfplayError
from selfplay.oracle.originals import original_texts
from selfplay.plain_text import decode, encode, printable
from selfplay.python_source import syntax_tree
from selfplay.repository import Prepared, Suite
from selfplay.repository.suites import pytest_suite
from selfplay.repository.suites.pytest_suite import CoverageMap
from selfplay.sandbox import MIB, WORKDIR, Backend, Completed, InsideError, Limits, Sandbox
from selfplay.sandbox.kill_detection import PAUSES, ProgramKilled, refuse_dangerous_place, undisturbed, unless_killed
from selfplay.scripted.edits.cuts import UNREADABLE
from selfplay.scripted.injector import inside
from selfplay.scripted.injector.git_log import COMMITS, log_command, past_changes
from selfplay.untrusted_json import AnswerError, answer, inflated

START_SECONDS = 60.0
"""Seconds to start Python and pytest, to collect, and to write the report."""
SLOWDOWN = 10.0
"""How many times slower code may be under coverage: two to four is usual, ten for a loop of very short lines."""
SHORT_SECONDS = 60.0
"""Seconds for git's log and for the search of modules, which take less than one second."""
MOST_PACKED, MOST_BYTES = 16 * MIB, pytest_suite.MOST_COVERAGE
"""Bytes of the packed and of the unpacked report that are read: the repository's own code could write to it."""
REPORT = "/tmp/coverage.json"
PACK = f"{REPORT}.gz"
SOURCE_FOLDERS = ("", "src", "lib")
"""Folders of a tree that may contain packages."""
ADVICE = "Choose tests that can be with --test, or a model with --policy: a model needs no survey."


class SurveyFailed(SelfplayError):
    """The suite cannot be run under coverage, so it is unknown which test runs which line."""


@dataclass(frozen=True)
class Traced:
    """The results of one run. `coverage` is the report as the run wrote it, `changed` the Python files that past
    commits changed, `installed` the packages of the tree that its tests import from somewhere else."""

    coverage: str
    changed: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()


def survey_seconds(suite: Suite) -> float:
    """The time limit of the run: every second of the measured run may take ten times as long under coverage.

    `cpu_seconds` exceeds the wall time if the suite used several cores, which may be busy now.
    """
    return START_SECONDS + SLOWDOWN * max(suite.wall_seconds, suite.cpu_seconds)


def trace(prepared: Prepared, suite: Suite, backend: Backend) -> Traced:
    """Run the suite once under coverage. Raises `SurveyFailed`, or `SandboxError`."""
    try:
        return _believed(prepared, suite, backend)
    except InsideError as error:
        raise SurveyFailed(f"the survey of {prepared.source} failed: {error.message}", ADVICE) from error


def _believed(prepared: Prepared, suite: Suite, backend: Backend) -> Traced:
    """What the run showed; it runs again if it was killed, since that may not have been the suite's own doing
    (`sandbox/kill_detection.py`)."""
    seconds = 0.0
    for pause in PAUSES:
        time.sleep(pause)
        began = time.monotonic()
        try:
            return _traced(prepared, suite, backend, believing=False)
        except ProgramKilled:
            seconds = time.monotonic() - began
    refuse_dangerous_place(backend, prepared.world(history=True), Limits(), seconds)
    return _traced(prepared, suite, backend, believing=True)


def _traced(prepared: Prepared, suite: Suite, backend: Backend, believing: bool) -> Traced:
    with backend.open(prepared.world(history=True)) as untouched:
        changed = _changed(untouched)  # git does what the folder's settings say, which a suite may write
    with backend.open(prepared.world(history=True)) as sandbox:
        coverage = _run(prepared, suite, sandbox, believing)
        return Traced(coverage, changed, _installed(prepared, suite, sandbox, believing))


def _run(prepared: Prepared, suite: Suite, sandbox: Sandbox, believing: bool) -> str:
    script = pytest_suite.render_coverage(suite.files, suite.excluded, output=REPORT, options=suite.options)
    sandbox.write_file("/tmp/coverage.sh", encode(script))
    limit = survey_seconds(suite)
    stop = "" if believing else "[ $ended -ne 137 ] || exit 137; "
    run = (
        f"bash /tmp/coverage.sh >/tmp/log 2>&1; ended=$?; tail -c 2000 /tmp/log; {stop}"
        f"test -s {REPORT} && gzip -6 <{REPORT} >{PACK}"
    )
    done = sandbox.run(run, timeout=limit, merge_stderr=True)
    if not believing:
        unless_killed(done, "the suite")
    if done.timed_out or done.exit_code != 0:
        raise _failure(prepared, done, limit)
    try:
        report = inflated(sandbox.read_file(PACK, MOST_PACKED), MOST_BYTES, gzip=True).decode("ascii")
        coverage_of(report)
    except (ValueError, InsideError) as error:
        raise SurveyFailed(f"the coverage report of {prepared.source} cannot be read: {error}", ADVICE) from error
    return report


def _failure(prepared: Prepared, done: Completed, limit: float) -> SurveyFailed:
    if done.timed_out:
        return SurveyFailed(f"the suite of {prepared.source} takes more than {limit:.0f} s under coverage", ADVICE)
    last = "\n".join(f"    {line}" for line in printable(done.text).splitlines()[-10:] if line.strip())
    return SurveyFailed(f"the suite of {prepared.source} cannot be run under coverage\n{last}", ADVICE)


def coverage_of(report: str) -> CoverageMap:
    """The map in a report. Raises `ValueError` for anything else: the repository's own code could write to it."""
    return pytest_suite.parse_coverage(report.encode())


def _changed(sandbox: Sandbox) -> tuple[str, ...]:
    done = sandbox.run(log_command(COMMITS, "--min-parents=1"), timeout=SHORT_SECONDS, env=sandbox.own_env)
    undisturbed(done, "git", SHORT_SECONDS)
    return tuple(sorted({path for _, path in past_changes(decode(done.stdout))}))


def _installed(prepared: Prepared, suite: Suite, sandbox: Sandbox, believing: bool) -> tuple[str, ...]:
    """Packages that the tree contains and its tests import, but that Python finds outside the tree. The Python is the
    project's, and may end as it likes."""
    tests = original_texts(prepared.world(), suite.files)
    names = sorted(_imported(tests.values()) & _packages(prepared))
    program = inside.text("selfplay_origin.py")
    done = sandbox.run(["python", "-c", program, *names], timeout=SHORT_SECONDS)
    if not believing:
        unless_killed(done, "python")
    return elsewhere(done.stdout, names) if done.exit_code == 0 else ()


def elsewhere(said: bytes, names: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` that are found outside the tree; none where the answer makes no sense."""
    try:
        places = answer(dict[str, str], said)
    except AnswerError:
        return ()
    return tuple(name for name in names if not (places.get(name) or WORKDIR).startswith(WORKDIR))


def _imported(texts: Iterable[str]) -> set[str]:
    """The first parts of the names of all modules that these sources import."""
    found: set[str] = set()
    for text in texts:
        try:
            nodes = ast.walk(syntax_tree(text))
        except UNREADABLE:
            continue
        for node in nodes:
            match node:
                case ast.Import(names=names):
                    found.update(alias.name.split(".")[0] for alias in names)
                case ast.ImportFrom(module=str(module), level=0):
                    found.add(module.split(".")[0])
    return found


def _packages(prepared: Prepared) -> set[str]:
    """Names of the modules and packages at the top of the tree, or of its `src`."""
    folders = [prepared.tree / folder for folder in SOURCE_FOLDERS]
    modules = {path.stem for folder in folders for path in folder.glob("*.py")}
    return modules | {path.parent.name for folder in folders for path in folder.glob("*/__init__.py")}
