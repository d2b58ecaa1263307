"""A list of sources for `selfplay curriculum LIST.txt`: one per line, followed by its own options.

    # comments and empty lines, as in pip's requirements files
    pypi:cachetools
    pypi:sqlparse==0.5.3                bugs=20 strategy=removal
    https://github.com/pallets/jinja    setup='pip install -e . pytest' test='pytest tests'

Words are split as a shell splits them. The whole list is checked before anything is done; errors are reported with
their line numbers.
"""

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from selfplay.artifact.reading import UntrustedDataError, read_named
from selfplay.commands.order import Order, refuse_out_in_source, refuse_strategy
from selfplay.errors import SelfplayError, in_words
from selfplay.formatting import count
from selfplay.options import read_options
from selfplay.repository.fetching.source import PypiSource, parse_source
from selfplay.repository.network.hosts import host_names
from selfplay.rollout.injector import Mix

MOST_BYTES = 1 << 20
MOST_FAULTS = 20
"""How many faults are listed."""
_COMMENT = re.compile(r"(^|\s)#.*")
Some = Annotated[int, Field(ge=1)]


class SourceListError(SelfplayError):
    """A list of sources that cannot be read or has invalid lines."""


@dataclass(frozen=True)
class LineOptions:
    """The options that a line may set for its source instead of the command's. `allow_host`: several, separated by
    commas, in addition to the command's."""

    bugs: Some | None = None
    patience: Some | None = None
    strategy: Mix | None = None
    releases: Annotated[int, Field(ge=0)] | None = None
    setup: str | None = None
    test: str | None = None
    allow_host: str | None = None


def read_list(path: Path, base: Order) -> list[Order]:
    """The orders in a list, one per repository; `base` has the shared options. Raises `SourceListError`, which lists
    the invalid lines."""
    try:
        text = read_named(path, MOST_BYTES).decode()
    except (OSError, UntrustedDataError, UnicodeDecodeError) as error:
        raise SourceListError(
            f"{path} cannot be read: {in_words(error)}", "Name a text file with a source on each line."
        ) from error
    found, faults, lines = list[Order](), list[str](), dict[str, int]()
    for number, line in enumerate(text.splitlines(), 1):
        if not (said := _COMMENT.sub("", line).strip()):
            continue
        try:
            order = _order(said, base)
            name = str(parse_source(order.source))
            if name in lines:
                raise SourceListError(f"{order.source} is already in line {lines[name]}")
        except (SelfplayError, ValueError) as error:
            faults.append(f"line {number}: {' '.join(str(error).split())}")
        else:
            lines[name] = number
            found.append(order)
    if faults:
        more = [f"and {len(faults) - MOST_FAULTS} more"] if len(faults) > MOST_FAULTS else []
        told = "\n  ".join([*faults[:MOST_FAULTS], *more])
        raise SourceListError(f"{path}: {count(len(faults), 'line')} cannot be used\n  {told}", "Nothing was done yet.")
    if not found:
        raise SourceListError(f"{path} names no source", "Write one on each line, such as pypi:NAME.")
    return found


def _order(said: str, base: Order) -> Order:
    """The order of one line. Raises `SelfplayError`, and `ValueError` for an unclosed quote."""
    source, *options = shlex.split(said)
    named = {}
    for option in options:
        name, sign, value = option.partition("=")
        if not sign:
            raise SourceListError(f"{option!r} is not NAME=VALUE; a source with blanks needs quotes")
        named[name.replace("-", "_")] = value
    (own,) = read_options(named, LineOptions, refusal=SourceListError)
    given = {name: value for name, value in vars(own).items() if value is not None and name != "allow_host"}
    hosts = (*base.allow_hosts, *(host for host in (own.allow_host or "").split(",") if host))
    order = replace(base, source=source, allow_hosts=hosts, **given)
    if "releases" in given and not isinstance(parse_source(source), PypiSource):
        raise SourceListError("releases needs a source pypi:NAME")
    refuse_out_in_source(order)
    refuse_strategy(order)
    host_names(order.allow_hosts)
    return order
