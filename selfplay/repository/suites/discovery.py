"""Finds the files with a repository's tests, by pytest's own collection or by running the user's command."""

import os
import re
from collections.abc import Callable, Iterator

from selfplay.plain_text import printable, regular_file
from selfplay.repository.building.go_modules import NEWER_GO, OLD_GO
from selfplay.repository.building.ladder import NEAREST
from selfplay.repository.detection.declared_commands import declared_commands
from selfplay.repository.errors import NoTests
from selfplay.repository.prepared import Prepared
from selfplay.repository.suites.as_pytest import AsPytest, as_pytest
from selfplay.repository.suites.django import INSTALLED, MOST_BYTES, collecting, collections, settings_in
from selfplay.repository.suites.pytest_suite import file_of, parse_records, render_script
from selfplay.repository.suites.runners import RunnerCall, RunnerRequest
from selfplay.repository.suites.script_frame import framed
from selfplay.sandbox import WORKDIR, Completed

COLLECT_SECONDS = 120.0
TAIL_LINES = 15
SAME_NAMES = b"import file mismatch"
"""pytest's words for two test files of one name in folders that are no packages, as in a monorepo."""
MOST_BROKEN = 5
"""The most files that are left out because they cannot be loaded."""
CALL = "If they need another command, give it with --test; if something is not installed or built, with --setup."
OF_TREE = re.compile(rb"[('\"\s/]" + WORKDIR.encode() + rb"/([^\s'\":()]+)")
SCRIPT = re.compile(rb".+\.[cm]?[jt]sx?\b")
NO_MODULE = re.compile(rb"module lookup disabled by GOPROXY|(missing go.sum entry for|no required) module provid")
MODULES = (
    "Modules that it needs were not downloaded, as the build's notes say: run `go mod vendor` in a checkout, commit its"
    " `vendor` folder there, and name that checkout."
)
Run = Callable[[str, float], Completed]
"""Runs a script with a limit in seconds."""


Found = tuple[list[str], list[str], tuple[str, ...]]
"""(test files, files that cannot be collected, pytest's options)"""


def collected(prepared: Prepared, run: Run, wanted: AsPytest | None = None) -> Found:
    """What pytest collects: tried as configured, then without `addopts`, then with wider patterns, then as tox or nox
    calls another runner; files of one name are imported apart. `wanted`: of another runner's command. Raises
    `NoTests`."""
    log, examples = b"", False
    for options, places in _tries(prepared, wanted):
        done = run(collecting(options, places), COLLECT_SECONDS)
        log = log or done.stdout
        files, broken, some = _read(done)
        examples = examples or some
        if files and broken and SAME_NAMES in done.stdout:
            apart = (*options, "--import-mode=importlib")
            others, left, _ = _read(run(collecting(apart, places), COLLECT_SECONDS))
            if len(others) > len(files):
                return others, left, apart
        if files:
            return files, broken, options
    if examples:
        raise NoTests(
            f"{prepared.source} has tests only as examples in docstrings",
            "A bug must not touch the files that test it: give a source whose tests have their own files.",
        )
    raise NoTests(
        f"no tests can be collected in {prepared.source}\n{tail(log)}",
        advice(
            prepared, "If they need another command, give it with --test; if something is not installed, with --setup."
        ),
    )


def _read(done: Completed) -> tuple[list[str], list[str], bool]:
    """(files with tests, files that cannot be collected, whether anything was) of a run that collects."""
    records = parse_records(done.stdout)
    found = [record for record in records if record.outcome == "collected"]
    files = {file_of(record.id) for record in found if record.kind == "test"}
    broken = {record.id for record in records if record.kind == "collect" and record.id not in files}
    return sorted(files), sorted(path for path in broken if path.endswith(".py")), bool(found)


def _tries(prepared: Prepared, wanted: AsPytest | None) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """pytest's options, and the places where it looks."""
    if wanted is None or (wanted.django and not wanted.places):
        first = any(note.startswith(INSTALLED) for note in prepared.notes)
        yield from ((options, ()) for options in collections(_settings(prepared), first=first))
    declared = () if wanted else declared_commands(prepared.tree)
    for way in [wanted] if wanted else filter(None, (as_pytest(command, prepared.tree) for command in declared)):
        settings = _settings(prepared) if way.django else ""
        yield from ((options, way.places) for options in collections(settings, way.pattern, first=way.django))


def _settings(prepared: Prepared) -> str:
    manage = regular_file(prepared.tree, "manage.py")
    if manage is None:
        return ""
    with manage.open("rb") as stream:
        return settings_in(stream.read(MOST_BYTES))


def run_by(command: str, prepared: Prepared, run: Run, seconds: float) -> list[str]:
    """The test files whose tests the user's command runs. Raises `NoTests`."""
    done = run(render_script((), command=command), seconds)
    files = {file_of(record.id) for record in parse_records(done.stdout)}
    if not files:
        raise NoTests(
            f"the test command of {prepared.source} runs no test under pytest or unittest\n{tail(done.stdout)}",
            "It must run one of them, directly or through another program that keeps the environment.",
        )
    return sorted(files)


def run_as_called(call: RunnerCall, prepared: Prepared, run: Run, seconds: float) -> tuple[list[str], list[str]]:
    """(test files whose tests the repository's own call of its framework runs, files that cannot be loaded). Raises
    `NoTests`."""
    broken, log = list[str](), b""
    while True:
        options = (*call.options, *(f"{call.runner.ignoring}{path}" for path in broken))
        done = run(
            framed(call.runner.lines(RunnerRequest(options=options, places=call.places, before=call.before))), seconds
        )
        files = {file_of(record.id) for record in parse_records(done.stdout) if record.kind == "test"}
        log = log or done.stdout
        culprit = unloadable(done.stdout) if call.runner.ignoring and not files and len(broken) < MOST_BROKEN else ""
        if not culprit or culprit in broken:
            break
        broken.append(culprit)
    if not files:
        words = " ".join([*call.options, *call.places])
        raise NoTests(
            f"{call.runner.name} runs no test of {prepared.source} (called with {words!r})\n{tail(log)}",
            _of_go(log) or CALL,
        )
    return sorted(files), broken


def _of_go(log: bytes) -> str:
    if OLD_GO.search(log.decode("utf-8", "replace")):
        return NEWER_GO
    return MODULES if NO_MODULE.search(log) else ""


def unloadable(log: bytes) -> str:
    """The file of the tree that node could not load: the last one that a stack names, which the framework itself
    loaded; empty if none is named."""
    found = [script[0] for place in OF_TREE.findall(log) if (script := SCRIPT.match(place))]
    own = [os.fsdecode(path) for path in found if b"node_modules/" not in path and b".." not in path]
    return own[-1] if own else ""


def advice(prepared: Prepared, otherwise: str) -> str:
    """The ladder's advice about tests that do not run; `otherwise` if it found no problem."""
    found = next((note for note in prepared.notes if note.startswith(NEAREST)), None)
    return f"{found}, or give the command of its tests with --test" if found else otherwise


def tail(log: bytes, lines: int = TAIL_LINES) -> str:
    shown = [line for line in log.decode("utf-8", "replace").splitlines() if line.strip() and "SELFPLAY" not in line]
    return "\n".join(f"    {printable(line)}" for line in shown[-lines:])
