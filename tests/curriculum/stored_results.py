"""Results of episodes as a run stores them, and what holds of a pool at any time."""

import random

import hand_made

from selfplay.artifact import Artifact, Bug, load, load_bug
from selfplay.curriculum import Curriculum, EpisodeRecord, StoredEpisodeFigures
from selfplay.curriculum.summary import summarise

ARTIFACT = hand_made.artifact("python")


def result(number: int, status: str = "valid", tree: str | None = None) -> EpisodeRecord:
    """Episode `number`'s result; a valid one has the buggy tree `tree`, its own if not given."""
    figures = StoredEpisodeFigures(seconds=1.0, files=("a.py",), changed_lines=number, fail_to_pass=1, suite_runs=3)
    if status != "valid":
        check = "bug" if status == "invalid" else None
        return EpisodeRecord(number, "removal", status, "why", figures, failed_check=check)
    artifact = Artifact(**{**vars(ARTIFACT), "test_script": f"echo {number}\n"})
    bug = Bug(
        id=f"b.{number}", strategy="removal", seed=0, source="s", revision="r", commit="c", tree_hash="7" * 40,
        content_hash=artifact.content_hash(), fail_to_pass=("x",), pass_to_pass=("y",), policy="p",
    )  # fmt: skip
    return EpisodeRecord(number, "removal", "valid", "", figures, None, tree or f"tree {number}", artifact, bug)


def episodes(seed: int, count: int = 24) -> list[EpisodeRecord]:
    """Results of all kinds; about a third of the valid ones repeat an earlier tree."""
    rng = random.Random(seed)
    return [
        result(n, rng.choice(["valid", "valid", "invalid", "gave_up"]), f"tree {rng.randrange(12)}")
        for n in range(count)
    ]


def check_whole(pool: Curriculum) -> None:
    """What holds after any kill: every bug of the pool has its folder whole, and no folder is nobody's."""
    ids = [bug.id for bug in pool.bugs()]
    assert len(ids) == pool.episodes.count() == len(set(ids))
    for bug in pool.bugs():
        folder = pool.folder / "bugs" / bug.id
        assert load_bug(folder) == bug
        assert load(folder).content_hash() == bug.content_hash
    summarise(pool)
    numbers = [episode.number for episode in pool.episodes.records()]
    assert numbers == list(range(len(numbers)))
