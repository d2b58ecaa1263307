"""The reward that a lesson's row tells: that of `docs/credit.md`, or none."""

from pathlib import Path

import hand_made
import pytest
from pools import attempts, numbered, pool

from selfplay.curriculum import Attempt, open_curriculum, read_pool
from selfplay.export.rewards import rewards_of

BUGS = [f"shop-1.removal.{number}" for number in range(3)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three bugs by script. The first was resolved once in three attempts, the second always, the third never
    attempted."""
    folder = pool(tmp_path / "run", hand_made.original("python"), numbered(hand_made.artifact("python"), 3))
    attempts(folder, BUGS[0], "+--")
    attempts(folder, BUGS[1], "++")
    return folder


def rewards(run: Path) -> dict[str, float | None]:
    with read_pool(run) as opened:
        return rewards_of(opened)


def test_a_demonstration_of_an_injection_earns_what_its_bug_does(run: Path) -> None:
    """1 - (1 + 0.8) / 3 = 0.4 for the first, -0.8 for one that everybody resolves, nothing where s is unknown."""
    found = rewards(run)
    earned = [found[f"{bug}-demonstration-injector.jsonl.zst"] for bug in BUGS]
    assert earned[:2] == pytest.approx([0.4, -0.8]) and earned[2] is None
    assert [found[f"{bug}-demonstration-solver.jsonl.zst"] for bug in BUGS] == [1.0] * 3


def test_attempts_of_another_policy_earn_theirs_and_pay_no_injection(run: Path) -> None:
    names = [f"{BUGS[2]}-{number}.jsonl.zst" for number in range(2)]
    with open_curriculum(run) as opened:
        for number, name in enumerate(names):
            opened.attempts.add(Attempt(BUGS[2], "openai:m", number, number == 0, "why", "", "", trajectory=name))
    found = rewards(run)
    assert [found[name] for name in names] == [1.0, -1.0]
    assert found[f"{BUGS[2]}-demonstration-injector.jsonl.zst"] is None
