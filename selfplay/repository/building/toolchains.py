"""The programs that repositories of a language need on the machine or in the image, and their variables."""

from selfplay.repository.building import go_modules
from selfplay.repository.building.build import ENV
from selfplay.repository.building.node_packages import PLACE
from selfplay.repository.errors import NoToolchain
from selfplay.repository.fetching.gitdir import settings_env
from selfplay.sandbox import Backend, Limits, World
from selfplay.sandbox.kill_detection import believed_here, unless_starved
from selfplay.sandbox.machine import fitting

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
PACKAGES = {
    "javascript": {"node": "nodejs", "npm": "npm"},
    "go": {"go": "golang-go"},
    "rust": {"cargo": "cargo"},
    "java": {"javac": "default-jdk-headless", "mvn": "maven"},
}
"""Language -> program -> its Debian package."""
SECONDS = 30.0


def require_tools(language: str, backend: Backend) -> None:
    """Raises `NoToolchain` naming a language's programs that this backend's sandboxes lack."""
    packages = PACKAGES.get(language, {})
    if not packages:
        return
    script = 'for one; do command -v "$one" >/dev/null || echo "$one"; done'
    with backend.open(World(env={"PATH": SYSTEM_PATH}), fitting(Limits())) as sandbox:
        command = ["bash", "-c", script, "bash", *packages]
        done = believed_here(sandbox, lambda: sandbox.run(command, timeout=SECONDS), 2)
        unless_starved(done, "bash", SECONDS)
    if missing := [name for name in packages if name in done.text.split()]:
        names = " ".join(packages[name] for name in missing)
        place = "its image" if backend.image_id else "this machine"
        raise NoToolchain(
            f"repositories of {language} need {' and '.join(missing)}, which {place} does not have",
            f"Install Debian's {names}" + ("" if backend.image_id else f": apt-get install {names}") + ".",
        )


def variables(language: str, ready: bool) -> dict[str, str]:
    """The variables of every command on this repository: they make runs repeatable, and make git trust `/testbed`. An
    image that is `ready` keeps its own search path."""
    common = {"LANG": "C.UTF-8", "TZ": "UTC", **settings_env({"safe.directory": "*"})}
    repeatable = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    if ready:
        return common | repeatable
    if language == "python":
        return common | {"PATH": f"{ENV}/bin:{SYSTEM_PATH}", "VIRTUAL_ENV": ENV} | repeatable
    if language == "javascript":
        return common | {"PATH": f"{PLACE}/.bin:{SYSTEM_PATH}"}
    if language == "go":  # nothing can be downloaded in a run: fail at once
        own = {"GOPROXY": "off", "GOSUMDB": "off", "GOMODCACHE": go_modules.PLACE}
        return common | {"PATH": SYSTEM_PATH} | go_modules.VARIABLES | own
    return common | {"PATH": SYSTEM_PATH}
