"""What a prediction does to files which its new code is not in: sources that it takes away, data of the program, what
its build reads. No input tells what they break, so a grade says that they are changed."""

import posixpath
from collections.abc import Collection, Iterator, Sequence

from selfplay.oracle.new_code.loaded_files import is_of_program
from selfplay.oracle.originals import OriginalFiles
from selfplay.oracle.screening.paths import folders
from selfplay.patches import FilePatch

_BUILD = frozenset([
    "pyproject.toml", "setup.cfg", "MANIFEST.in", "meson.build", "CMakeLists.txt", "Cargo.toml", "requirements.txt",
])  # fmt: skip
_DOCUMENTS = (".md", ".rst")
_SOURCES = (".py", ".pyi")


def changed_beside(
    sections: Sequence[FilePatch], touched: Collection[str], original: OriginalFiles, beside: Collection[str]
) -> Iterator[str]:
    """Sentences. `touched`: the paths that the bug changed; `beside`: the folders of the program's files."""
    for section in sections:
        gone = section.old_path if section.old_path != section.new_path and section.kind != "copied" else None
        for path in (one for one in section.paths if one not in touched):
            if path == gone and path.endswith(_SOURCES):
                yield f"{path} is gone, which the bug left as it was"
            elif path != gone and (hidden := _hides(path)) and original.there(hidden):
                yield f"{path} takes the place of {hidden}"
            elif not path.endswith(_SOURCES) and _matters(path, original, beside):
                yield f"{path} is changed, which the bug left as it was"


def _hides(path: str) -> str:
    """The module that a package's first file is imported in place of, if it is there."""
    folder, name = posixpath.split(path)
    return f"{folder}.py" if folder and name == "__init__.py" else ""


def _matters(path: str, original: OriginalFiles, beside: Collection[str]) -> bool:
    if posixpath.basename(path) in _BUILD:
        return True
    return not path.endswith(_DOCUMENTS) and any(is_of_program(folder, original, beside) for folder in folders(path))
