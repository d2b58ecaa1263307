"""Who plays: a player gives every episode of a run its policy, for either role, by the name `--policy` takes."""

from typing import Protocol

from selfplay.agent import Policy
from selfplay.errors import SelfplayError
from selfplay.roles.injector.script import scripted_injector
from selfplay.roles.injector.survey import Notes
from selfplay.roles.injector.task import InjectorTask
from selfplay.roles.solver.naive import naive_solver
from selfplay.roles.solver.script import scripted_solver
from selfplay.roles.solver.task import SolverTask


class UnknownPolicy(SelfplayError):
    """A `--policy` that names nothing."""


class Player(Protocol):
    """One for a whole run, shared by its threads; each episode gets a policy of its own."""

    name: str

    def injector(self, task: InjectorTask) -> Policy:
        """The policy that plants and hides the bug of `task`."""
        ...

    def solver(self, task: SolverTask) -> Policy:
        """The policy that makes one attempt at the bug of `task`."""
        ...


class ScriptedPlayer:
    """Plays both roles without a model. What its first injector learns of the repository, the others know.

    Its attempts take turns: one searches for a repair, the next makes a shallow change, so that a bug it can solve is
    solved sometimes and a bug it cannot leaves failed patches of both kinds. `search` and `naive` do only the one.
    """

    def __init__(self, name: str = "scripted") -> None:
        self.name = name
        self._notes = Notes()

    def injector(self, task: InjectorTask) -> Policy:
        return scripted_injector(task, self._notes)

    def solver(self, task: SolverTask) -> Policy:
        searches = task.number % 2 == 0 if self.name == "scripted" else self.name == "search"
        return scripted_solver(task) if searches else naive_solver(task)


SCRIPTED = ("scripted", "search", "naive")


def player_named(name: str) -> Player:
    """The player of this name. Raises `UnknownPolicy`."""
    if name in SCRIPTED:
        return ScriptedPlayer(name)
    raise UnknownPolicy(f"there is no policy {name!r}", f"The policies are: {', '.join(SCRIPTED)}.")
