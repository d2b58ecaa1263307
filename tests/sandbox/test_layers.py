"""Layers of a tree as one: what a later one replaces is not shown, at a cost in proportion to what they hold."""

import time
import tracemalloc
from pathlib import Path

import pytest

from selfplay.sandbox import WorldRefused
from selfplay.sandbox.docker import layers
from selfplay.sandbox.docker.layers import CHUNK, merge
from selfplay.sandbox.messages import FILE, FOLDER, LINK


def written(root: Path, *paths: str) -> Path:
    """A layer: `a/` is a folder, `a>b` a link, any other a file that holds the layer's name."""
    for path in paths:
        name, link, target = path.partition(">")
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            place.mkdir()
        elif link:
            place.symlink_to(target)
        else:
            place.write_text(root.name)
    return root


def test_what_a_later_layer_replaces_is_not_shown(tmp_path: Path) -> None:
    stacked = [
        written(tmp_path / "1", "a/x", "a/deep/y", "b", "c/x", "d/x", "ab/x"),
        written(tmp_path / "2", "a", "b/new", "c>a", "d/", "e"),
        written(tmp_path / "3", "a/late", "c/late"),
    ]
    shown = {entry.path.decode(): (entry.kind, Path(entry.source).read_text() if entry.kind == FILE else "")
             for entry in merge(stacked).entries}  # fmt: skip
    assert shown == {
        "": (FOLDER, ""), "a": (FOLDER, ""), "a/late": (FILE, "3"), "b": (FOLDER, ""), "b/new": (FILE, "2"),
        "c": (FOLDER, ""), "c/late": (FILE, "3"), "d": (FOLDER, ""), "d/x": (FILE, "1"), "e": (FILE, "2"),
        "ab": (FOLDER, ""), "ab/x": (FILE, "1"),
    }  # fmt: skip
    assert LINK in {entry.kind for entry in merge(stacked[:2]).entries}


def test_many_files_in_the_place_of_folders(tmp_path: Path) -> None:
    """Each took a walk over all entries: 16,000 took two minutes of every start of a sandbox."""
    lower, higher = tmp_path / "1", tmp_path / "2"
    for number in range(4000):
        (lower / f"{number}" / "x").mkdir(parents=True)
    higher.mkdir()
    for number in range(4000):
        (higher / f"{number}").touch()
    before = time.process_time()
    assert len(merge([lower, higher]).entries) == 4001
    assert time.process_time() - before < 1.5  # 0.1 s; a walk for each takes 6


def test_a_large_file_is_sent_in_pieces(tmp_path: Path) -> None:
    tree = written(tmp_path / "1", "a", "z")
    with (tree / "large").open("wb") as stream:
        stream.truncate(64 * CHUNK)
    merged = merge([tree])
    tracemalloc.start()
    sent = sum(len(piece) for piece in merged.packed())
    assert 64 * CHUNK < sent < 65 * CHUNK and tracemalloc.get_traced_memory()[1] < 4 * CHUNK
    tracemalloc.stop()
    with (tree / "large").open("wb") as stream:
        stream.truncate(2 * CHUNK)
    with pytest.raises(WorldRefused, match="became shorter"):
        list(layers.large_content(next(entry for entry in merged.entries if entry.path == b"large")))
