"""The consistency checks of a bug artifact, in the paper's order (SSR section 3), one file per check.

Each is `check(artifact, bench, thresholds) -> Verdict`; `validate` runs them in order, times each, and stops at the
first that fails. A check knows an artifact and a workbench, but not who made the artifact, which sandbox the workbench
uses, or any programming language. A valid bug in one file costs three suite runs: the bug, the bug with the weakening,
the bug again; all artifacts with the same script share the runs of the original.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

from selfplay.artifact import Artifact, Verdict
from selfplay.validators import (
    bug,
    determinism,
    inverse_mutation,
    parser,
    scope,
    test_files,
    test_script,
    weakening,
)
from selfplay.validators.common import failing
from selfplay.validators.thresholds import Thresholds
from selfplay.workbench import Workbench

Check = Callable[[Artifact, Workbench, Thresholds], Verdict]
CHECKS: dict[str, Check] = {
    module.NAME: module.check
    for module in (test_files, parser, test_script, scope, bug, weakening, inverse_mutation, determinism)
}

__all__ = ["CHECKS", "Check", "Thresholds", "Validation", "validate"]


@dataclass(frozen=True)
class Validation:
    """The verdicts in order, up to and including the first that failed.

    The test sets are sorted, disjoint, and empty unless `valid`. `fail_to_pass`: tests that pass on the original, but
    not under the bug; `pass_to_pass`: tests that pass on both; `flaky`: tests whose outcome varied; these are in
    neither set.
    """

    verdicts: tuple[Verdict, ...]
    valid: bool
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The reason of the last verdict; for an invalid artifact, why it is invalid."""
        return f"{self.verdicts[-1].check}: {self.verdicts[-1].reason}"

    @property
    def seconds(self) -> float:
        return sum(verdict.seconds for verdict in self.verdicts)

    @property
    def runs(self) -> int:
        return sum(verdict.runs for verdict in self.verdicts)


def validate(artifact: Artifact, bench: Workbench, thresholds: Thresholds = Thresholds()) -> Validation:
    """Run every check in order until one fails. `bench` must be this artifact's workbench.

    Raises `SandboxError` when sandboxes are not available; any fault of the artifact becomes a verdict.
    """
    verdicts: list[Verdict] = []
    for check in CHECKS.values():
        verdicts.append(_metered(check, artifact, bench, thresholds))
        if not verdicts[-1].passed:
            return Validation(tuple(verdicts), valid=False)
    flaky, _ = determinism.flaky_tests(bench, thresholds.repeats)
    steady = bench.leaving_out(flaky)
    broken = failing(steady, artifact.bug_inject)
    return Validation(
        verdicts=tuple(verdicts),
        valid=True,
        fail_to_pass=tuple(sorted(broken)),
        pass_to_pass=tuple(sorted(steady.run().passed - broken)),
        flaky=tuple(sorted(flaky)),
    )


def _metered(check: Check, artifact: Artifact, bench: Workbench, thresholds: Thresholds) -> Verdict:
    start, runs = perf_counter(), bench.meter.runs
    verdict = check(artifact, bench, thresholds)
    return replace(verdict, seconds=perf_counter() - start, runs=bench.meter.runs - runs)
