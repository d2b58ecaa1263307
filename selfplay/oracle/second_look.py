"""Judges a prediction by what it does on inputs that nobody was shown: runs the probes, and compares what they recorded
with what the original and the buggy program did (`behaviour.py`)."""

import re
from collections.abc import Mapping
from dataclasses import replace

from selfplay.oracle.behaviour import ENOUGH, Behaviour, Outcomes, compared
from selfplay.oracle.calling import make_calls
from selfplay.oracle.layers import Layer, caught, passed, unavailable
from selfplay.oracle.recording import Recording
from selfplay.oracle.secret_names import secret_name, vocabulary
from selfplay.oracle.trial import Order, Trial, run_trial
from selfplay.oracle.world import Task
from selfplay.plain import decode, encode
from selfplay.sandbox import Backend, Limits
from selfplay.words import count
from selfplay.workbench.files import TestFile

AGREE, SAME = 0.8, 0.1
"""A prediction must do what the original does in at least the first share of all, and may do what the buggy program
does in at most the second."""
_PROBE = re.compile(r"\btest_p\d+_\d+\b")


def look(backend: Backend, task: Task, order: Order, known: Behaviour, limits: Limits) -> tuple[Layer, Trial]:
    """Whether a prediction does, on inputs it was not shown, what the original does, and the run that shows it.
    `order`: how it is run. Raises `SandboxError`."""
    if len(known.right) < ENOUGH:
        why = f"the buggy program was seen to differ on {count(len(known.right), 'input')} besides those of the tests"
        return unavailable("behaviour", f"{why}, and {ENOUGH} are needed"), Trial()
    trial, seen = Trial(), dict[str, Mapping[str, str]]()
    if known.tests:
        files, names = _renamed(known.files)
        order = replace(order, files=files, recording=Recording())
        trial = run_trial(backend, task.world, task.artifact, order, limits)
        if trial.recorded is None:
            return caught("behaviour", "the record of what it does on other inputs was written into", 1), trial
        seen = {names.get(probe, ""): found for probe, found in _unnamed(trial.recorded, names).items()}
    if known.calls.sources:
        called, run = make_calls(backend, task, known.calls, order.diffs, order.seconds, limits)
        trial = replace(trial, seconds=trial.seconds + run.seconds)
        seen = {**seen, **called}
    return judge(known, seen), trial


def judge(known: Behaviour, seen: Outcomes) -> Layer:
    """The layer's result for what a prediction recorded."""
    name, said = "behaviour", compared(known.right, known.wrong, seen)
    if not any(probe in seen for probe in known.right):
        return caught(name, "the program leaves no record of what it does on other inputs", 1)
    every, right, wrong = said.counted, said.right, said.wrong
    if every < ENOUGH:
        gone = len(known.right) - every
        return replace(unavailable(name, f"what {gone} of {len(known.right)} probes call is not there"), runs=1)
    if wrong > SAME * every:
        return caught(
            name, f"on {wrong:.3g} of {every} inputs that no test holds it does what the buggy program does", 1
        )
    if right < AGREE * every:
        said_so = f"on {every - right:.3g} of {every} inputs that no test holds it differs from the original"
        return caught(name, said_so, 1)
    return passed(name, f"does what the original does on {right:.3g} of {every} inputs that no test holds", 1)


def _renamed(files: Mapping[str, TestFile]) -> tuple[dict[str, TestFile], dict[str, str]]:
    """The probes under names made for this run, and which is which."""
    texts = {path: decode(file.content) for path, file in files.items()}
    fresh: dict[str, str] = {}
    for text in texts.values():
        for name in dict.fromkeys(_PROBE.findall(text)):
            fresh[name] = f"test_{secret_name(vocabulary(_PROBE.sub('', text)), (text, *fresh.values()))}"
    renamed = {path: _PROBE.sub(lambda found: fresh[found[0]], text) for path, text in texts.items()}
    made = {path: replace(files[path], content=encode(text)) for path, text in renamed.items()}
    return made, {new: old for old, new in fresh.items()}


def _unnamed(outcomes: Outcomes, names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The outcomes by the names that the record has for their places."""
    return {
        probe: {place.replace(probe, names.get(probe, probe), 1): text for place, text in found.items()}
        for probe, found in outcomes.items()
    }
