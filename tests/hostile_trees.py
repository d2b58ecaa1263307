"""Git trees that are too much for a disk, or have names that git refuses."""

import os
import zlib
from pathlib import Path

from hostile_sources import BOMB, Make, at_head, case, honest, put, started, towers, tree
from repository_fixtures import git


@case("git bomb: 10^10 files in 12 objects", BOMB)
def _(folder: Path, other: Path) -> None:
    towers(folder, ("100644", b"", started(folder)), 10, 10)


@case("git bomb: 10^6 files", BOMB)
def _(folder: Path, other: Path) -> None:
    towers(folder, ("100644", b"", started(folder)), 10, 6)


@case("git bomb: 10^12 empty folders", BOMB)
def _(folder: Path, other: Path) -> None:
    started(folder)
    towers(folder, ("40000", b"", put(folder, "tree", b"")), 10, 12)


@case("git bomb: one blob of 32 MiB under 200 names", "its files take 6,710,886,400 bytes")
def _(folder: Path, other: Path) -> None:
    started(folder)
    towers(folder, ("100644", b"", put(folder, "blob", bytes(32 << 20))), 200, 1)


@case("a tree 1,200 folders deep", r"d/d/d/\.\.\. lies more than 100 folders deep")
def _(folder: Path, other: Path) -> None:
    oid, mode, name = started(folder), "100644", b"a"
    for _ in range(1200):
        oid, mode, name = tree(folder, (mode, name, oid)), "40000", b"d"
    at_head(folder, oid)


@case("a tree 30,000 folders deep", "lies more than 100 folders deep|has too much to be listed")
def _(folder: Path, other: Path) -> None:
    oid, mode, name = started(folder), "100644", b"a"
    for _ in range(30_000):
        oid, mode, name = tree(folder, (mode, name, oid)), "40000", b"d"
    at_head(folder, oid)


def named(name: bytes) -> Make:
    def make(folder: Path, other: Path) -> None:
        blob = started(folder)
        at_head(folder, tree(folder, ("40000", name, tree(folder, ("100644", b"config", blob)))))

    return make


for shown, name, told in [
    ("..", b"..", r"a file named '\.\./config'"),
    (".", b".", r"a file named '\./config'"),
    (".git", b".git", r"a file named '\.git/config'"),
    (".GIT", b".GIT", r"a file named '\.GIT/config'"),
    ("git~1", b"git~1", "invalid path 'git~1/config'"),
    (".git with a full stop", b".git.", "invalid path"),
    ("an empty name", b"", "a file named '/config'|empty filename|cannot be read as a git repository"),
    ("a slash", b"../../up", r"a file named '\.\./\.\./up/config'|slash"),
    ("5,000 letters", b"n" * 5000, "a name of 5007 characters"),
    ("300 letters", b"n" * 300, "a name of 307 characters"),
]:
    case(f"a folder named {shown}", told)(named(name))

for shown, name in [
    (".git with an invisible letter", ".g\u200cit".encode()),
    ("a line end and an escape", b"a\n\x1b[31m"),
    ("bytes that are no text", b"\xff\xfe"),
    ("an option", b"--upload-pack=touch x"),
]:
    case(f"a folder named {shown}")(named(name))


@case("two entries of one name", "two entries named 'a'")
def _(folder: Path, other: Path) -> None:
    blob = started(folder)
    at_head(folder, tree(folder, ("100644", b"a", blob), ("100644", b"a", put(folder, "blob", b"y\n"))))


@case("a link and a folder of one name", "two entries named 'a'")
def _(folder: Path, other: Path) -> None:
    link = started(folder) and put(folder, "blob", b"/tmp")
    inner = tree(folder, ("100644", b"b", put(folder, "blob", b"y\n")))
    at_head(folder, tree(folder, ("120000", b"a", link), ("40000", b"a", inner)))


@case("a tree that ends in the middle", "git cannot read it|cannot be read as a git repository")
def _(folder: Path, other: Path) -> None:
    started(folder)
    at_head(folder, put(folder, "tree", b"100644 a\0short"))


@case("an object that is not what its name says", "git cannot read it|cannot be read as a git repository")
def _(folder: Path, other: Path) -> None:
    blob = started(folder)
    at_head(folder, tree(folder, ("100644", b"a", blob)))
    path = folder / ".git" / "objects" / blob[:2] / blob[2:]
    path.write_bytes(zlib.compress(b"blob 6\0changed"[:12]))


@case("a pack of random bytes", "cannot be read as a git repository|git cannot read it")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    git(folder, "repack", "-a", "-d", "-q")
    for path in (folder / ".git" / "objects" / "pack").iterdir():
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:40] + os.urandom(2000))
