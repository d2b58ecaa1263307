"""vLLM engines that a test starts for itself: a player's, with its options, and one that its test breaks."""

import asyncio
import shutil
import time
from asyncio import Runner
from pathlib import Path

import pytest
from models.conftest import VLLM

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message, ModelError, Sampling
from selfplay.policies.vllm_engine import VllmModel
from selfplay.roles.solver import SOLVER
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.players import player_named


def test_a_player_on_cpu_seeds_the_engine_unless_asked_for_more(
    smollm2: Path, loop: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    """With default options but for the sizes: what crashed on bugs of real repositories."""
    sizes = {"dtype": "float32", "context": "2048", "cache_gb": "1", "most_sequences": "64", "chunk": "128"}
    asked = player_named(f"vllm:{smollm2}", {**sizes, "seeded": "true"})
    with pytest.raises(ModelError, match="seeded=true cannot be kept: vLLM on CPU"):
        loop.run(asked.open(print))
    player = player_named(f"vllm:{smollm2}", {**sizes, "max_tokens": "4"})
    loop.run(player.open(print))
    assert "messages are not seeded one by one, the engine is (engine_seed)" in caplog.text
    policy = player.policy(SOLVER, SolverTask("bug", "diff " * 300))
    loop.run(policy.act(None))
    segment = policy.record().segments[0]
    loop.run(player.close())
    assert len(segment.ids) > 6 * 128 and 0 < sum(segment.mask) <= 4


async def begun(engine: VllmModel, wanted: int) -> None:
    """Wait until so many requests have each given a first token."""
    states = engine._engine.output_processor.request_states
    while sum(not state.is_prefilling for state in states.values()) < wanted:
        await asyncio.sleep(0.05)


def test_a_reload_that_fails_ends_what_runs_and_lets_nothing_begin(
    smollm2: Path, chat: ChatFormat, loop: Runner, tmp_path: Path
) -> None:
    """The weights' head is whole, the data are of a kind that nobody can load: found out while the engine is paused."""
    shutil.copytree(smollm2, tmp_path / "bad")
    file = tmp_path / "bad" / "model.safetensors"
    file.write_bytes(file.read_bytes().replace(b'"dtype":"BF16"', b'"dtype":"XX16"'))
    prompt = chat.opening([Message("user", "What does a compiler do? Be brief.")])
    engine = loop.run(VllmModel.open(str(smollm2), VLLM))

    async def fail() -> tuple[list[object], float]:
        endless = Sampling(max_tokens=1500)
        running = [asyncio.create_task(engine.sample(prompt, endless, ())) for _ in range(4)]
        await begun(engine, len(running))
        with pytest.raises(ModelError, match=r"the weights in .*bad cannot be loaded"):
            await engine.reload(str(tmp_path / "bad"), 1)
        started = time.monotonic()
        ended = await asyncio.gather(*running, return_exceptions=True)
        with pytest.raises(ModelError, match=r"the weights in .*bad cannot be loaded"):
            await engine.sample(prompt, Sampling(max_tokens=2), chat.stop)
        return list(ended), time.monotonic() - started

    try:
        ended, seconds = loop.run(asyncio.wait_for(fail(), 120))
    finally:
        loop.run(engine.close())
    assert all(isinstance(error, ModelError) and "cannot be loaded" in str(error) for error in ended), ended
    assert seconds < 30 and engine.version == 0
