"""Real runs of both roles, coached: two injections from one prompt, of which one is valid, and two attempts at its bug,
of which one resolves it. Once with a real model, once with a tiny random one that has the real one's tokenizer."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from coached import coached_player
from recorded import messages
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from selfplay.commands.curriculum import run_curriculum
from selfplay.commands.order import Order
from selfplay.commands.solve import SolveOrder, run_solve
from selfplay.rollout import players
from selfplay.sandbox import Backend

SILENT: Any = SimpleNamespace(
    say=lambda line: None,
    expect=lambda total, doing="", done=0: None,
    step=lambda step: None,
    attempt=lambda attempt: None,
)
PLANS = {
    "plant a realistic bug": [None, messages("shop_injector.txt")],
    "is broken": [messages("shop_solver.txt"), None],
}


def selfplay(*arguments: object, **how: Any) -> Any:
    """The command, with one thread: on a busy machine two that wait for each other are far slower."""
    argv = [sys.executable, "-m", "selfplay", *(str(argument) for argument in arguments)]
    env = {**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    return subprocess.run(argv, capture_output=True, text=True, timeout=600, env=env, **how)


def tiny_folder(folder: Path, tokenizer: Path, vocabulary: int) -> Path:
    """A random model of Llama's shape."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=8192, tie_word_embeddings=True,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def play(shop: Path, backend: Backend) -> Callable[[Path, Path], Path]:
    def playing(model: Path, out: Path) -> Path:
        kinds = {"coached": lambda name, options: coached_player(model, PLANS)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(players, "KINDS", kinds)
            asked = Order(str(shop), out, bugs=1, strategy="direct", policy="coached:m", group=2, workers=1)
            run_curriculum(asked, backend, SILENT)
            run_solve(SolveOrder(out, attempts=2, policy="coached:m", workers=1), backend, SILENT)
        return out

    return playing


@pytest.fixture(scope="session")
def tiny(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny", smollm2, 49_152)


@pytest.fixture(scope="session")
def tiny_run(play: Any, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(play(tiny, tmp_path_factory.mktemp("runs") / "tiny"))
