"""In which order episodes try the places of a repository: few of them make the same bug."""

import random
from dataclasses import dataclass

import pytest

from selfplay.scripted.injector.target_order import BLOCKS, in_turns, spread


@dataclass(frozen=True)
class Place:
    path: str
    line: int


@pytest.mark.parametrize("places", [0, 1, 5, 8, 19, 200])
def test_every_episode_tries_all_places_once(places: int) -> None:
    for turn in range(40):
        assert sorted(spread(range(places), turn)) == list(range(places))


def test_episodes_begin_far_from_each_other() -> None:
    """Of 80 places each of the first eight begins in another eighth; the next eight begin elsewhere in them."""
    begun = [spread(range(80), turn)[0] for turn in range(16)]
    assert sorted(place // 10 for place in begun[:8]) == sorted(BLOCKS)
    assert len(set(begun)) == 16


def test_where_few_places_offer_a_change_episodes_seldom_come_to_the_same() -> None:
    """Twelve of 200 do, at random. Eight episodes that each take the first one come to at least seven on average (7.1
    here). An episode that went on through the places from an evenly spread start came to the one where another begins:
    6.4, and 5.8 for the eight of one strategy under `mix`."""
    found = []
    for seed in range(300):
        offers = set(random.Random(seed).sample(range(200), 12))
        found.append(len({next(place for place in spread(range(200), turn) if place in offers) for turn in range(8)}))
    assert sum(found) / len(found) >= 7


def test_places_alternate_between_files() -> None:
    places = [Place(path, line) for path in ("a.py", "b.py", "c.py") for line in range(4)]
    paths = [place.path for place in in_turns(places, 7)]
    assert all(len(set(paths[at : at + 3])) == 3 for at in range(0, 12, 3))
