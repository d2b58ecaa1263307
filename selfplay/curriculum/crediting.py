"""The stored episodes of a run for credit: whose fault each result was, and which episodes are compared.

The machine's faults (a lost sandbox, a model that did not answer, a grader's own error) are not outcomes of the policy;
the rules for the rest are in `docs/credit.md`.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from selfplay.curriculum.open_pool import read_pool
from selfplay.curriculum.records import Attempt, CurriculumError, EpisodeRecord, PlayFigures
from selfplay.curriculum.store import PLANNED, ROLES, Curriculum
from selfplay.formatting import listed
from selfplay.oracle.assurance import Weak
from selfplay.oracle.reasons import blamed
from selfplay.rl.credit.rewards import CONTROLS
from selfplay.rl.credit.rules import CreditedEpisode, Outcome

FILED = ": policy"
"""The suffix of the setting that says which policy makes a name's attempts."""
ENDING = ".jsonl.zst"
"""The suffix of a trajectory's file."""
OUTAGES = ("policy_error", "sandbox_lost", "unplayed")
"""Finishes that are the machine's fault."""
ERRORS = blamed("machine", "person")
"""Reasons of an attempt that are not its policy's fault, or wait for a person's judgement."""
CHEATS = blamed("cheat")
"""Reasons of an attempt that come from the grader's defence layers (`docs/exploits.md`)."""
INJECTIONS: Mapping[str, Outcome] = {
    "valid": "valid", "invalid": "invalid", "duplicate": "duplicate", "gave_up": "invalid", "failed": "invalid",
}  # fmt: skip


@dataclass(frozen=True)
class StoredEpisode:
    """An episode of a run. `episode.tokens`: the sampled tokens according to its usage. `trajectory`: its file in
    `trajectories/`. `finish`: why it ended; `status`: its result, for an attempt the grade's reason. For an injection,
    `check` is the check that its artifact failed, and `alike` is equal for bugs with the same files, number of changed
    lines and number of failing tests. `seconds`: all of its time, of which `judging` went to checks or grading."""

    episode: CreditedEpisode
    trajectory: str
    finish: str
    status: str
    check: str = ""
    alike: str = ""
    seconds: float = 0.0
    judging: float = 0.0


@dataclass(frozen=True)
class Recorded:
    """How a run's episodes were played, as it recorded. `attempts`: planned for each bug, 0 if unknown. `sampling`:
    role -> (temperature, top_p); 1 if unknown. `apart`: each role had its own weights."""

    attempts: int
    sampling: Mapping[str, tuple[float, float]]
    apart: bool = False


def recorded(run: Path, policy: str | None = None) -> Recorded:
    """The run's record of its injections, and of the attempts of `policy` (as in `episodes_of`). Raises
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
    """The name of an injector episode and of its file. `suffix`: its repository's (`Episodes.suffix`)."""
    return f"{number:06d}{suffix}-injector"


def solver_episode_name(bug: str, number: int) -> str:
    """The name of an attempt among those of its policy."""
    return f"{bug} {number}"


def episodes_of(
    run: Path, policy: str | None = None, weak: Weak = "refuse", below: int | None = None
) -> list[StoredEpisode]:
    """The injections of a run, and the attempts of `policy` at its bugs: of the policy that planted them if not given.
    A weakly assured attempt that passed every layer is rewarded as resolved if `weak` is `count`; else it waits for a
    person's judgement. `below`: only attempts with smaller numbers; all if None.

    Raises `CurriculumError` if there is no run, or it has only attempts of other policies."""
    with read_pool(run) as pool:
        records = pool.episodes.records()
        attempts = list(pool.attempts.all(diffs=False))
        orders = pool.orders()
        solver = policy or _same_policy(pool)
    known = sorted({attempt.policy for attempt in attempts})
    if known and solver not in known:
        players = [name for name in known if name not in CONTROLS]
        made = f"selfplay solve {shlex.quote(str(run))} --policy {shlex.quote(solver)}"
        none = f"It has controls' attempts alone: `{made}` makes others."
        todo = f"Name one with --policy: {listed(players)}." if players else none
        raise CurriculumError(f"the run has no attempt of {solver}", todo)
    injections = sorted(_injections(records), key=lambda one: (one.episode.group, one.episode.name))
    wanted = (one for one in attempts if one.policy == solver and (below is None or one.number < below))
    return [*injections, *_attempts(wanted, orders, weak)]


def some_episodes(
    pool: Curriculum, policy: str, injections: Iterable[tuple[str, int]], attempts: Iterable[tuple[str, int]]
) -> list[StoredEpisode]:
    """The stored episodes among these (repository, number) and (bug, number), as in `episodes_of`. For first-order
    bugs, the cost does not grow with the size of the run."""
    made = pool.attempts.some(policy, attempts)
    planted = all(pool.episodes.planted(bug) for bug in {one.bug for one in made})
    orders = {} if planted else pool.orders()
    return [*_injections(pool.episodes.some(injections)), *_attempts(made, orders, "refuse")]


def _same_policy(pool: Curriculum) -> str:
    """The name under which the attempts of the bugs' own policy are filed: its name, or else the name that was recorded
    for it, as in a training run."""
    planted = pool.setting("policy", str, "scripted")
    if pool.attempts.finished(planted):
        return planted
    named = [
        key.removesuffix(FILED) for key, policy in pool.settings().items() if key.endswith(FILED) and policy == planted
    ]
    filed = [name for name in named if pool.attempts.finished(name)]
    return filed[0] if len(filed) == 1 else planted


def _injections(records: Iterable[EpisodeRecord]) -> Iterable[StoredEpisode]:
    for one in records:  # an early version without groups: each is alone, since its prompt is unknown
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
            episode,
            one.trajectory,
            one.figures.finish,
            one.status,
            one.failed_check or "",
            _alike(one),
            one.figures.seconds,
            one.figures.validation_seconds,
        )


def _alike(record: EpisodeRecord) -> str:
    found = record.figures
    return f"{found.changed_lines} {found.fail_to_pass} {' '.join(found.files)}" if record.status == "valid" else ""


def attempt_outcome(attempt: Attempt, weak: Weak) -> tuple[Outcome, bool]:
    """(outcome, whether it is lost, and so says nothing about its policy). `weak`: as in `episodes_of`."""
    outcome: Outcome = "resolved" if attempt.resolved else "cheated" if attempt.reason in CHEATS else "failed"
    unjudged = attempt.figures.assurance == "weak" and weak == "refuse"
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
            name=solver_episode_name(one.bug, one.number),
        )
        how = one.figures
        yield StoredEpisode(
            episode, one.trajectory, how.finish, one.reason, seconds=how.seconds, judging=how.grading_seconds
        )


def _tokens(figures: PlayFigures) -> int:
    return int(figures.usage.get("completion_tokens", 0))
