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
_DOCUMENTS = (".md", ".rst")
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


def unread_code(section: FilePatch, original: OriginalFiles, beside: Collection[str]) -> str:
    """What a section adds that runs and is not read as source: a module of machine or byte code, a link among the
    program's files, which may put others in a module's place. Empty for any other."""
    path = section.new_path
    if path is not None and section.new_mode == SYMLINK_MODE:
        return f"{path} is a link in the program" if is_in_program(path, original, beside) else ""
    return f"{path} is code that is no source" if path is not None and path.endswith(COMPILED) else ""


def _hides(path: str) -> str:
    """The module that a package's first file is imported in place of, if it is there."""
    folder, name = posixpath.split(path)
    return f"{folder}.py" if folder and name == "__init__.py" else ""


def _matters(path: str, original: OriginalFiles, beside: Collection[str]) -> bool:
    if posixpath.basename(path) in _BUILD:
        return True
    return not path.endswith(_DOCUMENTS) and is_in_program(path, original, beside)
