"""The reports that the solver's programs in pytest write, as types: a process of the repository may write others."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SeenTest:
    """One test of a plain run; `passed` is None for a skipped one. `seconds` by the clock, `work` of a core."""

    id: str
    passed: bool | None
    seconds: float
    work: float
    line: int
    error: str = ""
    message: str = ""
    frames: list[tuple[str, int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class SeenCall:
    """One call out of a test, with plain values."""

    test: str
    path: str
    line: int
    name: str
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
    broken: int


@dataclass(frozen=True)
class Result:
    """What one repair did."""

    number: int
    state: str
    passed: list[str]
    error: str = ""
    regressed: str = ""


@dataclass(frozen=True)
class Results:
    """What all repairs did."""

    results: list[Result]
    seconds_left: float = 0.0
