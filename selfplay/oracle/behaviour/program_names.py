"""Names of options: short texts that the program's own code holds, as "python" in `format(text, output="python")`.

A program refuses what is put in the place of such an input, so a call of that shape would never be novel.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePosixPath

from selfplay import patches
from selfplay.oracle.errors import OracleError
from selfplay.oracle.originals import Original
from selfplay.oracle.rewriting.python_trees import parsed
from selfplay.oracle.task import Task

MOST_FILES, MOST_TEXT = 100, 2_000_000
"""Files, and characters of them, that are read, those nearest to the changed ones first."""
_NAME = re.compile(r"[A-Za-z][\w-]{1,30}")


def program_names(texts: Iterable[str]) -> frozenset[str]:
    """The names in these files, those of `package_texts`."""
    return frozenset(name for text in texts for name in _names(text))


def package_texts(task: Task) -> Iterator[str]:
    """The Python files of the package, or the folder, of the files that the bug changed, these first. Nothing that is
    called after a test is read."""
    changed = [one.old_path for one in patches.parse(task.artifact.bug_inject) if one.old_path]
    original, paths = Original(task.world), dict.fromkeys(changed)
    for path in changed:
        paths |= dict.fromkeys(sorted(original.below(_package(path)), key=lambda one: (-_common(one, path), one)))
    left = MOST_TEXT
    for path in [path for path in paths if path.endswith(".py") and "test" not in path.lower()][:MOST_FILES]:
        with suppress(OracleError):  # too large to be read
            text = original.text(path) or ""
            left -= len(text)
            if left > 0:
                yield text


def _names(text: str) -> set[str]:
    tree = parsed(text)
    nodes = ast.walk(tree) if tree is not None else ()
    return {
        one.value for one in nodes
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and _NAME.fullmatch(one.value)
    }  # fmt: skip


def _package(path: str) -> str:
    """The topmost folder of a file, below `src` or `lib`."""
    folders = PurePosixPath(path).parent.parts
    return "/".join(folders[: 2 if folders[:1] in (("src",), ("lib",)) else 1]) or "."


def _common(one: str, other: str) -> int:
    """How many folders two files share."""
    pairs = zip(PurePosixPath(one).parent.parts, PurePosixPath(other).parent.parts, strict=False)
    return sum(here == there for here, there in pairs)
