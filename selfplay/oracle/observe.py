"""Records what the original does on inputs that nobody was shown, and judges predictions by it (`behaviour.py`)."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from selfplay.oracle import python_probes
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
    files = _python_tests(task, oracle)
    originals = {path: decode(file.content) for path, file in files.items()}
    seed, wanted = secrets.randbits(64), sorted(oracle.fail_to_pass)
    made = {path: python_probes.probed(path, text, wanted, TRIED, seed) for path, text in originals.items()}
    found = {path: probes for path, probes in made.items() if probes is not None and probes.names}
    if not found:
        return Behaviour()
    rest = {path: python_probes.emptied(text) for path, text in originals.items() if path not in found}

    events = list[Event]()

    def run(texts: Mapping[str, str], diffs: Sequence[str] = (), hash_seed: str = "") -> Outcomes:
        order = Order(tuple(diffs), oracle.seconds, files=_with(files, texts), hash_seed=hash_seed, witness=witness)
        trial = _run(backend, task, order, limits)
        events.extend(trial.events)
        return outcomes(_record(trial))

    def holding(probes: Collection[str]) -> dict[str, str]:
        return rest | {path: python_probes.only(one.text, probes) for path, one in found.items()}

    names = [one.names for one in found.values()]
    every = rest | {path: one.text for path, one in found.items()}
    first, buggy = run(every), run(every, task.diffs)
    likely = choose(names, first, first, buggy, CONSIDERED)
    chosen = choose(names, first, run(holding(likely), hash_seed=OTHER_SEED), buggy, KEPT)
    right, wrong = ({name: both[side] for name, both in chosen.items()} for side in (0, 1))
    return Behaviour(_with(files, holding(chosen)), right, wrong, runs=3, events=tuple(events))


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
    said = [verdict(known.right[probe], known.wrong[probe], seen.get(probe, {})) for probe in known.right]
    right, wrong, every = said.count("right"), said.count("wrong"), len(said)
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
