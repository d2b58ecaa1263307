"""Judges the code that a prediction adds, once it passes all else: what it newly uses, and whether all of it ran.

Code that ran in no test and on no hidden input was judged by nobody: `return right(x) if usual(x) else wrong` passes
wherever the input is usual. So each new place is marked and the prediction runs again, first on the hidden inputs, then
in the tests. A place that never runs makes the grade weakly assured; it is no reason to refuse a repair, which may hold
a branch for what never happens. A program could note a place by itself only through names drawn for this run.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from selfplay.formatting import count
from selfplay.oracle import inside, layers
from selfplay.oracle.behaviour.agreeing_calls import joined
from selfplay.oracle.behaviour.call_runner import Caller
from selfplay.oracle.behaviour.events import Event, new_events, sentence
from selfplay.oracle.behaviour.stored_behaviour import ENOUGH
from selfplay.oracle.calibration import Calibration
from selfplay.oracle.layers import Layer
from selfplay.oracle.rewriting.coverage_marks import Lines, Marked, Noters, lines_of, with_marks
from selfplay.oracle.rewriting.python_trees import beginning, parsed, unparsed
from selfplay.oracle.rewriting.secret_names import secret_name
from selfplay.oracle.screening.screen import ChangedFiles, changed_files
from selfplay.oracle.screening.suspicious_apis import may_be_loaded
from selfplay.oracle.trial import TrialOrder, run_trial
from selfplay.oracle.world import Task
from selfplay.plain_text import encode
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.files import TestFile

MOST_FILES = 50
"""A prediction that changes the code of more files is weakly assured."""


@dataclass(frozen=True)
class MarkedCode:
    """`files`: path -> text with marks; `places`: word -> the place, in words; `record`: the file that marks write."""

    files: Mapping[str, str]
    places: Mapping[str, str]
    record: str


@dataclass(frozen=True)
class NewCode:
    """`order`: how the prediction is run; `done`: what its runs did to their interpreter."""

    backend: Backend
    task: Task
    known: Calibration
    order: TrialOrder
    limits: Limits
    done: tuple[Event, ...] = ()

    def judged(self, diff: str, asked: bool) -> Iterator[tuple[Layer, float]]:
        """The layers and the seconds that their scripts took. `asked`: whether a second look is taken. Raises
        `SandboxError`."""
        files = changed_files(self.backend, self.task, diff, self.limits)
        said = self._suspect(files)
        yield said, 0.0
        if not asked:
            yield Layer("coverage", "skipped", "was not requested"), 0.0
        elif said.state == "passed":
            yield self._coverage(files)

    def _suspect(self, files: ChangedFiles) -> Layer:
        """Whether its code newly uses something that a repair seldom needs; then a person should decide, not a
        reward."""
        tests = self.task.artifact.test_files
        used = files.newly_used()
        found = (*used, *(sentence(event) for event in new_events(self.done, self.known.events, tests)))
        if found:
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            return layers.caught("suspect", f"{found[0]}{more}; neither its file nor the known repair did")
        return layers.passed("suspect", "its code uses nothing new that a repair seldom needs")

    def _coverage(self, files: ChangedFiles) -> tuple[Layer, float]:
        """Whether all of its new code ran while it was judged."""
        if not files.after:
            return layers.unavailable("coverage", "it changes no Python file"), 0.0
        code = marked_code(files)
        if code is None:
            return layers.unavailable("coverage", "its files cannot be written with marks in their new code"), 0.0
        left, seconds, runs = set(code.places), 0.0, 0
        for run in (self._calls, self._tests):
            if left:
                found, took = run(code)
                left -= {*found.decode("ascii", "replace").split("\n")}
                seconds, runs = seconds + took, runs + 1
        return replace(_said(code, left), runs=runs), seconds

    def _calls(self, code: MarkedCode) -> tuple[bytes, float]:
        """What its marks note in the calls that judge it."""
        known = self.known.behaviour
        if known is None or len(known.calls.sources) < ENOUGH:
            return b"", 0.0
        order, calls = self.order, joined(known.calls, known.guards.calls)
        caller = Caller(self.backend, self.task, order.seconds, self.limits, read=(code.record,))
        called = caller.make(calls, order.diffs, files=_written(code))
        return called.found.get(code.record, b""), called.seconds

    def _tests(self, code: MarkedCode) -> tuple[bytes, float]:
        """What its marks note in the tests."""
        order = TrialOrder(self.order.diffs, self.order.seconds, files=_written(code), read=(code.record,))
        trial = run_trial(self.backend, self.task.world, self.task.artifact, order, self.limits)
        return trial.found.get(code.record, b""), trial.seconds


def _said(code: MarkedCode, left: Collection[str]) -> Layer:
    """The layer's result; `left`: the places that never ran."""
    if left:
        first = min(left, key=lambda word: int(word.rstrip("+-")))
        more = f", and {count(len(left) - 1, 'more place')}" if len(left) > 1 else ""
        return layers.unavailable("coverage", f"{code.places[first]} in any test or on any hidden input{more}")
    if not code.places:
        return layers.passed("coverage", "it adds no code")
    return layers.passed("coverage", f"all of its new code ran, in {count(len(code.places), 'place')}")


def marked_code(files: ChangedFiles) -> MarkedCode | None:
    """The files of a prediction that hold new code, with marks; None if they cannot be marked. A new file that nothing
    loads is left out: what is left behind is no part of the program."""
    noters, record = Noters(f"_{secret_name(())}", f"_{secret_name(())}"), f"/tmp/tmp{secrets.token_hex(4)}"
    made, places = dict[str, str](), dict[str, str]()
    changed = {path: text for path, text in files.after.items() if _adds(path, files)}
    if len(changed) > MOST_FILES:
        return None
    try:
        known = _known(files)
        for path, text in changed.items():
            marked = with_marks(path, text, known, noters, len(places))
            if marked is None:
                return None
            if marked.places:
                made[path], places = _noting(marked, noters, record), places | marked.places
    except RecursionError:
        return None
    return MarkedCode(made, places, record)


def _adds(path: str, files: ChangedFiles) -> bool:
    """Whether a file may add code to the program."""
    text, known = files.after[path], [texts.get(path) for texts in (files.repaired, files.before)]
    return bool(text) and text not in known and (any(known) or may_be_loaded(path, files.after))


def _known(files: ChangedFiles) -> Lines:
    """The lines that the original or the buggy program has in these files."""
    found = Lines()
    for path in files.before.keys() | files.repaired.keys():
        found += lines_of(files.repaired.get(path, "")) | lines_of(files.before.get(path, ""))
    return found


def _noting(marked: Marked, noters: Noters, record: str) -> str:
    """The marked file, with the functions that its marks call."""
    source = f"SELFPLAY_FILE = {record!r}\n{inside.text('selfplay_covered.py')}"
    prelude = inside.apart(source, "covered", {noters.ran: "selfplay_ran", noters.gave: "selfplay_gave"})
    tree = parsed(marked.text)
    assert tree is not None, "it was written by Python"
    at = beginning(tree)
    tree.body[at:at] = [*(parsed(prelude) or tree).body]
    return unparsed(tree)


def _written(code: MarkedCode) -> dict[str, TestFile]:
    return {path: TestFile(encode(text)) for path, text in code.files.items()}
