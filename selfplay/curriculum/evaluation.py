"""How good a policy is at the bugs of a run: pass@1 and pass@k with intervals, and what an attempt costs.

Only attempts numbered below the requested number count, so the result does not change when more are made. Attempts that
the machine lost do not count. Deviation from the paper: it reports one attempt per task, without an interval.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from selfplay.artifact import Bug
from selfplay.curriculum.open_pool import read_pool
from selfplay.curriculum.records import Attempt, CurriculumError
from selfplay.curriculum.solving import solves
from selfplay.formatting import count, listed
from selfplay.rl.credit.estimates import Estimate, difference, estimate, pass_at_k

Solves = Mapping[str, tuple[int, int]]
"""Bug -> (attempts, resolved)."""


@dataclass(frozen=True)
class EvaluationRow:
    """The bugs of one `kind` (`strategy`, `repository`, `order`, or all) that share its `value`. `pass_at`: k -> over
    the bugs with at least k attempts."""

    kind: str
    value: str
    bugs: int
    attempts: int
    resolved: int
    pass_at: Mapping[int, Estimate]


@dataclass(frozen=True)
class Cost:
    """What an attempt took on average: wall seconds of the episode, calls, tokens, and money where prices are known."""

    seconds: float
    calls: float
    prompt_tokens: float
    completion_tokens: float
    cost: float


@dataclass(frozen=True)
class PolicyComparison:
    """Another policy at the same bugs. `difference`: of pass@1, ours minus theirs, over the bugs both attempted."""

    policy: str
    bugs: int
    ours: float
    theirs: float
    difference: Estimate


@dataclass(frozen=True)
class Evaluation:
    """`incomplete`: bugs with fewer than `attempts` attempts, which count with those they have. `reasons`: why attempts
    ended -> how often."""

    policy: str
    attempts: int
    rows: tuple[EvaluationRow, ...]
    cost: Cost
    incomplete: tuple[str, ...]
    reasons: Mapping[str, int]
    against: PolicyComparison | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def evaluate(run: Path, policy: str, attempts: int, against: str | None = None) -> Evaluation:
    """Evaluate the stored attempts of `policy` at the bugs of a run, those numbered below `attempts`; compare them with
    those of the policy `against`.

    Raises `CurriculumError` if there is no run, or no attempt of one of the two."""
    with read_pool(run) as pool:
        bugs = {bug.id: bug for bug in pool.bugs()}
        every = [one for one in pool.attempts.all(diffs=False) if one.number < attempts and one.bug in bugs]
    ours = _of(every, policy)
    found = _solves(ours)
    other = _solves(_of(every, against)) if against else {}
    return Evaluation(
        policy,
        attempts,
        _rows([bugs[bug] for bug in found], found),
        _cost(ours),
        tuple(bug for bug, (made, _) in found.items() if made < attempts),
        dict(Counter(one.reason for one in ours).most_common()),
        _compared(against, found, other) if against else None,
    )


def _of(attempts: Iterable[Attempt], policy: str) -> list[Attempt]:
    """The attempts of one policy. Raises `CurriculumError` if there are none."""
    attempts = list(attempts)
    found = [one for one in attempts if one.policy == policy]
    if not found:
        known = sorted({one.policy for one in attempts})
        made = f"There are attempts of {listed(known)}." if known else "Run `selfplay solve` first."
        raise CurriculumError(f"the run has no attempt of {policy}", made)
    return found


def _solves(attempts: Iterable[Attempt]) -> Solves:
    """The solves of one policy, by bug."""
    counted = ((bug, one) for bug, own in sorted(solves(attempts).items()) for one in own.values())
    return {bug: (one["attempts"], one["resolved"]) for bug, one in counted}


def _rows(bugs: Sequence[Bug], found: Solves) -> tuple[EvaluationRow, ...]:
    """A row for all bugs, and one for each value of each kind; a kind with a single value has no rows."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for bug in bugs:
        for kind, value in (("strategy", bug.strategy), ("repository", bug.source), ("order", str(bug.order))):
            groups[kind, value].append(bug.id)
    values = Counter(kind for kind, _ in groups)
    told = {key: ids for key, ids in sorted(groups.items()) if values[key[0]] > 1}
    return tuple(
        _row(kind, value, {bug: found[bug] for bug in ids})
        for (kind, value), ids in [(("all", ""), [bug.id for bug in bugs]), *told.items()]
    )


def _row(kind: str, value: str, found: Solves) -> EvaluationRow:
    """A row with pass@k for every power of two up to the most attempts at a bug."""
    most = max(made for made, _ in found.values())
    pass_at = {
        k: estimate([pass_at_k(made, resolved, k) for made, resolved in found.values() if made >= k])
        for k in (2**power for power in range(most.bit_length()))
    }
    made, resolved = (sum(both[side] for both in found.values()) for side in (0, 1))
    return EvaluationRow(kind, value, len(found), made, resolved, pass_at)


def _cost(attempts: Sequence[Attempt]) -> Cost:
    figures = [one.figures for one in attempts]
    used = [{name: float(one.usage.get(name, 0)) for name in USED} for one in figures]
    return Cost(
        fmean(one.episode_seconds for one in figures),
        fmean(one.calls for one in figures),
        *(fmean(one[name] for one in used) for name in USED),
    )


USED = ("prompt_tokens", "completion_tokens", "cost")


def _compared(policy: str, ours: Solves, theirs: Solves) -> PolicyComparison:
    """Raises `CurriculumError` when no bug was attempted by both."""
    both = [bug for bug in ours if bug in theirs]
    if not both:
        why = f"The first attempted {count(len(ours), 'bug')}, the second {count(len(theirs), 'bug')}."
        raise CurriculumError(f"no bug was attempted by both policies: nothing to compare with {policy}", why)
    mine, other = ([pass_at_k(*solves[bug], 1) for bug in both] for solves in (ours, theirs))
    return PolicyComparison(policy, len(both), fmean(mine), fmean(other), difference(mine, other))
