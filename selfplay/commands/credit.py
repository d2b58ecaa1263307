"""What each stored episode of runs earned, and why some give no gradient: before any training, without torch.

`selfplay credit` shows it, `selfplay learn` trains on it: one code path."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from selfplay.agent.chat_format import ChatFormat
from selfplay.curriculum.crediting import recorded
from selfplay.formatting import Say
from selfplay.oracle.assurance import Weak
from selfplay.update.batch.crediting import Credited, credited
from selfplay.update.batch.played import Played, named
from selfplay.update.batch.stored import played_in, refuse_apart, refuse_other_sampling
from selfplay.update.recipe import Recipe


@dataclass(frozen=True)
class CreditOrder:
    """What to credit. `policy`: whose attempts; by default each run's injector's. `attempts`: planned for each bug; 0
    for as many as the run recorded or, without a record, as were made. `version`: of the policy to train; None for the
    newest that sampled."""

    runs: tuple[Path, ...]
    policy: str | None = None
    attempts: int = 0
    weak: Weak = "refuse"
    version: int | None = None
    recipe: Recipe = field(default_factory=Recipe)


def credited_runs(
    order: CreditOrder,
    say: Say,
    vocabulary: int | None = None,
    chat: Callable[[], ChatFormat] | None = None,
) -> list[Credited]:
    """The episodes of the runs with their credit. Groups of two runs are never compared. `vocabulary` and `chat`: of
    the model to train; with a vocabulary, tapes that were not sampled at temperature and top_p 1 are refused. Raises
    `SelfplayError`."""
    found: list[list[Played]] = []
    planned: list[int] = []
    for run in order.runs:
        say(f"reading the episodes of {run}")
        episodes = played_in(run, order.policy, order.weak, chat)
        how = recorded(run, order.policy)
        if vocabulary is not None:
            refuse_apart(how, run)
            refuse_other_sampling(episodes, how, run)
        planned.append(order.attempts or how.attempts)
        if not planned[-1] and (told := unequal(episodes)):
            say(f"{run}: {told}")
        found.append(named(episodes, str(run)) if len(order.runs) > 1 else episodes)
    version = order.version
    if version is None:
        version = max((one.newest for episodes in found for one in episodes), default=0)
    return [
        one
        for episodes, attempts in zip(found, planned, strict=True)
        for one in credited(episodes, order.recipe, attempts, version, vocabulary)
    ]


def unequal(episodes: Sequence[Played]) -> str:
    """A warning if bugs have unequal numbers of attempts and the planned number is unknown; else empty."""
    made = Counter((one.episode.bug, one.episode.order) for one in episodes if one.episode.role == "solver")
    if len(set(made.values())) < 2:
        return ""
    return (
        f"its bugs have {min(made.values())} to {max(made.values())} attempts, and it does not record how many were "
        "planned; if it was interrupted, give --attempts, so that bugs with too few attempts give no reward"
    )


def damages(rollouts: Sequence[Credited]) -> list[str]:
    """What is wrong with each tape that cannot be used."""
    return [f"{one.played.episode.name}: {one.played.damage}" for one in rollouts if one.played.damage]
