"""The result of one run of an artifact's oracle tests on one variant of the repository."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Outcome = Literal["passed", "failed"]
RunStep = Literal["apply", "script", "parser"]


@dataclass(frozen=True)
class TestRun:
    """Outcomes by test id, and what the run cost.

    `failed_at` is None if the run gave outcomes; else it names the step that failed, and `error` gives the reason in
    one line: `apply` (a diff does not fit), `script` (the sandbox did not survive the script), `parser` (it gave no
    outcomes). `seconds` and `cpu_seconds` are those of the script. `truncated`: the script wrote more than is kept.
    `log_tail`: the end of its output, for users; also for users, the `messages` of failed tests, if the log has them in
    pytest's form.
    """

    __test__ = False  # the name is the field's; pytest must not collect it

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    exit_code: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    timed_out: bool = False
    truncated: bool = False
    log_tail: str = ""
    failed_at: RunStep | None = None
    error: str = ""
    messages: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(test for test, outcome in self.outcomes.items() if outcome == "passed")

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(test for test, outcome in self.outcomes.items() if outcome == "failed")

    def leaving_out(self, tests: frozenset[str]) -> "TestRun":
        """The same run as if `tests` did not exist."""
        kept = {test: outcome for test, outcome in self.outcomes.items() if test not in tests}
        return replace(self, outcomes=kept)


@dataclass(frozen=True)
class Inspection:
    """`missing`: requested files that are not regular files of the original (nor links to such). `refusal`: why the
    diffs do not apply, in one line; empty if they do."""

    missing: tuple[str, ...] = ()
    refusal: str = ""


@dataclass
class Meter:
    """What a workbench has spent: runs of the suite or a part of it (without cached ones), and their wall and processor
    seconds."""

    runs: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
