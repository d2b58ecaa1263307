"""How a training run plays: `play` of its configuration, as typed options of the player and of the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from selfplay.loop.errors import TrainingError
from selfplay.options import read_options
from selfplay.policies.transformers_model import TransformersOptions
from selfplay.policies.vllm_options import VllmOptions
from selfplay.rollout.model_player import PlayOptions

Engine = Literal["vllm", "transformers"]
Value = str | int | float | bool
ENGINES: Mapping[str, type[VllmOptions | TransformersOptions]] = {
    "vllm": VllmOptions,
    "transformers": TransformersOptions,
}


@dataclass(frozen=True)
class Play:
    """`written`: the options as in the configuration, which is what a run records; `player` and `engine`: what they
    say, with the defaults of the others."""

    written: Mapping[str, Value] = field(default_factory=dict)
    player: PlayOptions = field(default_factory=PlayOptions)
    engine: VllmOptions | TransformersOptions = field(default_factory=VllmOptions)

    @property
    def options(self) -> dict[str, str]:
        """As typed on the command line, after `--option`."""
        return {name: _typed(value) for name, value in self.written.items()}

    @property
    def tensor_parallel(self) -> int:
        """The GPUs of an engine."""
        return self.engine.tensor_parallel if isinstance(self.engine, VllmOptions) else 1


def read_play(written: Any, engine: Engine) -> Play:
    """`play` of a configuration for this engine. Raises `TrainingError`, which names the setting."""
    if not isinstance(written, Mapping):
        raise TrainingError("play: settings are needed, as {context: 16384}")
    for name, value in written.items():
        if not isinstance(value, Value):
            raise TrainingError(f"play.{name}: one value is needed", "Leave it out for its default.")
    options = Play(written).options
    player, how = read_options(options, PlayOptions, ENGINES[engine], refusal=TrainingError, under="play")
    return Play(dict(written), player, how)


def _typed(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
