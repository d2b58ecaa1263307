"""Episodes of one group see one prompt: strategy and seed location are the group's, how they are sampled is not."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.repository import Suite
from selfplay.roles.injector import INJECTOR
from selfplay.rollout.injector import InjectorRun, injector_key, injector_task
from selfplay.validators import Thresholds


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in "abcde":
        (tmp_path / f"{name}.py").write_text("x = 1\n" * 50)
    return tmp_path


def run_of(tree: Path, group: int) -> InjectorRun:
    origin: Any = SimpleNamespace(prepared=SimpleNamespace(tree=tree), thresholds=Thresholds(), seed=3)
    nothing: Any = None
    return InjectorRun("shop", origin, Suite((), {}), "mix", nothing, nothing, nothing, group=group)


def test_n_episodes_in_a_row_share_strategy_location_and_prompt(tree: Path) -> None:
    """Ten prompts of four: every file twice, both strategies five times."""
    run = run_of(tree, 4)
    tasks = [injector_task(run, number) for number in range(40)]
    prompts = [INJECTOR.prompt(task) for task in tasks]
    assert all(len(set(prompts[at : at + 4])) == 1 for at in range(0, 40, 4))
    keys = [injector_key(run, number) for number in range(40)]
    assert all(len({key.group for key in keys[at : at + 4]}) == 1 for at in range(0, 40, 4))
    assert len({key.number for key in keys}) == 40  # and each is an episode of its own
    assert len({INJECTOR.key(task) for task in tasks}) == 40  # by which its messages are seeded
    assert Counter(task.seed_location for task in tasks) == dict.fromkeys([f"{name}.py" for name in "abcde"], 8)
    assert Counter(task.strategy for task in tasks) == {"removal": 20, "history": 20}


def test_a_group_is_a_prompt(tree: Path) -> None:
    """Two episodes have one group if and only if they read the same."""
    for size in (1, 3):
        run = run_of(tree, size)
        pairs = {(injector_key(run, n).group, INJECTOR.prompt(injector_task(run, n))) for n in range(60)}
        assert len({group for group, _ in pairs}) == len({prompt for _, prompt in pairs}) == len(pairs)


@pytest.mark.parametrize("size", [1, 3])
def test_the_turns_of_a_strategy_are_counted(tree: Path, size: int) -> None:
    """By them the scripts spread their bugs: those of one strategy have each turn once."""
    tasks = [injector_task(run_of(tree, size), number) for number in range(12 * size)]
    for strategy in ("removal", "history"):
        assert [task.turn for task in tasks if task.strategy == strategy] == list(range(6 * size))


def test_without_groups_every_episode_has_a_location_of_its_own(tree: Path) -> None:
    run = run_of(tree, 1)
    assert len({injector_task(run, number).seed_location for number in range(5)}) == 5
