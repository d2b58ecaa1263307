"""The ladder of a build: repairs tried one after another until the project's tests can be collected and run.

After the installation, the tests are collected and a dozen of them run, without a network. While a problem remains that
a rung can repair, the next rung is tried: plugins and modules that the errors name, other import roots, an older
pytest. Each has a heading in the build's log and, if it is kept, a note. Without problems the cost is only that dozen
of tests.
"""

import re
import shlex
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from selfplay.formatting import count
from selfplay.plain_text import printable, safe_relative
from selfplay.repository.building.build import ENV, Building, BuildRequest
from selfplay.repository.building.known_names import MOST_TEXT, distributions_of, missing_modules, named_plugins
from selfplay.repository.suites.django import INSTALLED, MOST_BYTES, PLUGIN, collecting, collections, settings_in
from selfplay.repository.suites.pytest_suite import TestRecord, file_of, parse_records, render_script

LADDER_SECONDS = 240.0
"""Seconds for all rungs; the current one may end later."""
COLLECT_SECONDS = 120.0
MOST_TRIED, TRIED_SECONDS, TRYING_SECONDS = 12, 4.0, 45.0
"""The number of tests in the trial; seconds for each, and for all."""
MOST_REPAIRS, OLDER = 12, 3
"""How often missing names are installed, and how many older major versions of pytest are tried."""
NOT_INSTALLED, THE_PROJECT = " does not install", "the project itself"
"""What the notes say of a step that failed, and of the project's own."""
NEAREST = "the tests do not run"
"""The beginning of the note that names the rung that came nearest."""
_BLAMED = re.compile(
    r"_pytest[./]|PytestRemovedIn|pytest\.Pytest\w{1,60}|module 'pytest' has no"
    r"|cannot import name '\w{1,60}' from '_?pytest"
)
_CAUSE = re.compile(r"^E {1,10}([A-Za-z_][\w.]{0,100}(?:Error|Exception|Warning|Failed)?: [^\n]{1,200})", re.MULTILINE)
_VERSION = re.compile(r"([0-9]{1,3})\.[0-9]")
_CLEAN = "find . -path ./.git -prune -o -print | LC_ALL=C sort"


@dataclass(frozen=True)
class Look:
    """How the tests fare. `tests`: collected ids; `broken`: what cannot be collected; `passed` of the `tried` tests;
    `text`: the runs' output."""

    tests: tuple[str, ...]
    broken: int
    tried: int
    passed: int
    text: str

    @property
    def fine(self) -> bool:
        return bool(self.tests) and 2 * self.passed >= self.tried

    def better(self, other: "Look") -> bool:
        """Compare first by the share of the trial that passes, then by what can be collected."""
        return (self.passed * max(other.tried, 1), len(self.tests)) > (
            other.passed * max(self.tried, 1),
            len(other.tests),
        )


def climb(building: Building) -> None:
    """Try the rungs until the tests run. The last note names the remaining problem."""
    deadline = time.monotonic() + LADDER_SECONDS
    found = django(building, install_missing(building, look(building), deadline))
    if not found.fine or found.broken:
        found = older_pytest(building, found, deadline)
    if not found.tests or (found.tried and not found.passed):
        building.notes.append(nearest(building, found))


def look(building: Building) -> Look:
    """Collect the tests, and try a dozen of them."""
    options: tuple[str, ...] = ()
    for options in collections(building.settings, first=True):
        done = building.run("collecting the tests", collecting(options), timeout=COLLECT_SECONDS)
        records = parse_records(done.stdout)
        tests = tuple(record.id for record in records if record.outcome == "collected" and record.kind == "test")
        broken = sum(record.outcome == "failed" for record in records)
        if tests or done.timed_out:
            break
    tried, text = _trial(building, tests, options) if tests else ([], "")
    passed = sum(record.outcome in ("passed", "skipped", "xfailed") for record in tried)
    return Look(tests, broken, len(tried), passed, (done.text + text)[-MOST_TEXT:])


def _trial(building: Building, tests: tuple[str, ...], options: tuple[str, ...]) -> tuple[list[TestRecord], str]:
    """Run some evenly chosen tests, and remove the files they leave in the tree."""
    chosen = sorted({tests[number * len(tests) // MOST_TRIED] for number in range(MOST_TRIED)})
    files = sorted({file_of(test) for test in chosen})
    script = render_script(files, only=chosen, options=options, test_seconds=TRIED_SECONDS, max_timeouts=2)
    left = (
        f'{_CLEAN} | LC_ALL=C comm -13 /tmp/before - | LC_ALL=C sort -r | while IFS= read -r p; do rm -rf -- "$p"; done'
    )
    wrapped = f"{_CLEAN} >/tmp/before\n(\n{script})\n{left}\n"
    done = building.run("trying some tests", wrapped, timeout=TRYING_SECONDS)
    if done.timed_out:
        building.run("removing what they left", left, timeout=TRYING_SECONDS)
    return [record for record in parse_records(done.stdout) if record.kind == "test"], done.text


def install_missing(building: Building, found: Look, deadline: float) -> Look:
    """Install plugins and modules that errors name, and add import roots, as long as there are new ones."""
    own, declared = own_modules(building.request), set(building.request.plan.declared)
    tried: set[str] = set()
    for _ in range(MOST_REPAIRS):
        missing = missing_modules(found.text)
        roots = import_roots(building.request, missing) - set(building.roots)
        wanted = distributions_of((name for name in missing if name.split(".")[0] not in own), declared)
        wanted = (wanted | set(named_plugins(found.text))) - tried
        if not (wanted or roots) or time.monotonic() > deadline:
            return found
        add_roots(building, roots)
        tried |= wanted
        for name in sorted(wanted):
            building.progress(f"installing {name}, which the tests miss")
            if building.install(f"installing {name}", name):
                building.notes.append(f"{name} was installed because the tests import it")
        found = look(building)
    return found


def django(building: Building, found: Look) -> Look:
    """Run the tests of `manage.py test` under pytest-django, if more of them run so than under pytest alone."""
    if "manage.py" not in building.request.tracked:
        return found
    settings = settings_in(building.run("reading manage.py", ["head", "-c", str(MOST_BYTES), "manage.py"]).stdout)
    if not settings or not building.install(f"installing {PLUGIN}", PLUGIN):
        return found
    building.progress(f"trying the tests under {PLUGIN}, with {settings}")
    building.settings = settings
    seen = look(building)
    if found.tests and not seen.better(found):
        building.settings = ""
        return found
    building.notes.append(f"{INSTALLED}, with its settings {settings}")
    return seen


def older_pytest(building: Building, found: Look, deadline: float) -> Look:
    """Try older major versions of pytest if the errors suggest it, and keep the one under which most tests run."""
    if building.request.constraints or not _BLAMED.search(found.text):
        return found
    version = _VERSION.search(building.run("asking for pytest's version", ["python", "-m", "pytest", "--version"]).text)
    if version is None:
        return found
    newest = int(version[1])
    best, kept = found, ""
    for major in range(newest, newest - OLDER, -1):
        if time.monotonic() > deadline:
            break
        building.progress(f"trying the tests under pytest<{major}")
        if building.install(f"trying pytest<{major}", f"pytest<{major}"):
            seen = look(building)
            best, kept = (seen, f"pytest<{major}") if seen.better(best) else (best, kept)
            if seen.fine and not seen.broken:
                break
    if best is found or best is not seen:
        building.install("going back", kept or f"pytest=={newest}.*")
    if kept:
        building.notes.append(f"{kept} was installed: more of the tests run under it than under pytest {newest}")
    return best


def add_roots(building: Building, roots: Collection[str]) -> None:
    """Also import modules from these folders of the tree."""
    new = [root for root in sorted(roots) if root not in building.roots]
    if not new:
        return
    building.roots += tuple(new)
    code = "import sys, sysconfig; open(sysconfig.get_path('purelib') + '/_selfplay_roots.pth', 'w').write(sys.argv[1])"
    lines = "".join(f"/testbed/{root}\n" for root in building.roots)
    building.run("adding import roots", [f"{ENV}/bin/python", "-I", "-c", code, lines])
    building.notes.append(f"modules are imported from {', '.join(printable(root)[:100] for root in new)}, too")


def import_roots(request: BuildRequest, missing: Collection[str]) -> set[str]:
    """Folders of the tree that directly contain a missing module or its package: the shortest path for each."""
    found = set()
    for module in missing:
        name = module.split(".")[0]
        ends = (f"/{name}.py", f"/{name}/__init__.py")
        places = [path[: -len(end)] for path in request.tracked for end in ends if path.endswith(end)]
        places = [place for place in places if f"{place}/__init__.py" not in request.tracked]
        if places := [place for place in places if safe_relative(place) and "\n" not in place]:
            found.add(min(places, key=lambda place: (place.count("/"), place)))
    return found


def own_modules(request: BuildRequest) -> set[str]:
    """The names that the tree defines at its import roots."""
    names = set()
    for path in request.tracked:
        for root in {*request.plan.roots, "."}:
            inner = path if root == "." else path.removeprefix(f"{root}/") if path.startswith(f"{root}/") else ""
            names.add(inner.split("/")[0].removesuffix(".py"))
    return names


def nearest(building: Building, found: Look) -> str:
    """The remaining problem, and a command to continue from."""
    state = f"{count(len(found.tests), 'is', 'are')} collected" + (
        f", {found.passed} of {found.tried} tried pass" if found.tests else ""
    )
    causes = Counter(_CAUSE.findall(found.text)).most_common(1)
    why = f", mostly by {printable(causes[0][0])[:200]}" if causes else ""
    failed = [note for note in building.notes if NOT_INSTALLED in note]
    why += f", and {printable('; '.join(failed[:2]))[:300]}" if failed else ""
    line = setup_line(building.request, {note.partition(NOT_INSTALLED)[0] for note in failed})
    return f"{NEAREST}: {state}{why}; to go on from here: --setup {shlex.quote(line)}"


def setup_line(request: BuildRequest, failed: Collection[str] = ()) -> str:
    """A `--setup` command like the steps taken, without what `failed`, to be changed and tried."""
    plan = request.plan
    extras = f"[{','.join(plan.extras)}]" if plan.extras else ""
    whole = plan.project and THE_PROJECT not in failed
    words = ["-e", f".{extras}"] if whole else [one for one in plan.dependencies if one not in failed]
    words += [word for path in plan.requirement_files for word in ("-r", path)]
    words += plan.packages
    words += [word for group in plan.groups for word in ("--group", group)]
    kept = [printable(word) for word in dict.fromkeys(words) if word not in failed and word != "pytest"]
    return f"pip install {shlex.join([*kept, 'pytest'])}"
