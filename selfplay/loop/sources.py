"""The repositories of a training run: one source, or a list of them, each with its weight."""

from collections import Counter
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag

from selfplay.loop.config_base import ConfigSection, Text


class Repository(ConfigSection):
    """`source`: as in `selfplay curriculum`. `weight`: how often an injector group is drawn for it, relative to the
    others. `setup` and `test`: commands, if detection fails."""

    source: Text
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    setup: Text | None = None
    test: Text | None = None


def _each(value: Any) -> Any:
    """A plain source in a list, as a repository."""
    return {"source": value} if isinstance(value, str) else value


def _kind(value: Any) -> str:
    return "several" if isinstance(value, list | tuple) else "one"


Listed = Annotated[Repository, BeforeValidator(_each)]
Sources = Annotated[Annotated[Text, Tag("one")] | Annotated[tuple[Listed, ...], Tag("several")], Discriminator(_kind)]


def repositories(sources: Sources, setup: str | None, test: str | None) -> tuple[Repository, ...]:
    """All repositories. `setup`, `test`: of a run on a single repository."""
    return (Repository(source=sources, setup=setup, test=test),) if isinstance(sources, str) else sources


def strange_sources(sources: Sources, setup: str | None, test: str | None) -> list[tuple[bool, str]]:
    """(whether it applies, why it cannot work) for each impossible list."""
    several = not isinstance(sources, str)
    found = Counter(one.source for one in repositories(sources, setup, test))
    twice = [name for name, often in found.items() if often > 1]
    return [
        (several and not found, "source is an empty list"),
        (bool(twice), f"source names {twice[0] if twice else ''} twice"),
        (several and bool(setup or test), "setup and test differ by repository: write them beside its source"),
    ]
