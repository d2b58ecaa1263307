"""The content key of a built environment: where it lies in the cache, and what it is never mistaken for."""

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

from selfplay.artifact.environment import pinned
from selfplay.repository.building.build import BuildRequest

ROOM_VERSION = 3
"""Raised when what this package builds changes, so that older environments are not mistaken for new ones."""

PACKAGES_VERSION = 1
"""The same for what it builds of JavaScript alone."""


def key_of(environments: Path, tree_hash: str, request: BuildRequest, image: str, ready: bool) -> str:
    """The key of the environment to use: that of one built without constraints, if what it chose is exactly what they
    ask for, so that an own run builds nothing twice; else a key of its own."""
    free = _key(tree_hash, replace(request, constraints=()), image, ready)
    if not request.constraints or _locked_in(environments / free) == sorted(request.constraints):
        return free
    return _key(tree_hash, request, image, ready)


def _locked_in(folder: Path) -> list[str] | None:
    """What the environment in `folder`, one of ours, holds; None where there is none."""
    try:
        lock = json.loads((folder / "environment.json").read_text())["lock"]
    except FileNotFoundError:
        return None
    return sorted(line for line in lock if pinned(line))


def _key(tree_hash: str, request: BuildRequest, image: str, ready: bool) -> str:
    """The content key of an environment: all that goes into it. The constraints are a part of it: a stranger's build
    never stands where the user's own next run looks."""
    parts = [
        ROOM_VERSION, tree_hash, asdict(request.plan), request.setup, request.version,
        [request.interpreter.version, str(request.interpreter.executable)] if request.interpreter else None,
        *([image, ready] if image else []), *([{"hosts": request.allow_hosts}] if request.allow_hosts else []),
        *([{"as of": request.as_of}] if request.as_of else []),
        *([{"packages": PACKAGES_VERSION}] if request.plan.language == "javascript" else []),
        *([{"constraints": sorted(request.constraints)}] if request.constraints else []),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]
