"""Settings of an image that the engine acts upon by itself, before or beside any program: they are a stranger's too.

Of the others, `container.settings` switches a health check off, and says itself what to start, as whom, and where.
"""

import posixpath
from collections.abc import Mapping
from typing import Any

from selfplay.sandbox.docker.client import ImageUnusable


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


def refuse_triggers(config: Mapping[str, Any], base: str) -> None:
    """Raises `ImageUnusable` for a base with ONBUILD triggers: the engine would run them as root, without limits."""
    triggers = config.get("OnBuild") or ()
    if triggers:
        raise ImageUnusable(
            f"the image {base!r} wants to run something in every build on it, as root: ONBUILD {triggers[0][:200]!r}",
            "Use a base without ONBUILD. Where you trust its triggers, run them yourself: `docker build` with the one "
            f"line `FROM {base}`, and give the result as --base.",
        )
