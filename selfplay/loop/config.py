"""The configuration of a training run: YAML and `key=value` overrides as one typed value.

Unknown keys and combinations that cannot work are refused when it is loaded, each with its reason, not hours later.
"""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PlainSerializer, ValidationError, ValidationInfo, field_validator, model_validator

from selfplay.artifact.reading import UntrustedDataError, read_named
from selfplay.configs import shipped
from selfplay.errors import SelfplayError, in_words
from selfplay.formatting import shortened
from selfplay.loop.config_base import ConfigSection, NonNegativeInt, PositiveInt, Text
from selfplay.loop.errors import TrainingError
from selfplay.loop.impossible import impossible
from selfplay.loop.kept import KeptTrajectories
from selfplay.loop.machine import Cluster, MachineConfig, too_few_machines
from selfplay.loop.monitors import Monitors
from selfplay.loop.opponents import Opponents, refused_opponents
from selfplay.loop.play import Engine, Play, read_play
from selfplay.loop.role_adapters import Roles, refused_roles
from selfplay.loop.sources import Repository, Sources, repositories, strange_sources
from selfplay.loop.yaml_text import read_yaml
from selfplay.options import fault
from selfplay.rollout.injector import Mix
from selfplay.rollout.players import player_named
from selfplay.update.recipe import Recipe

MOST_BYTES = 1 << 20
LISTED = "docs/loop.md lists the settings."
FREE = ("steps", "keep", "trajectories", "workers", "cluster", "machine", "monitors", "tensorboard")
"""Settings that may change on resume."""


class InjectorConfig(ConfigSection):
    """The injector's part of a step: `groups` of `members` episodes that share a prompt. No groups: only the solver is
    trained, on bugs that are already in the run's folder. `min_*`: thresholds of a bug. `believable`: bugs must also
    pass the believability gate, which is not in the paper. With several repositories, one whose last `bench_after`
    groups gave no valid bug is not drawn for `bench_steps` steps (`bench_after` 0: never benched)."""

    groups: NonNegativeInt = 1
    members: PositiveInt = 4
    strategy: Mix = "mix"
    min_passing: PositiveInt = 5
    min_files: PositiveInt = 1
    min_failing: PositiveInt = 1
    believable: bool = False
    bench_after: NonNegativeInt = 8
    bench_steps: PositiveInt = 50


class SolverConfig(ConfigSection):
    """The solver's part of a step: a group of `attempts` at each new bug, and at old ones until there are `bugs`.
    `only`: draw old bugs from these alone, named by id or unique prefix; empty: from all. `second_order`: second-order
    bugs made from each bug's failed attempts, for later steps."""

    bugs: NonNegativeInt = 2
    attempts: PositiveInt = 4
    only: tuple[Text, ...] = ()
    second_order: NonNegativeInt = 0


class TrainConfig(ConfigSection):
    """A whole run. `source`: a source as in `selfplay curriculum`, or a list of sources with weights. `model`: a folder
    or hub name. `engine`: the engine that samples; `play`: its options, as in `--option`. `keep`: how many checkpoints;
    `trajectories`: which of finished steps stay. `staleness`: how many updates the weights may lack when a step begins
    to play; with 0 playing and learning take turns. `cluster`: None for one process. `machine`: the hardware, for the
    plan. `monitors`: warn of a collapse or stop the run. `tensorboard`: also write the figures for TensorBoard.
    `opponents`: a frozen policy plays some groups. `roles`: both roles share one policy, or each has its own adapter
    (`recipe.lora_rank`) on the weights of `model`, which then never change."""

    source: Sources
    model: Text
    engine: Engine = "vllm"
    play: Annotated[Play, PlainSerializer(lambda play: play.written)] = Field(default={}, validate_default=True)
    steps: PositiveInt = 6
    injector: InjectorConfig = InjectorConfig()
    solver: SolverConfig = SolverConfig()
    recipe: Recipe = Recipe()
    seed: int = 0
    workers: PositiveInt | None = None
    keep: PositiveInt = 1
    trajectories: KeptTrajectories = KeptTrajectories()
    staleness: NonNegativeInt = 0
    cluster: Cluster | None = None
    machine: MachineConfig = MachineConfig()
    monitors: Monitors = Monitors()
    opponents: Opponents = Opponents()
    roles: Roles = "shared"
    tensorboard: bool = False
    setup: Text | None = None
    test: Text | None = None

    @field_validator("play", mode="plain")
    @classmethod
    def _read_play(cls, written: Any, known: ValidationInfo) -> Any:
        """Nothing is read where the engine is wrong already."""
        return read_play(written, known.data["engine"]) if "engine" in known.data else written

    @model_validator(mode="after")
    def _possible(self) -> Self:
        strange = strange_sources(self.source, self.setup, self.test)
        of_parts = (*too_few_machines(self), *refused_opponents(self), *refused_roles(self))
        for wrong, why in (*strange, *of_parts, *impossible(self)):
            if wrong:
                raise ValueError(why)
        return self

    @property
    def repositories(self) -> tuple[Repository, ...]:
        """The repositories in which bugs are planted."""
        return repositories(self.source, self.setup, self.test)

    @property
    def played_by(self) -> str:
        """The value of `--policy` for its engine."""
        return f"{self.engine}:{self.model}"

    @property
    def options(self) -> dict[str, str]:
        """The engine's and the player's options, as typed on the command line."""
        return self.play.options

    @property
    def engine_options(self) -> dict[str, str]:
        """The options of the engine in training; with separate roles, it has an adapter for each."""
        return self.options | ({"lora_rank": str(self.recipe.lora_rank)} if self.roles == "separate" else {})

    def binding(self) -> dict[str, Any]:
        """The settings that a resumed run must keep."""
        plain: dict[str, Any] = json.loads(self.model_dump_json())
        return {name: value for name, value in plain.items() if name not in FREE}


def by_default() -> dict[str, Any]:
    """The binding settings of a default configuration: the values of settings that earlier versions did not record."""
    return TrainConfig.model_validate({"source": "none", "model": "none", "play": {"context": 1}}).binding()


def load_config(name: str | Path, overrides: Sequence[str] = ()) -> TrainConfig:
    """The configuration in a file, or the shipped one of that name, with `overrides` (`recipe.lr=1e-5`), of which the
    last of one name counts. Raises `TrainingError`."""
    path, known = Path(name), shipped()
    text = known[str(name)].read_text() if str(name) in known else _read(path, known)
    found = read_yaml(text, shortened(path))
    if not isinstance(found, dict):
        raise TrainingError(f"{shortened(path)} does not hold settings as NAME: VALUE", "See configs/.")
    for override in overrides:
        _override(found, override)
    try:
        config = TrainConfig.model_validate(found)
        player_named(config.played_by, config.engine_options)  # refuses what the engine cannot do
        return config
    except ValidationError as error:
        where, what = fault(error, found)
        said = f"{where}: {what}" if where else what
        raise TrainingError(f"{shortened(path)}: {said}", LISTED) from error
    except SelfplayError as error:
        raise TrainingError(f"{shortened(path)}: {error.message}", error.hint or LISTED) from error


def _read(path: Path, known: Collection[str]) -> str:
    """The text of a configuration's file. Raises `TrainingError`."""
    hint = f"Name a YAML file, or a configuration shipped with selfplay: {', '.join(known)}."
    try:
        return read_named(path, MOST_BYTES).decode()
    except UntrustedDataError as error:
        raise TrainingError(error.message, hint) from error
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingError(f"{shortened(path)} cannot be read: {in_words(error)}", hint) from error


def _override(settings: dict[str, Any], override: str) -> None:
    """Set `a.b=VALUE`, the value read as YAML."""
    name, sign, text = override.partition("=")
    *above, last = name.split(".")
    if not sign or not all((*above, last)):
        raise TrainingError(f"{shortened(override)!r} is not an override", "Write NAME=VALUE, as in recipe.lr=1e-5.")
    place = settings
    for part in above:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise TrainingError(f"{shortened(override)!r}: {shortened(part)} has no settings below it", LISTED)
    place[last] = read_yaml(text, shortened(name))
