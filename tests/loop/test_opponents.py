"""Which groups of a run a frozen policy plays."""

from pathlib import Path
from typing import Any

import pytest

from selfplay.commands.training.opponents import Opponent
from selfplay.loop.config import TrainConfig, load_config
from selfplay.loop.errors import TrainingError
from selfplay.loop.machine import nodes_needed
from selfplay.loop.opponents import drawn

PLAYS: Any = None


def opponent(share: float = 0.5, seed: int = 0, members: int = 4) -> Opponent:
    found = {
        "source": "s",
        "model": "m",
        "play": {"context": 4096},
        "opponents": {"share": share},
        "seed": seed,
        "injector": {"members": members},
    }
    return Opponent(TrainConfig.model_validate(found), PLAYS)


def test_the_share_of_the_groups_is_its_own() -> None:
    """Of 4,000 groups at 0.3, 1,200 with a deviation of 29: within five of them."""
    found = sum(drawn(0.3, 7, f"solver:{number}") for number in range(4000))
    assert abs(found - 1200) < 145
    assert not any(drawn(0.0, 7, str(number)) for number in range(100))


def test_one_policy_plays_a_group_and_a_resumed_run_draws_the_same() -> None:
    first, again, other = opponent(), opponent(), opponent(seed=1)
    groups = [{first.injects("s", number) for number in range(begin, begin + 4)} for begin in range(0, 200, 4)]
    assert all(len(one) == 1 for one in groups) and {frozenset(one) for one in groups} == {
        frozenset({True}), frozenset({False}),
    }  # fmt: skip
    numbers = range(200)
    assert [first.injects("s", n) for n in numbers] == [again.injects("s", n) for n in numbers]
    assert [first.injects("s", n) for n in numbers] != [other.injects("s", n) for n in numbers]


def test_it_attempts_no_bug_of_its_own() -> None:
    """Nobody would learn from it."""
    one = opponent()
    made = {f"bug-{number}": ("s", number) for number in range(400)}
    attempted = one.attempted(made)
    assert attempted and not any(one.injects(*made[bug]) for bug in attempted)


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (["opponents.share=0.2", "cluster={}"], "opponents have no engine: set cluster.opponents"),
        (["cluster={opponents: 1}"], "cluster.opponents are engines that sample nothing"),
        (["opponents.share=0.2", "injector.groups=0"], "opponents need both roles"),
        (["opponents.share=0.2", "solver.bugs=0", "recipe.valid=consistency"], "opponents need both roles"),
        (["opponents.model=elsewhere"], "opponents.share is 0"),
        (["opponents.share=0.2", "machine.gpu=h100"], "play.memory to 0.45"),
        (["opponents.share=1"], "less than 1"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(overrides: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=why):
        load_config("tiny_cpu", overrides)
    assert load_config("tiny_cpu", ["opponents.share=0.2", f"opponents.model={tmp_path}"]).opponents.share == 0.2


def test_its_engines_take_their_own_gpus() -> None:
    """4 engines of 2 and one opponent's of 2 beside 2 trainers: 12 GPUs, two nodes of 8."""
    cluster = "cluster={engines: 4, engine_gpus: 2, opponents: 1, trainers: 2, trainer_gpus: 1}"
    config = load_config(
        "tiny_cpu", ["opponents.share=0.2", "machine.gpu=h100", "engine=vllm", "play.tensor_parallel=2", cluster]
    )
    assert config.cluster is not None and config.cluster.gpus == 12 and nodes_needed(config) == 2
