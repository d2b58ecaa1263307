"""What a step got is credited without reading its files again, and gives the same as the files."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from played_episodes import taped_trajectory

from selfplay.commands.storing import store_episode
from selfplay.commands.training.held import Holding
from selfplay.curriculum import Curriculum, open_curriculum
from selfplay.curriculum.crediting import StoredEpisode, some_episodes
from selfplay.rollout.rollout import InjectorKey, InjectorOutcome, InjectorRollout, Rollout
from selfplay.rollout.stored import load_rollout, with_file
from selfplay.update.batch.stored import taped

KEY = InjectorKey("s", "removal", 0, 0)
GAVE_UP = InjectorOutcome("gave_up", "nothing was submitted", 1.0)


class Plays:
    places, elsewhere = 1, False

    async def inject(self, repository: str, number: int, step: int) -> InjectorRollout:
        return with_file(Rollout(taped_trajectory(), replace(KEY, number=number), GAVE_UP))

    async def solve(self, *given: Any) -> Any: ...


def stored(pool: Curriculum) -> list[StoredEpisode]:
    return some_episodes(pool, "training", [("s", 0)], [])


def test_what_is_held_equals_what_is_read(tmp_path: Path) -> None:
    """Log-probabilities of an engine are float32; so is what a file holds."""
    with open_curriculum(tmp_path) as pool:
        plays = Holding(Plays(), pool)
        rollout = asyncio.run(plays.inject("s", 0, 0))
        record = store_episode(pool, rollout)
        pool.episodes.take(None, repository="s", in_order=False)
        held = plays.take([record.trajectory])
        assert held.keys() == {record.trajectory} and not plays.held, "what was taken is held no longer"
        with_it, read = taped(tmp_path, stored(pool), held=held), taped(tmp_path, stored(pool))
        assert with_it == read and read[0].segments[0].logprobs.typecode == "d" and read[0].answers
        (tmp_path / "trajectories" / record.trajectory).unlink()
        assert taped(tmp_path, stored(pool), held=held) == read, "the file is not needed"
        assert taped(tmp_path, stored(pool))[0].damage, "and without both the episode is damaged"


def test_a_file_encoded_where_it_was_played_is_the_one_that_would_be_written(tmp_path: Path) -> None:
    rollout = Rollout(taped_trajectory(), KEY, GAVE_UP)
    found = []
    for name, one in (("here", rollout), ("there", with_file(rollout))):
        with open_curriculum(tmp_path / name) as pool:
            path = tmp_path / name / "trajectories" / store_episode(pool, one).trajectory
            found.append((path.read_bytes(), load_rollout(path)))
    assert found[0] == found[1] and found[0][1].header.task.number == 0
