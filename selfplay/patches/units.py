"""Cuts a diff into the smallest parts that can be applied or left out separately."""

from pathlib import PurePosixPath

from selfplay.patches.model import FilePatch
from selfplay.patches.parse import parse


def units(text: str) -> tuple[tuple[FilePatch, ...], ...]:
    """The sections of a diff, in order, grouped so that each group can be applied separately.

    Nearly every group has one section. Sections belong together if they share a path (a file turned into a link, two
    files that swap names), or if one makes a folder where another has a file. Raises `PatchError`.
    """
    patches = parse(text)
    groups = _Groups(len(patches))
    files: dict[str, list[int]] = {}
    below: dict[str, list[int]] = {}
    for index, patch in enumerate(patches):
        for path in (patch.path,) if patch.kind == "copied" else patch.paths:  # a copy only reads its source
            folders = [str(folder) for folder in PurePosixPath(path).parents][:-1]
            groups.unite(index, files.get(path, []))
            groups.unite(index, below.get(path, []))
            for folder in folders:
                groups.unite(index, files.get(folder, []))
                below.setdefault(folder, []).append(index)
            files.setdefault(path, []).append(index)
    members: dict[int, list[FilePatch]] = {}
    for index, patch in enumerate(patches):
        members.setdefault(groups.find(index), []).append(patch)
    return tuple(tuple(unit) for unit in members.values())


class _Groups:
    """Disjoint sets of section numbers."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, index: int) -> int:
        while self._parent[index] != index:
            self._parent[index] = self._parent[self._parent[index]]
            index = self._parent[index]
        return index

    def unite(self, index: int, others: list[int]) -> None:
        for other in others:
            self._parent[self.find(other)] = self.find(index)
