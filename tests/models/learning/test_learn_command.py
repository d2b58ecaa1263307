"""`selfplay learn` on a real run of both roles: a real model plants and repairs, coached in half of its episodes."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from coached import coached_player
from recorded import messages
from safetensors.torch import load_file

from selfplay.commands.credit import CreditOrder, credited_runs
from selfplay.commands.curriculum import run_campaign
from selfplay.commands.order import Order
from selfplay.commands.solve import SolveOrder, run_solve
from selfplay.learning.crediting import Credited
from selfplay.learning.examples import SAMPLED, examples
from selfplay.learning.recipe import Recipe
from selfplay.rollout import players
from selfplay.rollout.players import player_named
from selfplay.sandbox import Backend
from selfplay.train.model import ModelOptions, load_scorer
from selfplay.train.step import StepOptions, Trainer

SILENT: Any = SimpleNamespace(
    say=lambda line: None, expect=lambda total, doing="": None, step=lambda step: None, attempt=lambda attempt: None
)
PLANS = {
    "plant a realistic bug": [None, messages("shop_injector.txt")],
    "is broken": [messages("shop_solver.txt"), None],
}
FP32 = ("--option", "precision=fp32", "--option", "lr=1e-5", "--option", "budget=4096")


def selfplay(*arguments: object) -> Any:
    argv = [sys.executable, "-m", "selfplay", *(str(argument) for argument in arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=600, env={**os.environ, "COLUMNS": "200"})


@pytest.fixture(scope="module")
def run(shop: Path, smollm2: Path, backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two injections from one prompt, of which one is valid; two attempts at its bug, of which one resolves it."""
    out = tmp_path_factory.mktemp("runs") / "run"
    kinds = {"coached": lambda model, options: coached_player(smollm2, PLANS)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(players, "KINDS", kinds)
        asked = Order(str(shop), out, bugs=1, strategy="direct", policy="coached:m", group=2, workers=1)
        run_campaign(asked, backend, SILENT)
        run_solve(SolveOrder(out, attempts=2, policy="coached:m", workers=1), backend, SILENT)
    return out


@pytest.fixture(scope="module")
def learned(run: Path, smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("models") / "learned"
    done = selfplay("learn", run, "--model", smollm2, "--out", out, *FP32, "--json")
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
    """Before it the trainer gives what the engine recorded: ratios of 1. After it the tokens of episodes better than
    their group have gained, against those of worse ones."""
    out, summary = learned
    both = summary["tokens"]["both"]
    assert both["absolute_difference"] < 1e-3 and both["clipped"] == 0
    assert both["ratio_min"] > 0.99 and both["ratio_max"] < 1.01
    assert {role: one["trained_on"] for role, one in summary["rollouts"].items()} == {"injector": 2, "solver": 2}
    rollouts = rollouts_of(run)
    batch = examples(rollouts, Recipe())
    after = Trainer(load_scorer(out, ModelOptions(precision="fp32")), StepOptions(budget=4096)).logprobs(batch)
    gains = {}
    for one, example, new in zip(rollouts, batch, after, strict=True):
        pairs = zip(new, example.numbers[SAMPLED], example.mask, strict=True)
        change = [mine - theirs for mine, theirs, on in pairs if on]
        gains[one.played.episode.role, one.credit.advantage > 0] = sum(change) / len(change)
    for role in ("injector", "solver"):
        assert gains[role, True] > gains[role, False] + 1e-3, gains
    before, now = (load_file(folder / "model.safetensors") for folder in (smollm2, out))
    assert before.keys() == now.keys()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["transformers", "vllm"])
def test_the_new_weights_open(kind: str, learned: tuple[Path, dict[str, Any]]) -> None:
    options = {"dtype": "float32", "context": "2048", **({"cache_gb": "1"} if kind == "vllm" else {})}
    player = player_named(f"{kind}:{learned[0]}", options)
    with asyncio.Runner() as loop:
        loop.run(player.open(lambda line: None))
        loop.run(player.close())
