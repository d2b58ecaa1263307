"""One episode, played from outside: each message of the model is answered with the next observation, the last one with
the result."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from selfplay.agent.episode import EpisodeLost
from selfplay.agent.model import Message
from selfplay.environments.errors import Conflict
from selfplay.environments.external_policy import OutsidePlayer
from selfplay.environments.results import SessionResult, lost, over_limits
from selfplay.errors import SelfplayError
from selfplay.rollout.players import Player
from selfplay.sandbox import Cause

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Told:
    """The messages since the model's last one, which it must answer now."""

    messages: tuple[Message, ...]


@dataclass(frozen=True)
class SessionEpisode:
    """An episode that can be played. `group`: equal for those that training compares with each other."""

    group: str
    play: Callable[[Player], Awaitable[SessionResult]]


class Session:
    """A running episode. `since`: the monotonic time of the trainer's last request or its answer."""

    def __init__(self, episode: SessionEpisode, player: OutsidePlayer) -> None:
        self.group, self.since = episode.group, time.monotonic()
        self._model, self._seen = player.model, 0
        self._played = asyncio.ensure_future(episode.play(player))
        self._stepping = asyncio.Lock()

    @property
    def waits(self) -> bool:
        """Whether it waits for its trainer."""
        return not self._stepping.locked()

    async def begin(self) -> Told | SessionResult:
        """The first messages for the model."""
        async with self._step():
            return await self._next()

    async def say(self, text: str, cut_off: bool = False) -> Told | SessionResult:
        """Hand in the model's message. Raises `Conflict` while another one is being answered."""
        async with self._step():
            self._model.say(text, cut_off)
            return await self._next()

    async def stop(self) -> SessionResult:
        """End the episode, for instance when a context is full: what was submitted so far is graded. Raises
        `Conflict`."""
        async with self._step():
            self._model.stop()
            found = await self._next()
            assert isinstance(found, SessionResult), "a model that stopped is told nothing more"
            return found

    async def close(self) -> None:
        """Abandon the episode at any point and free its sandbox."""
        self._played.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._played

    @contextlib.asynccontextmanager
    async def _step(self) -> AsyncIterator[None]:
        if self._stepping.locked():
            raise Conflict("the session is answering another message", "Send one message at a time.")
        async with self._stepping:
            try:
                yield
            finally:
                self.since = time.monotonic()

    async def _next(self) -> Told | SessionResult:
        told = asyncio.ensure_future(self._model.told())
        try:
            await asyncio.wait({told, self._played}, return_when=asyncio.FIRST_COMPLETED)
            if not told.done():
                return self._result()
            messages = told.result()
            new, self._seen = messages[self._seen :], len(messages) + 1  # the model's own message comes next
            return Told(new)
        finally:
            told.cancel()

    def _result(self) -> SessionResult:
        if self._played.cancelled():
            return lost("the session was closed")
        error = self._played.exception()
        if error is None:
            return self._played.result()
        if isinstance(error, EpisodeLost) and error.cause is Cause.LIMIT:
            return over_limits(error)
        log.warning("an episode could not be played", exc_info=error)
        return lost(str(error) if isinstance(error, SelfplayError) else f"{type(error).__name__}: {error}")
