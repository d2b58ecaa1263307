"""The result of a session's episode, with its reward by the rules of `docs/credit.md`, as in selfplay's own
training."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from selfplay.agent import Trajectory
from selfplay.agent.actions import Finish
from selfplay.agent.episode import EpisodeLost
from selfplay.curriculum import Attempt
from selfplay.curriculum.crediting import INJECTIONS, attempt_outcome
from selfplay.oracle.reasons import OVER_LIMITS
from selfplay.rl.credit.rules import CreditRules, Outcome

Ended = Outcome | Literal["lost"]
RULES = CreditRules()


@dataclass(frozen=True)
class SessionResult:
    """`reward`: None for a lost episode, and for a valid bug, whose reward depends on its attempts (`BugCredit`).
    `bug`: the planted or attempted bug. `reason`: the grade's reason, or why an injection is not valid. `finish`: how
    the episode ended, after `calls`."""

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
    """The counted attempts at a bug, and the injector's reward for it; None without counted attempts."""

    solved: int
    attempts: int
    reward: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def lost(why: str) -> SessionResult:
    """The result of an episode that the machine lost."""
    return SessionResult("lost", None, why)


def over_limits(met: EpisodeLost) -> SessionResult:
    """The result of an episode whose commands met a limit of the sandbox. A run plays it again to see whether it does
    so again; a trainer's episode is played once, and a way out of its group must not be free."""
    ended = replace(met.trajectory, finish=Finish.OVER_LIMITS)
    if ended.role == "injector":
        return injection_result(ended, "failed", met.message)
    return SessionResult("failed", RULES.failed, OVER_LIMITS, "", str(ended.finish), len(ended.steps))


def injection_result(trajectory: Trajectory, status: str, reason: str, bug: str = "") -> SessionResult:
    """The result of an injector's episode with this status; `bug`: the id of a valid one."""
    outcome = INJECTIONS[status]
    reward = {"invalid": RULES.invalid, "duplicate": RULES.duplicate}.get(outcome)
    return SessionResult(outcome, reward, reason, bug, str(trajectory.finish), len(trajectory.steps))


def attempt_result(attempt: Attempt) -> SessionResult:
    """The result of an attempt. A cheat earns the same as a failure; a suspect or weak grade has no reward."""
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
    """The injector's credit for a bug from the attempts at it (SSR section 4)."""
    outcomes = [attempt_outcome(attempt, "refuse") for attempt in attempts]
    counted = [outcome for outcome, is_lost in outcomes if not is_lost]
    solved = counted.count("resolved")
    return BugCredit(solved, len(counted), RULES.valid(solved, len(counted)) if counted else None)
