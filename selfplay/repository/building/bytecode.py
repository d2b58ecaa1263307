"""Compiles the byte-code of an environment and its tree once, in a sandbox without network access.

The tree's byte-code lies in its own layer, so that a solver's world can leave it out. It is compiled outside the
sources' folders, and only files that belong to a source are brought back.
"""

import re

from selfplay.package_versions import version_of
from selfplay.repository.building.build import ENV, Building
from selfplay.repository.building.build_results import BuildResults
from selfplay.repository.files.confined_write import Beneath
from selfplay.repository.files.entries import Header
from selfplay.repository.files.unpack import Where
from selfplay.repository.inside.pack import FILE
from selfplay.repository.suites.django import collecting
from selfplay.sandbox import WORKDIR, World

COMPILED = "/bytecode"
SUFFIX, CACHE = b".pyc", b"__pycache__"
LOCKED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,199})==([A-Za-z0-9.+!_-]{1,100})")
MOST_LOCKED = 5000


def compile_all(world: World, building: Building, results: BuildResults) -> list[str]:
    """Compile the environment, the tree and its rewritten tests, as far as they compile; returns the lock.

    `world` contains the tree and the environment. Raises `BuildFailed`.
    """
    building.progress("compiling")
    staging = results.staging
    apart = World(world.tree, world.mounts, {**world.env, "PYTHONPYCACHEPREFIX": COMPILED}, folders=(COMPILED,))
    with results.backend.open(apart, results.limits) as sandbox:
        compiling = Building(building.request, sandbox, building.log, building.progress, dict(apart.env))
        compiling.run("compiling the environment", ["python", "-m", "compileall", "-q", "-j", "2", f"{ENV}/lib"])
        hashed = ["python", "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", WORKDIR]
        compiling.run("compiling the tree", hashed)
        compiling.run("compiling the tests", collecting(), timeout=120.0)
        frozen = compiling.must(
            "listing what is installed", ["/build/uv", "pip", "freeze", "--python", f"{ENV}/bin/python"]
        )
        for place, source, name, given in ((ENV, "env", "env", False), (WORKDIR, "tree", "bytecode", True)):
            compiling.must("looking for byte-code", ["mkdir", "-p", COMPILED + place])
            with Beneath(staging / source) as sources:
                where = beside_sources(sources)
                results.take(sandbox, COMPILED + place, name, "its byte-code", where=where, given=given)
    return locked(frozen.stdout.decode("utf-8", "replace"))


def is_cached(header: Header) -> bool:
    """Whether this is byte-code beside its source; it is compiled again."""
    return header.kind == FILE and header.path.endswith(SUFFIX) and CACHE in header.names[-2:-1]


def beside_sources(sources: Beneath) -> Where:
    """Converts the layout of `PYTHONPYCACHEPREFIX` to `__pycache__` folders; leaves out files without a source."""

    def where(header: Header) -> bytes | None:
        *folder, name = header.names
        if header.kind != FILE or not name.endswith(SUFFIX) or CACHE in folder:
            return None
        parts = name.split(b".")
        stems = (b".".join(parts[:count]) for count in range(1, len(parts)))
        if not any(sources.has_file((*folder, stem + b".py")) for stem in stems):
            return None
        return b"/".join((*folder, CACHE, name))

    return where


def locked(listing: str) -> list[str]:
    """The `name==version` lines of a listing; others (editable, from a path) are left out."""
    found = []
    for line in listing.splitlines()[:MOST_LOCKED]:
        match = LOCKED.fullmatch(line)
        if match and version_of(match[2]):
            found.append(line)
    return found
