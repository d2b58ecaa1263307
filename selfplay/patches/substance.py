"""Decides whether a diff changes a program, or only its comments and white space."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from selfplay.patches.model import FilePatch

_SLASHES = frozenset([
    ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".java", ".js", ".jsx", ".kt", ".mjs", ".rs", ".swift", ".ts",
    ".tsx",
])  # fmt: skip
"""Suffixes of languages whose comments begin with `//`: there, a line that begins with `#` may be code."""


def changes_code(sections: Iterable[FilePatch]) -> bool:
    """False if the sections change only comment lines, blank lines and white space at line ends.

    Decided line by line, for any language; a changed mode, binary content, or an added or deleted file counts as a
    change.
    """
    return any(_changes(section) for section in sections)


def _changes(section: FilePatch) -> bool:
    if section.kind != "modified" or not section.hunks:
        return True
    before, after = (_said(lines, section.path) for lines in (section.removed_lines, section.added_lines))
    return before != after


def _said(lines: Iterable[str], path: str) -> list[str]:
    mark = "//" if PurePosixPath(path).suffix in _SLASHES else "#"
    return [line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith(mark)]
