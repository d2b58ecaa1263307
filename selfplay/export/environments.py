"""Files that rebuild a dataset's images without this package: per environment the original tree, a Dockerfile and the
locked packages; and one script that builds them, with each bug's image on top.

A bug's image has the broken tree in `/testbed` as one commit, with everything a build generated: no history, no
deciding tests, no scripts of selfplay.
"""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from selfplay.artifact.environment import Environment, recorded_environment
from selfplay.artifact.reading import UntrustedDataError
from selfplay.export import inside
from selfplay.export.columns import as_json
from selfplay.export.pools import PoolBug
from selfplay.export.trees import pack
from selfplay.export.writing import write_files
from selfplay.repository.building import go_modules
from selfplay.repository.building.node_packages import LOCKS, MANIFESTS, PLACE, QUIET, ROOM
from selfplay.repository.building.toolchains import PACKAGES
from selfplay.repository.inside import text as repository_text

ENVIRONMENTS = "environments"
ARCHIVE = "original.tar.gz"
TOOLS = {"git": "git", "python3": "python3"}
"""Program -> Debian's package of it, for every language: a bug is one commit, and the evaluation is Python."""
LANGUAGES: Mapping[str, Mapping[str, str]] = {**PACKAGES, "c": {"cc": "gcc", "make": "make"}}
MISSING = (
    'missing=; for tool in {tools}; do command -v ${{tool%%:*}} >/dev/null || missing="$missing ${{tool#*:}}"; done;'
    ' [ -z "$missing" ] || (apt-get update && apt-get install -y --no-install-recommends $missing'
    " && rm -rf /var/lib/apt/lists/*)"
)
PATHS = (
    "for place in src .; do [ ! -d $place ] || readlink -f $place; done"
    ' > "$(python -c \'import sysconfig; print(sysconfig.get_path("purelib"))\')/testbed.pth";'
)
INDEXES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "npm_config_registry", "GOPROXY", "GOSUMDB")
"""Build arguments for the user's own indexes; they do not stay in the image's variables."""
_PRETEND = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "PDM_BUILD_SCM_VERSION")


def write_environments(folder: Path, bugs: Iterable[PoolBug]) -> dict[str, str]:
    """Write what these bugs need below `folder`. Returns bug -> why, for bugs whose original has another tree or cannot
    be packed; nothing is written for them."""
    write_files(folder, {"build_images.py": inside.text("build_images.py").encode()})
    packed: dict[tuple[Path, str], tuple[Path, str]] = {}
    refused: dict[str, str] = {}
    for one in bugs:
        known = (one.original, one.bug.tree_hash)
        if known not in packed:
            packed[known] = _packed(folder / ENVIRONMENTS / one.environment, *known)
        archive, why = packed[known]
        if why:
            refused[one.id] = why
        elif not (place := folder / ENVIRONMENTS / one.environment).joinpath("Dockerfile").exists():
            _write(place, one, archive)
    return refused


def _packed(place: Path, original: Path, tree: str) -> tuple[Path, str]:
    """(the archive of the original, why there is none)"""
    archive, new = place / ARCHIVE, place / f".{ARCHIVE}"
    place.mkdir(parents=True, exist_ok=True)
    try:
        pack(original, new, tree)
        new.replace(archive)
    except UntrustedDataError as error:
        new.unlink(missing_ok=True)
        if not any(place.iterdir()):
            place.rmdir()
        return archive, error.message
    return archive, ""


def _write(place: Path, one: PoolBug, archive: Path) -> None:
    known = recorded_environment(one.bug.environment)
    files = {
        "Dockerfile": dockerfile(known, one.language),
        "requirements.txt": "".join(f"{line}\n" for line in known.lock),
        "setup.sh": setup_script(known, one.language),
        "environment.json": as_json(one.bug.environment) + "\n",
    }
    write_files(place, {name: text.encode() for name, text in files.items()})
    if not (place / ARCHIVE).exists():
        shutil.copyfile(archive, place / ARCHIVE)


def dockerfile(known: Environment, language: str) -> str:
    """The image of a repository with its environment. `BASE` is a build argument, so that users can choose their own
    base."""
    base = known.image or f"python:{_minor(known.python)}-slim" if known.python else known.image or "debian:stable-slim"
    variables = {"LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= dict.fromkeys(_PRETEND, known.version or "0.0.0")
    if language == "javascript":
        variables["PATH"] = f"{PLACE}/.bin:$PATH"
    if language == "go":
        variables |= {"GOMODCACHE": go_modules.PLACE, "GOTOOLCHAIN": go_modules.VARIABLES["GOTOOLCHAIN"]}
    tools = " ".join(f"{program}:{package}" for program, package in {**TOOLS, **LANGUAGES.get(language, {})}.items())
    return "\n".join([
        f"ARG BASE={base}",
        "FROM ${BASE}",
        f"RUN {MISSING.format(tools=tools)}",
        *(f"ARG {name}" for name in INDEXES),
        "ENV " + " ".join(f"{name}={value}" for name, value in variables.items()),
        "WORKDIR /testbed",
        "ADD original.tar.gz /testbed/",
        "COPY requirements.txt setup.sh /selfplay/",
        "RUN bash /selfplay/setup.sh && rm -rf /selfplay",
        "",
    ])  # fmt: skip


def _minor(version: str | None) -> str:
    return ".".join((version or "3").split(".")[:2])


def setup_script(known: Environment, language: str) -> str:
    """The script that installs the environment in `/testbed`: the user's command, or the locked packages and the
    project."""
    lines = ["set -eu"]
    if known.setup:
        lines.append(known.setup)
    if known.python:
        lines += [
            "[ ! -s /selfplay/requirements.txt ] || pip install --no-cache-dir -r /selfplay/requirements.txt",
            "if [ -e pyproject.toml ] || [ -e setup.py ]; then",
            "  pip install --no-cache-dir --no-deps --editable . ||",
            f"    {{ {PATHS} }}",  # if its build packages are missing: enough for pure Python
            "fi",
        ]
    elif language == "javascript" and not known.setup:
        lines += _npm(known)
    elif language == "go" and not known.setup:
        lines.append(
            f"[ ! -e go.mod ] || [ -e vendor/modules.txt ] || go mod download || {' '.join(go_modules.NEEDED)} || :"
        )
    return "\n".join(lines) + "\n"


def _npm(known: Environment) -> list[str]:
    """Commands that install the packages of `package.json` like `selfplay/repository/building/node_packages.py`, and
    move them out of the tree."""
    plain = "install --no-package-lock"
    tries = [f"install --no-package-lock --before={known.as_of}"] if known.as_of else []
    commands = [*tries, plain, f"{plain} --ignore-scripts --legacy-peer-deps"]
    quiet = " ".join(QUIET)
    return [
        "[ -e package.json ] && [ ! -e node_modules ] || exit 0",
        f"lock=; for name in {' '.join(LOCKS)}; do [ ! -e $name ] || lock=$name; done",
        f"rewrite=$(cat <<'SELFPLAY_MANIFESTS'\n{repository_text(MANIFESTS).rstrip(chr(10))}\nSELFPLAY_MANIFESTS\n)",
        f"by_npm() {{ {' || '.join(f'npm {way} {quiet}' for way in commands)}; }}",
        "readable() {",
        '  changes=$(node -e "$rewrite" "$1"); [ "$changes" != "$before" ] || return 1',
        "  before=$changes; by_npm; done=$?",
        '  [ -z "$changes" ] || node -e "$rewrite" back',
        "  return $done",
        "}",
        f'before=none; {{ [ -n "$lock" ] && npm ci {quiet}; }} || readable npm || readable registry',
        "[ -d node_modules ] || exit 0",
        f"bash -s <<'SELFPLAY_PACKAGES'\n{repository_text('own_packages.sh').rstrip(chr(10))}\nSELFPLAY_PACKAGES",
        ROOM,
        f"mv node_modules {PLACE}",
    ]
