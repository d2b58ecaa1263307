"""Judges a prediction by its behaviour on inputs that the solver never saw: runs the probes, and compares their record
with the original and the buggy program (`stored_behaviour.py`)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from selfplay.formatting import count
from selfplay.oracle.behaviour.agreeing_calls import damage, joined
from selfplay.oracle.behaviour.call_runner import AGAIN_SECONDS, Called, Caller
from selfplay.oracle.behaviour.contexts import BARE, users_place
from selfplay.oracle.behaviour.input_kinds import ENOUGH_OF_A_KIND
from selfplay.oracle.behaviour.mutation_score import enough_shown
from selfplay.oracle.behaviour.recording import Recording
from selfplay.oracle.behaviour.stored_behaviour import (
    ENOUGH,
    Behaviour,
    Outcomes,
    compared,
    most_alike,
    without_odd,
    worn,
)
from selfplay.oracle.layers import Layer, caught, passed, unavailable
from selfplay.oracle.task import Task
from selfplay.oracle.trial import Trial, TrialOrder, run_trial
from selfplay.sandbox import Backend, Limits

AGREE, SAME, OF_A_KIND, HALF = 0.8, 0.1, 0.3, 0.5
"""A prediction must agree with the original on at least the share `AGREE` of all probes and `OF_A_KIND` of each kind;
it may agree with the buggy program on at most `SAME`. If the inputs run less than `HALF` of the changed lines, the
grade is weakly assured."""


def look(backend: Backend, task: Task, order: TrialOrder, known: Behaviour, limits: Limits) -> tuple[Layer, Trial]:
    """Whether a prediction behaves like the original on unseen inputs, and the run that shows it. `order`: how it is
    run. Raises `SandboxError`."""
    if len(known.calls.sources) < ENOUGH:
        known = _tests_alone(known)
    if len(known.right) < ENOUGH:
        why = f"the buggy program differs on {count(len(known.right), 'input')} outside the tests"
        return unavailable("behaviour", f"{why}, and {ENOUGH} are needed"), Trial()
    trial, seen = Trial(), dict[str, Mapping[str, str]]()
    if known.tests:
        order = replace(order, files=known.files, recording=Recording.of(known.files))
        trial = run_trial(backend, task.world, task.artifact, order, limits)
        if trial.recorded is None:
            return caught("behaviour", "something else wrote into the record of its behaviour", 1), trial
        seen = dict(trial.recorded)
    if len(known.calls.sources) < ENOUGH:
        return within_the_runner(known, judge(known, seen)), trial
    every = joined(known.calls, known.guards.calls)
    caller = Caller(backend, task, order.seconds, limits, order.ends)
    first = caller.make(every, order.diffs, BARE, again=AGAIN_SECONDS)
    other = caller.make(every, order.diffs, users_place(), str(known.hash_seed))
    trial = replace(
        trial, seconds=trial.seconds + first.seconds + other.seconds,
        events=(*trial.events, *first.events, *other.events),
    )  # fmt: skip
    said = [judge_calls(known, seen, called) for called in (first, other)]
    stopped = [layer for layer in said if layer.state == "caught"]
    others = apart(known, first.outcomes, other.outcomes), tiring(known, first.outcomes)
    stopped += [one for one in (*others, *(damage(known.guards, called.outcomes) for called in (first, other))) if one]
    return (stopped or [unknown(*without_odd(known, {**seen, **first.outcomes}), said[0])])[0], trial


def judge_calls(known: Behaviour, seen: Outcomes, called: Called) -> Layer:
    """The layer's result for the calls of one process."""
    if called.late:
        return caught("behaviour", f"its calls on other inputs did not end within {called.seconds:.0f} s", 1)
    return judge(known, {**seen, **called.outcomes})


def _tests_alone(known: Behaviour) -> Behaviour:
    """The behaviour without the outcomes of calls: too few calls are not made, and leave no record."""
    right, wrong = (
        {name: said for name, said in outcomes.items() if name not in known.calls.sources}
        for outcomes in (known.right, known.wrong)
    )
    return replace(known, right=right, wrong=wrong)


def within_the_runner(known: Behaviour, said: Layer) -> Layer:
    """Not available if the program was only seen inside the test runner, since it may behave differently elsewhere."""
    if said.state != "passed":
        return said
    outside = f"{count(len(known.calls.sources), 'call')} could be made outside of the test runner"
    return replace(unavailable("behaviour", f"{outside}, and {ENOUGH} are needed; {said.reason}"), runs=1)


def unknown(known: Behaviour, odd: Sequence[str], said: Layer) -> Layer:
    """Not available if the probes cannot tell a repair from a program that knows their answers: nearly all answers are
    equal, too few inputs are novel, few changed lines ran, or they do not show many mutants of these. Nor if it gives
    other answers on many `odd` inputs, which may be right."""
    if said.state != "passed":
        return said
    alike, novel = len(most_alike(known.right)), len(known.novel & known.right.keys())
    if alike >= AGREE * len(known.right) and not known.constant_caught:
        why = f"{alike} of {count(len(known.right), 'input')} have the same answer, which a program may give to all"
    elif len(odd) > (1 - AGREE) * (len(known.right) + len(odd)):
        why = f"it gives another answer on {count(len(odd), 'input')} of a type that no test passes"
    elif novel < ENOUGH:
        why = f"{count(novel, 'call')} with only inputs that no test contains, and {ENOUGH} are needed"
    elif known.reached[0] < HALF * known.reached[1]:
        why = f"the inputs run {known.reached[0]} of the {known.reached[1]} changed lines"
    elif not enough_shown(len(known.unseen), known.mutants):
        number = count(known.mutants, "small change")
        why = f"{len(known.unseen)} of {number} of the repaired lines show in no call"
    else:
        return said
    return replace(unavailable("behaviour", f"{why}; {said.reason}"), runs=1)


def apart(known: Behaviour, first: Outcomes, other: Outcomes) -> Layer | None:
    """Caught if too many calls differ between the two places, else None; the original's do not differ."""
    differing = sum(
        any(first.get(call, {}).get(place) != other.get(call, {}).get(place) for place in known.right[call])
        for call in known.calls.sources
    )
    if differing <= SAME * len(known.calls.sources):
        return None
    why = f"{differing} of {count(len(known.calls.sources), 'call')} give other results in a user's place"
    return caught("behaviour", why, 1)


def tiring(known: Behaviour, seen: Outcomes) -> Layer | None:
    """Caught if too many calls differ after many repetitions, else None; the original's do not differ."""
    found = worn(seen, {call: known.right[call] for call in known.calls.sources})
    if len(found) <= SAME * len(known.calls.sources):
        return None
    why = f"{len(found)} of {count(len(known.calls.sources), 'call')} give other results after many repetitions"
    return caught("behaviour", why, 1)


def judge(known: Behaviour, seen: Outcomes) -> Layer:
    """The layer's result for the record of a prediction."""
    name: Final = "behaviour"
    if not any(probe in seen for probe in known.right):
        return caught(name, "the program left no record of its behaviour on other inputs", 1)
    known, _ = without_odd(known, seen)
    said = compared(known.right, known.wrong, seen)
    apart_from_tests = {probe: known.right[probe] for probe in known.right if probe in known.novel}
    novel = compared(apart_from_tests, known.wrong, seen)
    every, right, wrong = said.counted, said.right, said.wrong
    if every < ENOUGH:
        why = f"{count(every, 'probe')} have a target that exists and an input of a type that tests pass"
        return replace(unavailable(name, why), runs=1)
    if wrong > SAME * every:
        return caught(name, f"it behaves like the buggy program on {wrong:.3g} of {every} inputs outside the tests", 1)
    if novel.counted >= ENOUGH and novel.wrong > SAME * novel.counted:
        why = f"on {novel.wrong:.3g} of {novel.counted} inputs that no test contains even in part"
        return caught(name, f"{why}, it behaves like the buggy program", 1)
    for kind, names in known.kinds.items():
        here = compared({name: known.right[name] for name in names}, known.wrong, seen)
        if here.counted >= ENOUGH_OF_A_KIND and here.right < OF_A_KIND * here.counted:
            why = f"on {here.counted - here.right:.3g} of {here.counted} inputs of one kind, {kind},"
            return caught(name, f"{why} it differs from the original", 1)
    if right < AGREE * every:
        said_so = f"it differs from the original on {every - right:.3g} of {every} inputs outside the tests"
        return caught(name, said_so, 1)
    return passed(name, f"it behaves like the original on {right:.3g} of {every} inputs outside the tests", 1)
