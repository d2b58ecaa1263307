"""Builds a tree's environment once, in a sandbox that reaches the package indexes, and keeps it under its content key.

The build is untrusted: it writes only to its sandbox's disk, and its results come out as one bounded stream. The
project's own modules must be importable from `/testbed` only, so copies of them are removed. Nothing inside depends on
the location of the cache: the environment is always at `/env`, the tools at `/tools`.
"""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.formatting import Say
from selfplay.repository.building import go_modules, node_packages
from selfplay.repository.building.build import BUILD_LIMITS, ENV, TOOLS, Building, BuildRequest
from selfplay.repository.building.build_results import BuildResults
from selfplay.repository.building.bytecode import compile_all, is_cached
from selfplay.repository.building.checking import check, notes_on, only_new
from selfplay.repository.building.installing import pretend, steps
from selfplay.repository.building.interpreters import Interpreter
from selfplay.repository.building.toolchains import SYSTEM_PATH
from selfplay.repository.cache import give
from selfplay.repository.network.indexes import for_sandbox
from selfplay.repository.package_json import read_package
from selfplay.sandbox import WORKDIR, Backend, Mount, World
from selfplay.sandbox.inside import mounted_below
from selfplay.sandbox.machine import fitting
from selfplay.sandbox.programs import python_folders

if TYPE_CHECKING:
    from selfplay.repository.network.egress import Egress


SHOWN = ("/usr", "/bin", "/lib", "/lib64", "/etc")
"""Folders of the machine, or of its image, that every sandbox sees."""
_NAME = re.compile(r"(?:@[a-z0-9_-][a-z0-9._-]{0,100}/)?[a-z0-9_-][a-z0-9._-]{0,100}", re.IGNORECASE)
OF_NODE = ("usr/lib/node_modules/**/{}", "usr/local/lib/node_modules/**/{}", "usr/share/nodejs/{}")
MOST_HIDDEN = 20
OF_SYSTEM = ("usr/lib*/python3*/*-packages", "usr/local/lib*/python3*/*-packages")


def build(staging: Path, request: BuildRequest, backend: Backend, progress: Say) -> None:
    """Fill `staging` (which has a checked-out `tree`) with env, tools, bytecode, lock and record. Raises
    `BuildFailed`."""
    for name in ("env", "tools", "bytecode"):
        (staging / name).mkdir()
    give(staging / "tree", backend.owner())
    limits = fitting(BUILD_LIMITS)
    with way_out(request, staging / "tree", backend) as egress:
        world, env = _world(staging, request, egress)
        with backend.open(world, limits) as sandbox:
            building = Building(request, sandbox, staging / "build.log", progress, env, egress=egress)
            with egress.explained(sandbox, progress, building.notes):
                steps(building, staging / "tree")
            results = BuildResults(staging, backend, limits, _link_places(request))
            generated = _take_out(building, results)
    lock = []
    if request.interpreter is not None:
        shown = World((staging / "tree",), (Mount(staging / "env", ENV), *_tools(request)), _python_env())
        lock = compile_all(shown, building, results)
    record = {"notes": building.notes, "lock": lock, "generated": generated}
    (staging / "environment.json").write_text(json.dumps(record, indent=1))
    (staging / "lock.txt").write_text("".join(f"{line}\n" for line in lock))


def _take_out(building: Building, results: BuildResults) -> list[str]:
    """Bring the build's results out of its sandbox; returns the new files of the tree."""
    request, sandbox = building.request, building.sandbox
    if request.plan.language == "javascript":
        node_packages.take_out(building, results)
    if request.plan.language == "go":
        go_modules.take_out(building, results)
    report = check(building)
    building.notes += notes_on(report)
    generated: list[str] = []
    results.take(
        sandbox, WORKDIR, "tree", "its generated files",
        where=only_new(request.tracked, generated), listing=report.listing, given=True,
    )  # fmt: skip
    if request.interpreter is not None:
        env = results.take(sandbox, ENV, "env", "its environment", where=lambda h: None if is_cached(h) else h.path)
        if env.dropped:
            building.notes.append(f"links that lead out of the environment were left out: {', '.join(env.dropped)}")
        results.take(sandbox, TOOLS, "tools", "its tools")
    return sorted(generated)


def way_out(request: BuildRequest, tree: Path, backend: Backend) -> AbstractContextManager[Egress]:
    """The network access of this build; none if it installs nothing."""
    from selfplay.repository.network.egress import (  # imports a lot, and few commands build
        no_egress,
        open_egress,
    )

    modules = go_modules.wanted(request, tree)
    if request.interpreter is None and not (request.setup or modules or node_packages.wanted(request)):
        return nullcontext(no_egress())
    npm, go = "package.json" in request.tracked, "go.mod" in request.tracked
    return open_egress(backend, request.allow_hosts, npm=npm, go=go)


def _world(staging: Path, request: BuildRequest, egress: Egress) -> tuple[World, dict[str, str]]:
    index_env, mounts = for_sandbox(egress.indexes)
    mounts += (*_tools(request), *egress.mounts)
    env = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "TZ": "UTC", **index_env, **egress.env, **pretend(request)}
    if request.plan.language == "go":
        env |= {**go_modules.VARIABLES, **go_modules.WRITABLE}
    if request.interpreter is None:
        return World((staging / "tree",), mounts, env), env
    env |= {
        **_python_env(), "PATH": f"{ENV}/bin:/build:{SYSTEM_PATH}", "UV_CACHE_DIR": f"{ENV}/.uv-cache",
        "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    return World((staging / "tree",), mounts, env, folders=(ENV, TOOLS)), env


def _python_env() -> dict[str, str]:
    return {"PATH": f"{ENV}/bin:{SYSTEM_PATH}", "LANG": "C.UTF-8", "TZ": "UTC", "VIRTUAL_ENV": ENV}


def _tools(request: BuildRequest) -> tuple[Mount, ...]:
    return (Mount(_uv(), "/build/uv"), *(python_mounts(request.interpreter) if request.interpreter else ()))


def hidden_packages(empty: Path, tree: Path, language: str) -> tuple[Mount, ...]:
    """An `empty` folder over each of this machine's own packages that may be the project itself, whole: all of
    Python's, which no environment uses; of JavaScript's those of the project's name (npm, which has them, may not run
    there then)."""
    patterns = OF_SYSTEM if language == "python" else _of_the_name(tree) if language == "javascript" else ()
    places = [place for pattern in patterns for place in sorted(Path("/").glob(pattern)) if place.is_dir()]
    empty.mkdir(exist_ok=True)
    return tuple(Mount(empty, str(place)) for place in places[:MOST_HIDDEN] if not place.is_symlink())


def _of_the_name(tree: Path) -> tuple[str, ...]:
    name = str(read_package(tree).get("name", ""))
    return tuple(pattern.format(name) for pattern in OF_NODE) if _NAME.fullmatch(name) else ()


def python_mounts(interpreter: Interpreter) -> tuple[Mount, ...]:
    """The mounts that this interpreter needs in a sandbox: not all of its folder, which may be the user's home."""
    folders = python_folders(interpreter.prefix)
    return tuple(Mount(place, str(place), own=not mounted_below(str(place))) for place in folders)


def _link_places(request: BuildRequest) -> tuple[str, ...]:
    """Where the environment's links may lead: itself, the tree, the machine's programs, the interpreter; packages of
    node also to `/tmp`, where tools write what they would write beside them."""
    interpreter = request.interpreter
    if interpreter is None:
        return (WORKDIR, "/tmp") if request.plan.language == "javascript" else ()
    return (*SHOWN, ENV, TOOLS, WORKDIR, str(interpreter.prefix or interpreter.executable.parent.parent))


def _uv() -> Path:
    from uv import find_uv_bin

    return Path(find_uv_bin())
