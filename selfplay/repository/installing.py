"""The installation steps of a build, each a command in its sandbox; a failed step falls back to the next and leaves a
note."""

import re

from packaging.utils import canonicalize_name

from selfplay.repository.building import ENV, TOOLS, Building, Request, describe, last_lines
from selfplay.repository.errors import BuildFailed
from selfplay.repository.pytest_suite import render_script

CHECK_SECONDS = 120.0
MAX_REPAIRS = 12
MAX_NAME = 200
"""A longer name gets no variable: all variables of a command share limited space."""
MAX_MISSING = 50
"""How many missing modules are searched: each costs an installation, and the tests name them."""
DISTRIBUTIONS = {
    "attr": "attrs", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless", "dateutil": "python-dateutil",
    "docutils": "docutils", "git": "GitPython", "google.protobuf": "protobuf", "jwt": "PyJWT", "OpenSSL": "pyOpenSSL",
    "PIL": "pillow", "pkg_resources": "setuptools<81", "serial": "pyserial", "sklearn": "scikit-learn",
    "skimage": "scikit-image", "yaml": "PyYAML", "zmq": "pyzmq", "Crypto": "pycryptodome", "magic": "python-magic",
    "flask_sqlalchemy": "Flask-SQLAlchemy", "pytest_asyncio": "pytest-asyncio", "path": "path", "nose": "pynose",
}  # fmt: skip


def steps(building: Building) -> None:
    """All installing steps, in order."""
    request = building.request
    if request.interpreter is None:
        if request.setup:
            building.progress("running the setup command")
            building.must("the setup command", request.setup, online=True)
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
    make += ["--seed"] if request.setup else []  # a user's own command may use `pip`
    building.must("making the environment", make, online=True)
    if request.setup:
        building.progress("running the setup command")
        building.must("the setup command", request.setup, online=True)
    else:
        install_project(building)
        install_requirements(building)
    found = building.run("looking for pytest", ["python", "-c", "import pytest"], timeout=CHECK_SECONDS)
    if found.timed_out:  # nothing that follows would fare better, and each would take as long
        raise BuildFailed(f"the environment's interpreter does not start within {CHECK_SECONDS:.0f} s")
    if found.exit_code:
        building.progress("installing pytest")
        if not building.install("installing pytest", "pytest"):
            hint = "Its last lines say why: often it is the network, or the index configured for pip or uv."
            raise BuildFailed("pytest cannot be installed" + last_lines(building.last), hint)
    repair(building)
    if not building.install("installing coverage", "--target", f"{TOOLS}/coverage", "--no-deps", "coverage"):
        building.notes.append("coverage could not be installed: which test executes what is unknown")


def install_project(building: Building) -> None:
    """Install the project itself, editable: with its test extras, else without, else only its dependencies."""
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
    command = ["/build/uv", "pip", "install", "--python", f"{ENV}/bin/python", "--editable", "."]
    done = building.run(step, command, online=True)
    if done.exit_code == 0:
        for extra in plan.extras:
            if not building.install(f"installing the extra {extra}", "--editable", f".[{extra}]"):
                building.notes.append(f"the extra {extra} does not install")
        return
    building.raise_if_full(step, done)
    if not plan.dependencies:
        raise BuildFailed(describe(step, done), "Give the commands that install it with --setup.")
    building.notes.append(
        "the project itself does not install: its dependencies were installed, its folder is imported"
    )
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
    """Install all at once, else one by one, with a note for those that fail."""
    if building.install(f"installing {what}", *(word for words in wanted for word in words)):
        return
    for words in wanted:
        if not building.install(f"installing {' '.join(words)}", *words):
            building.notes.append(f"{' '.join(words)} does not install")


def repair(building: Building) -> None:
    """Install the distributions of modules that test collection does not find, as long as that helps."""
    own = own_modules(building.request)
    tried: set[str] = set()
    for _ in range(MAX_REPAIRS):
        done = building.run("collecting the tests", collect(), timeout=120.0)
        missing = missing_modules(done.text)
        wanted = {
            DISTRIBUTIONS.get(name, DISTRIBUTIONS.get(name.split(".")[0], name.split(".")[0])) for name in missing
        }
        wanted = {name for name in wanted if name not in own and name not in tried}
        if not wanted or len(tried) > MAX_MISSING:
            return
        tried |= wanted
        for name in sorted(wanted):
            if building.install(f"installing {name}", name):
                building.notes.append(f"{name} was installed because the tests import it")


def missing_modules(log: str) -> list[str]:
    """The modules that a pytest log reports as missing."""
    found = re.findall(r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.]+)", log)
    return [name for name in found if len(name) <= MAX_NAME][:MAX_MISSING]


def collect() -> str:
    """The script that only collects the tests."""
    return render_script((), options=("--collect-only",))


def own_modules(request: Request) -> set[str]:
    """Names that the tree itself defines at its import roots."""
    names = set()
    for path in request.tracked:
        for root in {*request.plan.roots, "."}:
            inner = path if root == "." else path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else ""
            names.add(inner.split("/")[0].removesuffix(".py"))
    return names


def pretend(request: Request) -> dict[str, str]:
    """The variables that tell the version to tools that read it from tags, since there are no tags inside."""
    version = request.version or "0.0.0"
    names = ["SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "PDM_BUILD_SCM_VERSION", "UV_DYNAMIC_VERSIONING_BYPASS"]
    names += ["POETRY_DYNAMIC_VERSIONING_BYPASS", "VERSIONINGIT_FOR_PACKAGE_VERSION"]
    if request.plan.name and len(request.plan.name) <= MAX_NAME:
        key = re.sub(r"[^A-Z0-9]", "_", canonicalize_name(request.plan.name).upper())
        names.append(f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{key}")
    return dict.fromkeys(names, version)
