"""The one place that runs tests: stage a tree, run a script on it, look at the files it left, parse its log.

Contract: `bash test_script.sh | python test_parser.py` from the repository root, so the log is the standard output
alone. The script is mounted read-only outside the tree: the tests it runs cannot rewrite it. Diffs are applied by `git
apply` inside the sandbox, outside any repository: inside a repository, git silently skips paths that fall outside it.
Both the checks' workbench and the oracle's trials use this engine; it knows neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from selfplay.plain import encode
from selfplay.sandbox import Backend, Limits, Mount, Sandbox, SandboxError, World
from selfplay.sandbox.owners import scratch
from selfplay.workbench.files import TestFile, compiled_forms, put, read_compiled, sums
from selfplay.workbench.parsing import ParserError, parse_log
from selfplay.workbench.result import TestRun
from selfplay.workbench.staging import DoesNotApply, apply_diffs, original_mounts, restore_files

ORACLE = "/oracle"
"""The folder of the script and of the files mounted beside it."""
TAIL_CHARACTERS = 4000


@dataclass(frozen=True)
class Request:
    """What to run, in the order in which it is done.

    `diffs` are applied, then `optional` if it applies; `names` maps a diff to the name used when it does not apply. The
    files in `restore` are put back as in the original; `files` are written, with their `compiled` forms. The script
    gets `environment` in addition to the world's, `stdin`, and `seconds`; it sees the files `beside` it in `/oracle`.
    Afterwards the files in `watch` are compared with their state before the run, the files in `read` are read, and with
    `keep_compiled` the compiled forms of `files` are kept.
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


@dataclass(frozen=True)
class Run(TestRun):
    """A test run with everything that was asked for. `log` is what the parser read. `planted`: the optional diff
    applied. `rewritten`: watched files, and their compiled forms, that changed. `compiled`: the compiled forms of
    `files`. `found`: the content of those files in `read` that exist."""

    log: bytes = b""
    planted: bool = False
    rewritten: tuple[str, ...] = ()
    compiled: Mapping[str, bytes] = field(default_factory=dict)
    found: Mapping[str, bytes] = field(default_factory=dict)

    def summary(self) -> TestRun:
        """The outcomes and their cost, without the log and the files: small enough to be kept."""
        return TestRun(**{one.name: getattr(self, one.name) for one in fields(TestRun)})


def run_tests(backend: Backend, request: Request) -> Run:
    """Run a request in a fresh sandbox, and parse its log in another one after the first is closed.

    Raises `SandboxError` when no sandbox is available; errors of diffs, tests or parser are reported in the `Run`."""
    with scratch() as folder:
        world = _staged_world(folder, request)
        with backend.open(world, request.limits) as sandbox:
            run = _in_sandbox(sandbox, request)
    if run.stage is not None:
        return run
    try:
        outcomes = parse_log(backend, request.world, request.limits, request.parser, run.log)
    except ParserError as error:
        return replace(run, stage="parser", error=str(error))
    return replace(run, outcomes=outcomes)


def _staged_world(folder: Path, request: Request) -> World:
    """The world with the script, the files beside it, and the original's layers when files must be restored."""
    folder.chmod(0o755)  # the sandbox's user must be able to read it
    for name, text in {"test_script.sh": request.script, **request.beside}.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(encode(text))
        file.chmod(0o644)
    originals = original_mounts(request.world) if request.restore else []
    return replace(request.world, mounts=(*request.world.mounts, Mount(folder, ORACLE), *originals))


def _in_sandbox(sandbox: Sandbox, request: Request) -> Run:
    """Stage, run and look; a failing step ends the run with its reason."""
    try:
        planted = _stage(sandbox, request)
        watched = _with_compiled_forms(sandbox, request.watch)
        before = sums(sandbox, watched)
    except (DoesNotApply, SandboxError) as error:
        return Run(stage="apply", error=str(error))
    try:
        done = sandbox.run(
            ["bash", f"{ORACLE}/test_script.sh"],
            timeout=request.seconds, stdin=request.stdin, env=request.environment,
        )  # fmt: skip
        found = _found(sandbox, request.read)
        after = sums(sandbox, watched)
        compiled = read_compiled(sandbox, sorted(request.files)) if request.keep_compiled else {}
    except SandboxError as error:
        return Run(stage="script", error=f"test_script.sh took its sandbox down: {error.message}", planted=planted)
    return Run(
        exit_code=done.exit_code, seconds=done.seconds, cpu_seconds=done.cpu_seconds, timed_out=done.timed_out,
        truncated=done.truncated, log_tail=done.text[-TAIL_CHARACTERS:], log=done.stdout, planted=planted,
        rewritten=tuple(path for path in watched if before.get(path) != after.get(path)),
        compiled=compiled, found=found,
    )  # fmt: skip


def _stage(sandbox: Sandbox, request: Request) -> bool:
    """Make the variant; returns whether the optional diff applied."""
    apply_diffs(sandbox, request.diffs, lambda diff: request.names.get(diff, "the diff"))
    planted = bool(request.optional) and _applied(sandbox, request.optional)
    restore_files(sandbox, request.restore, len(request.world.tree))
    put(sandbox, request.files, request.compiled)
    return planted


def _applied(sandbox: Sandbox, diff: str) -> bool:
    try:
        apply_diffs(sandbox, (diff,))
    except DoesNotApply:
        return False
    return True


def _with_compiled_forms(sandbox: Sandbox, paths: Sequence[str]) -> list[str]:
    watched = sorted(paths)
    return [*watched, *compiled_forms(sandbox, watched)]


def _found(sandbox: Sandbox, paths: Sequence[str]) -> dict[str, bytes]:
    """The files that exist and can be read."""
    found = {}
    for path in paths:
        try:
            found[path] = sandbox.read_file(path)
        except (FileNotFoundError, SandboxError):
            continue
    return found
