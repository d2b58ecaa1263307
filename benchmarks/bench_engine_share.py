"""The engine's tokens a second while real episodes of both roles are played, beside the bare engine's.

A trained 135M model plays one step of `tiny_cpu` under vLLM: injections on a real repository with their checks,
attempts with their grades. Then the bare engine gets the very same prompts and samples as many tokens for each: every
prompt as soon as the one before it in its episode is answered, as many episodes at a time, and nothing else to do. On a
CPU the engine shares its cores with the sandboxes, which a GPU does not.

`.venv-models/bin/python -m benchmarks.bench_engine_share MODEL BUGS [--json]`, MODEL: a model after a cold start
(`runs/train-demo-cold-1` of `make train-demo`), BUGS: a run's folder (`runs/train-demo-first`).
"""

import argparse
import asyncio
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Sheet, at_least, report
from selfplay.agent.model import Sample, Sampling, TokenModel
from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.loop.config import load_config
from selfplay.policies.vllm_engine import VllmModel, why_no_seeds
from selfplay.policies.vllm_options import VllmOptions
from selfplay.report.progress import LiveWatcher
from selfplay.rollout import players
from selfplay.rollout.players import Player
from selfplay.sandbox import open_backend

MEMBERS, ATTEMPTS, AT_ONCE = 6, 6, 16
"""Injections, attempts at each of two bugs, and how many episodes play at a time."""
SETTINGS = (
    "steps=1", f"injector.members={MEMBERS}", f"solver.attempts={ATTEMPTS}", f"play.episodes={AT_ONCE}", "workers=2",
)  # fmt: skip
ROLES = ("injector", "solver")


@dataclass(frozen=True)
class Request:
    """A prompt, how many tokens were sampled after it, and when (seconds) it was sent and answered."""

    prompt: tuple[int, ...]
    sampled: int
    sent: float
    answered: float


@dataclass
class Requests:
    """What was asked of the engine, by (role, episode)."""

    of_episodes: dict[tuple[str, str], list[Request]] = field(default_factory=lambda: defaultdict(list))

    def every(self) -> list[Request]:
        return [one for found in self.of_episodes.values() for one in found]

    def tokens(self) -> int:
        return sum(one.sampled for one in self.every())

    def seconds(self) -> float:
        """From the first request to the last answer."""
        return max(one.answered for one in self.every()) - min(one.sent for one in self.every())

    def by_start(self) -> list[list[Request]]:
        """The requests of each episode, those that began first before the others."""
        return sorted(self.of_episodes.values(), key=lambda found: found[0].sent)


class Recording:
    """An engine that writes down what it is asked."""

    def __init__(self, engine: VllmModel, requests: Requests) -> None:
        self.name, self.context, self._engine, self._requests = engine.name, engine.context, engine, requests

    def for_episode(self, role: str, episode: str) -> TokenModel:
        return RecordingOfOne(self._engine, self._requests.of_episodes[(role, episode)])

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        return await self._engine.sample(prompt, sampling, stop)

    async def reload(self, folder: str, version: int) -> None:
        await self._engine.reload(folder, version)

    async def close(self) -> None:
        await self._engine.close()


class RecordingOfOne:
    """The same for one episode."""

    def __init__(self, engine: VllmModel, found: list[Request]) -> None:
        self.name, self.context, self._engine, self._found = engine.name, engine.context, engine, found

    async def sample(self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int]) -> Sample:
        sent = time.monotonic()
        sample = await self._engine.sample(prompt, sampling, stop)
        self._found.append(Request(tuple(prompt), len(sample.ids), sent, time.monotonic()))
        return sample


def played(model: Path, bugs: Path, out: Path) -> Requests:
    """One step of `tiny_cpu` with this model, in a copy of these bugs' folder."""
    requests, folder = Requests(), shutil.copytree(bugs, out, symlinks=True)

    def recording(name: str, options: Mapping[str, str]) -> Player:
        async def opened(path: str, how: Any) -> Recording:
            return Recording(await VllmModel.open(path, how), requests)

        return players._in_process("vllm", name, options, VllmOptions, opened, why_no_seeds)

    players.KINDS["vllm"] = recording
    config, backend = load_config("tiny_cpu", [f"model={model}", *SETTINGS]), open_backend()
    try:
        with LiveWatcher() as watcher:
            run_training(TrainOrder(config, folder), backend, watcher)
    finally:
        backend.close()
    return requests


async def bare_rate(model: Path, requests: Requests) -> float:
    """Tokens a second of the engine that has nothing else to do."""
    options = VllmOptions(dtype="float32", context=int(load_config("tiny_cpu").options["context"]))
    engine, places = await VllmModel.open(str(model), options), asyncio.Semaphore(AT_ONCE)

    async def chain(found: Sequence[Request]) -> None:
        async with places:
            for one in found:
                await engine.sample(one.prompt, Sampling(max_tokens=one.sampled), ())

    began = time.monotonic()
    await asyncio.gather(*(chain(found) for found in requests.by_start()))
    seconds = time.monotonic() - began
    await engine.close()
    return requests.tokens() / seconds


def sheet(requests: Requests, bare: float) -> Sheet:
    """The table."""
    rate, count = requests.tokens() / requests.seconds(), len(requests.of_episodes)
    by_role = {role: [found for (one, _), found in requests.of_episodes.items() if one == role] for role in ROLES}
    rows = [
        Figure(f"{role}: episodes; tokens sampled", sum(r.sampled for f in found for r in f), f"in {len(found)}")
        for role, found in by_role.items()
    ]
    rows += [
        Figure("episodes of both roles", rate, "tokens/s"),
        Figure("bare engine, the same requests", bare, "tokens/s"),
        at_least("episodes, of the bare engine's", 100 * rate / bare, 90, "%"),
    ]
    return Sheet(f"vLLM on CPU, fp32, one step of {count} episodes, {AT_ONCE} at a time", tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("bugs", type=Path)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        requests = played(asked.model.absolute(), asked.bugs, Path(folder, "run"))
    report([sheet(requests, asyncio.run(bare_rate(asked.model, requests)))], asked.json)


if __name__ == "__main__":
    main()
