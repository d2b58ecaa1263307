"""Archives unpacked in a folder beside the user's repositories: what they bring makes a git folder of what is around
them, or gives a neighbour's file a second name."""

import os
import shutil
from pathlib import Path

from hostile_sources import case, honest, started
from repository_fixtures import git, write

BORROWS = "borrows the objects of another repository"
LINKED = "has another name outside of it .a hard link."


def neighbour(folder: Path, other: Path) -> tuple[Path, str]:
    """The user's repository in the folder that is unpacked into, and its HEAD."""
    shutil.copytree(other, folder / "private")
    return folder / "private", git(other, "rev-parse", "HEAD")


def around(folder: Path, other: Path) -> Path:
    """A repository around a neighbour and a package, whose HEAD is the neighbour's."""
    _, head = neighbour(folder, other)
    started(folder)
    write(folder, {"pkg/Makefile": "check:\n\ttrue\n", ".git/refs/heads/trunk": f"{head}\n"})
    return folder / "pkg"


def linked(source: Path, target: Path) -> None:
    """The same files under second names."""
    for path in source.rglob("*"):
        if path.is_file():
            goal = target / path.relative_to(source)
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.unlink(missing_ok=True)
            os.link(path, goal)


@case("a worktree of a git folder made of the folder around", BORROWS)
def _(folder: Path, other: Path) -> Path:
    _, head = neighbour(folder, other)
    write(folder, {
        "HEAD": "ref: refs/heads/trunk\n", "refs/heads/trunk": f"{head}\n", "worktrees/w/HEAD": f"{head}\n",
        "worktrees/w/commondir": "../..\n", "worktrees/w/gitdir": "../../repo/.git\n",
        "repo/.git": "gitdir: ../worktrees/w\n", "objects/info/alternates": "../private/.git/objects\n",
    })  # fmt: skip
    return folder / "repo"


@case("the same with a link in place of the objects", "objects is a link to")
def _(folder: Path, other: Path) -> Path:
    _, head = neighbour(folder, other)
    (folder / "objects").symlink_to("private/.git/objects")
    write(folder, {
        "HEAD": "ref: refs/heads/trunk\n", "refs/heads/trunk": f"{head}\n", "worktrees/w/HEAD": f"{head}\n",
        "worktrees/w/commondir": "../..\n", "worktrees/w/gitdir": "../../repo/.git\n",
        "repo/.git": "gitdir: ../worktrees/w\n",
    })  # fmt: skip
    return folder / "repo"


for whole in (False, True):

    def borrowing(folder: Path, other: Path, whole: bool = whole) -> Path:
        package = around(folder, other)
        write(folder / ".git" / "objects" / "info", {"alternates": "../../private/.git/objects\n"})
        return folder if whole else package

    def taking(folder: Path, other: Path, whole: bool = whole) -> Path:
        package = around(folder, other)
        write(folder / ".git", {"commondir": "../private/.git\n"})
        return folder if whole else package

    shown = "a repository around neighbours" if whole else "a package in a repository around neighbours"
    case(f"{shown}, which borrows from one", BORROWS)(borrowing)
    case(f"{shown}, which takes everything from one", "takes everything from another repository")(taking)


for name in ("refs/heads/trunk", "HEAD", "packed-refs"):

    def second_name(folder: Path, other: Path, name: str = name) -> Path:
        private, _ = neighbour(folder, other)
        git(private, "pack-refs", "--all") if name == "packed-refs" else None
        git(private, "checkout", "--quiet", "--detach") if name == "HEAD" else None
        started(folder)
        linked(private / ".git" / "objects", folder / ".git" / "objects")
        (folder / ".git" / name).unlink(missing_ok=True)
        os.link(private / ".git" / name, folder / ".git" / name)
        return folder

    case(f"a second name of a neighbour's {name}", f"'.git/{name}' {LINKED}")(second_name)


@case("a second name of a neighbour's file in a plain folder", f"'notes/a.txt' {LINKED}")
def _(folder: Path, other: Path) -> Path:
    private, _ = neighbour(folder, other)
    write(folder / "pkg", {"Makefile": "check:\n\ttrue\n", "notes/b.txt": ""})
    os.link(private / "secret.txt", folder / "pkg" / "notes" / "a.txt")
    return folder / "pkg"


@case("the same in a repository without commits", f"'notes/a.txt' {LINKED}")
def _(folder: Path, other: Path) -> Path:
    private, _ = neighbour(folder, other)
    started(write(folder / "pkg", {"Makefile": "check:\n\ttrue\n", "notes/b.txt": ""}))
    os.link(private / "secret.txt", folder / "pkg" / "notes" / "a.txt")
    return folder / "pkg"


@case("a submodule whose .git file names a neighbour")
def _(folder: Path, other: Path) -> None:
    _, head = neighbour(folder, other)
    write(folder, {"Makefile": "check:\n\ttrue\n", ".gitignore": "private\n"})
    honest(folder)
    write(folder, {"sub/.git": "gitdir: ../private/.git\n"})
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    git(folder, "commit", "--quiet", "-m", "submodule")
