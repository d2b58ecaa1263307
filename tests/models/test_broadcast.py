"""Weights over the network, between threads of one process that stand for the trainer's rank and engines."""

import asyncio
import socket
from asyncio import Runner
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message, ModelError, Sampling
from selfplay.policies import broadcast
from selfplay.policies.broadcast import WeightGroup
from selfplay.policies.rendezvous import Fact, Rendezvous
from selfplay.policies.transformers_model import TransformersModel, TransformersOptions
from selfplay.policies.vllm_engine import VllmModel


def meeting(name: str, ranks: int) -> Rendezvous:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return Rendezvous(name, "127.0.0.1", int(free.getsockname()[1]), ranks, "gloo")


def facts_of(weights: Mapping[str, torch.Tensor]) -> list[Fact]:
    return [(name, str(one.dtype).removeprefix("torch."), tuple(one.shape)) for name, one in weights.items()]


def send(where: Rendezvous, weights: Mapping[str, torch.Tensor]) -> WeightGroup:
    group = WeightGroup(where, 0, "cpu")
    for tensor in weights.values():
        group.send(tensor)
    return group


def other(folder: Path) -> dict[str, torch.Tensor]:
    """The model's weights, those of its MLPs changed."""
    dice = torch.Generator().manual_seed(1)
    return {
        name: value + 0.05 * torch.randn(value.shape, generator=dice).to(value.dtype) if "mlp" in name else value
        for name, value in load_file(folder / "model.safetensors").items()
    }


def test_every_member_gets_every_tensor_again_and_again() -> None:
    """Two receivers; bf16, whole numbers, a transposed view, and one without any number."""
    sent = {
        "a": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3),
        "b": torch.tensor([1, 2**40]),
        "c": torch.arange(6.0).reshape(2, 3).T,
        "d": torch.empty(0, 4),
    }
    where = meeting("m", 3)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(send, where, sent)
        groups = [group.result() for group in [threads.submit(WeightGroup, where, rank, "cpu") for rank in (1, 2)]]
        found = [threads.submit(lambda group: dict(group.received(facts_of(sent))), group) for group in groups]
        for one in found:
            assert all(torch.equal(one.result()[name], value) for name, value in sent.items())
        again = threads.submit(first.result().send, torch.ones(2))
        found = [threads.submit(lambda group: dict(group.received([("e", "float32", (2,))])), one) for one in groups]
        again.result()
        assert [one.result()["e"].tolist() for one in found] == [[1.0, 1.0]] * 2


def test_a_member_that_does_not_come_is_waited_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "SECONDS", 1)
    with pytest.raises(RuntimeError):
        WeightGroup(meeting("m", 2), 0, "cpu")


@pytest.mark.parametrize("kind", ["vllm", "transformers"])
def test_weights_that_are_sent_are_those_of_the_folder(
    kind: str, request: pytest.FixtureRequest, smollm2: Path, chat: ChatFormat, loop: Runner
) -> None:
    """What is sampled greedily changes with the weights, is what the same weights in a folder give, and comes back."""
    engine: VllmModel | TransformersModel = (
        request.getfixturevalue("engine") if kind == "vllm"
        else loop.run(TransformersModel.open(str(smollm2), TransformersOptions(dtype="float32", threads=1)))
    )  # fmt: skip
    prompt = chat.opening([Message("user", "What does a compiler do? Be brief.")])

    async def told(weights: Mapping[str, torch.Tensor] | None, version: int) -> tuple[tuple[int, ...], object]:
        if weights is not None:
            where = meeting(f"m{version}", 2)
            sending = asyncio.ensure_future(asyncio.to_thread(send, where, weights))
            await engine.receive(where, 1, facts_of(weights), version)
            await sending
        found = await engine.sample(prompt, Sampling(max_tokens=10, temperature=0.0), chat.stop)
        return found.ids, found.versions

    own = load_file(smollm2 / "model.safetensors")
    before, _ = loop.run(told(None, 0))
    changed, versions = loop.run(told(other(smollm2), 8))
    assert changed != before and versions == (8, 8)
    again, versions = loop.run(told(own, 9))
    assert again == before and versions == (9, 9)
    with pytest.raises(ModelError, match=r"what the trainer sends lacks \d+ of the model's"):
        loop.run(engine.receive(meeting("n", 2), 1, facts_of(own)[1:], 10))
    assert loop.run(told(None, 9))[0] == before, "it still answers"
    if kind == "transformers":
        loop.run(engine.close())
