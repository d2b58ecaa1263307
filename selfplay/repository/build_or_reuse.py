"""From a source that was read to a `Prepared`: its environment is built, or a built one is reused, and described."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selfplay.artifact.environment import pinned
from selfplay.repository.building import go_modules, node_packages
from selfplay.repository.building.build import ENV, TOOLS, BuildRequest
from selfplay.repository.building.environment import build, hidden_packages, python_mounts
from selfplay.repository.building.interpreters import Interpreter, choose, found_inside
from selfplay.repository.building.keys import ROOM_VERSION, key_of
from selfplay.repository.building.toolchains import require_tools, variables
from selfplay.repository.cache import build_once, give
from selfplay.repository.errors import BuildFailed, SourceError
from selfplay.repository.fetching.image import keep_the_rest
from selfplay.repository.fetching.quarantine import Quarantine, excluded
from selfplay.repository.fetching.reading import SourceFound
from selfplay.repository.files.confined_write import Beneath
from selfplay.repository.prepared import Prepared
from selfplay.repository.workshop import Workshop
from selfplay.sandbox import Backend, Mount

RESTORE = "Restore it, name the revision in the source, or make the curriculum again."
Fits = Callable[[Path, str, str], None]
"""Gets a tree, its source's name and its language, and may raise an error that rejects it."""


@dataclass(frozen=True)
class ReadSource:
    """A source that was read, in the sandbox `inside`. `ready`: its copy from the backend's image; the image has its
    environment, so none is built."""

    name: str
    found: SourceFound
    inside: Quarantine
    ready: Path | None = None


@dataclass(frozen=True)
class BuildTerms:
    """What the user or an earlier build fixed.

    `setup` replaces the installation steps, `python` (a version or a path) the choice of interpreter; `lock`: exact
    versions; `allow_hosts`: hosts that the build may reach besides the package indexes; `as_of`: the last upload day
    that detected installation steps may use, empty for any; `tree`: the only tree that all this is meant for.
    """

    setup: str | None
    python: str | None
    lock: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    as_of: str = ""
    tree: str | None = None


def build_or_reuse(
    source: ReadSource, terms: BuildTerms, workshop: Workshop, fits: Fits = lambda tree, name, language: None
) -> Prepared:
    """The source with its environment, which `fits` may refuse before it is built. Raises `NoInterpreter`,
    `NoToolchain`, `BuildFailed`, `CacheError`, what `fits` raises, and `SourceError` for another tree."""
    found, backend, image = source.found, workshop.backend, workshop.backend.image_id
    if terms.tree is not None and terms.tree != found.tree_hash:
        which = f"it is {found.tree_hash[:12]}, recorded {terms.tree[:12]}"
        raise SourceError(f"{source.name} is not the recorded tree: {which}", RESTORE)
    interpreter = _interpreter(found, terms, backend)
    request = BuildRequest(
        found.plan, interpreter, found.tracked, terms.setup, found.version, terms.lock, terms.allow_hosts, terms.as_of
    )
    key = key_of(workshop.cache / "environments", found.tree_hash, request, image, source.ready is not None)

    def make(staging: Path) -> None:
        _make(staging, source, request, workshop, fits, workshop.cache / "logs" / f"{key}.log")

    folder = build_once(workshop.cache / "environments" / key, make, workshop.progress)
    record = json.loads((folder / "environment.json").read_text())
    recorded = {
        "source": source.name, "revision": found.revision, "commit": found.commit, "tree_hash": found.tree_hash,
        "setup": terms.setup, "python": interpreter.version if interpreter else None, "version": found.version,
        "room": ROOM_VERSION, "lock": [line for line in record["lock"] if pinned(line)],
        **_given(image=image, as_of=terms.as_of, allow_hosts=list(terms.allow_hosts)),
    }  # fmt: skip
    prepared = Prepared(
        source.name, found.revision, found.commit, found.tree_hash, found.plan.language, folder / "tree",
        _history(folder, source, workshop, record["generated"]),
        env=variables(found.plan.language, source.ready is not None), recorded=recorded,
        notes=(*found.notes, *record["notes"]),
    )  # fmt: skip
    hidden = () if image else hidden_packages(workshop.cache / "empty", prepared.tree, prepared.language)
    return _mounted(prepared, folder, interpreter if source.ready is None else None, hidden)


def _make(staging: Path, source: ReadSource, request: BuildRequest, workshop: Workshop, fits: Fits, log: Path) -> None:
    """Fill `staging` with the tree and its environment, and `workshop` with the history. `log`: where a failed build's
    log is kept."""
    plan, inside, backend = request.plan, source.inside, workshop.backend
    if source.ready is None and not request.setup:
        require_tools(plan.language, backend)
    inside.tree(staging / "tree", backend.owner())
    fits(staging / "tree", source.name, plan.language)
    inside.history(source.found.commit, workshop.work / "history", backend.owner())
    inside.close()  # it occupies memory, and a build takes a while
    if source.ready is not None:
        take_over(staging, source.ready, request.tracked, backend)
        return
    with _log_kept(staging, log):
        build(staging, request, backend, workshop.progress)


def _given(**values: Any) -> dict[str, Any]:
    """The values that are not empty."""
    return {name: value for name, value in values.items() if value}


def _interpreter(found: SourceFound, terms: BuildTerms, backend: Backend) -> Interpreter | None:
    """Python's, for a Python project."""
    if found.plan.language != "python":
        return None
    return choose(found.plan.requires_python, terms.python, found_inside(backend) if backend.image_id else None)


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


def _history(folder: Path, source: ReadSource, workshop: Workshop, generated: list[str]) -> Path:
    """The `.git` layer for this commit over this environment's tree; what `_make` took, if that tree was built now. A
    shallow clone has another one than a whole clone of the same commit."""
    taken, commit, owner = workshop.work / "history", source.found.commit, workshop.backend.owner()

    def make(staging: Path) -> None:
        layer = staging / "layer"
        if taken.is_dir():
            shutil.move(taken, layer)
        else:
            source.inside.history(commit, layer, owner)
        with Beneath(layer, owner) as beneath:
            content = excluded(generated)
            beneath.file((b".git", b"info", b"exclude"), iter([content]), executable=False, mtime_ns=0)
        (layer / ".git").rename(staging / ".git")
        layer.rmdir()
        give(staging, owner)

    return build_once(folder / "histories" / f"{commit}-{source.found.past}", make, workshop.progress)


def _mounted(prepared: Prepared, folder: Path, interpreter: Interpreter | None, hidden: tuple[Mount, ...]) -> Prepared:
    """The same value, with the packages that its build installed, if any."""
    env = folder / "env"
    if interpreter is None:
        place = go_modules.PLACE if prepared.language == "go" else node_packages.PLACE
        own = (Mount(env, place, own=True),) if any(env.glob("*")) else ()
        return replace(prepared, mounts=(*own, *hidden))
    mounts = (Mount(env, ENV, own=True), Mount(folder / "tools", TOOLS, own=True), *python_mounts(interpreter), *hidden)
    return replace(prepared, mounts=mounts, bytecode=folder / "bytecode")
