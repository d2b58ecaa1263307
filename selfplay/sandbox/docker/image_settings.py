"""Settings of an image that the engine acts upon by itself, before or beside any program: they are a stranger's too.

Of the others, `container.settings` switches a health check off, and says itself what to start, as whom, and where.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from selfplay.formatting import count
from selfplay.sandbox.docker.client import ImageUnusable

_VARIABLE = re.compile(r"[^=\0]+=[^\0]*+")
MOST_VARIABLES, MOST_CHARACTERS, MOST_PATH = 1000, 1 << 16, 4000
"""Of an image's environment, and of a path. The kernel gives a program a little more."""


def volumes(config: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The folders that the image asks the engine to keep on the host's disk, named as the engine names them: what has
    another name would not be recognised as the same place. Raises `ImageUnusable` for one that is no absolute path."""
    asked = sorted(config.get("Volumes") or ())
    places = sorted({"/" + posixpath.normpath(place).lstrip("/") for place in asked if place.startswith("/")})
    if "/" in places or not all(place.startswith("/") for place in asked):
        raise ImageUnusable(
            f"the image {name!r} declares a volume that is no folder: {', '.join(map(repr, asked))[:200]}",
            "A volume is an absolute path below the root; build the image without that VOLUME.",
        )
    return tuple(places)


def variables(config: Mapping[str, Any], name: str) -> dict[str, str]:
    """The environment that the image gives to its programs; the engine gets it with each container. Raises
    `ImageUnusable` for one that no program could be given."""
    entries = [entry for entry in config.get("Env") or () if "=" in entry]
    found = dict(entry.split("=", 1) for entry in entries)
    nameless = [entry for entry in entries if not _VARIABLE.fullmatch(entry)]
    if nameless or len(entries) > MOST_VARIABLES or sum(map(len, entries)) > MOST_CHARACTERS:
        wrong = f"the variable {nameless[0][:100]!r}" if nameless else count(len(entries), "variable")
        raise ImageUnusable(
            f"the image {name!r} sets {wrong}, which no program can be given",
            f"At most {MOST_VARIABLES:,} of {MOST_CHARACTERS:,} characters, each with a name: leave the rest out.",
        )
    return found


def named_folder(place: str, name: str) -> str:
    """The folder that a label or the working directory names. Raises `ImageUnusable` for what can be no path."""
    if not place.startswith("/") or len(place) > MOST_PATH or not place.isprintable():
        raise ImageUnusable(
            f"the image {name!r} names a folder by what is no absolute path: {place[:100]!r}",
            "Its label or its WORKDIR is an absolute path; build it with another one.",
        )
    return place


def refuse_triggers(config: Mapping[str, Any], base: str) -> None:
    """Raises `ImageUnusable` for a base with ONBUILD triggers: the engine would run them as root, without limits."""
    triggers = config.get("OnBuild") or ()
    if triggers:
        raise ImageUnusable(
            f"the image {base!r} wants to run something in every build on it, as root: ONBUILD {triggers[0][:200]!r}",
            "Use a base without ONBUILD. Where you trust its triggers, run them yourself: `docker build` with the one "
            f"line `FROM {base}`, and give the result as --base.",
        )
