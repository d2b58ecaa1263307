"""`selfplay learn` on a real run of both roles: a real model plants and repairs, coached in half of its episodes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from models.update.conftest import SILENT, selfplay
from safetensors.torch import load_file

from selfplay.commands.credit import CreditOrder, credited_runs
from selfplay.rollout.players import player_named
from selfplay.train.model import ModelOptions, load_scorer
from selfplay.train.step import StepOptions, Trainer
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.examples import SAMPLED, examples
from selfplay.update.recipe import Recipe

FAST = ("--option=lr=3e-5", "--option=budget=4096", "--option=keep_activations=true", "--option=precision=fp32")
FP32 = ModelOptions(precision="fp32")


@pytest.fixture(scope="module")
def run(play: Any, smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(play(smollm2, tmp_path_factory.mktemp("runs") / "run"))


@pytest.fixture(scope="module")
def learned(run: Path, smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("models") / "learned"
    done = selfplay("learn", run, "--model", smollm2, "--out", out, *FAST, "--json")
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout)


def rollouts_of(run: Path) -> list[Credited]:
    return credited_runs(CreditOrder((run,)), SILENT.say)


@pytest.mark.slow
def test_both_roles_of_a_real_run_have_mixed_rewards_and_one_prompt(run: Path) -> None:
    """s = 1/2, so the valid bug earns 1 - 1.8 / 2 = 0.1."""
    found = rollouts_of(run)
    assert [(one.credit.reward, one.credit.no_gradient) for one in found] == [
        (-1.0, ""), (pytest.approx(0.1), ""), (1.0, ""), (-1.0, ""),
    ]  # fmt: skip
    first, second = (one.played.episode for one in found[:2])
    assert first.group == second.group and first.prompt == second.prompt != ""


@pytest.mark.slow
def test_an_update_makes_what_was_better_likelier(
    run: Path, smollm2: Path, learned: tuple[Path, dict[str, Any]]
) -> None:
    """Before it the trainer gives what the engine recorded, both in fp32: a processor without instructions for bf16
    takes forty times as long. After it the tokens of episodes better than their group have gained, against the
    recorded, over those of worse ones."""
    out, summary = learned
    both = summary["tokens"]["both"]
    assert both["ratio"] == pytest.approx(1, abs=1e-3) and both["absolute_difference"] < 1e-3
    assert {role: one["trained_on"] for role, one in summary["rollouts"].items()} == {"injector": 2, "solver": 2}
    rollouts = rollouts_of(run)
    batch = examples(rollouts, Recipe())
    after = Trainer(load_scorer(out, FP32), StepOptions(budget=4096)).logprobs(batch)
    gains = {}
    for one, example, new in zip(rollouts, batch, after, strict=True):
        old = [value for value, on in zip(example.numbers[SAMPLED], example.mask, strict=True) if on]
        gain = (sum(new) - sum(old)) / example.trained
        gains[one.played.episode.role, one.credit.advantage > 0] = gain
    for role in ("injector", "solver"):
        assert gains[role, True] > gains[role, False] + 0.002, gains
    assert load_file(smollm2 / "model.safetensors").keys() == load_file(out / "model.safetensors").keys()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["transformers", "vllm"])
def test_the_new_weights_open(kind: str, learned: tuple[Path, dict[str, Any]]) -> None:
    options = {"dtype": "float32", "context": "2048", **({"cache_gb": "1"} if kind == "vllm" else {})}
    player = player_named(f"{kind}:{learned[0]}", options)
    with asyncio.Runner() as loop:
        loop.run(player.open(lambda line: None))
        loop.run(player.close())
