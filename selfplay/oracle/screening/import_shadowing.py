"""Finds new names that Python would import in place of an installed or a standard module.

A name can belong to a file, a package, an extension module or a link. A folder without `__init__` never replaces a
regular installed module, so it counts only if its name is one of the runner's, which may be missing.
"""

import fnmatch
import posixpath
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from selfplay.artifact import Artifact
from selfplay.oracle.originals import OriginalFiles
from selfplay.patches import FilePatch
from selfplay.patches.model import SYMLINK_MODE
from selfplay.plain_text import folders_above

_RUNNERS = frozenset(
    [
        "pytest",
        "_pytest",
        "pluggy",
        "iniconfig",
        "packaging",
        "exceptiongroup",
        "tomli",
        "toml",
        "py",
        "colorama",
        "pygments",
        "argcomplete",
        "pexpect",
        "mock",
        "attr",
        "attrs",
        "atomicwrites",
        "importlib_metadata",
        "zipp",
        "typing_extensions",
        "zope",
        "unittest2",
        "nose",
        "hypothesis",
        "_hypothesis_pytestplugin",
        "coverage",
        "xdist",
        "execnet",
    ]
)
_BEGINNING = frozenset({"sitecustomize", "usercustomize"})
"""Modules that every Python imports at start, if they exist."""
_PLUGINS = ("pytest_*", "*_pytest_plugin", "selfplay_*")
_MODULE = re.compile(r"\.(?:py|pyc|pyd|so)$|\.[\w-]+\.(?:so|pyd)$")
_ROOTS = ("", "src/", "lib/", "python/")


@dataclass(frozen=True)
class NewName:
    """A name that a prediction makes importable; `whole`: as a module or regular package, which wins over later path
    entries."""

    name: str
    path: str
    whole: bool


def new_names(
    sections: Sequence[FilePatch], artifact: Artifact, files: OriginalFiles, own: Iterable[str]
) -> list[NewName]:
    """The top-level names that are importable only with these sections. `own`: the bug's paths, whose packages are the
    project's."""
    packages = {folder for path in own for folder in folders_above(path)}
    roots = {*_ROOTS, *_roots_of_tests(artifact.test_files, files)}
    found = {}
    for section in sections:
        if section.new_path in (None, section.old_path):
            continue
        for root in _above(section.new_path or "", roots):
            made = _name(section, root)
            if made and made.name.isidentifier() and not _known(f"{root}{made.name}", files, packages):
                found[made.name, root] = made
    return list(found.values())


def refused_name(new: NewName) -> str:
    """Why a name is refused no matter what is installed; empty if it is not."""
    if any(fnmatch.fnmatchcase(new.name, pattern) for pattern in _PLUGINS):
        return "has the name of a pytest plugin"
    if new.name in _RUNNERS or (new.whole and new.name in _BEGINNING | sys.stdlib_module_names):
        return f"would be imported in place of the module {new.name!r}"
    return ""


def _above(path: str, roots: Collection[str]) -> list[str]:
    """The roots in which a path lies: a look at each of its folders, of which there are few."""
    return [root for root in ("", *(f"{folder}/" for folder in folders_above(path))) if root in roots]


def _name(section: FilePatch, root: str) -> NewName | None:
    path = section.new_path or ""
    first, *rest = path[len(root) :].split("/")
    link = section.new_mode == SYMLINK_MODE
    if not rest:
        module = _MODULE.search(first)
        return NewName(first.partition(".")[0], path, True) if module or (link and "." not in first) else None
    if "." in first or not (link or _MODULE.search(rest[-1])):
        return None
    return NewName(first, path, len(rest) == 1 and rest[0].partition(".")[0] == "__init__")


def _known(place: str, files: OriginalFiles, packages: Iterable[str]) -> bool:
    return place in packages or files.text(f"{place}.py") is not None or files.text(f"{place}/__init__.py") is not None


def _roots_of_tests(tests: Iterable[str], files: OriginalFiles) -> Iterable[str]:
    """The folders that pytest puts first on the path: for each test, the nearest one that is not a package."""
    for test in tests:
        folder = posixpath.dirname(test)
        while folder and files.text(f"{folder}/__init__.py") is not None:
            folder = posixpath.dirname(folder)
        if folder:
            yield f"{folder}/"
