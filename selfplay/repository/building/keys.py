"""The content key of a built environment: its place in the cache."""

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

from selfplay.artifact.environment import pinned
from selfplay.repository.building.build import BuildRequest

ROOM_VERSION = 4
"""Raised when the content of built environments changes, so that older ones are not used."""

PACKAGES_VERSIONS = {"javascript": 2, "go": 1}
"""The same for the environments of one language."""


def key_of(environments: Path, tree_hash: str, request: BuildRequest, image: str, ready: bool) -> str:
    """The key of the environment to use. If an environment built without constraints has exactly the versions that the
    constraints require, its key is used, so that a user's own run builds nothing twice; else the key is a separate
    one."""
    free = _key(tree_hash, replace(request, constraints=()), image, ready)
    if not request.constraints or _locked_in(environments / free) == sorted(request.constraints):
        return free
    return _key(tree_hash, request, image, ready)


def _locked_in(folder: Path) -> list[str] | None:
    """The lock of our environment in `folder`; None if there is none."""
    try:
        lock = json.loads((folder / "environment.json").read_text())["lock"]
    except FileNotFoundError:
        return None
    return sorted(line for line in lock if pinned(line))


def _key(tree_hash: str, request: BuildRequest, image: str, ready: bool) -> str:
    """The content key of an environment, made of everything that affects it. Constraints are part of it, so that a
    build with untrusted constraints never takes the place of the user's own."""
    parts = [
        ROOM_VERSION, tree_hash, asdict(request.plan), request.setup, request.version,
        [request.interpreter.version, str(request.interpreter.executable)] if request.interpreter else None,
        *([image, ready] if image else []), *([{"hosts": request.allow_hosts}] if request.allow_hosts else []),
        *([{"as of": request.as_of}] if request.as_of else []),
        *([{"packages": packages}] if (packages := PACKAGES_VERSIONS.get(request.plan.language)) else []),
        *([{"constraints": sorted(request.constraints)}] if request.constraints else []),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]
