"""The sessions of a run: a limited number at once; those of silent trainers are closed."""

import asyncio
import secrets
import time
from typing import Protocol

from selfplay.agent import EpisodeLimits
from selfplay.environments.errors import Busy, NoSession
from selfplay.environments.external_policy import OutsidePlayer
from selfplay.environments.results import BugCredit, SessionResult
from selfplay.environments.session import Session, SessionEpisode, Told
from selfplay.rl.credit.rules import RoleName

OFTEN = 20
"""How many times silent sessions are looked for within the time that one may be silent."""


class Playable(Protocol):
    """A run whose episodes can be played."""

    def tasks(self, role: RoleName) -> list[str]:
        """The tasks that can be played now: ids of bugs, or the injector's prompts as `prompt-NUMBER`."""
        ...

    async def episode(self, role: RoleName, task: str) -> SessionEpisode:
        """A new episode of the task. Raises `NoTask`."""
        ...

    def credit(self, bug: str) -> BugCredit:
        """The injector's credit for the bug from the attempts at it so far. Raises `NoTask`."""
        ...


class Sessions:
    """At most `most` sessions at once. `silent`: seconds without a request after which a session is closed."""

    def __init__(self, run: Playable, limits: EpisodeLimits, most: int, silent: float) -> None:
        self.run, self._limits, self._silent = run, limits, silent
        self._most, self._free = most, asyncio.Semaphore(most)
        self._live: dict[str, Session] = {}

    async def begin(self, role: RoleName, task: str, wait: float) -> tuple[str, str, Told | SessionResult]:
        """(id, group, first messages) of a new session. Raises `NoTask`, and `Busy` when none is free within
        `wait` seconds."""
        try:
            async with asyncio.timeout(wait):
                await self._free.acquire()
        except TimeoutError:
            raise Busy(f"all {self._most} sessions are taken", "Close some, or serve with more --sessions.") from None
        try:
            session = Session(await self.run.episode(role, task), OutsidePlayer(self._limits))
        except BaseException:
            self._free.release()
            raise
        name = secrets.token_hex(8)
        self._live[name] = session
        return name, session.group, await self._ended(name, await session.begin())

    async def say(self, name: str, text: str, cut_off: bool = False) -> Told | SessionResult:
        """The answer to the model's message. Raises `NoSession`, `Conflict`."""
        return await self._ended(name, await self._session(name).say(text, cut_off))

    async def stop(self, name: str) -> SessionResult:
        """The result of an episode that its trainer ends. Raises `NoSession`, `Conflict`."""
        found = await self._session(name).stop()
        await self._ended(name, found)
        return found

    async def close(self, name: str) -> None:
        """Abandon a session; it may have ended already."""
        session = self._live.pop(name, None)
        if session is not None:
            await session.close()
            self._free.release()

    async def close_all(self) -> None:
        for name in list(self._live):
            await self.close(name)

    async def sweep(self) -> None:
        """Close silent sessions, for ever."""
        while True:
            await asyncio.sleep(self._silent / OFTEN)
            before = time.monotonic() - self._silent
            for name, session in list(self._live.items()):
                if session.waits and session.since < before:
                    await self.close(name)

    def _session(self, name: str) -> Session:
        session = self._live.get(name)
        if session is None:
            raise NoSession(
                f"there is no session {name!r}", f"It has ended, was closed, or was silent for {self._silent:g} s."
            )
        return session

    async def _ended(self, name: str, found: Told | SessionResult) -> Told | SessionResult:
        if isinstance(found, SessionResult):
            await self.close(name)
        return found
