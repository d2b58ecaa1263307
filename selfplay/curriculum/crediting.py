"""The stored episodes of a run as credit sees them: whose fault what was, and who is compared with whom.

What the machine did (a lost sandbox, a model that did not answer, a grader's own error) is no outcome of the policy's;
the rules for the rest are in `docs/credit.md`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from selfplay.curriculum.opening import read_pool
from selfplay.curriculum.records import Attempt, CurriculumError, EpisodeRecord, PlayFigures
from selfplay.oracle.assurance import Weak
from selfplay.oracle.grades import WEAK
from selfplay.rl.credit import Episode, Outcome
from selfplay.words import listed

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
    `trajectories/`. Of an injection: `check`, the one that its artifact failed, and `alike`, which bugs share that
    change the same files in as many lines and fail as many tests."""

    episode: Episode
    trajectory: str
    finish: str
    check: str = ""
    alike: str = ""


def episodes_of(run: Path, policy: str | None = None, weak: Weak = "refuse") -> list[StoredEpisode]:
    """The injections of a run, and the attempts of `policy` at its bugs: of the policy that planted them if not given.
    An attempt that passed every layer, but is only weakly assured, is rewarded as resolved if `weak` is `count`; else
    it waits for a person's judgement.

    Raises `CurriculumError` where there is no run, or it holds attempts of other policies alone."""
    with read_pool(run) as pool:
        records = pool.episodes.records()
        attempts = list(pool.attempts.all(diffs=False))
        orders = {bug.id: bug.order for bug in pool.bugs()}
        planted = pool.setting("policy", str, "scripted")
    solver = policy or planted
    known = sorted({attempt.policy for attempt in attempts})
    if known and solver not in known:
        raise CurriculumError(f"the run holds no attempt of {solver}", f"Name one with --policy: {listed(known)}.")
    injections = sorted(_injections(records), key=lambda one: (one.episode.group, one.episode.name))
    return [*injections, *_attempts((one for one in attempts if one.policy == solver), orders, weak)]


def _injections(records: Iterable[EpisodeRecord]) -> Iterable[StoredEpisode]:
    for one in records:  # of an early version without groups: each is alone, since nobody knows its prompt
        lost = one.status == "unplayed" or one.figures.finish in OUTAGES
        episode = Episode(
            "injector",
            one.group or f"{one.repository}/{one.strategy}/{one.number}",
            INJECTIONS.get(one.status, "invalid"),
            one.bug.id if one.bug else "",
            tokens=_tokens(one.figures),
            lost=lost,
            name=one.trajectory.removesuffix(".jsonl.zst") or f"{one.number:06d}-injector",
        )
        yield StoredEpisode(episode, one.trajectory, one.figures.finish, one.failed_check or "", _alike(one))


def _alike(record: EpisodeRecord) -> str:
    found = record.figures
    return f"{found.changed_lines} {found.fail_to_pass} {' '.join(found.files)}" if record.status == "valid" else ""


def _attempts(attempts: Iterable[Attempt], orders: Mapping[str, int], weak: Weak) -> Iterable[StoredEpisode]:
    for one in attempts:
        outcome: Outcome = "resolved" if one.resolved else "cheated" if one.reason in CHEATS else "failed"
        unjudged = one.reason == WEAK or (one.figures.assurance == "weak" and weak == "refuse")
        lost = unjudged or one.reason in ERRORS or one.figures.finish in OUTAGES
        episode = Episode(
            "solver",
            one.bug,
            outcome,
            one.bug,
            order=orders.get(one.bug, 1),
            tokens=_tokens(one.figures),
            lost=lost,
            name=f"{one.bug} {one.number}",
        )
        yield StoredEpisode(episode, one.trajectory, one.figures.finish)


def _tokens(figures: PlayFigures) -> int:
    return int(figures.usage.get("completion_tokens", 0))
