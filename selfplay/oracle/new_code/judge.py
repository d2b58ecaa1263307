"""Judges the code that a prediction adds, once it passes all else: what it newly uses, whether all of it ran, whether
every further input is answered as by the original, whether only what the bug changes is changed, and whether each part
is needed.

Code that ran in no test and on no hidden input was judged by nobody: `return right(x) if usual(x) else wrong` passes
wherever the input is usual. So each new place is marked and the prediction runs again, first on the hidden inputs, then
in the tests; further inputs are made in the same run. None of this is a reason to refuse a repair, which may hold a
branch for what never happens, and may do as it likes where nothing is specified: the grade is weakly assured. A program
could note a place by itself only through names drawn for this run.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

from selfplay.formatting import and_more, count
from selfplay.oracle import inside, layers
from selfplay.oracle.behaviour.agreeing_calls import differing, joined
from selfplay.oracle.behaviour.call_runner import NOTHING, Additions, Called, Caller
from selfplay.oracle.behaviour.events import Event, new_events, sentence
from selfplay.oracle.behaviour.stored_behaviour import ENOUGH, Behaviour
from selfplay.oracle.calibration import Calibration
from selfplay.oracle.layers import Doubt, Layer
from selfplay.oracle.new_code.added_code import added_code, known_lines
from selfplay.oracle.new_code.changed_files import ChangedFiles, changed_files
from selfplay.oracle.new_code.needed_parts import needed_parts
from selfplay.oracle.rewriting.coverage_marks import WHAT, Marked, Noters, with_marks
from selfplay.oracle.rewriting.patch_scope import beyond
from selfplay.oracle.rewriting.python_trees import begun_with
from selfplay.oracle.rewriting.secret_names import secret_names
from selfplay.oracle.task import Task
from selfplay.oracle.trial import Trial, TrialOrder, run_trial
from selfplay.plain_text import encode
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.files import TestFile

_NOTING = ("selfplay_ran", "selfplay_gave", "selfplay_caught")
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
    """`order`: how the prediction is run; `wanted`: the tests that it passes; `done`: what its runs did to their
    interpreter."""

    backend: Backend
    task: Task
    known: Calibration
    order: TrialOrder
    limits: Limits
    wanted: frozenset[str]
    done: tuple[Event, ...] = ()

    def judged(self, diff: str, asked: bool) -> Iterator[tuple[Layer, float]]:
        """The layers and the seconds that their scripts took. `asked`: whether a second look is taken. Raises
        `SandboxError`."""
        files = changed_files(self.backend, self.task, diff, self.limits)
        said = self._suspect(files)
        yield said, 0.0
        if said.state != "passed":
            return
        if asked:
            yield from self._again(files)
        else:
            yield from ((Layer(name, "skipped", "was not requested"), 0.0) for name in get_args(Doubt))

    def _suspect(self, files: ChangedFiles) -> Layer:
        """Whether its code newly uses something that a repair seldom needs; then a person should decide, not a
        reward."""
        tests = self.task.artifact.test_files
        used = files.newly_used()
        found = (*used, *(sentence(event) for event in new_events(self.done, self.known.events, tests)))
        if found:
            more = and_more(len(found) - 1, "thing")
            return layers.caught("suspect", f"{found[0]}{more}; neither its file nor the known repair did")
        return layers.passed("suspect", "its code uses nothing new that a repair seldom needs")

    def _again(self, files: ChangedFiles) -> Iterator[tuple[Layer, float]]:
        """Run it again, with marks: whether all of its new code ran, and whether it does what the original does."""
        if files.after and all(text == files.repaired.get(path) for path, text in files.after.items()):
            yield _scope(files), 0.0
            rest = (name for name in get_args(Doubt) if name != "scope")
            yield from ((layers.passed(name, "its files are those of the original"), 0.0) for name in rest)
            return
        code = marked_code(files) if files.after else None
        if code is None:
            why = "its new code cannot be marked" if files.after else "it changes no Python file"
            yield from ((layers.unavailable(name, why), 0.0) for name in get_args(Doubt))
            return
        yield _scope(files), 0.0
        known = self.known.behaviour or Behaviour()
        called = self._called(known, code.files, (code.record,))
        yield replace(_differential(known, called), runs=1), called.seconds
        left = code.places.keys() - _noted(code, called.found)
        trial = self._tests(code.files, (code.record,)) if left else None
        left -= _noted(code, trial.found) if trial else set()
        yield replace(_coverage(code, left), runs=int(trial is not None)), trial.seconds if trial else 0.0
        yield needed_parts(files, partial(self._called, known), self._tests, self.wanted)

    def _called(
        self, known: Behaviour, files: Mapping[str, str], read: tuple[str, ...] = (), planted: Additions = NOTHING
    ) -> Called:
        """The calls that judge it, and the further ones, made with these files."""
        if len(known.calls.sources) < ENOUGH:
            return Called()
        calls = joined(joined(known.calls, known.guards.calls), known.further.calls)
        caller = Caller(self.backend, self.task, self.order.seconds, self.limits, read=read)
        planted = replace(planted, unusual=known.further.unusual)
        return caller.make(calls, self.order.diffs, files=_written(files), planted=planted)

    def _tests(self, files: Mapping[str, str], read: tuple[str, ...] = ()) -> Trial:
        """A run of the tests with these files."""
        order = TrialOrder(self.order.diffs, self.order.seconds, files=_written(files), read=read)
        return run_trial(self.backend, self.task.world, self.task.artifact, order, self.limits)


def _noted(code: MarkedCode, found: Mapping[str, bytes]) -> set[str]:
    """The words that marks noted in a run."""
    return {*found.get(code.record, b"").decode("ascii", "replace").split("\n")}


def _scope(files: ChangedFiles) -> Layer:
    """Whether it changes only what the bug changes."""
    emptied = {path: "" for path, text in files.after.items() if not text}
    try:
        found = [*files.others, *beyond(files.before, {**added_code(files), **emptied}, files.repaired)]
    except (RecursionError, ValueError):  # nested too deeply, or Python cannot write it
        return layers.unavailable("scope", "its files cannot be compared with the original's")
    if found:
        return layers.unavailable("scope", f"{found[0]}{and_more(len(found) - 1, 'place')}")
    return layers.passed("scope", "it changes only what the bug changes")


def _differential(known: Behaviour, called: Called) -> Layer:
    """Whether a prediction does what the original does in every further call."""
    other, counted = differing(known.further, called.outcomes)
    if counted < ENOUGH or not called.outcomes:
        return layers.unavailable(
            "differential", f"{count(counted, 'further call')} could be made, {ENOUGH} are needed"
        )
    if other:
        why = f"it does something else than the original in {len(other)} of {count(counted, 'further call')}"
        return layers.unavailable("differential", why)
    return layers.passed("differential", f"it does what the original does in {count(counted, 'further call')}")


def _coverage(code: MarkedCode, left: Collection[str]) -> Layer:
    """Whether all of its new code ran; `left`: the places that never did."""
    if left:
        first = min(left, key=lambda word: int(word.rstrip("".join(WHAT))))
        return layers.unavailable("coverage", f"{code.places[first]}{and_more(len(left) - 1, 'place')}")
    if not code.places:
        return layers.passed("coverage", "it adds no code")
    return layers.passed("coverage", f"all of its new code ran, in {count(len(code.places), 'place')}")


def marked_code(files: ChangedFiles) -> MarkedCode | None:
    """The files of a prediction that hold new code, with marks; None if they cannot be marked."""
    names = secret_names(len(Noters._fields), "\n".join(files.after.values()))
    noters, record = Noters(*(f"_{name}" for name in names)), f"/tmp/tmp{secrets.token_hex(4)}"
    made, places = dict[str, str](), dict[str, str]()
    changed = added_code(files)
    if len(changed) > MOST_FILES:
        return None
    try:
        known = known_lines(files)
        for path, text in changed.items():
            marked = with_marks(path, text, known, noters, len(places))
            if marked is None:
                return None
            if marked.places:
                made[path], places = _noting(marked, noters, record), places | marked.places
    except RecursionError:
        return None
    return MarkedCode(made, places, record)


def _noting(marked: Marked, noters: Noters, record: str) -> str:
    """The marked file, with the functions that its marks call."""
    source = f"SELFPLAY_FILE = {record!r}\n{inside.text('selfplay_covered.py')}"
    prelude = inside.apart(source, "covered", dict(zip(noters, _NOTING, strict=True)))
    return begun_with(prelude, marked.text)


def _written(files: Mapping[str, str]) -> dict[str, TestFile]:
    return {path: TestFile(encode(text)) for path, text in files.items()}
