"""A tree of files as a dictionary, in place of an original on disk."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tree:
    """Path -> text; `edited`: the paths that are another file than the original's."""

    files: Mapping[str, str] = field(default_factory=dict)
    edited: frozenset[str] = frozenset()

    def text(self, path: str) -> str | None:
        return self.files.get(path)

    def changed(self, path: str) -> bool:
        return path in self.edited

    def there(self, path: str) -> bool:
        return any(name == path or name.startswith(f"{path}/") for name in self.files)

    def below(self, folder: str) -> Collection[str]:
        return [name for name in self.files if name.startswith(f"{folder}/")]
