"""verifiers' own episodes: an injector, then solvers who meet its bug, as its proposer and solver do."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torch
import verifiers.v1 as vf
from coached_text import coached_line
from recorded import serving
from transformers import AutoModelForCausalLM, AutoTokenizer
from verifiers.v1.utils.loaders import load_environment

from selfplay.environments.client import Client
from selfplay.environments.for_verifiers import SelfPlayEnvConfig

Served = tuple[Path, Client]


class Endpoint:
    """Answers chat completions: a strong model's words in some episodes, those of a tiny random one in the others."""

    def __init__(self, tiny: Path) -> None:
        torch.set_num_threads(1)
        self.tokenizer = AutoTokenizer.from_pretrained(tiny)
        self.model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
        self.begun: set[str] = set()

    def __call__(self, request: dict[str, Any]) -> str:
        told = "\n".join(message["content"] for message in request["messages"])
        said = sum(message["role"] == "assistant" for message in request["messages"])
        line = coached_line(told, said, told not in self.begun)
        self.begun.add(told)
        if line is not None:
            return line
        ids = self.tokenizer(told, return_tensors="pt").input_ids
        out = self.model.generate(ids, max_new_tokens=8, do_sample=True, pad_token_id=self.tokenizer.pad_token_id)
        text: str = self.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
        return text


def played(run: Path, tiny: Path, role: str, **more: Any) -> vf.Episode:
    """verifiers' episode of the first task of a role."""
    config = SelfPlayEnvConfig(taskset={"id": "lab_selfplay", "run": str(run), "role": role}, **more)
    env = load_environment(config)

    async def play(url: str) -> vf.Episode:
        context = vf.ModelContext(model="tiny", client=vf.EvalClientConfig(base_url=url, api_key_var="A_KEY"))
        async with env.serving():
            return await env.run_episode(next(iter(env.taskset)), context)

    with serving(Endpoint(tiny)) as (url, _):
        return asyncio.run(play(url))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "none")


def test_the_injector_is_paid_by_the_solvers_of_its_episode(served: Served, tiny: Path) -> None:
    """One of two attempts mends the bug: 1 - 1.8/2 = 0.1."""
    episode = played(served[0], tiny, "injector", attempts=2)
    assert episode.ok, episode.errors
    rewards = [(trace.agent.name, round(trace.reward, 3)) for trace in episode.traces]
    assert rewards[0] == ("injector", 0.1) and sorted(rewards[1:]) == [("solver", -1.0), ("solver", 1.0)]
    injector = episode.traces[0]
    assert injector.metrics["solve_rate"] == 0.5 and injector.num_turns > 1
    assert all(trace.agent.trainable for trace in episode.traces)


def test_a_limit_of_verifiers_ends_an_attempt_which_is_graded(served: Served, tiny: Path) -> None:
    """The strong model has one turn, and submits nothing in it."""
    seat = {"runtime": {"type": "subprocess"}, "max_turns": 1}
    episode = played(served[0], tiny, "solver", solver=seat)
    (trace,) = episode.traces
    assert (trace.num_turns, trace.reward, trace.state.result["finish"]) == (1, -1.0, "out_of_context")
