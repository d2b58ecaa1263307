"""The entry to this package: SOURCE in, `Prepared` out. Fetch, tidy, check out, then `build_or_reuse`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from selfplay.artifact.environment import recorded_environment
from selfplay.formatting import Say
from selfplay.repository.build_or_reuse import BuildTerms, Fits, ReadSource, build_or_reuse
from selfplay.repository.building.dates import last_day
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.fetch import bring_tree, reading_tree
from selfplay.repository.fetching.image import take_source
from selfplay.repository.fetching.sdist_without_tests import reading_tested
from selfplay.repository.fetching.source import ImageSource, PathSource, PypiSource, parse_source
from selfplay.repository.network.hosts import host_names, recorded_hosts
from selfplay.repository.prepared import Prepared
from selfplay.repository.workshop import Workshop, open_workshop
from selfplay.sandbox import Backend

Known = Callable[[str, str], None]


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
    tree: str | None = None,
) -> Prepared:
    """Fetch `source_text` and build its environment, or reuse a built one.

    `setup` replaces the detected installation steps, `python` (a version or a path) the choice of interpreter;
    `allow_hosts`: HOST or HOST:PORT that the build may reach besides the package indexes. `known` is called with the
    source's name and language before anything is installed; `fits` also gets the tree, and may raise an error that
    rejects it. `tree`: the id of the only tree that may be built. Raises `SourceError`, `NoInterpreter`, `NoToolchain`,
    `BuildFailed`, `CacheError`.
    """
    source, hosts = parse_source(source_text), host_names(allow_hosts)
    with open_workshop(backend, cache, progress) as workshop:
        name, ready = str(source), None
        if isinstance(source, ImageSource):
            ready, place = _from_image(workshop, source.path)
            name, source = f"image:{place}", PathSource(ready)
        with reading_tested(source, workshop, releases, as_it_is=bool(setup)) as (shown, found, inside):
            name = shown if isinstance(source, PypiSource) else name
            known(name, found.plan.language)
            terms = BuildTerms(setup, python, allow_hosts=hosts, as_of=last_day(found.dated), tree=tree)
            return build_or_reuse(ReadSource(name, found, inside, ready), terms, workshop, fits)


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
        open_workshop(backend, cache, progress) as workshop,
        reading_tree(original, revision, known.version, backend=backend, work=workshop.work) as (found, inside),
    ):
        source = known.source or str(original)
        ready = None
        if source.startswith("image:"):
            ready, _ = _from_image(workshop, source.removeprefix("image:"))
        terms = BuildTerms(known.setup, known.python, known.lock, hosts, known.as_of, known.tree_hash or "")
        return build_or_reuse(ReadSource(source, found, inside, ready), terms, workshop)


def write_original(prepared: Prepared, folder: Path, backend: Backend) -> None:
    """Write the tracked files of a prepared tree into a new `folder`, for `rebuild`."""
    bring_tree(prepared.history, prepared.tree_hash, folder, backend)


def _from_image(workshop: Workshop, path: str | None) -> tuple[Path, str]:
    """(the source copied out of the backend's image, its path there)"""
    ready = workshop.work / "image"
    ready.mkdir()
    place = take_source(workshop.backend, path, ready)
    return ready, place
