"""Records what the original does on inputs that nobody was shown, and judges predictions by it (`behaviour.py`)."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from selfplay.oracle import python_probes, recorded
from selfplay.oracle.behaviour import ENOUGH, KEPT, Behaviour, Outcomes, choose, outcomes, verdict
from selfplay.oracle.calibration import Oracle
from selfplay.oracle.events import Event
from selfplay.oracle.instrument import deciding
from selfplay.oracle.layers import Layer, caught, passed, unavailable
from selfplay.oracle.originals import read_originals
from selfplay.oracle.trial import Order, Trial, run_trial
from selfplay.oracle.world import Task
from selfplay.plain import decode, encode
from selfplay.sandbox import Backend, Limits
from selfplay.words import count
from selfplay.workbench.files import TestFile

RECORD = "/tmp/selfplay-record"
TRIED, CONSIDERED = 64, 20
"""Probes that are tried on the original and on the buggy program, and those that the original runs again."""
WRONG, RIGHT = 0.5, 0.34
"""A prediction may do what the buggy program does in less than this share of the probes, and must do what the original
does in at least that."""
OTHER_SEED = "7"
"""Of the hashes in the second run: what depends on them is no behaviour."""


def observe(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, witness: bool = False
) -> Behaviour:
    """Try probes on the original, twice, and on the buggy program; the result has none where the suite cannot be
    probed. `witness`: with what the programs do to their interpreter. Raises `SandboxError` when no sandbox is
    available."""
    bench = _Bench(backend, task, oracle, limits, witness, _python_tests(task, oracle))
    originals = {path: decode(file.content) for path, file in bench.files.items()}
    seed, wanted = secrets.randbits(64), sorted(oracle.fail_to_pass)
    made = {path: python_probes.probed(path, text, wanted, TRIED, seed) for path, text in originals.items()}
    shown = _tried(bench, {path: probes for path, probes in made.items() if probes is not None and probes.names})
    if len(shown.right) < ENOUGH and bench.files:
        path = max(sorted(bench.files), key=lambda one: sum(one in test for test in wanted))
        calls = recorded.of_calls(path, bench.calls(), TRIED, seed)
        other = _tried(bench, {path: calls}) if calls is not None else Behaviour()
        shown = max(shown, other, key=lambda one: len(one.right))
    return replace(shown, runs=bench.runs, events=tuple(bench.events))


@dataclass
class _Bench:
    """Runs probes, and counts what that takes. `files`: the Python files with tests that decide."""

    backend: Backend
    task: Task
    oracle: Oracle
    limits: Limits
    witness: bool
    files: dict[str, TestFile]
    runs: int = 0
    events: list[Event] = field(default_factory=list)

    def outcomes(self, texts: Mapping[str, str], diffs: Sequence[str] = (), hash_seed: str = "") -> Outcomes:
        """What the probes in these files record, and nothing of the other files."""
        rest = {path: python_probes.emptied(decode(file.content)) for path, file in self.files.items()}
        order = Order(
            tuple(diffs), self.oracle.seconds, files=_with(self.files, {**rest, **texts}), hash_seed=hash_seed,
            witness=self.witness,
        )  # fmt: skip
        trial = _run(self.backend, self.task, order, self.limits)
        self.runs += 1
        self.events += trial.events
        return outcomes(_record(trial))

    def calls(self) -> recorded.Calls:
        """The calls that one run of the original's tests makes."""
        order = Order(
            (), self.oracle.seconds, plugin=recorded.plugin(self.task, sorted(self.oracle.fail_to_pass)),
            read=(recorded.CALLS_FILE,),
        )  # fmt: skip
        trial = run_trial(self.backend, self.task.world, self.task.artifact, order, self.limits)
        self.runs += 1
        return recorded.read_calls(trial.found.get(recorded.CALLS_FILE, b""))


def _tried(bench: _Bench, found: Mapping[str, python_probes.Probed]) -> Behaviour:
    """The probes that tell the original from the buggy program."""
    if not found:
        return Behaviour()

    def holding(probes: Collection[str]) -> dict[str, str]:
        return {path: python_probes.only(one.text, probes) for path, one in found.items()}

    names = [one.names for one in found.values()]
    every = {path: one.text for path, one in found.items()}
    first, buggy = bench.outcomes(every), bench.outcomes(every, bench.task.diffs)
    likely = choose(names, first, first, buggy, CONSIDERED)
    if not likely:
        return Behaviour()
    again = bench.outcomes(holding(likely), hash_seed=OTHER_SEED)
    chosen = choose(names, first, again, buggy, KEPT)
    right, wrong = ({name: both[side] for name, both in chosen.items()} for side in (0, 1))
    rest = {path: python_probes.emptied(decode(file.content)) for path, file in bench.files.items()}
    return Behaviour(_with(bench.files, {**rest, **holding(chosen)}), right, wrong)


def look(backend: Backend, task: Task, order: Order, known: Behaviour, limits: Limits) -> tuple[Layer, Trial]:
    """Whether a prediction does, on inputs it was not shown, what the original does, and the run that shows it.
    `order`: how it is run. Raises `SandboxError`."""
    if len(known.right) < ENOUGH:
        why = f"the buggy program was seen to differ on {count(len(known.right), 'input')} besides those of the tests"
        return unavailable("behaviour", f"{why}, and {ENOUGH} are needed"), Trial()
    trial = _run(backend, task, replace(order, files=known.files), limits)
    return judge(known, outcomes(_record(trial))), trial


def judge(known: Behaviour, seen: Outcomes) -> Layer:
    """The layer's result for what a prediction recorded."""
    name = "behaviour"
    if not seen:
        return caught(name, "the program leaves no record of what it does on other inputs", 1)
    told = [verdict(known.right[probe], known.wrong[probe], seen.get(probe, {})) for probe in known.right]
    said = [one for one in told if one != "gone"]
    right, wrong, every = said.count("right"), said.count("wrong"), len(said)
    if every < ENOUGH:
        return unavailable(name, f"what {count(len(told) - every, 'probe')} of {len(told)} call is no longer there")
    if wrong >= WRONG * every:
        return caught(name, f"on {wrong} of {every} inputs that no test holds it does what the buggy program does", 1)
    if right < RIGHT * every:
        return caught(name, f"on {every - right} of {every} inputs that no test holds it differs from the original", 1)
    return passed(name, f"does what the original does on {right} of {every} inputs that no test holds", 1)


def _python_tests(task: Task, oracle: Oracle) -> dict[str, TestFile]:
    """The Python files with tests that decide."""
    files = read_originals(task.world, task.artifact.test_files)
    return {path: files[path] for path in deciding(files, oracle.wanted) if path.endswith(".py")}


def _with(files: Mapping[str, TestFile], texts: Mapping[str, str]) -> dict[str, TestFile]:
    """The test files with these texts."""
    return {path: replace(files[path], content=encode(text)) for path, text in texts.items()}


def _record(trial: Trial) -> bytes:
    return trial.found.get(RECORD, b"")


def _run(backend: Backend, task: Task, order: Order, limits: Limits) -> Trial:
    return run_trial(backend, task.world, task.artifact, replace(order, read=(RECORD,)), limits)
