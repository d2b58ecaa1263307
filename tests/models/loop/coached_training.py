"""Training of a tiny random model in both roles of a real repository, coached in half of its episodes."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from recorded import messages

from selfplay.loop.config import TrainConfig

SILENT: Any = SimpleNamespace(
    say=lambda line: None, expect=lambda total, doing="", done=0: None, step=lambda step: None, done=lambda line: None,
    attempt=lambda attempt: None, show=lambda page: None,
)  # fmt: skip
PLANTED, MENDED = messages("shop_injector.txt"), messages("shop_solver.txt")
PLANS = {"plant a realistic bug": [None, PLANTED, PLANTED, None], "is broken": [MENDED, None, None, MENDED]}
"""Step 0: an injector on its own and one that plants the bug; an attempt that mends it and one that does not. Step 1:
the same bug again, which is a duplicate, and two more attempts at it."""


def config(shop: Path, model: Path, **more: Any) -> TrainConfig:
    found = {
        "source": str(shop), "model": str(model), "engine": "transformers", "play": {"context": 4096}, "steps": 2,
        "workers": 1, "injector": {"groups": 1, "members": 2, "strategy": "direct"},
        "solver": {"bugs": 1, "attempts": 2}, "recipe": {"lr": 1e-5, "budget": 4096, "precision": "fp32"},
    }  # fmt: skip
    return TrainConfig.model_validate(found | more)


def steps_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def killed(*_: object) -> None:
    raise InterruptedError("here the process was killed")
