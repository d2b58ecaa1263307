"""One run of the oracle's tests on the original plus diffs, in a fresh sandbox, with proof that the tests ran.

The workbench's engine does the run. This module adds two things: a witness inside pytest signs what it sees, and the
test files are compared before and after the run.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from selfplay.artifact import Artifact
from selfplay.oracle import inside
from selfplay.oracle.behaviour.events import Event, paths_of_tests, witness_order
from selfplay.oracle.behaviour.recording import Recording
from selfplay.oracle.behaviour.signed import Signed
from selfplay.sandbox import Backend, Limits, World
from selfplay.untrusted_json import AnswerError, answer, lines
from selfplay.workbench.files import TestFile
from selfplay.workbench.running import ORACLE, Run, RunRequest, run_tests

WITNESS_FILE = "/tmp/selfplay-witness"
END_MARK = b"SELFPLAY-END exit="
MOST_RECORD, MOST_FIELDS = 64 * 1024, 100
_WITNESS_SOURCES = ("selfplay_hook.py", "selfplay_witness.py")


OF_BUG = "a diff of the bug"
"""What errors call a diff that is not the prediction."""


@dataclass(frozen=True)
class Trial(Run):
    """The result of one run, and the witness's signed record.

    `witness`: id -> outcome; None if it was not requested; `witness_end`: the exit status it saw, None if it did not
    reach the end; `replaced`: functions of the test runner that were replaced at the end; `events`: what the program
    did to its interpreter; `recorded`: what the probes recorded, None if that record is broken.
    """

    witness: Mapping[str, str] | None = None
    witness_end: int | None = None
    replaced: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    recorded: Signed | None = None


@dataclass(frozen=True)
class TrialOrder:
    """What to run: apply `diffs` in order, then `optional` if it applies; restore the test files; write `files` with
    their `compiled` forms.

    `witness`: use the second reporter, and end the run at an event of the kinds `ends`; with `runner` it also reports
    replaced functions of the runner, and with `shuffled` it shuffles the tests. `recording`: the test files hold
    probes, which record their outcomes through it; the log's outcomes are not read. `keep_compiled`: let the run write
    compiled files, and keep those of `files`. `seconds`: time limit of the script. `read`: files to read afterwards,
    into `found`. `hash_seed`: replaces the world's hash seed, which changes the order of sets.
    """

    diffs: tuple[str, ...]
    seconds: float
    optional: str = ""
    files: Mapping[str, TestFile] = field(default_factory=dict)
    compiled: Mapping[str, bytes] = field(default_factory=dict)
    witness: bool = False
    ends: tuple[str, ...] = ()
    runner: bool = False
    shuffled: bool = False
    recording: Recording | None = None
    keep_compiled: bool = False
    read: tuple[str, ...] = ()
    hash_seed: str = ""

    @property
    def names(self) -> dict[str, str]:
        """Diff -> its name in the error if it does not apply."""
        return {diff: "the prediction" if diff == self.diffs[-1] else OF_BUG for diff in self.diffs}


def patiently(run: Callable[[TrialOrder], Trial], order: TrialOrder, most: float) -> Trial:
    """Run once; run again with a limit of `most` seconds if the run timed out while it used less than half of that time
    on a core, because the machine was busy."""
    trial = run(order)
    busy = trial.timed_out and trial.cpu_seconds < order.seconds / 2
    return run(replace(order, seconds=most)) if busy and most > order.seconds else trial


def run_trial(
    backend: Backend, world: World, artifact: Artifact, order: TrialOrder, limits: Limits = Limits()
) -> Trial:
    """Run `order` in a fresh sandbox. Raises `SandboxError` only when no sandbox can be started, or it is lost."""
    key = secrets.token_hex(32).encode() if order.witness else b""
    module = f"w{secrets.token_hex(8)}"  # a random name, so that no module can shadow it
    files, modules, recording = dict(order.files), list[str](), order.recording
    if recording is not None:  # first, since its key comes first on standard input
        files, modules = recording.under_name(files, module), [recording.source()]
    if order.witness:
        modules.append(_WITNESS)
    stdin = (recording.key.encode() if recording else b"") + (key and key + _witness_order(artifact, order))
    request = RunRequest(
        world, artifact.test_script, "" if recording else artifact.test_parser, order.seconds, limits,
        diffs=order.diffs, names=order.names, optional=order.optional, restore=artifact.test_files,
        files=files, compiled=order.compiled,
        beside={f"witness/{module}.py": "\n\n".join(modules)} if modules else {},
        environment=_environment(world, order, module), stdin=stdin,
        watch=sorted({*artifact.test_files, *order.files}),
        read=(*order.read, *((WITNESS_FILE,) if order.witness else ()), *((recording.file,) if recording else ())),
        keep_compiled=order.keep_compiled,
    )  # fmt: skip
    run = run_tests(backend, request)
    recorded = recording.read(run.found) if recording else None
    if not order.witness or run.failed_at in ("apply", "script"):
        return Trial(**vars(run), recorded=recorded)
    seen = read_witness(run.found.get(WITNESS_FILE, b""), key)
    return Trial(
        **vars(run), witness=seen.outcomes, witness_end=seen.end, replaced=tuple(seen.replaced),
        events=tuple(seen.events), recorded=recorded,
    )  # fmt: skip


_WITNESS = "\n\n".join(inside.text(name) for name in _WITNESS_SOURCES)


def _witness_order(artifact: Artifact, order: TrialOrder) -> bytes:
    tests = paths_of_tests({*artifact.test_files, *order.files}, (artifact.bug_inject,))
    return witness_order(tests, order.ends, order.runner, secrets.token_hex(8) if order.shuffled else "")


def count(trial: Trial, word: str, outcome: str) -> int:
    """The number of ids that contain `word`; 0 unless all of them have that outcome."""
    found = [known for test, known in trial.outcomes.items() if word in test]
    return len(found) if all(known == outcome for known in found) else 0


def _environment(world: World, order: TrialOrder, module: str) -> dict[str, str]:
    """The environment variables of the run, in addition to the world's."""
    extra = {"PYTHONDONTWRITEBYTECODE": ""} if order.keep_compiled else {}  # Python treats empty as unset
    if order.hash_seed:
        extra["PYTHONHASHSEED"] = order.hash_seed
    if order.witness or order.recording:
        path = world.env.get("PYTHONPATH")
        extra |= {"SELFPLAY_WITNESS": "1"} if order.witness else {}
        extra["PYTEST_PLUGINS"] = module
        extra["PYTHONPATH"] = f"{ORACLE}/witness" + (f":{path}" if path else "")
    return extra


@dataclass
class Witnessed:
    """The signed records: id -> outcome, replaced functions, events, and the exit status, None if it is missing."""

    outcomes: dict[str, str] = field(default_factory=dict)
    replaced: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    end: int | None = None


def read_witness(data: bytes, key: bytes) -> Witnessed:
    """Read the correctly signed lines, in order; stop at the first other line."""
    seen, ended = Witnessed(), False
    for number, line in enumerate(lines(data), 1):
        mac, _, said = line.partition(b" ")
        if not hmac.compare_digest(mac, hmac.new(key, said, "sha256").hexdigest().encode()):
            break
        record = _record(said)
        if record is None or record[0] != number:
            break
        _, kind, test, outcome = record
        if kind == "event":  # also after the end, while the program still runs
            what, _, place = test.partition("\n")
            seen.events.append((what, place, str(outcome)))
        elif ended:
            break
        elif kind == "end":
            ended, seen.end = True, int(outcome) if isinstance(outcome, int) else None
        elif kind == "replaced":
            seen.replaced.append(test)
        else:
            seen.outcomes[test] = str(outcome)
    return seen


def _record(said: bytes) -> tuple[int, str, str, str | int] | None:
    """[number, kind, test, outcome]; None for anything else, since the program may know the key and sign arbitrary
    lines."""
    try:
        record = answer(list[Any], said, most=MOST_RECORD, values=MOST_FIELDS)
    except AnswerError:
        return None
    if [type(one) for one in record[:3]] != [int, str, str] or len(record) != 4:
        return None
    return (record[0], record[1], record[2], record[3]) if isinstance(record[3], str | int) else None
