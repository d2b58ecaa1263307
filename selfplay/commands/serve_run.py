"""A run whose episodes are played from outside: its tasks, an episode of each, and how it is stored."""

import asyncio
import re
from collections import defaultdict
from dataclasses import replace

from selfplay.commands.attemptable_bugs import ready_bugs
from selfplay.commands.storing import store_attempt, store_episode
from selfplay.curriculum import Curriculum
from selfplay.curriculum.records import DUPLICATE
from selfplay.environments.errors import NoTask
from selfplay.environments.external_policy import OUTSIDE
from selfplay.environments.results import BugCredit, SessionResult, attempt_result, credit_of, injection_result
from selfplay.environments.session import SessionEpisode
from selfplay.formatting import Say
from selfplay.rl.credit.rules import RoleName
from selfplay.rollout.injector import InjectorRun, injector_key, injector_rollout
from selfplay.rollout.players import Player
from selfplay.rollout.ready_bug import ReadyBug
from selfplay.rollout.solver import SolverRun, solver_rollout

PROMPT = "prompt-"
NUMBER = re.compile(r"\d{1,9}")
PROMPT_EPISODES = 100_000
"""The most injector episodes per prompt: the numbers of prompt P begin at P times this."""


class ServedRun:
    """A `Playable`. `prompts`: the injector's number of prompts."""

    def __init__(self, pool: Curriculum, injecting: InjectorRun, solving: SolverRun, prompts: int, say: Say) -> None:
        self._pool, self._solving, self._prompts, self._say = pool, solving, prompts, say
        self._injecting = replace(injecting, is_known=lambda key: key in pool.episodes.keys(injecting.repository))
        self._ready: dict[str, ReadyBug] = {}
        self._reading = asyncio.Lock()
        self._taken: dict[str, set[int]] = defaultdict(set)

    async def look(self) -> None:
        """Find the bugs that may be attempted: each world is searched for copies of the answer, once."""
        async with self._reading:
            wanted = frozenset(bug.id for bug in self._pool.bugs()) - self._ready.keys()
            if wanted:
                found = await ready_bugs(self._solving, self._pool, wanted, self._say)
                self._ready |= {ready.bug.id: ready for ready in found}

    def tasks(self, role: RoleName) -> list[str]:
        return list(self._ready) if role == "solver" else [f"{PROMPT}{number}" for number in range(self._prompts)]

    async def episode(self, role: RoleName, task: str) -> SessionEpisode:
        return self._attempt(task) if role == "solver" else self._injection(task)

    def credit(self, bug: str) -> BugCredit:
        if bug not in {one.id for one in self._pool.bugs()}:
            raise NoTask(f"the run has no bug {bug!r}")
        return credit_of(self._pool.attempts.group(bug, OUTSIDE))

    def _injection(self, task: str) -> SessionEpisode:
        name = task.removeprefix(PROMPT)
        if not task.startswith(PROMPT) or not NUMBER.fullmatch(name) or int(name) >= self._prompts:
            raise NoTask(f"there is no prompt {task!r}", f"There are {PROMPT}0 to {PROMPT}{self._prompts - 1}.")
        begin = int(name) * PROMPT_EPISODES
        stored = self._pool.episodes.finished(self._injecting.repository)
        number = self._number(task, begin, [one for one in stored if begin <= one < begin + PROMPT_EPISODES])
        return SessionEpisode(injector_key(self._injecting, number).group, lambda player: self._inject(player, number))

    def _attempt(self, bug: str) -> SessionEpisode:
        ready = self._ready.get(bug)
        if ready is None:
            raise NoTask(f"there is no bug {bug!r} that may be attempted", "GET /tasks/solver lists them.")
        number = self._number(bug, 0, [attempt.number for attempt in self._pool.attempts.group(bug, OUTSIDE)])
        return SessionEpisode(bug, lambda player: self._solve(player, ready, number))

    def _number(self, task: str, begin: int, stored: list[int]) -> int:
        """The next free episode number of the task."""
        taken = self._taken[task]
        found = max([begin - 1, *stored, *taken]) + 1
        taken.add(found)
        return found

    async def _inject(self, player: Player, number: int) -> SessionResult:
        """Play, check and store an injector's episode; its bug can be attempted from now on."""
        run = replace(self._injecting, player=player)
        rollout = await injector_rollout(run, number)
        record = store_episode(self._pool, rollout)
        taken = self._pool.episodes.take(None, repository=run.repository, in_order=False)
        bug = record.bug.id if record.bug is not None else ""
        status, reason = record.status, record.reason
        if status == "valid" and bug not in {one.id for one in taken}:  # another episode was faster
            status, reason, bug = "duplicate", DUPLICATE, ""
        if bug:
            await self.look()
        self._say(f"injector {number} ({record.strategy}) {status}{f': {reason}' if reason else ''}")
        return injection_result(rollout.trajectory, status, reason, bug)

    async def _solve(self, player: Player, ready: ReadyBug, number: int) -> SessionResult:
        """Play, grade and store an attempt."""
        rollout = await solver_rollout(replace(self._solving, player=player), ready, number)
        attempt = store_attempt(self._pool, rollout)
        self._say(f"solver {attempt.bug} {attempt.number}: {attempt.reason}")
        return attempt_result(attempt)
