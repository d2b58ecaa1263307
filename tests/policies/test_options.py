"""Options that no model could be used with are refused before one is opened; an engine's answers that are none."""

import asyncio
import os
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.agent.model import ModelError, Sampling
from selfplay.policies.vllm_engine import VllmModel
from selfplay.policies.vllm_options import VllmOptions, set_environment
from selfplay.rollout.players import UnknownPolicy, player_named


@pytest.mark.parametrize(
    "option",
    ["episodes=0", "concurrency=0", "calls=-3", "seconds=nan", "seconds=0", "temperature=-1", "temperature=nan",
     "top_p=0", "top_p=1.5", "max_tokens=-4", "answer_seconds=0", "requests_per_minute=-1", "retries=-1",
     "observation_chars=-5", "price_in=inf"],
)  # fmt: skip
def test_a_number_out_of_bounds_is_refused(option: str) -> None:
    name, _, value = option.partition("=")
    with pytest.raises(UnknownPolicy, match=rf"the option {name}: .*, not '{value}'"):
        player_named("openai:m", {name: value})


def engine(**methods: Any) -> Any:
    async def done(*args: Any, **kwargs: Any) -> None:
        """Works."""

    names = ("pause_generation", "collective_rpc", "update_weight_version", "resume_generation")
    return SimpleNamespace(**{**dict.fromkeys(names, done), **methods})


def test_an_engine_whose_weights_are_unknown_samples_no_more() -> None:
    async def fails(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no such folder")

    async def run() -> None:
        model = VllmModel(engine(collective_rpc=fails), "vllm:m", 100, {})
        with pytest.raises(ModelError, match="the weights in /x cannot be loaded: no such folder"):
            await model.reload("/x", 1)
        with pytest.raises(ModelError, match="the weights in /x cannot be loaded"):
            await model.sample([1], Sampling(), [2])
        assert model.version == 0

    asyncio.run(run())


def test_an_answer_that_somebody_aborted_is_none() -> None:
    model = VllmModel(engine(), "vllm:m", 100, {})
    answer = SimpleNamespace(finish_reason="abort", token_ids=[5], logprobs=[{5: SimpleNamespace(logprob=-1.0)}])
    with pytest.raises(ModelError, match="vllm:m ended an answer: abort"):
        model._read(SimpleNamespace(outputs=[answer], prompt_token_ids=[1]), 0)


@pytest.mark.parametrize(
    ("cores", "given", "reserved"), [(2, None, "0"), (4, None, "0"), (5, None, None), (2, "1", "1")]
)
def test_on_few_cores_none_is_kept_for_the_scheduler(
    monkeypatch: pytest.MonkeyPatch, cores: int, given: str | None, reserved: str | None
) -> None:
    name = "VLLM_CPU_NUM_OF_RESERVED_CPU"
    environment = {} if given is None else {name: given}
    monkeypatch.setattr(os, "environ", environment)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    set_environment(VllmOptions())
    assert environment.get(name) == reserved
