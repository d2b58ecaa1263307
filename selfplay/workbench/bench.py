"""Where an artifact is put to the test: its oracle tests on variants of the original, each in a fresh sandbox.

Contract: `bash test_script.sh | python test_parser.py` from the repository root, so the log is the standard output
alone. The script is mounted read-only outside the tree: the tests it runs cannot rewrite it. Diffs are applied by
`git apply` inside the sandbox, outside any repository: inside one, paths that fall out of it are skipped silently.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

from selfplay.artifact import Artifact
from selfplay.plain import encode
from selfplay.sandbox import Backend, Completed, Limits, Mount, Sandbox, SandboxError, World
from selfplay.sandbox.owners import scratch
from selfplay.workbench.cache import RunCache
from selfplay.workbench.parsing import ParserError, parse_log
from selfplay.workbench.result import Inspection, Meter, TestRun
from selfplay.workbench.staging import DoesNotApply, apply_diffs, missing_files, original_mounts, restore_files

ORACLE = "/oracle"
TAIL_CHARACTERS = 4000


class Workbench:
    """Runs the oracle tests of one artifact on variants of one repository, and meters it.

    `world` is the stripped original (no history). `time_limit` is in seconds and for the script alone. `shared` may
    be given to every workbench of one repository: runs of the unchanged original are kept there, all others with this
    workbench. One workbench serves one thread; the shared cache serves many.
    """

    def __init__(
        self,
        backend: Backend,
        world: World,
        artifact: Artifact,
        *,
        time_limit: float = 90.0,
        limits: Limits = Limits(),
        shared: RunCache | None = None,
    ) -> None:
        self.artifact = artifact
        self.time_limit = time_limit
        self.meter = Meter()
        self._backend, self._world, self._limits = backend, world, limits
        self._shared = shared if shared is not None else RunCache()
        self._own = RunCache()
        self._left_out: frozenset[str] = frozenset()

    def leaving_out(self, tests: frozenset[str]) -> "Workbench":
        """This workbench, its runs and its meter, as if `tests` did not exist."""
        other = copy.copy(self)
        other._left_out = self._left_out | tests
        return other

    def run(
        self,
        diffs: Sequence[str] = (),
        *,
        repeat: int = 0,
        restore: Sequence[str] = (),
        time_limit: float | None = None,
    ) -> TestRun:
        """The oracle tests on the original plus `diffs`, in order, the files `restore` then as in the original.

        Served from the cache when this very run was made before; another `repeat` asks for one more. A shorter
        `time_limit` (seconds) may be given for a variant. Raises `SandboxError` when no sandbox can be had; whatever
        diffs, tests and parser do is a `TestRun`.
        """
        seconds = min(self.time_limit, time_limit or self.time_limit)
        diffs = tuple(diff for diff in diffs if diff)
        pristine = not diffs  # restoring files of an unchanged tree changes nothing
        key = (self._identity(), diffs, repeat, () if pristine else tuple(restore))
        cache = self._shared if pristine else self._own
        run = cache.get(key, lambda: self._execute(diffs, restore, seconds))
        return run.leaving_out(self._left_out) if self._left_out else run

    def inspect(self, files: Sequence[str] = (), diffs: Sequence[str] = ()) -> Inspection:
        """Look at the original without running a test: are these files there, do these diffs apply in this order?"""
        with self._backend.open(self._world, self._limits) as sandbox:
            missing = missing_files(sandbox, files) if files else ()
            try:
                apply_diffs(sandbox, diffs, self._name)
            except DoesNotApply as error:
                return Inspection(missing, str(error))
        return Inspection(missing)

    def _identity(self) -> tuple[object, ...]:
        """What decides the outcome of a run beside its diffs: the world, the limits, script and parser."""
        world = (self._world.tree, self._world.mounts, tuple(sorted(self._world.env.items())))
        return (world, self._limits, self.time_limit, self.artifact.test_script, self.artifact.test_parser)

    def _execute(self, diffs: Sequence[str], restore: Sequence[str], seconds: float) -> TestRun:
        with scratch() as folder:
            script = folder / "test_script.sh"
            script.write_bytes(encode(self.artifact.test_script))
            script.chmod(0o644)
            script.parent.chmod(0o755)  # the sandbox's user must be able to read it
            mounts = [Mount(script.parent, ORACLE)]
            if restore:
                mounts += original_mounts(self._world)
            world = replace(self._world, mounts=(*self._world.mounts, *mounts))
            with self._backend.open(world, self._limits) as sandbox:
                return self._test(sandbox, diffs, restore, seconds)

    def _test(self, sandbox: Sandbox, diffs: Sequence[str], restore: Sequence[str], seconds: float) -> TestRun:
        """Apply, restore, run the script, then parse: each failing step ends the run with its reason."""
        try:
            apply_diffs(sandbox, diffs, self._name)
            restore_files(sandbox, restore, len(self._world.tree))
        except DoesNotApply as error:
            return TestRun(stage="apply", error=str(error))
        self.meter.runs += 1
        try:
            done = sandbox.run(["bash", f"{ORACLE}/test_script.sh"], timeout=seconds)
        except SandboxError as error:
            return TestRun(stage="script", error=f"test_script.sh took its sandbox down: {error.message}")
        finally:
            sandbox.close()  # frees its memory before the parser's sandbox starts
        self.meter.seconds += done.seconds
        self.meter.cpu_seconds += done.cpu_seconds
        run = _described(done)
        try:
            log = done.stdout
            return replace(run, outcomes=parse_log(*self._place(), self.artifact.test_parser, log))
        except ParserError as error:
            return replace(run, stage="parser", error=str(error))

    def _place(self) -> tuple[Backend, World, Limits]:
        return self._backend, self._world, self._limits

    def _name(self, diff: str) -> str:
        names = {self.artifact.bug_inject: "bug_inject.diff", self.artifact.test_weaken: "test_weaken.diff"}
        return names.get(diff, "the diff")


def _described(done: Completed) -> TestRun:
    return TestRun(
        exit_code=done.exit_code,
        seconds=done.seconds,
        cpu_seconds=done.cpu_seconds,
        timed_out=done.timed_out,
        truncated=done.truncated,
        log_tail=done.text[-TAIL_CHARACTERS:],
    )
