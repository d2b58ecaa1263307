"""An engine as a Ray actor: a model in its own process, which samples for episodes on any machine.

A restarted actor has the initial weights. It refuses requests until it gets the current weights, and also when it
missed an update, so that no token is staler than allowed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from selfplay.agent.model import ModelError, Sample, Sampling
from selfplay.policies.rendezvous import Fact, Rendezvous
from selfplay.rollout.model_player import Opened, PerEpisodeModel, Receiving, Reloadable, TokenEngine, TokenSide
from selfplay.subprocesses import stand


@dataclass(frozen=True)
class EngineFacts:
    """Facts about an opened engine. `seeded`: whether each message has its own seed."""

    name: str
    context: int
    seeded: bool


@dataclass(frozen=True)
class State:
    """`version`: of its weights; None before it gets the current ones. `met`: the name of the group in which it last
    received weights."""

    version: int | None
    met: str | None


@dataclass(frozen=True)
class NotReady:
    """The engine does not have the requested weights."""


class EngineActor:
    """One engine. Errors of the model are returned, since they are answers, not failures of the actor."""

    def __init__(self, folder: str, open_model: Callable[[], Awaitable[Opened]]) -> None:
        """`folder`: where the driver stands."""
        stand(folder)
        self._open = open_model
        self._engine: TokenEngine | None = None
        self._facts: EngineFacts | None = None
        self._version: int | None = None
        self._met: str | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> EngineFacts | ModelError:
        """Open the model, if it is not open."""
        async with self._opening:
            if self._facts is None:
                try:
                    opened = await self._open()
                except ModelError as error:
                    return error
                if not isinstance(opened, TokenSide):
                    return ModelError("this model takes no token ids", "Train with vllm or transformers.")
                self._engine = opened.engine
                self._facts = EngineFacts(opened.engine.name, opened.engine.context, opened.seeded)
            return self._facts

    async def sample(
        self, prompt: Sequence[int], sampling: Sampling, stop: Sequence[int], least: int, role: str, episode: str
    ) -> Sample | ModelError | NotReady:
        """Like `TokenModel.sample`, in this role and episode, with weights of version `least` or later."""
        engine = self._engine
        if engine is None or self._version is None or self._version < least:
            return NotReady()
        try:
            model = engine.for_episode(role, episode) if isinstance(engine, PerEpisodeModel) else engine
            return await model.sample(prompt, sampling, stop)
        except ModelError as error:
            return error

    async def reload(self, folder: str | None, version: int) -> ModelError | None:
        """Sample with the weights in `folder` from now on; None: with the initial weights."""
        if folder is not None:
            if not isinstance(self._engine, Reloadable):
                return ModelError("this model cannot take new weights", "Train with vllm or transformers.")
            try:
                await self._engine.reload(folder, version)
            except ModelError as error:
                return error
        self._version = version
        return None

    async def receive(self, meeting: Rendezvous, first: int, facts: Sequence[Fact], version: int) -> ModelError | None:
        """Sample with the weights that the trainer sends from now on."""
        if not isinstance(self._engine, Receiving):
            return ModelError("this model cannot take weights over the network", "Set cluster.weights=files.")
        try:
            await self._engine.receive(meeting, first, facts, version)
        except ModelError as error:
            return error
        self._version, self._met = version, meeting.name
        return None

    async def state(self) -> State:
        """The version of its weights and the group in which it received them."""
        return State(self._version, self._met)

    async def close(self) -> None:
        """Free the model."""
        if self._engine is not None:
            await self._engine.close()
