"""From the source mounted in this sandbox to one commit with its history, in a store of ours. Runs inside only."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from selfplay import subprocesses
from selfplay.formatting import count
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.gitdir import GitDir, GitError, failure, require_commit
from selfplay.repository.fetching.layers import DEPTH
from selfplay.repository.fetching.local import adopt, copy_plain, walk
from selfplay.repository.fetching.reading import FETCHED, SOURCE, WORK, ReadOrder
from selfplay.repository.fetching.trees import measured
from selfplay.repository.fetching.uncommitted import uncommitted
from selfplay.repository.fetching.versions import day_of, version_from_tags
from selfplay.repository.files.archive import unpack


@dataclass(frozen=True)
class Checkout:
    """The result of a fetch: `commit` in `store` with its history, and the `revision` as users name it.

    `version`: the release that the tree claims to be (for tools that read it from tags), None when unknown. `local`:
    the folder of a path source. `dated`: the day of the commit or the release, empty when unknown.
    """

    store: GitDir
    commit: str
    revision: str
    version: str | None = None
    notes: tuple[str, ...] = ()
    local: Path | None = None
    dated: str = ""


def take(order: ReadOrder) -> Checkout:
    """Fetch what `order` names into a new store. Raises `SourceError`."""
    Path(WORK).mkdir(parents=True)
    if order.kind == "checkout":
        return _local(order)
    store = GitDir.create(Path(WORK, "store"))
    if order.kind == "fetched":
        return _fetched(order, store)
    if order.kind == "releases":
        return _releases(order, store)
    if order.kind == "tree":
        return _tree(order, store)
    return _plain_folder(order, store, Path(SOURCE), ())


def _fetched(order: ReadOrder, store: GitDir) -> Checkout:
    """HEAD or a revision of a remote whose packs the host received."""
    borrow(store)
    commit = store.resolve(order.commit) if order.commit else store.resolve(order.revision)
    if commit is None:
        raise SourceError(
            f"{order.shown} has no revision {order.revision!r}", "Name a branch, a tag or a commit that exists."
        )
    version = version_from_tags(store, list(order.tags), commit)
    return Checkout(store, commit, order.revision or commit[:12], version, dated=day_of(store, commit))


def borrow(store: GitDir) -> None:
    """Let the store use the objects that the host fetched."""
    (store.path / "objects" / "info").mkdir(exist_ok=True)
    (store.path / "objects" / "info" / "alternates").write_text(f"{FETCHED}/objects\n")
    if (shallow := Path(FETCHED, "shallow")).exists():
        (store.path / "shallow").write_bytes(shallow.read_bytes())


def _local(order: ReadOrder) -> Checkout:
    """HEAD of the checkout at a path, or the folder as one commit. Uncommitted changes are not included, but noted."""
    path, root = order.shown, Path(SOURCE)
    try:
        source = adopt(Path(order.git), Path(WORK, "source.git"), order.moved)
    except SourceError as error:
        raise SourceError(f"{path} cannot be read as a git repository: {error.message}", error.hint) from error
    store = GitDir.create(Path(WORK, "store"))
    if order.at_url:
        return _at_revision(order, store, source)
    try:
        _look(source, order.subfolder)
        _copy(store, source, "HEAD", depth=DEPTH + 1 if order.subfolder == "." else None)
    except GitError as error:
        if "couldn't find remote ref HEAD" in error.stderr:
            note = f"{path} has no commit yet: its files were taken as they are"
            return _plain_folder(order, store, root / order.subfolder, (note,))
        raise SourceError(f"{path} cannot be read as a git repository: {failure(error)}") from error
    head = require_commit(store, "FETCH_HEAD", path)
    version = version_from_tags(store, _tags(store, source), head)
    if order.subfolder == ".":
        notes = uncommitted(store, head, order)
        return Checkout(store, head, head[:12], version, notes, local=root, dated=day_of(store, head))
    commit = _subfolder_history(store, head, order.subfolder)
    if commit is None:
        note = f"{path} is not tracked by the repository around it: its files were taken as they are"
        return _plain_folder(order, store, root / order.subfolder, (note,))
    around = next(host for host, inside in order.moved.items() if inside == SOURCE)
    notes = (f"{path} is a sub-folder of {around}: only its part of the history is used",)
    notes += uncommitted(store, head, order)
    inner = root / order.subfolder
    return Checkout(store, commit, head[:12], version, notes, local=inner, dated=day_of(store, head))


def _look(source: GitDir, inside: str) -> None:
    """Check the wanted tree, if there is one, before git walks through it. Raises `SourceError`."""
    wanted = ""
    with contextlib.suppress(GitError):
        wanted = source.line("rev-parse", "--verify", "--quiet", "HEAD^{tree}" if inside == "." else f"HEAD:{inside}")
    if wanted:
        measured(source, wanted)


def _at_revision(order: ReadOrder, store: GitDir, source: GitDir) -> Checkout:
    """HEAD or a revision of a local repository, given as a URL."""
    try:
        _copy(store, source, order.revision or "HEAD", depth=DEPTH + 1)
        commit = require_commit(store, "FETCH_HEAD", order.shown)
    except GitError as error:
        if not order.revision:
            hint = "Check the URL and your access to it."
            raise SourceError(f"{order.shown} cannot be fetched: {failure(error)}", hint) from error
        commit = require_commit(source, order.revision, order.shown)
        _copy(store, source, commit, depth=None)
    version = version_from_tags(store, _tags(store, source), commit)
    return Checkout(store, commit, order.revision or commit[:12], version, dated=day_of(store, commit))


def _copy(store: GitDir, source: GitDir, revision: str, *, depth: int | None) -> None:
    """Fetch a revision from another of our repositories."""
    bounded = [f"--depth={depth}"] if depth else []
    options = ["--quiet", "--no-tags", *bounded, "--end-of-options"]
    store.run("fetch", *options, source.path.as_uri(), revision, settings={"protocol.file.allow": "always"})


def _tags(store: GitDir, source: GitDir) -> list[str]:
    try:
        listed = store.run("ls-remote", "--tags", source.path.as_uri(), settings={"protocol.file.allow": "always"})
    except GitError:
        return []
    return [line for line in os.fsdecode(listed).split("\n") if line]


def remove(folder: Path) -> None:
    """Delete a folder of ours, since the next one needs its disk space."""
    subprocesses.run(["rm", "-rf", "--", folder.absolute()])


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


def _plain_folder(order: ReadOrder, store: GitDir, folder: Path, notes: tuple[str, ...]) -> Checkout:
    """The files of a folder without git, as one commit. Ignored files, caches and special files are left out."""
    staging = Path(WORK, "staging")
    special = copy_plain(folder, staging, everything=False)
    if next(walk(staging), None) is None:
        raise SourceError(f"{order.shown} holds no files", "Name a folder with a project in it.")
    message = f"{Path(order.shown).name} as it was found\n"
    commit = store.commit_tree(store.write_folder(staging, ignored=False), message)
    if special:
        files = count(len(special), "special or unreadable file was", "special or unreadable files were")
        notes += (f"{files} left out ({', '.join(special[:3])})",)
    return Checkout(store, commit, "folder", None, notes, local=folder)


def _tree(order: ReadOrder, store: GitDir) -> Checkout:
    """All files of a folder, as the commit of a tree that an earlier checkout wrote."""
    staging = Path(WORK, "staging")
    copy_plain(Path(SOURCE), staging, everything=True)
    commit = store.commit_tree(store.write_folder(staging), "The original tree\n")
    return Checkout(store, commit, order.revision or "original", order.commit or None, local=Path(SOURCE))


def _releases(order: ReadOrder, store: GitDir) -> Checkout:
    """The last release as HEAD, with earlier releases behind it, one commit each. A release that cannot be unpacked
    becomes a note, unless it is the last."""
    notes = list(order.notes)
    parents: list[str] = []
    for day, release in enumerate(order.releases):
        if not release.archive:
            continue
        folder = Path(WORK, f"release-{day}")
        last = day == len(order.releases) - 1
        try:
            dropped = unpack(Path(release.archive), folder)
            tree = store.write_folder(folder)
        except (SourceError, GitError) as error:
            told = error.message if isinstance(error, SourceError) else failure(error)
            if last:
                raise SourceError(f"{order.shown} {release.version}: {told}") from error
            notes.append(f"release {release.version} is missing from the history: {told}")
            continue
        finally:
            remove(folder)
        notes += dropped if last else []
        parents = [store.commit_tree(tree, f"{order.name} {release.version}\n", parents, day=day)]
    version = order.releases[-1].version
    return Checkout(store, parents[0], version, version, tuple(notes), dated=order.dated)
