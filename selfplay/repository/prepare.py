"""The entry to this package: SOURCE in, `Prepared` out. Fetch, tidy, check out, build or reuse, and describe."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from selfplay.artifact.environment import pinned, recorded_environment
from selfplay.formatting import Say
from selfplay.repository.building import node_packages
from selfplay.repository.building.build import ENV, TOOLS, BuildRequest
from selfplay.repository.building.dates import last_day
from selfplay.repository.building.environment import build, python_mounts
from selfplay.repository.building.interpreters import Interpreter, choose, found_inside
from selfplay.repository.building.keys import ROOM_VERSION, key_of
from selfplay.repository.building.toolchains import require_tools, variables
from selfplay.repository.cache import build_once, check_cache, default_cache, give
from selfplay.repository.disk import named
from selfplay.repository.errors import BuildFailed, SourceError
from selfplay.repository.fetching.fetch import bring_tree, reading_tree
from selfplay.repository.fetching.image import keep_the_rest, take_source
from selfplay.repository.fetching.quarantine import Quarantine, excluded
from selfplay.repository.fetching.reading import SourceFound
from selfplay.repository.fetching.sdist_without_tests import Where, reading_tested
from selfplay.repository.fetching.source import ImageSource, PathSource, PypiSource, parse_source
from selfplay.repository.files.confined_write import Beneath
from selfplay.repository.network.hosts import host_names, recorded_hosts
from selfplay.repository.prepared import Prepared
from selfplay.sandbox import Backend, Mount
from selfplay.sandbox.owners import scratch, sweep

Known = Callable[[str, str], None]
Fits = Callable[[Path, str, str], None]


def prepare(
    source_text: str,
    *,
    backend: Backend,
    cache: Path | None = None,
    releases: int = 12,
    setup: str | None = None,
    python: str | None = None,
    allow_hosts: Sequence[str] = (),
    progress: Say = lambda line: None,
    known: Known = lambda name, language: None,
    fits: Fits = lambda tree, name, language: None,
) -> Prepared:
    """Fetch `source_text` and build its environment, or reuse a built one.

    `setup` replaces the detected installation steps, `python` (a version or a path) the choice of interpreter;
    `allow_hosts`: HOST or HOST:PORT that the build may reach besides the package indexes. `known` is called with the
    source's name and language before anything is installed; `fits` also gets the tree, and may raise an error that
    rejects it. Raises `SourceError`, `NoInterpreter`, `NoToolchain`, `BuildFailed`, `CacheError`.
    """
    source, hosts = parse_source(source_text), host_names(allow_hosts)
    with _workshop(cache) as (cache, work):
        name, ready = str(source), None
        if isinstance(source, ImageSource):
            ready, place = _from_image(backend, source.path, work)
            name, source = f"image:{place}", PathSource(ready)
        where = Where(backend, work, cache / "downloads", progress)
        with reading_tested(source, where, releases, as_it_is=bool(setup)) as (shown, found, inside):
            name = shown if isinstance(source, PypiSource) else name
            known(name, found.plan.language)
            as_of = last_day(found.dated)
            return _prepare(
                name, found, inside, backend, cache, work, setup, python, (), hosts, as_of, progress, ready, fits
            )


def rebuild(
    original: Path,
    recorded: Mapping[str, Any],
    *,
    backend: Backend,
    cache: Path | None = None,
    allow_hosts: Sequence[str] = (),
    progress: Say = lambda line: None,
) -> Prepared:
    """The `Prepared` for `DIR/original/`, a plain tree, with the setup kept in `Prepared.recorded`.

    `recorded` may be untrusted: it gives versions, never paths. It does not allow its build a host either: only
    `allow_hosts` does. The caller has the user's consent to its `setup`. Raises `UntrustedDataError` for a record of
    another form, and `SourceError` if the tree is not the recorded one, or if a recorded host is not allowed.
    """
    known = recorded_environment(recorded)
    hosts = recorded_hosts(known.allow_hosts, allow_hosts)
    if not original.is_dir() or original.is_symlink():
        raise SourceError(f"{original} is missing", "It is written by `selfplay curriculum` beside the bugs.")
    revision = known.revision or "original"
    with (
        _workshop(cache) as (cache, work),
        reading_tree(original, revision, known.version, backend=backend, work=work) as (found, inside),
    ):
        tree = found.tree_hash
        if known.tree_hash not in (None, tree):
            raise SourceError(
                f"{original} is not the recorded tree ({tree[:12]}, recorded {str(known.tree_hash)[:12]})",
                "Restore it, or make the curriculum again.",
            )
        source = known.source or str(original)
        ready = None
        if source.startswith("image:"):
            ready, _ = _from_image(backend, source.removeprefix("image:"), work)
        setup, python, lock = known.setup, known.python, known.lock
        return _prepare(
            source, found, inside, backend, cache, work, setup, python, lock, hosts, known.as_of, progress, ready
        )


def write_original(prepared: Prepared, folder: Path, backend: Backend) -> None:
    """Write the tracked files of a prepared tree into a new `folder`, for `rebuild`."""
    bring_tree(prepared.history, prepared.tree_hash, folder, backend)


@contextmanager
def _workshop(cache: Path | None) -> Iterator[tuple[Path, Path]]:
    """The checked cache folder, and a new empty folder in it that is removed afterwards."""
    folder = cache or default_cache()
    check_cache(folder)
    with named(folder):
        (folder / "work").mkdir(exist_ok=True)
        sweep(folder / "work")
        with scratch(folder / "work") as work:
            work.chmod(0o711)  # folders in it are mounted into sandboxes
            yield folder, work


def _prepare(
    source: str,
    found: SourceFound,
    inside: Quarantine,
    backend: Backend,
    cache: Path,
    work: Path,
    setup: str | None,
    python: str | None,
    lock: tuple[str, ...],
    hosts: tuple[str, ...],
    as_of: str,
    progress: Say,
    ready: Path | None = None,
    fits: Fits = lambda tree, name, language: None,
) -> Prepared:
    """`ready`: the source from the backend's image; the image has its environment, so none is built."""
    plan, image = found.plan, backend.image_id
    interpreter = _interpreter(plan.requires_python, python, backend, image) if plan.language == "python" else None
    request = BuildRequest(plan, interpreter, found.tracked, setup, found.version, lock, hosts, as_of)
    key = key_of(cache / "environments", found.tree_hash, request, image, ready is not None)

    def make(staging: Path) -> None:
        if ready is None and not setup:
            require_tools(plan.language, backend)
        inside.tree(staging / "tree", backend.owner())
        fits(staging / "tree", source, plan.language)
        inside.history(found.commit, work / "history", backend.owner())
        inside.close()  # it occupies memory, and a build takes a while
        if ready is not None:
            take_over(staging, ready, found.tracked, backend)
            return
        with _log_kept(staging, cache / "logs" / f"{key}.log"):
            build(staging, request, backend, progress)

    folder = build_once(cache / "environments" / key, make, progress)
    record = json.loads((folder / "environment.json").read_text())
    history = _history(folder, found.commit, inside, work / "history", record["generated"], backend, progress)
    recorded = {
        "source": source, "revision": found.revision, "commit": found.commit, "tree_hash": found.tree_hash,
        "setup": setup, "python": interpreter.version if interpreter else None, "version": found.version,
        "room": ROOM_VERSION, "lock": [line for line in record["lock"] if pinned(line)],
        **_given(image=image, as_of=as_of, allow_hosts=list(hosts)),
    }  # fmt: skip
    prepared = Prepared(
        source, found.revision, found.commit, found.tree_hash, plan.language, folder / "tree", history,
        env=variables(plan.language, ready is not None), recorded=recorded,
        notes=(*found.notes, *record["notes"]),
    )  # fmt: skip
    return _mounted(prepared, folder, interpreter if ready is None else None)


def _given(**values: Any) -> dict[str, Any]:
    """The values that are not empty."""
    return {name: value for name, value in values.items() if value}


def _from_image(backend: Backend, path: str | None, work: Path) -> tuple[Path, str]:
    """(the source copied out of the backend's image, its path there)"""
    ready = work / "image"
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
    folder: Path, commit: str, inside: Quarantine, taken: Path, generated: list[str], backend: Backend,
    progress: Say,
) -> Path:  # fmt: skip
    """The `.git` layer for this commit over this environment's tree; `taken` if that tree was built now."""

    def make(staging: Path) -> None:
        layer = staging / "layer"
        if taken.is_dir():
            shutil.move(taken, layer)
        else:
            inside.history(commit, layer, backend.owner())
        with Beneath(layer, backend.owner()) as beneath:
            content = excluded(generated)
            beneath.file((b".git", b"info", b"exclude"), iter([content]), executable=False, mtime_ns=0)
        (layer / ".git").rename(staging / ".git")
        layer.rmdir()
        give(staging, backend.owner())

    return build_once(folder / "histories" / commit, make, progress)


def _mounted(prepared: Prepared, folder: Path, interpreter: Interpreter | None) -> Prepared:
    """The same value, with the packages that its build installed, if any."""
    env = folder / "env"
    if interpreter is None:
        return replace(prepared, mounts=(Mount(env, node_packages.PLACE),)) if any(env.glob("*")) else prepared
    mounts = (Mount(env, ENV), Mount(folder / "tools", TOOLS), *python_mounts(interpreter))
    return replace(prepared, mounts=mounts, bytecode=folder / "bytecode")
