"""Checks what a build did to the tree: its report, copies of the project to remove, and new files.

The checking program runs on the environment's own interpreter, which the project may have changed. So its answer is
only accepted as data of known types and sizes; anything else is a `BuildFailed`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selfplay.formatting import count
from selfplay.plain_text import MAX_PATH, folders_above, printable, safe_relative, shown
from selfplay.repository import inside
from selfplay.repository.building.build import ENV, Building
from selfplay.repository.errors import BuildFailed, TooLarge
from selfplay.repository.files.entries import Header
from selfplay.repository.files.unpack import Where
from selfplay.repository.inside.pack import FILE
from selfplay.sandbox import MIB
from selfplay.untrusted_json import answer

FIELDS = {"changed", "removed", "strays", "listing"}
LISTS = ("changed", "removed", "strays")
MOST_NAMES = 8 * MIB
CHANGED_HINT = "It changed the interpreter it runs on. Give the commands that install it with --setup."


@dataclass(frozen=True)
class BuildReport:
    """Paths of the tree that the build changed; removed copies; modules imported from outside the tree; `listing`: the
    file inside that lists the new files."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    strays: tuple[str, ...]
    listing: str


def check(building: Building) -> BuildReport:
    """Remove copies of the project, and report the rest. Raises `BuildFailed`."""
    request = building.request
    python = request.interpreter is not None
    manifest = {
        "tracked": dict(request.tracked), "python": python,
        "roots": tuple(dict.fromkeys((*request.plan.roots, *building.roots))),
        "env": ENV,
        "add_roots": python and bool(building.roots or (not request.plan.project and request.plan.roots != (".",))),
    }  # fmt: skip
    command = ["python" if python else "python3", "-I", "-B", "-c", inside.text("after_build.py")]
    done = building.ask("checking the build", command, json.dumps(manifest).encode())
    building.run("removing the download cache", ["rm", "-rf", f"{ENV}/.uv-cache"])
    return read_report(done.stdout)


def read_report(data: bytes) -> BuildReport:
    """Parse the last line of the program's output. Raises `BuildFailed` if our program did not write it."""
    try:
        value = answer(dict[str, Any], data.rstrip(b"\n").rpartition(b"\n")[2])
        if set(value) != FIELDS:
            raise ValueError("other fields")
        changed, removed, strays = (texts(value[name]) for name in LISTS)
        (listing,) = texts([value["listing"]])
        if not listing.startswith("/tmp/") or "\0" in listing:
            raise ValueError("another place")
    except ValueError as error:
        raise BuildFailed("the build's interpreter does not run our programs as they are", CHANGED_HINT) from error
    return BuildReport(changed, removed, strays, listing)


def texts(value: object) -> tuple[str, ...]:
    """A list of texts, none longer than a path. Raises `ValueError` for anything else."""
    if not isinstance(value, list) or not all(isinstance(text, str) and len(text) <= MAX_PATH for text in value):
        raise ValueError("other types")
    return tuple(value)


def notes_on(report: BuildReport) -> list[str]:
    """Lines for the user about the report."""
    notes = []
    changed = [path for path in report.changed if ".egg-info/" not in path]
    if changed:
        files = count(len(changed), "tracked file, which was", "tracked files, which were")
        notes.append(f"the build changed {files} restored: {_some(changed)}")
    if report.removed:
        notes.append(f"a copy of the project was removed from the environment: {_some(report.removed)}")
    if report.strays:
        notes.append(f"{_some(report.strays)} is imported from outside the tree: bugs in it are not seen")
    return notes


def _some(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(printable(shown(name))[:200] for name in names[:3])


class NewFiles:
    """New files: their paths are plain, untracked, not below a tracked file, and do not replace a tracked folder."""

    def __init__(self, tracked: Mapping[str, str]) -> None:
        self._tracked = tracked
        self._folders = {folder for path in tracked for folder in folders_above(path)}

    def __contains__(self, path: str) -> bool:
        taken = (
            path in self._tracked
            or path in self._folders
            or any(folder in self._tracked for folder in folders_above(path))
        )
        return not taken and safe_relative(path) is not None


def only_new(tracked: Mapping[str, str], kept: list[str]) -> Where:
    """Accepts regular files that are new in the tree, and adds their paths to `kept`. Raises `TooLarge` for names that
    are too long together: they are kept with the environment, and read by each that uses it."""
    new, names = NewFiles(tracked), 0

    def where(header: Header) -> bytes | None:
        nonlocal names
        path = os.fsdecode(header.path)
        if header.kind != FILE or path not in new or "__pycache__" in path.split("/"):
            return None
        names += len(header.path)
        if names > MOST_NAMES:
            raise TooLarge(f"new files whose names take more than {MOST_NAMES // MIB} MiB")
        kept.append(path)
        return header.path

    return where
