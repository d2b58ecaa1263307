"""Build a tree's environment once, in a sandbox with network, and keep it under its content key.

The project's own modules must be importable from `/testbed` only: copies of them are removed. Nothing inside depends on
the location of the cache: the environment is always at `/env`, the tools at `/tools`.
"""

import json
import os
import re
import shutil
from pathlib import Path

from selfplay.repository import inside
from selfplay.repository.cache import copy_regular, give
from selfplay.repository.errors import BuildFailed
from selfplay.repository.indexes import configured, for_sandbox
from selfplay.repository.installing import ENV, TOOLS, Building, Progress, Request, collect, pretend, steps
from selfplay.repository.interpreters import Interpreter
from selfplay.sandbox import MIB, WORKDIR, Backend, Limits, Mount, World
from selfplay.sandbox.machine import fitting

OUT, BYTECODE = "/out", "/bytecode"
BUILD_LIMITS = Limits(memory_bytes=6144 * MIB, disk_bytes=3072 * MIB, processes=1024)
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


def build(staging: Path, request: Request, backend: Backend, progress: Progress) -> None:
    """Fill `staging` (which has a checked-out `tree`) with env, tools, bytecode, lock and record. Raises
    `BuildFailed`."""
    for name in ("env", "tools", "out", "bytecode"):
        (staging / name).mkdir()
    for name in ("tree", "env", "tools", "out"):
        give(staging / name, backend.owner())
    world, env = _world(staging, request)
    with backend.open(world, fitting(BUILD_LIMITS)) as sandbox:
        building = Building(request, sandbox, staging / "build.log", progress, env)
        steps(building)
        report = _after(building)
    _merge(staging, report, building)
    lock = _compile(staging, request, backend, building) if request.interpreter else []
    shutil.rmtree(staging / "out")
    record = {"notes": building.notes, "lock": lock, "generated": report["generated"]}
    (staging / "environment.json").write_text(json.dumps(record, indent=1))
    (staging / "lock.txt").write_text("".join(f"{line}\n" for line in lock))
    for name in ("tree", "env", "tools", "bytecode"):
        give(staging / name, backend.owner())


def _world(staging: Path, request: Request) -> tuple[World, dict[str, str]]:
    index_env, mounts = for_sandbox(configured())
    mounts += (Mount(_uv(), "/build/uv"), Mount(staging / "out", OUT, writable=True))
    env = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "TZ": "UTC", **index_env, **pretend(request)}
    if request.interpreter is not None:
        mounts += (Mount(staging / "env", ENV, writable=True), Mount(staging / "tools", TOOLS, writable=True))
        mounts += python_mounts(request.interpreter)
        env |= {
            "PATH": f"{ENV}/bin:/build:{SYSTEM_PATH}", "VIRTUAL_ENV": ENV, "UV_CACHE_DIR": f"{ENV}/.uv-cache",
            "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
    return World(tree=(staging / "tree",), mounts=mounts, env=env, network=True), env


def python_mounts(interpreter: Interpreter) -> tuple[Mount, ...]:
    prefix = interpreter.prefix
    return (Mount(prefix, str(prefix)),) if prefix else ()


def _uv() -> Path:
    from uv import find_uv_bin

    return Path(find_uv_bin())


def _after(building: Building) -> dict[str, list[str]]:
    """Remove copies of the project, move generated files out, and return the report."""
    request = building.request
    site = ""
    if request.interpreter is not None:
        query = ["python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        site = building.must("looking for site-packages", query).stdout.decode().strip().splitlines()[-1]
    message = {
        "tracked": dict(request.tracked), "roots": request.plan.roots, "site": site,
        "add_roots": bool(site) and not request.plan.project and request.plan.roots != (".",),
    }  # fmt: skip
    building.sandbox.write_file("/tmp/manifest.json", json.dumps(message).encode())
    building.sandbox.write_file("/tmp/after_build.py", inside.text("after_build.py").encode())
    python = "python" if site else "python3"
    building.must(
        "checking the build", [python, "/tmp/after_build.py", "/tmp/manifest.json", f"{OUT}/new", "/tmp/report"]
    )
    report = _report(building.sandbox.read_file("/tmp/report"))
    building.run("removing the download cache", ["rm", "-rf", f"{ENV}/.uv-cache"])
    return report


def _report(data: bytes) -> dict[str, list[str]]:
    """The checking program's lists of paths. The project could change its interpreter, so the format is checked
    strictly."""
    try:
        value = json.loads(data)
        return {name: [str(path) for path in value[name]] for name in ("changed", "generated", "removed", "strays")}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BuildFailed("the environment's interpreter does not run our programs as they are") from error


def _merge(staging: Path, report: dict[str, list[str]], building: Building) -> None:
    """Make generated files part of the tree; changes to tracked files stay in the sandbox."""
    if (staging / "out" / "new").is_dir() and not (staging / "out" / "new").is_symlink():
        copy_regular(staging / "out" / "new", staging / "tree")
    changed = [path for path in report["changed"] if ".egg-info/" not in path]
    if changed:
        building.notes.append(
            f"the build changed {len(changed)} tracked files, which were restored: {', '.join(changed[:3])}"
        )
    if report["removed"]:
        building.notes.append(
            f"a copy of the project was removed from the environment: {', '.join(report['removed'][:3])}"
        )
    if report["strays"]:
        building.notes.append(
            f"{', '.join(report['strays'][:3])} is imported from outside the tree: bugs in it are not seen"
        )


def _compile(staging: Path, request: Request, backend: Backend, building: Building) -> list[str]:
    """Compile byte-code for the environment and, as a separate layer, for the tree and its rewritten tests; write the
    lock."""
    assert request.interpreter is not None
    building.progress("compiling")
    prefix = staging / "out" / "bytecode"
    prefix.mkdir()
    give(staging / "tree", backend.owner())
    give(prefix, backend.owner())
    mounts = (
        Mount(staging / "env", ENV, writable=True), Mount(prefix, BYTECODE, writable=True), Mount(_uv(), "/build/uv"),
        *python_mounts(request.interpreter),
    )  # fmt: skip
    env = {"PATH": f"{ENV}/bin:{SYSTEM_PATH}", "LANG": "C.UTF-8", "TZ": "UTC", "VIRTUAL_ENV": ENV}
    with backend.open(World(tree=(staging / "tree",), mounts=mounts, env=env), fitting(BUILD_LIMITS)) as sandbox:
        compiling = Building(request, sandbox, building.log, building.progress, env)
        compiling.run("compiling the environment", ["python", "-m", "compileall", "-q", "-j", "2", f"{ENV}/lib"])
        hashed = ["python", "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", WORKDIR]
        compiling.run("compiling the tree", hashed, PYTHONPYCACHEPREFIX=BYTECODE)
        compiling.run("compiling the tests", collect(), timeout=120.0, PYTHONPYCACHEPREFIX=BYTECODE)
        frozen = compiling.must(
            "listing what is installed", ["/build/uv", "pip", "freeze", "--python", f"{ENV}/bin/python"]
        )
    _layer(prefix / WORKDIR.strip("/"), staging / "bytecode")
    lines = frozen.stdout.decode("utf-8", "replace").splitlines()
    return [line for line in lines if re.match(r"^[\w.-]+==\S+$", line)]


def _layer(prefixed: Path, layer: Path) -> None:
    """Convert the layout of `PYTHONPYCACHEPREFIX` to `__pycache__` folders that lie over the tree."""
    for here, _, files in os.walk(prefixed):
        for name in files:
            path = Path(here, name)
            if name.endswith(".pyc") and path.is_file() and not path.is_symlink():
                goal = layer / path.parent.relative_to(prefixed) / "__pycache__" / name
                goal.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, goal)
