"""Records what the original does on inputs that nobody was shown, and judges predictions by it (`behaviour.py`)."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from selfplay.oracle import python_probes
from selfplay.oracle.behaviour import ENOUGH, KEPT, Behaviour, Outcomes, choose, outcomes, verdict
from selfplay.oracle.calibration import Oracle
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


def observe(backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits()) -> Behaviour:
    """Try probes on the original, twice, and on the buggy program; the result has none where the suite cannot be
    probed. Raises `SandboxError` when no sandbox is available."""
    originals = _python_tests(task, oracle)
    seed, wanted = secrets.randbits(64), sorted(oracle.fail_to_pass)
    made = {path: python_probes.probed(path, text, wanted, TRIED, seed) for path, text in originals.items()}
    found = {path: probes for path, probes in made.items() if probes is not None}
    if not found:
        return Behaviour()

    def run(texts: Mapping[str, str | None], diffs: Sequence[str] = (), hash_seed: str = "") -> Outcomes:
        return outcomes(_record(_run(backend, task, diffs, oracle.seconds, _files(task, texts), limits, hash_seed)))

    def holding(probes: Collection[str]) -> dict[str, str | None]:
        return {path: python_probes.only(found[path].text, probes) if path in found else None for path in originals}

    names = [one.names for one in found.values()]
    every = {path: found[path].text if path in found else None for path in originals}
    first, buggy = run(every), run(every, task.diffs)
    likely = choose(names, first, first, buggy, CONSIDERED)
    chosen = choose(names, first, run(holding(likely), hash_seed=OTHER_SEED), buggy, KEPT)
    right, wrong = ({name: both[side] for name, both in chosen.items()} for side in (0, 1))
    return Behaviour(_files(task, holding(chosen)), right, wrong)


def look(
    backend: Backend, task: Task, diff: str, known: Behaviour, seconds: float, limits: Limits
) -> tuple[Layer, float]:
    """Whether a prediction does, on inputs it was not shown, what the original does; and the seconds that took.

    Raises `SandboxError`."""
    if len(known.right) < ENOUGH:
        why = f"the buggy program was seen to differ on {count(len(known.right), 'input')} besides those of the tests"
        return unavailable("behaviour", f"{why}, and {ENOUGH} are needed"), 0.0
    trial = _run(backend, task, (*task.diffs, diff), seconds, known.files, limits)
    return judge(known, outcomes(_record(trial))), trial.seconds


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


def _python_tests(task: Task, oracle: Oracle) -> dict[str, str]:
    """Path -> text of the Python files with tests that decide."""
    files = read_originals(task.world, task.artifact.test_files)
    return {path: decode(files[path].content) for path in deciding(files, oracle.wanted) if path.endswith(".py")}


def _files(task: Task, texts: Mapping[str, str | None]) -> dict[str, TestFile]:
    """The test files with these texts; None stands for the file without its tests."""
    originals = read_originals(task.world, sorted(texts))
    return {
        path: replace(file, content=encode(text if text is not None else python_probes.emptied(decode(file.content))))
        for path, file, text in ((path, file, texts[path]) for path, file in originals.items())
    }


def _record(trial: Trial) -> bytes:
    return trial.found.get(RECORD, b"")


def _run(
    backend: Backend, task: Task, diffs: Sequence[str], seconds: float, files: Mapping[str, TestFile],
    limits: Limits, hash_seed: str = "",
) -> Trial:  # fmt: skip
    order = Order(tuple(diffs), seconds, files=files, read=(RECORD,), hash_seed=hash_seed)
    return run_trial(backend, task.world, task.artifact, order, limits)
