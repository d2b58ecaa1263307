"""A task in which one more file is planted, and the answer that such a file may give away."""

import shutil
from collections.abc import Callable
from pathlib import Path

import hand_made
import pytest

from selfplay.oracle.task import Task
from selfplay.sandbox import Backend, World

SOURCE = "store/prices.py"


@pytest.fixture
def plant(backend: Backend, worlds: dict[str, World], tmp_path: Path) -> Callable[[str, bytes], Task]:
    """A task whose original also holds one more file."""

    def planted(path: str, data: bytes) -> Task:
        tree = tmp_path / "tree"
        shutil.copytree(hand_made.original("python"), tree, symlinks=True)
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)
        hand_made.give(tree, backend)
        return Task(World(tree=(tree,), env=worlds["python"].env), hand_made.artifact("python"))

    return planted


def answer() -> bytes:
    return (hand_made.original("python") / SOURCE).read_bytes()
