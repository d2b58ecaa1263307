"""What came of a session's episode, with its reward by the rules of `docs/credit.md`: those of training here."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from selfplay.agent import Trajectory
from selfplay.curriculum import Attempt
from selfplay.curriculum.crediting import INJECTIONS, attempt_outcome
from selfplay.rl.credit import CreditRules, Outcome
from selfplay.rl.rewards import ssr

Ended = Outcome | Literal["lost"]
RULES = CreditRules()


@dataclass(frozen=True)
class SessionResult:
    """`reward`: None for an episode that earns none, as one that the machine lost, or none yet, as a valid bug, which
    earns what its attempts say (`BugCredit`). `bug`: the one that was planted or attempted. `reason`: of an attempt the
    grade's, of an injection why it is not valid. `finish`: how the episode ended, after `calls`."""

    outcome: Ended
    reward: float | None
    reason: str = ""
    bug: str = ""
    finish: str = ""
    calls: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class BugCredit:
    """How the counted attempts at a bug went, and what planting it earns; None where none counted."""

    solved: int
    attempts: int
    reward: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def lost(why: str) -> SessionResult:
    """The machine lost the episode: it says nothing of its policy."""
    return SessionResult("lost", None, why)


def injection_result(trajectory: Trajectory, status: str, reason: str, bug: str = "") -> SessionResult:
    """The result of an injector's episode with this status; `bug`: the id of a valid one."""
    outcome = INJECTIONS[status]
    reward = {"invalid": RULES.invalid, "duplicate": RULES.duplicate}.get(outcome)
    return SessionResult(outcome, reward, reason, bug, str(trajectory.finish), len(trajectory.steps))


def attempt_result(attempt: Attempt) -> SessionResult:
    """The result of an attempt. A cheat earns what a failure does; a grade that is suspect or weak, nothing."""
    outcome, is_lost = attempt_outcome(attempt, "refuse")
    rewards = {"resolved": RULES.resolved, "failed": RULES.failed, "cheated": RULES.cheated}
    figures = attempt.figures
    return SessionResult(
        "lost" if is_lost else outcome,
        None if is_lost else rewards[outcome],
        attempt.reason,
        attempt.bug,
        figures.finish,
        figures.calls,
    )


def credit_of(attempts: tuple[Attempt, ...]) -> BugCredit:
    """What planting a bug earns, from the attempts at it (SSR section 4)."""
    outcomes = [attempt_outcome(attempt, "refuse") for attempt in attempts]
    counted = [outcome for outcome, is_lost in outcomes if not is_lost]
    solved = counted.count("resolved")
    return BugCredit(solved, len(counted), ssr(solved, len(counted)) if counted else None)
