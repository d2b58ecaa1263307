"""The reports that the solver's programs in pytest write, as types: a process of the repository may write others."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SeenTest:
    """One test of a plain run; `passed` is None for a skipped one. `seconds` by the clock, `work` of a core. `frames`
    of a failing one: (path, line, function) of the repository, outermost first."""

    id: str
    passed: bool | None
    seconds: float = 0.0
    work: float = 0.0
    message: str = ""
    frames: list[tuple[str, int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class SeenCall:
    """One call from a test into the repository, with plain values; `value` None where the result is not plain."""

    path: str
    line: int
    arguments: dict[str, str | None]
    value: str | None


@dataclass(frozen=True)
class TracedRun:
    """How many tests ran under a tracer; which lines ran, how often."""

    ran: int
    lines: dict[str, dict[str, int]]
    calls: list[SeenCall]
    operands: list[tuple[str, str | None, str | None]]


@dataclass(frozen=True)
class Looked:
    """A look at the failing tests."""

    tests: list[SeenTest]
    failing: TracedRun
    passing: TracedRun


@dataclass(frozen=True)
class RepairResult:
    """What one repair did. `regressed`: a passing test that fails now, or empty; only looked for once all pass."""

    number: int
    state: str
    passed: list[str]
    regressed: str = "not looked for"


@dataclass(frozen=True)
class Results:
    """What all repairs did."""

    results: list[RepairResult]
