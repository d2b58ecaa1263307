"""Seconds from a trainer's weights to a vLLM engine that samples by them, for SmolLM2-135M in fp32 on this machine: by
file (written, then read by the engine) and by broadcast (sent in a process group over gloo).

`.venv-models/bin/python -m benchmarks.bench_sync [--json]`; two minutes, most of them to start. The group is joined
once, as in a run, and not counted: the first broadcast is left out.
"""

import argparse
import asyncio
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figures import Sheet, at_most, report
from benchmarks.ours import small_model

TIMES = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    file, sent = asyncio.run(measured(small_model()))
    report(
        [
            Sheet(
                f"new weights of SmolLM2-135M in fp32, median of {TIMES}",
                (at_most("by file", file, 1.5, "s"), at_most("by broadcast over gloo", sent, 1.5, "s")),
            )
        ],
        wanted.json,
    )


async def measured(model: str) -> tuple[float, float]:
    """Median seconds by file and by broadcast."""
    from selfplay.policies.vllm_engine import VllmModel
    from selfplay.policies.vllm_options import VllmOptions
    from selfplay.train.model import ModelOptions, load_scorer

    scorer = load_scorer(model, ModelOptions(precision="fp32"))
    engine = await VllmModel.open(model, VllmOptions(dtype="float32", context=2048, cache_gb=1))
    try:
        versions = iter(range(1, 100))
        by_file = [await filed(scorer, model, engine, next(versions)) for _ in range(TIMES)]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        by_group = [seconds async for seconds in broadcast(scorer, engine, port, versions)]
    finally:
        await engine.close()
    return median(by_file), median(by_group[1:])


async def filed(scorer: Any, model: str, engine: Any, version: int) -> float:
    """One transfer by file."""
    from selfplay.train.weights import write_model, written_dtype

    folder = Path(tempfile.mkdtemp())
    began = time.perf_counter()
    write_model(scorer, folder, model, written_dtype(model, "fp32"))
    await engine.reload(str(folder), version)
    seconds = time.perf_counter() - began
    shutil.rmtree(folder)
    return seconds


async def broadcast(scorer: Any, engine: Any, port: int, versions: Iterator[int]) -> Any:
    """The seconds of each transfer in one group."""
    import torch

    from selfplay.policies.broadcast import WeightGroup
    from selfplay.policies.rendezvous import Rendezvous
    from selfplay.train.weights import engine_shapes, engine_weights

    dtype, meeting = torch.float32, Rendezvous("bench_sync", "127.0.0.1", port, 2, "gloo")
    facts = [(name, "float32", shape) for name, shape in engine_shapes(scorer).items()]
    groups: list[WeightGroup] = []

    def send() -> None:
        groups[:] = groups or [WeightGroup(meeting, 0, "cpu")]
        for _, tensor in engine_weights(scorer, dtype):
            groups[0].send(tensor)

    with ThreadPoolExecutor(1) as thread:
        for _ in range(TIMES + 1):
            began = time.perf_counter()
            sending = asyncio.get_running_loop().run_in_executor(thread, send)
            await engine.receive(meeting, 1, facts, next(versions))
            await sending
            yield time.perf_counter() - began


if __name__ == "__main__":
    main()
