"""Sources that a stranger could have made: git repositories, folders, archives and metadata.

Each is made in an empty folder beside `other`, a repository of the host's user which it tries to bring in. `says` is
the first line of the error, as a pattern; without it the source is read, and holds nothing of `other`.
"""

import hashlib
import os
import re
import subprocess
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from repository_fixtures import git, write

SECRET = "nobody-may-read-this"
BOMB = "holds more than 250,000 files|has too much to be listed: (took more than 15 s|wrote more than 67108864 bytes)"
Make = Callable[[Path, Path], Path | None]


@dataclass(frozen=True)
class Case:
    name: str
    make: Make
    says: str = ""
    archive: bool = False


CASES: list[Case] = []


def case(name: str, says: str = "", *, archive: bool = False) -> Callable[[Make], Make]:
    """Registers a source. Its maker is given the empty folder and `other`; it may return another folder as the source.
    An `archive` maker writes `demo-1.0.tar.gz` or `.zip` there instead."""

    def register(make: Make) -> Make:
        CASES.append(Case(name, make, says, archive))
        return make

    return register


def honest(folder: Path) -> Path:
    """A small project of no language that needs an environment."""
    write(folder, {"Makefile": "check:\n\ttrue\n", "main.c": "int main(void) { return 0; }\n"})
    git(folder, "init", "--quiet", "--initial-branch=trunk")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "honest")
    return folder


def other_repository(folder: Path) -> Path:
    folder.mkdir()
    honest(folder)
    write(folder, {"secret.txt": f"{SECRET}\n"})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", SECRET)
    return folder


def put(folder: Path, kind: str, data: bytes) -> str:
    """Write a loose object, whatever it holds."""
    whole = f"{kind} {len(data)}\0".encode() + data
    oid = hashlib.sha1(whole).hexdigest()
    path = folder / ".git" / "objects" / oid[:2] / oid[2:]
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_bytes(zlib.compress(whole))
    return oid


def tree(folder: Path, *entries: tuple[str, bytes, str]) -> str:
    """A tree object with entries (mode, name, object) as they are given."""
    return put(
        folder, "tree", b"".join(m.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for m, name, oid in entries)
    )


def at_head(folder: Path, root: str) -> None:
    """Make the tree the repository's HEAD."""
    people = "a <a@b> 1600000000 +0000"
    commit = put(folder, "commit", f"tree {root}\nauthor {people}\ncommitter {people}\n\nhostile\n".encode())
    (folder / ".git" / "refs" / "heads" / "trunk").write_text(f"{commit}\n")


def started(folder: Path) -> str:
    """An empty repository; returns a blob in it."""
    git(folder, "init", "--quiet", "--initial-branch=trunk")
    return put(folder, "blob", b"x\n")


def towers(folder: Path, leaf: tuple[str, bytes, str], wide: int, high: int) -> None:
    """`wide` ** `high` leaves in `high` objects."""
    mode, _, oid = leaf
    for _ in range(high):
        oid = tree(folder, *((mode, f"n{number:03}".encode(), oid) for number in range(wide)))
        mode = "40000"
    at_head(folder, oid)


def leaked(folder: Path) -> Iterator[str]:
    """Where the other repository's secret is found: in files, or in any object of a git folder."""
    for here, _, files in os.walk(folder):
        for name in files:
            path = Path(here, name)
            if path.is_file() and not path.is_symlink() and SECRET.encode() in path.read_bytes():
                yield str(path)
    for store in folder.rglob("*.git"):
        command = ["git", "-c", "safe.directory=*", f"--git-dir={store}", "cat-file", "--batch-all-objects", "--batch"]
        if SECRET.encode() in subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).stdout:
            yield str(store)


def first_line(text: str) -> str:
    return re.sub(r"\s+", " ", text.splitlines()[0])[:160]
