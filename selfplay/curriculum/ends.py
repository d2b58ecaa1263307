"""How episodes ended that gave no bug, in words, the commonest first."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from selfplay.curriculum.records import EpisodeRecord
from selfplay.formatting import count

MOST, LONGEST = 3, 300
"""How many reasons are told, and the characters of one."""


def common_ends(episodes: Iterable[EpisodeRecord]) -> dict[str, int]:
    """Reason -> how many of the episodes ended with it. A failed check is told by its name."""
    found = Counter(_end(one) for one in episodes if one.status != "valid")
    return {why: number for why, number in found.most_common() if why}


def common_reasons(episodes: Iterable[EpisodeRecord]) -> dict[str, int]:
    """The commonest reasons of episodes that handed nothing in; of the others the status says enough."""
    found = common_ends(one for one in episodes if one.status in ("gave_up", "failed", "unplayed"))
    return dict(list(found.items())[:MOST])


def told(ends: Mapping[str, int], most: int = MOST) -> str:
    """`nothing is left (6 times); too few tests fail (once)`; without brackets behind brackets."""
    found = [(why, _times(number)) for why, number in list(ends.items())[:most]]
    return "; ".join(f"{why}, {times}" if why.endswith(")") else f"{why} ({times})" for why, times in found)


def told_of(episodes: Sequence[EpisodeRecord]) -> str:
    """The commonest end of these episodes; empty where none has a reason."""
    return told(common_ends(episodes), 1)


def _end(episode: EpisodeRecord) -> str:
    if episode.failed_check:
        return f"it failed the check {episode.failed_check.replace('_', ' ')}"
    text = " ".join(episode.reason.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _times(number: int) -> str:
    return "once" if number == 1 else count(number, "time")
