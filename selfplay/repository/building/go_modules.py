"""The modules of a Go repository: the build downloads what `go.mod` requires, and every run sees it read-only.

A repository that holds its modules in `vendor/` needs no download.
"""

import re
from pathlib import Path

from selfplay.formatting import listed
from selfplay.plain_text import regular_file
from selfplay.repository.building.build import Building, BuildRequest, last_lines
from selfplay.repository.building.build_results import BuildResults
from selfplay.repository.errors import BuildFailed

PLACE = "/go-modules"
MADE_AT = "/tmp/go-modules"
VARIABLES = {"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "GOCACHE": "/tmp/go-cache"}
"""Of every command on a Go repository: no other toolchain is fetched, and no history is asked."""
WRITABLE = {"GOMODCACHE": MADE_AT, "GOFLAGS": "-buildvcs=false -modcacherw"}
"""Of the build's commands. Folders that cannot be written in could not be removed again."""
NEEDED = ("go", "list", "-deps", "-test", "./...")
ARCHIVES = f"find {MADE_AT}/cache/download -name '*.zip'"
_REQUIRES = re.compile(rb"^[ \t]*+require\b", re.MULTILINE)
_MISSING = re.compile(r"^go: ([\w.!~/+-]{1,200}@[\w.+-]{1,100}):", re.MULTILINE)
OLD_GO = re.compile(
    r"requires go >= |module requires Go |is not in (?:GOROOT|std)\b|invalid go version|unknown directive: toolchain"
)
NEWER_GO = (
    "The Go of this machine is older than the project needs: install a newer one, or name an older release of it."
)
OTHER_PROXY = (
    "Name another proxy in GOPROXY, or run `go mod vendor` in a checkout and commit its `vendor` folder there."
)
MOST_TOLD, MOST_BYTES = 10, 1 << 20


def wanted(request: BuildRequest, tree: Path) -> bool:
    """Whether the build downloads modules."""
    if request.plan.language != "go" or request.setup or "vendor/modules.txt" in request.tracked:
        return False
    named = regular_file(tree, "go.mod")
    if named is None:
        return False
    with named.open("rb") as stream:
        return requires(stream.read(MOST_BYTES))


def requires(go_mod: bytes) -> bool:
    """Whether it requires a module."""
    return bool(_REQUIRES.search(go_mod))


def install(building: Building) -> None:
    """Download all modules of `go.mod`, else what the tests import. What is missing then is told by the tests' run.
    Raises `BuildFailed` if nothing could be downloaded."""
    building.progress("downloading the modules that go.mod requires")
    step = "go mod download"
    done = building.run(step, ["go", "mod", "download"], online=True)
    if done.exit_code == 0 and not done.timed_out:
        return
    building.raise_if_full(step, done)
    needed = building.run("looking for the modules of the tests", NEEDED, online=True)
    if needed.exit_code and not building.run("looking for what was downloaded", f"{ARCHIVES} 2>/dev/null").text.strip():
        hint = NEWER_GO if OLD_GO.search(done.text) else OTHER_PROXY
        raise BuildFailed(f"the modules that go.mod requires cannot be downloaded{last_lines(done.text)}", hint)
    missing = sorted({*_MISSING.findall(done.text)})[:MOST_TOLD]  # no line of the log: a URL in it may hold a token
    building.notes.append(f"modules that cannot be downloaded: {listed(missing) or 'the log names them'}")


def take_out(building: Building, results: BuildResults) -> None:
    """Bring the modules out of the build's sandbox, without their archives."""
    if building.run("looking for modules", ["test", "-d", MADE_AT]).exit_code:
        return
    building.run("removing the archives of the modules", f"{ARCHIVES} -delete")
    results.take(building.sandbox, MADE_AT, "env", "its modules")
