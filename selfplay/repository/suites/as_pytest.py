"""Commands of other runners whose tests pytest runs: `python -m unittest` and `manage.py test`.

In this way they are measured, traced and graded like all others; the runs of these runners themselves could not be.
What a command says beyond files, folders and a pattern (buffers, colours, databases) is how it reports, or is left to
the project's own settings.
"""

import re
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from selfplay.plain_text import regular_file

PYTHON = re.compile(r"(?:python|pypy)[\d.]{0,9}")
UNITTEST_FLAGS = {"-v", "--verbose", "-q", "--quiet", "-f", "--failfast", "-b", "--buffer", "-c", "--catch", "--locals"}
UNITTEST_NAMES = {"-s": 0, "--start-directory": 0, "-p": 1, "--pattern": 1, "-t": 2, "--top-level-directory": 2}
"""Options of `unittest discover`, each with its place where none is named."""
DEFAULTS = (".", "test*.py", "")
DJANGO_PATTERN = "test*.py"


@dataclass(frozen=True)
class AsPytest:
    """The same tests for pytest: files or folders (all if there are none), and the pattern of their files' names.
    `django`: they need Django's settings."""

    places: tuple[str, ...] = ()
    pattern: str = DEFAULTS[1]
    django: bool = False


def as_pytest(command: str, tree: Path) -> AsPytest | None:
    """What pytest should run instead of a command; None for any other, which runs as it is."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if words and PYTHON.fullmatch(PurePosixPath(words[0]).name):
        words = words[1:]
        if words[:2] == ["-m", "unittest"]:
            return _unittest(words[2:], tree)
    if words[1:2] == ["test"] and PurePosixPath(words[0]).name == "manage.py":
        return _django(words[2:], tree)
    return None


def _unittest(words: list[str], tree: Path) -> AsPytest | None:
    discover = words[:1] == ["discover"] or not [word for word in words if word not in UNITTEST_FLAGS]
    if not discover:
        places = [_place(word, tree) for word in words if word not in UNITTEST_FLAGS]
        return AsPytest(tuple(filter(None, places)), "*.py") if all(places) else None
    said, waiting, place = list(DEFAULTS), -1, 0
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if waiting >= 0:
            said[waiting], waiting = word, -1
        elif name in UNITTEST_NAMES:
            said[UNITTEST_NAMES[name]], waiting = value, -1 if equals else UNITTEST_NAMES[name]
        elif word[:1] == "-" and word not in UNITTEST_FLAGS:
            return None
        elif word[:1] != "-" and place < len(said):
            said[place], place = word, place + 1
    start = _place(said[0], tree)
    return AsPytest(() if start == "." else (start,), said[1]) if start and _is_pattern(said[1]) else None


def _django(words: list[str], tree: Path) -> AsPytest | None:
    """Options of Django's have their value behind a `=`, or are the project's own: the next word is then none of its
    tests."""
    places = [place for word in words if word[:1] != "-" and (place := _place(word, tree))]
    return AsPytest(tuple(places), DJANGO_PATTERN, django=True)


def _place(name: str, tree: Path) -> str:
    """The file or folder of the tree that a path or a dotted name (of a module, or of what lies in one) means; empty if
    there is none."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or name[:1] == "-" or "\0" in name:
        return ""
    if _is_folder(tree, path) or regular_file(tree, str(path)):
        return str(path)
    parts = name.split(".")
    for at in range(len(parts), 0, -1):
        inner = "/".join(parts[:at])
        if regular_file(tree, f"{inner}.py"):
            return f"{inner}.py"
        if all(parts) and _is_folder(tree, PurePosixPath(inner)):
            return inner
    return ""


def _is_folder(tree: Path, path: PurePosixPath) -> bool:
    """Whether a stranger's tree has this folder, reached through no link."""
    try:
        return all(stat.S_ISDIR((tree / step).lstat().st_mode) for step in reversed((path, *path.parents)))
    except OSError:
        return False


def _is_pattern(word: str) -> bool:
    return bool(re.fullmatch(r"[\w.*?\[\]-]{1,100}", word)) and word[:1] != "-"
