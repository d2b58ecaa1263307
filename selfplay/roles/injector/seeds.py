"""The source file where an injector's prompt tells a model to begin, chosen by seed so that bugs differ (SSR 8)."""

import os
import random
from functools import lru_cache
from pathlib import Path

from selfplay.believable.product import is_own
from selfplay.patches import is_test_file
from selfplay.plain_text import text_below

SOURCES = frozenset(
    {".py", ".pyx", ".js", ".jsx", ".mjs", ".ts", ".tsx", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs"}
    | {".java", ".kt", ".scala", ".rb", ".php", ".swift", ".lua", ".pl", ".ex"}
)
SMALLEST, LARGEST = 200, 1 << 20
"""Sizes of a file in bytes: smaller ones are too small for a bug, larger ones were generated."""


def seed_location(tree: Path, seed: int, number: int) -> str | None:
    """The file where the prompt `number` begins: every file of the product that people wrote is used once before any
    repeats. None without source files."""
    files = _sources(tree)
    if not files:
        return None
    order = random.Random(f"location:{seed}:{number // len(files)}").sample(files, len(files))
    return order[number % len(files)]


@lru_cache(maxsize=8)
def _sources(tree: Path) -> tuple[str, ...]:
    found = []
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(folder, name)
            relative = path.relative_to(tree).as_posix()
            if path.suffix in SOURCES and not path.is_symlink() and not is_test_file(relative):
                found.append(relative) if path.stat().st_size >= SMALLEST else None
    own = [path for path in found if (text := text_below(tree, path, LARGEST)) is not None and is_own(path, text)]
    return tuple(sorted(own or found))
