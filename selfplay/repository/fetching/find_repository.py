"""Finds the repository around a path, and the folders of this machine that a sandbox needs to read it.

A `.git` file and the files it leads to are small; they are read here without following links or waiting for a pipe.
They count only if the other side agrees: the main repository's worktree folder names the worktree, a submodule's git
folder names its checkout. An untrusted folder can point anywhere, but nothing outside it points back.

An archive that is unpacked beside the user's repositories can make a git folder of the folder around them, which agrees
with everything. So of what was not named only what git reads is shown: of a repository around the named part its git
folder, of a git folder elsewhere its objects and refs. The repositories beside do not exist in the sandbox.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.reading import COMMON, SOURCE

MAX_NAMED = 4096
MAX_CONFIG = 1 << 20
READ_OF_COMMON = ("objects", "refs", "packed-refs", "shallow", "config")
"""What git needs of a repository's git folder to read a worktree of it; `config` says how its objects are named."""
WORK_TREE = re.compile(r"^[^\S\n]*worktree[^\S\n]*=(.*)", re.MULTILINE | re.IGNORECASE)
OWN = "Name a clone of it: `git clone` copies what it needs."


@dataclass(frozen=True)
class RepositoryPlace:
    """`root` is mounted at `SOURCE`, `common` (a git folder elsewhere that it uses) at `COMMON`. `git`: the git folder
    as seen inside, empty for a plain folder; `subfolder`: the part of the work tree that was named."""

    root: Path
    git: str = ""
    common: Path | None = None
    subfolder: str = "."

    def shown(self) -> dict[str, Path]:
        """Path inside -> the host folder or file mounted there. Raises `SourceError` for a link among them."""
        found = {SOURCE: self.root}
        if self.subfolder != ".":
            parts = [self.subfolder, *([".git"] if self.git == f"{SOURCE}/.git" else [])]
            found = {f"{SOURCE}/{part}": self.root / part for part in parts}
        return found | (self._of_common(self.common) if self.common else {})

    def _of_common(self, common: Path) -> dict[str, Path]:
        """All of a submodule's git folder; for a worktree, the parts that git reads, and the worktree's own folder."""
        own = self.git.removeprefix(f"{COMMON}/")
        if not own.startswith("worktrees/"):
            return {COMMON: common}
        refuse_links(common)
        there = [part for part in (*READ_OF_COMMON, own) if (common / part).is_dir() or (common / part).is_file()]
        return {f"{COMMON}/{part}": common / part for part in there}

    def moved(self) -> dict[str, str]:
        """Host folder -> its path inside, for each name of the folder."""
        names = {os.fspath(self.root): SOURCE, os.path.realpath(self.root): SOURCE}
        return names | ({os.fspath(self.common): COMMON} if self.common else {})


def locate(path: Path) -> RepositoryPlace:
    """The nearest repository at or above `path`, or the folder itself if there is none; found without reading any
    configuration. Of a repository around the named folder only that part and the git folder are mounted. Raises
    `SourceError` if it uses a folder that is not its own."""
    root = enclosing_repository(path)
    if root is None:
        return RepositoryPlace(path)
    if root == Path(root.anchor):
        raise SourceError(f"{path} lies in a repository of the whole machine", OWN)
    return RepositoryPlace(root, *_git_folder(root), path.relative_to(root).as_posix())


def at_url(path: Path) -> RepositoryPlace | None:
    """The repository at the path of a `file:` URL, as git finds it; None if there is none. Raises `SourceError`."""
    for folder in (path, path.parent / f"{path.name}.git") if path.name else (path,):
        if os.path.lexists(folder / ".git") or is_bare(folder):
            git, common = _git_folder(folder)
            return RepositoryPlace(folder, git, common)
    return None


def enclosing_repository(path: Path) -> Path | None:
    """The nearest work tree at or above `path`, or `path` itself if it is a git folder. What only lies in a git folder
    is part of no work tree, and a few files make a git folder of any folder. Raises `SourceError` for one around the
    folder that is neither its owner's nor the user's nor root's: it would say what the user's own files are."""
    for folder in (path, *path.parents):
        try:
            if os.path.lexists(folder / ".git"):
                if folder != path:
                    _refuse_another_s(folder / ".git", path)
                return folder
            if is_bare(folder):
                return folder if folder == path else None
        except OSError:
            return None
    return None


def _refuse_another_s(git: Path, path: Path) -> None:
    owner = git.lstat().st_uid
    if owner not in (0, os.geteuid(), path.stat().st_uid):
        raise SourceError(
            f"{path} lies in a repository of another user, {git.parent} (uid {owner})",
            "Copy the folder to a place of your own, or name that repository if you mean it.",
        )


def is_bare(folder: Path) -> bool:
    """Whether the folder looks like a git folder."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _git_folder(root: Path) -> tuple[str, Path | None]:
    """(the git folder as seen inside, a folder outside of `root` that holds it)"""
    link = root / ".git"
    if not os.path.lexists(link):
        return SOURCE, None
    mode = link.lstat().st_mode
    if stat.S_ISDIR(mode):
        return f"{SOURCE}/.git", None
    if stat.S_ISLNK(mode):
        raise SourceError(f"{link} is a link to {str(link.readlink())[:200]!r}: another repository", OWN)
    named = os.fsdecode(small(link) or b"").removeprefix("gitdir:").strip()
    if not named or "\0" in named or "\n" in named:
        raise SourceError(f"{link} is not a git folder and does not name one", OWN)
    target = Path(os.path.realpath(root / named))
    for common in (_of_worktree(root, target), _of_submodule(root, target)):
        if common is not None:
            return f"{COMMON}/{target.relative_to(common).as_posix()}", common
    raise SourceError(f"{link} names {named[:200]!r}, another repository, which does not know {root}", OWN)


def _of_worktree(root: Path, target: Path) -> Path | None:
    """The main repository's git folder, if it lists `root` as its worktree."""
    common = target.parent.parent
    back, shared = (os.fsdecode(small(target / name) or b"").strip() for name in ("gitdir", "commondir"))
    if target.parent.name != "worktrees" or not _same(target / back, Path(os.path.realpath(root), ".git")):
        return None
    return common if shared and _same(target / shared, common) else None


def _of_submodule(root: Path, target: Path) -> Path | None:
    """The submodule's git folder, if it lies in the git folder of a repository around `root` and names `root` as its
    checkout."""
    parts = target.parts
    if ".git" not in parts or "modules" not in parts[parts.index(".git") :]:
        return None
    around = Path(*parts[: parts.index(".git")])
    config = os.fsdecode(small(target / "config", MAX_CONFIG) or b"")
    back = WORK_TREE.search(config)
    real = Path(os.path.realpath(root))
    if back is None or not real.is_relative_to(around) or not _same(target / back[1].strip().strip('"'), real):
        return None
    return target


def refuse_links(git: Path) -> None:
    """Raises `SourceError` if a part of a git folder is a link: it would bring in the same part of another one."""
    for name in READ_OF_COMMON:
        path = git / name
        if path.is_symlink():
            raise SourceError(f"its git folder's {name} is a link to {str(path.readlink())[:200]!r}", OWN)


def _same(path: Path, wanted: Path) -> bool:
    return "\0" not in os.fspath(path) and os.path.realpath(path) == os.fspath(wanted)


def small(path: Path, most: int = MAX_NAMED) -> bytes | None:
    """The content of a regular file of at most `most` bytes; None for anything else. Does not follow links or wait for
    pipes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or os.fstat(descriptor).st_size > most:
            return None
        return stream.read(most)
