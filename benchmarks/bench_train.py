"""Training a 135M model on this machine's CPU, ours and TRL's side by side: tokens a second and memory of an update.

`python -m benchmarks.bench_train [--json] [--threads N] [--rounds N] [--updates N]`, in the environment of `make
models`. The same random weights of SmolLM2-135M's shape, the same tokens, float32 and checkpointed activations on both
sides, each update in a process of its own, in turns; the best of the rounds counts. TRL is installed into an
environment of its own in the cache, the first time. Core seconds are those of the process: on a busy machine they say
more than the clock.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Sheet, at_least, at_most, report_each
from benchmarks.training_load import make_examples, make_model
from selfplay.repository.cache import default_cache

TRL = "1.16.0"
ROOT = Path(__file__).parents[1]
Found = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--updates", type=int, default=2, help="in each process; the last one is measured")
    options = parser.parse_args()
    report_each(sheets(options.threads, options.rounds, options.updates), options.json)


def sheets(threads: int, rounds: int, updates: int) -> Iterator[Sheet]:
    peer = install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(folder / "model")
        for kind, speed, memory in (("grpo", 1.3, 0.7), ("sft", 1.0, None)):
            make_examples(kind, folder / f"{kind}.json")
            arguments = [kind, folder / "model", folder / f"{kind}.json", folder / "out", threads, updates]
            yield sheet(kind, arguments, peer, rounds, speed, memory)


def sheet(kind: str, arguments: list[Any], peer: Path, rounds: int, speed: float, memory: float | None) -> Sheet:
    """One table: an update of ours, of ours without checkpointed activations, and of TRL's, and their ratios."""
    own = [sys.executable, "-m", "benchmarks.own_update", *arguments]
    commands = {
        "ours": own,
        "TRL": [peer, ROOT / "benchmarks" / "peers" / "trl_update.py", *arguments],
        "ours, activations kept": [*own, "keep"],
    }
    found: dict[str, list[Found]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(measured([str(part) for part in command]))
    best = {name: min(runs, key=lambda run: run["seconds"]) for name, runs in found.items()}
    lines = [line for name, run in best.items() for line in of(name, run)]
    lines += ratios("ours", best["ours"], best["TRL"], speed, memory)
    lines += ratios("ours, activations kept", best["ours, activations kept"], best["TRL"], None, None)
    how = f"{arguments[-2]} threads, update {arguments[-1]} of a process, 2048 tokens a row"
    note = f"SmolLM2-135M's shape, fp32, {how}, TRL {TRL}"
    return Sheet(f"one {kind.upper()} update, {best['ours']['tokens']:.0f} tokens", tuple(lines), note)


def measured(command: list[str]) -> Found:
    """What the program printed last. Raises `CalledProcessError`."""
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
        done.check_returncode()
    found: Found = json.loads(done.stdout.strip().rpartition("\n")[2])
    return found


def of(name: str, run: Found) -> list[Figure]:
    return [
        Figure(f"{name}: by the clock", run["tokens"] / run["seconds"], "tokens/s"),
        Figure(f"{name}: by core seconds", run["tokens"] / run["core_seconds"], "tokens/s"),
        Figure(f"{name}: peak memory of the process", run["peak_gb"], "GB"),
    ]


def ratios(name: str, own: Found, peer: Found, speed: float | None, memory: float | None) -> list[Figure]:
    times = peer["seconds"] / own["seconds"]
    core, peak = peer["core_seconds"] / own["core_seconds"], own["peak_gb"] / peer["peak_gb"]
    clock, held = f"{name}, of TRL's speed by the clock", f"{name}, of TRL's memory"
    return [
        Figure(clock, times, "times") if speed is None else at_least(clock, times, speed, "times"),
        Figure(f"{name}, of TRL's speed by core seconds", core, "times"),
        Figure(held, peak, "times") if memory is None else at_most(held, peak, memory, "times"),
    ]


def install() -> Path:
    """The Python of TRL's environment, made once, with this environment's torch and transformers."""
    import torch
    import transformers

    folder = default_cache() / "peers" / f"trl-{TRL}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        pins = [
            f"trl=={TRL}",
            f"torch=={torch.__version__.partition('+')[0]}",
            "transformers==" + transformers.__version__,
        ]
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--clear", "--quiet", "--python", sys.executable, folder], check=True)
        links = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS")
        where = {"UV_FIND_LINKS": links} if links else {"UV_TORCH_BACKEND": "cpu"}  # as `make models` does
        env = {**where, **os.environ}
        command = [uv, "pip", "install", "--quiet", "--python", python, "psutil", *pins]
        subprocess.run(command, check=True, env=env)
        (folder / "complete").touch()
    return python


if __name__ == "__main__":
    main()
