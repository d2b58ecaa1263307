"""The installation steps of a build, each a command in its sandbox; after a failed step comes the next one, with a
note."""

import re
import shlex
from pathlib import Path

from packaging.utils import canonicalize_name

from selfplay.repository.building import go_modules, node_packages
from selfplay.repository.building.build import ENV, TOOLS, Building, BuildRequest, last_lines
from selfplay.repository.building.ladder import NOT_INSTALLED, THE_PROJECT, add_roots, climb, setup_line
from selfplay.repository.errors import BuildFailed

CHECK_SECONDS = 120.0
NO_PACKAGE = (
    "Multiple top-level packages discovered", "Multiple top-level modules discovered",
    "Unable to determine which files to ship inside the wheel", "No file/folder found for package",
)  # fmt: skip
"""Errors of build backends for a folder of modules that is not a package: it needs no installation."""
MAX_NAME = 200
"""Longer names get no variable, because all variables of a command share limited space."""


def steps(building: Building, tree: Path) -> None:
    """All installation steps for the checked-out `tree`, in order."""
    request = building.request
    if request.interpreter is None:
        if request.setup:
            building.progress("running the setup command")
            building.must("the setup command", request.setup, online=True)
        elif request.plan.language == "javascript":
            node_packages.install(building)
        elif go_modules.wanted(request, tree):
            go_modules.install(building)
        return
    building.progress(f"building an environment on Python {request.interpreter.version}")
    if request.constraints:
        building.sandbox.write_file("/tmp/constraints.txt", "\n".join(request.constraints).encode())
    make = [
        "/build/uv",
        "venv",
        ENV,
        "--allow-existing",
        "--no-project",
        "--python",
        str(request.interpreter.executable),
    ]
    make += ["--seed"] if request.setup else []  # a user's command may call `pip`
    building.must("making the environment", make, online=True)
    if request.setup:
        building.progress("running the setup command")
        building.must("the setup command", request.setup, online=True)
    else:
        install_project(building)
        install_requirements(building)
    found = building.run("looking for pytest", ["python", "-c", "import pytest"], timeout=CHECK_SECONDS)
    if found.timed_out:  # all later steps would also time out
        raise BuildFailed(f"the environment's interpreter does not start within {CHECK_SECONDS:.0f} s")
    if found.exit_code:
        building.progress("installing pytest")
        if not building.install("installing pytest", "pytest"):
            hint = "Its last lines say why: often it is the network, or the index configured for pip or uv."
            raise BuildFailed("pytest cannot be installed" + last_lines(building.last), hint)
    climb(building)
    if not building.install(
        "installing coverage", "--target", f"{TOOLS}/coverage", "--no-deps", "coverage", dated=False
    ):
        building.notes.append("coverage could not be installed: which test executes what is unknown")


def install_project(building: Building) -> None:
    """Install the project itself, editable: with its test extras, else without them, else only its dependencies."""
    plan = building.request.plan
    if not plan.project:
        if plan.dependencies:
            each(building, "dependencies", [[dependency] for dependency in plan.dependencies])
        return
    building.progress("installing the project and its dependencies")
    if plan.extras and building.install("installing the project", "--editable", f".[{','.join(plan.extras)}]"):
        return
    if plan.extras:
        building.notes.append(f"the extras {', '.join(plan.extras)} do not install together")
    step = "installing the project without extras"
    if building.install(step, "--editable", "."):
        for extra in plan.extras:
            if not building.install(f"installing the extra {extra}", "--editable", f".[{extra}]"):
                building.notes.append(f"the extra {extra}{NOT_INSTALLED}")
        return
    failure, plain = building.failure, any(sentence in building.last for sentence in NO_PACKAGE)
    if not plain and building.install("installing the project, not editable", "."):
        building.notes.append("the project installs only as a copy")  # `after_build.py` removes the copy
        return
    if not plan.dependencies and not plain:
        tried = shlex.quote(setup_line(building.request))
        hint = f"Give the commands that install it with --setup, for example: --setup {tried}"
        raise BuildFailed(failure, hint)
    building.notes.append(f"{THE_PROJECT}{NOT_INSTALLED}: its dependencies were installed, its folder is imported")
    add_roots(building, set(plan.roots) - {"."})
    each(building, "dependencies", [[dependency] for dependency in plan.dependencies])


def install_requirements(building: Building) -> None:
    plan = building.request.plan
    wanted = [["--group", group] for group in plan.groups]
    wanted += [["--requirement", path] for path in plan.requirement_files]
    wanted += [[package] for package in plan.packages]
    if wanted:
        building.progress("installing what the tests need")
        each(building, "test requirements", wanted)


def each(building: Building, what: str, wanted: list[list[str]]) -> None:
    """Install all at once, else one by one, with a note for each failure."""
    if building.install(f"installing {what}", *(word for words in wanted for word in words)):
        return
    for words in wanted:
        if not building.install(f"installing {' '.join(words)}", *words):
            building.notes.append(f"{' '.join(words)}{NOT_INSTALLED}")


def pretend(request: BuildRequest) -> dict[str, str]:
    """The variables that give the version to tools that read it from tags, since there are no tags inside."""
    version = request.version or "0.0.0"
    names = ["SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "PDM_BUILD_SCM_VERSION", "UV_DYNAMIC_VERSIONING_BYPASS"]
    names += ["POETRY_DYNAMIC_VERSIONING_BYPASS", "VERSIONINGIT_FOR_PACKAGE_VERSION"]
    if request.plan.name and len(request.plan.name) <= MAX_NAME:
        key = re.sub(r"[^A-Z0-9]", "_", canonicalize_name(request.plan.name).upper())
        names.append(f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{key}")
    return dict.fromkeys(names, version)
