"""The engine that runs tests: it makes a variant of the tree, runs a script on it, checks the files it left, and parses
its log.

Contract: `bash test_script.sh | python test_parser.py` from the repository root, so the log is only the standard
output. The script is mounted read-only outside the tree: the tests it runs cannot rewrite it. Diffs are applied by `git
apply` inside the sandbox, outside any repository: inside a repository, git silently skips paths that fall outside it.
Both the checks' workbench and the oracle's trials use this engine.

A lost sandbox, or a process killed in it, says nothing about the code that ran: the loss is raised, and the caller
plays again: a loop over jobs by `rollout/retries.py`, one grade by `sandbox/retry.py`. For a run of tests, only here a
loss can become a verdict: a limit counts if it is exceeded again in a fresh sandbox; a kill of script or parser counts
if it happens at each of four tries while an idle program survives as long in the same place
(`sandbox/kill_detection.py`).
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from selfplay.patches import PatchError, touched_paths
from selfplay.plain_text import encode
from selfplay.repository.suites.pytest_suite import failure_messages
from selfplay.sandbox import Backend, Cause, InsideError, Limits, Mount, Sandbox, SandboxLost, World
from selfplay.sandbox.kill_detection import (
    PAUSES,
    ProgramKilled,
    refuse_dangerous_place,
    refuse_want_of_memory,
    starved,
)
from selfplay.sandbox.owners import scratch
from selfplay.sandbox.protocol import KILLED
from selfplay.workbench.applying import DoesNotApply, apply_diffs
from selfplay.workbench.files import TestFile, compiled_forms, put, sums
from selfplay.workbench.parsing import ParserError, ParserKilled, parse_log
from selfplay.workbench.reading import ReadBudget, read_compiled
from selfplay.workbench.restoring import drop_compiled, restore_files
from selfplay.workbench.result import RunStep, TestRun

ORACLE = "/oracle"
"""The folder of the script and of the files mounted beside it."""
TAIL_CHARACTERS = 4000
LIMITS = 2
"""How often a limit must be exceeded, each time in a fresh sandbox, to count as the request's fault."""


@dataclass(frozen=True)
class RunRequest:
    """What to run, in order of execution.

    `diffs` are applied, then `optional` if it applies; `names`: diff -> its name in the error if it does not apply. The
    files in `restore` are restored from the original; `files` are written, with their `compiled` forms. The script gets
    `environment` in addition to the world's, `stdin`, and `seconds`; it sees the files `beside` it in `/oracle`.
    Afterwards the files in `watch` are compared with their state before the run, the files in `read` are read, and with
    `keep_compiled` the compiled forms of `files` are kept. With `alone` no file lies beside the tree: the script is an
    argument. With an empty `parser` no log is parsed.
    """

    world: World
    script: str
    parser: str
    seconds: float
    limits: Limits = field(default_factory=Limits)
    diffs: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    optional: str = ""
    restore: Sequence[str] = ()
    files: Mapping[str, TestFile] = field(default_factory=dict)
    compiled: Mapping[str, bytes] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    watch: Sequence[str] = ()
    read: Sequence[str] = ()
    keep_compiled: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Run(TestRun):
    """A test run with all requested data. `log`: the parser's input. `planted`: the optional diff applied. `rewritten`:
    watched files, and their compiled forms, that changed. `compiled`: the compiled forms of `files`. `found`: the
    content of the existing files in `read`. `tries`: the number of runs it took. `killed_for_memory`,
    `over_memory`: see `Completed`."""

    log: bytes = b""
    planted: bool = False
    rewritten: tuple[str, ...] = ()
    compiled: Mapping[str, bytes] = field(default_factory=dict)
    found: Mapping[str, bytes] = field(default_factory=dict)
    tries: int = 1
    killed_for_memory: bool = False
    over_memory: bool = False

    def summary(self) -> TestRun:
        """The outcomes and their cost, without the log and the files: small enough to be kept."""
        return TestRun(**{one.name: getattr(self, one.name) for one in fields(TestRun)})


class _Doubtful(Exception):
    """A run that exceeded a limit, or whose script, or a process of it, was killed: it counts only if that happens
    again."""

    def __init__(self, run: Run, killed: bool = False) -> None:
        super().__init__(run.error)
        self.run, self.killed = run, killed


def run_tests(backend: Backend, request: RunRequest) -> Run:
    """Run a request in a fresh sandbox, and parse its log in another one after the first is closed.

    A limit that is exceeded twice counts as the request's fault, and so does time that a script waited out. A kill
    without a limit may come from outside: it counts if it happens at every try while an idle program survives as long
    beside it. Raises `SandboxError` when no sandbox is available or it is lost; errors of diffs, tests or parser are
    reported in the `Run`."""
    limits = 0
    for tries, pause in enumerate(PAUSES, 1):
        time.sleep(pause)
        try:
            return replace(_tried(backend, request), tries=tries)
        except _Doubtful as doubtful:
            found = replace(doubtful.run, tries=tries)
            limits += not doubtful.killed
        if limits == LIMITS:
            return found
    refuse_want_of_memory(found.killed_for_memory, found.over_memory)
    refuse_dangerous_place(backend, request.world, request.limits, found.seconds)
    return found


def _tried(backend: Backend, request: RunRequest) -> Run:
    """One try. Raises `_Doubtful`, and `SandboxLost` for a loss that no limit explains."""
    with scratch() as folder:
        world = _staged_world(folder, request)
        with backend.open(world, request.limits) as sandbox:
            run = _in_sandbox(sandbox, request)
        return run if run.failed_at else _parsed(backend, request, run)


def _parsed(backend: Backend, request: RunRequest, run: Run) -> Run:
    """Add the outcomes to a run. If a script was killed, only another run can tell whether it was its own fault."""
    try:
        if request.parser:
            outcomes = parse_log(backend, request.world, request.limits, request.parser, run.log)
            failed = [test for test, outcome in outcomes.items() if outcome == "failed"]
            run = replace(run, outcomes=outcomes, messages=failure_messages(run.log, failed))
    except SandboxLost as lost:
        raise _limit_met(lost, "parser") from lost
    except ParserKilled as error:
        raise _Doubtful(replace(run, failed_at="parser", error=str(error)), killed=True) from error
    except ParserError as error:
        run = replace(run, failed_at="parser", error=str(error))
    if run.killed_for_memory or (run.exit_code in KILLED and not run.timed_out):
        raise _Doubtful(run, killed=not run.over_memory)
    if starved(run.timed_out, run.cpu_seconds, request.seconds):
        raise _Doubtful(run)
    return run


def _limit_met(lost: SandboxLost, step: RunStep) -> Exception:
    """The exception for a loss: a doubtful run if the code that ran may have caused it, else the loss itself."""
    if lost.cause is not Cause.LIMIT and not isinstance(lost, ProgramKilled):
        return lost
    what = {"apply": "the diffs", "script": "test_script.sh", "parser": "test_parser.py"}[step]
    told = f"{what} took the sandbox down: {lost.message}"
    return _Doubtful(Run(failed_at=step, error=told), killed=lost.cause is not Cause.LIMIT)


def _staged_world(folder: Path, request: RunRequest) -> World:
    """The world with the script and the files beside it."""
    if request.alone:
        return request.world
    folder.chmod(0o755)  # the sandbox's user must be able to read it
    for name, text in {"test_script.sh": request.script, **request.beside}.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(encode(text))
        file.chmod(0o644)
    return replace(request.world, mounts=(*request.world.mounts, Mount(folder, ORACLE)))


def _in_sandbox(sandbox: Sandbox, request: RunRequest) -> Run:
    """Make the variant, run the script and check; a failing step ends the run with its reason."""
    try:
        planted = _make_variant(sandbox, request)
        watched = _with_compiled_forms(sandbox, request.watch)
        before = sums(sandbox, watched)
    except SandboxLost as lost:
        raise _limit_met(lost, "apply") from lost
    except (DoesNotApply, InsideError) as error:
        return Run(failed_at="apply", error=str(error))
    try:
        done = sandbox.run(
            ["bash", "-c", request.script] if request.alone else ["bash", f"{ORACLE}/test_script.sh"],
            timeout=request.seconds, stdin=request.stdin, env=request.environment,
        )  # fmt: skip
        budget = ReadBudget()
        read = {path: budget.read(sandbox, path) for path in request.read}
        after = sums(sandbox, watched)
        compiled = read_compiled(sandbox, sorted(request.files), budget) if request.keep_compiled else {}
    except SandboxLost as lost:
        raise _limit_met(lost, "script") from lost
    except InsideError as error:
        return Run(failed_at="script", error=f"after test_script.sh: {error.message}", planted=planted)
    return Run(
        exit_code=done.exit_code, seconds=done.seconds, cpu_seconds=done.cpu_seconds, timed_out=done.timed_out,
        truncated=done.truncated, log_tail=done.text[-TAIL_CHARACTERS:], log=done.stdout, planted=planted,
        rewritten=tuple(path for path in watched if before.get(path) != after.get(path)),
        compiled=compiled, found={path: data for path, data in read.items() if data is not None},
        killed_for_memory=done.killed_for_memory, over_memory=done.over_memory,
    )  # fmt: skip


def _make_variant(sandbox: Sandbox, request: RunRequest) -> bool:
    """Make the variant; returns whether the optional diff was applied."""
    apply_diffs(sandbox, request.diffs, lambda diff: request.names.get(diff, "the diff"))
    planted = bool(request.optional) and _applied(sandbox, request.optional)
    restore_files(sandbox, request.world, request.restore)
    drop_compiled(sandbox, sorted(_changed(request) - {*request.restore}))
    put(sandbox, request.files, request.compiled)
    return planted


def _changed(request: RunRequest) -> set[str]:
    """The paths that its diffs change; unknown for a diff that only git can read."""
    found: set[str] = set()
    for diff in request.diffs:
        with suppress(PatchError):
            found |= set(touched_paths(diff))
    return found


def _applied(sandbox: Sandbox, diff: str) -> bool:
    try:
        apply_diffs(sandbox, (diff,))
    except DoesNotApply:
        return False
    return True


def _with_compiled_forms(sandbox: Sandbox, paths: Sequence[str]) -> list[str]:
    watched = sorted(paths)
    return [*watched, *compiled_forms(sandbox, watched)]
