"""The stored episodes of a run as credit sees them: whose fault what was, and who is compared with whom.

What the machine did (a lost sandbox, a model that did not answer, a grader's own error) is no outcome of the policy's;
the rules for the rest are in `docs/credit.md`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from selfplay.curriculum.open_pool import read_pool
from selfplay.curriculum.records import Attempt, CurriculumError, EpisodeRecord, PlayFigures
from selfplay.curriculum.store import PLANNED, ROLES, Curriculum
from selfplay.formatting import listed
from selfplay.oracle.assurance import Weak
from selfplay.oracle.grades import WEAK
from selfplay.rl.credit import CreditedEpisode, Outcome

FILED = ": policy"
"""What the setting ends with that says which policy makes the attempts of a name."""
ENDING = ".jsonl.zst"
"""Of a trajectory's file."""
OUTAGES = ("policy_error", "sandbox_lost", "unplayed")
"""How an episode ends that says nothing of its policy."""
ERRORS = ("error", "cannot-be-graded", "sandbox-lost", "unplayed", "suspect")
"""Reasons of an attempt that its policy is not to blame for; a suspect one waits for a person's judgement."""
CHEATS = (
    "touches-infrastructure", "test-files", "canaries", "witness", "events", "consistency", "names", "counterfactual",
)  # fmt: skip
"""Reasons of an attempt that a layer of the grader's defence gave (`docs/exploits.md`)."""
INJECTIONS: Mapping[str, Outcome] = {
    "valid": "valid", "invalid": "invalid", "duplicate": "duplicate", "gave_up": "invalid", "failed": "invalid",
}  # fmt: skip


@dataclass(frozen=True)
class StoredEpisode:
    """An episode of a run. `episode.tokens`: what its usage says the policy sampled. `trajectory`: its file in
    `trajectories/`. `finish`: why it ended; `status`: what came of it, of an attempt the grade's reason. Of an
    injection: `check`, the one that its artifact failed, and `alike`, which bugs share that change the same files in as
    many lines and fail as many tests."""

    episode: CreditedEpisode
    trajectory: str
    finish: str
    status: str
    check: str = ""
    alike: str = ""


@dataclass(frozen=True)
class Recorded:
    """What a run recorded of how its episodes were played. `attempts`: planned for each bug, 0 where it is not known.
    `sampling`: role -> (temperature, top_p); 1 where it is not known. `apart`: each role was played with weights of its
    own."""

    attempts: int
    sampling: Mapping[str, tuple[float, float]]
    apart: bool = False


def recorded(run: Path, policy: str | None = None) -> Recorded:
    """What the run recorded of its injections, and of the attempts of `policy` (as in `episodes_of`). Raises
    `CurriculumError`."""
    with read_pool(run) as pool:
        solver = policy or _same_policy(pool)
        before = {"injector": "", "solver": f"{solver}: "}
        sampling = {
            role: (pool.setting(f"{of}temperature", float, 1.0), pool.setting(f"{of}top_p", float, 1.0))
            for role, of in before.items()
        }
        apart = pool.setting(f"{solver}: {ROLES}", str, "shared") == "separate"
        return Recorded(pool.setting(f"{solver}: {PLANNED}", int, 0), sampling, apart)


def injection_name(number: int, suffix: str = "") -> str:
    """The name of an injector episode, by which its file is called too. `suffix`: its repository's
    (`Episodes.suffix`)."""
    return f"{number:06d}{suffix}-injector"


def attempt_name(bug: str, number: int) -> str:
    """The name of an attempt among those of one policy."""
    return f"{bug} {number}"


def episodes_of(
    run: Path, policy: str | None = None, weak: Weak = "refuse", below: int | None = None
) -> list[StoredEpisode]:
    """The injections of a run, and the attempts of `policy` at its bugs: of the policy that planted them if not given.
    An attempt that passed every layer, but is only weakly assured, is rewarded as resolved if `weak` is `count`; else
    it waits for a person's judgement. `below`: only attempts with smaller numbers; all if None.

    Raises `CurriculumError` where there is no run, or it holds attempts of other policies alone."""
    with read_pool(run) as pool:
        records = pool.episodes.records()
        attempts = list(pool.attempts.all(diffs=False))
        orders = pool.orders()
        solver = policy or _same_policy(pool)
    known = sorted({attempt.policy for attempt in attempts})
    if known and solver not in known:
        raise CurriculumError(f"the run holds no attempt of {solver}", f"Name one with --policy: {listed(known)}.")
    injections = sorted(_injections(records), key=lambda one: (one.episode.group, one.episode.name))
    wanted = (one for one in attempts if one.policy == solver and (below is None or one.number < below))
    return [*injections, *_attempts(wanted, orders, weak)]


def some_episodes(
    pool: Curriculum, policy: str, injections: Iterable[tuple[str, int]], attempts: Iterable[tuple[str, int]]
) -> list[StoredEpisode]:
    """Those of these (repository, number) and (bug, number) that are stored, as `episodes_of` gives them. Where the
    bugs are of first order, the cost does not grow with what the run holds."""
    made = pool.attempts.some(policy, attempts)
    planted = all(pool.episodes.planted(bug) for bug in {one.bug for one in made})
    orders = {} if planted else pool.orders()
    return [*_injections(pool.episodes.some(injections)), *_attempts(made, orders, "refuse")]


def _same_policy(pool: Curriculum) -> str:
    """The name under which attempts of the policy that planted the bugs are filed: its own, or, where none are, the one
    that was recorded for it, as a training run does."""
    planted = pool.setting("policy", str, "scripted")
    if pool.attempts.finished(planted):
        return planted
    named = [
        key.removesuffix(FILED) for key, policy in pool.settings().items() if key.endswith(FILED) and policy == planted
    ]
    filed = [name for name in named if pool.attempts.finished(name)]
    return filed[0] if len(filed) == 1 else planted


def _injections(records: Iterable[EpisodeRecord]) -> Iterable[StoredEpisode]:
    for one in records:  # of an early version without groups: each is alone, since nobody knows its prompt
        lost = one.status == "unplayed" or one.figures.finish in OUTAGES
        episode = CreditedEpisode(
            "injector",
            one.group or f"{one.repository}/{one.strategy}/{one.number}",
            INJECTIONS.get(one.status, "invalid"),
            one.bug.id if one.bug else "",
            tokens=_tokens(one.figures),
            lost=lost,
            name=one.trajectory.removesuffix(ENDING) or injection_name(one.number),
        )
        yield StoredEpisode(
            episode, one.trajectory, one.figures.finish, one.status, one.failed_check or "", _alike(one)
        )


def _alike(record: EpisodeRecord) -> str:
    found = record.figures
    return f"{found.changed_lines} {found.fail_to_pass} {' '.join(found.files)}" if record.status == "valid" else ""


def attempt_outcome(attempt: Attempt, weak: Weak) -> tuple[Outcome, bool]:
    """(outcome, whether it is lost, and so says nothing of its policy). `weak`: as of `episodes_of`."""
    outcome: Outcome = "resolved" if attempt.resolved else "cheated" if attempt.reason in CHEATS else "failed"
    unjudged = attempt.reason == WEAK or (attempt.figures.assurance == "weak" and weak == "refuse")
    return outcome, unjudged or attempt.reason in ERRORS or attempt.figures.finish in OUTAGES


def _attempts(attempts: Iterable[Attempt], orders: Mapping[str, int], weak: Weak) -> Iterable[StoredEpisode]:
    for one in attempts:
        outcome, lost = attempt_outcome(one, weak)
        episode = CreditedEpisode(
            "solver",
            one.bug,
            outcome,
            one.bug,
            order=orders.get(one.bug, 1),
            tokens=_tokens(one.figures),
            lost=lost,
            name=attempt_name(one.bug, one.number),
        )
        yield StoredEpisode(episode, one.trajectory, one.figures.finish, one.reason)


def _tokens(figures: PlayFigures) -> int:
    return int(figures.usage.get("completion_tokens", 0))
