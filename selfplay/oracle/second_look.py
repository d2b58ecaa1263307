"""Judges a prediction by what it does on inputs that nobody was shown: runs the probes, and compares what they recorded
with what the original and the buggy program did (`behaviour.py`)."""

from collections.abc import Mapping
from dataclasses import replace

from selfplay.oracle.behaviour import ENOUGH, Behaviour, Outcomes, compared
from selfplay.oracle.calling import make_calls
from selfplay.oracle.layers import Layer, caught, passed, unavailable
from selfplay.oracle.recording import Recording
from selfplay.oracle.trial import Order, Trial, run_trial
from selfplay.oracle.world import Task
from selfplay.sandbox import Backend, Limits
from selfplay.words import count

AGREE, SAME = 0.8, 0.1
"""A prediction must do what the original does in at least the first share of all, and may do what the buggy program
does in at most the second."""


def look(backend: Backend, task: Task, order: Order, known: Behaviour, limits: Limits) -> tuple[Layer, Trial]:
    """Whether a prediction does, on inputs it was not shown, what the original does, and the run that shows it.
    `order`: how it is run. Raises `SandboxError`."""
    if len(known.right) < ENOUGH:
        why = f"the buggy program was seen to differ on {count(len(known.right), 'input')} besides those of the tests"
        return unavailable("behaviour", f"{why}, and {ENOUGH} are needed"), Trial()
    trial, seen = Trial(), dict[str, Mapping[str, str]]()
    if known.tests:
        order = replace(order, files=known.files, recording=Recording())
        trial = run_trial(backend, task.world, task.artifact, order, limits)
        if trial.recorded is None:
            return caught("behaviour", "the record of what it does on other inputs was written into", 1), trial
        seen = dict(trial.recorded)
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
