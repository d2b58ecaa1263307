"""Runs an artifact's oracle tests on variants of the original, with a cache and counted runs."""

import copy
from collections.abc import Collection, Sequence
from dataclasses import replace

from selfplay.artifact import Artifact
from selfplay.repository.suites.narrowed import narrowed
from selfplay.repository.suites.pytest_suite import PARSER
from selfplay.sandbox import Backend, Limits, World
from selfplay.workbench.applying import DoesNotApply, apply_diffs, missing_files
from selfplay.workbench.cache import RunCache
from selfplay.workbench.result import Inspection, Meter, TestRun
from selfplay.workbench.running import RunRequest, run_tests


class Workbench:
    """Runs the oracle tests of one artifact on variants of one repository, and counts the runs.

    `world` is the stripped original (no history). `time_limit` is in seconds and for the script alone. All workbenches
    of one repository may use one `shared` cache: it keeps runs of the unchanged original; all other runs stay with this
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
        """A workbench with the same runs and the same counter, as if `tests` did not exist."""
        other = copy.copy(self)
        other._left_out = self._left_out | tests
        return other

    def of_files(self, files: Collection[str]) -> "Workbench | None":
        """A workbench with the same counter that runs only these test files; None unless script and parser are ours
        and name each of them."""
        script = narrowed(self.artifact.test_script, files) if self.artifact.test_parser == PARSER else None
        if script is None:
            return None
        other = copy.copy(self)
        other.artifact = replace(self.artifact, test_script=script)
        return other

    def run(
        self,
        diffs: Sequence[str] = (),
        *,
        repeat: int = 0,
        restore: Sequence[str] = (),
        time_limit: float | None = None,
    ) -> TestRun:
        """Run the oracle tests on the original plus `diffs`, in order, with the files in `restore` restored from the
        original.

        An identical earlier run is returned from the cache; another value of `repeat` requests one more run. A variant
        may have a shorter `time_limit` (seconds). Raises `SandboxError` when no sandbox is available or it is lost;
        errors of diffs, tests or parser are reported in the `TestRun`.
        """
        seconds = min(self.time_limit, time_limit or self.time_limit)
        diffs = tuple(diff for diff in diffs if diff)
        pristine = not diffs  # restoring changes nothing here
        key = (self._identity(), diffs, repeat, () if pristine else tuple(restore))
        cache = self._shared if pristine else self._own
        run = cache.get(key, lambda: self._execute(diffs, restore, seconds))
        return run.leaving_out(self._left_out) if self._left_out else run

    def inspect(self, files: Sequence[str] = (), diffs: Sequence[str] = ()) -> Inspection:
        """Check the original without running a test: do these files exist, and do these diffs apply in this order?"""
        with self._backend.open(self._world, self._limits) as sandbox:
            missing = missing_files(sandbox, files) if files else ()
            try:
                apply_diffs(sandbox, diffs, lambda diff: self._names.get(diff, "the diff"))
            except DoesNotApply as error:
                return Inspection(missing, str(error))
        return Inspection(missing)

    def _identity(self) -> tuple[object, ...]:
        """Everything that decides the outcome of a run, besides its diffs: the world, the limits, script and parser."""
        world = (self._world.tree, self._world.mounts, tuple(sorted(self._world.env.items())))
        return (world, self._limits, self.time_limit, self.artifact.test_script, self.artifact.test_parser)

    def _execute(self, diffs: Sequence[str], restore: Sequence[str], seconds: float) -> TestRun:
        request = RunRequest(
            self._world, self.artifact.test_script, self.artifact.test_parser, seconds, self._limits,
            diffs=diffs, names=self._names, restore=restore,
        )  # fmt: skip
        run = run_tests(self._backend, request)
        if run.failed_at != "apply":
            self.meter.runs += run.tries
            self.meter.seconds += run.seconds
            self.meter.cpu_seconds += run.cpu_seconds
        return run.summary()

    @property
    def _names(self) -> dict[str, str]:
        names = ("bug_inject.diff", "test_weaken.diff")
        return dict(zip(self.artifact.diffs, names, strict=False))
