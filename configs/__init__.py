"""Shipped configurations of training runs: `selfplay train NAME` (docs/loop.md)."""

from importlib import resources
from importlib.resources.abc import Traversable


def shipped() -> dict[str, Traversable]:
    """Name of a shipped configuration -> its file."""
    files = resources.files("selfplay.configs").iterdir()
    return {file.name.removesuffix(".yaml"): file for file in sorted(files, key=str) if file.name.endswith(".yaml")}
