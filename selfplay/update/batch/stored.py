"""The played episodes of a run's folder: the pool's rows with the tapes of their trajectories."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.taped_answers import check_own
from selfplay.agent.trajectory import Trajectory
from selfplay.agent.trajectory_file import TrajectoryError, load
from selfplay.curriculum.crediting import Recorded, StoredEpisode, episodes_of
from selfplay.curriculum.stored_bugs import trajectory_of
from selfplay.oracle.assurance import Weak
from selfplay.update.batch.figures import SecondsSpent
from selfplay.update.batch.played import Played, played, untaped
from selfplay.update.errors import LearningError


def played_in(
    run: Path,
    policy: str | None = None,
    weak: Weak = "refuse",
    chat: Callable[[], ChatFormat] | None = None,
) -> list[Played]:
    """The injections of a run and the attempts of `policy` at its bugs, with their tapes. `policy` and `weak`: see
    `episodes_of`. `chat` returns the chat format of the model to train, and is called at the first tape; every tape
    must match it.

    Raises `CurriculumError`, and `TokenizerMismatch` for a tape of another tokenizer or chat template."""
    return taped(run, episodes_of(run, policy, weak), chat)


def taped(
    run: Path,
    episodes: Iterable[StoredEpisode],
    chat: Callable[[], ChatFormat] | None = None,
    held: Mapping[str, Trajectory] = MappingProxyType({}),
) -> list[Played]:
    """These episodes of a run with their tapes. `chat` as for `played_in`; `held`: trajectories by the name of their
    file, which then is not read. Raises `TokenizerMismatch`."""
    return [replace(_played(run, one, chat, held), check=one.check, alike=one.alike) for one in episodes]


def refuse_other_sampling(episodes: Iterable[Played], how: Recorded, run: Path) -> None:
    """Raises `LearningError` for tapes that were not sampled at temperature and top_p 1: the trainer's
    log-probabilities are those at 1, so the ratios would be wrong. An episode without a record was sampled as its run
    was."""
    for one in episodes:
        if not one.answers:
            continue
        own, role = one.sampling, one.episode.role
        values = how.sampling[role] if own is None else (own.temperature, own.top_p)
        for name, value in zip(("temperature", "top_p"), values, strict=True):
            if value != 1:
                raise LearningError(
                    f"{role} episodes of {run} ({one.episode.name}) were sampled at {name} {value:g}: every importance "
                    "ratio is wrong",
                    f"Play a run with --option {name}=1, or learn from its successes alone with `selfplay sft`.",
                )


def refuse_apart(how: Recorded, run: Path) -> None:
    """Raises `LearningError` for a run whose roles have separate weights: it was not sampled by one model."""
    if how.apart:
        raise LearningError(
            f"{run} was trained with roles=separate: its episodes were sampled by two models, and one is updated here",
            "Go on with `selfplay train`, or learn from its successes alone with `selfplay sft`.",
        )


def _played(
    run: Path, stored: StoredEpisode, chat: Callable[[], ChatFormat] | None, held: Mapping[str, Trajectory]
) -> Played:
    episode = stored.episode
    if episode.lost or not episode.tokens:
        return untaped(episode, stored.finish)
    try:
        trajectory = held.get(stored.trajectory) or load(trajectory_of(run, stored.trajectory), linked=False)
        if not trajectory.record.segments:
            return untaped(episode, stored.finish)
        found = played(episode, trajectory)
    except TrajectoryError as error:
        return untaped(episode, stored.finish, error.message)
    if chat is not None:
        check_own(trajectory, found.answers, chat(), episode.name)
    return replace(found, spent=_spent(stored, trajectory))


def _spent(stored: StoredEpisode, trajectory: Trajectory) -> SecondsSpent:
    """Where an episode's time went."""
    generation, tools = sum(trajectory.record.seconds), sum(step.seconds for step in trajectory.steps)
    rest = stored.seconds - generation - tools - stored.judging
    return {"generation": generation, "tools": tools, "judging": stored.judging, "rest": max(rest, 0.0)}
