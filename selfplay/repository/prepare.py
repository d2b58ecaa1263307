"""The entry to this package: SOURCE in, `Prepared` out. Fetch, tidy, check out, build or reuse, and describe."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from selfplay.repository.cache import build_once, check_cache, default_cache, give
from selfplay.repository.detect import detect
from selfplay.repository.disk import named
from selfplay.repository.environment import SYSTEM_PATH, build, python_mounts
from selfplay.repository.errors import BuildFailed, SourceError
from selfplay.repository.fetch import Checkout, fetch, fetch_path
from selfplay.repository.gitdir import GitDir, settings_env
from selfplay.repository.history import Tidied, tidy, write_history, write_tree
from selfplay.repository.image import keep_the_rest, take_source
from selfplay.repository.installing import ENV, TOOLS, Progress, Request
from selfplay.repository.interpreters import Interpreter, choose, found_inside
from selfplay.repository.prepared import Prepared
from selfplay.repository.source import ImageSource, PathSource, parse_source
from selfplay.sandbox import Backend, Mount
from selfplay.sandbox.owners import scratch, sweep

ROOM_VERSION = 1
"""Raised when what this package builds changes, so that older environments are not mistaken for new ones."""


def prepare(
    source_text: str,
    *,
    backend: Backend,
    cache: Path | None = None,
    releases: int = 12,
    setup: str | None = None,
    python: str | None = None,
    progress: Progress = lambda line: None,
) -> Prepared:
    """Fetch `source_text` and build its environment, or reuse a built one.

    `setup` replaces the detected installation steps, `python` (a version or a path) the choice of interpreter. Raises
    `SourceError`, `NoInterpreter`, `BuildFailed`, `CacheError`.
    """
    source = parse_source(source_text)
    with _workshop(cache) as (cache, store):
        if isinstance(source, ImageSource):
            ready, place = _from_image(backend, source.path, store)
            checkout = fetch_path(PathSource(ready), store)
            return _prepare(f"image:{place}", checkout, backend, cache, setup, python, (), progress, ready)
        checkout = fetch(source, store, downloads=cache / "downloads", releases=releases, progress=progress)
        return _prepare(str(source), checkout, backend, cache, setup, python, (), progress)


def rebuild(
    original: Path,
    recorded: Mapping[str, Any],
    *,
    backend: Backend,
    cache: Path | None = None,
    progress: Progress = lambda line: None,
) -> Prepared:
    """The `Prepared` for `DIR/original/`, a plain tree, using the setup that `Prepared.recorded` kept.

    Raises `SourceError` when the tree is not the recorded one.
    """
    if not original.is_dir():
        raise SourceError(f"{original} is missing", "It is written by `selfplay curriculum` beside the bugs.")
    with _workshop(cache) as (cache, store):
        tree = store.write_folder(original)
        if recorded.get("tree_hash") not in (None, tree):
            raise SourceError(
                f"{original} is not the recorded tree ({tree[:12]}, recorded {str(recorded['tree_hash'])[:12]})",
                "Restore it, or make the curriculum again.",
            )
        commit = store.commit_tree(tree, "The original tree\n")
        revision = str(recorded.get("revision", "original"))
        checkout = Checkout(store, commit, revision, recorded.get("version"), local=original)
        python, lock = recorded.get("python"), tuple(recorded.get("lock", ()))
        source = str(recorded.get("source", original))
        ready = None
        if source.startswith("image:"):
            ready, _ = _from_image(backend, source.removeprefix("image:"), store)
        return _prepare(source, checkout, backend, cache, recorded.get("setup"), python, lock, progress, ready)


def write_original(prepared: Prepared, folder: Path) -> None:
    """Write the tracked files of a prepared tree into a new `folder`: what `rebuild` reads again."""
    write_tree(GitDir(prepared.history / ".git"), prepared.tree_hash, folder)


@contextmanager
def _workshop(cache: Path | None) -> Iterator[tuple[Path, GitDir]]:
    """The cache folder, checked, and beside it a new git store that is removed afterwards."""
    folder = cache or default_cache()
    check_cache(folder)
    with named(folder):
        (folder / "work").mkdir(exist_ok=True)
        sweep(folder / "work")
        with scratch(folder / "work") as work:
            yield folder, GitDir.create(work / "store")


def _prepare(
    source: str,
    checkout: Checkout,
    backend: Backend,
    cache: Path,
    setup: str | None,
    python: str | None,
    lock: tuple[str, ...],
    progress: Progress,
    ready: Path | None = None,
) -> Prepared:
    """`ready`: the source from the backend's image; the image has its environment, so none is built."""
    tidied = tidy(checkout)
    store = checkout.store
    scratch = store.path / "checkout"
    write_tree(store, tidied.tree_hash, scratch)
    plan = detect(scratch)
    image = backend.image_id
    interpreter = _interpreter(plan.requires_python, python, backend, image) if plan.language == "python" else None
    request = Request(plan, interpreter, tidied.tracked, setup, checkout.version, lock)
    key = _key(tidied.tree_hash, request, image, ready is not None)

    def make(staging: Path) -> None:
        shutil.move(scratch, staging / "tree")
        if ready is not None:
            take_over(staging, ready, tidied.tracked, backend)
            return
        with _log_kept(staging, cache / "logs" / f"{key}.log"):
            build(staging, request, backend, progress)

    folder = build_once(cache / "environments" / key, make, progress)
    record = json.loads((folder / "environment.json").read_text())
    history = _history(folder, tidied, checkout, record["generated"], backend, progress)
    recorded = {
        "source": source, "revision": checkout.revision, "commit": tidied.commit, "tree_hash": tidied.tree_hash,
        "setup": setup, "python": interpreter.version if interpreter else None, "version": checkout.version,
        "room": ROOM_VERSION, "lock": record["lock"],
        **({"image": image} if image else {}),
    }  # fmt: skip
    prepared = Prepared(
        source, checkout.revision, tidied.commit, tidied.tree_hash, plan.language, folder / "tree", history,
        env=_environment(bool(interpreter), ready is not None), recorded=recorded,
        notes=(*checkout.notes, *tidied.notes, *record["notes"]),
    )  # fmt: skip
    if interpreter is None or ready is not None:
        return prepared
    mounts = (Mount(folder / "env", ENV), Mount(folder / "tools", TOOLS), *python_mounts(interpreter))
    return replace(prepared, mounts=mounts, bytecode=folder / "bytecode")


def _from_image(backend: Backend, path: str | None, store: GitDir) -> tuple[Path, str]:
    """(the source copied out of the backend's image, its place there)"""
    ready = store.path.with_name("image")
    ready.mkdir()
    place = take_source(backend, path, ready)
    return ready, place


def _interpreter(requires: str | None, python: str | None, backend: Backend, image: str) -> Interpreter:
    return choose(requires, python, found_inside(backend) if image else None)


def take_over(staging: Path, ready: Path, tracked: Mapping[str, str], backend: Backend) -> None:
    """Use the image's own environment: only the untracked files are added to the tree."""
    generated = keep_the_rest(ready, staging / "tree", tracked)
    give(staging / "tree", backend.owner())
    (staging / "environment.json").write_text(json.dumps({"notes": [], "lock": [], "generated": generated}, indent=1))


def _key(tree_hash: str, request: Request, image: str, ready: bool) -> str:
    """The content key of an environment. Constraints are left out: they only record what an equal build chose
    before."""
    parts = [
        ROOM_VERSION, tree_hash, asdict(request.plan), request.setup, request.version,
        [request.interpreter.version, str(request.interpreter.executable)] if request.interpreter else None,
        *([image, ready] if image else []),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


@contextmanager
def _log_kept(staging: Path, log: Path) -> Iterator[None]:
    """Save a failed build's log outside the staging folder, and name it in the error."""
    try:
        yield
    except BuildFailed as error:
        log.parent.mkdir(exist_ok=True)
        if (staging / "build.log").is_file():
            shutil.copyfile(staging / "build.log", log)
        hint = error.hint or "Give the commands that install it with --setup."
        raise BuildFailed(error.message, f"{hint} The whole log: {log}") from error


def _history(
    folder: Path, tidied: Tidied, checkout: Checkout, generated: list[str], backend: Backend, progress: Progress
) -> Path:
    """The `.git` layer for this commit over this environment's tree."""

    def make(staging: Path) -> None:
        write_history(checkout.store, tidied.commit, folder / "tree", generated, staging)
        give(staging, backend.owner())

    return build_once(folder / "histories" / tidied.commit, make, progress)


def _environment(python: bool, ready: bool) -> dict[str, str]:
    """The variables of every command on this repository: they make runs repeatable, and make git trust `/testbed`. An
    image that is `ready` keeps its own search path."""
    variables = {"LANG": "C.UTF-8", "TZ": "UTC", **settings_env({"safe.directory": "*"})}
    if ready:
        return variables | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    variables["PATH"] = SYSTEM_PATH
    if python:
        variables |= {
            "PATH": f"{ENV}/bin:{SYSTEM_PATH}", "VIRTUAL_ENV": ENV,
            "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
    return variables
