"""The packages of a JavaScript repository: npm installs them into the tree, then they are moved out of it.

They are mounted at the root, read-only: node and its tools look there for packages that no nearer folder has. So
modules of the tree still find them, but the tree in which bugs are planted contains none of them.
"""

from selfplay.plain_text import printable
from selfplay.repository import inside
from selfplay.repository.building.build import Building, BuildRequest, last_lines
from selfplay.repository.building.build_results import BuildResults
from selfplay.repository.errors import BuildFailed
from selfplay.sandbox import WORKDIR

PLACE = "/node_modules"
FOLDER = f"{WORKDIR}{PLACE}"
LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
OTHER_LOCKS = ("yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb")
MANIFESTS = "npm_manifests.js"
CHANGE, MOST_TOLD = "rewritten: ", 5
"""How its lines begin that name a change, and how many of them a note has."""
CACHES = (".vite", ".vite-temp", ".vitest", ".cache")
"""Folders of node_modules that tools write into; vite cannot even read its settings otherwise. They lead to `/tmp`,
since the packages are read-only."""
ROOM = f"for name in {' '.join(CACHES)}; do rm -rf node_modules/$name && ln -s /tmp node_modules/$name; done"
QUIET = ("--no-audit", "--no-fund", "--no-progress", "--loglevel=error", "--cache=/tmp/npm-cache")


def wanted(request: BuildRequest) -> bool:
    """Whether the build installs packages by npm."""
    return request.plan.language == "javascript" and "package.json" in request.tracked and not request.setup


def install(building: Building) -> None:
    """Install the packages of `package.json`: by its lock file, else as of the request's day. Raises `BuildFailed`."""
    tracked = building.request.tracked
    if "package.json" not in tracked:
        return
    building.progress("installing the packages that package.json names")
    if any(name in tracked for name in LOCKS) and _npm(building, "npm ci", "ci"):
        return
    if other := next((name for name in OTHER_LOCKS if name in tracked), ""):
        building.notes.append(f"{other} is not used: npm chooses the versions from package.json")
    changes = _rewritten(building, "npm")
    if _with_manifests(building, changes):
        return
    why, more = last_lines(building.last), _rewritten(building, "registry")
    if more == changes or not _with_manifests(building, more):
        hint = "Give the commands that install it with --setup, for example: --setup 'npm install'."
        raise BuildFailed("its packages cannot be installed" + why, hint)


def _rewritten(building: Building, readable_by: str) -> list[str]:
    """Rewrite the tree's `package.json` files so that they hold only what npm reads; with `registry`, only what comes
    from the registry. Returns what was changed."""
    told = building.run("reading what package.json names", ["node", "-e", inside.text(MANIFESTS), readable_by])
    return [line.removeprefix(CHANGE) for line in told.text.splitlines() if line.startswith(CHANGE)]


def _with_manifests(building: Building, changes: list[str]) -> bool:
    """Install with these changes of the tree's `package.json` files, which are then put back. Returns whether it
    worked."""
    try:
        if not _by_npm(building):
            return False
    finally:
        if changes:
            building.must("writing package.json back", ["node", "-e", inside.text(MANIFESTS), "back"])
    if changes:
        others = f"; and {len(changes) - MOST_TOLD} more" if len(changes) > MOST_TOLD else ""
        first = "; ".join(printable(change)[:200] for change in changes[:MOST_TOLD])
        building.notes.append(f"npm installed what it can of package.json: {first}{others}")
    return True


def _by_npm(building: Building) -> bool:
    """Install as of the request's day, else as of today, else without scripts, which is noted."""
    day = building.request.as_of
    if day and _npm(building, f"npm install as of {day}", "install", "--no-package-lock", f"--before={day}"):
        return True
    if _npm(building, "npm install", "install", "--no-package-lock"):
        return True
    plain = ("install", "--no-package-lock", "--ignore-scripts", "--legacy-peer-deps")
    if not _npm(building, "npm install without scripts", *plain):
        return False
    building.notes.append("install scripts fail: those of its packages and its own build were left out")
    return True


def _npm(building: Building, step: str, *words: str) -> bool:
    """Run npm once; returns whether it worked."""
    done = building.run(step, ["npm", *words, *QUIET], online=True)
    if done.exit_code != 0:
        building.raise_if_full(step, done)
    return done.exit_code == 0 and not done.timed_out


def take_out(building: Building, results: BuildResults) -> None:
    """Move the installed packages out of the tree, unless the repository itself contains some."""
    if any(path.startswith("node_modules/") for path in building.request.tracked):
        return
    if building.run("looking for packages", ["test", "-d", FOLDER]).exit_code:
        return
    building.run("linking packages of the tree", ["bash", "-c", inside.text("own_packages.sh")])
    building.run("making room for caches", ["bash", "-c", ROOM])
    taken = results.take(building.sandbox, FOLDER, "env", "its packages")
    if taken.dropped:
        building.notes.append(f"links that lead out of node_modules were left out: {', '.join(taken.dropped)}")
    building.must("removing the packages from the tree", ["rm", "-rf", FOLDER])
