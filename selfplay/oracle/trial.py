"""One run of the oracle's tests on the original plus diffs, in a fresh sandbox, with what proves that they ran.

As the workbench runs them (`bash test_script.sh | python test_parser.py`), and beside that: test files may be written
over after the restore, a witness inside pytest signs what it sees, and the test files are compared with themselves
after the run.
"""

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from selfplay.artifact import Artifact
from selfplay.oracle import inside
from selfplay.oracle.files import TestFile, compiled_forms, put, read_compiled, sums
from selfplay.plain import encode
from selfplay.sandbox import Backend, Limits, Mount, Sandbox, SandboxError, World
from selfplay.sandbox.owners import scratch
from selfplay.workbench import ParserError
from selfplay.workbench.bench import ORACLE
from selfplay.workbench.parsing import parse_log
from selfplay.workbench.result import Outcome, Stage
from selfplay.workbench.staging import DoesNotApply, apply_diffs, original_mounts, restore_files

WITNESS_FILE = "/tmp/selfplay-witness"
_WITNESS_SOURCE = "selfplay_witness.py"


@dataclass(frozen=True)
class Trial:
    """What one run showed. `stage` and `error` as in a `TestRun`; `outcomes` by id.

    `witness`: id -> outcome as the witness signed it, None when it was not asked for; `witness_end`: the exit status
    it saw, None when it never got there; `replaced`: functions of the test runner that were others at its end.
    `rewritten`: test files, and compiled forms of them, that the run changed. `planted`: the optional diff could be
    applied. `compiled`: what the run compiled the written files to, when that was asked for. `seconds` is the script's
    wall time.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    exit_code: int = 0
    seconds: float = 0.0
    timed_out: bool = False
    stage: Stage | None = None
    error: str = ""
    witness: Mapping[str, str] | None = None
    witness_end: int | None = None
    replaced: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    planted: bool = False
    compiled: Mapping[str, bytes] = field(default_factory=dict)
    log: bytes = b""

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(test for test, outcome in self.outcomes.items() if outcome == "passed")


@dataclass(frozen=True)
class Order:
    """What to run: `diffs` in order, then `optional` if it applies, then the test files restored, then `files` written,
    with what they were `compiled` to.

    `witness`: ask for the second reporter. `keep_compiled`: let the run write compiled files, and keep those of
    `files`. `seconds`: what the script may take.
    """

    diffs: tuple[str, ...]
    seconds: float
    optional: str = ""
    files: Mapping[str, TestFile] = field(default_factory=dict)
    compiled: Mapping[str, bytes] = field(default_factory=dict)
    witness: bool = False
    keep_compiled: bool = False

    def name(self, diff: str) -> str:
        """What a diff that does not apply is called."""
        return "the prediction" if diff == self.diffs[-1] else "a diff of the bug"


def run_trial(backend: Backend, world: World, artifact: Artifact, order: Order, limits: Limits = Limits()) -> Trial:
    """Carry out `order` in a fresh sandbox. Raises `SandboxError` only when none can be started."""
    module = ""
    with scratch() as folder:
        folder.chmod(0o755)
        (folder / "test_script.sh").write_bytes(encode(artifact.test_script))
        mounts = [Mount(folder, ORACLE), *original_mounts(world)]
        if order.witness:
            module = f"w{secrets.token_hex(8)}"  # nobody can put a module of this name before it
            (folder / "witness").mkdir()
            (folder / "witness" / f"{module}.py").write_text(inside.text(_WITNESS_SOURCE))
        staged = replace(world, mounts=(*world.mounts, *mounts))
        with backend.open(staged, limits) as sandbox:
            trial = _run(sandbox, world, artifact, order, module)
    if trial.stage:
        return trial
    try:
        return replace(trial, outcomes=parse_log(backend, world, limits, artifact.test_parser, trial.log))
    except ParserError as error:
        return replace(trial, stage="parser", error=str(error))


def _run(sandbox: Sandbox, world: World, artifact: Artifact, order: Order, module: str) -> Trial:
    try:
        apply_diffs(sandbox, order.diffs, order.name)
        planted = bool(order.optional) and _applied(sandbox, order.optional)
        restore_files(sandbox, artifact.test_files, len(world.tree))
        put(sandbox, order.files, order.compiled)
        watched = sorted({*artifact.test_files, *order.files})
        watched += compiled_forms(sandbox, watched)
        before = sums(sandbox, watched)
    except (DoesNotApply, SandboxError) as error:
        return Trial(stage="apply", error=str(error))
    key = secrets.token_hex(32).encode()
    try:
        done = sandbox.run(
            ["bash", f"{ORACLE}/test_script.sh"], timeout=order.seconds,
            stdin=key if order.witness else b"", env=_environment(world, order, module),
        )  # fmt: skip
        witness, replaced, end = _read_witness(sandbox, key) if order.witness else (None, (), None)
        after = sums(sandbox, watched)
        compiled = read_compiled(sandbox, sorted(order.files)) if order.keep_compiled else {}
    except SandboxError as error:
        return Trial(stage="script", error=f"test_script.sh took its sandbox down: {error.message}", planted=planted)
    rewritten = tuple(path for path in watched if before.get(path) != after.get(path))
    return Trial(
        exit_code=done.exit_code, seconds=done.seconds, timed_out=done.timed_out, witness=witness, witness_end=end,
        replaced=replaced, rewritten=rewritten, planted=planted, compiled=compiled, log=done.stdout,
    )  # fmt: skip


def _applied(sandbox: Sandbox, diff: str) -> bool:
    try:
        apply_diffs(sandbox, (diff,))
    except DoesNotApply:
        return False
    return True


def _environment(world: World, order: Order, module: str) -> dict[str, str]:
    """What the run's environment has beside the world's."""
    extra = {"PYTHONDONTWRITEBYTECODE": ""} if order.keep_compiled else {}  # empty is unset to Python
    if order.witness:
        path = world.env.get("PYTHONPATH")
        extra["SELFPLAY_WITNESS"] = "1"
        extra["PYTEST_PLUGINS"] = module
        extra["PYTHONPATH"] = f"{ORACLE}/witness" + (f":{path}" if path else "")
    return extra


def _read_witness(sandbox: Sandbox, key: bytes) -> tuple[dict[str, str], tuple[str, ...], int | None]:
    """(id -> outcome, replaced functions, exit status) from the lines that are signed and in order; the first that is
    not ends it."""
    seen: dict[str, str] = {}
    replaced: list[str] = []
    try:
        data = sandbox.read_file(WITNESS_FILE)
    except (FileNotFoundError, SandboxError):
        return seen, (), None
    for number, line in enumerate(data.splitlines(), 1):
        mac, _, said = line.partition(b" ")
        if not hmac.compare_digest(mac, hmac.new(key, said, "sha256").hexdigest().encode()):
            break
        count, kind, test, outcome = json.loads(said)
        if count != number:
            break
        if kind == "end":
            return seen, tuple(replaced), int(outcome)
        if kind == "replaced":
            replaced.append(test)
        else:
            seen[test] = outcome
    return seen, tuple(replaced), None
