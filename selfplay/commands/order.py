"""The user's order for `selfplay curriculum`: its values, what is refused, and which settings fix a run's bugs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from selfplay.believable import BelievableRules
from selfplay.commands.ranges import refuse_outside
from selfplay.formatting import listed
from selfplay.repository.errors import RepositoryError
from selfplay.repository.fetching.source import PathSource, parse_source, refuse_credentials_in
from selfplay.repository.network.hosts import host_names
from selfplay.repository.suites.runners import calling
from selfplay.rollout.injector import Mix
from selfplay.rollout.players import SCRIPTED
from selfplay.rollout.promotion import PER_PARENT
from selfplay.rollout.scheduler import RolloutError
from selfplay.scripted.injector.repository_knowledge import LANGUAGES
from selfplay.validators import Thresholds


@dataclass(frozen=True)
class Order:
    """What the user asked for. `setup` and `test` override what is detected; `workers` None means one per core.

    `group`: injector episodes that share a prompt. `patience`: the run stops after this many episodes in a row without
    a new bug. `options`: the policy's, by name. `order` 2 also makes `attempts` at every bug, and second-order bugs
    from the failed ones, at most `per_parent` per bug. `public_share`: the share of F2P that solvers are shown.
    `allow_hosts`: hosts that builds may reach besides the package indexes. `believable`: whether valid bugs must also
    keep the rules of `selfplay.believable`; None: only scripts' bugs (the paper has no such rules). `minutes`: after
    which no further episode of a repository begins. Raises
    `RolloutError` for a number outside of its range, `SourceError` for a password in a command.
    """

    source: str
    out: Path
    bugs: int = 10
    strategy: Mix = "mix"
    seed: int = 0
    workers: int | None = None
    releases: int = 12
    setup: str | None = None
    test: str | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    policy: str = "scripted"
    options: Mapping[str, str] = field(default_factory=dict)
    patience: int = 40
    order: Literal[1, 2] = 1
    attempts: int = 8
    per_parent: int = PER_PARENT
    public_share: float = 1.0
    allow_hosts: tuple[str, ...] = ()
    group: int = 1
    believable: bool | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        refuse_outside(self)
        for option, given in (("--setup", self.setup), ("--test", self.test)):
            refuse_credentials_in(given or "", option)

    @property
    def rules(self) -> BelievableRules | None:
        """The believability rules for valid bugs."""
        wanted = self.policy in SCRIPTED if self.believable is None else self.believable
        return BelievableRules() if wanted else None


def refuse_out_in_source(order: Order) -> None:
    """If the source is a plain folder, everything in it belongs to the source, so the run must not be written there."""
    source = parse_source(order.source)
    if not isinstance(source, PathSource) or (source.path / ".git").exists():
        return
    if order.out.resolve().is_relative_to(source.path.resolve()):
        raise RolloutError(f"{order.out} lies inside the source {source}", "Give an --out outside of it.")


def refuse_strategy(order: Order) -> None:
    if order.policy in SCRIPTED and order.strategy == "feature":
        raise RolloutError("the scripted injector adds no features", "Name a model with --policy, or another strategy.")


def refuse_unknown_language(order: Order, source: str, language: str) -> None:
    """Refuse a language that the script does not know, before anything is installed. Raises `RepositoryError`."""
    if language not in LANGUAGES and order.policy in SCRIPTED:
        known = listed(LANGUAGES)
        what = "no code that is known by its name" if language == "unknown" else f"code in {language}"
        raise RepositoryError(
            f"{source} holds {what}, and the scripted injector knows {known} alone",
            "Name a model, which plants bugs in any language: --policy openai:MODEL, or another of `--help`.",
        )


def refuse_unmeasured(order: Order, tree: Path, source: str, language: str) -> None:
    """Likewise refuse a test framework whose suites cannot be measured. Raises `NoTests`."""
    if language != "python" and order.policy in SCRIPTED:
        calling(tree, source, language, order.test)


def settings_of(order: Order) -> dict[str, Any]:
    """The settings that fix a run's bugs: resuming with other values would mix two curricula."""
    return {**shared_settings(order), **repository_settings(order)}


def shared_settings(order: Order) -> dict[str, Any]:
    """Those that all repositories of a run share."""
    return {
        "source": order.source,
        "seed": order.seed,
        "policy": order.policy,
        "thresholds": order.thresholds.to_json(),
        "public_share": order.public_share,
        "group": order.group,
        "believable": order.rules is not None,
    }


def repository_settings(order: Order) -> dict[str, Any]:
    """Those that may differ between the repositories of a run."""
    return {
        "strategy": order.strategy,
        "releases": order.releases,
        "setup": order.setup,
        "allow_hosts": list(host_names(order.allow_hosts)),
        "test": order.test,
    }
