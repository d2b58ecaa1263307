"""How a case changes a copy of a run: other fields, other bytes, something else in the place of a file."""

import json
import os
import random
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.hostile.place import Change, Place


def fields(**changes: Any) -> Change:
    """Other fields in `bug.json`, and in the pool's copy of it."""

    def change(place: Place) -> None:
        path = place.bug / "bug.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def recorded(**changes: Any) -> Change:
    """Other fields in the recorded environment; a text may name the program as {program}."""

    def change(place: Place) -> None:
        path = place.bug / "bug.json"
        value = json.loads(path.read_text())
        text = json.dumps(changes).replace("{program}", str(place.program)).replace("{outside}", str(place.outside))
        value["environment"] |= json.loads(text)
        path.write_text(json.dumps(value))
        with database(place) as pool:
            for repository, number, bug in pool.execute("SELECT repository, number, bug FROM episodes").fetchall():
                if bug:
                    told = json.loads(bug)
                    told["environment"] |= json.loads(text)
                    pool.execute(
                        "UPDATE episodes SET bug = ? WHERE repository = ? AND number = ?",
                        (json.dumps(told), repository, number),
                    )

    return change


def written(name: str, data: Callable[[random.Random], bytes] | bytes, of: str = "bug") -> Change:
    """Another content of a file of the bug, the run, or what `of` names."""

    def change(place: Place) -> None:
        file(place, of, name).write_bytes(data(place.random()) if callable(data) else data)

    return change


def spliced(text: Callable[[], str]) -> Change:
    """A further field in the text of `bug.json`, as no JSON writer would write it."""

    def change(place: Place) -> None:
        path = place.bug / "bug.json"
        path.write_text(path.read_text().rstrip()[:-1] + f", {text()}}}")

    return change


def sparse(name: str, size: int, of: str = "bug") -> Change:
    """A file that claims a size, and takes no disk."""

    def change(place: Place) -> None:
        path = file(place, of, name)
        path.unlink(missing_ok=True)
        with path.open("wb") as stream:
            stream.truncate(size)

    return change


def instead(name: str, make: Callable[[Path, Place], None], of: str = "bug") -> Change:
    """Something else in the place of a file or folder."""

    def change(place: Place) -> None:
        path = file(place, of, name)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        make(path, place)

    return change


def file(place: Place, of: str, name: str) -> Path:
    whole = {"trajectory": place.trajectory, "predictions": place.predictions, "patch": place.patch}
    return whole[of] if of in whole else (place.run if of == "run" else place.bug) / name


def pipe(path: Path, place: Place) -> None:
    os.mkfifo(path)


def folder(path: Path, place: Place) -> None:
    path.mkdir()


def link(to: str) -> Callable[[Path, Place], None]:
    """A link to a place outside."""
    return lambda path, place: path.symlink_to(place.outside / to)


def hard_link(to: str) -> Callable[[Path, Place], None]:
    """A second name of a file outside, as an archive can give it one."""
    return lambda path, place: path.hardlink_to(place.outside / to)


def deep(count: int) -> Callable[[Path, Place], None]:
    """So many folders in each other, the last of which is a link to the outside."""

    def make(path: Path, place: Place) -> None:
        path.mkdir()
        inner = path.joinpath(*"d" * count)
        inner.mkdir(parents=True)
        (inner / "last").symlink_to(place.outside)

    return make


def zero(path: Path, place: Place) -> None:
    """A device that never ends, or a link to it for those who may not make one."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        path.symlink_to("/dev/zero")


def with_hash(name: str, text: Callable[[], str]) -> Change:
    """Another text of one of the five files, and the record's hash changed to fit."""

    def change(place: Place) -> None:
        from selfplay.artifact import load

        (place.bug / name).write_text(text())
        fields(content_hash=load(place.bug).content_hash())(place)

    return change


def diff_of(path: str, lines: int = 1) -> str:
    """A diff that makes a file."""
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{lines} @@\n" + "+x\n" * lines


class database:
    """The pool's database, opened to change it; closed with everything in one file."""

    def __init__(self, place: Place) -> None:
        self.path = place.run / "curriculum.sqlite"

    def __enter__(self) -> sqlite3.Connection:
        self.connection = sqlite3.connect(self.path)
        return self.connection

    def __exit__(self, *error: object) -> None:
        self.connection.commit()
        self.connection.execute("PRAGMA journal_mode = DELETE")
        self.connection.close()
