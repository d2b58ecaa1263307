"""Runs call probes in a separate process, outside the test runner and the tests' folder; reads the signed record."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from selfplay.oracle import inside
from selfplay.oracle.behaviour.contexts import BARE, CallContext
from selfplay.oracle.behaviour.events import OWN, Event, areas, paths_of_tests
from selfplay.oracle.behaviour.recording import NAMES, drawn_names, in_names
from selfplay.oracle.behaviour.signed import BrokenRecord, Signed, read_signed
from selfplay.oracle.rewriting.mutant_schema import PLAIN, SchemaNames
from selfplay.oracle.task import Task
from selfplay.sandbox import Backend, Limits
from selfplay.untrusted_json import AnswerError, answer
from selfplay.workbench.files import TestFile
from selfplay.workbench.running import RunRequest, run_tests

SECONDS = 1.0
"""Time limit of one call in core seconds; by the clock three times as much, without the time spent waiting for a
core."""
ALL_SECONDS = 120.0
"""Least time limit of all calls of a process by the clock. The tests' time says nothing of it: calls may wait."""
EVENT = "event"
"""Prefix of event places in the record."""
AGAIN = " again"
"""Suffix of a call's name for an outcome that differs when the call is repeated."""
AGAIN_SECONDS = 0.2
"""Seconds, without the time spent waiting for a core, for repeating the quick calls of one process."""
_SOURCES = ("selfplay_plain.py", "selfplay_hook.py", "selfplay_user.py", "selfplay_around.py",
            "selfplay_mutants.py", "selfplay_caller.py")  # fmt: skip


@dataclass(frozen=True)
class Calls:
    """`python`, `paths`: how to load the program. `modules`: module -> its name in the calls. `sources`: name of a
    probe -> the call. `helpers`: name in the calls -> source of what they use from the tests. `late`: how many of the
    last come after those that are repeated."""

    python: str = ""
    paths: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    late: int = 0


@dataclass(frozen=True)
class Additions:
    """What was put into files of the program: `marks`, so that the lines that run in a call are its outcome
    (`line_marks.py`); or `mutants`, of which those with these numbers run, so that the outcomes are the calls that show
    each (`mutation_score.py`): those that are `unusual` do not where they refuse their input. `names`: of what mutants
    ask for. `refusing`: whether those that are `unusual` count where the program itself refuses its input. `loading`:
    whether one that no call shows may be shown by what the program does while it is loaded, where no mutant is
    chosen. `clock`: whether a call that asks for the time of day has no answer."""

    marks: bool = False
    mutants: tuple[int, ...] = ()
    names: SchemaNames = PLAIN
    unusual: frozenset[str] = frozenset()
    refusing: bool = True
    loading: bool = True
    clock: bool = False


NOTHING = Additions()


@dataclass(frozen=True)
class Called:
    """What the calls did, and what they did to their interpreter; no outcomes if the record is broken or incomplete.
    `late`: they were stopped by the limit for all of them. `found`: the files that were to be read."""

    outcomes: Signed = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    seconds: float = 0.0
    late: bool = False
    found: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Caller:
    """Makes calls of one task's program. `seconds`: time limit of a run of its tests, and of all calls if it is
    above `ALL_SECONDS`; `each`: of one call, like `SECONDS`; after `most_slow` calls that were stopped no more are
    made, nor after `enough` seconds of the others, without the time spent waiting for a core. `ends`: kinds of events
    that end the process. `read`: files to read afterwards."""

    backend: Backend
    task: Task
    seconds: float
    limits: Limits
    ends: tuple[str, ...] = ()
    each: float = SECONDS
    most_slow: int = 1_000_000
    enough: float = 1_000_000.0
    read: tuple[str, ...] = ()

    def make(
        self, calls: Calls, diffs: Sequence[str], place: CallContext = BARE, hash_seed: str = "0",
        files: Mapping[str, TestFile] = MappingProxyType({}), again: float = 0.0, planted: Additions = NOTHING,
    ) -> Called:  # fmt: skip
        """Make the calls in order, since one may change what later ones return. Raises `SandboxError`.

        `files` are written over those of the program. `again`: seconds for repeating the quick calls, before the
        late ones; a changed outcome is recorded as `AGAIN`. `planted`: what stands in the files, beside the program."""
        names, seconds = drawn_names(calls.helpers.values()), max(self.seconds, ALL_SECONDS)
        key, record = secrets.token_hex(32), f"/tmp/tmp{secrets.token_hex(4)}"
        order = {**self._order(calls, place, names), "record": record, "own": [*OWN, record], "again": again,
                 "marked": planted.marks, "mutants": planted.mutants, "unusual": sorted(planted.unusual),
                 "schema": planted.names, "loading": planted.loading, "refusing": planted.refusing,
                 "clock": planted.clock}  # fmt: skip
        program = inside.apart(f"{_SOURCE}\nselfplay_caller()\n", "__main__", file=place.argv[0] or "<string>")
        world = place.world(self.task.world)
        request = RunRequest(
            world, place.script(world, calls.python, program, hash_seed), "", seconds, self.limits,
            diffs=tuple(diffs), restore=self.task.artifact.test_files, files=files,
            stdin=f"{key}{json.dumps(order)}".encode(), read=(record, *self.read), alone=True,
        )  # fmt: skip
        run = run_tests(self.backend, request)
        try:
            found, ended = read_signed(run.found.get(record, b""), key)
            events = tuple(_event(text) for text in found.pop(EVENT, {}).values())
        except BrokenRecord:
            return Called(seconds=run.seconds, late=run.timed_out, found=run.found)
        return Called(found if ended else {}, events, run.seconds, run.timed_out, run.found)

    def _order(self, calls: Calls, place: CallContext, names: Mapping[str, str]) -> dict[str, object]:
        """The input of the caller program."""
        artifact = self.task.artifact
        return {
            "root": place.root, "paths": [place.path(path) for path in calls.paths], "modules": dict(calls.modules),
            "helpers": {name: in_names(text, names) for name, text in calls.helpers.items()},
            "given": {old: names[old] for old in NAMES}, "argv": list(place.argv), "terminal": bool(place.home),
            "script": place.main, "recursion": place.recursion, "seconds": self.each,
            "slow": self.most_slow, "enough": self.enough, "ends": list(self.ends),
            "tests": areas(paths_of_tests(artifact.test_files, (artifact.bug_inject,))),
            "calls": [[name, source] for name, source in calls.sources.items()], "late": calls.late,
        }  # fmt: skip


_SOURCE = "\n\n".join(inside.text(name) for name in _SOURCES)


def _event(text: str) -> Event:
    """Parse one event of the record. Raises `BrokenRecord`."""
    try:
        kind, place, detail = answer(tuple[str, str, str], text.encode())
    except AnswerError as error:
        raise BrokenRecord(f"an event in the record cannot be read: {error}") from error
    return kind, place, detail
