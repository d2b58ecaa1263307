"""Test files as the original has them, read on the host without following a link."""

from collections.abc import Sequence

from selfplay.plain import decode, regular_file
from selfplay.sandbox import World
from selfplay.workbench.files import TestFile


def read_originals(world: World, paths: Sequence[str]) -> dict[str, TestFile]:
    """The regular files among `paths` as the topmost layer has them; nothing behind a link is followed."""
    found = {}
    for path in paths:
        file = next((file for layer in reversed(world.tree) if (file := regular_file(layer, path))), None)
        if file is not None:
            status = file.stat()
            found[path] = TestFile(file.read_bytes(), bool(status.st_mode & 0o100), int(status.st_mtime))
    return found


def original_texts(world: World, paths: Sequence[str]) -> dict[str, str]:
    """Path -> text of those files."""
    return {path: decode(file.content) for path, file in read_originals(world, paths).items()}
