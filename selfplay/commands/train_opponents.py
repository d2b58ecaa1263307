"""The opponent of a training run: what it plays, and with which engine."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message
from selfplay.commands.train_parts import Plays, Watcher
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.players import player_named
from selfplay.rollout.solver import SolverRun
from selfplay.training.config import TrainConfig
from selfplay.training.errors import TrainingError
from selfplay.training.opponents import drawn

PROBE = (Message("system", "You repair software."), Message("user", "It is broken."))


@dataclass(frozen=True)
class Opponent:
    """`plays`: its episodes, with its own engine."""

    config: TrainConfig
    plays: Plays

    def injects(self, number: int) -> bool:
        """Whether the injector episode of this number is its own: those of a group are played by one policy."""
        group = number // self.config.injector.members
        return drawn(self.config.opponents.share, self.config.seed, f"injector:{group}")

    def attempted(self, made: Mapping[str, int]) -> frozenset[str]:
        """Those of the new bugs that it attempts. `made`: bug -> the episode that planted it. A bug of its own is not
        among them: attempts at it would teach nobody."""
        share, seed = self.config.opponents.share, self.config.seed
        mine = (bug for bug, number in made.items() if not self.injects(number))
        return frozenset(bug for bug in mine if drawn(share, seed, f"solver:{bug}"))


@asynccontextmanager
async def opposed(
    config: TrainConfig, injecting: InjectorRun, solving: SolverRun, chat: ChatFormat, watcher: Watcher
) -> AsyncIterator[Opponent | None]:
    """The opponent, with its engine open; None for a run without one. `chat`: of the model in training. Raises
    `TrainingError` for a model that reads and writes otherwise."""
    if not config.opponents.share:
        yield None
        return
    from selfplay.commands.train_here import PlayedHere

    model = config.opponents.model or config.model
    if ChatFormat(load_tokenizer(model)).opening(PROBE) != chat.opening(PROBE):
        raise TrainingError(
            f"opponents.model: {model} has another tokenizer or chat template than {config.model}",
            "Name weights of the same model, as a folder of weights/.",
        )
    player = player_named(f"{config.engine}:{model}", config.options)
    try:
        await player.open(watcher.say)
        places = player.episodes or injecting.workers.count
        yield Opponent(config, PlayedHere(replace(injecting, player=player), replace(solving, player=player), places))
    finally:
        await player.close()
