"""Unpacking a stream into a folder whose surroundings must stay as they are."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay.repository.files.unpack import StreamBounds, Unpacked, unpack
from selfplay.sandbox import MIB

SMALL = StreamBounds(bytes=MIB, entries=100)


def unpacked(data: bytes, target: Path, bounds: StreamBounds = SMALL, places: tuple[str, ...] = ()) -> Unpacked:
    target.mkdir(exist_ok=True)
    return unpack(io.BytesIO(data), target, bounds, places=places)


def listed(root: Path) -> dict[str, str]:
    """Everything below a folder: its path -> what it is."""
    found = {}
    for path in sorted(root.rglob("*")):
        target = os.readlink(path) if path.is_symlink() else ""  # noqa: PTH115 - pathlib would tidy it
        kind = target or ("/" if path.is_dir() else path.read_text())
        found[str(path.relative_to(root))] = kind
    return found


@pytest.fixture
def around(tmp_path: Path) -> Iterator[Path]:
    """The folder `target`, and beside it what must be as it was afterwards."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept\n")
    yield tmp_path
    assert listed(tmp_path / "outside") == {"kept": "kept\n"}
    assert {path.name for path in tmp_path.iterdir()} <= {"outside", "target", "source"}
