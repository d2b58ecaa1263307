"""Who plays: a player gives every episode of a run its policy, for either role, by the name `--policy` takes."""

from typing import Protocol

from selfplay.agent import Policy
from selfplay.errors import SelfplayError
from selfplay.roles.injector.script import scripted_injector
from selfplay.roles.injector.survey import Notes
from selfplay.roles.injector.task import InjectorTask


class UnknownPolicy(SelfplayError):
    """A `--policy` that names nothing."""


class Player(Protocol):
    """One for a whole run, shared by its threads; each episode gets a policy of its own."""

    name: str

    def injector(self, task: InjectorTask) -> Policy:
        """The policy that plants and hides the bug of `task`."""
        ...


class ScriptedPlayer:
    """Plays both roles without a model. What its first injector learns of the repository, the others know."""

    name = "scripted"

    def __init__(self) -> None:
        self._notes = Notes()

    def injector(self, task: InjectorTask) -> Policy:
        return scripted_injector(task, self._notes)


def player_named(name: str) -> Player:
    """The player of this name. Raises `UnknownPolicy`."""
    if name == ScriptedPlayer.name:
        return ScriptedPlayer()
    raise UnknownPolicy(f"there is no policy {name!r}", f"The policies are: {ScriptedPlayer.name}.")
