"""The opponent of a training run: which groups it plays, and its engine."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message
from selfplay.commands.training.interfaces import RolloutBackend, TrainWatcher
from selfplay.loop.config import TrainConfig
from selfplay.loop.errors import TrainingError
from selfplay.loop.opponents import drawn
from selfplay.policies.tokenizer import load_tokenizer
from selfplay.rollout.players import Player, player_named
from selfplay.rollout.runs import RepositoryRuns
from selfplay.update.batch.played import Played

Made = Mapping[str, tuple[str, int]]
"""A bug, or an episode's name -> the repository and the number of the episode."""
PROBE = (Message("system", "You repair software."), Message("user", "It is broken."))


@dataclass(frozen=True)
class Opponent:
    """`plays`: its episodes, with its own engine."""

    config: TrainConfig
    plays: RolloutBackend

    def injects(self, repository: str, number: int) -> bool:
        """Whether the opponent plays the injector episode of this number; a group has one policy."""
        group = number // self.config.injector.members
        return drawn(self.config.opponents.share, self.config.seed, f"injector:{repository}:{group}")

    def attempted(self, made: Made) -> frozenset[str]:
        """The new bugs that the opponent attempts. Its own bugs are not among them: those attempts would train no
        policy."""
        share, seed = self.config.opponents.share, self.config.seed
        mine = (bug for bug, episode in made.items() if not self.injects(*episode))
        return frozenset(bug for bug in mine if drawn(share, seed, f"solver:{bug}"))

    def marked(
        self, played: Sequence[Played], injections: Made, attempts: Mapping[str, str], made: Made
    ) -> list[Played]:
        """The episodes of a step, with the opponent's marked. `injections`: name -> injection; `attempts`: name ->
        bug."""
        opposed = self.attempted(made)
        own = {name for name, episode in injections.items() if self.injects(*episode)}
        own |= {name for name, bug in attempts.items() if bug in opposed}
        return [replace(one, episode=replace(one.episode, opponent=one.episode.name in own)) for one in played]


@asynccontextmanager
async def opposed(
    config: TrainConfig,
    runs: Mapping[str, RepositoryRuns],
    chat: ChatFormat,
    watcher: TrainWatcher,
    plays: RolloutBackend | None = None,
) -> AsyncIterator[Opponent | None]:
    """The opponent, with its engine open; None for a run without one. `chat`: the chat format of the model in training;
    `plays`: where it plays, if not in this process. Raises `TrainingError` for a model with another chat format."""
    if not config.opponents.share:
        yield None
        return
    from selfplay.commands.training.local import PlayedHere

    model = opposing_model(config)
    if ChatFormat(load_tokenizer(model)).opening(PROBE) != chat.opening(PROBE):
        raise TrainingError(
            f"opponents.model: {model} has another tokenizer or chat template than {config.model}",
            "Name weights of the same model, as a folder of weights/.",
        )
    if plays is not None:
        yield Opponent(config, plays)
        return
    player = opposing_player(config)
    try:
        await player.open(watcher.say)
        places = player.episodes or next(iter(runs.values())).injecting.workers.count
        yield Opponent(config, PlayedHere({name: _by(player, one) for name, one in runs.items()}, places))
    finally:
        await player.close()


def opposing_model(config: TrainConfig) -> str:
    """The frozen weights."""
    return config.opponents.model or config.model


def opposing_player(config: TrainConfig) -> Player:
    """Who plays with them."""
    return player_named(f"{config.engine}:{opposing_model(config)}", config.options)


def _by(player: Player, runs: RepositoryRuns) -> RepositoryRuns:
    return RepositoryRuns(replace(runs.injecting, player=player), replace(runs.solving, player=player))
