"""What programs do to their interpreter while the tests run: events, reported by the hook in the witness, compared
here.

A repair seldom does something that neither the original nor the buggy program did under the same tests, such as
inspecting frames, tracing, making code, starting processes, or opening the tests. Such a grade is *suspect*
(`suspicious_apis.py` applies the same rule to the source). A program that opens the judge's own files, or ends the
runner, is caught.
"""

import json
import posixpath
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from selfplay import patches
from selfplay.sandbox import WORKDIR
from selfplay.workbench.running import ORACLE

Event = tuple[str, str, str]
"""(kind, place, detail). The place is a file of the repository, `tests`, or empty for other code."""
KINDS: Mapping[str, str] = {
    "frames": "looks at frames",
    "tracing": "traces what runs",
    "objects": "reaches objects of others",
    "memory": "reaches memory",
    "code": "makes or runs code",
    "insides": "reaches into functions or classes",
    "processes": "starts or signals processes",
    "network": "uses the network",
    "runner": "imports the test runner",
    "tests": "opens files of the tests",
    "own": "opens files of the judge",
    "kills": "signals the test runner",
}
NEVER = ("own", "kills")
ENDING = (*NEVER, "tracing", "objects", "memory")
"""Kinds of events at which the hook ends the run, unless the original shows them: they could undo what the hook
reported."""
OWN = (f"{ORACLE}/", "/tmp/selfplay")


def witness_order(tests: Iterable[str], ends: Collection[str], runner: bool, seed: str) -> bytes:
    """The input of the witness and its hook, as JSON. `tests`: the paths of the tests; `ends`: the kinds that end the
    run; `runner`: whether to look for replaced functions of the runner, which takes time; `seed`: of a shuffled test
    order."""
    told = {"root": WORKDIR, "tests": areas(tests), "own": OWN, "ends": sorted(ends), "runner": runner, "seed": seed}
    return json.dumps(told).encode("ascii")


def areas(tests: Iterable[str]) -> list[str]:
    """Path prefixes of the tests: the outermost folder that contains only tests, or the file and its compiled form."""
    return sorted({beginning for path in tests for beginning in _area(path)})


def _area(path: str) -> tuple[str, ...]:
    folders = [str(folder) for folder in reversed(PurePosixPath(path).parents)][1:]
    area = next((folder for folder in folders if patches.is_test_file(f"{folder}/x.py")), None)
    if area is not None:
        return (f"{area}/",)
    return path, posixpath.join(posixpath.dirname(path), "__pycache__", f"{PurePosixPath(path).stem}.")


def paths_of_tests(tests: Iterable[str], diffs: Iterable[str]) -> tuple[str, ...]:
    """The paths of tests without those that the bug changes: those belong to the program, whatever their names."""
    changed = {path for diff in diffs for path in patches.touched_paths(diff)}
    return tuple(path for path in tests if path not in changed)


def comparable(events: Iterable[Event], tests: Collection[str]) -> frozenset[Event]:
    """The events without what differs from run to run. Files that are not tests are reduced to their folder. Frame
    inspection keeps only the language module that does it: if asyncio inspects frames, any file of the program may do
    so through asyncio, but not through `inspect`."""
    return frozenset(_comparable(event, tests) for event in events)


def _comparable(event: Event, tests: Collection[str]) -> Event:
    kind, place, detail = event
    if kind != "tests":
        by = detail.partition(" by ")[2]
        return kind, "program" if by and place not in ("", "tests") else place, by
    return kind, "program" if place else "", detail if detail in tests else posixpath.dirname(detail)


def new_events(events: Iterable[Event], known: Collection[Event], tests: Collection[str]) -> tuple[Event, ...]:
    """The events that did not occur in any run of the original or of the buggy program."""
    return tuple(event for event in events if _comparable(event, tests) not in known)


def sentence(event: Event) -> str:
    """Describe one event for a user."""
    kind, place, detail = event
    where = {"": "code outside the repository", "tests": "a test, by what the program gave it,"}.get(place, place)
    return f"{where} {KINDS.get(kind, kind)} while it runs ({detail})"
