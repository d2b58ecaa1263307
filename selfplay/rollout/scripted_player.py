"""The player without a model: it gives every episode a script of its role."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from selfplay.agent import EpisodeLimits, Observation, Policy, Turn
from selfplay.formatting import Say
from selfplay.roles.injector.task import InjectorTask
from selfplay.roles.role import Role
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.players import UnknownPolicy
from selfplay.sandbox.kill_detection import ProgramKilled
from selfplay.sandbox.protocol import KILLED
from selfplay.scripted.injector.script import scripted_injector
from selfplay.scripted.injector.sources import Sources
from selfplay.scripted.injector.survey import Survey
from selfplay.scripted.solver.naive import naive_solver
from selfplay.scripted.solver.script import scripted_solver

T = TypeVar("T")


class _Killed:
    """A script whose episode is played again if a command was killed: its plan would otherwise silently change.

    If the same command is killed again, the result is kept: `seen` has the episodes and the numbers of killed commands.
    """

    def __init__(self, policy: Policy, episode: tuple[str, str], seen: set[tuple[str, str, int]]) -> None:
        self.name, self.record = policy.name, policy.record
        self._act, self._episode, self._seen, self._count = policy.act, episode, seen, 0

    async def act(self, observation: Observation | None) -> Turn:
        """The script's turn. Raises `ProgramKilled` if the previous call was killed for the first time."""
        self._count += 1
        place = (*self._episode, self._count)
        if observation is not None and observation.exit_code in KILLED and place not in self._seen:
            self._seen.add(place)
            raise ProgramKilled("a command of the script was killed in its sandbox")
        return await self._act(observation)


class ScriptedPlayer:
    """Plays the injector and the solver without a model. `survey`: what its injectors know about the repository.

    Its attempts alternate: one searches for a repair, the next makes a shallow change. So a bug it can solve is solved
    sometimes, and a bug it cannot solve leaves failed patches of both kinds. `search` and `naive` do only one of the
    two.
    """

    episodes = 0
    limits = EpisodeLimits()
    settings: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, name: str = "scripted", survey: Survey | Sources | None = None) -> None:
        self.name = name
        self._survey = survey
        self._killed: set[tuple[str, str, int]] = set()

    async def open(self, say: Say) -> None:
        """A script needs no preparation."""

    def policy(self, role: Role[T], task: T) -> Policy:
        return _Killed(self._policy(role, task), (role.name, role.key(task)), self._killed)

    def _policy(self, role: Role[T], task: T) -> Policy:
        if isinstance(task, InjectorTask):
            if self._survey is None:
                raise UnknownPolicy("a scripted injector needs a survey", "Make one with `survey_of`.")
            return scripted_injector(task, self._survey)
        if isinstance(task, SolverTask):
            searches = task.number % 2 == 0 if self.name == "scripted" else self.name == "search"
            return scripted_solver(task) if searches else naive_solver(task)
        raise UnknownPolicy(f"the policy {self.name} does not play the role {role.name}", "Use a model's policy.")

    async def close(self) -> None:
        """Nothing to free."""
