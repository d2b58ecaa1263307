"""Surveys cached on disk, keyed by the content that determines them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import zstandard

from selfplay.artifact.files import write_atomically
from selfplay.formatting import Say
from selfplay.repository import Prepared, Suite, default_cache
from selfplay.repository.inside import text
from selfplay.scripted.injector.traced import Traced, coverage_of

FORMAT = 1
"""Raised when a survey of the same content would come out differently."""
ELSEWHERE = ("source", "revision", "commit")
"""Recorded facts that say where a repository came from; they do not affect the survey."""


def place_of(prepared: Prepared, suite: Suite, cache: Path | None) -> Path:
    """Where the survey of this repository is kept: keyed by its tree, its environment, its suite and our own
    programs."""
    environment = {name: value for name, value in prepared.recorded.items() if name not in ELSEWHERE}
    content = [
        FORMAT, prepared.tree_hash, prepared.commit, environment, dict(prepared.env),
        suite.files, suite.excluded, suite.options, text("selfplay_tests.py"),
    ]  # fmt: skip
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]
    return (cache or default_cache()) / "surveys" / f"{key}.json.zst"


def kept(place: Path) -> Traced | None:
    """The survey kept at `place`; None when there is none, or it is damaged."""
    try:
        value: Any = json.loads(zstandard.decompress(place.read_bytes()))
        traced = Traced(str(value["coverage"]), tuple(map(str, value["changed"])), tuple(map(str, value["installed"])))
        coverage_of(traced.coverage)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, MemoryError, zstandard.ZstdError):
        return None
    return traced


def keep(place: Path, traced: Traced, say: Say) -> None:
    """Keep it, whole or not at all. A full disk makes the next run repeat the survey; it does not end this run."""
    value = {"coverage": traced.coverage, "changed": traced.changed, "installed": traced.installed}
    packer = zstandard.ZstdCompressor(write_checksum=True)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, packer.compress(json.dumps(value).encode()))
    except OSError as error:
        say(f"the survey cannot be kept for later runs: {place.parent}: {error.strerror}")
