"""The played episodes of a run's folder: the pool's rows with the tapes of their trajectories."""

from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.taped import check_own
from selfplay.agent.trajectory import TrajectoryError, load
from selfplay.curriculum.crediting import StoredEpisode, episodes_of
from selfplay.learning.played import Played, played, untaped
from selfplay.oracle.assurance import Weak


def played_in(
    run: Path,
    policy: str | None = None,
    weak: Weak = "refuse",
    chat: ChatFormat | None = None,
    only: Container[str] | None = None,
) -> list[Played]:
    """The injections of a run and the attempts of `policy` at its bugs, with their tapes. `policy` and `weak`: see
    `episodes_of`. `chat`: of the model that is to be trained; every tape must be its own. `only`: the names of the
    episodes that are wanted; all if None.

    Raises `CurriculumError`, and `ForeignTape` for a tape of another tokenizer or chat template."""
    found = episodes_of(run, policy, weak)
    wanted = [one for one in found if only is None or one.episode.name in only]
    return [replace(_played(run, one, chat), check=one.check, alike=one.alike) for one in wanted]


def _played(run: Path, stored: StoredEpisode, chat: ChatFormat | None) -> Played:
    episode = stored.episode
    if episode.lost or not episode.tokens:
        return untaped(episode, stored.finish)
    try:
        trajectory = load(run / "trajectories" / stored.trajectory, linked=False)
        if not trajectory.record.segments:
            return untaped(episode, stored.finish)
        found = played(episode, trajectory)
    except TrajectoryError as error:
        return untaped(episode, stored.finish, error.message)
    if chat is not None:
        check_own(trajectory, found.answers, chat, episode.name)
    return found
