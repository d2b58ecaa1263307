"""Runs probes and calls on the original and on the buggy program, and counts the runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from selfplay.oracle.behaviour.asserted_errors import asserted_errors
from selfplay.oracle.behaviour.call_options import options_of
from selfplay.oracle.behaviour.call_probes import Asked
from selfplay.oracle.behaviour.call_runner import Additions, Caller, Calls
from selfplay.oracle.behaviour.changed_code import asked_values, changed_methods, raised_errors
from selfplay.oracle.behaviour.contexts import BARE, CallContext
from selfplay.oracle.behaviour.events import Event
from selfplay.oracle.behaviour.line_marks import marked_files
from selfplay.oracle.behaviour.program_names import package_texts, program_names
from selfplay.oracle.behaviour.recording import Recording
from selfplay.oracle.behaviour.stored_behaviour import Outcomes
from selfplay.oracle.behaviour.traced_calls import ENTERED_FILE, Entered, read_entered, watching
from selfplay.oracle.task import Oracle, Task
from selfplay.oracle.trial import TrialOrder, run_trial
from selfplay.plain_text import decode, encode
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.files import TestFile

CALL_SECONDS = 0.25
"""Seconds for one call; a prediction gets four times as long for each."""
MOST_SLOW = 40
"""The most calls of a process that are stopped: a buggy program may hang in nearly all of them."""
ENOUGH_SECONDS = 5.0
"""Seconds of all other calls of a process: of a program that waits, or works long, fewer are made."""
OTHER_SEED = "7"
"""The hash seed of the second run: outcomes that depend on hashes are not behaviour. Calls are also repeated in a
user's place: outcomes that depend on the place are not behaviour either."""


@dataclass
class Bench:
    """Runs probes and counts the runs. `files`: the Python files with tests that decide; `fixtures`: those that
    make what such tests get, as `conftest.py`, which are watched with them."""

    backend: Backend
    task: Task
    oracle: Oracle
    limits: Limits
    witness: bool
    files: Mapping[str, TestFile]
    fixtures: Mapping[str, TestFile] = field(default_factory=dict)
    runs: int = 0
    events: list[Event] = field(default_factory=list)

    def run(
        self, texts: Mapping[str, str], diffs: Sequence[str] = (), hash_seed: str = "", watched: bool = False
    ) -> tuple[Outcomes, Entered]:
        """What the probes in these files record and, if `watched`, how they enter the program."""
        if watched:
            texts = {path: decode(file.content) for path, file in self.fixtures.items()} | {**texts}
            texts = {path: watching(self.task, text) for path, text in texts.items()}
        files = with_texts({**self.fixtures, **self.files}, texts)
        order = TrialOrder(
            tuple(diffs), self.oracle.seconds, files=files, hash_seed=hash_seed,
            witness=self.witness and not watched, recording=Recording.of(files), read=(ENTERED_FILE,),
        )  # fmt: skip
        trial = run_trial(self.backend, self.task.world, self.task.artifact, order, self.limits)
        self.runs += 1
        self.events += trial.events
        return trial.recorded or {}, read_entered(trial.found.get(ENTERED_FILE, b""))

    def call(
        self, calls: Calls, diffs: Sequence[str] = (), place: CallContext = BARE, hash_seed: str = "0",
        again: float = 0.0, files: Mapping[str, TestFile] = MappingProxyType({}),
    ) -> Outcomes:  # fmt: skip
        """Make the calls; returns their outcomes. `files` are written over those of the program. Beside a user's place,
        which tells what lasts, a call that asks for the time of day has no answer."""
        planted = Additions(clock=place is not BARE)
        called = self._caller.make(calls, diffs, place, hash_seed, files, again, planted)
        self.events += called.events
        return called.outcomes

    def lines(self, calls: Calls) -> dict[str, str]:
        """Make the calls of the original; returns the lines of the changed functions that run in each."""
        found = self._caller.make(calls, (), files=self._marked, planted=Additions(marks=True)).outcomes
        return {name: said.get(f"{name}/lines", "") for name, said in found.items()}

    def mutants(self, calls: Calls, files: Mapping[str, TestFile], planted: Additions) -> Outcomes:
        """Make the calls of the original's mutants, which stand in these files; returns what shows each."""
        return self._caller.make(calls, (), files=files, planted=planted).outcomes

    @cached_property
    def asked(self) -> Asked:
        """What the changed functions ask for, and the options of all."""
        return Asked(asked_values(self.task), options_of(self._texts))

    @cached_property
    def raised(self) -> frozenset[str]:
        """The errors that the changed functions raise by name, as outcomes."""
        return raised_errors(self.task)

    @cached_property
    def methods(self) -> tuple[tuple[str, str], ...]:
        """The changed methods that need nothing but their object (`changed_code.py`)."""
        return changed_methods(self.task)

    @cached_property
    def asserted(self) -> frozenset[str]:
        """The errors that the F2P tests ask for, as outcomes."""
        return asserted_errors(self.files, self.oracle.fail_to_pass)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of options, which the program's own code holds."""
        return program_names(self._texts)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """The program's own code."""
        return tuple(package_texts(self.task))

    @cached_property
    def _marked(self) -> Mapping[str, TestFile]:
        return marked_files(self.task)

    @cached_property
    def _caller(self) -> Caller:
        return Caller(
            self.backend, self.task, self.oracle.seconds, self.limits, (), CALL_SECONDS, MOST_SLOW, ENOUGH_SECONDS
        )


def with_texts(files: Mapping[str, TestFile], texts: Mapping[str, str]) -> dict[str, TestFile]:
    """These test files, with their texts replaced."""
    return {path: replace(files[path], content=encode(text)) for path, text in texts.items()}
