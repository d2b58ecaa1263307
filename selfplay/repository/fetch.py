"""A source -> one commit with its history, in a store of ours. Nothing of the source's code or configuration runs."""

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from selfplay.repository.disk import OF_WRITING
from selfplay.repository.errors import SourceError
from selfplay.repository.gitdir import GitDir, GitError, failure, require_commit, trusting
from selfplay.repository.source import GitSource, PathSource, PypiSource, Source

DEPTH = 200
"""How many commits of history are kept behind HEAD."""
CACHES = {"__pycache__", ".venv", "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", "node_modules"}
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Checkout:
    """The result of a fetch: `commit` in `store` with its history, and the `revision` as a person names it.

    `version`: the release that the tree claims to be (for tools that read it from tags), None when unknown. `local`:
    the folder of a path source; `url`: the base for submodules with relative URLs.
    """

    store: GitDir
    commit: str
    revision: str
    version: str | None = None
    notes: tuple[str, ...] = ()
    local: Path | None = None
    url: str | None = None


def fetch(source: Source, store: GitDir, *, downloads: Path, releases: int, progress: Progress) -> Checkout:
    """Bring `source` into `store`. Raises `SourceError`."""
    if isinstance(source, PathSource):
        return fetch_path(source, store)
    if isinstance(source, GitSource):
        progress(f"fetching {source}")
        return fetch_git(source, store)
    from selfplay.repository.pypi import fetch_pypi  # requests is slow to import, and only this source needs it

    assert isinstance(source, PypiSource)
    return fetch_pypi(source, store, downloads=downloads, releases=releases, progress=progress)


def fetch_git(source: GitSource, store: GitDir) -> Checkout:
    """HEAD or `source.rev` of a remote, `DEPTH` commits deep. Raises `SourceError`."""
    wanted = source.rev or "HEAD"
    try:
        _fetch(store, source.url, wanted, depth=DEPTH + 1)
        commit = require_commit(store, "FETCH_HEAD", str(source))
    except GitError as error:
        if source.rev is None:
            raise SourceError(
                f"{source} cannot be fetched: {failure(error)}", "Check the URL and your access to it."
            ) from error
        commit = _fetch_everything(source, store)
    return Checkout(
        store, commit, source.rev or commit[:12], _version_from_tags(store, source.url, commit), url=source.url
    )


def _fetch_everything(source: GitSource, store: GitDir) -> str:
    """For an abbreviated commit, which no server looks up: fetch all branches and tags, then resolve it here."""
    try:
        _fetch(store, source.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
    except GitError as error:
        raise SourceError(
            f"{source} cannot be fetched: {failure(error)}", "Check the URL and your access to it."
        ) from error
    return require_commit(store, source.rev or "HEAD", str(source))


def _fetch(store: GitDir, url: str, *refspecs: str, depth: int | None = None) -> None:
    bounded = [f"--depth={depth}"] if depth else []
    options = ["--quiet", "--no-tags", *bounded, *trusting(url)]
    store.run("fetch", *options, "--end-of-options", url, *refspecs, user_config=True)


def _version_from_tags(store: GitDir, url: str, commit: str) -> str | None:
    """The newest release tagged in the fetched history of `commit`, else the newest tagged at all."""
    try:
        tags_of = ["ls-remote", "--tags", *trusting(url), "--end-of-options", url]
        listing = os.fsdecode(store.run(*tags_of, user_config=True))
        past = set(store.line("rev-list", commit).split())
    except GitError:
        return None
    tags: dict[str, str] = {}
    for line in listing.splitlines():
        oid, _, name = line.partition("\trefs/tags/")
        tags[name.removesuffix("^{}")] = oid  # the peeled line of an annotated tag follows and wins
    versions = {name: version for name in tags if (version := _tag_version(name))}
    reached = [version for name, version in versions.items() if tags[name] in past]
    best = max(reached or versions.values(), default=None)
    return str(best) if best else None


def _tag_version(name: str) -> Version | None:
    digits = name[next((at for at, character in enumerate(name) if character.isdigit()), len(name)) :]
    try:
        return Version(digits)
    except InvalidVersion:
        return None


def fetch_path(source: PathSource, store: GitDir) -> Checkout:
    """HEAD of the checkout at a path, or the folder as one commit. Uncommitted changes are noted, but not included."""
    path = source.path
    root = _enclosing_repository(path)
    if root is None:
        return _plain_folder(path, store, ())
    try:
        _fetch(store, root.as_uri(), "HEAD", depth=None if path != root else DEPTH + 1)
    except GitError as error:
        if "couldn't find remote ref HEAD" in error.stderr:
            return _plain_folder(path, store, (f"{path} has no commit yet: its files were taken as they are",))
        raise SourceError(f"{path} cannot be read as a git repository: {failure(error)}") from error
    head = require_commit(store, "FETCH_HEAD", str(path))
    version = _version_from_tags(store, root.as_uri(), head)
    if path == root:
        notes = _uncommitted(store, head, root)
        return Checkout(store, head, head[:12], version, notes, local=path, url=root.as_uri())
    inside = path.relative_to(root).as_posix()
    commit = _subfolder_history(store, head, inside)
    if commit is None:
        note = f"{path} is not tracked by the repository around it: its files were taken as they are"
        return _plain_folder(path, store, (note,))
    notes = (f"{path} is a sub-folder of {root}: only its part of the history is used",)
    return Checkout(store, commit, head[:12], version, notes + _uncommitted(store, head, root, inside), local=path)


def _enclosing_repository(path: Path) -> Path | None:
    """The nearest folder at or above `path` with a `.git`; found by looking, so that no configuration is read."""
    for folder in (path, *path.parents):
        try:
            if (folder / ".git").exists() or _is_bare(folder):
                return folder
        except OSError:
            return None
    return None


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _uncommitted(store: GitDir, head: str, root: Path, inside: str = ".") -> tuple[str, ...]:
    """One note when tracked files differ from HEAD or untracked ones exist, compared with our git settings."""
    if not (root / ".git").exists():
        return ()
    index = store.path / "status-index"
    try:
        store.run("read-tree", head, index=index)
        store.run("update-index", "-q", "--refresh", work_tree=root, index=index, strict=False)
        changed = store.run("diff-files", "--name-only", "-z", "--ignore-submodules=all", "--", inside,
                            work_tree=root, index=index)  # fmt: skip
        new = store.run("ls-files", "--others", "--exclude-standard", "--directory", "-z", "--", inside,
                        work_tree=root, index=index)  # fmt: skip
    except GitError:
        return ()
    finally:
        index.unlink(missing_ok=True)
    paths = [os.fsdecode(path) for path in (changed + new).split(b"\0") if path]
    if not paths:
        return ()
    shown = ", ".join(paths[:3]) + (", ..." if len(paths) > 3 else "")
    return (f"{len(paths)} uncommitted changes were not taken ({shown}): commit them to include them",)


def _subfolder_history(store: GitDir, head: str, inside: str) -> str | None:
    """The commits that touched `inside`, each rewritten to hold only that folder; None when HEAD lacks it."""
    if not store.line("ls-tree", "-d", head, "--", inside):
        return None
    commits = store.line("rev-list", f"--max-count={DEPTH}", "--reverse", head, "--", inside).split()
    parent: list[str] = []
    for commit in commits:
        try:
            tree = store.line("rev-parse", "--verify", "--quiet", f"{commit}:{inside}")
        except GitError:
            continue  # this commit deleted the folder
        raw = store.run("cat-file", "commit", commit)
        headers, _, message = raw.partition(b"\n\n")
        people = [line for line in headers.split(b"\n") if line.startswith((b"author ", b"committer "))]
        body = [b"tree " + tree.encode(), *(b"parent " + oid.encode() for oid in parent), *people]
        parent = [
            store.line("hash-object", "-t", "commit", "-w", "--stdin", stdin=b"\n".join(body) + b"\n\n" + message)
        ]
    return parent[0] if parent else None


def _plain_folder(path: Path, store: GitDir, notes: tuple[str, ...]) -> Checkout:
    """The files of a folder without git, as one commit. Ignored files, caches and special files are left out."""
    staging = store.path / "staging"
    try:
        special = _copy_plain(path, staging)
        if not any(staging.rglob("*")):
            raise SourceError(f"{path} holds no files", "Name a folder with a project in it.")
        commit = store.commit_tree(store.write_folder(staging, ignored=False), f"{path.name} as it was found\n")
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    if special:
        notes += (f"{len(special)} special or unreadable files were left out ({', '.join(special[:3])})",)
    return Checkout(store, commit, "folder", None, notes, local=path)


def _copy_plain(source: Path, target: Path) -> list[str]:
    """Copy files and links without following links; returns what could not be copied."""
    left_out = []
    for folder, names, files in os.walk(source):
        names[:] = sorted(name for name in names if name.lower() != ".git" and name not in CACHES)
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        links = [name for name in names if (Path(folder) / name).is_symlink()]
        for name in [*links, *files]:
            path = Path(folder) / name
            try:
                kind = path.lstat().st_mode
                if stat.S_ISREG(kind) or stat.S_ISLNK(kind):
                    shutil.copy2(path, here / name, follow_symlinks=False)
                    continue
            except OSError as error:
                if error.errno in OF_WRITING:
                    raise
            left_out.append(path.relative_to(source).as_posix())
    return left_out
