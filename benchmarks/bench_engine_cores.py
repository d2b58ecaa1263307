"""What vLLM on a few cores gains where none is kept free for its scheduler (`FEW_CORES` of `policies.vllm_options`).

The same requests to SmolLM2-135M in two processes, one after the other: as vLLM sets itself up, and as selfplay does.
`.venv-models/bin/python -m benchmarks.bench_engine_cores [--json]`; four to five minutes, half of them to start.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time

from benchmarks.figures import Figure, Sheet, at_least, report
from benchmarks.ours import small_model

PROMPTS, PROMPT, EPISODES, ANSWER = 8, 800, 16, 40
ROUNDS = 2
"""The faster of them counts."""
RESERVED = "VLLM_CPU_NUM_OF_RESERVED_CPU"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", metavar="MODEL", help="print the seconds in this process")
    wanted = parser.parse_args()
    if wanted.measure:
        print(json.dumps(asyncio.run(measured(wanted.measure))))
        return
    model = small_model()
    vllms, ours = in_process(model, {RESERVED: "1"}), in_process(model, {})
    report([sheet(vllms, ours)], wanted.json)


def in_process(model: str, environment: dict[str, str]) -> dict[str, float]:
    """The seconds in a process of its own."""
    inherited = {name: value for name, value in os.environ.items() if name != RESERVED}
    command = [sys.executable, "-m", "benchmarks.bench_engine_cores", "--measure", model]
    done = subprocess.run(command, env={**inherited, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return seconds


async def measured(model: str) -> dict[str, float]:
    """Seconds for many prompts with one sampled token each, and for many answers to short prompts."""
    from selfplay.agent.model import Sampling
    from selfplay.policies.vllm_engine import VllmModel
    from selfplay.policies.vllm_options import VllmOptions

    engine = await VllmModel.open(model, VllmOptions(dtype="float32", context=2048, cache_gb=2))
    numbers = random.Random(0)

    async def asked(prompts: int, length: int, answer: int) -> float:
        texts = [[numbers.randrange(100, 40_000) for _ in range(length)] for _ in range(prompts)]
        began = time.perf_counter()
        await asyncio.gather(*(engine.sample(text, Sampling(max_tokens=answer), ()) for text in texts))
        return time.perf_counter() - began

    await asked(2, 50, 4)
    rounds = [(await asked(PROMPTS, PROMPT, 1), await asked(EPISODES, 50, ANSWER)) for _ in range(ROUNDS)]
    await engine.close()
    return {"prompts": min(one for one, _ in rounds), "answers": min(one for _, one in rounds)}


def sheet(vllms: dict[str, float], ours: dict[str, float]) -> Sheet:
    cores = len(os.sched_getaffinity(0))
    return Sheet(
        f"SmolLM2-135M in fp32 on {cores} cores, against vLLM's own choice of cores",
        (
            Figure(f"{PROMPTS} prompts of {PROMPT} tokens, vLLM's choice", vllms["prompts"], "s"),
            Figure(f"{EPISODES} answers of {ANSWER} tokens at once, vLLM's choice", vllms["answers"], "s"),
            at_least("prompt tokens per second, times as many", vllms["prompts"] / ours["prompts"], 1.5, ""),
            at_least("sampled tokens per second, times as many", vllms["answers"] / ours["answers"], 1.2, ""),
        ),
    )


if __name__ == "__main__":
    main()
