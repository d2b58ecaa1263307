"""One training run of a tiny random model, which is told in half of its episodes what to say (`tests/coached.py`).

`python -m benchmarks.coached_run FOLDER OUT [--cluster | --address ADDRESS]`: trains the model in `FOLDER/tiny` on the
repository in `FOLDER/shop`, with `tests` among the places that Python imports from, and so do Ray's workers. With an
address it joins that cluster, whose nodes have GPUs in name. `bench_kills_train` kills it.
"""

import argparse
import importlib
from pathlib import Path
from typing import Any

from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.loop.config import TrainConfig
from selfplay.report.progress import LiveWatcher
from selfplay.rollout import players
from selfplay.sandbox import open_backend

STEPS, INJECTIONS, ATTEMPTS = 3, 4, 4
CLUSTER = {"engines": 2, "hosts": 2, "host_cpus": 1, "host_episodes": 2}


def config(folder: Path, cluster: dict[str, int] | None) -> TrainConfig:
    """Three steps of both roles."""
    return TrainConfig.model_validate(
        {
            "source": str(folder / "shop"),
            "model": str(folder / "tiny"),
            "engine": "transformers",
            "play": {"context": 4096},
            "steps": STEPS,
            "workers": 1,
            "injector": {"groups": 1, "members": INJECTIONS, "strategy": "direct"},
            "solver": {"bugs": 1, "attempts": ATTEMPTS},
            "recipe": {"lr": 1e-5, "budget": 4096, "precision": "fp32"},
            "cluster": cluster,
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coached_run", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--address")
    asked = parser.parse_args()
    coached: Any = importlib.import_module("coached")
    said = {role: importlib.import_module("recorded").messages(f"shop_{role}.txt") for role in ("injector", "solver")}
    lines = {"plant a realistic bug": said["injector"], "is broken": said["solver"]}
    players.KINDS = {"transformers": lambda model, options: coached.coached_by_seed(asked.folder / "tiny", lines)}
    cluster = {**CLUSTER, "engine_gpus": 1} if asked.address else CLUSTER if asked.cluster else None
    backend = open_backend()
    try:
        with LiveWatcher() as watcher:
            order = TrainOrder(config(asked.folder, cluster), asked.out, address=asked.address)
            run_training(order, backend, watcher)
    finally:
        backend.close()


if __name__ == "__main__":
    main()
