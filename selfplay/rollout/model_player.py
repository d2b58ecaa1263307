"""Players that are language models: one model for both roles, on an event loop of its own."""

import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal

from selfplay.agent import EpisodeLimits
from selfplay.agent.conversation import Conversation, Style
from selfplay.agent.model import Message, Sampling
from selfplay.policies.bounds import Amount, Count, Seconds, Share
from selfplay.policies.loop import LoopThread
from selfplay.policies.voices import OnLoop, Pulse, Voice
from selfplay.roles.injector.prompt import injector_prompt
from selfplay.roles.injector.staged import StagedInjector
from selfplay.roles.injector.task import InjectorTask
from selfplay.roles.prompt import opening
from selfplay.roles.solver.prompt import solver_prompt
from selfplay.roles.solver.task import SolverTask

Say = Callable[[str], None]


@dataclass(frozen=True)
class PlayOptions:
    """How a model plays. `episodes`: how many at a time; `tools`: the textual call format or the endpoint's own calls;
    `staged`: the injector in three stages, each a conversation of its own; `calls` and `seconds` of one episode;
    `max_tokens` of one message. `seeded`: every message is drawn with a seed of its own, fixed by the run's seed, the
    episode and the turn; None: only in process, since endpoints may refuse a seed."""

    episodes: Count = 8
    tools: Literal["text", "native"] = "text"
    staged: bool = False
    calls: Count = 128
    seconds: Seconds = 1800.0
    temperature: Amount = 1.0
    top_p: Share = 1.0
    max_tokens: Count | None = None
    observation_chars: Count = 128 * 1024
    seeded: bool | None = None

    def style(self, episode: str) -> Style:
        """How the model is spoken to in `episode`, a name that no other of the run has."""
        seed = zlib.crc32(episode.encode()) if self.seeded else None
        sampling = Sampling(self.temperature, self.top_p, self.max_tokens, seed)
        return Style(sampling, self.tools == "native", self.observation_chars)


class ModelPlayer:
    """Plays both roles with one model, which is opened on first need (or by `check`)."""

    def __init__(
        self,
        name: str,
        open_voice: Callable[[], Awaitable[Voice]],
        options: PlayOptions,
        engine: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """`engine`: settings of the engine that change what the model says."""
        self.name, self.options = name, options
        self.episodes = options.episodes
        self.limits = EpisodeLimits(options.calls, options.seconds)
        played = {name: value for name, value in asdict(options).items() if name != "episodes"}
        self.settings = {**played, **engine}
        self.loop = LoopThread()
        self._open = open_voice
        self._voice: Voice | None = None
        self._pulse = Pulse()

    def check(self, say: Say = lambda line: None) -> None:
        """Open the model, so that what is wrong with it is known before anything runs. Raises `ModelError`."""
        say(f"opening {self.name}")
        self._opened()
        self.loop.submit(self._pulse.beat(say))

    def _opened(self) -> Voice:
        if self._voice is None:
            self._voice = self.loop.run(_awaited(self._open))
        return self._voice

    def injector(self, task: InjectorTask) -> OnLoop:
        voice, style = self._opened(), self.options.style(f"injector:{task.seed}:{task.number}")
        if self.options.staged:
            return OnLoop(self._staged(task, voice, style), self.loop, self._pulse)
        talk = voice.conversation("injector", opening(injector_prompt(task), style.native), style)
        return OnLoop(talk, self.loop, self._pulse)

    def _staged(self, task: InjectorTask, voice: Voice, style: Style) -> StagedInjector:
        def converse(told: tuple[Message, ...]) -> Conversation:
            return voice.conversation("injector", told, style)

        return StagedInjector(task, voice.name, converse, style.native)

    def solver(self, task: SolverTask) -> OnLoop:
        voice, style = self._opened(), self.options.style(f"solver:{task.seed}:{task.bug}:{task.number}")
        talk = voice.conversation("solver", opening(solver_prompt(task), style.native), style)
        return OnLoop(talk, self.loop, self._pulse)

    def close(self) -> None:
        """Free the model and stop the loop."""
        if self._voice is not None:
            self.loop.run(self._voice.close())
            self._voice = None
        self.loop.close()


async def _awaited(make: Callable[[], Awaitable[Voice]]) -> Voice:
    return await make()
