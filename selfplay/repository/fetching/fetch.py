"""From a user's source to a sandbox in which it has been read. The host fetches and downloads, but does not look at the
content."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selfplay.formatting import Say
from selfplay.owned_folders import FolderOfAnother, opened_folder
from selfplay.repository.cache import give
from selfplay.repository.errors import CacheError, SourceError
from selfplay.repository.fetching.copying import RUN_SECONDS, SOURCE_SECONDS, copied
from selfplay.repository.fetching.find_repository import RepositoryPlace, at_url, locate
from selfplay.repository.fetching.gitdir import GitDir, GitError
from selfplay.repository.fetching.local import CACHES
from selfplay.repository.fetching.nobody import as_nobody
from selfplay.repository.fetching.quarantine import Quarantine, quarantine
from selfplay.repository.fetching.reading import FETCHED, LAYER, SOURCE, ReadOrder, SourceFound
from selfplay.repository.fetching.remotes import remote_of
from selfplay.repository.fetching.source import GitSource, PathSource, PypiSource, Source
from selfplay.repository.fetching.submodules import receive_submodule
from selfplay.repository.fetching.transport import AS_THE_USER, Access, located, receive
from selfplay.sandbox import Backend, Mount

MAX_ROUNDS = 4
"""How often a sandbox is asked: three levels of submodules, and the answer."""
SUBMODULES_SECONDS, SUBMODULES_BYTES = 1800.0, 4 << 30
"""After so much no further submodule is fetched."""


@dataclass(frozen=True)
class FetchTask:
    """What a sandbox gets and is asked. `store`: where the host fetches; `whose`: the uid that owns the folders in
    `mounts`; `anonymous`: of its `GitSource`."""

    order: ReadOrder
    store: GitDir
    mounts: tuple[Mount, ...] = ()
    whose: int = 0
    anonymous: bool = False


@contextmanager
def reading(
    source: Source, *, backend: Backend, work: Path, downloads: Path, releases: int, progress: Say
) -> Iterator[tuple[SourceFound, Quarantine]]:
    """What `source` holds, and the sandbox from which its layers can be taken. `work`: an empty folder of ours. Raises
    `SourceError`."""
    store = _store(work)
    with opened(task_of(source, store, downloads, releases, progress), backend, work) as found:
        yield found


@contextmanager
def reading_tree(
    folder: Path, revision: str, version: str | None, *, backend: Backend, work: Path
) -> Iterator[tuple[SourceFound, Quarantine]]:
    """The same for a plain tree, with all its files. Raises `SourceError`."""
    order = ReadOrder("tree", str(folder), revision=revision, commit=version or "", closed=_root())
    task = FetchTask(order, _store(work), (Mount(folder, SOURCE),), folder.stat().st_uid)
    with opened(task, backend, work) as found:
        yield found


def _store(work: Path) -> GitDir:
    """A new store in a folder of ours. Raises `CacheError`: nothing of a source has a part in it."""
    try:
        return GitDir.create(work / "store")
    except GitError as error:
        said = error.stderr.strip().rpartition("\n")[2][:300]
        raise CacheError(f"the cache folder {work.parent} cannot be used: {said}", "Is the disk full?") from error


def bring_tree(layer: Path, tree_hash: str, target: Path, backend: Backend) -> None:
    """Write the files of one tree of a `.git` layer into a new folder. Raises `SourceError`."""
    with quarantine(backend, (Mount(layer, LAYER),), str(layer)) as inside:
        inside.read(ReadOrder("layer", str(layer), commit=tree_hash))
        inside.tree(target)


def task_of(source: Source, store: GitDir, downloads: Path, releases: int, progress: Say) -> FetchTask:
    """Locate, fetch or download the source. Raises `SourceError`."""
    if isinstance(source, PathSource):
        _refuse_strange_link(source.path)
        return local(locate(source.path), str(source), store)
    progress(f"fetching {source}") if isinstance(source, GitSource) else None
    if isinstance(source, GitSource):
        return _of_url(source, store)
    from selfplay.repository.fetching.pypi import download  # requests is slow to import, and only this source needs it

    assert isinstance(source, PypiSource)
    return FetchTask(*download(source, store, downloads=downloads, releases=releases, progress=progress))


def local(place: RepositoryPlace, shown: str, store: GitDir) -> FetchTask:
    """A folder of this machine."""
    order = ReadOrder(
        "checkout" if place.git else "folder", shown, git=place.git, subfolder=place.subfolder, moved=place.moved(),
        closed=_root(),
    )  # fmt: skip
    mounts = tuple(Mount(folder, where) for where, folder in place.shown().items())
    return FetchTask(order, store, mounts, place.root.stat().st_uid)


def _refuse_strange_link(folder: Path) -> None:
    """Raises `SourceError` for a folder to which a link of another user leads: what he may not read himself would come
    into a run, and be shared with it."""
    try:
        os.close(opened_folder(folder))
    except FolderOfAnother as error:
        raise SourceError(error.message, "Name the folder that it leads to, if you mean that.") from error
    except OSError:  # there is none, which is told in other words
        return


def _of_url(source: GitSource, store: GitDir) -> FetchTask:
    parts = urlsplit(source.url)
    if parts.scheme.lower() == "file":
        _refuse_strange_link(Path(unquote(parts.path)))
        place = at_url(Path(unquote(parts.path)))
        if place is None:
            message = f"{source} cannot be fetched: {unquote(parts.path)!r} does not appear to be a git repository"
            raise SourceError(message, "Check the URL and your access to it.")
        task = local(place, str(source), store)
        return replace(task, order=replace(task.order, revision=source.rev or "", at_url=True))
    access = access_to(source)
    found, tags = located(store, source, access)
    commit = receive(store, found, access)
    order = ReadOrder("fetched", str(source), commit=commit, revision=source.rev or "", url=source.url, tags=tags)
    return FetchTask(order, store, anonymous=source.anonymous)


def access_to(source: GitSource) -> Access:
    """As whom the source is asked. Raises `SourceError` for one that a stranger named, on a host that is not public."""
    if not source.anonymous:
        return AS_THE_USER
    remote = remote_of(source.url)
    access = "it is no remote repository" if remote is None else as_nobody(remote)
    if isinstance(access, str):
        raise SourceError(f"{source} is not fetched: {access}", "Name it as the source yourself.")
    return access


def _submodule(task: FetchTask, url: str, commit: str, until: float) -> str:
    """Why it was not fetched; empty if it was. All of a source share the time `until` and the bytes."""
    if time.monotonic() > until:
        return f"the submodules of a source may take {SUBMODULES_SECONDS / 60:.0f} min together"
    if task.store.size() > SUBMODULES_BYTES:
        return f"the submodules of a source may take {SUBMODULES_BYTES >> 30} GiB together"
    return receive_submodule(task.store, url, commit, task.order.url, task.anonymous)


def _root() -> bool:
    """Whether sandboxes run as another user than the one that may read the source."""
    return os.geteuid() == 0


@contextmanager
def opened(task: FetchTask, backend: Backend, work: Path) -> Iterator[tuple[SourceFound, Quarantine]]:
    """Read the task's source. Files that only root can read are first copied for the sandbox's user."""
    closed = ""
    with _started(task, backend) as inside:
        found = _asked(inside, task, backend)
        if isinstance(found, SourceFound):
            yield found, inside
            return
        closed = found
    seconds = RUN_SECONDS if task.order.kind == "tree" else SOURCE_SECONDS
    shown = f"{task.order.shown} ({closed}) has files that only root can read, and"
    mounts = copied(task.mounts, task.whose, work, backend.owner(), shown, seconds, skipped=CACHES)
    task = replace(task, mounts=mounts, order=replace(task.order, closed=False))
    with _started(task, backend) as inside:
        found = _asked(inside, task, backend)
        assert isinstance(found, SourceFound)
        yield found, inside


@contextmanager
def _started(task: FetchTask, backend: Backend) -> Iterator[Quarantine]:
    give(task.store.path, backend.owner())
    with quarantine(backend, (*task.mounts, Mount(task.store.path, FETCHED)), task.order.shown) as inside:
        yield inside


def _asked(inside: Quarantine, task: FetchTask, backend: Backend) -> SourceFound | str:
    """What was found, after the host fetched the submodules asked for; or the name of a file that cannot be read
    inside."""
    order, until = task.order, time.monotonic() + SUBMODULES_SECONDS
    for _ in range(MAX_ROUNDS):
        answer = inside.read(order)
        if answer.found is not None:
            return answer.found
        if answer.closed:
            return answer.closed
        failed = {one.key: _submodule(task, one.url, one.commit, until) for one in answer.wanted}
        give(task.store.path, backend.owner())
        told = {key: reason or "was fetched without the commit" for key, reason in failed.items()}
        order = replace(order, failed={**order.failed, **told})
    raise SourceError(f"{order.shown} has submodules nested too deeply")
