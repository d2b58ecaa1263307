"""What a prediction does beside its source: files that it takes away, data of the program, what its build reads, code
in another form. No input tells what these break, so a grade says that they are changed."""

import posixpath
from collections.abc import Collection, Iterator, Sequence

from selfplay.oracle.new_code.loaded_files import is_in_program
from selfplay.oracle.new_code.suspicious_apis import PYTHON
from selfplay.oracle.originals import OriginalFiles
from selfplay.patches import FilePatch
from selfplay.patches.model import SYMLINK_MODE

_BUILD = frozenset([
    "pyproject.toml", "setup.cfg", "MANIFEST.in", "meson.build", "CMakeLists.txt", "Cargo.toml", "requirements.txt",
])  # fmt: skip
_DOCUMENTS = (".md", ".rst", ".adoc", ".txt")
_NAMED = frozenset(["authors", "changelog", "changes", "contributors", "history", "news", "readme", "todo"])
"""Documents without an ending."""
_CODE = (
    ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".pyx", ".pxd", ".pyi", ".rs", ".go", ".js", ".mjs", ".cjs", ".ts",
    ".sh", ".bash", ".f90", ".s", ".asm", ".mk",
)  # fmt: skip
MOST_BESIDE = 256 * 1024
"""Characters of a new file that is no program's."""
COMPILED = (".so", ".pyd", ".pyc", ".pyo")
"""Endings of modules that are imported without a source."""


def changed_beside(
    sections: Sequence[FilePatch], touched: Collection[str], original: OriginalFiles, beside: Collection[str]
) -> Iterator[str]:
    """Sentences. `touched`: the paths that the bug changed; `beside`: the folders of the program's files."""
    gone = {section.old_path for section in sections if section.kind in ("deleted", "renamed")}
    for path in (one for section in sections for one in section.paths if one not in touched):
        if path in gone:
            yield f"{path} is gone, which the bug left as it was"
        elif (hidden := _hides(path)) and hidden not in gone and original.there(hidden):
            yield f"{path} takes the place of {hidden}"
        elif not path.endswith(PYTHON) and _matters(path, original, beside):
            yield f"{path} is changed, which the bug left as it was"
    for section in sections:
        if section.old_mode and section.new_mode and section.old_mode != section.new_mode:
            yield f"the mode of {section.path} is changed"
        elif section.kind == "added" and not section.path.endswith(PYTHON) and len(section.text) > MOST_BESIDE:
            yield f"{section.path} is new, and large"


def unread_code(section: FilePatch, original: OriginalFiles, beside: Collection[str]) -> str:
    """What a section adds that runs and is not read as source: a module of machine or byte code, a link among the
    program's files, which may put others in a module's place. Empty for any other."""
    path = section.new_path
    if path is not None and section.new_mode == SYMLINK_MODE:
        return f"{path} is a link in the program" if is_in_program(path, original, beside) else ""
    return f"{path} is code that is no source" if path is not None and path.endswith(COMPILED) else ""


def _hides(path: str) -> str:
    """The module that a package's first file is imported in place of, if it is there, and that with types alone is read
    in place of."""
    if path.endswith(".pyi"):
        return path[:-1]
    folder, name = posixpath.split(path)
    return f"{folder}.py" if folder and name == "__init__.py" else ""


def _matters(path: str, original: OriginalFiles, beside: Collection[str]) -> bool:
    """Whether something may depend on a file: what a build reads, code, what the program has, and every other file that
    was there and is no document."""
    name = posixpath.basename(path)
    pins = any(word in name.lower() for word in ("requirements", "constraints"))
    if name in _BUILD or name.endswith(".lock") or (pins and name.endswith((".txt", ".in"))):
        return True
    if path.endswith(_DOCUMENTS) or name.lower() in _NAMED:
        return False
    return path.endswith(_CODE) or original.there(path) or is_in_program(path, original, beside)
